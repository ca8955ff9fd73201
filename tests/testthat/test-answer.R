suppressPackageStartupMessages({
  library(ggplot2)
  library(grid)
})
functions_of()

# A claim of 3.85 times, and what was found of it.
judged <- function(verdict, estimate = 5.45, low = 4.88, high = 6.1, ...) {
  base <- data.frame(
    claim = "P-C1", statement = "Ten is faster than one.", verdict = verdict, route = "emulated", estimate = estimate,
    low = low, high = high, unit = "1", n = 3, estimand = "throughput: a / b", relation = "within", expected = 3.85,
    expected_low = 3.27, expected_high = 4.43, kind = "ratio", exhibits = "fig1", reason = "r", runs_needed = NA,
    minutes = NA, claim_command = NA, control = NA
  )
  own <- list(...)
  base[names(own)] <- own
  base
}

# The same of a claim that a time falls to half.
halved <- function(verdict, estimate, ...) {
  judged(verdict, estimate, low = estimate - 0.02, high = estimate + 0.02, expected = 0.5, expected_low = 0.45,
         expected_high = 0.55, ...)
}

with_claims <- function(table, code, test = list()) {
  folder <- withr::local_tempdir()
  dir.create(file.path(folder, "p", "analysis"), recursive = TRUE)
  dir.create(file.path(folder, "config", "papers"), recursive = TRUE)
  readr::write_csv(table, file.path(folder, "p", "analysis", "verdicts.csv"), na = "")
  claims <- lapply(unique(table$claim), function(id) list(id = id, test = test))
  yaml::write_yaml(list(headline = "P-C1", claims = claims), file.path(folder, "config", "papers", "p.yaml"))
  withr::local_envvar(WHITEWIRE_RESULTS = folder, WHITEWIRE_PAPER = "p", WHITEWIRE_CONFIG = file.path(folder, "config"))
  rm(list = ls(cache), envir = cache)
  on.exit(rm(list = ls(cache), envir = cache), add = TRUE)
  force(code)
}

answer <- function(...) gsub("\u00a0", " ", with_claims(judged(...), answer_sentence()))
half <- function(...) gsub("\u00a0", " ", with_claims(halved(...), answer_sentence()))
opening <- "[**P-C1**](#claim-P-C1) Ten is faster than one. Claimed 3.85 times; here 5.45 (4.88 to 6.1), emulated, n = 3: "

test_that("the answer has the claim, what was found, how, and the verdict that says which way", {
  expect_equal(answer("direction only"), paste0(opening, "[more than claimed]{.badge .direction-only}."))
  expect_match(answer("direction only", 2, 1.8, 2.2), "[less than claimed]{.badge .direction-only}.", fixed = TRUE)
  expect_match(answer("reproduced", 3.9, 3.8, 4), "here 3.9 (3.8 to 4), emulated, n = 3: [reproduced]", fixed = TRUE)
  expect_match(answer("not reproduced", 1, 0.9, 1.1, route = "measured"), "measured, n = 3: [not reproduced]",
               fixed = TRUE)
})

test_that("of a ratio below 1 more than claimed is further below", {
  expect_match(half("direction only", 0.3), paste(
    "Claimed 0.5 times; here 0.3 (0.28 to 0.32), emulated, n = 3: [more than claimed]{.badge .direction-only}",
    "(counted from 1, no effect)."
  ), fixed = TRUE)
  expect_match(half("direction only", 0.8), "[less than claimed]", fixed = TRUE)
  expect_no_match(half("reproduced", 0.5), "no effect")
})

test_that("which way counts from the claim's own value of no effect", {
  table <- halved("direction only", 2.8, relation = "within")
  table[c("expected", "expected_low", "expected_high")] <- list(2.3, 2, 2.6)
  with_claims(table, expect_equal(verdict_words(read_verdicts()), "less than claimed"), test = list(no_effect = 3))
  with_claims(table, expect_equal(verdict_words(read_verdicts()), "more than claimed"))
})

test_that("a bound or a trend that is missed on the claimed side is less, and without a number nothing says which way", {
  above <- judged("direction only", 1.5, relation = "above", expected = 2, expected_low = 2, expected_high = NA)
  expect_equal(verdict_words(above), "less than claimed")
  below <- halved("direction only", 0.8, relation = "below")
  below$expected_low <- NA
  expect_equal(verdict_words(below), "less than claimed")
  expect_equal(verdict_words(judged("direction only", relation = "increasing", expected = NA)), "less than claimed")
  expect_equal(verdict_words(judged("direction only", expected = NA)), "other size than claimed")
  expect_equal(verdict_words(judged("direction only", NA)), "other size than claimed")
  expect_equal(verdict_words(judged(NA)), NA_character_)
})

test_that("a claim of a direction has no size, and one in a unit has that", {
  above <- answer("reproduced", 3.77, 3.08, 4.62, relation = "above", expected = 1, expected_low = 1, expected_high = NA)
  expect_match(above, "Claimed a ratio above 1; here 3.77 (3.08 to 4.62), emulated, n = 3: [reproduced]", fixed = TRUE)
  expect_match(answer("reproduced", 90, 80, 99, unit = "MB/s", relation = "below", expected = 120, estimand = "rate: a"),
               "Claimed below 120 MB/s; here 90 (80 to 99) MB/s,", fixed = TRUE)
})

test_that("what is claimed is said of times, links and plain numbers as of what they are", {
  time <- "completion_time_net: sort 10gbe 8 / sort 1gbe 8"
  expect_match(half("not reproduced", 0.9, estimand = time),
               "Claimed 0.5 times the time; here 0.9 (0.88 to 0.92), emulated", fixed = TRUE)
  below <- half("direction only", 0.8, estimand = time, relation = "below")
  expect_match(below, "Claimed below 0.5 times the time; here 0.8 (0.78 to 0.82)", fixed = TRUE)
  slower <- answer("reproduced", 4, 3.8, 4.2, estimand = "completion_time: sort 1gbe / sort 10gbe")
  expect_match(slower, "Claimed 3.85 times; here 4 (3.8 to 4.2), emulated", fixed = TRUE)
  expect_match(answer("reproduced", 0.5, 0.4, 0.6, estimand = time, relation = "below", asks = "direction",
                      expected = 1),
               "Claimed to take less time; here 0.5 (0.4 to 0.6) times the time, emulated", fixed = TRUE)
  expect_match(answer("reproduced", 0.88, 0.87, 0.89, estimand = "throughput: puts 1gbe / 1 x 1gbe link", expected = 0.86),
               "Claimed 0.86 of the links' rate; here 0.88 (0.87 to 0.89), emulated", fixed = TRUE)
  expect_match(answer("reproduced", 0.9, 0.89, 0.91, estimand = "link_share: puts 1gbe / 1", relation = "above",
                      expected = 0.8), "Claimed above 0.8; here 0.9 (0.89 to 0.91), emulated", fixed = TRUE)
})

test_that("a claim of no effect is one of being the same", {
  same <- answer("reproduced", 1.02, 1, 1.05, asks = "equivalence", expected = 1, expected_low = 0.9, expected_high = 1.1)
  expect_match(same, "Claimed to be the same (0.9 to 1.1 times); here 1.02 (1 to 1.05), emulated", fixed = TRUE)
})

test_that("an open claim says what would decide it", {
  expect_match(answer("inconclusive", 3.9, 3, 5, runs_needed = 8, minutes = 4, claim_command = "make claim"), paste(
    "n = 3: [inconclusive]{.badge .inconclusive}; about 8 more runs of each cell would decide (some 4 min:",
    "`make claim`)."
  ), fixed = TRUE)
  reason <- "3.9 (3 to 5; 3 runs a cell) overlaps the bounds 3.27 and 4.43, so the data cannot decide: 3.27 to 4.43; more bytes a run are needed"
  bytes <- "[inconclusive]{.badge .inconclusive}; more bytes a run are needed."
  expect_match(answer("inconclusive", 3.9, 3, 5, reason = reason, further_readings = "other 4"), bytes, fixed = TRUE)
  expect_match(answer("inconclusive", 3.9, 3, 5, reason = "3.9 (3 to 5; 3 runs)"), "no number of runs would decide.",
               fixed = TRUE)
  expect_match(answer("inconclusive", 3.9, NA, NA, runs_needed = 1, minutes = 2, claim_command = "make claim"), paste(
    "here 3.9, emulated, n = 3: [too few runs]{.badge .inconclusive}; about 1 more run of each cell would give",
    "an interval (some 2 min: `make claim`)."
  ), fixed = TRUE)
  expect_match(answer("inconclusive", 3.9, 3, 5, runs_needed = 1000), paste(
    "[inconclusive]{.badge .inconclusive}; not decidable here: about 1,000 more runs of each cell would decide, and",
    "no effort makes as many."
  ), fixed = TRUE)
  expect_match(answer("inconclusive", 3.9, 3.8, 4, reason = "3.9 (3.8 to 4) lies within; but the control P-K1 failed"),
               "[open]{.badge .inconclusive}; but the control P-K1 failed.", fixed = TRUE)
  expect_match(answer("inconclusive", NA, NA, NA, n = NA, reason = "no run of it"),
               "Claimed 3.85 times: [not measured yet]{.badge .inconclusive}; no run of it.", fixed = TRUE)
})

test_that("what nothing here tests says so, and what the paper's own numbers say is not said to be measured", {
  expect_match(answer("not testable here", NA, NA, NA, n = NA, route = "not testable", reason = "missing: the adapter"),
               "Claimed 3.85 times: [not testable here]{.badge .not-testable-here}; missing: the adapter.", fixed = TRUE)
  expect_match(answer("consistent", 3.9, NA, NA, n = NA, route = "arithmetic"),
               "Claimed 3.85 times; by the paper's own numbers 3.9: [consistent]{.badge .consistent}.", fixed = TRUE)
  expect_match(answer("inconsistent", 9, NA, NA, n = NA, route = "modelled"), "; by a model 9: [inconsistent]",
               fixed = TRUE)
})

test_that("a paper without a headline has no answer, and its list is as it was", {
  table <- judged("direction only")
  table$claim <- "P-C2"
  with_claims(table, {
    expect_equal(answer_sentence(), "")
    expect_match(as.character(strongest_list()), "[more than claimed]{.badge .direction-only} Ten is faster", fixed = TRUE)
  })
  with_claims(judged("reproduced"), expect_match(as.character(strongest_list()), "No other claim has a firm verdict"))
})

mixed <- rbind(
  judged("direction only"), judged("direction only", 2, 1.8, 2.2, claim = "P-C2"),
  judged("reproduced", 4, claim = "P-C3"),
  judged("consistent", 40, NA, NA, claim = "P-C4", route = "arithmetic"),
  judged("inconclusive", NA, NA, NA, claim = "P-C5", route = "modelled"),
  judged("not testable here", NA, NA, NA, claim = "P-C6", route = "not testable"),
  judged("not reproduced", -2, -3, -1, claim = "P-C7")
)

test_that("verdicts by runs are counted apart from those on the paper's own numbers", {
  with_claims(mixed, {
    expect_equal(verdict_sentence(), paste(
      "Verdicts on 7 claims, by runs: **1** reproduced, **1** more than claimed, **1** less than claimed and **1** not",
      "reproduced; by the paper's own numbers: **1** inconclusive and **1** consistent; **1** not testable here."
    ))
    drawn <- ggplot2::ggplot_build(figure_verdicts())
    expect_equal(nrow(drawn$layout$layout), 3)
    bars <- drawn$data[[1]]
    numbers <- drawn$data[[2]]
    at <- paste(numbers$PANEL, numbers$group)
    expect_equal(numbers$x, ((bars$xmin + bars$xmax) / 2)[match(at, paste(bars$PANEL, bars$group))])
  })
})

test_that("the ruler has every claim with a number above 0, as a share of what is claimed", {
  with_claims(mixed, {
    table <- ruler_table()
    expect_equal(table$claim, c("P-C1", "P-C2", "P-C3", "P-C4"))
    expect_equal(table$ratio, c(5.45, 2, 4, 40) / 3.85)
    expect_equal(table$tolerance_high[[1]], 4.43 / 3.85)
    expect_match(table$label[[1]], "^to:#claim-P-C1 P-C1, Ten is faster than one: claimed 3.85 times; here 5.45")
    expect_match(table$label[[1]], "n\u00a0=\u00a03: more than claimed$")
    expect_equal(ruler_names(ruler_rows(table, FALSE)), c("P-C1", "P-C2", "P-C3", "own numbers"))
    expect_equal(length(ruler_rows(table, TRUE)), 5)
    drawn <- ggplot2::layer_data(figure_ruler("t"), 5)
    expect_equal(sort(drawn$x), sort(log10(c(5.45 / 3.85, 2 / 3.85, 4 / 3.85, 10))))
    expect_equal(sort(unique(drawn$shape)), c(5, 16)) # the arithmetic lies beyond the axis
    withr::local_envvar(WHITEWIRE_PAPER = "index")
    expect_match(ruler_table("p")$label[[1]], "^to:p.html#claim-P-C1 ")
  })
  bounded <- judged("reproduced", 4, relation = "above", expected = 2, expected_low = 2, expected_high = NA)
  tolerance <- c("tolerance_low", "tolerance_high")
  with_claims(bounded, expect_equal(unlist(ruler_table()[tolerance], use.names = FALSE), c(1, 10)))
  with_claims(mixed[5:6, ], {
    expect_null(ruler_table())
    expect_true(attr(figure_ruler("t"), "unmeasured"))
    expect_equal(data_link("ruler", data_ruler()), "")
  })
})

test_that("at a glance a panel has the claims that runs judge, those found largest on top", {
  with_claims(mixed, {
    drawn <- ggplot2::layer_data(figure_glance("p", "Papers 2012"), 4)
    expect_equal(drawn$x[order(-drawn$y)], log10(c(5.45, 4, 2) / 3.85))
    expect_equal(unique(drawn$shape), 16)
  })
  with_claims(mixed[4, ], expect_true(attr(figure_glance("p", "Papers 2012"), "unmeasured")))
  expect_true(attr(figure_glance(character(), character()), "unmeasured"))
})

test_that("both sides of a comparison say which way they miss", {
  sides <- data.frame(paper = "p", claim = "P-C1", relation = "within", expected = "3.85", expected_low = "3.27",
                      expected_high = "4.43", verdict_a = c("direction only", NA), verdict_b = "direction only",
                      estimate_a = 5.45, estimate_b = 2)
  expect_equal(verdict_shown(sides, "a"), c("[more than claimed]{.badge .direction-only}", "\u2013"))
  expect_equal(verdict_shown(sides, "b")[[1]], "[less than claimed]{.badge .direction-only}")
})
