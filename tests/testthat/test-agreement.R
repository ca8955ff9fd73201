functions_of()

scope <- function(...) utils::modifyList(list(claims = 4, same = 3, other = 1, only_a = 0, only_b = 0, neither = 0,
                                              share = 0.75, kappa = 0.6364), list(...), keep.null = TRUE)
agreement <- function(...) utils::modifyList(list(
  agrees = FALSE, all = scope(), runs = scope(claims = 1, same = 0, share = 0, kappa = 0), papers = list(one = scope()),
  estimates = list(compared = 20, differ = 4, by_chance = 3, apart = 2)
), list(...))

test_that("shares and kappa are shown of all claims and of those that runs judge", {
  expect_equal(agreement_share(agreement()), paste0(
    "Of the claims judged in both 3 of 4 have the same verdict (75 %, Cohen's \u03ba 0.64); of those that runs judge 0 of ",
    "1 have the same verdict (0 %, Cohen's \u03ba 0.00)."
  ))
  expect_equal(agreement_share(agreement(all = scope(claims = 0))), "No claim was judged in both.")
  expect_no_match(agreement_share(agreement(all = scope(kappa = NULL), runs = scope(claims = 0))), "Cohen")
})

test_that("the rule says whether they agree, and why", {
  expect_match(agreement_rule(agreement()), paste0(
    "**They do not agree**: they decide 1 claim differently; of 20 estimates with intervals on both sides 4 ",
    "differ, where chance explains up to 3. The intervals of 2 have no value in common."
  ), fixed = TRUE)
  fine <- agreement(agrees = TRUE, all = scope(other = 0), estimates = list(compared = 0))
  expect_equal(agreement_rule(fine), paste0("**They agree**: no claim that both decide has another verdict; no estimate ",
                                            "has an interval on both sides."))
  expect_match(agreement_rule(agreement(agrees = NULL)), "is not known yet**: no claim that runs judge", fixed = TRUE)
})

test_that("a paper has a row of its own where there are several", {
  expect_no_match(as.character(agreement_table(agreement(), c("A", "B"))), "of `one`")
  several <- as.character(agreement_table(agreement(papers = list(one = scope(), two = scope(claims = 7))), c("A", "B")))
  expect_match(several, "of `two` | 7 | 3 | 75 % | 0.64 | 1 | 0 | 0 | 0 |", fixed = TRUE)
  expect_match(several, "Only A decided", fixed = TRUE)
})
