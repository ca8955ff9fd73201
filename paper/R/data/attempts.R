# Attempts and runs, valid and invalid.

# One row an attempt. A run whose attempt is invalid is attempted again, under the same name.
attempt_table <- function() {
  runs <- with_columns(read_runs(), c("attempt", "block"))
  runs$attempt <- attempt_number(runs)
  runs <- runs[!duplicated(runs[c("run_id", "attempt")]), ]
  runs[c("run_id", "attempt", "block", "experiment", "valid", "why_invalid")]
}

# Tables from before attempts were counted have one of each run.
attempt_number <- function(runs) {
  found <- as_value(with_columns(runs, "attempt")$attempt)
  ifelse(is.na(found), 1, found)
}

# One row per run: valid if one of its attempts was.
run_table <- function() {
  attempts <- attempt_table()
  runs <- attempts[!duplicated(attempts$run_id), c("run_id", "block", "experiment")]
  runs$valid <- runs$run_id %in% attempts$run_id[attempts$valid]
  runs$attempts <- as.numeric(table(attempts$run_id)[runs$run_id])
  runs
}

data_metrics <- function(metrics) {
  runs <- read_runs()
  runs <- runs[runs$metric %in% metrics, ]
  runs[c("run_id", "experiment", "metric", "value", "unit", "valid")]
}
