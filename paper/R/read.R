# Readers of the tidy and analysis tables and of the paper's YAML. A missing table reads as an empty one, so that a run
# at small effort still makes a whole report.

results_dir <- function() Sys.getenv("WHITEWIRE_RESULTS", file.path("..", "results", "emulated"))
reports_dir <- function() Sys.getenv("WHITEWIRE_REPORTS", file.path(results_dir(), "reports"))
config_dir <- function() Sys.getenv("WHITEWIRE_CONFIG", file.path("..", "config"))
# The document that is knit: a paper's is named like the paper. While its parts are knit, knitr names those.
document <- paste(sub("[.].*$", "", basename(as.character(knitr::current_input()))), collapse = "")
paper_id <- function() Sys.getenv("WHITEWIRE_PAPER", document)
testbed_name <- function() basename(normalizePath(results_dir(), mustWork = FALSE))

cache <- new.env(parent = emptyenv())

remember <- function(key, value) {
  if (is.null(cache[[key]])) assign(key, value, envir = cache)
  cache[[key]]
}

# R's integers end at 2^31 - 1, sizes in bytes don't.
whole_number <- function(text) {
  number <- as.numeric(text)
  if (abs(number) <= .Machine$integer.max) as.integer(number) else number
}

read_paper <- function(paper = paper_id()) {
  remember(
    paste0("paper:", paper),
    yaml::read_yaml(file.path(config_dir(), "papers", paste0(paper, ".yaml")), eval.expr = FALSE,
                    handlers = list(int = whole_number))
  )
}

read_stage <- function(stage, name, columns, paper = paper_id()) {
  path <- file.path(results_dir(), paper, stage, name)
  remember(path, with_columns(read_csv_or_none(path), columns))
}

read_csv_or_none <- function(path) {
  if (!file.exists(path) || file.size(path) == 0) {
    return(data.frame())
  }
  as.data.frame(readr::read_csv(
    path,
    show_col_types = FALSE, progress = FALSE, lazy = FALSE, guess_max = 200000, name_repair = "minimal"
  ))
}

with_columns <- function(table, columns) {
  for (column in setdiff(columns, names(table))) table[[column]] <- rep(NA, nrow(table))
  table
}

as_flag <- function(x) tolower(as.character(x)) %in% c("true", "1", "yes", "t")
as_value <- function(x) suppressWarnings(as.numeric(as.character(x)))

factor_columns <- c("fabric", "clients", "puts_per_client", "settings", "file_blocks", "switch_buffer_kib",
                    "rate_mb_per_s", "offloads", "nodes", "store", "splits", "block_size_bytes", "packet_bytes", "k")

fabric_label <- function(x) sub("gbe$", "GbE", tolower(as.character(x)))
# Gbit/s at full scale, from the fabric's name: "0.5gbe", "10g-ipoib", "32g-qdr".
fabric_rate <- function(x) as_value(sub("^([0-9.]+)g.*$", "\\1", tolower(as.character(x))))

with_factors <- function(table) {
  table <- with_columns(table, c("experiment", factor_columns))
  table$fabric <- fabric_label(table$fabric)
  table$clients <- as_value(table$clients)
  table$puts <- as_value(table$puts_per_client)
  table$total_puts <- table$clients * table$puts
  table
}

# One row a run and metric; `shown` is the full-scale equivalent where the metric scales, the value elsewhere.
read_runs <- function(paper = paper_id()) {
  columns <- c("run_id", "metric", "value", "unit", "full_scale_value", "full_scale_unit", "valid",
    "why_invalid")
  remember(paste0("runs:", paper), {
    runs <- with_factors(read_stage("tidy", "runs.csv", columns, paper))
    runs$value <- as_value(runs$value)
    runs$full_scale_value <- as_value(runs$full_scale_value)
    runs$shown <- ifelse(is.na(runs$full_scale_value), runs$value, runs$full_scale_value)
    runs$valid <- as_flag(runs$valid)
    runs
  })
}

valid_runs <- function(experiment, metric) {
  runs <- read_runs()
  runs[runs$experiment %in% experiment & runs$metric %in% metric & runs$valid & !is.na(runs$shown), ]
}

read_estimates <- function(paper = paper_id()) {
  columns <- c("metric", "unit", "n", "n_invalid", "median", "low", "high", "full_scale_median",
               "full_scale_low",
               "full_scale_high", "status")
  remember(paste0("estimates:", paper), {
    table <- with_factors(read_stage("analysis", "estimates.csv", columns, paper))
    for (column in setdiff(columns, c("metric", "unit",
      "status"))) table[[column]] <- as_value(table[[column]])
    full <- !is.na(table$full_scale_median)
    table$shown <- ifelse(full, table$full_scale_median, table$median)
    table$shown_low <- ifelse(full, table$full_scale_low, table$low)
    table$shown_high <- ifelse(full, table$full_scale_high, table$high)
    table
  })
}

estimates_of <- function(experiment, metric) {
  table <- read_estimates()
  table[table$experiment %in% experiment & table$metric %in% metric & !is.na(table$shown), ]
}

grid_cells <- function(table, fabrics = c("1GbE", "10GbE"), clients = 1:3, puts = NULL) {
  keep <- table$fabric %in% fabrics & table$clients %in% clients
  if (!is.null(puts)) keep <- keep & table$puts %in% puts
  table <- table[keep, ]
  table$fabric <- factor(table$fabric, levels = fabrics)
  table
}

read_series <- function(paper = paper_id()) {
  columns <- c("run_id", "time", "host", "series", "value", "unit")
  read_stage("tidy", "series.csv.gz", columns, paper)
}

read_model <- function(paper = paper_id()) {
  columns <- c("model", "metric", "value", "link_gbit_per_s")
  table <- with_factors(read_stage("analysis", "model.csv", columns, paper))
  table$value <- as_value(table$value)
  table$link_gbit_per_s <- as_value(table$link_gbit_per_s)
  table
}

verdict_columns <- c("paper", "claim", "statement", "kind", "basis", "exhibits", "route", "estimand",
                     "estimate",
                     "low", "high", "unit", "n", "relation", "expected", "expected_low", "expected_high",
                     "p_value",
                     "p_holm", "verdict", "reason", "runs_needed", "audit", "control")

read_verdicts <- function(paper = paper_id()) {
  table <- read_stage("analysis", "verdicts.csv", verdict_columns, paper)
  for (column in c("estimate", "low", "high", "n", "expected_low", "expected_high", "p_holm",
    "runs_needed")) {
    table[[column]] <- as_value(table[[column]])
  }
  table
}

read_audit <- function(paper = paper_id()) {
  columns <- c("audit", "finding_kind", "expression", "printed", "recomputed", "unit",
               "relative_difference", "holds",
               "note")
  read_stage("analysis", "audit.csv", columns, paper)
}

read_probes <- function(paper = paper_id()) {
  columns <- c("block", "probe", "fabric", "source", "destination", "streams", "operation", "mode",
               "metric", "value",
               "unit", "expected", "error", "ok")
  table <- read_stage("tidy", "probes.csv", columns, paper)
  table$fabric <- fabric_label(table$fabric)
  for (column in c("value", "expected", "error")) table[[column]] <- as_value(table[[column]])
  table$ok <- as_flag(table$ok)
  table
}

read_topology <- function(paper = paper_id()) {
  read_stage("tidy", "topology.csv", c("host", "role", "address"), paper)
}

read_placement <- function(paper = paper_id()) {
  read_stage("tidy", "placement.csv", c("run_id", "file", "block_index", "datanode"), paper)
}

# k and the data fraction of an experiment; both are 1 on real hardware.
scale_of <- function(experiment = "put-grid", paper = paper_id()) {
  table <- read_stage("tidy", "scale.csv", c("experiment", "testbed", "kind", "k", "data_fraction"), paper)
  row <- table[table$experiment %in% experiment, ]
  if (nrow(row) == 0) row <- table
  first <- function(x, otherwise) if (length(x) > 0 && !is.na(x[[1]])) x[[1]] else otherwise
  list(
    kind = first(as.character(row$kind), testbed_name()), k = first(as_value(row$k), NA),
    ks = sort(unique(as_value(row$k))),
    fraction = first(as_value(row$data_fraction), NA), fractions = sort(unique(as_value(row$data_fraction)))
  )
}

is_emulated <- function(experiment = "put-grid") {
  scale <- scale_of(experiment)
  identical(scale$kind, "emulated") || (!is.na(scale$k) && scale$k != 1)
}

# What every figure says about itself.
scale_note <- function(experiment = "put-grid", absolute = TRUE) {
  scale <- scale_of(experiment)
  if (is.na(scale$k)) {
    return("nothing measured yet: published values only")
  }
  if (!is_emulated(experiment)) {
    return(sprintf("measured on %s, full scale", testbed_name()))
  }
  fraction <- paste(trimmed(unique(range(scale$fractions))), collapse = " to ")
  # Over several experiments, as in a figure of all runs, the range.
  k <- trimmed(unique(range(scale$ks)))
  note <- sprintf(
    "emulated, %s scale (k = %s, data fraction %s)",
    paste0("1/", k, collapse = " to "), paste(k, collapse = " to "), fraction
  )
  if (absolute) paste0(note, "; left axis: full-scale equivalent (\u00d7 k)") else note
}
