# The tables of a paper's brief (<paper>.brief.pdf): per claim what is claimed, what was found and how sure that is, but
# consistent claims by id alone; per reason what is not testable.

brief_tables <- function() {
  table <- read_verdicts()
  tested <- table[!untestable(table), ]
  own <- tested[!by_runs(tested), ]
  consistent <- own$verdict %in% "consistent"
  knitr::asis_output(paste0(
    brief_part("Claims judged by runs", brief_claims(tested[by_runs(tested), ])),
    brief_part("Claims judged by the paper's own numbers", brief_claims(own[!consistent, ])),
    brief_consistent(own[consistent, ]),
    brief_part("Claims that are not testable here", brief_untestable(table[untestable(table), ]))
  ))
}

brief_part <- function(title, table) if (is.null(table)) "" else sprintf("\n**%s**\n%s", title, table)

# In a box of Typst, so that no line ends after its hyphen.
boxed <- function(text) sprintf("`#box[%s]`{=typst}", text)

brief_claim <- function(table) paste(boxed(sprintf("*%s*", table$claim)), safe(table$statement))

# NULL without claims.
brief_claims <- function(table) {
  if (nrow(table) == 0) {
    return(NULL)
  }
  md_table(data.frame(
    Claim = brief_claim(table), Claimed = expected_text(table),
    Found = ifelse(is.na(table$estimate), "none", estimate_text(table)), Verdict = brief_verdict(table)
  ), widths = c(46, 15, 17, 22))
}

# One sentence: how many claims agree with the paper's own numbers, and their ids.
brief_consistent <- function(table) {
  if (nrow(table) == 0) {
    return("")
  }
  sprintf("\n**%s consistent** with the paper's own numbers: %s.\n",
          count_of(nrow(table), "claim is", "claims are"), paste(boxed(table$claim), collapse = ", "))
}

# The verdict and the runs behind it; of an open claim why it is open.
brief_verdict <- function(table) {
  open <- table$verdict %in% "inconclusive"
  words <- verdict_words(table)
  words[open] <- vapply(which(open), function(i) open_words(table[i, ]), character(1))
  why <- rep("", nrow(table))
  why[open] <- vapply(which(open), function(i) paste0("; ", brief_reason(table[i, ])), character(1))
  how <- ifelse(by_runs(table), ifelse(is.na(table$n), "", paste0("n\u00a0=\u00a0", table$n)), safe(table$route))
  paste0(badge(table$verdict, words), " ", how, why)
}

brief_reason <- function(row) {
  if (!is.na(row$runs_needed)) {
    runs <- count_of(trimmed(row$runs_needed, 4), "more run", "more runs")
    paste(runs, "a cell", if (is.na(row$low)) "for an interval" else "to decide")
  } else if (is.na(row$estimate)) {
    safe(with_minus(first_clause(row$reason)))
  } else {
    first_clause(decided_by(row))
  }
}

# A row per reason, which often holds for several claims.
brief_untestable <- function(table) {
  if (nrow(table) == 0) {
    return(NULL)
  }
  reason <- sub("[.]$", "", first_clause(table$reason))
  reason <- factor(reason, unique(reason))
  md_table(data.frame(
    Claims = unname(vapply(split(brief_claim(table), reason), paste, character(1), collapse = "; ")),
    Reason = safe(with_minus(levels(reason)))
  ), widths = c(50, 50))
}
