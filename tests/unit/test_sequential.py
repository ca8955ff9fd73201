"""Levels of interim analyses: published ones, their sum, and what is left for the last."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from whitewire import sequential as q

PLANS = st.lists(st.integers(3, 60), min_size=1, max_size=5, unique=True).map(lambda each: tuple(sorted(each)))
PLANNED = (3, 6, 10)


@given(PLANS, st.floats(1e-4, 0.2))
@settings(max_examples=20, deadline=None)
def test_all_analyses_together_have_the_level(analyses, alpha):
    levels = q.levels(alpha, analyses, analyses[-1])
    assert max(levels) <= alpha * (1 + 1e-9) and sum(levels) >= alpha * (1 - 1e-9)


def test_without_an_effect_all_together_are_wrong_as_often_as_said():
    rng = np.random.default_rng(1)
    sums = np.cumsum(rng.standard_normal((40000, 10)), axis=1)[:, np.array(PLANNED) - 1]
    p = 2 * stats.norm.sf(np.abs(sums / np.sqrt(PLANNED)))
    assert np.mean((p < np.array(q.levels(0.05, PLANNED, 10))).any(axis=1)) == pytest.approx(0.05, abs=0.004)


def test_it_is_the_multivariate_normal():
    analyses = np.array(PLANNED)
    z = stats.norm.isf(np.array(q.levels(0.05, PLANNED, 10)) / 2)
    correlation = np.sqrt(np.minimum.outer(analyses, analyses) / np.maximum.outer(analyses, analyses))
    within = stats.multivariate_normal.cdf(z, cov=correlation, lower_limit=-z)
    assert 1 - within == pytest.approx(0.05, abs=2e-4)


def test_one_analysis_costs_nothing():
    for analyses in ((), (6,)):
        assert q.nominal(0.05, 4, analyses) == 0.05 and q.overall(0.0123, 4, analyses) == 0.0123


def test_it_spends_late_and_the_last_analysis_what_is_left():
    levels = [q.nominal(0.05, n, PLANNED) for n in PLANNED]
    assert all(before < after for before, after in itertools.pairwise(levels))
    assert q.nominal(0.05, 3, PLANNED, ended=True) == pytest.approx(0.05)  # nothing was spent before
    assert levels[1] < q.nominal(0.05, 6, PLANNED, ended=True) < 0.05
    assert q.nominal(0.05, 10, PLANNED) == q.nominal(0.05, 10, PLANNED, ended=True)
    assert levels[0] < q.nominal(0.05, 5, PLANNED) < levels[1]  # a run lacks: the share of runs there are
    assert 0.04 < q.nominal(0.05, 25, PLANNED) <= 0.05  # more than were planned


@given(st.sampled_from([3, 5, 6, 10]), st.floats(1e-9, 1), st.booleans())
@settings(max_examples=40, deadline=None)
def test_a_p_value_over_all_analyses_is_no_smaller_and_rejects_when_the_interval_does(n, p, ended):
    found = q.overall(p, n, PLANNED, ended)
    assert p * (1 - 1e-6) <= found <= 1
    level = q.nominal(0.05, n, PLANNED, ended)
    assert (found < 0.05) == (p < level) or p == pytest.approx(level, rel=1e-6)


def test_a_second_turn_that_interim_analyses_chose_keeps_the_level_and_two_verdicts_do_not():
    """After 5 runs of each cell the budget of a paper ends; what is open after 3 goes on to 8 where time is left."""
    sums = np.cumsum(np.random.default_rng(2).standard_normal((60000, 10)), axis=1)

    def rejects(n, ended=False):
        p = 2 * stats.norm.sf(np.abs(sums[:, n - 1] / np.sqrt(n)))
        return p < q.nominal(0.05, n, PLANNED, ended)

    first = rejects(3) | rejects(5, ended=True)
    last = rejects(3) | rejects(6) | rejects(8, ended=True)
    assert np.mean(first) == pytest.approx(0.05, abs=0.003)
    assert np.mean(last) == pytest.approx(0.05, abs=0.003)
    assert 0.06 < np.mean(first | last) < 0.08, "whoever chooses between the two is wrong more often"
