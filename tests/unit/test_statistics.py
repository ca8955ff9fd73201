"""Intervals cover, tests keep their level, and nothing depends on the order of the values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
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


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.9829, 0.99, 0.999])
def test_the_fewest_values_of_a_median_interval_are_those_that_have_one(confidence):
    n = s.fewest(confidence)
    assert s.median_interval(range(n), confidence) and not s.median_interval(range(n - 1), confidence)
    assert s.fewest(0.95) == s.MINIMUM


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


def test_ratio_interval_covers_the_ratio_and_needs_six_values():
    rng = np.random.default_rng(2)
    hits = 0
    for seed in range(120):
        a, b = 3 * rng.lognormal(0, 0.1, 6), rng.lognormal(0, 0.1, 6)
        low, high = s.ratio_interval(a, b, seed)
        hits += low <= 3 <= high
    assert hits / 120 > 0.85
    assert s.ratio_interval([1, 2, 3], [1, 2, 3], 1) is None
    assert s.ratio_interval([4.0] * 6, [2.0] * 6, 1) == (2.0, 2.0)


VARIANCES = st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=20)


@given(VARIANCES, st.integers(2, 20), st.floats(1e-3, 1e3))
def test_moderated_variances_lie_between_a_cells_own_and_what_all_say(variances, freedom, factor):
    found, freedoms = s.moderated(variances, [freedom] * len(variances))
    assert np.all(np.isfinite(found)) and np.all(found > 0)
    order = np.argsort(variances, kind="stable")
    assert np.all(np.diff(found[order]) >= -1e-9 * found.max())  # nothing changes places
    assert np.all(freedoms >= freedom)
    assert np.all(freedoms <= min(freedom + s.PRIOR_FREEDOM, freedom * len(variances)))
    scaled, same = s.moderated(np.array(variances) * factor, [freedom] * len(variances))
    assert scaled == pytest.approx(found * factor, rel=1e-6) and same == pytest.approx(freedoms)


@given(st.floats(1e-6, 1e6), st.integers(1, 20), st.integers(2, 20))
def test_cells_that_scatter_alike_keep_the_pooled_scatter(variance, freedom, cells):
    found, freedoms = s.moderated([variance] * cells, [freedom] * cells, most=math.inf)
    assert found == pytest.approx([variance] * cells) and list(freedoms) == [freedom * cells] * cells
    bounded, _ = s.moderated([variance] * cells, [freedom] * cells)
    assert bounded == pytest.approx([variance] * cells)


@given(st.floats(0, 1e6), st.integers(1, 20))
def test_a_cell_alone_keeps_its_own_scatter(variance, freedom):
    for variances, freedoms in (([variance], [freedom]), ([variance, 0.0], [freedom, 0])):
        found, degrees = s.moderated(variances, freedoms)
        assert found[0] == pytest.approx(variance) and degrees[0] == freedom


def test_moderated_variances_at_the_ends():
    found, degrees = s.moderated([0.0, 0.0, 0.0], [2, 2, 2])
    assert list(found) == [0, 0, 0] and list(degrees) == [3, 3, 3]
    found, degrees = s.moderated([np.nan, np.nan], [0, 0])
    assert np.all(np.isnan(found)) and list(degrees) == [0, 0]
    # A cell of one run has what the others say, at their freedom.
    found, degrees = s.moderated([1.0, 1.0, 0.0], [4, 4, 0])
    assert found == pytest.approx([1, 1, 1]) and list(degrees) == [5, 5, 8]


def test_moderated_variances_find_the_prior_that_they_were_drawn_from():
    rng = np.random.default_rng(4)
    true = 3.0 * 6 / rng.chisquare(6, 20000)
    seen = true * rng.chisquare(4, true.size) / 4
    found, degrees = s.moderated(seen, np.full(true.size, 4.0), most=math.inf)
    assert degrees[0] - 4 == pytest.approx(6, rel=0.1)
    # The posterior of a cell: (6 x 3 + 4 s^2) / 10.
    assert found == pytest.approx((18 + 4 * seen) / 10, rel=0.05)


def test_designs_are_moderated_each_on_its_own():
    rng = np.random.default_rng(4)
    seen, freedoms = rng.chisquare(3, (5, 8)), np.full((5, 8), 3.0)
    together = s.moderated(seen, freedoms)
    for row in range(5):
        alone = s.moderated(seen[row], freedoms[row])
        assert together[0][row] == pytest.approx(alone[0]) and together[1][row] == pytest.approx(alone[1])


def test_a_student_interval_needs_three_runs_a_cell_and_some_freedom():
    assert s.student_interval(2.0, [3, 3], [0.1, 0.1], [2, 2]) is not None
    assert s.student_interval(2.0, [3, 2], [0.1, 0.1], [9, 9]) is None
    assert s.student_interval(2.0, [3, 3], [0.1, 0.1], [4, 0]) is None
    assert s.student_interval(2.0, [3, 3], [0.1, math.nan], [4, 4]) is None
    assert s.student_interval(2.0, [3, 3], [0.0, 0.0], [8, 8]) == (2.0, 2.0)
    # t(0.975, 6) = 2.4469; the error of a median of three is 1.2533 x 0.1 / sqrt(3), of two of them sqrt(2) of that.
    low, high = s.student_interval(2.0, [3, 3], [0.1, 0.1], [3, 3])
    assert high == pytest.approx(2.0 * math.exp(2.4469 * 1.2533 * 0.1 * math.sqrt(2 / 3)), rel=1e-4)
    assert low * high == pytest.approx(4.0)


@pytest.mark.parametrize("noisy", [1, 2, 4])
def test_a_student_interval_covers_the_ratio_of_a_noisy_pair_among_calm_cells(noisy):
    rng = np.random.default_rng(5)
    inside, tries = 0, 1000
    for _ in range(tries):
        logs = 0.1 * rng.standard_normal((12, 3))
        logs[:2] *= noisy
        variances, freedoms = s.moderated(logs.var(axis=1, ddof=1), [2] * 12)
        point = 3.0 * math.exp(np.median(logs[0]) - np.median(logs[1]))
        low, high = s.student_interval(point, [3, 3], np.sqrt(variances[:2]), freedoms[:2])
        inside += low <= 3.0 <= high
    assert inside / tries > 0.93


def test_the_test_by_student_agrees_with_its_interval():
    low, high = s.student_interval(1.5, [3, 4], [0.2, 0.1], [7, 9])
    assert s.student_p(1.5, [3, 4], [0.2, 0.1], [7, 9], low) == pytest.approx(0.05)
    assert s.student_p(1.5, [3, 4], [0.2, 0.1], [7, 9], 1.5) == pytest.approx(1.0)
    assert s.student_p(1.5, [3, 4], [0.0, 0.0], [7, 9], 1.0) is None
    assert s.student_p(1.5, [2, 4], [0.2, 0.1], [7, 9], 1.0) is None


@given(st.lists(st.floats(0.01, 10), min_size=2, max_size=4), st.floats(1, 50))
def test_the_freedom_of_some_errors_lies_between_the_least_and_their_sum(spreads, freedom):
    n = len(spreads)
    assert freedom * (1 - 1e-9) <= s.welch_freedom([3] * n, spreads, [freedom] * n) <= n * freedom * (1 + 1e-9)


@given(st.lists(st.floats(0.1, 10), min_size=6, max_size=9), st.floats(0.1, 10))
@settings(max_examples=15, deadline=None)
def test_ratio_interval_scales_with_the_numerator(values, factor):
    base = s.ratio_interval(values, [1.0, 1.1, 1.2, 1.3, 1.4, 1.5], 5)
    scaled = s.ratio_interval([v * factor for v in values], [1.0, 1.1, 1.2, 1.3, 1.4, 1.5], 5)
    assert scaled == pytest.approx(tuple(b * factor for b in base))


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


def test_runs_to_decide_grows_as_the_bound_nears():
    samples = [np.exp(np.linspace(-0.2, 0.2, 6))] * 2
    far, near = (s.runs_to_decide(samples, 1.0, [b]) for b in (1.5, 1.05))
    assert 1 <= far < near <= 1000
    assert s.runs_to_decide([[1, 2]], 1.0, [2]) == 4
    assert s.runs_to_decide([[1.0] * 6], 1.0, [2]) is None
    assert s.runs_to_decide(samples, 1.0, [1.0]) is None
    assert s.runs_to_decide([], 1.0, [2.0]) is None
    few = [np.exp([-0.3, 0.0, 0.3])] * 2  # three runs lack three for an interval of their own, and far more to decide
    assert s.runs_to_decide(few, 1.0, [1.05]) > 100


def test_runs_that_narrow_what_other_errors_leave():
    # Half-widths in logarithms: 0.5 with four runs, 0.3 of it not theirs; the bound is 0.4 away.
    shown, least = (math.exp(-0.5), math.exp(0.5)), (math.exp(-0.3), math.exp(0.3))
    bound = math.exp(0.4)
    independent, added = (s.runs_to_narrow(4, 1.0, shown, least, [bound, 9.0], way) for way in (True, False))
    assert independent == math.ceil(4 * (0.25 - 0.09) / (0.16 - 0.09)) - 4
    assert added == 4 * 2**2 - 4
    assert s.runs_to_narrow(4, 1.0, shown, least, [math.exp(-0.2)], True) is None
    assert s.runs_to_narrow(4, 1.0, shown, least, [math.exp(-0.3000001)], True) == s.MOST_RUNS


def test_scatter_by_hand():
    assert s.log_sd([1, math.e]) == pytest.approx(math.sqrt(0.5))
