library(ggplot2)
functions_of("calibration")

test_that("an interval is cut at the end of its panel, and a missing one stays missing", {
  table <- data.frame(kind = "network", published_low = c(3, 0.4), published_high = c(5, 0.6), estimate = c(8, 0.5),
                      low = c(1e-30, NA), high = c(1e30, NA))
  ends <- panel_ends(table)
  expect_equal(ends$least, rep(0.4 / 1.5, 2))
  expect_equal(ends$most, rep(8 * 1.5, 2))
  expect_equal(ends$low, c(0.4 / 1.5, NA))
  expect_equal(ends$high, c(8 * 1.5, NA))
})

test_that("each kind has a panel with ends of its own", {
  table <- data.frame(kind = c("network", "copies"), published_low = c(3, 0.4), published_high = c(5, 0.6),
                      estimate = c(4, 0.5), low = c(3.5, 0.45), high = c(4.5, 0.55))
  ends <- panel_ends(table)
  expect_equal(ends$most, c(7.5, 0.9))
  expect_equal(ends$low, table$low)
})
