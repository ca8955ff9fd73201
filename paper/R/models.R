# What the models of the package computed, for exhibits that are models: sweeps.csv and audit.csv, never computed here.
#
# sweep_rows(sweep, where)             rows of one sweep or several; `where` as for cells
# sweep_value(sweep, where)            one value of a sweep
# figure_sweeps(sweeps, x, title, ...) curves of sweeps of one unit
# recomputed(...)                      the audit row whose expression has just these value ids
# audit_number(audit, note)            a number of audit.csv by its entry and note

sweep_factors <- c("link_mb_per_s", "stripes", "tasks", "replication", "shared_medium", "cached_share", "nodes",
                   "node_card_usd", "budget_usd", "node_usd")

read_sweeps <- function(paper = paper_id()) {
  columns <- c("sweep", "title", "model", "arguments", "value", "unit", sweep_factors)
  table <- read_stage("analysis", "sweeps.csv", columns, paper)
  for (column in c("value", sweep_factors)) table[[column]] <- as_value(table[[column]])
  table
}

sweep_rows <- function(sweep, where = list()) {
  table <- read_sweeps()
  at_levels(table[table$sweep %in% sweep, ], where)
}

sweep_value <- function(sweep, where = list()) {
  found <- sweep_rows(sweep, where)
  if (nrow(found) == 0) NA_real_ else found$value[[1]]
}

no_sweep <- "This sweep of the model was not computed."

# What a modelled figure says of itself.
model_note <- function(rows, ...) {
  paste(c(paste0("model ", listed(unique(rows$model)), "; nothing in it is measured"), ...), collapse = "\n")
}

# The columns that differ between the rows of a sweep, as a table for download.
data_sweeps <- function(sweep, where = list()) {
  rows <- sweep_rows(sweep, where)
  keep <- vapply(rows, function(column) !all(is.na(column)), logical(1))
  rows[keep]
}

# One curve a sweep, named by `labels` (sweep = words).
figure_sweeps <- function(labels, x, title, x_name, y_name, where = list(), marks = NULL, note = NULL,
                          y_labels = waiver()) {
  rows <- sweep_rows(names(labels), where)
  if (nrow(rows) == 0) {
    return(figure_without_data(no_sweep))
  }
  rows$at <- rows[[x]]
  rows$curve <- factor(labels[rows$sweep], unname(labels))
  colours <- unname(okabe_ito[c("blue", "vermillion", "green", "purple")])[seq_along(labels)]
  plot <- ggplot(rows, aes(at, value, colour = curve, linetype = curve, shape = curve)) +
    geom_line(linewidth = 0.8) +
    geom_point(size = 1.8)
  if (!is.null(marks)) plot <- plot + geom_published(marks, aes(at, published))
  plot +
    scale_colour_manual(NULL, values = colours) +
    scale_linetype_discrete(NULL) +
    scale_shape_discrete(NULL) +
    guides(colour = if (length(labels) > 1) guide_legend(ncol = 1) else "none",
           linetype = if (length(labels) > 1) guide_legend(ncol = 1) else "none",
           shape = if (length(labels) > 1) guide_legend(ncol = 1) else "none") +
    scale_y_continuous(y_name, limits = c(0, NA), expand = expansion(c(0, 0.08)), labels = y_labels) +
    labs(title = title, subtitle = model_note(rows, note), x = x_name)
}

ids_in <- function(expression) {
  found <- regmatches(expression, gregexpr("[A-Z]_V[0-9]+", expression))
  lapply(found, function(ids) sort(unique(sub("_", "-", ids, fixed = TRUE))))
}

# The audit row that recomputes a printed value from the values named.
recomputed <- function(...) {
  table <- read_audit()
  wanted <- sort(unique(c(...)))
  fits <- vapply(ids_in(as.character(table$expression)), identical, logical(1), wanted)
  fits <- fits & !is.na(table$printed)
  as.list(table[which(fits)[1], ])
}

audit_number <- function(audit, note) {
  table <- read_audit()
  found <- as_value(table$recomputed[table$audit %in% audit & table$note %in% note])
  if (length(found) == 0) NA_real_ else found[[1]]
}

# A verdict's or a reading's number for a sentence.
verdict_row <- function(claim) {
  table <- read_verdicts()
  table[table$claim %in% claim, ][1, ]
}

reading_row <- function(claim, reading) {
  table <- read_readings()
  for (column in c("estimate", "low", "high", "n")) table[[column]] <- as_value(table[[column]])
  table[table$claim %in% claim & startsWith(as.character(table$reading), reading), ][1, ]
}

# "1.64× (1.5 to 1.8)", or that it is not known at this effort.
told_estimate <- function(row, unit = NULL) {
  if (nrow(row) == 0 || is.na(row$estimate[[1]])) {
    return("not measured at this effort")
  }
  row <- row[1, ]
  told <- if (is.null(unit)) unit_text(row$unit) else unit
  paste0(with_interval(row$estimate, as_value(row$low), as_value(row$high)), told)
}

claim_told <- function(claim, unit = NULL) told_estimate(verdict_row(claim), unit)
reading_told <- function(claim, reading, unit = NULL) told_estimate(reading_row(claim, reading), unit)

# The verdict on a claim as a badge with its id, for sentences.
claim_badge <- function(claim) {
  row <- verdict_row(claim)
  paste0(claim, " ", badge(row$verdict))
}

# A number that may be missing, for sentences.
known <- function(x, digits = 3, unit = "") {
  if (length(x) == 0 || is.na(x[[1]])) "not computed" else paste0(trimmed(x[[1]], digits), unit)
}

# Where a modelled curve reaches its level; NA where there is no curve.
model_knee <- function(x, value) {
  if (length(x) == 0) NA_real_ else min(x[value > 0.999 * max(value)])
}

model_level <- function(value) if (length(value) == 0) NA_real_ else max(value)

# How many of an audit entry's checks hold: "all 24", "23 of 24".
holding <- function(audit, notes = NULL) {
  table <- read_audit()
  table <- table[table$audit %in% audit & !is.na(table$holds), ]
  if (!is.null(notes)) table <- table[table$note %in% notes, ]
  if (nrow(table) == 0) {
    return("none was checked to")
  }
  yes <- sum(holds_text(table$holds) == "yes")
  if (yes == nrow(table)) paste("all", yes) else paste(yes, "of", nrow(table))
}
