# Which link rate would have the printed effect: rows of inverse.csv, as a table and as a sentence.
#
# inverse_table()          all inverse questions of the paper
# inverse_sentence(claim)  one of them in words

metric_words <- function(metric) {
  words <- unlist(declared_metrics()$words)[metric]
  name <- gsub("_", " ", metric)
  if (is.null(words)) name else unname(ifelse(is.na(words), name, words))
}

needed_text <- function(table) {
  ratio <- with_interval(table$link_ratio, table$link_ratio_low, table$link_ratio_high)
  none <- ifelse(is.na(table$largest_effect), "not measured far enough", "none measured gives it")
  ifelse(is.na(table$link_ratio), none, paste0(ratio, "\u00d7"))
}

# Link rates whose runs hardly differ from starting jobs, so that they are no point of the curve.
left_out_words <- function(table, before, after = "") {
  out <- table$left_out
  places <- gsub(" ", ", ", safe(out), fixed = TRUE)
  ifelse(is.na(out) | out == "", "", paste0(before, "not measured at ", places, after))
}

# Why, as rows like those of medians: a link rate of one curve each.
left_out_rows <- function(table) {
  none <- data.frame(level = character(), untold = character())
  do.call(rbind, c(list(none), lapply(which(!is.na(table$left_out) & table$left_out != ""), function(i) {
    fabrics <- strsplit(table$left_out[[i]], " ", fixed = TRUE)[[1]]
    medians <- estimates_of(table$experiment[[i]], table$metric[[i]])
    medians <- medians[is_unusable(medians) & same_level(medians$fabric, fabrics), ]
    data.frame(level = paste(medians$experiment, medians$fabric), untold = medians$untold)
  })))
}

rate_range <- function(from, low, high) {
  ifelse(is.na(low), "\u2013", paste0(trimmed(from * low), " to ", trimmed(from * high), "\u00a0Gbit/s"))
}

inverse_table <- function() {
  table <- read_inverse()
  if (nrow(table) == 0) {
    return(knitr::asis_output("\nNo inverse question was computed at this effort.\n"))
  }
  verdicts <- read_verdicts()
  statement <- verdicts$statement[match(table$claim, verdicts$claim)]
  rate <- fabric_rate(table$from)
  shown <- md_table(data.frame(
    Claim = paste0("**", table$claim, "** ", safe(statement)),
    "Effect asked for" = paste0(trimmed(table$effect), "\u00d7 ", safe(metric_words(table$metric))),
    "Largest measured" = ifelse(is.na(table$largest_effect), "\u2013", paste0(trimmed(table$largest_effect), "\u00d7")),
    "Link needed" = paste0(needed_text(table), left_out_words(table, "; ", unusable_mark)),
    "Link that the hardware gives" = paste0(
      ifelse(is.na(table$plausible_low), "", paste0(trimmed(table$plausible_low), " to ",
                                                   trimmed(table$plausible_high), "\u00d7 (")),
      rate_range(rate, table$plausible_low, table$plausible_high),
      ifelse(is.na(table$plausible_low), "", ")")
    ),
    Plausible = ifelse(is.na(table$plausible), "\u2013", safe(table$plausible)),
    Basis = safe(table$plausible_basis), check.names = FALSE
  ), widths = c(18, 12, 10, 14, 13, 9, 24))
  with_unusable(shown, left_out_rows(table))
}

inverse_sentence <- function(claim) {
  check_claim(claim, with = "inverse")
  table <- read_inverse()
  row <- table[table$claim %in% claim, ]
  if (nrow(row) == 0 || is.na(row$effect[[1]])) {
    return(paste0("What link rate would do what ", claim, " says was not computed at this effort."))
  }
  row <- row[1, ]
  metric <- metric_words(row$metric)
  from <- fabric_rate(row$from)
  wanted <- sprintf("%s asks for %s\u00d7 the %s at %s Gbit/s.", claim, trimmed(row$effect), metric, trimmed(from))
  if (is.na(row$link_ratio)) {
    reason <- if (is.na(row$largest_effect)) {
      "The curve was not measured far enough to say which link would give it."
    } else {
      sprintf("No link rate measured gives it: the most that the curve gives is %s\u00d7.", trimmed(row$largest_effect))
    }
    return(paste0(wanted, " ", reason, left_out_words(row, " It is "), if (nzchar(left_out_words(row, ""))) "."))
  }
  paste(wanted, sprintf(
    paste("On the measured curve that takes a link of %s Gbit/s (%s times the rate); the hardware named gives %s.",
          "Plausible: %s."),
    with_interval(from * row$link_ratio, from * row$link_ratio_low, from * row$link_ratio_high),
    trimmed(row$link_ratio), rate_range(from, row$plausible_low, row$plausible_high), safe(row$plausible)
  ))
}
