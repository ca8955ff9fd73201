"""The inverse question: a measured curve read backwards."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire.analysis import inverse
from whitewire.analysis.inverse import _answer, _needed
from whitewire.analysis.runs import Runs

RATES = np.array([5.0, 10.0, 20.0, 40.0])


def test_between_two_points_it_is_read_off_the_line():
    # 1 at the base, 0.5 at twice the rate: 0.75 lies half-way over the logarithm of the rate.
    assert _needed(RATES, np.array([2.0, 1.0, 0.5, 0.25]), 1, 0.75) == pytest.approx(2**0.5)
    assert _needed(RATES, np.array([2.0, 1.0, 0.5, 0.25]), 1, 0.25) == pytest.approx(4)
    assert _needed(RATES, np.array([2.0, 1.0, 0.5, 0.25]), 1, 2.0) == pytest.approx(0.5)


def test_what_no_rate_gives_is_no_number():
    assert np.isnan(_needed(RATES, np.array([2.0, 1.0, 0.9, 0.88]), 1, 0.5))


def test_of_two_crossings_the_nearest_counts():
    wavy = np.array([0.6, 1.0, 0.6, 0.6])
    assert _needed(np.array([1.0, 10.0, 20.0, 40.0]), wavy, 1, 0.8) == pytest.approx(2**0.5)


@given(st.floats(0.3, 3), st.floats(0.05, 0.95))
def test_a_power_law_gives_back_its_own_ratio_within_the_grid(slope, part):
    rates = np.geomspace(1, 64, 60)
    values = rates**-slope
    ratio = 64**part
    assert _needed(rates, values, 0, ratio**-slope) == pytest.approx(ratio, rel=0.02)


CURVE = {"1gbe": 8.0, "2gbe": 4.0, "5gbe": 2.0, "10gbe": 1.0, "20gbe": 0.5}
FABRICS = {name: {"rate_mbit_per_s": float(name.removesuffix("gbe")) * 1000} for name in CURVE}
PAPER = SimpleNamespace(
    factors=["fabric"],
    experiments={"curve": {"workload": "terasort", "factors": {"fabric": list(CURVE)}}},
    parameters=lambda experiment, levels: {"maps": 1},
    family=lambda experiment: [experiment],
    evaluate=float,
)
ASKED = {
    "experiment": "curve", "factor": "fabric", "metric": "completion_time_net", "from": "10gbe", "effect": 0.5,
    "plausible": [1, 4], "plausible_basis": "",
}  # fmt: skip


def curve(overhead, scatter=0.01, runs=4):
    """Net times of a curve that halves as the link doubles (but for the rounding of 5 to 2), by the overhead."""
    rng = np.random.default_rng(1)
    rows = [
        {"run_id": f"{fabric}-{n}", "attempt": 1, "experiment": "curve", "fabric": fabric, "metric": metric,
         "value": value, "unit": "s", "full_scale_value": "", "full_scale_unit": "", "valid": "true"}
        for fabric, seconds in CURVE.items()
        for n in range(runs)
        for metric, value in (
            ("completion_time_net", seconds * np.exp(scatter * rng.standard_normal())),
            ("job_floor", overhead),
        )
    ]  # fmt: skip
    return Runs(pd.DataFrame(rows), PAPER)


def test_a_link_is_found_with_an_interval_around_it():
    found = _answer(PAPER, curve(overhead=1.0), ASKED | {"effect": 0.75}, FABRICS)  # half-way between 1 and 0.5
    assert found["link_ratio"] == pytest.approx(2**0.5, rel=0.03)
    assert 1.3 < found["link_ratio_low"] < 2**0.5 < found["link_ratio_high"] < 1.5
    assert (found["reached"], found["plausible"], found["left_out"], found["n"]) == (True, "yes", "", 4)


def test_a_rate_that_the_overhead_hides_is_no_point_of_the_curve_and_may_have_the_effect():
    found = _answer(PAPER, curve(overhead=4.0), ASKED, FABRICS)  # a fifth is 0.8 s: 0.5 s at 20 Gbit/s is hidden
    assert (found["left_out"], found["reached"], found["plausible"]) == ("20gbe", False, "cannot say")
    hidden = _answer(PAPER, curve(overhead=20.0), ASKED, FABRICS)  # so is the start
    assert (hidden["plausible"], hidden["n"]) == ("cannot say", 0)
    unasked = _answer(PAPER, curve(overhead=1.0), ASKED | {"effect": 0.2}, FABRICS)
    assert (unasked["reached"], unasked["plausible"]) == (False, "no")


@pytest.mark.parametrize("gone", ["not made", "not valid", "without a net time"])
def test_a_rate_without_a_value_is_a_hole_of_the_curve_and_may_have_the_effect(gone):
    table = curve(overhead=1.0).table
    fastest = table["fabric"] == "20gbe"
    if gone == "not made":
        table = table[~fastest]
    elif gone == "not valid":
        table.loc[fastest, "valid"] = False
    else:
        table.loc[fastest & (table["metric"] == "completion_time_net"), "value"] = None
    found = _answer(PAPER, Runs(table, PAPER), ASKED | {"effect": 0.2}, FABRICS)
    assert (found["left_out"], found["reached"], found["plausible"]) == ("20gbe", False, "cannot say")
    elsewhere = {name: rate for name, rate in FABRICS.items() if name != "20gbe"}  # no network of this testbed: no hole
    assert _answer(PAPER, Runs(table, PAPER), ASKED | {"effect": 0.2}, elsewhere)["plausible"] == "no"


def test_without_a_draw_that_has_the_effect_there_is_no_interval(monkeypatch):
    monkeypatch.setattr(inverse, "_noise", lambda points, seed: np.full((inverse._DRAWS, len(points)), np.nan))
    found = _answer(PAPER, curve(overhead=1.0), ASKED | {"effect": 0.75}, FABRICS)
    assert (found["reached"], found["plausible"]) == (True, "cannot say") and "link_ratio_low" not in found


def test_yes_takes_more_than_the_draws_that_happen_to_reach_the_effect():
    # The best rate measured has just the effect, so that about half of the draws have none.
    found = _answer(
        PAPER, curve(overhead=0.1, scatter=0.05), ASKED | {"effect": 0.5 * 1.001, "plausible": [1, 9]}, FABRICS
    )
    assert found["plausible"] == "cannot say"
