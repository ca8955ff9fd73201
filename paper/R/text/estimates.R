# Estimates in words, for sentences.

# One estimate as text with its interval and unit: "412 (405 to 420) s"; says so where nothing was measured. Where its
# runs are unusable, `why` (or the mark alone) follows.
median_text <- function(experiment, metric, where = list(), digits = 3, why = TRUE) {
  found <- only_cell(medians_at(experiment, metric, where))
  if (nrow(found) == 0) {
    return("not measured at this effort")
  }
  number <- with_interval(found$shown, found$shown_low, found$shown_high, digits)
  text <- trimws(paste0(number, unit_text(shown_unit(found))))
  if (!why || !is_unusable(found)) {
    return(marked(text, found))
  }
  paste0(text, " (not measured by its runs: ", safe(found$untold), ")")
}

# "1.64× (1.5 to 1.8)", or that it is not known at this effort.
row_estimate <- function(row, unit = NULL) {
  if (nrow(row) == 0 || is.na(row$estimate[[1]])) {
    return("not measured at this effort")
  }
  row <- row[1, ]
  if (is.null(unit)) unit <- unit_text(row$unit)
  paste0(with_interval(row$estimate, as_value(row$low), as_value(row$high)), unit)
}

claim_estimate <- function(claim, unit = NULL) row_estimate(verdict_row(claim), unit)
reading_estimate <- function(claim, reading, unit = NULL) row_estimate(reading_row(claim, reading), unit)

# The verdict on a claim as a badge with its id, for sentences.
claim_badge <- function(claim) {
  row <- verdict_row(claim)
  paste0(claim, " ", verdict_badge(row))
}

# A number that may be missing, for sentences.
known <- function(x, digits = 3, unit = "") {
  if (length(x) == 0 || is.na(x[[1]])) "not computed" else paste0(trimmed(x[[1]], digits), unit)
}
