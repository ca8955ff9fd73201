# The tasks of a job over time: one run a level, the one nearest the median, from phases.csv.
#
# median_runs(experiment, metric, where, by)        of each level, the run nearest its median
# data_phases(experiment, by, where, metric, jobs)  the tasks of those runs; what the arguments mean: figures/phases.R

median_runs <- function(experiment, metric, where, by) {
  runs <- runs_at(experiment, metric, where, by)
  if (nrow(runs) == 0) {
    return(runs)
  }
  do.call(rbind, lapply(split(runs, runs$level, drop = TRUE), function(of) {
    of[which.min(abs(of$shown - stats::median(of$shown))), ]
  }))
}

phase_names <- c("map", "shuffle", "merge", "reduce")

data_phases <- function(experiment, by = "fabric", where = list(), metric = "completion_time_net", jobs = NULL) {
  runs <- median_runs(experiment, metric, where, by)
  tasks <- read_phases()
  tasks <- tasks[tasks$run_id %in% runs$run_id & !is.na(tasks$end), ]
  if (!is.null(jobs)) tasks <- tasks[tasks$job %in% jobs, ]
  if (nrow(tasks) == 0) {
    return(data.frame())
  }
  tasks$level <- runs$level[match(tasks$run_id, runs$run_id)]
  tasks[order(tasks$level, tasks$job, tasks$start, tasks$task), ]
}
