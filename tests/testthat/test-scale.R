functions_of()

of_testbed <- function(kind, k) {
  here <- list2env(list(scale_of = function(...) list(kind = kind, k = k), testbed_name = function() "lab"),
                   parent = environment(made_on))
  for (name in c("is_emulated", "by_testbed", "made_on", "switch_words")) {
    assign(name, `environment<-`(get(name), here), envir = here)
  }
  here
}

test_that("real hosts are not called emulated", {
  expect_equal(of_testbed("site", 1)$made_on("Hadoop", 6), "The runs were made on real hosts, lab: 6 hosts, running real Hadoop.")
  expect_equal(of_testbed("site", 1)$switch_words(), "the site's own switches")
  expect_match(of_testbed("emulated", 256)$made_on("HDFS", 15), "15 hosts, each with its own network namespace, joined")
})
