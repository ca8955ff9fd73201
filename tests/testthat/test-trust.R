library(ggplot2)
functions_of("testbed")

# Evaluates `code` on a results folder with these tables of trust; `kind` is that of the testbed.
with_trust <- function(tables, code, kind = "emulated") {
  results <- tempfile()
  old <- Sys.getenv(c("WHITEWIRE_RESULTS", "WHITEWIRE_PAPER"))
  Sys.setenv(WHITEWIRE_RESULTS = results, WHITEWIRE_PAPER = "testbed")
  on.exit(do.call(Sys.setenv, as.list(old)))
  dir.create(file.path(results, "links"), recursive = TRUE)
  writeLines(jsonlite::toJSON(list(plan = list(kind = kind)), auto_unbox = TRUE),
             file.path(results, "links", "links.json"))
  if (length(tables) > 0) {
    dir.create(file.path(results, "trust", "tables"), recursive = TRUE)
    writeLines('{"bound": 0.01, "left_out": ["scales: for want of time"]}', file.path(results, "trust", "trust.json"))
  }
  for (name in names(tables)) {
    readr::write_csv(tables[[name]], file.path(results, "trust", "tables", paste0(name, ".csv")), na = "")
  }
  force(code)
}

summary <- data.frame(
  part = c("links", "ratio", "order"), asked = c("How exact?", "What share?", "How much longer?"),
  n = c(144, 40, 271), of = c("tests", "intervals", "runs"), value = c(-0.0004, 0.9, NA), low = c(-0.001, 0.76, NA),
  high = c(0.0002, 0.97, NA), unit = 1, goal = c("within 1.0%", "at least 95%", "within 2.0%"),
  outcome = c("met", "open", "not met"), again = "whitewire trust --parts links"
)
links <- data.frame(
  rate = rep(c(25, 2000), each = 2), pairs = c(1, 7), meter = rep(c("iperf3", "counters"), each = 2), n = 6,
  error = c(-0.001, 0.002, -0.4, NA), low = -0.003, high = 0.003, largest = 0.01, reach = c(TRUE, TRUE, FALSE, FALSE),
  within_bound = c(TRUE, TRUE, NA, NA), missing = 0
)
coverage <- data.frame(expected = c("1.1", "4", "all"), n = c(8, 8, 16), covered = c(8, 7, 15),
                       share = c(1, 0.875, 0.9375), low = 0.5, high = 1, error = 0)

test_that("each question has its answer, its interval and whether its goal is met", {
  with_trust(list(summary = summary, links = links, coverage = coverage), {
    expect_true(has_trust())
    expect_equal(trust_sentence(), "Of 3 goals, **1 met**, 1 not met, 1 open.")
    table <- as.character(trust_table())
    expect_match(table, "\u22120.04 % (\u22120.10 % to 0.02 %)", fixed = TRUE)
    expect_match(table, "90.0 % (76.0 % to 97.0 %)", fixed = TRUE)
    expect_match(table, "| 40 intervals |", fixed = TRUE)
    expect_match(table, "**not met**", fixed = TRUE)
    expect_match(trust_left_out(), "scales: for want of time", fixed = TRUE)
    drawn <- figure_trust_links("l")
    expect_s3_class(drawn, "ggplot")
    expect_equal(nrow(drawn$data), 3)
    expect_no_error(ggplot_build(drawn))
    forest <- figure_trust_coverage("c")
    expect_equal(levels(forest$data$row), c("all", "4\u00d7", "1.1\u00d7"))
    expect_no_error(ggplot_build(forest))
  })
})

test_that("tables of load, k and order have numbers of runs and intervals", {
  load <- data.frame(load = c(0.5, 2), clients = 1, made = 8, n = c(8, 5), n_calm = 8, ratio = c(1, 0.98),
                     low = c(0.99, NA), high = c(1.01, NA))
  scales <- data.frame(paper = "emulex-2012", cell = "put-grid 1gbe", metric = "throughput", k = 128, k_other = 256,
                       n = 3, n_other = 3, ratio = 1.01, low = 0.98, high = 1.04, agrees = "cannot tell")
  lanes <- data.frame(kind = c("hdfs_put", "floor"), cell = c("put-grid", "terasort"), lanes = 2, made = c(4, 3), n = 3,
                      n_alone = 3, ratio = c(1.01, 1.17), low = c(0.99, 1.1), high = c(1.03, 1.2))
  order <- data.frame(source = c("known", "all"), n = c(100, 300), cells = c(12, 40), change = c(0.01, -0.005),
                      low = c(-0.01, -0.02), high = c(0.03, 0.01), p_value = c(0.4, 0.5))
  with_trust(list(summary = summary, load = load, scales = scales, lanes = lanes, order = order), {
    expect_match(as.character(trust_load_table()), "5 of 8", fixed = TRUE)
    expect_match(as.character(trust_lanes_table()), "put-grid | 2 | 1.01 (0.99 to 1.03) | 3 of 4 | 3", fixed = TRUE)
    expect_match(as.character(trust_scales_table()), "256 over 128 | 1.01 (0.98 to 1.04) | 3 and 3", fixed = TRUE)
    expect_match(as.character(trust_order_table()), "1.00 % (\u22121.00 % to 3.00 %)", fixed = TRUE)
  })
})

test_that("where nothing was asked it says how to ask, and on a site that it is not asked there", {
  with_trust(list(), {
    expect_false(has_trust())
    expect_match(trust_sentence(), "`make trust` measures it", fixed = TRUE)
  })
  with_trust(list(), expect_match(trust_sentence(), "to emulated testbeds alone", fixed = TRUE), kind = "ssh")
  with_trust(list(summary = summary[0, ]), {
    for (table in list(trust_table, trust_load_table, trust_lanes_table, trust_scales_table, trust_order_table)) {
      expect_match(as.character(table()), "Not asked.", fixed = TRUE)
    }
    expect_no_error(ggplot_build(figure_trust_links("l")))
    expect_no_error(ggplot_build(figure_trust_coverage("c")))
  })
})
