# How much of the processors was left while the runs were made.

headroom_words <- c(cpu_late = "wake-up latency,\nms, mean of the run",
                    cpu_outside = "used by other programs,\nprocessors",
                    cpu_idle_mean = "idle, mean of the run,\nshare",
                    cpu_idle_min = "idle, worst second of the run,\nshare",
                    compute_share = "short beyond the startup overhead,\nshare (compute share)",
                    write_short_while_busy = "short while TestDFSIO's\ntasks wrote, share",
                    read_short_while_busy = "short while TestDFSIO's\ntasks read, share")

# A job starts all its processes at once, so no second of it says much: it has a compute share in place of the worst.
# Where wake-up latency is known, it shows what idle time only suggests.
cpu_headroom <- function() {
  runs <- read_runs()
  runs <- runs[runs$metric %in% names(headroom_words) & !is.na(runs$value), ]
  jobs <- runs$experiment[runs$metric == "compute_share"]
  known <- any(runs$metric == "cpu_late")
  runs[!(runs$metric == "cpu_idle_min" & (known | runs$experiment %in% jobs)), ]
}

# The bounds that runs are held to, each in its panel and beside the experiments that it applies to: what other programs
# use has one where computing is the point, all else where it is not.
headroom_bounds <- function() {
  limits <- c(read_environments(), list(list()))[[1]]$limits
  of <- c(cpu_late = "cpu_late_ms", cpu_outside = "cpu_outside", cpu_idle_min = "cpu_idle_floor",
          compute_share = "compute_share")
  computing <- vapply(Filter(function(x) identical(x$cpu, "report"), read_paper()$experiments), function(x) x$id,
                      character(1))
  drawn <- unique(cpu_headroom()[c("metric", "experiment")])
  held <- (drawn$metric == "cpu_outside") == (drawn$experiment %in% computing)
  drawn <- drawn[held & of[drawn$metric] %in% names(limits), ]
  data.frame(bound = as.numeric(unlist(limits[of[drawn$metric]])), experiment = drawn$experiment,
             what = factor(headroom_words[drawn$metric], headroom_words))
}

# What the panels are, for the caption.
headroom_panels <- function() {
  drawn <- headroom_words[names(headroom_words) %in% cpu_headroom()$metric]
  paste(gsub("\n", " ", drawn), collapse = "; ")
}

headroom_alt <- function() paste0("A point for every run, by experiment, in panels: ", headroom_panels(), ".")

headroom_caption <- function() {
  paste0("What was left of the processors while the runs were made: an emulation that runs out of them measures the ",
         "machine, not the network. By panel: ", headroom_panels(), ".",
         if (nrow(headroom_bounds()) > 0) " Dashed: the bound, beside the experiments that are held to it.")
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
  bounds <- headroom_bounds()
  rows <- rev(unique(runs$experiment))
  bounds$row <- match(bounds$experiment, rows)
  runs$experiment <- factor(runs$experiment, rows)
  runs$what <- factor(headroom_words[runs$metric], headroom_words)
  runs$state <- ifelse(runs$valid, "valid", "invalid")
  runs$attempt <- attempt_number(runs)
  ggplot(runs, aes(value, experiment, colour = state, shape = state)) +
    geom_blank() +
    geom_segment(aes(x = bound, xend = bound, y = row - 0.5, yend = row + 0.5), bounds, linetype = "22",
                 colour = "grey40", inherit.aes = FALSE) +
    geom_runs(aes(label = run_label(run_id, attempt)), position = position_jitter(width = 0, height = 0.2, seed = 1),
              alpha = 0.7, size = 1.7) +
    facet_wrap(~what, ncol = 2, scales = "free_x") +
    scale_colour_manual(NULL, values = c(valid = okabe_ito[["blue"]], invalid = okabe_ito[["vermillion"]])) +
    scale_shape_manual(NULL, values = c(valid = 16, invalid = 4)) +
    scale_x_continuous(NULL, limits = c(0, NA), breaks = scales::breaks_extended(4)) +
    theme(panel.spacing.x = unit(22, "pt")) +
    labs(title = title, subtitle = scale_note(absolute = FALSE), y = NULL)
}
