functions_of()

row <- function(experiment, quantity, full, emulated, bias, unit = "s", follows = "") {
  quotient <- if (is.na(full) || full == 0) NA else emulated / full
  data.frame(experiment = experiment, quantity = quantity, unit = unit, full_scale = full, emulated = emulated,
             quotient = quotient, alike = bias == "", follows = follows, bias = bias)
}

table <- rbind(
  row("a", "link", 2, 2, "", "1"),
  row("a", "packet", 5e-4, 0.08, "Slower."),
  row("a", "packets", 2048, 4, "Fewer.", "1", "packet"),
  row("a", "cache", NA, 0, "No cache.", "B"),
  row("b", "link", 3, 3, "", "1"),
  row("b", "packet", 5e-5, 0.008, "Slower."),
  row("b", "packets", 2048, 4, "Fewer.", "1", "block"),
  row("b", "block", 1, 0.5, "Shorter.")
)

test_that("amounts have the unit that keeps them short", {
  expect_equal(amount_text(c(2, 0.0021, 5.24e-6, 0), "s"), c("2\u00a0s", "2.1\u00a0ms", "5.24\u00a0\u00b5s", "0\u00a0s"))
  expect_equal(amount_text(c(16, NA, Inf), "1"), c("16", "the host\u2019s own", "no limit"))
  expect_equal(amount_range(c(0.1, 0.0021), "s"), "2.1\u00a0ms to 100\u00a0ms")
  expect_equal(amount_range(c(2, 2), "1"), "2")
  expect_equal(amount_range(c(NA, NA), "B"), "the host\u2019s own")
})

test_that("a row stands for all experiments with the same consequence", {
  rows <- similitude_rows(table)
  expect_equal(rows$Quantity, c("packet", "cache", "block"))
  expect_equal(rows$`Full scale`, c("50\u00a0\u00b5s to 500\u00a0\u00b5s", "the host\u2019s own", "1\u00a0s"))
  expect_equal(rows$Emulated[[1]], "8\u00a0ms to 80\u00a0ms")
  expect_equal(rows$Quotient, c("160", "\u2013", "0.5"))
  expect_equal(rows$In, c("all", "a", "b"))
})

test_that("what only follows is shown where the quantity it follows is alike", {
  alone <- table[!(table$experiment == "b" & table$quantity == "block"), ]
  expect_equal(similitude_rows(alone)$Quantity, c("packet", "packets", "cache"))
})

test_that("what is off by little is left to the full table", {
  near <- rbind(table, row("b", "pause", 1, 0.93, "Shorter."), row("b", "file", 1, 1.25, "Longer."))
  expect_equal(similitude_rows(near)$Quantity, similitude_rows(table)$Quantity)
  expect_equal(tail(similitude_rows(rbind(table, row("b", "pause", 1, 1.3, "Longer.")))$Quantity, 1), "pause")
})

test_that("the sentence counts quantities and values", {
  expect_equal(similitude_sentence(table), paste(
    "Of 5 quantities, one is alike in every experiment (link);", "of 8 values over all experiments and links, 2."))
  expect_match(similitude_sentence(table[0, ]), "^Nothing was scaled")
})

test_that("nothing unlike is no row", {
  expect_equal(nrow(similitude_rows(table[table$alike, ])), 0)
})
