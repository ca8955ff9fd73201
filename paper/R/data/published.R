# What the paper printed.

published_value <- function(id) {
  values <- read_paper()$values
  found <- Filter(function(value) identical(value$id, id), values)
  stop_unless_known("value", id, vapply(values, function(value) value$id, character(1)))
  found[[1]]
}

published <- function(id) as.numeric(published_value(id)$value)[[1]]
