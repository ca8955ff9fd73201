# Readers of the tidy and analysis tables, one each, and of the records of blocks. Of RDMA, drives and sweeps: in the
# files named so.

read_series <- function() {
  columns <- c("run_id", "time", "host", "series", "value", "unit")
  read_stage("tidy", "series.csv.gz", columns)
}

read_model <- function() {
  columns <- c("model", "metric", "value", "link_gbit_per_s")
  with_factors(read_stage("analysis", "model.csv", columns, numbers = c("value", "link_gbit_per_s")))
}

verdict_columns <- c("paper", "claim", "statement", "kind", "basis", "exhibits", "route", "estimand",
                     "estimate",
                     "low", "high", "unit", "n", "relation", "asks", "expected", "expected_low", "expected_high",
                     "p_value",
                     "p_holm", "verdict", "reason", "runs_needed", "audit", "control", "asked",
                     "minutes", "chance", "claim_command")

read_verdicts <- function(paper = paper_id()) {
  table <- read_stage("analysis", "verdicts.csv", verdict_columns, paper)
  for (column in c("estimate", "low", "high", "n", "expected_low", "expected_high", "p_holm",
    "runs_needed", "minutes", "chance")) {
    table[[column]] <- as_value(table[[column]])
  }
  table
}

# A verdict's or a reading's number for a sentence.
verdict_row <- function(claim) {
  check_claim(claim)
  table <- read_verdicts()
  table[table$claim %in% claim, ][1, ]
}

# Second readings of a claim: another definition of the metric, or another route, judged by the same rule.
read_readings <- function() {
  read_stage("analysis", "readings.csv", c("reading", "metric", verdict_columns),
             numbers = c("estimate", "low", "high", "n"))
}

reading_row <- function(claim, reading) {
  check_claim(claim)
  table <- read_readings()
  table[table$claim %in% claim & startsWith(as.character(table$reading), reading), ][1, ]
}

read_audit <- function() {
  columns <- c("audit", "finding_kind", "expression", "printed", "recomputed", "unit",
               "relative_difference", "holds",
               "note")
  read_stage("analysis", "audit.csv", columns)
}

read_probes <- function() {
  columns <- c("block", "probe", "fabric", "source", "destination", "streams", "operation", "mode",
               "metric", "value",
               "unit", "expected", "error", "ok")
  table <- read_stage("tidy", "probes.csv", columns, numbers = c("value", "expected", "error"), flags = "ok")
  table$fabric <- fabric_label(table$fabric)
  table
}

read_drive_probes <- function() {
  probes <- read_probes()
  probes[probes$probe %in% "fio" & probes$metric %in% "bandwidth", ]
}

# A probe too far from its link's rate is made again after a pause; a block starts only when one is near enough.
made_again <- function(probes) !is.na(probes$error) & !probes$ok

read_topology <- function() {
  read_stage("tidy", "topology.csv", c("host", "role", "address"))
}

read_placement <- function() {
  read_stage("tidy", "placement.csv", c("run_id", "file", "block_index", "datanode"))
}

read_environments <- function() {
  # The first is in environment.json, later ones in environment-2.json and so on.
  paths <- Sys.glob(file.path(results_dir(), paper_id(), "raw", "*", "environment*.json"))
  paths <- paths[order(dirname(paths), nchar(basename(paths)), basename(paths))]
  records <- lapply(paths, function(path) {
    tryCatch(jsonlite::fromJSON(path, simplifyVector = FALSE), error = function(e) NULL)
  })
  names(records) <- basename(dirname(paths))
  Filter(Negate(is.null), records)
}

control_numbers <- c("n", "n_against", "estimate", "low", "high", "expected", "t", "smallest_fault")
control_columns <- c("paper", "control", "title", "kind", "metric", "cell", "really", "against", control_numbers,
                     "outcome", "reason", "claims")

# `pooled`: with the row of all A/A controls together, which has no cells of its own.
read_controls <- function(paper = paper_id(), pooled = FALSE) {
  table <- read_stage("analysis", "controls.csv", control_columns, paper, numbers = control_numbers)
  if (pooled) table else table[table$kind != "pooled", ]
}

# Nothing where no block was measured in several lanes.
read_lanes <- function() {
  numbers <- c("lanes", "difference", "low", "high")
  read_stage("analysis", "lanes.csv", c("block", "experiment", "metric", "n", numbers), numbers = numbers)
}

read_overheads <- function() {
  columns <- c("block", "floor", "workload", "job", "number", "seconds", "valid")
  read_stage("tidy", "floors.csv", columns, numbers = "seconds", flags = "valid")
}

read_phases <- function() {
  numbers <- c("start", "shuffle_end", "merge_end", "end")
  read_stage("tidy", "phases.csv", c("run_id", "job", "task", "type", "host", numbers), numbers = numbers)
}

read_similitude <- function() {
  columns <- c("paper", "experiment", "fabric", "levels", "quantity", "unit", "full_scale", "emulated", "quotient",
               "alike", "follows", "bias")
  table <- read_stage("analysis", "similitude.csv", columns, numbers = c("full_scale", "emulated", "quotient"),
                      flags = "alike")
  table$follows <- ifelse(is.na(table$follows), "", table$follows)
  table
}

read_inverse <- function() {
  numbers <- c("effect", "link_ratio", "link_ratio_low", "link_ratio_high", "largest_effect", "plausible_low",
               "plausible_high", "n")
  columns <- c("claim", "experiment", "metric", "from", "reached", "plausible", "plausible_basis", "left_out", numbers)
  read_stage("analysis", "inverse.csv", columns, numbers = numbers, flags = "reached")
}

# Runs that were planned and not made.
read_left <- function() {
  left <- read_stage("tidy", "left.csv", c("run_id", "experiment", "cell", "reason", "why_code"))
  left$decided <- left$why_code %in% "decided"
  left
}
