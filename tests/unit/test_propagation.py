"""The one interval: it holds the estimate, narrows with runs, and knows neither units nor which cell is above."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from whitewire import propagation as p
from whitewire.estimands.cells import ratio_limits
from whitewire.estimands.evidence import Sample
from whitewire.statistics import scatter

RUNS = st.lists(st.floats(0.5, 2.0), min_size=3, max_size=10)


def sample(values, name, overheads=None):
    values = np.asarray(values, dtype=float)
    return Sample(values, 0, "s", name, scatter(values), len(values) - 1, "time", overheads or {})


@given(RUNS, RUNS)
def test_an_interval_holds_its_estimate_and_turns_over_with_the_cells(one, two):
    a, b = sample(one, "a"), sample(two, "b")
    low, high = ratio_limits(a, b)
    assert low * (1 - 1e-9) <= a.centre / b.centre <= high * (1 + 1e-9)
    below, above = ratio_limits(b, a)
    assert (1 / above, 1 / below) == pytest.approx((low, high))


@given(RUNS, RUNS, st.floats(1e-3, 1e3))
def test_an_interval_scales_with_its_cell(one, two, factor):
    base = ratio_limits(sample(one, "a"), sample(two, "b"))
    scaled = ratio_limits(sample(np.array(one) * factor, "a"), sample(two, "b"))
    assert scaled == pytest.approx([end * factor for end in base], rel=1e-6)


@given(RUNS, st.integers(1, 50), st.integers(1, 50))
def test_an_interval_narrows_with_runs(values, fewer, more):
    one = sample(values, "a")
    widths = [high / low for low, high in (p.interval(1.0, one.errors(n)) for n in sorted({fewer, fewer + more}))]
    assert widths[0] >= widths[-1] * (1 - 1e-12)


def test_it_is_welchs():
    rng = np.random.default_rng(1)
    one, two = rng.lognormal(0, 0.1, 4), rng.lognormal(1, 0.3, 7)
    theirs = stats.ttest_ind(np.log(one), np.log(two), equal_var=False)
    found = ratio_limits(sample(one, "a"), sample(two, "b"))
    assert np.log(found) == pytest.approx(list(theirs.confidence_interval(0.95)))
    ratio = p.product([(1, sample(one, "a").errors()), (-1, sample(two, "b").errors())])
    point = math.exp(np.mean(np.log(one)) - np.mean(np.log(two)))
    assert p.p_value(point, ratio, 1.0) == pytest.approx(theirs.pvalue)


@given(st.floats(0.2, 5), st.floats(0.2, 5))
def test_an_overhead_that_two_cells_share_counts_by_the_difference_of_what_it_is_in_each(a, b):
    shared = [(1, {"overhead": (-0.1 / a, 3)}), (-1, {"overhead": (-0.1 / b, 3)})]
    assert p.standard_error(p.product(shared)) == pytest.approx(0.1 * abs(1 / a - 1 / b), abs=1e-12)
    apart = [(1, {"one": (-0.1 / a, 3)}), (-1, {"two": (-0.1 / b, 3)})]
    assert p.standard_error(p.product(apart)) == pytest.approx(0.1 * math.hypot(1 / a, 1 / b))


def test_what_does_not_scatter_has_an_interval_of_no_width_and_no_test():
    still = sample([2.0, 2.0, 2.0], "a")
    assert p.interval(2.0, still.errors()) == (2.0, 2.0) and p.p_value(2.0, still.errors(), 1.0) is None
    assert p.interval(0.0, sample([0.0] * 3, "a").errors()) == (0.0, 0.0)
    assert p.interval(math.nan, still.errors()) is None and p.interval(1.0, {"x": (math.nan, 3)}) is None


@pytest.mark.parametrize("noisy", [1, 4])
def test_the_interval_covers_the_ratio_of_unlike_cells(noisy):
    rng = np.random.default_rng(5)
    logs = 0.1 * rng.standard_normal((20000, 2, 6)) * np.array([noisy, 1])[:, None]
    half = p.half_width(logs.var(axis=-1, ddof=1) / 6, np.array([5, 5]), 0.05)
    held = np.abs(logs.mean(axis=-1) @ [1, -1]) <= half
    assert 0.945 < held.mean() < 0.965
