# How far two results agree: counts of verdicts by rule, from agreement.json and comparison.json.

# Estimates of one table side by side, each with its interval. Bytes of whole runs are in GB.
in_gigabytes <- function(table) !is.na(table$unit) & table$unit == "B"

side_text <- function(table, side) {
  column <- function(name) table[[paste0(name, "_", side)]] / ifelse(in_gigabytes(table), 1e9, 1)
  with_interval(column("estimate"), column("low"), column("high"))
}

ratio_text <- function(table) {
  ratio <- with_interval(table$ratio, table$ratio_low, table$ratio_high)
  difference <- with_interval(table$difference, table$difference_low, table$difference_high)
  ifelse(!is.na(table$ratio), ratio, ifelse(is.na(table$difference), "\u2013", paste("difference:", difference)))
}

overlap_text <- function(table) ifelse(is.na(table$overlap) | table$overlap == "", "\u2013", table$overlap)

# All as text but the numbers: a version such as 3.10 is no number.
read_sides <- function(path, columns, numbers = character()) {
  table <- with_columns(read_table(path, col_types = readr::cols(.default = "c")), c(columns, numbers))
  for (column in numbers) table[[column]] <- as_value(table[[column]])
  for (column in intersect(c("differs", "stands"), names(table))) table[[column]][is.na(table[[column]])] <- ""
  table
}

asked_columns <- c("relation", "expected", "expected_low", "expected_high")

sides_columns <- c("paper", "claim", "statement", "verdict_a", "verdict_b", "agree", "stands", "unit", asked_columns,
                   "overlap", "note", "differs")

sides_numbers <- c(
  outer(c("estimate", "low", "high", "n"), c("a", "b"), paste, sep = "_"),
  "ratio", "ratio_low", "ratio_high", "difference", "difference_low", "difference_high"
)

# The verdict of one side, `a` or `b`, as a badge.
verdict_shown <- function(table, side) {
  own <- table[c("paper", "claim", asked_columns)]
  own$verdict <- table[[paste0("verdict_", side)]]
  own$estimate <- table[[paste0("estimate_", side)]]
  ifelse(is.na(own$verdict), "\u2013", verdict_badge(own))
}

kappa_text <- function(scope) if (is.null(scope$kappa)) "\u2013" else with_minus(sprintf("%.2f", scope$kappa))

share_text <- function(scope) if (is.null(scope$share)) "\u2013" else paste0(trimmed(100 * scope$share, 3), " %")

# One row for all claims, one for those that runs judge, and of several papers one each.
agreement_table <- function(found, called) {
  scopes <- c(list(found$all, found$runs), if (length(found$papers) > 1) unname(found$papers))
  labels <- c("All claims", "Those that runs judge", if (length(found$papers) > 1) {
    paste("of", code(names(found$papers)))
  })
  number <- function(name) vapply(scopes, function(scope) as.integer(scope[[name]]), integer(1))
  table <- data.frame(
    Claims = labels, Both = number("claims"), Same = number("same"),
    Share = vapply(scopes, share_text, character(1)), Kappa = vapply(scopes, kappa_text, character(1)),
    Other = number("other"), OnlyA = number("only_a"), OnlyB = number("only_b"), Neither = number("neither")
  )
  names(table) <- c("Claims", "Judged in both", "Same verdict", "Share", "Cohen's \u03ba", "Another verdict",
                    paste("Only", called[[1]], "decided"), paste("Only", called[[2]], "decided"), "Neither decided")
  md_table(table, widths = c(22, 9, 9, 9, 9, 10, 12, 11, 9))
}

agreement_rule <- function(found) {
  if (is.null(found$agrees)) {
    return(paste("**Whether they agree is not known yet**: no claim that runs judge has a verdict on both sides, and",
                 "no estimate has an interval on both sides. More runs may decide it."))
  }
  other <- found$all$other
  estimates <- found$estimates
  verdicts <- if (other == 0) {
    "no claim that both decide has another verdict"
  } else {
    paste("they decide", count_of(other, "claim"), "differently")
  }
  differ <- sprintf("of %s with intervals on both sides %d differ, where chance explains up to %d",
                    count_of(estimates$compared, "estimate"), estimates$differ, estimates$by_chance)
  if (estimates$compared == 0) differ <- "no estimate has an interval on both sides"
  apart <- if (estimates$compared > 0) {
    sprintf(" The intervals of %d have no value in common.", estimates$apart)
  }
  paste0(if (found$agrees) "**They agree**: " else "**They do not agree**: ", verdicts, "; ", differ, ".", apart)
}

agreement_share <- function(found) {
  if (found$all$claims == 0) {
    return("No claim was judged in both.")
  }
  share <- function(scope) {
    kappa <- if (is.null(scope$kappa)) "" else sprintf(", Cohen's \u03ba %s", kappa_text(scope))
    sprintf("%d of %d have the same verdict (%s%s)", scope$same, scope$claims, share_text(scope), kappa)
  }
  runs <- if (found$runs$claims > 0) sprintf("; of those that runs judge %s", share(found$runs))
  paste0("Of the claims judged in both ", share(found$all), runs, ".")
}

# How results agree with the reference: `itself` (only then evaluated) if they are it, else what `compared` says.
agreement_section <- function(record, itself, compared) {
  text <- switch(record$state,
    none = "There are no reference results here to compare with.",
    unusable = paste0("The reference results cannot be compared with: ", safe(record$why), "."),
    itself = itself,
    compared = if (record$all$claims == 0) "The reference results have no paper of this run." else compared(record)
  )
  knitr::asis_output(paste0("\n", text, "\n"))
}

# What makes results hard to compare, by paper; `none` where nothing does.
messages_list <- function(messages, none) {
  if (length(messages) == 0) {
    return(knitr::asis_output(paste0("\n", none, "\n")))
  }
  knitr::asis_output(paste0(
    "\n::: {.notice}\n\nWhat makes them hard to compare:\n\n", paste(message_lines(messages), collapse = "\n"),
    "\n\n:::\n"
  ))
}

message_lines <- function(messages) {
  vapply(messages, function(one) paste0("- **", safe(one$paper), "**: ", safe(one$message)), character(1))
}
