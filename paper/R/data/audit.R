# Numbers of audit.csv.
#
# recomputed(...)              the audit row whose expression has just these value ids
# audit_number(audit, note)    a number by its entry and note
# holding(audit, notes)        how many of an entry's checks hold, in words

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
