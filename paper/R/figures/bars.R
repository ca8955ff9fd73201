# Published beside rebuilt: bars or points of any cells, every run, interval, and the paper's value as its own mark.
#
# figure_bars: experiment, metrics, by, title, where, published, relative_to, name, style, note, log
#   experiment   name(s) of experiments in the YAML
#   metrics      one metric, or several: a panel each (named: the names are the panels' titles)
#   by           factor(s) that make the bars, e.g. "fabric" or c("store", "fabric")
#   where        list(factor = levels) to pick cells; all that were run if left out
#   published    NULL (then the figure says that no values are printed), or data.frame(level, published) with
#                `metric` too if there are several, and `level` made by published_level(); values computed
#                from printed ones are for the caption; FALSE says nothing about printed values
#   relative_to  list(factor = level): every run over the median of that cell (ratios are all that a paper prints)
#   name         title of the y axis; the unit if left out
#   style        "bars" or "points"
#   log          a logarithmic axis, for points whose cells are far apart
#   note         a further line below the title, e.g. "CephFS in Lustre's place"
# published_level(by, fabric = "10gbe", store = "hdfs-3x")   the label of a cell, as the bars have it

published_level <- function(by, ...) {
  at <- list(...)
  paste(vapply(by, function(factor) level_name(factor, at[[factor]]), character(1)), collapse = "\n")
}

panel_names <- function(metrics) {
  names <- if (is.null(names(metrics))) gsub("_", " ", metrics) else names(metrics)
  stats::setNames(names, metrics)
}

# Values over a cell's median. An interval gets that median's own, as of independent errors: in logarithms its halves
# add in squares. Of the cell over itself there is none.
over_cell <- function(table, experiment, metrics, relative_to) {
  ranged <- all(c("shown_low", "shown_high") %in% names(table))
  table$few_low <- table$few_high <- NULL  # of the values themselves
  for (metric in metrics) {
    base <- only_cell(medians_at(experiment, metric, relative_to))
    of <- table$metric == metric
    if (nrow(base) == 0) {
      table$shown[of] <- NA
      next
    }
    ratio <- table$shown[of] / base$shown[[1]]
    if (ranged) {
      half <- function(own, end, base_end) sqrt(log(end / own)^2 + log(base_end / base$shown[[1]])^2)
      down <- half(table$shown[of], table$shown_low[of], base$shown_high[[1]])
      up <- half(table$shown[of], table$shown_high[of], base$shown_low[[1]])
      own <- ratio == 1
      table$shown_low[of] <- ifelse(own, NA, ratio * exp(-down))
      table$shown_high[of] <- ifelse(own, NA, ratio * exp(up))
    }
    table$shown[of] <- ratio
  }
  table[!is.na(table$shown), ]
}

bar_colours <- function(table, by) {
  if (!"fabric" %in% by || length(unique(table$fabric)) < 2) {
    return(rep(okabe_ito[["sky"]], nrow(table)))
  }
  unname(fabric_palette(unique(table$fabric))[as.character(table$fabric)])
}

# A layer for each colour: the figure's own scales of colour and fill are for published values.
each_colour <- function(table, layer) {
  unname(lapply(split(table, table$colour), function(own) layer(own, own$colour[[1]])))
}

published_note <- function(published) {
  if (isFALSE(published)) {
    return(NULL)
  }
  if (is.null(published) || nrow(published) == 0) "published values: not printed or lost"
}

# What a figure says about itself: the scale of its experiments, and further lines.
figure_note <- function(experiment, ...) paste(c(scale_note(experiment, absolute = FALSE), ...), collapse = "\n")

figure_bars <- function(experiment, metrics, by = "fabric", title, where = list(), published = NULL,
                        relative_to = NULL, name = NULL, style = "bars", note = NULL, log = FALSE) {
  runs <- runs_at(experiment, metrics, where, by)
  medians <- medians_at(experiment, metrics, where, by)
  if (!is.null(relative_to)) {
    runs <- over_cell(runs, experiment, metrics, relative_to)
    medians <- over_cell(medians, experiment, metrics, relative_to)
  }
  if (nothing_measured(runs, medians)) {
    return(figure_without_data(paste0(title, ":\nnot measured at this effort.")))
  }
  titles <- panel_names(metrics)
  runs$panel <- factor(titles[runs$metric], unique(titles))
  medians$panel <- factor(titles[medians$metric], unique(titles))
  marks <- if (is.data.frame(published) && nrow(published) > 0) published
  # A level that only the paper has comes first.
  levels <- unique(c(levels(droplevels(medians$level)), levels(droplevels(runs$level))))
  levels <- c(setdiff(as.character(marks$level), levels), levels)
  runs$level <- factor(runs$level, levels)
  medians$level <- factor(medians$level, levels)
  medians$colour <- bar_colours(medians, by)
  axis <- if (is.null(relative_to)) {
    measured_axis(runs, name, log = log)
  } else {
    scale_y_continuous(name, limits = c(0, NA), expand = expansion(c(0, 0.08)),
                       labels = function(x) paste0(x, "\u00d7"))
  }
  # Nothing drawn, but all levels in their order, of which a layer of one colour has some only.
  plot <- ggplot(medians, aes(level, shown)) + geom_blank()
  if (style == "bars") {
    plot <- plot + each_colour(medians, function(own, colour) {
      geom_col(data = own, fill = colour, alpha = 0.75, width = 0.55)
    })
  }
  plot <- plot +
    geom_runs(data = runs, position = jitter_points(0.1), size = 1.7, alpha = 0.65) +
    interval_bars(medians, 0.16) + geom_unusable(medians)
  if (style == "points") {
    plot <- plot + each_colour(medians, function(own, colour) geom_point(data = own, colour = colour, size = 3))
  }
  if (!is.null(marks)) {
    if (is.null(marks$metric)) marks$metric <- metrics[[1]]
    marks$panel <- factor(titles[marks$metric], unique(titles))
    marks$level <- factor(marks$level, levels)
    plot <- plot + geom_published(marks, aes(level, published), size = 4) + scale_x_discrete(drop = FALSE)
  }
  if (length(titles) > 1) plot <- plot + facet_wrap(~panel, scales = "free_y")
  runs_note <- paste0(runs_per_cell(medians$n), if (log) "; logarithmic axis")
  plot + axis + labs(
    title = title, x = NULL, subtitle = figure_note(
      experiment, runs_note, published_note(published), note, unusable_note(medians, width = 110)
    )
  )
}
