# Controls: runs whose right answer is known. Their outcomes in words and as a table.

outcome_levels <- c("held", "failed", "open")

has_controls <- function() nrow(read_controls()) > 0

# A paper that is not analysed yet has no table.
controls_sought <- function() {
  file.exists(file.path(results_dir(), paper_id(), "analysis", "controls.csv"))
}

# One row a control, which may have several metrics: it failed if any failed, and held if any held.
by_control <- function(table) {
  worst <- table[order(match(table$outcome, c("failed", "held", "open"))), ]
  worst <- worst[!duplicated(worst$control), ]
  worst[order(match(worst$control, table$control)), ]
}

outcome_counts <- function(table) {
  vapply(outcome_levels, function(outcome) sum(table$outcome %in% outcome), numeric(1))
}

small_number <- function(n) {
  words <- c("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
  if (n %in% seq_along(words)) words[[n]] else as.character(n)
}

# "E-K02 (0.91 where 1 is right)"
what_failed <- function(table) {
  failed <- table[table$outcome %in% "failed", ]
  against <- sprintf(" (%s where %s is right)", trimmed(failed$estimate), trimmed(failed$expected))
  paste0(failed$control, ifelse(is.na(failed$estimate) | is.na(failed$expected), "", against))
}

# How the controls of one paper turned out; `link` leads to their section.
controls_sentence <- function(link = FALSE) {
  table <- read_controls()
  link <- if (link) " (@sec-controls)" else ""
  if (nrow(table) == 0) {
    if (controls_sought()) {
      return(paste0("This paper has no controls", link, ", so nothing shows what its runs say where nothing differs."))
    }
    return(paste0("No controls were made", link, ", so nothing shows what the runs say where nothing differs."))
  }
  table <- by_control(table)
  counts <- outcome_counts(table)
  failed <- if (counts[["failed"]] > 0) {
    sprintf("; %s failed: %s", small_number(counts[["failed"]]), listed(what_failed(table)))
  }
  open <- if (counts[["open"]] > 0) {
    sprintf("; %s %s open: %s", small_number(counts[["open"]]), if (counts[["open"]] == 1) "is" else "are",
            listed(table$control[table$outcome %in% "open"]))
  }
  paste0(counts[["held"]], " of ", count_of(nrow(table), "control"), " held", link, failed, open, ".")
}

# By how much the lanes of this paper's blocks differ, of the metric in which they differ most; empty with one lane.
lanes_sentence <- function() {
  table <- read_lanes()
  if (nrow(table) == 0) return("")
  most <- table[which.max(abs(table$difference)), ]
  sprintf(paste0(
    " Runs were made side by side in up to %s lanes, each whole round of them in one. Values are without what lanes ",
    "add to them; at most, lanes differ by %s (%s to %s), which is the %s of %s."
  ), max(table$lanes), signed_percent(100 * most$difference, 1), signed_percent(100 * most$low, 1),
  signed_percent(100 * most$high, 1), gsub("_", " ", most$metric), most$experiment)
}

each_id <- function(text) strsplit(as.character(ifelse(is.na(text), "", trimws(as.character(text)))), "[ ,;]+")

# Which controls of each claim held: "Control E-K01 held." A failed one is in the claim's reason.
held_text <- function(verdicts) {
  table <- by_control(read_controls())
  held <- table$control[table$outcome %in% "held"]
  vapply(each_id(verdicts$control), function(ids) {
    ids <- intersect(ids, held)
    if (length(ids) == 0) "" else sprintf("%s %s held.", if (length(ids) == 1) "Control" else "Controls", listed(ids))
  }, character(1))
}

# Which verdicts have controls of which none has a result yet: nothing shows what such runs say where nothing differs.
unproved <- function(verdicts, paper = paper_id()) {
  table <- by_control(read_controls(paper, pooled = TRUE))
  judged <- table$control[table$outcome %in% c("held", "failed")]
  vapply(each_id(verdicts$control), function(ids) any(nzchar(ids)) && !any(ids %in% judged), logical(1))
}

control_metric <- function(table) gsub("_", " ", safe(table$metric))

# Ids that no line ends within.
unbroken <- function(ids) paste(sprintf("[%s]{.nobreak}", ids), collapse = ", ")

# Of all A/A controls together, *n* is the fewest runs of one.
controls_table <- function() {
  table <- read_controls(pooled = TRUE)
  pooled <- table$kind %in% "pooled"
  number <- ifelse(pooled, " (n\u00a0\u2265\u00a0", " (n\u00a0=\u00a0")
  runs <- ifelse(is.na(table$estimate) | is.na(table$n) | is.na(table$n_against), "",
                 paste0(number, table$n, "\u00a0+\u00a0", table$n_against, ")"))
  claims <- vapply(each_id(table$claims), function(ids) if (length(ids) == 0) "\u2013" else unbroken(ids), character(1))
  fault <- ifelse(is.na(table$smallest_fault), "",
                  paste0(" Smallest fault found in 80\u00a0%: \u00d7", trimmed(table$smallest_fault), "."))
  md_table(data.frame(
    Control = paste0("**", table$control, "** ", ifelse(pooled, "all A/A controls of the paper together", paste0(
      safe(table$title), " (", safe(table$kind), ")"
    ))),
    Runs = ifelse(pooled, safe(table$cell), paste0(
      control_metric(table), " of ", code(table$cell), ", really ", code(table$really), ", against ",
      code(table$against)
    )),
    Ratio = paste0(with_interval(table$estimate, table$low, table$high), runs),
    Expected = trimmed(table$expected),
    Outcome = badge(table$outcome),
    Reason = trimws(paste0(sub("([^.])$", "\\1.", safe(with_minus(table$reason))), fault)),
    Claims = claims
  ), widths = c(17, 24, 13, 9, 9, 20, 8), align = rep("l", 7))
}
