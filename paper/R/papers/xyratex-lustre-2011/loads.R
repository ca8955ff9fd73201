# TestDFSIO against the number of map tasks: a shape per file system, a colour per network, a panel per operation.

load_series <- function(table) {
  name <- paste(store_name(table$store), fabric_name(table$fabric), sep = ", ")
  order <- order(table$store, fabric_rate(table$fabric), decreasing = c(TRUE, FALSE), method = "radix")
  factor(name, unique(name[order]))
}

load_points <- function(table, titles) {
  table$panel <- factor(titles[table$metric], titles)
  table$series <- load_series(table)
  table$load <- as_value(table$maps)
  table$named <- store_name(table$store)
  table
}

load_cells <- c("store", "fabric", "maps")

# What is drawn: of cells that several experiments made, those of the one named first.
load_runs <- function(experiments, metrics) {
  made_once(runs_at(experiments, metrics, by = "maps"), experiments, load_cells)
}

data_loads <- function(experiments, metrics) {
  table <- data_at(experiments, metrics)
  table[table$run_id %in% load_runs(experiments, metrics)$run_id, ]
}

# `published`: data.frame(metric, store, fabric, maps, published).
figure_loads <- function(experiments, metrics, title, published, note = NULL) {
  titles <- panel_names(metrics)
  runs <- load_runs(experiments, metrics)
  every <- medians_at(experiments, metrics, by = "maps")
  medians <- one_each(made_once(every, experiments, load_cells), load_cells)
  if (nothing_measured(runs, medians)) {
    return(figure_without_data(paste0(title, ":\nnot measured at this effort.")))
  }
  runs <- load_points(runs, titles)
  medians <- load_points(medians, titles)
  points <- load_points(published, titles)
  levels <- levels(load_series(unique(rbind(medians[c("store", "fabric")], points[c("store", "fabric")]))))
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
  stores <- unique(store_name(sort(unique(as.character(medians$store)), decreasing = TRUE)))
  fabrics <- unique(as.character(medians$fabric)[order(fabric_rate(medians$fabric))])
  again <- if (nrow(every) > nrow(medians)) {
    "a cell that several experiments made, at several k, is that of the first one"
  }
  ggplot(medians, aes(at, shown, colour = fabric)) + geom_unusable(medians) +
    geom_errorbar(aes(ymin = shown, ymax = shown), width = 0.8 / (length(levels) + 1), linewidth = 1.1) +
    geom_runs(aes(shape = named), data = runs, position = jitter_points(0.02), size = 1.9, alpha = 0.6) +
    interval_bars(medians, 0.06) +
    geom_published(points, aes(at, published), size = 3.2) +
    facet_wrap(~panel, ncol = 1) +
    scale_colour_manual(NULL, values = fabric_palette(fabrics), breaks = fabrics, labels = fabric_name(fabrics)) +
    scale_shape_manual(NULL, values = stats::setNames(c(16, 17, 15, 18, 8, 4)[seq_along(stores)], stores)) +
    guides(shape = guide_legend(nrow = 2, order = 1), colour = guide_legend(order = 2)) +
    scale_x_continuous("map tasks on eight nodes", breaks = seq_along(loads), labels = loads) +
    measured_axis(runs, "MB/s a task", log = TRUE) +
    labs(title = title, subtitle = figure_note(experiments, paste0(
      runs_per_cell(medians$n), "; lines: medians; logarithmic axis"
    ), again, note, unusable_note(medians, paste(as.character(medians$series), medians$load, "tasks"), 110))) +
    theme(panel.grid.major.x = element_blank(), legend.box = "vertical", legend.text = element_text(size = rel(0.8)))
}
