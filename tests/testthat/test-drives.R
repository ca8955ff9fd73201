functions_of()

numbers <- list(
  count = 4L, rate_mb_per_s = 110, access_time_ms = 12.7, writeback_chunk_bytes = 4194304L, cache_bytes = 0L
)
sources <- list(count = "a line of the paper", rate_mb_per_s = "a data sheet")

# The table of an experiment with such hardware, as text.
table_of <- function(hardware) {
  experiment_of <- function(id) list(id = id, hardware = hardware)
  shown <- drive_model_table
  environment(shown) <- list2env(list(experiment_of = experiment_of), parent = environment(drive_model_table))
  paste(as.character(shown("puts")), collapse = "\n")
}

test_that("one drive has its parameters and their sources", {
  said <- table_of(list(drive = numbers, sources = sources))
  expect_match(said, "rate_mb_per_s.*110.*a data sheet")
  expect_match(said, "4,194,304", fixed = TRUE)
  expect_no_match(said, "Drive")
})

test_that("drives by name have a row for each number of each", {
  named <- list(hdd = c(numbers, list(sources = sources)), ssd = c(numbers, list(sources = list(count = "a review"))))
  said <- table_of(list(drives = named))
  expect_match(said, "hdd.*count.*4.*a line of the paper.*ssd.*count.*4.*a review")
  expect_no_match(said, "sources")
})

test_that("no drive is said", {
  expect_match(table_of(NULL), "No drive model is specified")
})
