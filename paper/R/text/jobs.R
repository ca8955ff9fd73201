# What a job did with processors and links, run by run.
#
# metric_table(experiment, metrics, by, where)  medians (with intervals) as a table: a row per cell, a column per metric
#   metrics  named vector, names are the column heads: c("CPU cores" = "worker_cpu_cores"); bytes are in GB
# compute_table(experiment, by, where)   how long processors were short, and how idle they were
# compute_sentence(experiment, where)    the same in words, with the share of the startup overhead
# wire_table(experiment, by, where)      shuffled bytes against bytes on the links
# phase_table(experiment, by, where)     means of map, shuffle, merge and reduce times (tidy/runs.csv, all runs)

metric_rows <- function(experiment, metrics, by, where) {
  medians <- medians_at(experiment, unname(metrics), where, by)
  if (nrow(medians) == 0) {
    return(data.frame())
  }
  bytes <- medians$unit %in% "B"
  for (column in c("shown", "shown_low", "shown_high")) {
    medians[[column]] <- ifelse(bytes, medians[[column]] / 1e9, medians[[column]])
  }
  levels <- levels(droplevels(medians$level))
  columns <- lapply(metrics, function(metric) {
    vapply(levels, function(level) {
      of <- only_cell(medians[medians$metric == metric & medians$level == level, ])
      if (nrow(of) == 0) "\u2013" else marked(with_interval(of$shown, of$shown_low, of$shown_high), of)
    }, character(1))
  })
  runs <- vapply(levels, function(level) max(medians$n[medians$level == level]), numeric(1))
  cbind(
    data.frame(Cell = safe(gsub("\n", ", ", levels))), as.data.frame(columns, check.names = FALSE),
    data.frame(Runs = runs), row.names = NULL
  )
}

metric_table <- function(experiment, metrics, by = "fabric", where = list()) {
  rows <- metric_rows(experiment, metrics, by, where)
  if (nrow(rows) == 0) {
    return(md_table(data.frame()))
  }
  medians <- medians_at(experiment, unname(metrics), where, by)
  with_unusable(md_table(rows, widths = c(20, rep(70 / length(metrics), length(metrics)), 8)), medians)
}

compute_table <- function(experiment, by = "fabric", where = list()) {
  metric_table(experiment, c(
    "Compute share of net time" = "compute_share", "Idle, mean" = "cpu_idle_mean",
    "Idle, worst second" = "cpu_idle_min",
    "CPU s a GB" = "cpu_seconds_per_gb", "Startup overhead, s" = "job_floor"
  ), by, where)
}

range_text <- function(x, digits = 0) {
  ends <- unique(percent(range(x), digits))
  paste(sub(" %$", "\u00a0%", ends), collapse = " to ")
}

# A net time that is small beside the startup overhead is mostly the difference of two starts: the reader must know.
compute_sentence <- function(experiment, where = list()) {
  share <- medians_at(experiment, "compute_share", where)$shown
  runs <- runs_at(experiment, c("completion_time", "completion_time_net"), where)
  wide <- stats::setNames(runs$value[runs$metric == "completion_time"], runs$run_id[runs$metric == "completion_time"])
  net <- runs[runs$metric == "completion_time_net", ]
  net_share <- net$value / wide[net$run_id]
  net_share <- net_share[!is.na(net_share)]
  if (length(share) == 0 || length(net_share) == 0) {
    return("How long the processors were short was not measured at this effort.")
  }
  text <- sprintf(paste("The processors were short in %s of the net time (medians of the cells); there the network can",
                        "save nothing. Net time is %s of the whole time of a job, the rest is its startup overhead."),
                  range_text(share), range_text(net_share))
  if (min(net_share) < 0.2) {
    text <- paste(text, sprintf(paste("**In %s the net time is less than a fifth of the whole: it is then mostly the",
                                      "difference between two starts, and a ratio of such times says little.**"),
                                count_of(sum(net_share < 0.2), "run")))
  }
  text
}

wire_table <- function(experiment, by = "fabric", where = list()) {
  metric_table(experiment, c(
    "Shuffled, GB" = "shuffle_bytes", "Shuffle on the wire, GB" = "shuffle_wire_bytes",
    "Into worker links, GB" = "worker_wire_bytes", "Wire bytes a user byte" = "wire_per_user_byte"
  ), by, where)
}

phase_table <- function(experiment, by = "fabric", where = list()) {
  metric_table(experiment, c(
    "map, s a task" = "map_time", "shuffle, s" = "shuffle_time", "merge, s" = "merge_time", "reduce, s" = "reduce_time",
    "maps' share" = "map_phase_share", "shuffle alone" = "shuffle_share"
  ), by, where)
}
