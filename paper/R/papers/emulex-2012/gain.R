# Gains of 10GbE over 1GbE: cell by cell, and as the bars the paper drew.

# Each 10GbE run over the median of the same cell's 1GbE runs (rates), or the other way round (times). `n` counts the
# runs of the side that has fewer.
gain_samples <- function(metric = "throughput", clients = 1:3, puts = NULL) {
  fast <- grid_samples("10GbE", clients, puts, metric)
  slow <- grid_medians("1GbE", clients, puts, metric)
  cell <- paste(fast$clients, fast$puts)
  at <- match(cell, paste(slow$clients, slow$puts))
  fast$gain <- if (metric == "completion_time") slow$shown[at] / fast$shown else fast$shown / slow$shown[at]
  fast$n <- pmin(as.numeric(table(cell)[cell]), slow$n[at])
  fast[!is.na(fast$gain), ]
}

gain_medians <- function(samples) {
  if (nrow(samples) == 0) {
    return(samples)
  }
  stats::aggregate(gain ~ clients + puts + n, data = samples, FUN = stats::median)
}

gain_definitions <- c(
  throughput = "volume over time", throughput_sum = "sum of the puts' own rates",
  completion_time = "completion time",
  throughput_peak_1s = "peak over one second"
)

# Three clients, six puts each: the paper's own point, under each definition.
headline_samples <- function(metrics) {
  do.call(rbind, lapply(metrics, function(metric) {
    samples <- gain_samples(metric, 3, 6)
    cbind(samples, definition = factor(rep(gain_definitions[[metric]], nrow(samples)), gain_definitions[metrics]))
  }))
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
    geom_col(aes(alpha = paler(n)), fill = fabric_colours[["10GbE"]], width = 0.62) +
    geom_runs(data = samples, position = jitter_points(0.14), size = 1.4, colour = ink, alpha = 0.7) +
    geom_text(aes(label = paste0(trimmed(gain, 2), "\u00d7"), colour = ifelse(n > 1, "white", ink)), y = 0.12,
              vjust = 0, fontface = "bold", size = 3.5, family = base_font) +
    scale_alpha_identity() +
    scale_colour_identity() +
    facet_grid(~panel, scales = "free_x", space = "free_x") +
    scale_linetype_manual(NULL, values = c("1GbE" = "solid", published = "dashed")) +
    scale_y_continuous("10GbE over 1GbE", limits = c(0, NA), expand = expansion(c(0, 0.08)),
                       labels = function(x) paste0(x, "\u00d7")) +
    labs(title = title, x = "puts per client", subtitle = figure_note("put-grid", paste0(
      "each run over the 1GbE median of its cell; ",
      sub("per cell", "on the network with fewer", runs_per_cell(medians$n, TRUE, FALSE), fixed = TRUE)
    )))
}

# `values` names the printed value of each metric.
figure_headline <- function(values, title) {
  samples <- headline_samples(names(values))
  if (nrow(samples) == 0) {
    return(figure_without_data())
  }
  medians <- stats::aggregate(gain ~ definition + metric + n, data = samples, FUN = stats::median)
  medians$published <- vapply(values[medians$metric], published, numeric(1))
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
    geom_published(medians, aes(x = as.numeric(definition) + 0.17, y = published)) +
    scale_y_continuous("speed relative to 1GbE", limits = c(0, NA), expand = expansion(c(0, 0.08)),
                       labels = function(x) paste0(x, "\u00d7")) +
    labs(title = title, x = NULL, subtitle = figure_note("put-grid", paste0(
      "3 clients, 6 puts each; ", runs_per_cell(medians$n, intervals = FALSE)
    )))
}

figure_completion <- function(title) {
  samples <- grid_samples(c("1GbE", "10GbE"), 3, 6, "completion_time")
  medians <- grid_medians(c("1GbE", "10GbE"), 3, 6, "completion_time")
  points <- published_cells("completion_time", c("1GbE", "10GbE"), 3, 6)
  if (nrow(medians) == 0) {
    return(figure_without_data())
  }
  ggplot(medians, aes(fabric, shown)) +
    geom_col(aes(colour = fabric), fill = NA, width = 0.5, linewidth = 0) +
    geom_col(fill = fabric_colours[as.character(medians$fabric)], alpha = paler(medians$n), width = 0.5) +
    geom_runs(data = samples, position = jitter_points(0.1), size = 1.8, alpha = 0.65) +
    interval_bars(medians, 0.14) +
    geom_published(points, aes(fabric, published), size = 4) +
    scale_colour_manual(values = fabric_colours, guide = "none") +
    coord_flip() +
    measured_axis(samples, "seconds") +
    labs(title = title, x = NULL, subtitle = paste(sub("left axis", "lower axis", time_note()),
                                                    runs_per_cell(medians$n), sep = "\n"))
}

data_gain <- function(samples = gain_samples()) {
  if (nrow(samples) == 0) {
    return(samples)
  }
  data.frame(run_id = samples$run_id, clients = samples$clients, puts_per_client = samples$puts,
             metric = samples$metric, gain_over_median_of_1gbe = signif(samples$gain, 6))
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
    a <- rebuilt_cell(slow, metric)
    b <- rebuilt_cell(fast, metric)
    if (is.null(a$median) || is.null(b$median)) {
      return(NULL)
    }
    number <- function(of) {
      marked(with_interval(of$median$shown, of$median$shown_low, of$median$shown_high), of$median)
    }
    data.frame(
      Definition = definition_names[[metric]], "1GbE" = number(a), "10GbE" = number(b),
      Ratio = paste0(trimmed(b$median$shown / a$median$shown), "\u00d7"), Runs = paste(a$n, "/", b$n),
      check.names = FALSE
    )
  })
  rows <- do.call(rbind, rows)
  table <- md_table(if (is.null(rows)) data.frame() else rows, widths = c(38, 20, 20, 12, 10))
  medians <- grid_medians(c("1GbE", "10GbE"), 3, 6, names(definition_names))
  with_unusable(table, medians, paste(medians$fabric, definition_names[medians$metric]))
}

data_table1 <- function() {
  metrics <- c(names(definition_names), "completion_time")
  do.call(rbind, lapply(metrics, function(metric) data_grid(c("1GbE", "10GbE"), 3, 6, metric)))
}

# "three clients with 2, 6 and 8 puts each": the cells that a claim looks at.
cells_words <- function(cells) {
  part <- function(name) vapply(cells, function(cell) as_value(cell[[name]]), numeric(1))
  puts <- split(part("puts_per_client"), factor(part("clients"), unique(part("clients"))))
  listed(vapply(names(puts), function(clients) {
    number <- as.integer(clients)
    sprintf("%s %s with %s %s each", small_number(number), if (number == 1) "client" else "clients",
            listed(puts[[clients]]), if (all(puts[[clients]] == 1)) "put" else "puts")
  }, character(1)))
}

# The headline in words: what E-C01 found, and E-C02, which is of the paper's own point.
headline_sentence <- function() {
  best <- verdict_row("E-C01")
  if (is.na(best$estimate) || !by_runs(best)) {
    return("The gain of 10GbE over 1GbE was not measured at this effort.")
  }
  of_claim <- function(row) sprintf("(%s, n\u00a0=\u00a0%s)", row$claim, row$n)
  cells <- with_id(read_paper()$claims, "E-C01")$test$cells
  text <- sprintf("%s the best cell gains %s on 10GbE %s.",
                  if (is.null(cells)) "Over all of the grid" else paste("Of", cells_words(cells)),
                  row_estimate(best, "\u00d7"), of_claim(best))
  own <- verdict_row("E-C02")
  if (is.na(own$estimate)) {
    return(text)
  }
  paste(text, sprintf(
    paste(
      "At the paper's own point, three clients with six puts each, the gain is %s by volume over time %s and",
      "%s by the sum of the puts' own rates; the paper prints %s\u00d7."
    ),
    row_estimate(own, "\u00d7"), of_claim(own), reading_estimate("E-C02", "throughput_sum", "\u00d7"),
    trimmed(published("E-V11"))
  ))
}
