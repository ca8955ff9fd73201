# Gains of 10GbE over 1GbE: cell by cell, and as the bars the paper drew.

# Each 10GbE run over the median of the same cell's 1GbE runs (rates), or the other way round (times).
gain_samples <- function(metric = "throughput") {
  fast <- grid_samples("10GbE", metric = metric)
  slow <- grid_medians("1GbE", metric = metric)
  at <- match(paste(fast$clients, fast$puts), paste(slow$clients, slow$puts))
  fast$gain <- if (metric == "completion_time") slow$shown[at] / fast$shown else fast$shown / slow$shown[at]
  fast[!is.na(fast$gain), ]
}

gain_medians <- function(samples) {
  if (nrow(samples) == 0) {
    return(samples)
  }
  stats::aggregate(gain ~ clients + puts, data = samples, FUN = stats::median)
}

gain_definitions <- c(
  throughput = "volume over time", throughput_sum = "sum of the puts' own rates",
  completion_time = "time saved",
  throughput_peak_1s = "peak over one second"
)

# The best cell and its gain, for the text.
best_gain <- function(metric = "throughput") {
  medians <- gain_medians(gain_samples(metric))
  if (nrow(medians) == 0) NULL else as.list(medians[which.max(medians$gain), ])
}

gain_at <- function(clients, puts, metric = "throughput") {
  medians <- gain_medians(gain_samples(metric))
  found <- medians$gain[medians$clients %in% clients & medians$puts %in% puts]
  if (length(found) == 0) NA_real_ else found[[1]]
}

figure_gain_by_cell <- function(value_id, title) {
  samples <- gain_samples()
  if (nrow(samples) == 0) {
    return(figure_without_data())
  }
  samples <- with_client_label(samples)
  medians <- with_client_label(gain_medians(samples))
  ggplot(medians, aes(factor(puts), gain)) +
    geom_hline(aes(yintercept = 1, linetype = "1GbE"), colour = fabric_colours[["1GbE"]], linewidth = 0.7) +
    geom_hline(aes(yintercept = published(value_id), linetype = "published"), linewidth = 0.6) +
    geom_col(fill = fabric_colours[["10GbE"]], alpha = 0.75, width = 0.62) +
    geom_runs(data = samples, position = jitter_points(0.14), size = 1.4, colour = ink, alpha = 0.7) +
    geom_text(aes(label = paste0(trimmed(gain, 2), "\u00d7")), y = 0.12, vjust = 0, colour = "white",
              fontface = "bold", size = 3.5, family = base_font) +
    facet_grid(~panel, scales = "free_x", space = "free_x") +
    scale_linetype_manual(NULL, values = c("1GbE" = "solid", published = "dashed")) +
    scale_y_continuous("10GbE over 1GbE", limits = c(0, NA), expand = expansion(c(0, 0.08)),
                       labels = function(x) paste0(x, "\u00d7")) +
    labs(title = title, subtitle = paste0(scale_note(absolute = FALSE),
      "; each run over the 1GbE median of its cell"),
         x = "puts per client")
}

figure_headline <- function(value_id, title, metrics) {
  rows <- lapply(metrics, function(metric) {
    samples <- gain_samples(metric)
    samples <- samples[samples$clients %in% 3 & samples$puts %in% 6, ]
    if (nrow(samples) == 0) NULL else data.frame(definition = gain_definitions[[metric]],
                                                    run_id = samples$run_id, gain = samples$gain)
  })
  samples <- do.call(rbind, rows)
  if (is.null(samples)) {
    return(figure_without_data())
  }
  samples$definition <- factor(samples$definition, gain_definitions[metrics])
  medians <- stats::aggregate(gain ~ definition, data = samples, FUN = stats::median)
  paper <- data.frame(definition = medians$definition, published = published(value_id))
  ggplot(medians, aes(definition, gain)) +
    geom_col(aes(y = 1), fill = fabric_colours[["1GbE"]], alpha = 0.8, width = 0.3,
      position = position_nudge(-0.17)) +
    geom_col(fill = fabric_colours[["10GbE"]], alpha = 0.8, width = 0.3, position = position_nudge(0.17)) +
    geom_text(aes(y = 1), label = "1GbE = 1", nudge_x = -0.17, vjust = -0.6, size = 3.3, family = base_font) +
    geom_text(aes(y = 0.1, label = paste0("10GbE\n", trimmed(gain), "\u00d7")), nudge_x = 0.17,
              colour = "white",
              vjust = 0, fontface = "bold", size = 3.3, family = base_font, lineheight = 0.95) +
    geom_runs(
      data = samples, aes(x = as.numeric(definition) + 0.17), size = 1.7, alpha = 0.65,
      position = jitter_points(0.06)
    ) +
    geom_published(paper, aes(x = as.numeric(definition) + 0.17, y = published)) +
    scale_y_continuous("speed relative to 1GbE", limits = c(0, NA), expand = expansion(c(0, 0.08)),
                       labels = function(x) paste0(x, "\u00d7")) +
    labs(title = title, subtitle = paste0(scale_note(absolute = FALSE), "; 3 clients, 6 puts each"), x = NULL)
}

figure_completion <- function(title, clients = 3, puts = 6) {
  samples <- grid_samples(c("1GbE", "10GbE"), clients, puts, "completion_time")
  medians <- grid_medians(c("1GbE", "10GbE"), clients, puts, "completion_time")
  points <- published_cells("completion_time", c("1GbE", "10GbE"), clients, puts)
  if (nrow(medians) == 0) {
    return(figure_without_data())
  }
  ggplot(medians, aes(fabric, shown)) +
    geom_col(aes(colour = fabric), fill = NA, width = 0.5, linewidth = 0) +
    geom_col(fill = fabric_colours[as.character(medians$fabric)], alpha = 0.75, width = 0.5) +
    geom_runs(data = samples, position = jitter_points(0.1), size = 1.8, alpha = 0.65) +
    interval_bars(medians, 0.14) +
    geom_published(points, aes(fabric, published), size = 4) +
    scale_colour_manual(values = fabric_colours, guide = "none") +
    coord_flip() +
    time_axis("seconds, full-scale equivalent") +
    labs(title = title, subtitle = sub("left axis", "lower axis", time_note()), x = NULL)
}

data_gain <- function(metric = "throughput") {
  samples <- gain_samples(metric)
  if (nrow(samples) == 0) {
    return(samples)
  }
  data.frame(run_id = samples$run_id, clients = samples$clients, puts_per_client = samples$puts,
             metric = metric,
             gain_over_median_of_1gbe = signif(samples$gain, 6))
}

# Table 1 under every definition of throughput.
definition_names <- c(
  throughput = "average: volume over time", throughput_sum = "average: sum of the puts' own rates",
  throughput_peak_1s = "maximum over 1 s", throughput_peak_100ms = "maximum over 0.1 s",
  throughput_peak = "maximum over one full-scale second, shortened by the data fraction"
)

definitions_table <- function() {
  slow <- cell("1GbE", 3, 6)
  fast <- cell("10GbE", 3, 6)
  rows <- lapply(names(definition_names), function(metric) {
    a <- cell_estimate(slow, metric)
    b <- cell_estimate(fast, metric)
    if (nrow(a) == 0 || nrow(b) == 0) {
      return(NULL)
    }
    data.frame(
      Definition = definition_names[[metric]],
      "1GbE" = with_interval(a$shown[[1]], a$shown_low[[1]], a$shown_high[[1]]),
      "10GbE" = with_interval(b$shown[[1]], b$shown_low[[1]], b$shown_high[[1]]),
      Ratio = paste0(trimmed(b$shown[[1]] / a$shown[[1]]), "\u00d7"),
      Runs = paste(a$n[[1]], "/", b$n[[1]]), check.names = FALSE
    )
  })
  rows <- do.call(rbind, rows)
  md_table(if (is.null(rows)) data.frame() else rows, widths = c(38, 20, 20, 12, 10))
}

data_table1 <- function() {
  metrics <- c(names(definition_names), "completion_time")
  do.call(rbind, lapply(metrics, function(metric) data_grid(c("1GbE", "10GbE"), 3, 6, metric)))
}

# The headline in words, from the runs.
headline_sentence <- function() {
  best <- best_gain()
  if (is.null(best)) {
    return("The gain of 10GbE over 1GbE was not measured at this effort.")
  }
  text <- sprintf(
    "Of the cells measured, the one with %s and %s each gains most on 10GbE: %s\u00d7.",
    count_of(best$clients, "client"), count_of(best$puts, "put"), trimmed(best$gain)
  )
  by_volume <- gain_at(3, 6)
  if (is.na(by_volume)) {
    return(text)
  }
  paste(text, sprintf(
    paste(
      "At the paper's own point, three clients with six puts each, the gain is %s\u00d7 by volume over time and",
      "%s\u00d7 by the sum of the puts' own rates; the paper prints %s\u00d7."
    ),
    trimmed(by_volume), trimmed(gain_at(3, 6, "throughput_sum")), trimmed(published("E-V11"))
  ))
}
