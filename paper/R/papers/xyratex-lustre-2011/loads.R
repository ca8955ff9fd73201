# TestDFSIO against the number of map tasks: a colour per file system and network, a panel per operation.

load_series <- function(table) {
  name <- paste(store_name(table$store), fabric_name(table$fabric), sep = ", ")
  order <- order(table$store, fabric_rate(table$fabric), decreasing = c(TRUE, FALSE), method = "radix")
  factor(name, unique(name[order]))
}

series_colours <- function(names) {
  colours <- unname(okabe_ito[c("vermillion", "orange", "purple", "green", "sky", "blue", "yellow")])
  stats::setNames(rep_len(colours, length(names)), names)
}

load_points <- function(table, titles) {
  table$panel <- factor(titles[table$metric], titles)
  table$series <- load_series(table)
  table$load <- as_value(table$maps)
  table
}

# `published`: data.frame(metric, store, fabric, maps, published).
figure_loads <- function(experiments, metrics, title, published, note = NULL) {
  titles <- panel_names(metrics)
  runs <- runs_at(experiments, metrics, by = "maps")
  medians <- medians_at(experiments, metrics, by = "maps")
  if (nothing_measured(runs, medians)) {
    return(figure_without_data(paste0(title, ":\nnot measured at this effort.")))
  }
  runs <- load_points(runs, titles)
  medians <- load_points(medians, titles)
  points <- load_points(published, titles)
  every <- unique(rbind(medians[c("store", "fabric")], points[c("store", "fabric")]))
  levels <- levels(load_series(every))
  loads <- sort(unique(c(medians$load, points$load)))
  place <- function(table) {
    table$series <- factor(as.character(table$series), levels)
    slot <- (as.integer(table$series) - (length(levels) + 1) / 2) / (length(levels) + 1)
    table$at <- match(table$load, loads) + slot
    table
  }
  runs <- place(runs)
  medians <- place(medians)
  points <- place(points)
  ggplot(medians, aes(at, shown, colour = series)) + geom_untold(medians) +
    geom_errorbar(aes(ymin = shown, ymax = shown), width = 0.8 / (length(levels) + 1), linewidth = 1.1) +
    geom_runs(data = runs, position = jitter_points(0.02), size = 1.3, alpha = 0.6) +
    interval_bars(medians, 0.06) +
    geom_point(data = points, aes(at, published, shape = "published"), size = 3.2, stroke = 1.1,
               colour = published_ink, inherit.aes = FALSE) +
    facet_wrap(~panel, ncol = 1) +
    scale_colour_manual(NULL, values = series_colours(levels), drop = FALSE) +
    scale_shape_manual(NULL, values = c(published = 5)) +
    guides(colour = guide_legend(ncol = 2, order = 1)) +
    scale_x_continuous("map tasks on eight nodes", breaks = seq_along(loads), labels = loads) +
    measured_axis(runs, "MB/s a task", log = TRUE) +
    labs(title = title, subtitle = figure_note(experiments, paste0(
      "n = ", paste(unique(range(medians$n)), collapse = " to "), " runs per cell; lines: medians; logarithmic axis"
    ), note, untold_line(medians, paste(as.character(medians$series), medians$load, "tasks"), 110))) +
    theme(panel.grid.major.x = element_blank(), legend.box = "vertical", legend.text = element_text(size = rel(0.8)))
}
