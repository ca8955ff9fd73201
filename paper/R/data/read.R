# Where results are, the paper's YAML, runs and estimates. A missing table reads as an empty one, so that a run at small
# effort still makes a whole report.

results_dir <- function() Sys.getenv("WHITEWIRE_RESULTS", file.path("..", "results", "emulated"))
reports_dir <- function() Sys.getenv("WHITEWIRE_REPORTS", file.path(results_dir(), "reports"))
config_dir <- function() Sys.getenv("WHITEWIRE_CONFIG", file.path("..", "config"))
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

# A record; NULL where there is none.
read_json <- function(path) if (file.exists(path)) jsonlite::fromJSON(path, simplifyVector = FALSE)

paper_file <- function(paper) file.path(config_dir(), "papers", paste0(paper, ".yaml"))

read_paper <- function(paper = paper_id()) {
  remember(
    paste0("paper:", paper),
    yaml::read_yaml(paper_file(paper), eval.expr = FALSE,
                    handlers = list(int = whole_number))
  )
}

# The page of the testbed itself reads the tables of its links in place of a paper's.
links_tables <- file.path("links", "tables")
stage_folder <- function(stage, paper) if (paper == "testbed") links_tables else file.path(paper, stage)

# A table with at least these columns; those in `numbers` and `flags` are converted.
read_stage <- function(stage, name, columns, paper = paper_id(), numbers = character(), flags = character()) {
  path <- file.path(results_dir(), stage_folder(stage, paper), name)
  table <- with_columns(remember(path, read_csv_or_none(path)), columns)
  for (column in numbers) table[[column]] <- as_value(table[[column]])
  for (column in flags) table[[column]] <- as_flag(table[[column]])
  table
}

# Only an empty cell is none: `NA` may be a level that a paper varies.
read_table <- function(path, ...) {
  as.data.frame(readr::read_csv(path, na = "", progress = FALSE, lazy = FALSE, name_repair = "minimal", ...))
}

read_csv_or_none <- function(path) {
  if (!file.exists(path) || file.size(path) == 0) {
    return(data.frame())
  }
  read_table(path, show_col_types = FALSE, guess_max = 200000)
}

with_columns <- function(table, columns) {
  for (column in setdiff(columns, names(table))) table[[column]] <- rep(NA, nrow(table))
  table
}

as_flag <- function(x) tolower(as.character(x)) %in% c("true", "1", "yes", "t")
as_value <- function(x) suppressWarnings(as.numeric(as.character(x)))

# What documents ask of every table, and all that the paper's experiments vary.
factor_columns <- function() {
  experiments <- if (file.exists(paper_file(paper_id()))) read_paper()$experiments
  own <- lapply(experiments, function(experiment) names(experiment$factors))
  union(c("fabric", "clients", "puts_per_client", "settings"), unlist(own))
}

fabric_label <- function(x) sub("gbe$", "GbE", tolower(as.character(x)))

# Gbit/s at full scale, from the fabric's name: "0.5gbe", "10g-ipoib", "32g-qdr".
fabric_rate <- function(x) as_value(sub("^([0-9.]+)g.*$", "\\1", tolower(as.character(x))))

with_factors <- function(table) {
  table <- with_columns(table, c("experiment", factor_columns()))
  table$fabric <- fabric_label(table$fabric)
  table$clients <- as_value(table$clients)
  table$puts <- as_value(table$puts_per_client)
  table$total_puts <- table$clients * table$puts
  table
}

# One row per run and metric; `shown` is the full-scale equivalent where the metric scales, the value elsewhere.
read_runs <- function() {
  columns <- c("run_id", "metric", "value", "unit", "full_scale_value", "full_scale_unit", "valid",
    "why_invalid")
  remember(paste0("runs:", paper_id()), {
    runs <- with_factors(read_stage("tidy", "runs.csv", columns, numbers = c("value", "full_scale_value"),
                                    flags = "valid"))
    runs$shown <- ifelse(is.na(runs$full_scale_value), runs$value, runs$full_scale_value)
    runs
  })
}

valid_runs <- function(experiment, metric) {
  runs <- read_runs()
  runs[runs$experiment %in% experiment & runs$metric %in% metric & runs$valid & !is.na(runs$shown), ]
}

read_estimates <- function() {
  numbers <- c("n", "n_invalid", "median", "low", "high", "full_scale_median", "full_scale_low", "full_scale_high",
               "few_low", "few_high")
  remember(paste0("estimates:", paper_id()), {
    table <- with_factors(read_stage("analysis", "estimates.csv", c("metric", "unit", "status", "untold", numbers),
                                     numbers = numbers))
    table$untold <- ifelse(is.na(table$untold), "", as.character(table$untold))
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

# k and the data fraction of an experiment; both are 1 on real hardware.
scale_of <- function(experiment = "put-grid") {
  table <- read_stage("tidy", "scale.csv", c("experiment", "testbed", "kind", "k", "data_fraction"))
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

# The first of some entries of the YAML that has this id; NULL where there is none.
with_id <- function(entries, id) Find(function(entry) identical(entry$id, id), entries)

experiment_of <- function(id) with_id(read_paper()$experiments, id)
