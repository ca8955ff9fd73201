"""Lanes as a blocking factor: what they add to values is taken off, and nothing else is."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.papers import paper, runs
from whitewire.analysis import judging, lane_effect
from whitewire.analysis.runs import LANE, Runs
from whitewire.estimands.cells import ratio_limits
from whitewire.propagation import p_value, product

LOADED = paper()
CELLS = [{"fabric": fabric, "clients": 1, "puts_per_client": 1} for fabric in ("1gbe", "10gbe")]
METRIC = "throughput"


def table(cells, rounds, lanes, effect, sd, seed):
    """Runs of some cells, rounds in one lane after the other; lane i adds `effect[i]` to logarithms."""
    rng = np.random.default_rng(seed)
    rows = [(f"c{cell}", 1 + number % lanes, cell + effect[number % lanes] + rng.normal(0, sd))
            for number in range(rounds) for cell in range(cells)]  # fmt: skip
    found = pd.DataFrame(rows, columns=["cell", LANE, "log"])
    return found.assign(value=np.exp(found["log"]), block="quick-1")


def taken_off(rows):
    found = lane_effect.effect(rows["value"], rows["cell"], rows["block"], rows[LANE])
    return rows["log"] - found.shift, found


@given(st.integers(2, 5), st.integers(2, 4), st.lists(st.floats(-0.5, 0.5), min_size=4, max_size=4), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_a_known_effect_is_taken_off_whole_and_the_level_of_the_block_stays(cells, lanes, effect, seed):
    rows = table(cells, 2 * lanes + 1, lanes, effect, 0.0, seed)
    left, found = taken_off(rows)
    assert found.lost == lanes - 1
    assert left.groupby(rows["cell"]).std().max() < 1e-9
    assert left.mean() == pytest.approx(rows["log"].mean(), abs=1e-9)


@given(st.lists(st.floats(-0.5, 0.5), min_size=2, max_size=2), st.integers(0, 99), st.data())
@settings(max_examples=60, deadline=None)
def test_ratios_within_a_lane_are_what_they_were(effect, seed, data):
    rows = table(4, 6, 2, effect, 0.05, seed)
    gone = data.draw(st.sets(st.integers(0, len(rows) - 1), max_size=6))  # runs that did not count
    rows = rows.drop(index=list(gone)).reset_index(drop=True)
    left, _ = taken_off(rows)
    moved = (left - rows["log"]).groupby(rows[LANE]).agg(np.ptp)
    assert moved.max() < 1e-9


@given(st.integers(2, 4), st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_the_error_of_a_ratio_is_that_of_least_squares_over_cell_and_lane(lanes, seed):
    rows = table(3, 6, lanes, [0.0, 0.1, -0.1, 0.2], 0.05, seed)
    rows[LANE] = np.random.default_rng(seed).integers(1, lanes + 1, len(rows))  # unequal shares of lanes in the cells
    left, found = taken_off(rows)
    assume(found.errors)
    cells, of_lanes = (pd.get_dummies(rows[each], dtype=float).to_numpy() for each in ("cell", LANE))
    design, logs = np.hstack([cells, of_lanes[:, 1:]]), rows["log"].to_numpy()
    inverse = np.linalg.inv(design.T @ design)
    fitted = inverse @ design.T @ logs
    variance = np.sum((logs - design @ fitted) ** 2) / (len(logs) - design.shape[1])
    one, two = (rows["cell"] == name for name in ("c0", "c1"))
    assert left[one].mean() - left[two].mean() == pytest.approx(fitted[0] - fitted[1])
    added = sum((part[one].mean() - part[two].mean()) ** 2 for part, _ in found.errors.values())
    expected = inverse[0, 0] + inverse[1, 1] - 2 * inverse[0, 1]
    assert variance * (1 / one.sum() + 1 / two.sum()) + added == pytest.approx(variance * expected)


def test_one_lane_changes_nothing_and_one_that_is_all_of_a_cell_is_not_distinguished():
    rows = table(3, 4, 1, [0.3], 0.05, 1)
    assert not taken_off(rows)[1].shift.any()
    apart = rows.assign(lane=[1 if cell == "c0" else 2 for cell in rows["cell"]])
    assert not taken_off(apart)[1].shift.any()
    assert lane_effect.difference(rows["value"], rows["cell"], rows[LANE]) is None


@pytest.mark.parametrize("lanes", [2, 3])
def test_the_interval_of_the_difference_holds_the_truth_as_often_as_it_says(lanes):
    effect, held, times = [0.0, 0.05, 0.02], 0, 400
    for seed in range(times):
        rows = table(4, 6, lanes, effect, 0.03, seed)
        found = lane_effect.difference(rows["value"], rows["cell"], rows[LANE])
        held += found.low <= math.expm1(0.05) <= found.high
    assert held / times >= 0.93


BASE = runs(LOADED)
BASE = BASE[(BASE["experiment"] == "put-grid") & (BASE["metric"] == METRIC) & (BASE["clients"] == 1)]


def made(effect, seed, lanes=2, sd=0.03):
    """Runs of a paper of which a round is made in one lane, with a lane's effect of as much; all cells are alike."""
    found = BASE.copy()
    rng = np.random.default_rng(seed)
    number = pd.to_numeric(found["replicate"])
    found[LANE] = (1 + number % lanes).astype(int)
    scatter = np.exp(rng.normal(0, sd, len(found)) + effect * (number % lanes))
    for column in ("value", "full_scale_value"):
        found[column] = 100.0 * scatter
    return found


@pytest.mark.parametrize("effect", [0.0, 0.05, 0.2])
def test_intervals_of_ratios_cover_whatever_lanes_add(effect):
    held, narrow, times = 0, [], 60
    for seed in range(times):
        known = Runs(made(math.log1p(effect), seed), LOADED)
        a, b = (known.sample("put-grid", cell, METRIC) for cell in CELLS)
        assert len(a.values) >= 3
        low, high = ratio_limits(a, b)
        held += low <= 1 <= high
        narrow.append(high / low)
    assert held / times >= 0.9
    assert np.median(narrow) < 1.3, "an effect of 20 % is no scatter"


def test_intervals_cover_where_the_cells_have_unequal_shares_of_the_lanes():
    """One cell is made in the second lane but for one run, the other in the first."""
    rows = BASE[BASE["puts_per_client"] == 1].copy()
    first, fast = pd.to_numeric(rows["replicate"]) == 1, rows["fabric"] == "10gbe"
    rows[LANE] = 1 + (first ^ fast)
    held, times = 0, 300
    for seed in range(times):
        logs = 0.03 * np.random.default_rng(seed).standard_normal(len(rows)) + 0.05 * rows[LANE]
        known = Runs(rows.assign(value=np.exp(logs), full_scale_value=np.exp(logs)), LOADED)
        low, high = ratio_limits(*(known.sample("put-grid", cell, METRIC) for cell in CELLS))
        held += low <= 1 <= high
    assert held / times >= 0.92


@pytest.mark.parametrize("apart", [True, False])
def test_cells_in_lanes_of_their_own_are_compared_with_a_caution(apart):
    rows = made(0.2, 1)
    rows[LANE] = 1 + (rows["fabric"] == "10gbe") if apart else rows[LANE]
    cells = [{"experiment": "put-grid", "where": cell} for cell in CELLS]
    test = {"estimand": "ratio", "metric": METRIC, "numerator": cells[0], "denominator": cells[1], "relation": "within",
            "expected": 1, "relative": 0.1, "no_effect": 1}  # fmt: skip
    reason = judging.judged(LOADED, test, "measured", Runs(rows, LOADED), [])["reason"]
    assert ("measured in different lanes, which are confounded with them" in reason) == apart


def test_cells_whose_runs_are_alike_but_for_their_lane_do_not_scatter():
    known = Runs(made(0.2, 1, sd=0.0), LOADED)
    a, b = (known.sample("put-grid", cell, METRIC) for cell in CELLS)
    assert (a.spread, b.spread) == (0, 0)
    assert a.centre == pytest.approx(b.centre, rel=1e-12)
    assert p_value(a.centre / b.centre, product([(1, a.errors()), (-1, b.errors())]), 1.0) is None


def test_the_scatter_has_lost_the_degrees_of_freedom_of_the_lanes():
    alone = Runs(made(0.0, 1).drop(columns=LANE), LOADED)
    spread = Runs(made(0.0, 1), LOADED)
    a, b = (each.sample("put-grid", CELLS[0], METRIC) for each in (alone, spread))
    assert b.freedom < a.freedom
    assert spread.lanes.differences()
    assert not alone.lanes.differences()


def test_the_first_runs_of_each_cell_are_those_that_were_measured():
    known = Runs(made(0.2, 1), LOADED)
    again = known.first(3)
    once = Runs(known.lanes.measured[pd.to_numeric(known.lanes.measured["replicate"]) <= 3], LOADED)
    pd.testing.assert_frame_equal(again.table.reset_index(drop=True), once.table.reset_index(drop=True))


def test_without_a_valid_run_there_is_no_effect_of_lanes():
    known = Runs(made(0.2, 1).assign(valid="False"), LOADED)
    assert not known.lanes.lost
    assert not known.lanes.differences()


@pytest.mark.parametrize(("metric", "unit"), [("link_share", "1"), ("cpu_late", "ms")])
def test_shares_and_metrics_of_the_machine_keep_their_values(metric, unit):
    rows = made(0.2, 1).assign(metric=metric, value=0.99, unit=unit, full_scale_value=math.nan, full_scale_unit="")
    rows.loc[rows[LANE] == 1, "value"] = 0.8
    known = Runs(rows, LOADED)
    assert sorted(known.table["best"].unique()) == [0.8, 0.99]
    assert not known.lanes.lost
