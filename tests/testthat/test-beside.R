functions_of()

test_that("the best of n is the mean over every choice of n runs", {
  x <- c(4, 1, 3, 2)
  every <- function(n, of) mean(apply(combn(x, n), 2, of))
  for (n in 1:4) {
    expect_equal(extreme_of(x, n), every(n, max))
    expect_equal(extreme_of(x, n, "worst"), every(n, min))
    expect_equal(extreme_of(x, n, "best", less_is_better = TRUE), every(n, min))
    expect_equal(extreme_of(x, n, "worst", less_is_better = TRUE), every(n, max))
  }
  expect_equal(extreme_of(x, 9), 4)
})

test_that("a rebuilt value stands beside what the paper's number is", {
  found <- list(text = "20 s", n = "4", runs = c(22, 20, 18, 21), less_is_better = TRUE)
  expect_equal(statistic_text(list(statistic = list(of = "mean", runs = 3))), "mean of 3")
  expect_equal(statistic_text(list(statistic = list(of = "median"))), "median")
  expect_equal(statistic_text(list()), "")
  expect_equal(with_extreme(list(statistic = list(of = "mean", runs = 3)), found), "20 s")
  expect_equal(with_extreme(list(statistic = list(of = "best", runs = 4)), found), "median 20 s; best of 4: 18")
  expect_equal(with_extreme(list(statistic = list(of = "best", runs = 3)), list(text = "no runs", n = "")), "no runs")
})
