library(ggplot2)
functions_of()

runs <- data.frame(rate = c(1, 10, 100), shown = c(40, 20, 10))
points <- data.frame(
  wanted = c(35, 34), label = c("A-C01: 1.5 Gbit/s", "A-C02, A-C03: no link rate"), from_rate = 1, link_ratio = c(1.5, NA),
  link_ratio_low = c(1.2, NA), link_ratio_high = c(2, NA), plausible_low = NA, plausible_high = NA
)

test_that("the last rate is that of the fastest link, of what a claim needs or of what its hardware gives", {
  expect_equal(last_rate(data.frame(), c(1, 40)), 40)
  expect_equal(last_rate(points, c(1, 1.5)), 2)
  expect_equal(last_rate(transform(points, plausible_high = c(4.6, NA)), c(1, 1.5)), 4.6)
})

test_that("labels of claims stand beyond the fastest link, with room for the longest", {
  expect_equal(label_room(points[0, ]), 0.05)
  expect_equal(label_room(points), 0.05 + 0.011 * 26)
  plot <- ggplot(runs, aes(rate, shown)) + inverse_marks(points, last_rate(points, runs$rate)) + scale_x_log10()
  labels <- Filter(function(layer) inherits(layer$geom, "GeomLabelRepel"), plot$layers)[[1]]
  data <- layer_data(plot, which(vapply(plot$layers, identical, logical(1), labels)))
  expect_equal(data$x, c(2.03, 2.03)) # right of log10 of 100
  expect_equal(data$hjust, c(0, 0))
})
