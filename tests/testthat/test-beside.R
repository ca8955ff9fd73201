functions_of()

test_that("a printed amount that was converted is told in both units", {
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
