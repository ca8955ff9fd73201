root <- normalizePath(file.path("..", ".."))
for (file in c("format.R", "validity.R")) source(file.path(root, "paper", "R", file), local = TRUE)

trimmed <- function(x, digits = 3) as.character(signif(x, digits))
read_paper <- function() {
  list(experiments = list(list(id = "dfsio", parameters = list(maps = 8)), list(id = "alone", parameters = list(maps = 1)),
                          list(id = "copy", parameters = list(size_bytes = 1))))
}
seen <- data.frame(experiment = c("dfsio", "dfsio", "dfsio", "alone", "copy"), valid = c(TRUE, TRUE, FALSE, TRUE, TRUE),
                   metric = c("write_tasks_at_once", "read_tasks_at_once", "read_tasks_at_once", "read_tasks_at_once",
                              "copy_in_time"), value = c(5.25, 7.5, 1, 1, 3))
read_runs <- function() seen

test_that("the range over valid runs is told of experiments with several tasks", {
  expect_match(at_once_sentence(), "5.2 to 7.5 of 8 in `dfsio`. A rate", fixed = TRUE)
})

test_that("nothing is told where no task's log was read", {
  seen <<- seen[5, ]
  expect_equal(at_once_sentence(), "")
})
