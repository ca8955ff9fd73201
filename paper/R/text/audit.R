# The paper's arithmetic, recomputed.

holds_text <- function(x) {
  text <- tolower(as.character(x))
  ifelse(is.na(x) | text == "", "\u2013", ifelse(text %in% c("true", "1", "yes"), "yes", "no"))
}

# Long names do not fit a column of a printed page: they may break after a dot, a bracket or an underscore.
breakable <- function(x) {
  long <- gregexpr("[A-Za-z0-9_.(]{16,}", x)
  regmatches(x, long) <- lapply(regmatches(x, long), function(name) gsub("([(_.])", "\\1\u200b", name))
  x
}

audit_table <- function() {
  table <- read_audit()
  if (nrow(table) == 0) {
    return(knitr::asis_output("\nThe audit was not computed.\n"))
  }
  unit <- unit_text(table$unit)
  number <- function(x) {
    value <- as_value(x)
    ifelse(is.na(value), ifelse(is.na(x), "\u2013", safe(x)), paste0(trimmed(value, 5), unit))
  }
  difference <- as_value(table$relative_difference)
  md_table(data.frame(
    Audit = safe(table$audit), Kind = safe(table$finding_kind),
    Computed = code(breakable(ifelse(is.na(table$expression), "", table$expression))),
    Printed = number(table$printed), Recomputed = number(table$recomputed),
    Difference = signed_percent(100 * difference, 1),
    Holds = holds_text(table$holds), Note = safe(table$note)
  ), widths = c(6, 10, 30, 13, 13, 10, 6, 22))
}
