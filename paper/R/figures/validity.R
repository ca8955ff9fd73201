# How much of the processors was left while the runs were made.

headroom_words <- c(cpu_idle_mean = "idle, mean of the run", cpu_idle_min = "idle, worst second of the run",
                    compute_share = "short beyond the job's floor\n(compute share)",
                    write_short_while_busy = "short while TestDFSIO's\ntasks wrote",
                    read_short_while_busy = "short while TestDFSIO's\ntasks read")

# A job starts all its processes at once, so no second of it tells much: it has a compute share in place of the worst.
cpu_headroom <- function() {
  runs <- read_runs()
  runs <- runs[runs$metric %in% names(headroom_words) & !is.na(runs$value), ]
  jobs <- runs$experiment[runs$metric == "compute_share"]
  runs[!(runs$metric == "cpu_idle_min" & runs$experiment %in% jobs), ]
}

# Inches: a row of panels grows with its experiments, or their names would overlap.
headroom_height <- function() {
  runs <- cpu_headroom()
  rows <- max(1, ceiling(length(unique(runs$metric)) / 2))
  1.3 + rows * (0.45 + 0.19 * max(3, length(unique(runs$experiment))))
}

figure_cpu_idle <- function(title) {
  runs <- cpu_headroom()
  if (nrow(runs) == 0) {
    return(figure_without_data())
  }
  runs$experiment <- factor(runs$experiment, rev(unique(runs$experiment)))
  runs$what <- factor(headroom_words[runs$metric], headroom_words)
  runs$state <- ifelse(runs$valid, "valid", "invalid")
  ggplot(runs, aes(value, experiment, colour = state, shape = state)) +
    geom_point(position = position_jitter(width = 0, height = 0.2, seed = 1), alpha = 0.7, size = 1.7) +
    facet_wrap(~what, ncol = 2) +
    scale_colour_manual(NULL, values = c(valid = okabe_ito[["blue"]], invalid = okabe_ito[["vermillion"]])) +
    scale_shape_manual(NULL, values = c(valid = 16, invalid = 4)) +
    scale_x_continuous("share of the machine's CPU time, or of that time of the job", limits = c(0, 1),
                       breaks = c(0, 0.25, 0.5, 0.75, 1),
                       labels = scales::percent_format()) +
    theme(panel.spacing.x = unit(22, "pt")) +
    labs(title = title, subtitle = scale_note(absolute = FALSE), y = NULL)
}
