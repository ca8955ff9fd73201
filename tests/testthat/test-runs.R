suppressPackageStartupMessages({
  library(ggplot2)
  library(grid)
})
functions_of()

attempts <- data.frame(
  run_id = c("a", "b", "b", "c"), attempt = c(1, 1, 2, 1), block = "quick-1", experiment = "e",
  valid = c(TRUE, FALSE, TRUE, FALSE), why_invalid = c(NA, "links < 1 %", NA, NA)
)

test_that("a run is labelled with all its attempts, an attempt alone", {
  labels <- run_labels(attempts)
  expect_equal(labels$runs[["a"]], "run a, block quick-1: valid")
  expect_equal(labels$runs[["b"]], "run b, block quick-1: attempt 1 invalid: links < 1 %; attempt 2 valid")
  expect_equal(labels$runs[["c"]], "run c, block quick-1: invalid: no reason given")
  expect_equal(labels$attempts[["b\r1"]], "run b, block quick-1: attempt 1 invalid: links < 1 %")
  expect_equal(run_labels(attempts[0, ])$runs, character())
})

test_that("words before points become their titles", {
  svg <- c("<g>", "<text x='1'>[[run a: valid]]</text>", "<text x='2'>[[run b: 1 &lt; 2]]</text>", "<circle r='1' />",
           "<circle r='2' />", "<text x='0'>[[end of runs]]</text>", "<text>axis</text>", "</g>")
  expect_equal(titled_runs(svg), c(
    "<g>", "<g class='run'><title>a: valid</title><circle r='1' /></g>",
    "<g class='run'><title>b: 1 &lt; 2</title><circle r='2' /></g>", "<text>axis</text>", "</g>"
  ))
})

test_that("a point that leads somewhere says where", {
  svg <- c(paste0("<text x='1'>[[run ", leading_to("e.html#claim-E-C06", "E-C06: half"), "]]</text>"), "<circle r='1' />",
           "<text x='0'>[[end of runs]]</text>")
  expect_equal(titled_runs(svg), paste0("<g class='run' data-href='e.html#claim-E-C06'><title>E-C06: half</title>",
                                        "<circle r='1' /></g>"))
})

test_that("points of several pieces are labelled once, and what does not add up is not labelled", {
  words <- "<text x='1'>[[run a]]</text>"
  end <- "<text x='0'>[[end of runs]]</text>"
  expect_equal(titled_runs(c(words, "<line a='1' />", "<line a='2' />", end)),
               c("<g class='run'><title>a</title><line a='1' />", "<line a='2' /></g>"))
  expect_equal(titled_runs(c(words, words, "<circle r='1' />", end)), "<circle r='1' />")
})

test_that("every point of a figure says its run", {
  testthat::skip_if_not_installed("svglite")
  points <- data.frame(x = 1:3, y = 1:3, kind = c("p", "q", "p"), words = c("a", "b", "c & d"))
  path <- tempfile(fileext = ".svg")
  plot <- ggplot2::ggplot(points, ggplot2::aes(x, y)) +
    geom_runs(ggplot2::aes(label = words, shape = kind)) +
    ggplot2::scale_shape_manual(values = c(p = 16, q = 4))
  svglite::svglite(path)
  print(plot)
  grDevices::dev.off()
  made <- titled_runs(readLines(path))
  expect_equal(sort(gsub(".*<title>(.*)</title>.*", "\\1", grep("<title>", made, value = TRUE))),
               c("a", "b", "c &amp; d"))
  expect_false(any(grepl("[[", made, fixed = TRUE)))
})

test_that("the data of a plot are those with runs", {
  runs <- data.frame(run_id = c("a", "b"), y = 1:2, gone = NA)
  medians <- data.frame(x = 1:3, y = 1:3)
  plot <- ggplot2::ggplot(medians, ggplot2::aes(x, y)) + ggplot2::geom_point(data = runs, ggplot2::aes(y = y, x = y))
  expect_equal(names(plot_data(plot)), c("run_id", "y"))
  expect_equal(plot_data(ggplot2::ggplot(medians, ggplot2::aes(x, y)))$x, 1:3)
  expect_equal(nrow(plot_data(figure_without_data())), 0)
  expect_equal(nrow(plot_data(NULL)), 0)
})

test_that("a function is shown with its file, its comment and its text", {
  found <- source_of("count_of", environment(count_of))
  expect_equal(found$file, file.path("paper", "R", "text", "format.R"))
  expect_match(found$text, "^count_of <- function")
  expect_null(source_of("mean", environment(count_of)))
  expect_equal(vapply(functions_named("count_of(mean(1), 'a')", environment(count_of)), `[[`, character(1), "name"),
               "count_of")
})
