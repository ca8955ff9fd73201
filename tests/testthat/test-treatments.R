functions_of()

rows <- function(factor, level, asked, seen, same = TRUE, unit = "1", experiment = "e") {
  data.frame(run_id = paste0("r", seq_along(asked)), experiment = experiment, factor = factor, varies = TRUE,
             level = level, asked = asked, seen = seen, unit = unit, same = same, valid = same)
}
asked <- rbind(
  rows("fabric", c("10gbe", "1gbe", "10gbe"), c("100", "10", "100"), c("100", "10", "99.5"), unit = "Mbit/s"),
  rows("settings", c("default", "tuned"), c("{}", "{\"a\": \"1\"}"), c("{}", "{\"a\": \"1\"}"), unit = "")
)
read_treatments <- function(paper = NULL) asked
run_table <- function() data.frame(run_id = c("r1", "r2", "r3", "r4"), valid = TRUE)

test_that("a factor's levels are listed as asked and as found, each once", {
  found <- treatment_rows()
  expect_equal(found$Level, c("1GbE; 10GbE", "default; tuned"))
  expect_equal(found$Asked, c("10; 100", ""))
  expect_equal(found$Found, c("10; 100, 99.5", "as asked; as asked"))
  expect_equal(found$Runs, c(3, 2))
})

test_that("what does not vary is named by experiment", {
  expect_equal(fixed_sentence(), "")
  fixed <- transform(asked[1, ], factor = "mtu", varies = FALSE)
  asked <<- rbind(asked, fixed)
  expect_equal(fixed_sentence(), "Held to the same proofs without being varied: `mtu` in `e`.")
  asked <<- asked[asked$varies, ]
})

test_that("sizes have the shortest unit that is exact", {
  expect_equal(size_name(c(67108864, 1e12, 1.5e12, 7.8e9, 5242880000, 8192, 123456789)),
               c("64 MiB", "1 TB", "1.5 TB", "7.8 GB", "5000 MiB", "8 KiB", "123456789"))
})

test_that("runs whose links report no rate are said", {
  expect_no_match(treatment_sentence(), "no record shows")
  asked$seen[[2]] <<- NA
  expect_match(treatment_sentence(), "**In 1 run no record shows `fabric`**: only the probes", fixed = TRUE)
  expect_match(treatment_rows()$Found[[1]], "not recorded")
  asked$seen[[2]] <<- "10"
})

test_that("runs without a proof and runs that were otherwise are counted", {
  expect_match(treatment_sentence(), "**1 run without such a proof**", fixed = TRUE)
  asked$same[[1]] <<- FALSE
  expect_match(treatment_sentence(), "1 attempt had something else", fixed = TRUE)
})
