"""Levels of repeated looks: the published ones, their limits, and what looking often costs without them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from whitewire import sequential as q

LADDERS = st.lists(st.integers(3, 60), min_size=1, max_size=6, unique=True).map(lambda each: tuple(sorted(each)))
LADDER = (3, 4, 6, 8, 10)


@pytest.mark.parametrize(
    ("looks", "level"), [(1, 0.05), (2, 0.0294), (3, 0.0221), (4, 0.0182), (5, 0.0158), (10, 0.0106)]
)
def test_pococks_levels(looks, level):
    # Pocock (1977), table 1; Jennison & Turnbull (2000), table 2.1. All looks after as many further runs.
    assert q.nominal(0.05, tuple(range(1, looks + 1))) == pytest.approx(level, abs=5e-5)


def test_one_look_costs_nothing():
    for looks in ((), (6,)):
        assert q.nominal(0.05, looks) == 0.05 and q.overall(0.0123, looks) == 0.0123


@given(LADDERS, st.floats(1e-4, 0.2))
@settings(max_examples=40, deadline=None)
def test_levels_lie_between_bonferronis_and_the_whole(looks, alpha):
    level = q.nominal(alpha, looks)
    assert alpha / len(looks) * (1 - 1e-9) <= level <= alpha * (1 + 1e-9)
    assert q.overall(level, looks) == pytest.approx(alpha, rel=1e-6)


@given(LADDERS, st.floats(1e-9, 1), st.floats(1e-9, 1))
@settings(max_examples=40, deadline=None)
def test_a_p_value_over_all_looks_keeps_the_order_and_is_no_smaller(looks, p, other):
    one, two = q.overall(p, looks), q.overall(other, looks)
    assert p * (1 - 1e-9) <= one <= min(1.0, p * len(looks) * (1 + 1e-9))
    assert (one <= two + 1e-9) if p <= other else (two <= one + 1e-9)


def test_more_looks_in_between_ask_for_more():
    assert q.nominal(0.05, LADDER) < q.nominal(0.05, (3, 6, 10)) < q.nominal(0.05, (3, 10)) < 0.05


def test_it_is_the_multivariate_normal():
    looks = np.array(LADDER)
    correlation = np.sqrt(np.minimum.outer(looks, looks) / np.maximum.outer(looks, looks))
    for p in (0.3, 0.05, 0.01):
        z = stats.norm.isf(p / 2)
        within = stats.multivariate_normal.cdf([z] * 5, cov=correlation, lower_limit=[-z] * 5)
        assert q.overall(p, LADDER) == pytest.approx(1 - within, abs=2e-4)


def test_looking_without_it_is_wrong_more_often_than_said():
    rng = np.random.default_rng(1)
    sums = np.cumsum(rng.standard_normal((40000, 10)), axis=1)[:, np.array(LADDER) - 1]
    z = np.abs(sums / np.sqrt(LADDER)).max(axis=1)
    assert np.mean(2 * stats.norm.sf(z) < 0.05) == pytest.approx(q.overall(0.05, LADDER), abs=0.006)
    assert np.mean(2 * stats.norm.sf(z) < q.nominal(0.05, LADDER)) == pytest.approx(0.05, abs=0.005)
