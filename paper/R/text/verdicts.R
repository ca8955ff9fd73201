# Verdicts: counts, badges, the table, the summary in words.

claim_count <- function(paper = paper_id()) nrow(read_verdicts(paper))

badge <- function(verdict, word = verdict) {
  none <- is.na(verdict) | verdict == ""
  verdict <- ifelse(none, "not judged", verdict)
  sprintf("[%s]{.badge .%s}", ifelse(none, verdict, word), gsub(" ", "-", verdict))
}

# The value that would mean no effect, by each claim's YAML; 1 where that says none.
no_effect_of <- function(claims, papers) {
  of_one <- function(id, paper) {
    none <- with_id(described(paper)$claims, id)$test$no_effect
    if (is.null(none)) 1 else as_value(none)
  }
  unname(mapply(of_one, as.character(claims), papers))
}

papers_of <- function(table, paper = paper_id()) {
  if (is.null(table$paper)) rep(paper, nrow(table)) else ifelse(is.na(table$paper), paper, as.character(table$paper))
}

# "more than claimed" or "less than claimed", by the distance from no effect: of a time that is to fall to half, 0.3 is
# more and 0.8 is less. A bound or a trend that is missed on the claimed side of no effect is always less.
which_way <- function(table, papers) {
  expected <- as_value(table$expected)
  estimate <- as_value(table$estimate)
  side <- sign(expected - no_effect_of(table$claim, papers))
  beyond <- ifelse(side > 0, estimate > as_value(table$expected_high), estimate < as_value(table$expected_low))
  bounded <- table$relation %in% c("above", "below", "increasing")
  ifelse(!bounded & is.na(beyond), "other size than claimed",
         ifelse(!bounded & beyond, "more than claimed", "less than claimed"))
}

# What a reader sees of each verdict: its name, but `direction only` says which way.
verdict_words <- function(table, paper = paper_id()) {
  words <- as.character(table$verdict)
  missed <- which(words %in% "direction only")
  if (length(missed) > 0) words[missed] <- which_way(table[missed, ], papers_of(table, paper)[missed])
  words
}

verdict_badge <- function(table, paper = paper_id()) badge(table$verdict, verdict_words(table, paper))

relation_words <- c(
  above = "above", below = "below", at_least = "at least", at_most = "at most", equal = "equal to",
  within = ""
)

# The digits by which a claim's numbers differ: the estimate's, and those that it asks for.
claim_digits <- function(table) {
  columns <- intersect(c("estimate", "low", "high", "expected", "expected_low", "expected_high"), names(table))
  do.call(digits_needed, unname(lapply(table[columns], as_value)))
}

expected_text <- function(table) {
  word <- relation_words[as.character(table$relation)]
  word <- ifelse(is.na(word), gsub("_", " ", ifelse(is.na(table$relation), "", table$relation)), word)
  number <- as_value(table$expected)
  digits <- claim_digits(table)
  value <- ifelse(is.na(number), safe(table$expected), number_text(number, digits))
  ranged <- !is.na(table$expected_low) & !is.na(table$expected_high) &
    table$expected_low != table$expected_high
  ends <- paste0("(", number_text(table$expected_low, digits), " to ", number_text(table$expected_high, digits), ")")
  range <- ifelse(ranged, ends, "")
  rising <- table$relation %in% "increasing"
  value[rising] <- ""
  range[rising] <- "from step to step"
  text <- trimws(gsub("\\s+", " ", paste(word, value, range)))
  ifelse(text == "", "\u2013", text)
}

# After a number; what is counted is singular after a one (1 server, but 1 s and 1 MB/s).
unit_text <- function(unit, value = NA) {
  unit <- ifelse(!is.na(value) & value == 1 & grepl("^[a-z]{3,}s$", unit), sub("s$", "", unit), unit)
  ifelse(is.na(unit) | unit %in% c("1", ""), "", paste0("\u00a0", safe(unit)))
}

estimate_text <- function(table) {
  text <- with_interval(table$estimate, table$low, table$high, claim_digits(table))
  ifelse(is.na(table$estimate), text, paste0(text, unit_text(table$unit, table$estimate)))
}

# ": `make claim …`", what goes on with an open claim, or with its set; nothing where the table does not say it.
going_on <- function(table) {
  command <- if (is_set()) table$command else table$claim_command
  ifelse(is.na(command), "", sprintf(": `%s`", command))
}

reason_text <- function(table) {
  likely <- ifelse(is.na(table$chance), "", sprintf(
    "; all runs of that effort decide the claim with a chance of %.0f\u00a0%%", 100 * table$chance
  ))
  minutes <- sprintf(" These runs take about %.0f\u00a0min here%s%s.", table$minutes, likely, going_on(table))
  how <- ifelse(is.na(table$minutes), "", minutes)
  audit <- ifelse(is.na(table$audit) | table$audit == "", "", paste0(" Audit: ", table$audit, "."))
  reason <- sub("[.;]?\\s*$", ".", safe(with_minus(table$reason)))
  paste0(ifelse(reason == ".", "", reason), how, audit)
}

# The first clause of a reason, which says what was compared; a semicolon in brackets ends none.
first_clause <- function(reason) sub("^((?:\\([^()]*\\)|[^;()])*).*$", "\\1", reason, perl = TRUE)

# A reason for a cell of a table: what was compared, and what would decide; the rest is folded away on a page.
folded_reason <- function(table) {
  whole <- reason_text(table)
  first <- sub("[.]?\\s*$", "", safe(with_minus(first_clause(table$reason))))
  rest <- trimws(sub("^[;.]?\\s*", "", substring(whole, nchar(first) + 1)))
  rest <- trimws(paste(rest, held_text(table), further_text(table)))
  does <- ifelse(is.na(table$low), "would give an interval", "would decide")
  runs <- ifelse(table$runs_needed %in% 1, "more run", "more runs")
  needed <- sprintf(" About %s %s of each cell %s.", trimmed(table$runs_needed, 4), runs, does)
  open <- table$verdict %in% "inconclusive" & !is.na(table$runs_needed)
  paste0(capital(first), ifelse(first == "", "", "."), ifelse(open, needed, ""),
         ifelse(rest == "", "", sprintf(" [%s]{.rest}", capital(rest))))
}

route_text <- function(table) {
  paste0(safe(table$route), ifelse(is.na(table$n), "", paste0(" (n\u00a0=\u00a0", table$n, ")")))
}

# The claim's id, to which its exhibits lead back: filters/whitewire.lua writes that line below their headings.
claim_text <- function(table) {
  sprintf(
    '[**%s**]{#claim-%s .claim exhibits="%s" verdict="%s"} %s', table$claim, table$claim,
    vapply(each_id(table$exhibits), paste, character(1), collapse = " "), verdict_words(table), safe(table$statement)
  )
}

# Why each claim is judged as it is, by the paper's YAML.
why_of <- function(claims) {
  found <- described()$claims
  vapply(as.character(claims), function(id) text_or_none(with_id(found, id)$why), character(1), USE.NAMES = FALSE)
}

# On a page it is folded away below the reason; on paper it is left out.
why_text <- function(table) {
  why <- why_of(table$claim)
  ifelse(why == "", "", sprintf("[%s]{.why}", safe(why)))
}

# The command that measures a claim, beside it on a page; of claims that no run judges here nothing.
make_text <- function(table) {
  ifelse(by_runs(table) & !is_set(), sprintf("[`make claim CLAIM=%s%s`]{.make}", table$claim, asked_testbed()), "")
}

# A claim for a command to name: the headline's, else the first.
example_claim <- function() {
  c(described()$headline, as.character(read_verdicts()$claim))[[1]]
}

# Folded away on a page: how to cite a claim, and its badge.
cite_text <- function(table) {
  made <- made_by_words()
  cited <- vapply(seq_len(nrow(table)), function(i) citation_words(table[i, ], made), character(1))
  sprintf("[[%s]{.citation} [Badge](badges/%s/%s.svg)]{.cite}", cited, paper_id(), table$claim)
}

# 'Whitewire 0.1.0, commit 7abd6db03847: claim E-C02 of "..." (2012), claimed 4 times; here 6.24 (4.9 to 7.95), ...'
citation_words <- function(row, made) {
  numbers <- Filter(nzchar, c(claimed_words(row), found_words(row)))
  numbers_text <- if (length(numbers) > 0) paste0(", ", paste(numbers, collapse = "; ")) else ""
  about <- described()
  sprintf("Whitewire%s: claim %s of \u201c%s\u201d (%s)%s: %s.", made, row$claim, safe(text_or_none(about$title)),
          text_or_none(about$year), numbers_text, verdict_words(row))
}

# " 0.1.0, commit 7abd6db03847": what made the first of the runs; nothing where there are none.
made_by_words <- function() {
  records <- read_environments()
  made <- if (length(records) > 0) records[[1]]$whitewire
  if (is.null(made$version)) "" else paste0(" ", made$version, ", commit ", substr(text_or_none(made$commit), 1, 12))
}

untestable <- function(table) table$verdict %in% "not testable here"

# Claims by where their verdict comes from, those of runs first, and as in the paper within.
by_route <- function(table) {
  table[order(match(table$route, c("measured", "emulated", "modelled", "arithmetic"), nomatch = 9)), ]
}

verdict_table <- function() {
  table <- read_verdicts()
  if (nrow(table) == 0) {
    return(knitr::asis_output("\nNo claim has been judged yet.\n"))
  }
  table <- table[!untestable(table), ]
  if (nrow(table) == 0) {
    return(knitr::asis_output("\nNo claim of this paper can be tested here.\n"))
  }
  table <- by_route(table)
  expected <- expected_text(table)
  asked <- ifelse(expected == "\u2013", "", paste0("; asked for: ", expected))
  md_table(data.frame(
    Claim = trimws(paste(claim_text(table), make_text(table))),
    Verdict = paste(verdict_badge(table), route_text(table)),
    Estimate = paste0(ifelse(is.na(table$estimate), "none", estimate_text(table)), asked),
    Reason = trimws(paste(folded_reason(table), why_text(table), cite_text(table)))
  ), widths = c(27, 15, 18, 40))
}

untestable_table <- function() {
  table <- read_verdicts()
  table <- table[untestable(table), ]
  if (nrow(table) == 0) {
    return(knitr::asis_output("\nAll claims of this paper are tested.\n"))
  }
  reason <- trimws(paste(reason_text(table), why_text(table), cite_text(table)))
  md_table(data.frame(Claim = claim_text(table), Reason = reason), widths = c(45, 55))
}

untestable_sentence <- function() {
  n <- sum(untestable(read_verdicts()))
  if (n == 0) {
    return("")
  }
  are <- if (n == 1) "is" else "are"
  paste0(count_of(n, "further claim"), " ", are, " not testable here: @sec-untestable says what is missing.")
}

# "2 further readings: @sec-readings."
further_text <- function(table) {
  counts <- table(factor(read_readings()$claim, levels = table$claim))
  vapply(as.integer(counts), function(n) {
    if (n == 0) "" else sprintf("%s: @sec-readings.", count_of(n, "further reading"))
  }, character(1))
}

readings_table <- function() {
  table <- read_readings()
  if (nrow(table) == 0) {
    return(knitr::asis_output("\nNo second readings were computed at this effort.\n"))
  }
  md_table(data.frame(
    Claim = table$claim, Reading = safe(gsub("_", " ", table$reading)), Verdict = verdict_badge(table),
    Estimate = estimate_text(table), Route = route_text(table), Reason = safe(with_minus(table$reason))
  ), widths = c(8, 21, 17, 14, 11, 29))
}

# How many claims have each verdict, by what judges them: runs, or the paper's own numbers. No row where none has it.
verdict_counts <- function(paper = paper_id()) {
  found <- read_verdicts(paper)
  of_numbers <- found$route %in% c("arithmetic", "modelled")
  by <- ifelse(untestable(found), judged_by[[3]], ifelse(of_numbers, judged_by[[2]], judged_by[[1]]))
  words <- factor(verdict_words(found, paper), word_levels)
  counts <- as.data.frame(table(by = factor(by, judged_by), verdict = words), responseName = "claims")
  counts[counts$claims > 0, ]
}

# "by runs: **3** reproduced and **6** more than claimed; by the paper's own numbers: **9** consistent; **2** not
# testable here"
counts_text <- function(counts, form = "**%d** %s") {
  parts <- lapply(split(counts, counts$by, drop = TRUE), function(own) {
    words <- listed(sprintf(form, own$claims, as.character(own$verdict)))
    by <- as.character(own$by[[1]])
    if (by == judged_by[[3]]) words else paste0(by, ": ", words)
  })
  paste(parts, collapse = "; ")
}

verdict_sentence <- function(paper = paper_id()) {
  counts <- verdict_counts(paper)
  if (nrow(counts) == 0) {
    return("No claim has been judged yet.")
  }
  sprintf("Verdicts on %s, %s.", count_of(claim_count(paper), "claim"), counts_text(counts))
}

# "Of the 58 claims that runs judge 12 were asked before their first run as they are judged now; …", of papers together.
asked_sentence <- function(papers = paper_id()) {
  asked <- unlist(lapply(papers, function(paper) as.character(read_verdicts(paper)$asked)))
  asked <- asked[!is.na(asked)]
  if (length(asked) == 0) {
    return("")
  }
  before <- sum(asked %in% c("before", "again"))
  earlier <- sum(asked == "again")
  again <- if (earlier > 0) {
    paste0(" (", earlier, " of them judged earlier with fewer runs)")
  }
  others <- if (before < length(asked)) {
    paste0("; of the other ", length(asked) - before,
           " the question changed since, or no record shows when it was asked")
  }
  paste0(
    "Of ", count_of(length(asked), "claim"), " judged by runs, ", before, if (before == 1) " was" else " were",
    " asked before the first run exactly as judged now", again, others, "."
  )
}

# What the paper's YAML says was changed when, and why.
amendments_list <- function() {
  lines <- vapply(described()$amendments, function(each) {
    sprintf("- %s, %s: %s. Reason: %s.", each$date, listed(unlist(each$claims)), sub("[.]$", "", safe(each$what)),
            sub("[.]$", "", safe(each$why)))
  }, character(1))
  if (length(lines) == 0) lines <- "No claim of this paper was changed after it was first written."
  knitr::asis_output(paste0("\n", paste(lines, collapse = "\n"), "\n"))
}

# The findings that say most: firm verdicts, those furthest from the paper's number first; last those of which no
# control has a result yet. `but`: a claim that is shown elsewhere.
strongest <- function(paper = paper_id(), limit = 5, but = NULL) {
  table <- read_verdicts(paper)
  table <- table[!table$claim %in% but, ]
  expected <- as_value(table$expected)
  distance <- abs(log(pmax(table$estimate, 1e-9) / pmax(expected, 1e-9)))
  distance[!is.finite(distance)] <- 0
  firm <- table$verdict %in% c("not reproduced", "direction only", "reproduced", "inconsistent")
  rank <- match(table$verdict, c("not reproduced", "direction only", "inconsistent", "reproduced"))
  chosen <- order(!firm, !by_runs(table), rank, -distance)
  chosen <- chosen[firm[chosen]]
  last <- unproved(table, paper)[chosen]
  table[head(c(both_kinds(table, chosen[!last], limit), chosen[last]), limit), ]
}

# Of rows in their order, those that refute first, with room for two that confirm.
both_kinds <- function(table, chosen, limit) {
  refuting <- chosen[table$verdict[chosen] != "reproduced"]
  confirming <- chosen[table$verdict[chosen] == "reproduced"]
  confirming <- confirming[order(table$relation[confirming] != "within", table$kind[confirming] != "ratio")]
  room <- max(1, limit - min(length(confirming), 2))
  head(c(head(refuting, room), confirming), limit)
}

finding_text <- function(table, paper = paper_id()) {
  if (nrow(table) == 0) {
    return(character())
  }
  against <- ifelse(is.na(table$estimate), "", paste0(
    ": ", estimate_text(table), ifelse(expected_text(table) == "\u2013", "", paste0(
      ", where the claim asks for ", expected_text(table)
    ))
  ))
  sprintf("%s %s (%s)%s.", verdict_badge(table, paper), sub("\\.$", "", safe(table$statement)), table$claim, against)
}

# Beside the answer to the paper's title: answer.R.
strongest_list <- function(limit = 5) {
  answer <- headline_row()
  lines <- finding_text(strongest(limit = limit, but = answer$claim))
  other <- if (nrow(answer) > 0) "other "
  if (length(lines) == 0) lines <- paste0("No ", other, "claim has a firm verdict at this effort.")
  knitr::asis_output(paste0("\n", paste0("- ", lines, collapse = "\n"), "\n"))
}

# The reason of one verdict with its badge, for the running text.
reason_of <- function(claim) {
  check_claim(claim)
  table <- read_verdicts()
  table <- table[table$claim %in% claim, ]
  if (nrow(table) == 0) {
    return(paste0(claim, " has not been judged yet."))
  }
  paste0(verdict_badge(table), " ", reason_text(table))
}
