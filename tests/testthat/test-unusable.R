library(ggplot2)
functions_of()

why <- "of 5 tasks only 3.2 read at once, so each has more of what they share; more bytes a run are needed"
medians <- data.frame(
  experiment = "offloads", metric = "read_aggregate", fabric = "1GbE", offloads = c("on", "off"), unit = "MB/s", n = 6,
  n_invalid = 0, median = c(80, 100), low = c(78, 95), high = c(82, 105), full_scale_median = NA, status = "emulated",
  untold = c(NA, why)
)

# A folder of results with these estimates, and runs of theirs, of a paper that varies fabric and offloads.
with_results <- function(code) {
  folder <- withr::local_tempdir()
  dir.create(file.path(folder, "p", "analysis"), recursive = TRUE)
  dir.create(file.path(folder, "p", "tidy"))
  readr::write_csv(medians, file.path(folder, "p", "analysis", "estimates.csv"), na = "")
  runs <- medians[rep(1:2, each = 3), c("experiment", "metric", "fabric", "offloads", "unit")]
  runs <- cbind(runs, run_id = 1:6, value = c(79, 80, 81, 99, 100, 101), valid = TRUE, noted = 1:6)
  readr::write_csv(runs, file.path(folder, "p", "tidy", "runs.csv"))
  factors <- list(fabric = list("1gbe"), offloads = as.list(medians$offloads))
  dir.create(file.path(folder, "config", "papers"), recursive = TRUE)
  yaml::write_yaml(list(experiments = list(list(id = "offloads", factors = factors))),
                   file.path(folder, "config", "papers", "p.yaml"))
  withr::local_envvar(WHITEWIRE_RESULTS = folder, WHITEWIRE_CONFIG = file.path(folder, "config"), WHITEWIRE_PAPER = "p")
  rm(list = ls(cache), envir = cache)
  on.exit(rm(list = ls(cache), envir = cache), add = TRUE)
  force(code)
}

test_that("a cell that a guard rejects has the mark in tables, and why below", {
  table <- with_results(metric_table("offloads", c("Read, MB/s" = "read_aggregate"), by = "offloads"))
  expect_match(table, "80 (78 to 82) |", fixed = TRUE)
  expect_match(table, "100 (95 to 105)\u2020 |", fixed = TRUE)
  expect_match(table, "\n\u2020 not measured by its runs. offloads off: of 5 tasks only 3.2 read at once")
})

test_that("a table whose cells are all usable has neither", {
  usable <- subset(medians, is.na(untold))
  expect_null(unusable_note(transform(usable, level = "on")))
  table <- with_results(metric_table("offloads", c("Read, MB/s" = "read_aggregate"), "offloads", list(offloads = "on")))
  expect_false(grepl("\u2020", table))
})

test_that("what cells have alike is said once", {
  both <- transform(medians, untold = why, level = c("on", "off"))
  expect_equal(lengths(regmatches(unusable_note(both), gregexpr("only 3.2", unusable_note(both)))), 1)
  expect_match(unusable_note(both), "runs. on and off: of 5")
  expect_equal(unname(nchar(strsplit(unusable_note(both, width = 60), "\n")[[1]]) < 60), rep(TRUE, 3))
})

test_that("a sentence says why, a value beside the printed one has the mark", {
  at <- list(offloads = "off")
  expect_equal(with_results(median_text("offloads", "read_aggregate", at)),
               paste0("100 (95 to 105)\u00a0MB/s (not measured by its runs: ", why, ")"))
  expect_equal(with_results(from_cell("offloads", "read_aggregate", at))$text, "100 (95 to 105)\u00a0MB/s\u2020")
  expect_equal(with_results(median_text("offloads", "read_aggregate", list(offloads = "on"))),
               "80 (78 to 82)\u00a0MB/s")
})

marks_of <- function(plot) {
  text <- Filter(function(layer) inherits(layer$geom, "GeomText"), plot$layers)
  unlist(lapply(text, function(layer) layer$data$shown[layer$aes_params$label == "\u2020"]))
}

test_that("bars and curves mark it at its median, and their note says why", {
  bars <- with_results(figure_bars("offloads", "read_aggregate", "offloads", "Read"))
  expect_equal(marks_of(bars), 100)
  expect_match(bars$labels$subtitle, "\u2020 not measured by its runs. offloads off: of 5 tasks")
  curve <- with_results(figure_curve("offloads", "read_aggregate", "Read", list(offloads = "off"), inverse = FALSE))
  expect_equal(marks_of(curve), 100)
  expect_match(curve$labels$subtitle, "1GbE: of 5 tasks")
})

test_that("the data of a figure say it of each run", {
  data <- with_results(data_at("offloads", "read_aggregate"))
  expect_equal(data$untold, rep(c(NA, why), each = 3))
})

test_that("only what the paper varies is taken for a factor", {
  data <- with_results(data_at("offloads", "read_aggregate"))
  expect_true(all(c("fabric", "offloads") %in% names(data)))
  expect_false("noted" %in% names(data))
})

test_that("rates left out of an inverse question say why", {
  rows <- with_results(left_out_rows(data.frame(
    experiment = "offloads", metric = "read_aggregate", left_out = c(NA, "1gbe")
  )))
  expect_equal(rows, data.frame(level = "offloads 1GbE", untold = why))
})

test_that("a level's name acts as no markup in a table", {
  medians$offloads <- c("o|n", "*off*")
  environment(with_results) <- list2env(list(medians = medians), parent = environment(with_results))
  table <- with_results(metric_table("offloads", c("Read, MB/s" = "read_aggregate"), by = "offloads"))
  expect_match(table, "| offloads o\\|n |", fixed = TRUE)
  expect_match(table, "| offloads \\*off\\* |", fixed = TRUE)
})
