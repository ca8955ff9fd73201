functions_of()

row <- function(...) {
  base <- list(claim = "E-C06", reason = "too wide", runs_needed = 2, minutes = 4, chance = 0.7, audit = NA,
               command = "make papers PAPERS=emulex-2012 EFFORT=quick", asked = "before")
  as.data.frame(utils::modifyList(base, list(...)))
}

with_verdicts <- function(table, code) {
  folder <- withr::local_tempdir()
  dir.create(file.path(folder, "p", "analysis"), recursive = TRUE)
  readr::write_csv(table, file.path(folder, "p", "analysis", "verdicts.csv"), na = "")
  withr::local_envvar(WHITEWIRE_RESULTS = folder, WHITEWIRE_PAPER = "p")
  rm(list = ls(cache), envir = cache)
  on.exit(rm(list = ls(cache), envir = cache), add = TRUE)
  force(code)
}

test_that("an open claim says the minutes, the chance and the command", {
  text <- reason_text(row())
  expect_match(text, paste(
    "These runs take about 4\u00a0min here; all runs of that effort decide the claim with a chance of 70\u00a0%:",
    "`make papers PAPERS=emulex-2012 EFFORT=quick`."
  ), fixed = TRUE)
  expect_no_match(reason_text(row(minutes = NA, command = NA)), "These runs take")
})

test_that("claims that were asked before their runs are counted, and those without runs are not", {
  table <- rbind(row(), row(asked = "after"), row(asked = "after"), row(asked = NA))
  with_verdicts(table, {
    expect_identical(asked_sentence("p"), paste(
      "Of 3 claims judged by runs, 1 was asked before the first run exactly as judged now; of the other 2 the question",
      "changed since, or no record shows when it was asked."
    ))
  })
  with_verdicts(row(), expect_match(asked_sentence("p"), "exactly as judged now[.]$"))
  with_verdicts(row(asked = NA), expect_identical(asked_sentence("p"), ""))
})

test_that("a cell of the table has the first clause of a reason, and folds the rest", {
  of <- function(...) folded_reason(row(verdict = "inconclusive", low = 3, control = NA, ...), "p")
  reason <- "3.9 (3 to 5; 3 runs a cell) is too wide to say: 3 to 4; the budget ended before 2 more runs of its cells"
  with_verdicts(row(), {
    text <- of(reason = reason)
    expect_match(text, "^3.9 \\(3 to 5; 3 runs a cell\\) is too wide to say: 3 to 4[.] About 2 more runs of each cell would decide[.] ")
    expect_match(text, "[The budget ended before 2 more runs of its cells. These runs take about 4", fixed = TRUE)
    expect_match(text, "]{.rest}", fixed = TRUE)
    alone <- of(reason = "missing", runs_needed = NA, minutes = NA, command = NA, chance = NA)
    expect_identical(alone, "Missing.")
  })
})
