library(ggplot2)
functions_of("pooled")

claim <- data.frame(paper = "one", claim = "C1", route = "measured", estimate = 4, low = 3, high = 5,
                    prediction_low = 1, prediction_high = 16, expected = 4, expected_low = 3.5, expected_high = NA)
sites <- data.frame(paper = "one", claim = "C1", route = c("measured", "measured", "emulated", "measured"),
                    site = c("a", "b", "c", "d"), label = c("vendor", "not said", "vendor", "maintainer"),
                    estimate = c(4, 8, 2, 6), low = c(3, 7, 1, 5), high = c(5, 9, 3, 7), weight = c(0.4, 0.6, 1, NA))

test_that("a panel has the sites that are pooled, the mean and one more site, over what is claimed", {
  panels <- forest_panels(claim, sites)
  expect_length(panels, 1)
  panel <- panels[[1]]
  expect_equal(panel$row, c("a", "b", mean_row, further_row))
  expect_equal(panel$label, c("vendor", "not said", "pooled", "pooled"))
  expect_equal(panel$estimate, c(1, 2, 1, NA))
  expect_equal(panel$low, c(0.75, 1.75, 0.75, 0.25))
  expect_equal(panel$high, c(1.25, 2.25, 1.25, 4))
  expect_equal(unique(panel$asked_low), 0.875)
  expect_true(all(is.na(panel$asked_high)))
})

test_that("what is 1 is the claimed value, or the least that is asked for, where it is above 0", {
  asked <- data.frame(expected = c(4, NA, -1, NA), expected_low = c(3, 0.9, 2, NA))
  expect_equal(claimed_value(asked), c(4, 0.9, NA, NA))
})

test_that("no figure has more rows than fit on a page", {
  many <- data.frame(paper = "one", claim = "C1", route = "measured", site = paste0("s", 1:100), label = "not said",
                     estimate = 4, low = 3, high = 5, weight = 0.01)
  panels <- forest_panels(claim, many)
  expect_equal(unname(vapply(panels, nrow, integer(1))), c(45, 45, 16))
  expect_equal(unname(unlist(lapply(panels, function(panel) head(panel$row, -2)))), many$site)
  expect_equal(pages_of(c(30, 30, 30)), 1:3)
  expect_equal(pages_of(c(15, 30, 16, 29, 1, 45)), c(1, 1, 2, 2, 3, 4))
})

test_that("a site may be named as the last rows are", {
  names <- sites
  names$site[1:2] <- c("mean of sites", "one more site")
  expect_length(unique(forest_panels(claim, names)[[1]]$row), 4)
})
