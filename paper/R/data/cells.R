# Runs and medians of any experiment, picked by the levels of its factors and labelled for reading.
#
# runs_at(experiment, metric, where, by)     valid runs, one row per run and metric
# medians_at(experiment, metric, where, by)  rows of estimates.csv: shown, shown_low, shown_high, n
#   experiment, metric  one or several names
#   where               list(factor = levels): rows that have one of these levels; fabrics as in the YAML ("10gbe")
# `untold` of medians says why they are unusable, where a guard rejects them (text/unusable.R).
#   by                  factor names; the column `level` has their levels in words, in a fixed order
# Both are empty tables where nothing was measured. Values are in `shown`: full-scale equivalents where they scale.

# The level of a factor in each cell of a table, whose levels are JSON; NA where it has none.
level_in <- function(cells, factor) {
  level <- function(cell) as.character(c(jsonlite::fromJSON(cell)[[factor]], NA)[[1]])
  vapply(as.character(cells), level, character(1), USE.NAMES = FALSE)
}

same_level <- function(column, wanted) {
  number <- as_value(wanted)
  tolower(as.character(column)) %in% tolower(as.character(wanted)) | (!is.na(as_value(column)) &
    as_value(column) %in% number[!is.na(number)])
}

at_levels <- function(table, where = list()) {
  for (factor in names(where)) {
    if (nrow(table) > 0) table <- table[same_level(table[[factor]], where[[factor]]), ]
  }
  table
}

level_order <- function(factor, x) {
  if (factor == "fabric") {
    return(fabric_rate(x))
  }
  number <- as_value(x)
  if (all(is.na(number))) match(x, unique(x)) else number
}

with_level <- function(table, by) {
  if (nrow(table) == 0) {
    return(cbind(table, level = factor()))
  }
  words <- lapply(by, function(factor) level_name(factor, table[[factor]]))
  label <- do.call(paste, c(words, sep = "\n"))
  places <- do.call(order, lapply(by, function(factor) level_order(factor, table[[factor]])))
  table$level <- factor(label, unique(label[places]))
  table
}

runs_at <- function(experiment, metric, where = list(), by = "fabric") {
  check_cell(experiment, metric, where)
  with_level(at_levels(valid_runs(experiment, metric), where), by)
}

medians_at <- function(experiment, metric, where = list(), by = "fabric") {
  check_cell(experiment, metric, where)
  with_level(at_levels(estimates_of(experiment, metric), where), by)
}

# What tells one cell from another, of the columns that a table has.
cell_columns <- function(table) intersect(c("experiment", "metric", factor_columns()), names(table))

# The one cell that a sentence or a line of a table speaks of, or none. Several match where the document leaves open
# in what they differ: that is its fault and ends the rendering.
only_cell <- function(found) {
  if (nrow(found) > 1) {
    columns <- cell_columns(found)
    cells <- do.call(rbind, lapply(found[columns], as.character))
    texts <- apply(cells, 2, function(of) paste(columns[!is.na(of)], of[!is.na(of)], collapse = ", "))
    stop(sprintf("one cell expected, found %d: %s; pick one by the levels in which they differ", nrow(found),
                 paste(texts, collapse = "; ")), call. = FALSE)
  }
  found
}

cell_key <- function(table, by) do.call(paste, c(unname(lapply(table[c("metric", by)], as.character)), sep = "\r"))

# Of cells that several experiments made, perhaps at several k, those of the experiment named first.
made_once <- function(table, experiments, by) {
  place <- match(table$experiment, experiments)
  if (nrow(table) == 0) table else table[place == stats::ave(place, cell_key(table, by), FUN = min), ]
}

# Medians to draw, one a place.
one_each <- function(medians, by) {
  key <- cell_key(medians, by)
  for (doubled in key[duplicated(key)]) only_cell(medians[key == doubled, ])
  medians
}

# One median, for sentences; NA where it was not measured.
median_at <- function(experiment, metric, where = list()) {
  found <- only_cell(medians_at(experiment, metric, where))
  if (nrow(found) == 0) NA_real_ else found$shown[[1]]
}

shown_unit <- function(table) {
  if (nrow(table) == 0) {
    return("")
  }
  full <- as.character(table$full_scale_unit)
  plain <- as.character(table$unit)
  if (length(full) == 0) plain[[1]] else ifelse(is.na(full) | full == "", plain, full)[[1]]
}

# Of each run, why its metric is unusable in its cell; NA where it is not.
why_unusable <- function(runs) {
  medians <- read_estimates()
  medians <- medians[is_unusable(medians), ]
  if (nrow(runs) == 0 || nrow(medians) == 0) {
    return(rep(NA_character_, nrow(runs)))
  }
  columns <- intersect(cell_columns(medians), names(runs))
  key <- function(table) do.call(paste, c(unname(as.list(table[columns])), sep = "\r"))
  medians$untold[match(key(runs), key(medians))]
}

# The runs of a figure as a file.
data_at <- function(experiment, metric, where = list()) {
  check_cell(experiment, metric, where)
  runs <- at_levels(valid_runs(experiment, metric), where)
  runs$untold <- why_unusable(runs)
  own <- intersect(names(runs), c("made_by", "floor", "lane", factor_columns()))
  keep <- c("run_id", "experiment", own, "replicate", "metric", "value", "unit", "full_scale_value",
            "full_scale_unit", "untold")
  runs[intersect(keep, names(runs))]
}
