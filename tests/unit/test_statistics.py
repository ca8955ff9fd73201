"""Intervals cover, tests keep their level, and nothing depends on the order of the values."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from whitewire import statistics as s

VALUES = st.lists(st.floats(0.01, 1e6), min_size=1, max_size=30)


@given(VALUES, st.randoms())
def test_median_interval_exists_from_six_values_and_ignores_order(values, random):
    interval = s.median_interval(values)
    assert (interval is None) == (len(values) < s.MINIMUM)
    shuffled = list(values)
    random.shuffle(shuffled)
    assert s.median_interval(shuffled) == interval
    if interval:
        assert interval[0] <= np.median(values) <= interval[1]
        assert interval[0] in values and interval[1] in values


def test_median_interval_of_textbook_sizes():
    # Tables of order-statistic intervals: n = 6 is the range, 10 the 2nd and 9th, 20 the 6th and 15th.
    assert s.median_interval(range(1, 7)) == (1, 6)
    assert s.median_interval(range(1, 11)) == (2, 9)
    assert s.median_interval(range(1, 21)) == (6, 15)


def test_median_interval_covers_the_median():
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(2000):
        low, high = s.median_interval(rng.lognormal(0, 1, 9))
        hits += low <= 1 <= high
    assert hits / 2000 > 0.95


def test_permutation_p_is_exact_and_symmetric():
    assert s.permutation_p([10, 11, 12, 13, 14, 15], [1, 2, 3, 4, 5, 6], 1, 1) == pytest.approx(2 / 924)
    assert s.permutation_p([2.0, 4.0], [1.0, 2.0], 2, 1) == 1.0
    one = s.permutation_p([3, 4, 5], [1, 2, 6], 1, 1)
    assert one == pytest.approx(s.permutation_p([1, 2, 6], [5, 3, 4], 1, 1))
    assert s.permutation_p([1.0], [1.0, 2.0], 1, 1) is None
    assert s.permutation_p([0.0, 1.0], [1.0, 2.0], 1, 1) is None
    many = s.permutation_p(np.arange(1, 21.0), np.arange(1, 21.0), 1, 1)
    assert many > 0.9


def test_sign_flip_p_is_exact():
    assert s.sign_flip_p([2, 3, 4, 5, 6, 7], 1) == pytest.approx(2 / 64)
    assert s.sign_flip_p([0.5, 2.0], 1) == 1.0
    assert s.sign_flip_p(np.linspace(2, 3, 20), 1) < 0.001
    assert s.sign_flip_p([1.0], 1) is None


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=15))
def test_holm_never_lowers_a_p_value_and_keeps_their_order(values):
    adjusted = s.holm(values)
    assert [a is None for a in adjusted] == [v is None for v in values]
    pairs = sorted((p, a) for p, a in zip(values, adjusted, strict=True) if p is not None)
    for p, a in pairs:
        assert p <= a <= 1
    assert all(a <= b for (_, a), (_, b) in zip(pairs, pairs[1:], strict=False))


def test_holm_by_hand():
    assert s.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


@pytest.mark.parametrize("n", range(1, 13))
def test_the_error_of_a_median_is_that_of_simulated_ones(n):
    medians = np.median(np.random.default_rng(n).standard_normal((40000, n)), axis=1)
    assert s.median_error(n) == pytest.approx(medians.std(), rel=0.035)


def test_scatter_by_hand():
    assert s.scatter([1, math.e]) == pytest.approx(math.sqrt(0.5))
    assert s.scatter([0.0, 2.0]) == pytest.approx(math.sqrt(2)) and s.scatter([0.0, 0.0]) == 0
    assert s.scatter([0.3] * 3) == 0, "equal values have no rounding for a scatter"


# -- several sites

CLASP = (
    (5, 5, 12, 69, 9, 313),
    (156, 303, 565, 1570, 103, 4659),
    (8, 17, 9, 94, 11, 352),
    (74, 303, 477, 1565, 105, 4650),
)
"""Events and women in the trials of low-dose aspirin, treated and not."""
SITES = st.integers(3, 8).flatmap(
    lambda k: st.tuples(*(st.lists(st.floats(*ends), min_size=k, max_size=k) for ends in ((-3, 3), (0.01, 1))))
)


def test_a_published_random_effects_mean():
    """DerSimonian & Kacker, Contemporary Clinical Trials 28 (2007), tables 3 and 4, line PM: tau, mean, its error. The
    interval is that of statsmodels 0.15 by Hartung, Knapp, Sidik and Jonkman."""
    a, n, c, m = (np.array(each, dtype=float) for each in CLASP)
    odds, errors = np.log(a * (m - c) / (c * (n - a))), np.sqrt(1 / a + 1 / (n - a) + 1 / c + 1 / (m - c))
    found = s.random_effects(odds, errors)
    half = (found.interval[1] - found.interval[0]) / 2
    assert math.sqrt(found.tau2) == pytest.approx(0.3681, abs=5e-5)
    assert found.mean == pytest.approx(-0.3811, abs=5e-5)
    assert half / 2.570582 == pytest.approx(0.2060, abs=5e-5)  # Student's t with 5 degrees of freedom
    assert found.interval == pytest.approx((-0.91057552, 0.14845145), abs=1e-7)
    assert found.i2 == pytest.approx(0.48335725, abs=1e-7)
    beyond = 2.776445 * math.hypot(0.206, 0.3681)
    assert found.prediction == pytest.approx((found.mean - beyond, found.mean + beyond), abs=1e-3)


def test_sites_without_differences_have_the_mean_of_their_errors_alone():
    found = s.random_effects([1.0, 1.1, 0.9], [0.5, 1.0, 0.5])
    weights = np.array([4, 1, 4])
    assert (found.tau2, found.i2) == (0, 0)
    assert found.mean == pytest.approx(weights @ [1.0, 1.1, 0.9] / 9)
    assert found.interval[1] - found.mean == pytest.approx(4.302653 / 3)  # not less, however alike they are
    assert found.weights == pytest.approx(weights / 9)


def test_sites_that_differ_much_have_equal_weights():
    found = s.random_effects([1.0, 5.0, 9.0], [0.01, 0.02, 0.03])
    assert found.tau2 == pytest.approx(16, rel=1e-3) and found.i2 > 0.99
    assert found.mean == pytest.approx(5, rel=1e-3) and found.weights == pytest.approx([1 / 3] * 3, rel=1e-3)
    assert found.interval == pytest.approx((5 - 4.302653 * 4 / math.sqrt(3), 5 + 4.302653 * 4 / math.sqrt(3)), rel=1e-3)


def test_values_without_any_scatter_have_a_mean_too():
    assert s.random_effects([2.0, 2.0, 2.0], [0, 0, 0]).mean == pytest.approx(2)
    assert s.random_effects([2.0, 2.5, 3.0], [0, 0, 0]).tau2 == pytest.approx(0.25)
    assert s.random_effects([2.0, 2.5, 3.0], [0, 9, 9]).mean == pytest.approx(2)


@given(SITES, st.floats(-5, 5), st.floats(0.1, 10), st.randoms())
def test_a_mean_over_sites_moves_with_them_and_ignores_their_order(sites, shift, scale, random):
    estimates, errors = map(np.array, sites)
    found = s.random_effects(estimates, errors)
    squares = np.sum((estimates - found.mean) ** 2 / (errors**2 + found.tau2))
    assert squares <= (len(errors) - 1) * (1 + 1e-6)  # equal where tau2 is above 0
    assert found.tau2 == 0 or squares == pytest.approx(len(errors) - 1, rel=1e-6)
    assert found.prediction[0] <= found.interval[0] <= found.mean <= found.interval[1] <= found.prediction[1]
    order = random.sample(range(len(errors)), len(errors))
    moved = s.random_effects(shift + scale * estimates[order], scale * errors[order])
    assert moved.interval == pytest.approx([shift + scale * end for end in found.interval], rel=1e-5, abs=1e-5)
    assert moved.tau2 == pytest.approx(scale**2 * found.tau2, rel=1e-4, abs=1e-8)


def over_sites(k, tau, freedom, groups):
    """Shares of groups of `k` sites in which the mean's interval holds its true value, and that of a further site its
    own. Errors have `freedom` degrees of freedom, true values the standard deviation `tau`."""
    rng = np.random.default_rng(11)
    held = np.zeros(2)
    for _ in range(groups):
        true, errors = rng.normal(0, tau, k + 1), 0.1 * np.sqrt(rng.chisquare(freedom, k) / freedom)
        found = s.random_effects(true[:k] + rng.normal(0, 0.1, k), errors)
        held += found.interval[0] < 0 < found.interval[1], found.prediction[0] < true[k] < found.prediction[1]
    return held / groups


def test_intervals_over_sites_cover():
    """True values differ not at all, as much as the errors, and five times as much."""
    found = [over_sites(k, tau, 10, 120) for k in (3, 5, 10) for tau in (0.0, 0.1, 0.5)]
    of_mean, of_further = zip(*found, strict=True)
    assert min(of_mean) > 0.89 and np.mean(of_mean) > 0.95
    assert min(of_further) > 0.82 and np.mean(of_further) > 0.94


@pytest.mark.parametrize("freedom, mean, further", [(10, 0.962, 0.977), (4, 0.926, 0.958), (2, 0.896, 0.949)])
def test_ten_alike_sites_of_few_runs_have_less_coverage(freedom, mean, further):
    """Of the mean it is the least of docs/use/compare.md."""
    assert over_sites(10, 0.0, freedom, 1500) == pytest.approx([mean, further], abs=0.025)


@pytest.mark.parametrize("freedom, taken, share", [(4, 2, 0.015), (10, 5, 0.02), (2, 2, 0.137), (10, 1e9, 0.142)])
def test_a_difference_between_ten_alike_sites_is_found_as_often_as_documented(freedom, taken, share):
    rng = np.random.default_rng(11)
    groups = ((rng.normal(0, 0.1, 10), 0.1 * np.sqrt(rng.chisquare(freedom, 10) / freedom)) for _ in range(1500))
    found = [s.difference_p(*group, np.full(10, taken)) < 0.05 for group in groups]
    assert np.mean(found) == pytest.approx(share, abs=0.025)


def test_the_test_of_a_difference_is_welchs():
    """That of two sites is his test of two means, and with exact errors it is Cochran's."""
    one, two = np.array([1.0, 2.0, 4.0, 5.0]), np.array([2.0, 6.0, 7.0])
    means, errors = [one.mean(), two.mean()], [each.std(ddof=1) / math.sqrt(len(each)) for each in (one, two)]
    expected = scipy.stats.ttest_ind(one, two, equal_var=False).pvalue
    assert s.difference_p(means, errors, np.array([3, 2])) == pytest.approx(expected)
    assert s.difference_p([0.0, 0.0, 3.0], [1.0, 1.0, 1.0], np.full(3, 1e9)) == pytest.approx(math.exp(-3))  # Q is 6
