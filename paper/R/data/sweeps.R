# What the models of the package computed, for exhibits that are models: sweeps.csv, never computed here.
#
# sweep_rows(sweep, where)             rows of one sweep or several; `where` as for cells
# sweep_value(sweep, where)            one value of a sweep

sweep_factors <- c("link_mb_per_s", "stripes", "tasks", "replication", "shared_medium", "cached_share", "nodes",
                   "node_card_usd", "budget_usd", "node_usd")

read_sweeps <- function() {
  columns <- c("sweep", "title", "model", "arguments", "value", "unit", sweep_factors)
  read_stage("analysis", "sweeps.csv", columns, numbers = c("value", sweep_factors))
}

sweep_rows <- function(sweep, where = list()) {
  table <- read_sweeps()
  at_levels(table[table$sweep %in% sweep, ], where)
}

sweep_value <- function(sweep, where = list()) {
  found <- sweep_rows(sweep, where)
  if (nrow(found) == 0) NA_real_ else found$value[[1]]
}

# The columns that differ between the rows of a sweep, as a table for download.
data_sweeps <- function(sweep) {
  rows <- sweep_rows(sweep)
  keep <- vapply(rows, function(column) !all(is.na(column)), logical(1))
  rows[keep]
}

# Where a modelled curve reaches its level; NA where there is no curve.
model_knee <- function(x, value) {
  if (length(x) == 0) NA_real_ else min(x[value > 0.999 * max(value)])
}

model_level <- function(value) if (length(value) == 0) NA_real_ else max(value)
