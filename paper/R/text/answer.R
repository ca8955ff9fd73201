# The answer to a paper's title: what its headline claim claims, what was found, and the verdict, in one sentence.
#
# headline_row(paper)      the verdict on the claim that the paper's YAML names as `headline`
# answer_sentence(paper)   "Claimed 3.85 times; here 5.45 (4.88 to 6.1), emulated, n = 3: more than claimed."
# claimed_words(row), found_words(row)   its two halves, without markup

headline_row <- function(paper = paper_id()) {
  table <- read_verdicts(paper)
  table[table$claim %in% described(paper)$headline, ]
}

by_runs <- function(table) table$route %in% c("emulated", "measured")

# Whether a claim's number is so many times another; what is divided by a plain number is none.
is_times <- function(table) {
  divided <- grepl(" / ", table$estimand, fixed = TRUE) & !grepl(" / [0-9.e+]+$", table$estimand)
  table$unit %in% c("x", "\u00d7") | (table$unit %in% c("1", "", NA) & divided)
}

is_of_time <- function(row) is_times(row) && grepl("^(mean )?[a-z_]*time[a-z_]*: ", row$estimand)

# After a ratio: " times", of links also of what, and of times where it is not the slower side that is so many times.
times_words <- function(row) {
  if (is_of_time(row) && !isTRUE(as_value(row$expected) > 1)) {
    " times the time"
  } else if (grepl(" x \\S+ link$", row$estimand)) {
    " of the links' rate"
  } else {
    " times"
  }
}

ratio_or_unit <- function(row) if (is_times(row)) times_words(row) else unit_text(row$unit, as_value(row$expected))

claimed_size <- function(row) {
  word <- unname(relation_words[as.character(row$relation)])
  bounded <- !is.na(word) && word != ""
  unit <- ratio_or_unit(row)
  if (bounded && unit == " times") {
    word <- paste("a ratio", word)
    unit <- ""
  }
  number <- number_text(as_value(row$expected), claim_digits(row))
  paste(c("claimed", if (bounded) word, paste0(number, unit)), collapse = " ")
}

claimed_words <- function(row) {
  if (row$relation %in% "increasing") {
    "claimed to rise from step to step"
  } else if (is.na(as_value(row$expected))) {
    ""
  } else if (row$asks %in% "direction" && is_of_time(row)) {
    paste("claimed to take", if (row$relation %in% "below") "less" else "more", "time")
  } else if (row$asks %in% "equivalence") {
    ends <- number_text(as_value(c(row$expected_low, row$expected_high)), claim_digits(row))
    paste0("claimed to be the same (", paste(ends, collapse = " to "), ratio_or_unit(row), ")")
  } else {
    claimed_size(row)
  }
}

found_words <- function(row) {
  if (is.na(row$estimate)) {
    return("")
  }
  place <- if (by_runs(row)) "here" else if (row$route %in% "modelled") "by a model" else judged_by[[2]]
  number <- with_interval(row$estimate, row$low, row$high, claim_digits(row))
  unit <- if (!is_times(row)) {
    unit_text(row$unit, row$estimate)
  } else if (row$asks %in% "direction" && is_of_time(row)) {
    times_words(row)
  }
  runs <- if (by_runs(row)) paste0(", ", row$route, if (!is.na(row$n)) paste0(", n\u00a0=\u00a0", row$n))
  paste0(place, " ", number, unit, runs)
}

# `page`: that of the claim's row, where it is another one.
answer_sentence <- function(paper = paper_id(), page = "") {
  row <- headline_row(paper)
  if (nrow(row) == 0) {
    return("")
  }
  numbers <- Filter(nzchar, c(claimed_words(row), found_words(row)))
  parts <- c(if (length(numbers) > 0) paste(numbers, collapse = "; "), outcome_text(row, paper))
  text <- sub("[.]?$", ".", paste(parts, collapse = ": "))
  caution <- if (!row$verdict %in% "inconclusive" && unproved(row, paper)) " None of its controls has runs enough yet."
  paste0(sprintf("[**%s**](%s#claim-%s) %s. %s", row$claim, page, row$claim, sub("[.]$", "", safe(row$statement)),
                 capital(text)), caution)
}

# The verdict, and what a reader needs beside it.
outcome_text <- function(row, paper = paper_id()) {
  none <- no_effect_of(row$claim, papers_of(row, paper))
  if (row$verdict %in% "inconclusive") {
    return(paste0(badge(row$verdict, open_words(row)), "; ", decided_by(row)))
  }
  word <- verdict_badge(row, paper)
  if (untestable(row)) {
    return(paste0(word, "; ", safe(row$reason)))
  }
  turned <- row$verdict %in% "direction only" && isTRUE(as_value(row$expected) < none)
  paste0(word, if (turned) sprintf(" (counted from %s, no effect)", trimmed(none)))
}

# Why an open claim is open.
open_words <- function(row) {
  inside <- function(bound) isTRUE(row$low <= bound && bound <= row$high)
  if (is.na(row$estimate)) {
    "not measured yet"
  } else if (is.na(row$low) || is.na(row$high)) {
    "too few runs"
  } else if (inside(as_value(row$expected_low)) || inside(as_value(row$expected_high))) {
    "inconclusive"
  } else {
    "open"
  }
}

# What would decide an open claim: so many runs and minutes, else what its reason says after the estimate.
decided_by <- function(row) {
  if (!is.na(row$runs_needed)) {
    does <- if (is.na(row$low)) "of each cell would give an interval" else "of each cell would decide"
    runs <- paste("about", count_of(trimmed(row$runs_needed, 4), "more run", "more runs"), does)
    # Runs without minutes are more than any effort makes.
    beyond <- is.na(row$minutes) && isTRUE(row$n > 0)
    minutes <- if (!is.na(row$minutes)) sprintf(" (some %s\u00a0min%s)", trimmed(row$minutes, 2), going_on(row))
    return(paste0(if (beyond) "not decidable here: ", runs, minutes, if (beyond) ", and no effort makes as many"))
  }
  reason <- row$reason
  rest <- sub("^; ", "", substring(reason, nchar(first_clause(reason)) + 1))
  if (rest == "" && !is.na(row$low)) {
    return("no number of runs would decide")
  }
  safe(with_minus(if (rest == "") reason else rest))
}
