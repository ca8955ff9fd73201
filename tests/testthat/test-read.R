functions_of()

table_of <- function(...) {
  path <- tempfile(fileext = ".csv")
  writeLines(c(...), path)
  read_csv_or_none(path)
}

test_that("only an empty cell is none", {
  read <- table_of("run_id,store,value", "a,NA,1.5", "b,,", "c,cephfs,NaN")
  expect_equal(read$store, c("NA", NA, "cephfs"))
  expect_equal(as_value(read$value), c(1.5, NA, NaN))
})

test_that("a table that is missing or empty reads as an empty one", {
  expect_equal(nrow(read_csv_or_none(tempfile())), 0)
  path <- tempfile()
  file.create(path)
  expect_equal(nrow(read_csv_or_none(path)), 0)
})
