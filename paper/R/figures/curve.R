# The response curve: any metric against the rate of the links, with what bounds it and what the claims ask for.
#
# figure_curve: experiment, metric, title, where, published, model, bounds, inverse, name, note
#   experiment  name(s); all its fabrics are drawn, however many were run; a cell of several is that of the first
#   metric      one metric, e.g. "completion_time_net" or "write_aggregate"
#   where       list(factor = levels) for the factors beside the fabric
#   published   NULL or data.frame(rate = Gbit/s, published = value at full scale)
#   model       TRUE draws the rows of model.csv for the experiment and metric, if there are any; a data.frame(rate,
#               value, model) draws that
#   bounds      TRUE draws what the slowest link gives in proportion to the rate, and the level of the fastest link
#   inverse     TRUE marks the claims of inverse.csv on this curve; or a vector of claim ids; FALSE for none
#   name, note  title of the y axis; a further line below the title
# curve_knee(experiment, metric, where)            first rate from which the metric is within 10 % of its last level

curve_runs <- function(experiment, metric, where) {
  runs <- runs_at(experiment, metric, where)
  runs$rate <- fabric_rate(runs$fabric)
  made_once(runs[!is.na(runs$rate), ], experiment, "rate")
}

curve_medians <- function(experiment, metric, where) {
  medians <- medians_at(experiment, metric, where)
  medians$rate <- fabric_rate(medians$fabric)
  medians <- one_each(made_once(medians[!is.na(medians$rate), ], experiment, "rate"), "rate")
  medians[order(medians$rate), ]
}

curve_knee <- function(experiment, metric, where = list()) {
  medians <- curve_medians(experiment, metric, where)
  medians <- medians[!is_unusable(medians), ]
  if (nrow(medians) < 3) {
    return(NA_real_)
  }
  last <- medians$shown[[nrow(medians)]]
  near <- abs(medians$shown / last - 1) <= 0.1
  medians$rate[[which(rev(cumprod(rev(near)) == 1))[[1]]]]
}

curve_model <- function(experiment, metric, model) {
  if (is.data.frame(model)) {
    return(model)
  }
  table <- read_model()
  table <- table[table$experiment %in% experiment & table$metric %in% metric & !is.na(table$value), ]
  if (!isTRUE(model) || nrow(table) == 0) {
    return(data.frame(rate = numeric(), value = numeric(), model = character()))
  }
  table$rate <- ifelse(is.na(table$link_gbit_per_s), fabric_rate(table$fabric), table$link_gbit_per_s)
  table[order(table$rate), ]
}

# What the slowest link gives in proportion to the rate, up to the level that the fastest link reaches.
curve_bounds <- function(medians) {
  if (length(unique(medians$rate)) < 2 || anyDuplicated(medians$rate) > 0) {
    return(data.frame(rate = numeric(), value = numeric(), bound = character()))
  }
  first <- medians[1, ]
  last <- medians[nrow(medians), ]
  is_time <- identical(shown_unit(medians), "s")
  rates <- exp(seq(log(first$rate), log(last$rate), length.out = 60))
  line <- if (is_time) first$shown * first$rate / rates else first$shown * rates / first$rate
  range <- range(medians$shown)
  keep <- if (is_time) line >= 0.4 * range[[1]] else line <= 1.15 * range[[2]]
  rbind(
    data.frame(rate = rates[keep], value = line[keep], bound = "in proportion to the link"),
    data.frame(rate = c(first$rate, last$rate), value = last$shown, bound = "level of the fastest link")
  )
}

rate_breaks <- c(0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 40, 100, 400)

figure_curve <- function(experiment, metric, title, where = list(), published = NULL, model = TRUE, bounds = TRUE,
                         inverse = TRUE, name = NULL, note = NULL) {
  runs <- curve_runs(experiment, metric, where)
  medians <- curve_medians(experiment, metric, where)
  modelled <- curve_model(experiment, metric, model)
  if (nothing_measured(runs, modelled)) {
    return(figure_without_data(paste0(title, ":\nnot measured at this effort.")))
  }
  claims <- if (is.character(inverse)) inverse else NULL
  points <- if (isFALSE(inverse)) data.frame() else inverse_points(experiment, metric, where, claims)
  last <- last_rate(points, c(runs$rate, modelled$rate))
  plot <- ggplot(runs, aes(rate, shown))
  limits <- if (bounds) curve_bounds(medians[!is_unusable(medians), ]) else data.frame()
  if (nrow(limits) > 0) {
    plot <- plot + geom_line(data = limits, aes(y = value, linetype = bound), colour = soft, linewidth = 0.5)
  }
  if (nrow(modelled) > 0) {
    modelled$curve <- paste0("model: ", modelled$model)
    plot <- plot + geom_line(data = modelled, aes(y = value, linetype = curve), colour = okabe_ito[["green"]],
                             linewidth = 0.8)
  }
  plot <- plot + inverse_marks(points, last) +
    geom_line(data = medians, aes(linetype = "median of runs"), colour = okabe_ito[["blue"]], linewidth = 0.8) +
    geom_runs(size = 1.9, alpha = 0.6, colour = okabe_ito[["blue"]]) +
    interval_bars(medians, 0.03)
  if (!is.null(published)) plot <- plot + geom_published(published, aes(rate, published))
  plot +
    curve_lines(nrow(medians) > 0, nrow(limits) > 0, unique(modelled$curve)) +
    scale_x_log10("link rate, Gbit/s (full scale)", breaks = rate_breaks, labels = function(x) trimmed(x),
                  expand = expansion(c(0.05, label_room(points)))) +
    geom_unusable(medians) +
    (if (nrow(runs) > 0) measured_axis(runs, name) else modelled_axis(modelled, name)) +
    labs(title = title, subtitle = figure_note(experiment, if (nrow(points) > 0) {
      "star: link rate that a claim would need; yellow: link rates that its hardware gives"
    }, note, unusable_note(medians, medians$fabric, 110)))
}

# The legend of those lines that are drawn, each in its own colour: every layer draws into every key.
curve_lines <- function(measured, limited, models) {
  lines <- c(
    if (measured) c("median of runs" = "solid"),
    if (limited) c("in proportion to the link" = "13", "level of the fastest link" = "42"),
    stats::setNames(rep_len(c("longdash", "dotdash", "twodash", "6213"), length(models)), models)
  )
  colours <- c(
    if (measured) okabe_ito[["blue"]],
    if (limited) c(soft, soft), rep(okabe_ito[["green"]], length(models))
  )
  scale_linetype_manual(NULL, values = lines, breaks = names(lines), guide = guide_legend(
    order = 1, override.aes = list(colour = colours, linewidth = 0.7)
  ))
}

# Of a model alone: its values are those of full scale.
modelled_axis <- function(modelled, name) {
  unit <- unique(as.character(modelled$unit))
  if (is.null(name)) name <- if (length(unit) == 1 && !is.na(unit) && unit != "1") unit else "value"
  scale_y_continuous(paste0(name, ", full scale"), limits = c(0, NA), expand = expansion(c(0, 0.08)))
}
