root <- normalizePath(file.path("..", ".."))
for (file in c("theme.R", "inverse.R")) source(file.path(root, "paper", "R", file))

points <- data.frame(wanted = c(30, 5), label = c("A: needs 2 Gbit/s", "B: no link rate measured gives this"))
runs <- data.frame(rate = c(1, 1, 10, 100), shown = c(40, 44, 20, 10))
medians <- data.frame(rate = c(1, 10, 100), shown = c(42, 20, 10))

test_that("labels stand at the slowest link, beside the runs and the curve that they must not cover", {
  found <- kept_clear(points, runs, medians)
  labelled <- found[found$label != "", ]
  expect_equal(labelled$label, points$label)
  expect_equal(labelled$x, c(1, 1))
  expect_equal(labelled$wanted, points$wanted)
  covered <- found[found$label == "", ]
  expect_equal(covered$wanted[1:4], runs$shown)
  expect_equal(covered$wanted[[nrow(covered)]], 10)
  # Half way between the first two rates on the logarithmic axis the curve is half way between their medians.
  middle <- which.min(abs(log(covered$x[-(1:4)]) - log(10) / 2))
  expect_equal(covered$wanted[-(1:4)][[middle]], 31, tolerance = 0.05)
})

test_that("several curves at once leave only the runs to keep clear of", {
  found <- kept_clear(points, runs, rbind(medians, medians))
  expect_equal(sum(found$label == ""), nrow(runs))
})
