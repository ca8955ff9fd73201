functions_of()

row <- function(...) {
  base <- list(claim = "E-C06", reason = "too wide", runs_needed = 2, minutes = 4, chance = 0.7, audit = NA,
               claim_command = "make claim CLAIM=E-C06 EFFORT=quick", asked = "before")
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
    "`make claim CLAIM=E-C06 EFFORT=quick`."
  ), fixed = TRUE)
  expect_no_match(text, "more runs of each cell") # verdicts say them in their reason
  expect_no_match(reason_text(row(minutes = NA, claim_command = NA)), "These runs take")
  expect_match(reason_text(row(claim_command = NA, chance = NA)), "These runs take about 4\u00a0min here.", fixed = TRUE)
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
  with_verdicts(rbind(row(), row(asked = "again")), expect_match(
    asked_sentence("p"), "2 were asked before the first run exactly as judged now (1 of them judged earlier with fewer runs).",
    fixed = TRUE
  ))
  with_verdicts(row(asked = NA), expect_identical(asked_sentence("p"), ""))
})

test_that("a cell of the table has the first clause of a reason, and folds the rest", {
  of <- function(...) folded_reason(row(verdict = "inconclusive", low = 3, control = NA, ...))
  reason <- "3.9 (3 to 5; 3 runs a cell) overlaps the bounds 3 and 4, so the data cannot decide: 3 to 4; the budget ended before 2 more runs of its cells"
  with_verdicts(row(), {
    text <- of(reason = reason)
    expect_match(text, "^3.9 \\(3 to 5; 3 runs a cell\\) overlaps the bounds 3 and 4, so the data cannot decide: 3 to 4[.] About 2 more runs of each cell would decide[.] ")
    expect_match(text, "[The budget ended before 2 more runs of its cells. These runs take about 4", fixed = TRUE)
    expect_match(text, "]{.rest}", fixed = TRUE)
    alone <- of(reason = "missing", runs_needed = NA, minutes = NA, claim_command = NA, chance = NA)
    expect_identical(alone, "Missing.")
  })
})

test_that("a claim that runs judge has its command", {
  expect_identical(make_text(row(route = "emulated")), "[`make claim CLAIM=E-C06`]{.make}")
  expect_identical(make_text(row(route = "arithmetic")), "")
  withr::local_envvar(WHITEWIRE_START = "make papers TESTBED=lab")
  expect_identical(make_text(row(route = "emulated")), "[`make claim CLAIM=E-C06 TESTBED=lab`]{.make}")
})

test_that("a set of published measurements has the command of sets, and none for one claim", {
  set <- "make calibrate PAPERS=osu-hibd EFFORT=quick"
  withr::local_envvar(WHITEWIRE_START = "make calibrate")
  expect_identical(make_text(row(route = "emulated")), "")
  expect_identical(claim_line(), "")
  expect_identical(going_on(row(command = set)), sprintf(": `%s`", set))
})

test_that("the start page of sets has a title of its own", {
  titled <- function(command) {
    withr::local_envvar(WHITEWIRE_START = command)
    head <- readLines(file.path(root, "paper", "index.qmd"), 3)
    paste(knitr::knit(text = c(head, "---", "", "```{r}", "```"), quiet = TRUE), collapse = "\n")
  }
  expect_match(titled("make calibrate TESTBED=lab"), "title: \"Published measurements, emulated\"\n", fixed = TRUE)
  expect_match(titled("make papers"), "title: \"Papers, measured again\"\n", fixed = TRUE)
})

test_that("a citation says what made the runs, what is claimed, what was found and the verdict; a badge goes with it", {
  cited <- row(route = "emulated", relation = "within", asks = "size", unit = "1", estimand = "throughput: a / b", n = 3,
               estimate = 6.24, low = 4.9, high = 7.95, expected = 4, expected_low = 3.5, expected_high = 4.5,
               verdict = "direction only", paper = "p")
  sentence <- ", claimed 4 times; here 6.24 (4.9 to 7.95), emulated, n\u00a0=\u00a03: more than claimed."
  with_verdicts(cited, {
    expect_identical(cite_text(cited), paste0(
      "[[Whitewire: claim E-C06 of \u201c\u201d ()", sentence, "]{.citation} [Badge](badges/p/E-C06.svg)]{.cite}"
    ))
    block <- file.path(results_dir(), "p", "raw", "quick-1")
    dir.create(block, recursive = TRUE)
    writeLines('{"whitewire": {"version": "0.1.0", "commit": "7abd6db03847c4f295114abdd0c4104eef90b76d"}}',
               file.path(block, "environment.json"))
    expect_match(cite_text(cited), "Whitewire 0.1.0, commit 7abd6db03847: claim E-C06 of ", fixed = TRUE)
  })
})

test_that("a brief has findings, why a claim is open, consistent claims by id, and what is not testable by reason", {
  claim <- function(id, ...) {
    base <- list(claim = id, statement = "s", route = "emulated", relation = "within", unit = "1", n = 3, estimate = 6.2,
                 low = 4.9, high = 7.9, expected = 4, expected_low = 3.5, expected_high = 4.5, verdict = "not reproduced")
    do.call(row, utils::modifyList(base, list(...)))
  }
  untested <- function(id, reason) claim(id, verdict = "not testable here", reason = reason)
  with_verdicts(rbind(
    claim("P1"), claim("P2", verdict = "inconclusive", low = 3), untested("P3", "missing: x; testbed that would do: y"),
    claim("P4", verdict = "consistent", route = "arithmetic", low = NA, high = NA, n = NA), untested("P5", "missing: x."),
    claim("P6", verdict = "inconclusive", estimate = NA, low = NA, high = NA, n = 0, reason = "no run of a; 3 more"),
    claim("P7", verdict = "inconsistent", route = "arithmetic", low = NA, high = NA, n = NA),
    claim("P8", verdict = "inconclusive", low = 3, runs_needed = NA, reason = "6.2; but P-K01 failed; open")
  ), {
    text <- gsub("\u00a0", " ", brief_tables())
    for (line in c(
      "| `#box[*P1*]`{=typst} s | 4 (3.5 to 4.5) | 6.2 (4.9 to 7.9) | [not reproduced]{.badge .not-reproduced} n = 3 |",
      "| 6.2 (3 to 7.9) | [inconclusive]{.badge .inconclusive} n = 3; 2 more runs a cell to decide |",
      "| `#box[*P7*]`{=typst} s | 4 (3.5 to 4.5) | 6.2 | [inconsistent]{.badge .inconsistent} arithmetic |",
      "**1 claim is consistent** with the paper's own numbers: `#box[P4]`{=typst}.",
      "[not measured yet]{.badge .inconclusive} n = 0; 2 more runs a cell for an interval |",
      "[inconclusive]{.badge .inconclusive} n = 3; but P-K01 failed |",
      "| `#box[*P3*]`{=typst} s; `#box[*P5*]`{=typst} s | missing: x |"
    )) {
      expect_match(text, line, fixed = TRUE)
    }
  })
})
