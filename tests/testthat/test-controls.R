suppressPackageStartupMessages(library(ggplot2))
functions_of("index")

seen <- data.frame(
  control = c("X-K1", "X-K2", "X-K3"), title = c("A put that is *slow*", "A put that is fast", "Half a link"),
  kind = c("A/A", "A/A", "known ratio"), metric = "throughput", cell = c("put 10gbe", "put 1gbe", "put 1gbe"),
  really = c("fabric 1gbe", "fabric 10gbe", "fabric 0.5gbe"), against = c("put 1gbe", "put 10gbe", "put 1gbe"),
  n = c(6, 6, 0), n_against = 6, estimate = c(1.012, 0.91, NA), low = c(0.98, 0.88, NA), high = c(1.04, 0.94, NA),
  expected = c(1, 1, 0.5), outcome = c("held", "failed", "open"),
  reason = c(NA, "the control failed: 0.91 where 1 is right", "no control possible"), claims = c("X-C1 X-C2", "X-C3", NA)
)
verdicts <- data.frame(claim = paste0("X-C", 1:4), control = c("X-K1", "X-K1 X-K2", "X-K2", NA))

# Runs `code` beside a folder of results with one paper.
with_table <- function(table, code) {
  withr::local_envvar(WHITEWIRE_RESULTS = tempfile(), WHITEWIRE_PAPER = "x")
  dir.create(file.path(results_dir(), "x", "analysis"), recursive = TRUE)
  if (!is.null(table)) readr::write_csv(table, file.path(results_dir(), "x", "analysis", "controls.csv"), na = "")
  code
}

test_that("the sentence counts every outcome and names what did not hold", {
  with_table(seen, {
    expect_equal(controls_sentence(),
                 "1 of 3 controls held; one failed: X-K2 (0.91 where 1 is right); one is open: X-K3.")
    expect_match(controls_sentence(link = TRUE), "controls held (@sec-controls); one failed", fixed = TRUE)
    expect_equal(controls_line("x"), "Controls: 1 of 3 held, [1 failed]{.badge .failed}, 1 open")
  })
  with_table(seen[1, ], {
    expect_equal(controls_sentence(), "1 of 1 control held.")
    expect_equal(controls_line(c("x", "none")), "Controls: 1 of 1 held")
  })
  two <- transform(seen[c(3, 3), ], control = c("X-K3", "X-K4"))
  with_table(two, expect_match(controls_sentence(), "0 of 2 controls held; two are open:", fixed = TRUE))
})

test_that("a paper without controls and one that is not analysed say so", {
  with_table(seen[0, ], {
    expect_match(controls_sentence(), "^This paper has no controls, so nothing shows")
    expect_false(has_controls())
    expect_equal(controls_line("x"), "Controls: none")
  })
  with_table(NULL, {
    expect_match(controls_sentence(), "^No controls were made, so nothing shows")
    expect_equal(controls_line("x"), "Controls: none")
    expect_equal(held_text(verdicts), rep("", 4))
  })
  expect_equal(controls_line(character()), "Controls: none")
})

test_that("a claim names the controls that held", {
  with_table(seen, {
    expect_equal(held_text(verdicts), c("Control X-K1 held.", "Control X-K1 held.", "", ""))
  })
  both <- transform(seen, outcome = "held")
  with_table(both, expect_equal(held_text(verdicts[2, ]), "Controls X-K1 and X-K2 held."))
})

test_that("the table has a row for each control, whatever its outcome", {
  rows <- with_table(seen, strsplit(as.character(controls_table()), "\n")[[1]])
  held <- grep("X-K1", rows, value = TRUE)
  expect_match(held, "**X-K1** A put that is \\*slow\\* (A/A)", fixed = TRUE)
  expect_match(held, "`put 10gbe`, really `fabric 1gbe`, against `put 1gbe`", fixed = TRUE)
  expect_match(held, "1.01 (0.98 to 1.04) (n\u00a0=\u00a06\u00a0+\u00a06) | 1 | [held]{.badge .held} |  |", fixed = TRUE)
  expect_match(held, "[X-C1]{.nobreak}, [X-C2]{.nobreak}", fixed = TRUE)
  expect_match(grep("X-K2", rows, value = TRUE), "[failed]{.badge .failed} | the control failed: 0.91 where 1 is right.",
               fixed = TRUE)
  expect_match(grep("X-K3", rows, value = TRUE), "| \u2013 | 0.5 | [open]{.badge .open} | no control possible. | \u2013 |",
               fixed = TRUE)
})

test_that("all A/A controls together are a row of the table, but no control that is counted", {
  pooled <- transform(seen[2, ], control = "pooled", title = "A name changes nothing", kind = "pooled", metric = NA,
                      cell = "2 A/A controls", really = NA, against = NA, estimate = 0.95, low = 0.93, high = 0.97,
                      reason = "0.95 where 1 is right", claims = "X-C1")
  several <- cbind(rbind(seen, pooled), smallest_fault = c(1.052, NA, NA, 1.12))
  with_table(several, {
    rows <- strsplit(as.character(controls_table()), "\n")[[1]]
    expect_match(grep("pooled", rows, value = TRUE), paste(
      "**pooled** all A/A controls of the paper together | 2 A/A controls | 0.95 (0.93 to 0.97)",
      "(n\u00a0\u2265\u00a06\u00a0+\u00a06) | 1 | [failed]{.badge .failed} | 0.95 where 1 is right.",
      "Smallest fault found in 80\u00a0%: \u00d71.12. | [X-C1]{.nobreak}"
    ), fixed = TRUE)
    expect_match(grep("X-K1", rows, value = TRUE), "| Smallest fault found in 80\u00a0%: \u00d71.05. |", fixed = TRUE)
    expect_match(controls_sentence(), "^1 of 3 controls held; one failed")
    expect_equal(controls_line("x"), "Controls: 1 of 3 held, [1 failed]{.badge .failed}, 1 open")
    expect_false(unproved(data.frame(control = "X-K3 pooled"), "x"))
  })
})

test_that("the figure can be drawn of any mixture of outcomes", {
  for (rows in list(1:3, 1, 3, c(3, 3))) {
    with_table(seen[rows, ], {
      expect_gt(controls_height(), 1.5)
      expect_silent(drawn <- ggplot_build(figure_controls("Ratios")))
      expect_equal(nrow(drawn$data[[4]]), sum(!is.na(seen$estimate[rows])))
      scales <- lapply(c("colour", "shape"), function(name) drawn$plot$scales$get_scales(name)$get_limits())
      expect_equal(scales[[1]], scales[[2]])
    })
  }
})

test_that("the axis of ratios has finer steps where its range is narrow", {
  expect_gte(sum(abs(ratio_breaks(c(0.95, 1.05)) - 1) <= 0.05), 3)
  expect_true(all(c(0.5, 1) %in% ratio_breaks(c(0.45, 1.1))))
  expect_true(all(c(0.1, 1, 2) %in% ratio_breaks(c(0.1, 3))))
})

test_that("a control with several metrics is one control", {
  several <- rbind(seen[1, ], transform(seen[1, ], metric = "write_time_net", outcome = "open"), seen[2, ])
  with_table(several, {
    expect_match(controls_sentence(), "^1 of 2 controls held; one failed: X-K2")
    expect_equal(controls_line("x"), "Controls: 1 of 2 held, [1 failed]{.badge .failed}")
    expect_equal(nlevels(controls_drawn()$row), 3)
    expect_equal(held_text(verdicts)[[1]], "Control X-K1 held.")
  })
  with_table(transform(several[1:2, ], outcome = c("held", "failed")), {
    expect_match(controls_line("x"), "0 of 1 held, [1 failed]", fixed = TRUE)
    expect_equal(held_text(verdicts)[[1]], "")
  })
})

test_that("a claim of which no control has a result yet is no strongest finding", {
  judged <- data.frame(
    claim = paste0("X-C", 1:4), statement = "s", verdict = c("not reproduced", "reproduced", "not reproduced", "inconclusive"),
    route = "emulated", estimate = c(9, 1, 2, 1), low = NA, high = NA, relation = "within", kind = "ratio",
    expected = 1, expected_low = 1, expected_high = 1, unit = "1", control = c("X-K3", "X-K1", "X-K1 X-K3", "X-K1")
  )
  here <- function(judged, code) {
    with_table(seen, {
      readr::write_csv(judged, file.path(results_dir(), "x", "analysis", "verdicts.csv"), na = "")
      suppressWarnings(code) # the paper has no YAML
    })
  }
  here(judged, {
    expect_equal(unproved(judged, "x"), c(TRUE, FALSE, FALSE, FALSE))
    expect_equal(strongest("x")$claim, c("X-C3", "X-C2", "X-C1"))
    expect_equal(strongest_finding("x")$claim, "X-C3")
    expect_equal(finding_heading("x"), "**Strongest finding.** ")
  })
  here(judged[1, ], {
    expect_equal(strongest_finding("x")$claim, "X-C1")
    expect_equal(finding_heading("x"), "**No control covers it yet.** ")
  })
  here(judged[2, ], expect_equal(strongest("x", 1)$claim, "X-C2"))
})

test_that("what lanes differ by is said where there were several", {
  with_table(seen, expect_equal(lanes_sentence(), ""))
  with_table(seen, {
    lanes <- data.frame(block = "quick-1", experiment = "put-grid", metric = c("put_time", "throughput_sum"), n = 24,
                        lanes = 2, difference = c(0.001, 0.004), low = c(-0.002, -0.008), high = c(0.004, 0.016))
    readr::write_csv(lanes, file.path(results_dir(), "x", "analysis", "lanes.csv"))
    expect_match(lanes_sentence(), "up to 2 lanes.*by \\+0.4.% \\(.0.8.% to \\+1.6.%\\), .*throughput sum")
  })
})
