root <- normalizePath(file.path("..", ".."))
for (file in c("theme.R", "inverse.R")) source(file.path(root, "paper", "R", file))

points <- data.frame(wanted = c(45, 12, 25), label = c("A", "B", "C"))
runs <- data.frame(rate = c(1, 1, 10, 100), shown = c(40, 44, 20, 10))
medians <- data.frame(rate = c(1, 10, 100), shown = c(42, 20, 10))

test_that("a label stands at the end of the rates where runs and curve are farther from it", {
  found <- label_places(points, runs, medians)
  expect_equal(found$label, points$label)
  expect_equal(found$wanted, points$wanted)
  expect_equal(found$x, c(100, 1, 100))
  expect_equal(found$hjust, c(1, 0, 1))
})

test_that("the curve between the runs counts, unless there are several", {
  ends <- data.frame(rate = c(1, 10), shown = c(40, 20))
  curve <- data.frame(rate = c(1, 1.5, 10), shown = c(40, 25, 20))
  wanted <- data.frame(wanted = 26, label = "D")
  expect_equal(label_places(wanted, ends, curve)$x, 10)
  expect_equal(label_places(wanted, ends, rbind(curve, curve))$x, 1)
})
