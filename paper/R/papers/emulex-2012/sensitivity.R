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
  "page-cache" = list(
    column = "page_cache", words = TRUE, label = "memory in front of the DataNodes' drives",
    what = "the DataNodes' memory (one put and 18)", fabric = NA
  ),
  "data-fraction" = list(
    column = "file_blocks", label = "blocks a file, which sets the data fraction",
    what = "the data fraction (one put and 18)", fabric = NA
  ),
  "block-size" = list(
    column = "block_size_bytes", per = 2^20, label = "block, MiB (full scale)",
    what = "the size of a block (one put and 18)", fabric = NA
  ),
  "packet-size" = list(
    column = "packet_bytes", per = 2^10, label = "packet of HDFS, KiB",
    what = "the size of HDFS's packets (one put and 18)", fabric = NA
  ),
  "scale-factor" = list(
    column = "k", label = "k, by which rates and sizes are divided",
    what = "the scale factor (one put and 18)", fabric = NA
  )
)

# Valid runs of a study; `level` is what was moved (a number, or of an axis of `words` a text), `load` the number of
# puts where the study has several.
sensitivity_runs <- function(experiment) {
  axis <- sensitivity_axes[[experiment]]
  runs <- valid_runs(experiment, "throughput")
  levels <- runs[[axis$column]]
  runs$level <- if (isTRUE(axis$words)) levels else as_value(levels) / (if (is.null(axis$per)) 1 else axis$per)
  puts <- ifelse(is.na(runs$total_puts), 18, runs$total_puts)
  runs$load <- factor(ifelse(puts == 1, "one put", paste(puts, "puts")), c("one put", "18 puts"))
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
  medians <- stats::aggregate(shown ~ level + fabric + load, data = runs, FUN = stats::median)
  ranges <- vapply(split(medians, paste(medians$load, medians$fabric)), function(x) {
    x <- x[order(x$level), ]
    ends <- x$level[c(1, nrow(x))]
    ends <- if (is.character(ends)) ends else trimmed(ends)
    sprintf("%s on %s: from %s MB/s at %s to %s MB/s at %s", x$load[[1]], x$fabric[[1]], trimmed(x$shown[[1]]),
            ends[[1]], trimmed(x$shown[[nrow(x)]]), ends[[2]])
  }, character(1))
  counts <- stats::aggregate(shown ~ level + fabric + load, data = runs, FUN = length)$shown
  each <- if (max(counts) == 1) "one run each" else paste("medians of", count_of(min(counts), "run"), "each at least")
  paste0("Sensitivity to ", axis$what, ", against ", axis$label, " (full-scale equivalents, ", each, "): ",
         listed(ranges), ".")
}

figure_sensitivity <- function(experiment) {
  axis <- sensitivity_axes[[experiment]]
  runs <- sensitivity_runs(experiment)
  if (nrow(runs) == 0) {
    return(figure_without_data(paste0("Sensitivity to ", axis$what, ":\nnot measured at this effort.")))
  }
  of_cell <- function(what) stats::aggregate(shown ~ level + fabric + load, data = runs, FUN = what)
  medians <- of_cell(stats::median)
  points <- published_cells("throughput", unique(runs$fabric), 3, 6)
  points$load <- rep("18 puts", nrow(points))
  points <- points[points$load %in% runs$load, ]
  ggplot(runs, aes(factor(level), shown, colour = fabric, shape = fabric)) +
    geom_hline(data = points, aes(yintercept = published, linetype = "published"), linewidth = 0.5) +
    geom_line(data = medians, aes(group = fabric), linewidth = 0.7) +
    geom_runs(position = jitter_points(0.08), size = 2, alpha = 0.75) +
    facet_wrap(~load, scales = "free_y") +
    scale_fabric() +
    scale_linetype_manual(NULL, values = c(published = "dashed")) +
    measured_axis(runs, "MB/s") +
    labs(title = paste("Sensitivity to", axis$what), x = axis$label,
         subtitle = paste(scale_note(experiment), runs_per_cell(of_cell(length)$shown, intervals = FALSE), sep = "\n"))
}

data_sensitivity <- function() {
  rows <- lapply(names(sensitivity_axes), function(experiment) {
    runs <- sensitivity_runs(experiment)
    if (nrow(runs) == 0) {
      return(NULL)
    }
    data.frame(
      run_id = runs$run_id, experiment = experiment, axis = sensitivity_axes[[experiment]]$column, load = runs$load,
      level = runs$level, fabric = runs$fabric, value = runs$value, full_scale_value = runs$shown
    )
  })
  do.call(rbind, rows)
}
