"""Intervals cover, tests keep their level, and nothing depends on the order of the values."""

from __future__ import annotations

import math

import numpy as np
import pytest
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
