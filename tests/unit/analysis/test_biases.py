"""Known errors of the emulation widen the intervals that rest on their cells, and no others."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.papers import PAPER, TESTBED, runs
from whitewire.analysis import biases, judging
from whitewire.analysis.runs import Runs
from whitewire.description.checks import _cross_check, load_paper
from whitewire.description.paper import Paper
from whitewire.errors import UserError
from whitewire.estimands.evidence import Evidence
from whitewire.estimands.ratio import Ratio

LOADED = load_paper(PAPER, TESTBED["fabrics"])
EXPERIMENT = next(e for e in LOADED.raw["experiments"] if "fabric" in e["factors"])
CELL, OTHER = (
    {
        "experiment": EXPERIMENT["id"],
        "where": {f: levels[n % len(levels)] for f, levels in EXPERIMENT["factors"].items()},
    }
    for n in (0, 1)
)
RATIO = {"estimand": "ratio", "metric": "throughput", "numerator": OTHER, "denominator": CELL}
SHARE = {"estimand": "share", "metric": "throughput", "cell": CELL}


def paper(**change) -> Paper:
    raw = copy.deepcopy(dict(LOADED.raw))
    raw["biases"] = [{"cell": CELL, "metrics": ["throughput"], "lower": 1, "upper": 1.08, "source": "a study"} | change]
    return Paper(raw, LOADED.path)


def on_several(k, **change) -> Paper:
    raw = copy.deepcopy(dict(LOADED.raw))
    bias = {"cell": CELL, "metrics": ["throughput"], "lower": 1, "upper": [1.08, 1.17], "source": "a study"} | change
    raw["scale"], raw["biases"] = raw["scale"] | {"k": k}, [bias]
    return Paper.of(raw, LOADED.path)


def test_a_side_of_a_ratio_has_the_error_of_its_own_metric():
    own = {**RATIO, "metric": "completion_time", "denominator": {**CELL, "metric": "throughput"}}
    assert biases.factors(paper(), own)[:2] == pytest.approx((1 / 1.08, 1))
    other = {**RATIO, "denominator": {**CELL, "metric": "completion_time"}}
    assert biases.factors(paper(), other) == (1, 1, "")


def test_each_k_has_the_error_that_a_study_showed_of_it():
    found = on_several([100, 200])
    assert [biases.factors(found.on(candidate), SHARE)[:2] for candidate in (0, 1)] == [(1, 1.08), (1, 1.17)]
    _cross_check(found, list(TESTBED["fabrics"]))


@pytest.mark.parametrize(("k", "change", "said"), [
    ([100, 200], {"upper": 1.08}, r"biases\[0\]\.upper: found 1.08, expected a list with a number for each k"),
    ([100, 200, 300], {}, r"biases\[0\]\.upper: found \[1.08, 1.17\], expected a list with a number for each k"),
    (100, {}, r"biases\[0\]\.upper: found \[1.08, 1.17\], expected a number, since there is one k, 100"),
    ([100, 200], {"lower": [1, 1.2]}, r"biases\[0\]\.lower: found 1.2, expected no more than upper, 1.17"),
])  # fmt: skip
def test_an_error_that_is_known_of_another_k_is_refused(k, change, said):
    with pytest.raises(UserError, match=said):
        _cross_check(on_several(k, **change), list(TESTBED["fabrics"]))


def test_a_cell_below_the_line_divides():
    assert biases.factors(paper(), SHARE) == (1, 1.08, "a study")
    assert biases.factors(paper(), RATIO) == (1 / 1.08, 1, "a study")
    assert biases.factors(paper(), RATIO | {"numerator": CELL, "denominator": OTHER}) == (1, 1.08, "a study")
    # Both sides: the errors need not be the same.
    assert biases.factors(paper(), RATIO | {"numerator": CELL})[:2] == (1 / 1.08, 1.08)


@pytest.mark.parametrize("test", [
    RATIO | {"denominator": OTHER}, RATIO | {"metric": "completion_time"},
    {"estimand": "expression", "expression": "1"},
])  # fmt: skip
def test_nothing_else_is_touched(test):
    evidence = Evidence("runs", 1.1, 1.0, 1.2)
    assert biases.widened(paper(), test, evidence) == (evidence, "")


def test_the_interval_and_what_is_said():
    found, said = biases.widened(paper(), RATIO, Evidence("runs", 1.13, 1.12, 1.14, direction=(1.1, 1.2)))
    assert (found.estimate, found.high, found.direction[1]) == (1.13, 1.14, 1.2)
    assert found.low == pytest.approx(1.12 / 1.08) and found.direction[0] == pytest.approx(1.1 / 1.08)
    assert said == "the interval holds the emulation's own error, 0.926 to 1 times (a study)"
    without = Evidence("runs", 1.13)
    assert biases.widened(paper(), RATIO, without) == (without, "")


@pytest.mark.parametrize(("low", "high", "verdict"), [(0.93, 1.06, "not reproduced"), (0.9, 1.06, "inconclusive")])
def test_no_effect_matters_that_is_no_larger_than_the_emulation_s_own_error(monkeypatch, low, high, verdict):
    monkeypatch.setattr(Ratio, "evaluate", lambda *_: Evidence("runs", 1.0, low, high, n=6))
    test = RATIO | {"relation": "above", "expected": 1, "no_effect": 1}
    found = judging.judged(paper(), test, "emulated", Runs(runs(LOADED), LOADED), [])
    assert found["verdict"] == verdict and ("no effect above 8 %" in found["reason"]) == (verdict != "inconclusive")


def narrowing(estimate, half):
    """The interval of n runs, as wide as one over the root of n."""
    return lambda n: (estimate * math.exp(-half / math.sqrt(n)), estimate * math.exp(half / math.sqrt(n)))


ABOVE = RATIO | {"relation": "above", "expected": 1.1, "no_effect": 1}
NONE = RATIO | {"relation": "above", "expected": 1, "no_effect": 1}


@pytest.mark.parametrize(("test", "estimate", "half", "needed"), [
    # 0.926 times the lower end is above 1.1 from 25 runs on; by the runs alone it would be from 8 on.
    (ABOVE, 1.3, 0.45, 22),
    (ABOVE, 1.15, 0.45, None),  # 1.065 to 1.15 would be left of any number
    # No effect above the error's own 8 %: 1.02 with its scatter is below 1.08 from 28 runs on.
    (NONE, 1.02, 0.3, 25),
])  # fmt: skip
def test_the_further_runs_that_decide_allow_for_the_emulation_s_own_error(monkeypatch, test, estimate, half, needed):
    again = narrowing(estimate, half)
    found = Evidence("runs", estimate, *again(3), n=3, again=again, error=half / 10)
    monkeypatch.setattr(Ratio, "evaluate", lambda *_: found)
    row = judging.judged(paper(), test, "emulated", Runs(runs(LOADED), LOADED), [])
    assert (row["verdict"], row["runs_needed"], row["runs_help"]) == ("inconclusive", needed, needed is not None)
    assert row["again"](10) == pytest.approx((again(10)[0] / 1.08, again(10)[1]))
    if needed:
        low, high = again(3 + needed)
        monkeypatch.setattr(Ratio, "evaluate", lambda *_: replace(found, low=low, high=high, n=3 + needed))
        assert judging.judged(paper(), test, "emulated", Runs(runs(LOADED), LOADED), [])["verdict"] != "inconclusive"


@given(st.floats(0.5, 1), st.floats(1, 2), st.floats(0, 10), st.floats(0, 10))
def test_an_interval_never_gets_narrower(lower, upper, one, other):
    low, high = sorted((one, other))
    found, _ = biases.widened(paper(lower=lower, upper=upper), RATIO, Evidence("runs", low, low, high))
    assert found.low <= low and found.high >= high


@pytest.mark.parametrize(("change", "said"), [
    ({"cell": CELL | {"experiment": "put-grit"}}, r"biases\[0\]\.cell\.experiment"),
    ({"cell": CELL | {"where": {"fabric": "9gbe"}}}, r"biases\[0\]\.cell\.where"),
    ({"lower": 1.2}, r"biases\[0\]\.lower: found 1.2, expected no more than upper, 1.08"),
])  # fmt: skip
def test_a_bias_of_no_cell_is_refused(change, said):
    with pytest.raises(UserError, match=said):
        _cross_check(paper(**change), list(TESTBED["fabrics"]))
