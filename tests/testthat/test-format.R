# Run from the repository's root: Rscript -e 'testthat::test_dir("tests/testthat")'

functions_of()

test_that("numbers keep three digits and an interval only where there is one", {
  expect_equal(trimmed(1234.5), "1,230")
  expect_equal(trimmed(20), "20")
  expect_equal(with_interval(2.5, NA, NA), "2.5")
  expect_equal(with_interval(2.531, 2.49, 2.58), "2.53 (2.49 to 2.58)")
  expect_equal(with_interval(NA, NA, NA), "\u2013")
})

test_that("numbers that stand together differ as in messages", {
  cases <- jsonlite::fromJSON(file.path(root, "tests", "data", "numbers.json"), simplifyDataFrame = FALSE)
  for (case in cases) {
    digits <- do.call(digits_needed, c(as.list(case$numbers), least = case$least))
    expect_equal(number_text(case$numbers, digits), with_minus(case$texts))
  }
  expect_equal(with_interval(c(1.02202, 2.5, NA), c(1.019583, NA, 1), c(1.024464, NA, 2)),
               c("1.022 (1.02 to 1.024)", "2.5", "\u2013"))
})

test_that("a verdict's number differs from what its claim asks for", {
  table <- data.frame(relation = "within", estimate = c(135.60499, 4.2), low = NA_real_, high = NA_real_, unit = "percent",
                      expected = c(135.6, 4), expected_low = c(135.595, 3.5), expected_high = c(135.605, 4.5))
  expect_equal(estimate_text(table), c("135.605\u00a0percent", "4.2\u00a0percent"))
  expect_equal(expected_text(table), c("135.6 (135.595 to 135.605)", "4 (3.5 to 4.5)"))
})

test_that("each text is broken into lines of its own", {
  expect_equal(in_lines(c("one two three", "four", ""), 8), c("one two\nthree", "four", ""))
})

test_that("differences have a sign, but nothing has no minus", {
  expect_equal(signed_percent(c(-31.818, 5, -0.02), 1), c("\u221231.8\u00a0%", "+5.0\u00a0%", "+0.0\u00a0%"))
  expect_equal(signed_percent(c(9.716, NA)), c("+9.72\u00a0%", "\u2013"))
})

test_that("negative numbers have a minus sign, ranges and names keep their hyphens", {
  expect_equal(with_interval(-15.75, -27.31, -6.54), "\u221215.8 (\u221227.3 to \u22126.54)")
  expect_equal(with_minus("E-A7: -15.75 (-27.31 to -.5), 2012-04, k-1"),
               "E-A7: \u221215.75 (\u221227.31 to \u2212.5), 2012-04, k-1")
})

test_that("text cannot act as markup", {
  expect_equal(safe("a|b *c* [d] <e> @fig-x"), "a\\|b \\*c\\* \\[d\\] \\<e\\> \\@fig-x")
  expect_equal(safe("&lt;b&gt;"), "\\&lt;b\\&gt;")
  expect_equal(safe(NA), "")
})

test_that("no cell of a published table is a formula", {
  table <- as_cells(data.frame(a = c("=1+1", "-x", "-1.5", NA, "fine"), b = factor(c("@x", "+y", "+2", "a", "=")), n = -2:2))
  expect_equal(table$a, c("'=1+1", "'-x", "-1.5", NA, "fine"))
  expect_equal(table$b, c("'@x", "'+y", "+2", "a", "'="))
  expect_equal(table$n, -2:2)
  expect_equal(as_cells(data.frame(n = 1:2)), data.frame(n = 1:2))
})

test_that("lists read as prose", {
  expect_equal(listed(c("a", "b", "c")), "a, b and c")
  expect_equal(listed("a"), "a")
  expect_equal(count_of(1, "run"), "1 run")
  expect_equal(count_of(2, "run"), "2 runs")
})

test_that("a table without rows says so", {
  expect_match(as.character(md_table(data.frame())), "Not measured at this effort")
})

test_that("a missing table reads as an empty one with its columns", {
  withr::local_envvar(WHITEWIRE_RESULTS = tempfile(), WHITEWIRE_PAPER = "none")
  expect_equal(nrow(read_runs()), 0)
  expect_true(all(c("fabric", "total_puts", "shown") %in% names(read_runs())))
  expect_true(is.na(scale_of("put-grid")$k))
})

test_that("sizes of papers may be larger than an integer", {
  before <- Sys.getenv("WHITEWIRE_CONFIG")
  Sys.setenv(WHITEWIRE_CONFIG = tempfile())
  on.exit(Sys.setenv(WHITEWIRE_CONFIG = before))
  dir.create(file.path(config_dir(), "papers"), recursive = TRUE)
  writeLines("{files: 160, size_bytes: 3276800000}", file.path(config_dir(), "papers", "large.yaml"))
  expect_identical(read_paper("large"), list(files = 160L, size_bytes = 3276800000))
})

test_that("fabrics are named as the paper names them", {
  expect_equal(fabric_label(c("1gbe", "10gbe", "0.5gbe")), c("1GbE", "10GbE", "0.5GbE"))
  expect_equal(fabric_rate(c("1GbE", "10gbe")), c(1, 10))
})

test_that("what a claim asks for reads as words", {
  table <- data.frame(
    relation = c("above", "within", "equal"), expected = c(3.5, 4, 3), expected_low = c(3.5, 3.5, 3),
    expected_high = c(NA, 4.5, 3)
  )
  expect_equal(expected_text(table), c("above 3.5", "4 (3.5 to 4.5)", "equal to 3"))
})

test_that("a verdict carries why its claim is judged so, which acts as no markup", {
  described <- function(paper) list(claims = list(list(id = "X-C1", why = "a *tenth* <b>"), list(id = "X-C2")))
  environment(why_of) <- list2env(list(described = described), parent = environment(why_of))
  environment(why_text) <- list2env(list(why_of = why_of), parent = environment(why_text))
  expect_equal(why_text(data.frame(claim = c("X-C2", "X-C1", "X-C9"))), c("", "[a \\*tenth\\* \\<b\\>]{.why}", ""))
})

test_that("levels of a table without rows have no words", {
  for (factor in c(
    "mtu", "replication", "fabric", "offloads", "nodes", "rate_mb_per_s", "read_rate_mb_per_s", "size_bytes", "other"
  )) {
    expect_length(level_name(factor, numeric()), 0)
  }
  expect_equal(nrow(with_level(data.frame(fabric = character()), "fabric")), 0)
  expect_equal(levels(droplevels(with_level(data.frame(fabric = character()), "fabric")$level)), character())
  expect_match(as.character(md_table(do.call(rbind, list()))), "Not measured at this effort.")
})
