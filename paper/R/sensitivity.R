# How the results move when a choice of the emulation moves.

sensitivity_axes <- list(
  "switch-buffer" = list(
    column = "switch_buffer_kib", label = "switch port buffer, KiB",
    what = "the switch port's buffer (18 puts, 1GbE)",
    fabric = "1GbE"
  ),
  "drive-rate" = list(
    column = "rate_mb_per_s", label = "rate of one drive, MB/s (full scale)",
    what = "the rate of a drive (18 puts, 10GbE)", fabric = "10GbE"
  ),
  "data-fraction" = list(
    column = "file_blocks", label = "blocks a file, which sets the data fraction",
    what = "the data fraction (18 puts)",
    fabric = NA
  )
)

sensitivity_runs <- function(experiment) {
  axis <- sensitivity_axes[[experiment]]
  runs <- valid_runs(experiment, "throughput")
  runs$level <- as_value(runs[[axis$column]])
  if (!is.na(axis$fabric)) runs$fabric <- ifelse(is.na(runs$fabric), axis$fabric, runs$fabric)
  runs[!is.na(runs$level), ]
}

sensitivity_sentence <- function(experiment) {
  axis <- sensitivity_axes[[experiment]]
  runs <- sensitivity_runs(experiment)
  if (nrow(runs) == 0) {
    return(sprintf(
      "Sensitivity to %s was **not measured at this effort**; `make papers EFFORT=full` measures it.",
      axis$what
    ))
  }
  medians <- stats::aggregate(shown ~ level + fabric, data = runs, FUN = stats::median)
  told <- vapply(split(medians, medians$fabric), function(x) {
    x <- x[order(x$level), ]
    sprintf("on %s the median goes from %s MB/s at %s to %s MB/s at %s", x$fabric[[1]], trimmed(x$shown[[1]]),
            trimmed(x$level[[1]]), trimmed(x$shown[[nrow(x)]]), trimmed(x$level[[nrow(x)]]))
  }, character(1))
  paste0("Sensitivity to ", axis$what, ", against ", axis$label, ": ", listed(told), ".")
}

figure_sensitivity <- function(experiment) {
  axis <- sensitivity_axes[[experiment]]
  runs <- sensitivity_runs(experiment)
  if (nrow(runs) == 0) {
    return(figure_without_data(paste0("Sensitivity to ", axis$what, ":\nnot measured at this effort.")))
  }
  medians <- stats::aggregate(shown ~ level + fabric, data = runs, FUN = stats::median)
  points <- published_cells("throughput", unique(runs$fabric), 3, 6)
  ggplot(runs, aes(factor(level), shown, colour = fabric, shape = fabric)) +
    geom_hline(data = points, aes(yintercept = published, linetype = "published"), linewidth = 0.5) +
    geom_line(data = medians, aes(group = fabric), linewidth = 0.7) +
    geom_point(position = jitter_points(0.08), size = 2, alpha = 0.75) +
    scale_fabric() +
    scale_linetype_manual(NULL, values = c(published = "dashed")) +
    rate_axis(experiment = experiment) +
    labs(title = paste("Sensitivity to", axis$what), subtitle = scale_note(experiment), x = axis$label)
}

data_sensitivity <- function() {
  rows <- lapply(names(sensitivity_axes), function(experiment) {
    runs <- sensitivity_runs(experiment)
    if (nrow(runs) == 0) {
      return(NULL)
    }
    data.frame(run_id = runs$run_id, experiment = experiment, axis = sensitivity_axes[[experiment]]$column,
               level = runs$level, fabric = runs$fabric, value = runs$value, full_scale_value = runs$shown)
  })
  do.call(rbind, rows)
}

# Tuned settings against the defaults, and the copying of lost replicas.
figure_pairs <- function(experiment, column, metric, title, order = NULL) {
  runs <- valid_runs(experiment, metric)
  runs <- runs[!is.na(runs[[column]]), ]
  if (nrow(runs) == 0) {
    return(figure_without_data(paste0(title, ":\nnot measured at this effort.")))
  }
  levels <- if (is.null(order)) unique(runs[[column]]) else order
  runs$level <- factor(runs[[column]], levels)
  medians <- stats::aggregate(shown ~ level, data = runs, FUN = stats::median)
  axis_of <- if (metric == "completion_time") time_axis else rate_axis
  note <- if (metric == "completion_time") time_note(experiment) else scale_note(experiment)
  ggplot(medians, aes(level, shown)) +
    geom_col(fill = okabe_ito[["sky"]], alpha = 0.75, width = 0.45) +
    geom_point(data = runs, position = jitter_points(0.08), size = 2, alpha = 0.7) +
    axis_of(experiment = experiment) +
    labs(title = title, subtitle = note, x = NULL)
}

data_pairs <- function(experiment, column, metric) {
  runs <- valid_runs(experiment, metric)
  data.frame(run_id = runs$run_id, level = runs[[column]], metric = runs$metric, value = runs$value,
             full_scale_value = runs$shown)
}
