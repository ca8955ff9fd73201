# Run from the repository's root: Rscript -e 'testthat::test_dir("tests/testthat")'

library(ggplot2)
functions_of("xyratex-lustre-2011")

with_results <- function(tables, code) {
  folder <- file.path(tempfile(), "one", "analysis")
  dir.create(folder, recursive = TRUE)
  for (name in names(tables)) readr::write_csv(tables[[name]], file.path(folder, paste0(name, ".csv")), na = "")
  before <- Sys.getenv(c("WHITEWIRE_RESULTS", "WHITEWIRE_PAPER"))
  Sys.setenv(WHITEWIRE_RESULTS = dirname(dirname(folder)), WHITEWIRE_PAPER = "one")
  on.exit(do.call(Sys.setenv, as.list(before)))
  force(code)
}

test_that("the value ids of an expression are found", {
  expect_equal(ids_in("100 * (Q_V02 / Q_V01 - 1)"), list(c("Q-V01", "Q-V02")))
  expect_equal(ids_in("model_1 / 2"), list(character()))
})

test_that("a recomputed value is found by its ids, and only where one is printed", {
  audit <- data.frame(
    audit = "A1", expression = c("X_V1 * X_V2", "X_V1 * X_V3"), printed = c(NA, 6), recomputed = c(4, 6), note = c("a", "b")
  )
  with_results(list(audit = audit), {
    expect_equal(recomputed("X-V3", "X-V1")$recomputed, 6)
    expect_true(is.na(recomputed("X-V1", "X-V2")$recomputed))
    expect_equal(audit_number("A1", "a"), 4)
    expect_true(is.na(audit_number("A1", "c")))
  })
})

test_that("a sweep is picked by its levels, and a missing one is no number", {
  sweeps <- data.frame(sweep = "task", model = "m", value = c(100, 90), stripes = c(1, 2))
  with_results(list(sweeps = sweeps), {
    expect_equal(sweep_value("task", list(stripes = 2)), 90)
    expect_true(is.na(sweep_value("other")))
    expect_equal(known(sweep_value("other")), "not computed")
  })
})

test_that("a curve's knee is where it reaches its level", {
  expect_equal(model_knee(c(1, 2, 3), c(5, 8, 8)), 2)
  expect_true(is.na(model_knee(numeric(), numeric())))
})

test_that("what an experiment holds fixed fills empty levels and no others", {
  table <- data.frame(experiment = c("a", "a", "b"), fabric = c(NA, "2GbE", NA), nodes = c(NA, 3, NA))
  experiments <- list(list(id = "a", parameters = list(fabric = "10gbe"), roles = list(datanode = 8)))
  filled <- filled_levels(table, experiments, c("fabric", "nodes"))
  expect_equal(filled$fabric, c("10GbE", "2GbE", NA))
  expect_equal(filled$nodes, c(8, 3, NA))
})

test_that("cards are named by their price", {
  expect_match(card_label(0), "no cards")
  expect_match(card_label(1000), "\\$1,000")
})

test_that("what is counted is singular after a one", {
  expect_equal(
    unit_text(c("servers", "s", NA, "1", "MB/s", "switches"), c(1, 1, 1, 1, 1, 2)),
    c("\u00a0server", "\u00a0s", "", "", "\u00a0MB/s", "\u00a0switches")
  )
  expect_equal(unit_text("servers"), "\u00a0servers")
})

test_that("four models have four lines, and an axis of models alone has a name", {
  types <- curve_lines(TRUE, TRUE, paste("model", 1:4))$palette(7)
  expect_equal(anyDuplicated(types), 0)
  expect_false(anyNA(types))
  expect_equal(modelled_axis(data.frame(unit = "MB/s"), NULL)$name, "MB/s, full scale")
  expect_equal(modelled_axis(data.frame(value = 1), "MB/s a task")$name, "MB/s a task, full scale")
})
