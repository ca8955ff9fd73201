# The paper's arithmetic, recomputed.

holds_text <- function(x) {
  text <- tolower(as.character(x))
  ifelse(is.na(x) | text == "", "\u2013", ifelse(text %in% c("true", "1", "yes"), "yes", "no"))
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
    Audit = safe(table$audit), Kind = safe(table$finding_kind), Computed = code(table$expression),
    Printed = number(table$printed), Recomputed = number(table$recomputed),
    Difference = ifelse(is.na(difference), "\u2013", sprintf("%+.1f\u00a0%%", 100 * difference)),
    Holds = holds_text(table$holds), Note = safe(table$note)
  ), widths = c(7, 10, 22, 12, 12, 9, 7, 31))
}
