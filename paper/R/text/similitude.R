# What an emulated run must have in common with full scale, and where it has not: rows of similitude.csv.
#
# similitude_table()     the quantities that are not alike, those with the same consequence in one row
# similitude_sentence()  how many are alike

# A time with the unit that keeps it short. What a real host has of its own has no number.
amount_text <- function(value, unit) {
  unit <- rep_len(unit, length(value))
  power <- ifelse(unit != "s" | value >= 1 | value == 0, 0, ifelse(value >= 1e-3, 3, 6))
  name <- ifelse(unit == "1", "", paste0("\u00a0", ifelse(unit != "s", unit, c("s", "ms", "\u00b5s")[power / 3 + 1])))
  known <- ifelse(is.infinite(value), "no limit", paste0(trimmed(value * 10^power), name))
  ifelse(is.na(value), "the host\u2019s own", known)
}

# The smallest and the largest of some amounts: "2.1 ms to 100 ms", or one where they are the same.
amount_range <- function(values, unit) {
  if (all(is.na(values))) {
    return(amount_text(NA_real_, unit))
  }
  ends <- unique(amount_text(range(values, na.rm = TRUE), unit))
  paste(ends, collapse = " to ")
}

# Quotients up to this, and down to its inverse, are left to the full table.
little <- 1.25 + 1e-3

# What is unlike for the same reason as another quantity of its experiment is left to that one.
leading_rows <- function(table) {
  unlike <- table[!table$alike, ]
  shown_by <- paste(unlike$experiment, unlike$follows)
  unlike <- unlike[!(unlike$follows != "" & shown_by %in% paste(unlike$experiment, unlike$quantity)), ]
  unlike[is.na(unlike$quotient) | abs(log(unlike$quotient)) > log(little), ]
}

similitude_rows <- function(table) {
  rows <- leading_rows(table)
  if (nrow(rows) == 0) {
    return(data.frame())
  }
  # Quantities in their order, those of a quantity apart by what follows from them.
  key <- paste(match(rows$quantity, unique(table$quantity)) + 1000, rows$bias)
  groups <- split(rows, factor(key, levels = unique(key[order(match(rows$quantity, unique(table$quantity)))])))
  do.call(rbind, lapply(groups, function(group) {
    experiments <- unique(group$experiment)
    all_of_them <- length(experiments) == length(unique(table$experiment))
    quotient <- if (all(is.na(group$quotient))) "\u2013" else amount_range(group$quotient, "1")
    data.frame(
      Quantity = safe(group$quantity[[1]]), "Full scale" = amount_range(group$full_scale, group$unit[[1]]),
      Emulated = amount_range(group$emulated, group$unit[[1]]), Quotient = quotient,
      In = if (all_of_them) "all" else paste(safe(experiments), collapse = ", "),
      "What follows" = safe(group$bias[[1]]), check.names = FALSE, row.names = NULL
    )
  }))
}

similitude_table <- function() {
  md_table(similitude_rows(read_similitude()), widths = c(20, 12, 12, 10, 16, 30))
}

similitude_sentence <- function(table = read_similitude()) {
  if (nrow(table) == 0) {
    return("Nothing was scaled, or no run was made.")
  }
  everywhere <- vapply(split(table$alike, factor(table$quantity, levels = unique(table$quantity))), all, logical(1))
  alike <- names(everywhere)[everywhere]
  sprintf("Of %s, %s alike in every experiment%s; of %s over all experiments and links, %d.",
          count_of(length(everywhere), "quantity", "quantities"),
          if (length(alike) == 1) "one is" else paste(length(alike), "are"),
          if (length(alike) == 0) "" else sprintf(" (%s)", paste(safe(alike), collapse = "; ")),
          count_of(nrow(table), "value"), sum(table$alike))
}
