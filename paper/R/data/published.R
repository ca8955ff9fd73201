# What the paper printed.

published_value <- function(id) {
  values <- read_paper()$values
  stop_unless_known("value", id, vapply(values, function(value) value$id, character(1)))
  with_id(values, id)
}

published <- function(id) as.numeric(published_value(id)$value)[[1]]

# "Figure 1: ingest by network", for a heading.
exhibit_title <- function(id) {
  exhibit <- with_id(read_paper()$exhibits, id)
  if (is.null(exhibit)) stop("the paper has no exhibit ", id)
  kind <- c(fig = "Figure ", table = "Table ")[sub("[0-9].*$", "", id)]
  name <- if (is.na(kind)) id else paste0(kind, sub("^[a-z]+", "", id))
  paste0(name, ": ", safe(exhibit$caption))
}

# Every statement of the paper, in its order.
claims_sentence <- function() {
  paste0(paste(vapply(read_paper()$claims, function(claim) safe(claim$statement), ""), collapse = "; "), ".")
}
