# Run from the repository's root: Rscript -e 'testthat::test_dir("tests/testthat")'

functions_of()
loaded <- environment()

test_that("a figure that says that nothing was measured is known by it, also after it was drawn", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  print(figure_without_data())
  expect_true(attr(ggplot2::last_plot(), "unmeasured"))
  expect_equal(nrow(plot_data(ggplot2::last_plot())), 0)
  print(ggplot2::ggplot(data.frame(x = 1:2, y = 3:4), ggplot2::aes(x, y)) + ggplot2::geom_point())
  expect_null(attr(ggplot2::last_plot(), "unmeasured"))
  expect_equal(nrow(plot_data(ggplot2::last_plot())), 2)
})

test_that("on paper a figure's caption says what drew it", {
  expect_equal(drawn_by("figure_without_data(mean(1))", loaded),
               "[Drawn by `figure_without_data` in `paper/R/figures/theme.R`.]{.on-paper}")
  expect_equal(drawn_by(c("#| label: fig-x", "plot(1)"), loaded), "")
})

test_that("a function that a document defines has no file, with Quarto or without", {
  page <- new.env(parent = loaded)
  code <- "own <- function(x) figure_without_data(x)\nfound <- functions_named(\"own(count_of(1))\", environment(own))"
  knitr::knit(text = c("```{r}", code, "```"), envir = page, quiet = TRUE)
  expect_null(source_of("own", page))
  expect_equal(page$found, list())
})
