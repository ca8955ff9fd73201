functions_of()

name <- "terasort hdfs 4 4 4 | datanode=4 | drives=1 slots=1"
other <- "terasort hdfs 4 4 4 | datanode=8 | drives=1 slots=1"
dfsio <- "testdfsio hdfs 2 1 1 | datanode=4 | drives=1 slots=1"
kept <- data.frame(block = "quick-1", floor = c(name, name, other, name, dfsio, dfsio), workload = "x",
                   job = c("terasort", "terasort", "terasort", NA, "write", "read"), number = c(1:4, 5, 5),
                   seconds = c(2, 2.5, 3, NA, 4, 1), valid = c(TRUE, TRUE, TRUE, FALSE, TRUE, TRUE))
made <- data.frame(run_id = c("a", "b", "c", "c"), floor = c(name, other, dfsio, dfsio), valid = TRUE,
                   metric = c("completion_time", "completion_time", "write_time", "read_time"),
                   value = c(4, 6, 5, 10))
read_overheads <- function() kept
read_runs <- function() made

test_that("a kind of job has one row over all clusters, and each of its jobs", {
  rows <- overhead_rows()
  expect_equal(rows$Job, c("terasort", "write", "read"))
  expect_equal(rows$Runs, c(3, 1, 1))
  expect_equal(rows[["Not valid"]], c(1, 0, 0))
  expect_equal(rows[["Median, s"]], c("2.5", "4", "1"))
  expect_equal(rows[["Range, s"]][[1]], "2 to 3")
  expect_equal(rows[["Share of the time"]], c("50 %", "80 %", "10 %"))
})

test_that("without overhead runs there is no table", {
  kept <<- kept[0, ]
  expect_false(has_overheads())
  expect_equal(nrow(overhead_rows()), 0)
})

cells <- data.frame(experiment = "e", metric = c("completion_time", "completion_time_net"),
                    fabric = rep(c("1GbE", "10GbE"), each = 2), median = c(10, 8, 5, 2))
factor_columns <- function() c("fabric", "clients")
cells$clients <- NA
estimates_of <- function(experiment, metric) cells[cells$metric %in% metric, ]

test_that("a startup overhead of more than half of the time is reported", {
  expect_match(overhead_sentence("e"), fixed = TRUE,
               "In 1 of 2 cells shown the startup overhead is more than half of the time (up to 60 %)")
  expect_equal(overhead_sentence("e", list(fabric = "1GbE")), "")
})

test_that("an interval over another cell's median holds that cell's own, and of itself there is none", {
  medians <- data.frame(metric = "m", shown = c(10, 20), shown_low = c(8, 16), shown_high = c(12.5, 25))
  medians_at <- function(...) medians[1, ]
  environment(over_cell) <- environment()
  found <- over_cell(medians, "e", "m", list())
  expect_equal(found$shown, c(1, 2))
  expect_equal(found$shown_low, c(NA, 2 * exp(-log(1.25) * sqrt(2))))
  expect_equal(found$shown_high, c(NA, 2 * exp(log(1.25) * sqrt(2))))
  runs <- data.frame(metric = "m", shown = c(5, 20))
  expect_equal(over_cell(runs, "e", "m", list())$shown, c(0.5, 2))
})

test_that("the interval of few runs is drawn dashed, in place of that of the median which they do not have", {
  medians <- data.frame(shown = c(10, 20, 30), shown_low = c(8, NA, NA), shown_high = c(12, NA, NA),
                        few_low = c(NA, 15, NA), few_high = c(NA, 27, NA))
  drawn <- drawn_intervals(medians)
  expect_equal(drawn[c("drawn_low", "drawn_high", "few")],
               data.frame(drawn_low = c(8, 15), drawn_high = c(12, 27), few = c(FALSE, TRUE)), ignore_attr = TRUE)
  layers <- interval_bars(medians, 0.1)
  expect_equal(vapply(layers, function(layer) nrow(layer$data), integer(1)), c(1L, 1L))
  expect_identical(layers[[2]]$aes_params$linetype, "22")
  expect_equal(nrow(drawn_intervals(medians[0, c("shown", "shown_low", "shown_high")])), 0)
})
