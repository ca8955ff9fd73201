library(ggplot2)
functions_of("emulex-2012")

test_that("the cells of a claim are listed by clients", {
  cell <- function(clients, puts) list(clients = clients, puts_per_client = puts)
  expect_equal(cells_words(list(cell(3, 2), cell(3, 6), cell(2, 1))),
               "three clients with 2 and 6 puts each and two clients with 1 put each")
})

test_that("the headline is the claim's own estimate with its runs", {
  rows <- data.frame(claim = c("E-C01", "E-C02"), estimate = c(7.58, NA), low = c(6.02, NA), high = c(9.56, NA), n = c(3, NA),
                     unit = "1", route = "emulated")
  claim <- list(id = "E-C01", test = list(cells = list(list(clients = 3, puts_per_client = 6))))
  here <- list2env(list(verdict_row = function(claim) rows[rows$claim == claim, ],
                        read_paper = function() list(claims = list(claim))), parent = environment(headline_sentence))
  environment(headline_sentence) <- here
  expect_equal(headline_sentence(), paste0("Of three clients with 6 puts each the best cell gains 7.58 (6.02 to 9.56)\u00d7 ",
                                           "on 10GbE (E-C01, n\u00a0=\u00a03)."))
  rows$route <- "modelled"
  here$verdict_row <- function(claim) rows[rows$claim == claim, ]
  expect_match(headline_sentence(), "not measured at this effort")
})

test_that("a trace of few windows is not drawn, and that is said", {
  table <- data.frame(fabric = c("1GbE", "10GbE"), puts = c(1, 1), windows = c(14, 2), window = 0.2)
  expect_equal(drawn_traces(table)$fabric, "1GbE")
  expect_equal(short_traces(table), "not drawn, for they have under 10 windows of 0.2 s: 10GbE, 1 put")
  expect_equal(short_traces(table[2, ]), "not drawn, for they have under 10 windows of 0.2 s: 1 put")
  expect_null(short_traces(table[1, ]))
})

test_that("runs of several k have no axis of rates as measured", {
  of <- function(k) {
    table <- data.frame(value = c(1, 2), shown = c(1, 2) * k, unit = "MB/s", full_scale_unit = "MB/s")
    axis <- measured_axis(table, "MB/s")
    expect_equal(axis$name, "MB/s, full-scale equivalent")
    inherits(axis$secondary.axis, "AxisSecondary")
  }
  expect_true(of(256))
  expect_false(of(c(128, 256)))
})

test_that("how many runs are behind a cell is said, and that of one is paler", {
  expect_equal(runs_per_cell(c(1, 6), TRUE), "n = 1 to 6 runs per cell; paler: one run")
  expect_equal(runs_per_cell(c(1, 1), TRUE), "n = 1 run per cell")
  expect_equal(runs_per_cell(c(3, 3)), "n = 3 runs per cell; dashed: Student's t")
  expect_equal(runs_per_cell(c(3, 3), intervals = FALSE), "n = 3 runs per cell")
  expect_equal(runs_per_cell(c(2, 6)), "n = 2 to 6 runs per cell")
  expect_equal(paler(c(1, 2)), c(0.3, 0.75))
})
