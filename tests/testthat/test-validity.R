functions_of()

trimmed <- function(x, digits = 3) as.character(signif(x, digits))
read_paper <- function() {
  list(experiments = list(list(id = "dfsio", parameters = list(maps = 8)), list(id = "alone", parameters = list(maps = 1)),
                          list(id = "copy", parameters = list(size_bytes = 1))))
}
seen <- data.frame(experiment = c("dfsio", "dfsio", "dfsio", "alone", "copy"), valid = c(TRUE, TRUE, FALSE, TRUE, TRUE),
                   metric = c("write_tasks_at_once", "read_tasks_at_once", "read_tasks_at_once", "read_tasks_at_once",
                              "copy_in_time"), value = c(5.25, 7.5, 1, 1, 3))
read_runs <- function() seen
read_environments <- function() list(list(limits = list(cpu_idle_floor = 0.35, compute_share = 0.5)))

test_that("the range over valid runs is shown of experiments with several tasks", {
  expect_match(at_once_sentence(), "5.2 to 7.5 of 8 in `dfsio`. A rate", fixed = TRUE)
})

test_that("nothing is shown where no task's log was read", {
  seen <<- seen[5, ]
  expect_equal(at_once_sentence(), "")
})

test_that("a job is held to its compute share, a put to its worst second", {
  seen <<- data.frame(experiment = c("put", "put", "job", "job"), metric = c("cpu_idle_min", "cpu_idle_mean",
                      "cpu_idle_min", "compute_share"), value = c(0.5, 0.7, 0.01, 0.1))
  expect_equal(cpu_headroom()$metric, c("cpu_idle_min", "cpu_idle_mean", "compute_share"))
  expect_equal(cpu_rule(), paste("at least 35 % of the processors' time was idle in every second of it and the",
                                 "processors were short in at most 50 % of a job's time beyond its startup overhead",
                                 "(the compute share)"))
})

test_that("where wake-up latency is known, it is the rule, and idle seconds say nothing", {
  seen <<- data.frame(experiment = c("put", "put", "put"), metric = c("cpu_late", "cpu_idle_min", "cpu_outside"),
                      value = c(0.2, 0.1, 0))
  expect_equal(cpu_headroom()$metric, c("cpu_late", "cpu_outside"))
  read_environments <<- function() list(list(limits = list(cpu_late_ms = 0.6)))
  expect_match(cpu_rule(), "was at most 0.6\u00a0ms (beyond", fixed = TRUE)
  expect_equal(headroom_bounds()$bound, 0.6)
  read_environments <<- function() list(list(limits = list(cpu_late_ms = 0.6, cpu_outside = 0.5, compute_share = 0.4)))
  bounds <- headroom_bounds()
  expect_equal(bounds$bound, 0.6) # no panel is drawn for a bound alone
  expect_equal(as.character(bounds$what), headroom_words[["cpu_late"]])
  expect_match(headroom_caption(), "By panel: wake-up latency, ms, mean of the run; used by other programs, processors. Dashed",
               fixed = TRUE)
})

test_that("a bound is drawn beside the experiments that it applies to", {
  shipped <- read_paper
  withr::defer(read_paper <<- shipped)
  read_paper <<- function() list(experiments = list(list(id = "sort", cpu = "report"), list(id = "put")))
  seen <<- expand.grid(experiment = c("put", "sort"), metric = c("cpu_late", "cpu_outside"), stringsAsFactors = FALSE)
  seen$value <<- 0.1
  bounds <- headroom_bounds()
  expect_equal(bounds$experiment, c("put", "sort"))
  expect_equal(bounds$bound, c(0.6, 0.5))
  expect_equal(as.character(bounds$what), unname(headroom_words[c("cpu_late", "cpu_outside")]))
})

test_that("attempts are separate from runs, and runs that count from those that a metric leaves out", {
  read_stage <<- function(...) data.frame()
  read_estimates <<- function() data.frame(experiment = character(), untold = character())
  tried <- data.frame(run_id = c("a", "a", "b", "c"), attempt = c(1, 2, 1, 1), valid = c(FALSE, TRUE, TRUE, FALSE))
  attempt_table <<- function() cbind(tried, block = "quick-1", experiment = "sort", why_invalid = NA)
  expect_equal(validity_sentence(), paste(
    "3 runs were made, in 4 attempts: 2 were invalid. Invalid attempts were repeated. 2 of the runs count; 1 stayed",
    "invalid and is left out of every estimate."
  ))
  tried <- tried[1:3, ]
  expect_match(validity_sentence(), "in 3 attempts: 1 was invalid. Invalid attempts were repeated. All 2 runs count.",
               fixed = TRUE)
  tried <- tried[3, ]
  expect_equal(validity_sentence(), "1 run was made. It counts.")
  factor_columns <<- function(...) "fabric"
  read_estimates <<- function() {
    data.frame(experiment = "sort", fabric = c("1GbE", "1GbE", "10GbE"), metric = c("net", "rate", "net"), n = 3,
               untold = c("only 0.5 s", "only 0.5 s", ""))
  }
  expect_match(validity_sentence(), "It counts. 3 of them are not usable for some metric;", fixed = TRUE)
  expect_match(as.character(unusable_table()), "| `sort` | `net` and `rate` | 3 | only 0.5 s |", fixed = TRUE)
})

test_that("runs that were not made are listed with their reasons", {
  left <- data.frame(reason = c("decided after 3 runs of each cell", "decided after 4 runs of each cell",
                                "the budget ended"), why_code = c("decided", "decided", "budget_ended"))
  read_stage <<- function(...) left
  expect_match(left_sentence(), paste("2 were not made because no open claim needed them any more and 1 was not made",
                                      "because the budget ended"), fixed = TRUE)
  left <- left[1:2, , drop = FALSE]
  expect_match(left_sentence(), "Of those planned 2 were not made because no open claim needed them any more:", fixed = TRUE)
  left <- left[0, , drop = FALSE]
  expect_equal(left_sentence(), "")
})

test_that("where computing is the point, the share of other programs is given", {
  read_paper <<- function() list(experiments = list(list(id = "curve", cpu = "report"), list(id = "put")))
  read_environments <<- function() list(list(limits = list(cpu_outside = 0.5)))
  expect_match(cpu_bound_sentence(), "In `curve` .*\\(compute share\\), and other programs used at most 0.5 processors\\.$")
  read_environments <<- function() list(list(limits = list(cpu_late_ms = 0.6)))
  expect_match(cpu_bound_sentence(), "\\(compute share\\)\\.$")
})
