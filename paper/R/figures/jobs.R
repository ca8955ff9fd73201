# What a job did with the processors, run by run.
#
# figure_worker_cpu(experiment, title, by, where, metrics)  CPU of a worker: points of all runs
# figure_cpu_trace(experiment, title, by, where)            cores busy on each worker over time, one run a level

figure_worker_cpu <- function(experiment, title, by = "fabric", where = list(),
                              metrics = c("cores busy on one worker, mean" = "worker_cpu_cores",
                                          "CPU seconds of a worker a GB" = "worker_cpu_seconds_per_gb"),
                              published = FALSE, ...) {
  figure_bars(experiment, metrics, by, title, where, style = "points", name = "", published = published, ...)
}

data_cpu_trace <- function(experiment, by = "fabric", where = list()) {
  runs <- median_runs(experiment, "completion_time_net", where, by)
  series <- read_series()
  series <- series[series$series %in% "cpu" & series$run_id %in% runs$run_id & !series$host %in% "machine", ]
  if (nrow(series) == 0) {
    return(data.frame())
  }
  series$time <- as_value(series$time)
  series$value <- as_value(series$value)
  series$level <- runs$level[match(series$run_id, runs$run_id)]
  series[series$time >= 0, c("run_id", "level", "host", "time", "value")]
}

# Samples are averaged over windows of half a second: ticks are too coarse for less.
figure_cpu_trace <- function(experiment, title, by = "fabric", where = list()) {
  table <- data_cpu_trace(experiment, by, where)
  if (nrow(table) == 0) {
    return(figure_without_data(paste0(title, ":\nno CPU trace of the workers was recorded at this effort.")))
  }
  table$time <- floor(table$time / 0.5) * 0.5 + 0.25
  table <- stats::aggregate(value ~ level + host + time, data = table, FUN = mean)
  mean <- stats::aggregate(value ~ level + time, data = table, FUN = mean)
  ggplot(table, aes(time, value)) +
    geom_line(aes(group = host), colour = okabe_ito[["sky"]], alpha = 0.6, linewidth = 0.4) +
    geom_line(data = mean, colour = okabe_ito[["blue"]], linewidth = 0.9) +
    facet_wrap(~level, scales = "free_x") +
    scale_x_continuous("seconds as measured", limits = c(0, NA), expand = expansion(c(0, 0.03))) +
    scale_y_continuous("processor cores busy on one worker", limits = c(0, NA), expand = expansion(c(0, 0.08))) +
    labs(title = title, subtitle = figure_note(experiment, "thin: each worker, thick: their mean; one run a panel"))
}
