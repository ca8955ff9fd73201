functions_of()

with_yaml <- function(lines, code) {
  folder <- withr::local_tempdir()
  dir.create(file.path(folder, "papers"))
  writeLines(lines, file.path(folder, "papers", "p.yaml"))
  withr::local_envvar(WHITEWIRE_CONFIG = folder, WHITEWIRE_RESULTS = folder, WHITEWIRE_PAPER = "p")
  rm(list = ls(cache), envir = cache)
  on.exit(rm(list = ls(cache), envir = cache), add = TRUE)
  force(code)
}

test_that("a draft says what is still the template's", {
  with_yaml("roles: {client: 1}", {
    writeLines('{"p": ["the paper\'s hosts", "say why"]}', file.path(config_dir(), "to-do.json"))
    expect_identical(draft_note(), "**DRAFT.** Still to be put into `config/papers/p.yaml`: the paper's hosts; say why.")
    withr::with_envvar(c(WHITEWIRE_PAPER = "q"), expect_identical(draft_note(), ""))
  })
  with_yaml("roles: {client: 1}", expect_identical(draft_note(), ""))
})

test_that("each experiment has a figure of the metric that claims ask for", {
  lines <- c(
    "claims: [{test: {metric: write_throughput, numerator: {experiment: write, where: {fabric: 10gbe}}}}]",
    "experiments:",
    "- {id: write, title: Writes *fast*, factors: {fabric: [1gbe, 10gbe], clients: [1]}}",
    "- {id: ingest, title: Puts, factors: {fabric: [1gbe]}}"
  )
  with_yaml(lines, {
    expect_identical(metric_of_experiment("write"), "write_throughput")
    expect_identical(metric_of_experiment("ingest"), "throughput")
    made <- lapply(experiment_parts(), readLines)
    expect_length(made, 2)
    expect_identical(made[[1]][[1]], "## Writes \\*fast\\* {#sec-experiment-write}")
    expect_true("#| label: fig-experiment-ingest" %in% made[[2]])
    expect_true("figure_experiment(\"ingest\")" %in% made[[2]])
  })
})
