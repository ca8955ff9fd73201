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
