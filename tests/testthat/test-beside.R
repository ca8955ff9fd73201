functions_of()

test_that("a printed amount that was converted is shown in both units", {
  expect_equal(published_text(list(printed = "112 MiB/s", value = 117.440512, unit = "MB/s")), "112 MiB/s = 117 MB/s")
  expect_equal(published_text(list(printed = "447 MB/s", value = 447, unit = "MB/s")), "447 MB/s")
  expect_equal(published_text(list(printed = "1,200 s", value = 1200, unit = "s")), "1,200 s")
  expect_equal(published_text(list(printed = "six times", value = 6, unit = "x")), "six times")
  expect_equal(published_text(list(printed = "19% - 25%", value = c(19, 25), unit = "percent")), "19% - 25%")
})

test_that("a rate is not set beside a ratio", {
  read_paper <- function(paper = NULL) {
    list(exhibits = list(list(id = "fig1")),
         values = list(list(id = "N-V01", exhibit = "fig1", metric = "rate", printed = "112 MiB/s", value = 117,
                            unit = "MB/s", scope = "result")))
  }
  environment(beside_values) <- list2env(list(read_paper = read_paper), parent = environment(beside_values))
  ratio <- list(text = "8.16", n = "1", ratio = "N-C01")
  expect_error(beside_values("fig1", list("N-V01" = ratio)), "N-V01 is in MB/s and N-C01 is a plain number")
})

cells <- data.frame(experiment = "shared", fabric = c("10g-ipoib", "1gbe-shared"), metric = "rate", shown = c(54, 7.5),
                    shown_low = NA, shown_high = NA, n = 6, unit = "MB/s", full_scale_unit = "", untold = "")

test_that("a number is of one cell; several end the rendering, named", {
  here <- list2env(list(medians_at = function(experiment, metric, where) at_levels(cells, where),
                        valid_runs = function(...) cells[0, ], factor_columns = function(...) "fabric"),
                   parent = environment(from_cell))
  environment(median_text) <- environment(median_at) <- environment(only_cell) <- environment(from_cell) <- here
  for (name in c("median_text", "median_at", "only_cell")) assign(name, get(name), envir = here)
  expect_equal(from_cell("shared", "rate", list(fabric = "1gbe-shared"))$text, "7.5\u00a0MB/s")
  expect_equal(median_at("shared", "rate", list(fabric = "10g-ipoib")), 54)
  both <- "one cell expected, found 2: .*fabric 10g-ipoib; .*fabric 1gbe-shared; pick one"
  expect_error(from_cell("shared", "rate"), both)
  expect_error(median_text("shared", "rate"), both)
  expect_error(median_at("shared", "rate"), both)
})

test_that("a cell that two experiments made is drawn once, and doubled ones end the rendering", {
  again <- rbind(cells, transform(cells[1, ], experiment = "first", shown = 50))
  expect_equal(made_once(again, c("first", "shared"), "fabric")$shown, c(7.5, 50))
  expect_equal(made_once(again[0, ], "first", "fabric"), again[0, ])
  factor_columns <- function(...) "fabric"
  here <- list2env(list(factor_columns = factor_columns), parent = environment(only_cell))
  environment(only_cell) <- here
  environment(one_each) <- list2env(list(only_cell = only_cell), parent = environment(one_each))
  expect_equal(one_each(cells, "fabric"), cells)
  expect_error(one_each(again, "fabric"), "one cell expected, found 2: experiment shared, .*experiment first")
})

test_that("what was rebuilt is shown in the unit of what is printed", {
  found <- list(text = "1,620 s", n = "3", numbers = c(1620, 1500, NA), unit = "s", runs = c(1500, 1740))
  minutes <- in_unit_of(found, list(id = "N-V02", unit = "min"))
  expect_equal(minutes$text, "27\u00a0min")
  expect_equal(minutes$runs, c(25, 29))
  expect_equal(in_unit_of(found, list(id = "N-V02", unit = "s")), found)
  expect_error(in_unit_of(found, list(id = "N-V02", unit = "GB/s")), "N-V02 is in GB/s, what was rebuilt in s")
  expect_error(in_unit_of(found, list(id = "N-V02", unit = "percent")), "N-V02 is in percent")
  expect_equal(unit_ratio("MB/s", "GB/s"), 1e-3)
  expect_equal(unit_ratio("Gbit/s", "MB/s"), 125)
  share <- list(text = "0.9", n = "3", numbers = c(0.9, NA, NA), unit = "1")
  expect_equal(in_unit_of(share, list(id = "N-V03", unit = "percent")), share)
})
