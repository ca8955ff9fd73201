"""Holm's correction over a paper's claims: each number counts once, and each claim keeps its own p-value."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire import statistics
from whitewire.analysis import judging
from whitewire.estimands import estimand_of
from whitewire.text import canonical

FAST, SLOW, OTHER = ({"experiment": "put", "where": {"fabric": name}} for name in ("10gbe", "1gbe", "40gbe"))
AGAINST_ONE = {"relation": "above", "expected": 1, "no_effect": 1}


def ratio(above, below, **more):
    cells = {"numerator": above, "denominator": below}
    return {"estimand": "ratio", "metric": "throughput", **cells, **AGAINST_ONE, **more}


def share(over, **more):
    return {"estimand": "share", "metric": "throughput", "cell": FAST, "over": over, **AGAINST_ONE, **more}


def adjusted(*tests_with_p):
    paper = SimpleNamespace(claims=[{"test": test} for test, _ in tests_with_p])
    rows = [{**AGAINST_ONE, "p_overall": p, "asks": "direction", "verdict": "reproduced", "reason": "", "low": 1.1,
             "high": 1.2, "runs_help": False} for _, p in tests_with_p]  # fmt: skip
    return [row["p_holm"] for row in judging._corrected(paper, rows)]


def same(one, two):
    return canonical(estimand_of(one).same_as()) == canonical(estimand_of(two).same_as())


def test_two_claims_of_one_ratio_keep_their_own_p_values_and_count_once():
    """One was decided at an interim analysis and kept; the other was judged by the last one."""
    assert adjusted((ratio(FAST, SLOW), 0.03), (ratio(FAST, SLOW), 0.01), (ratio(OTHER, SLOW), 0.04)) == pytest.approx(
        [0.06, 0.02, 0.04]
    )


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=6))
def test_of_different_numbers_it_is_holms(p_values):
    cells = [{"experiment": "put", "where": {"fabric": f"{number}gbe"}} for number in range(len(p_values))]
    found = adjusted(*((ratio(cell, SLOW, metric="rate"), p) for cell, p in zip(cells, p_values, strict=True)))
    assert found == pytest.approx(statistics.holm(p_values))


def test_a_share_of_another_divisor_is_another_number():
    assert same(share({"link_of": "10gbe"}), share({"link_of": "10gbe"}, expected=0.9))
    assert not same(share({"link_of": "10gbe"}), share({"constant": 108}))
    found = adjusted((share({"link_of": "10gbe"}), 0.03), (share({"constant": 108}), 0.04))
    assert found == pytest.approx([0.06, 0.06])


@pytest.mark.parametrize("none", [1, 0.5, 0.3, 1.7])
def test_a_ratio_upside_down_is_the_same_number(none):
    one = ratio(FAST, SLOW, no_effect=none)
    assert same(one, ratio(SLOW, FAST, no_effect=1 / none))
    assert same(one, ratio(SLOW, FAST, no_effect=none)) == (none == 1)
    assert not same(one, ratio(OTHER, SLOW, no_effect=none))
    assert not same(one, ratio(FAST, SLOW, no_effect=none, statistic="mean"))


def test_a_side_with_a_metric_of_its_own_turns_over_with_it():
    rated = {**SLOW, "metric": "read_throughput"}
    assert same(ratio(FAST, rated), ratio(rated, FAST))
    assert not same(ratio(FAST, rated), ratio({**FAST, "metric": "read_throughput"}, SLOW))


def test_a_ratio_of_ratios_is_the_same_however_it_is_turned():
    pair, other = {"numerator": FAST, "denominator": SLOW}, {"numerator": OTHER, "denominator": SLOW}
    test = ratio(pair, other) | {"estimand": "ratio_of_ratios"}
    turned = copy.deepcopy(test) | {"numerator": other, "denominator": pair}
    assert same(test, turned)
    upright = {"numerator": SLOW, "denominator": FAST}
    assert same(test, turned | {"numerator": upright, "denominator": {"numerator": SLOW, "denominator": OTHER}})
    assert not same(test, test | {"denominator": {"numerator": SLOW, "denominator": OTHER}})
