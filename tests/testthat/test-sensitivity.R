functions_of("emulex-2012")

moved <- expand.grid(fabric = c("1GbE", "10GbE"), clients = c(1, 3), block_size_bytes = c(32, 64) * 2^20,
                     stringsAsFactors = FALSE)
moved$total_puts <- ifelse(moved$clients == 1, 1, 18)
moved$shown <- moved$total_puts * moved$block_size_bytes / 2^20
valid_runs <- function(experiment, metric) if (experiment == "block-size") moved else moved[0, ]

test_that("a study's levels are given in its unit, for each load and network", {
  runs <- sensitivity_runs("block-size")
  expect_equal(sort(unique(runs$level)), c(32, 64))
  expect_equal(levels(runs$load), c("one put", "18 puts"))
  sentence <- sensitivity_sentence("block-size")
  expect_match(sentence, "size of a block .*\\(full-scale equivalents, one run each\\): ")
  expect_match(sentence, "one put on 1GbE: from 32 MB/s at 32 to 64 MB/s at 64")
  expect_match(sentence, "18 puts on 10GbE: from 576 MB/s at 32 to 1,?15\\d MB/s at 64")
})

test_that("a study that was not made says so", {
  expect_match(sensitivity_sentence("packet-size"), "not measured at this effort")
})
