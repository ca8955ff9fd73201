# What the paper printed.

published_value <- function(id) {
  values <- read_paper()$values
  found <- Filter(function(value) identical(value$id, id), values)
  if (length(found) == 0) stop("the paper has no value ", id)
  found[[1]]
}

published <- function(id) as.numeric(published_value(id)$value)[[1]]
