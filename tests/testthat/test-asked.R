# What a document asks for and the paper does not have ends the rendering, with the nearest name.

functions_of()

described_paper <- list(
  claims = list(list(id = "P-C01", inverse = list(effect = 2)), list(id = "P-C02")),
  experiments = list(
    list(id = "ingest", factors = list(fabric = list("1gbe", "10gbe")), roles = list(datanode = 4),
         parameters = list(replication = 3)),
    list(id = "drives", factors = list(rate_mb_per_s = list(100, 500)), roles = list(datanode = 6),
         parameters = list(fabric = "25gbe", replication = 3))
  ),
  controls = list(list(id = "P-K01")),
  exhibits = list(list(id = "fig1")),
  values = list(list(id = "P-V01", exhibit = "fig1", metric = "rate", condition = "1GbE", printed = "1", scope = "result"))
)

# Without results: nothing was run yet.
asking <- function(code, known = list(ingest = list("throughput", "completion_time"), drives = list("throughput"))) {
  folder <- withr::local_tempdir()
  dir.create(file.path(folder, "config", "papers"), recursive = TRUE)
  yaml::write_yaml(described_paper, file.path(folder, "config", "papers", "p.yaml"))
  writeLines(jsonlite::toJSON(list(of = known), auto_unbox = TRUE), file.path(folder, "metrics.json"))
  withr::local_envvar(
    WHITEWIRE_RESULTS = folder, WHITEWIRE_CONFIG = file.path(folder, "config"), WHITEWIRE_PAPER = "p",
    WHITEWIRE_METRICS = if (is.null(known)) "" else file.path(folder, "metrics.json")
  )
  rm(list = ls(cache), envir = cache)
  on.exit(rm(list = ls(cache), envir = cache), add = TRUE)
  force(code)
}

expect_stop <- function(code, what, found, nearest) {
  message <- sprintf("%s: found \"%s\", which the paper does not have; did you mean \"%s\"?", what, found, nearest)
  expect_error(asking(code), message, fixed = TRUE)
}

test_that("an unknown claim ends the rendering, also where only some claims will do", {
  expect_stop(from_claim("P-C12"), "claim", "P-C12", "P-C02")
  expect_stop(check_claim("P-C02", with = "inverse"), "claim with inverse", "P-C02", "P-C01")
  expect_silent(asking(check_claim("P-C01", with = "inverse")))
})

test_that("an unknown exhibit, and a value that another exhibit has, end the rendering", {
  expect_stop(beside_values("fig2"), "exhibit", "fig2", "fig1")
  expect_stop(beside_values("fig1", list("P-V91" = from_claim("P-C01"))), "value of fig1", "P-V91", "P-V01")
})

test_that("an unknown experiment ends the rendering; a control is one", {
  expect_stop(check_cell("ingests", "throughput"), "experiment", "ingests", "ingest")
  expect_silent(asking(check_cell("P-K01", "throughput"), known = NULL))
})

test_that("a metric that no run of the experiment has ends the rendering", {
  expect_stop(from_cell("ingest", "througput"), "metric of ingest", "througput", "throughput")
  expect_stop(check_cell("drives", "completion_time"), "metric of drives", "completion_time", "throughput")
  expect_silent(asking(check_cell("ingest", "througput"), known = NULL))
})

test_that("an unknown factor or level ends the rendering, held fixed or varied", {
  expect_stop(check_cell("ingest", "throughput", list(fabrik = "1gbe")), "factor", "fabrik", "fabric")
  expect_stop(check_cell("ingest", "throughput", list(fabric = "11gbe")), "level of fabric", "11gbe", "1gbe")
  expect_stop(check_cell("ingest", "throughput", list(replication = 2)), "level of replication", "2", "3")
  expect_stop(check_cell("drives", "throughput", list(nodes = 5)), "level of nodes", "5", "6")
  expect_silent(asking(check_cell("ingest", "throughput", list(fabric = "10GbE", replication = 3, nodes = 4))))
})

test_that("of several levels those of another experiment are let pass, unknown ones are not", {
  expect_silent(asking(check_cell("ingest", "throughput", list(fabric = c("1gbe", "25gbe")))))
  expect_stop(check_cell("ingest", "throughput", list(fabric = "25gbe")), "level of fabric", "25gbe", "1gbe")
  expect_stop(check_cell("ingest", "throughput", list(fabric = c("1gbe", "26gbe"))), "level of fabric", "26gbe", "25gbe")
})

test_that("what the paper has and nobody ran yet is shown as not measured", {
  expect_equal(asking(from_claim("P-C01"))$text, "not measured at this effort")
  expect_equal(asking(from_cell("ingest", "throughput", list(fabric = "1gbe")))$text, "not measured at this effort")
})
