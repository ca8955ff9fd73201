# Numbers from outside the paper that its models and its audit need.

constants_table <- function() {
  constants <- read_paper()$constants
  if (length(constants) == 0) {
    return(knitr::asis_output("\nThere are none.\n"))
  }
  number <- function(x) format(x$value, big.mark = ",", scientific = FALSE, digits = 7)
  md_table(data.frame(
    Constant = code(names(constants)), Value = vapply(constants, number, character(1)),
    Unit = safe(vapply(constants, function(x) ifelse(x$unit == "1", "", x$unit), character(1))),
    Source = safe(vapply(constants, function(x) x$source, character(1)))
  ), widths = c(27, 11, 12, 50))
}
