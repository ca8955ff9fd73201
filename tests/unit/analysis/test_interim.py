"""An interim analysis tells decided claims from open ones, and never more than the analysis of the same runs does."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.papers import TESTBED, paper, runs
from whitewire.analysis import analyse, claims, controls, interim, judging, one_claim
from whitewire.analysis.runs import Runs, on_testbed
from whitewire.description.paper import cells_of, ratio_of
from whitewire.estimands import estimand_of
from whitewire.text import canonical

LOADED = paper()
PLANNED = (3, 4, 6)


@pytest.fixture(scope="module")
def complete():
    return made()


def made(**how):
    """Made-up runs in which the control on half the rate is half as fast, as it should be."""
    table = runs(LOADED, **how)
    table.loc[table["experiment"] == "E-K05", ["value", "full_scale_value"]] *= 0.5
    return table


def so_far(complete, n, planned=PLANNED, **more):
    return Runs(complete[complete["replicate"] <= n], LOADED, analyses=planned, **more)


def scattering(complete, sd):
    """The same runs, where one cell that E-C06 needs scatters by as much."""
    wide = complete.copy()
    of = (wide["experiment"] == "put-grid") & (wide["fabric"] == "10gbe") & (wide["clients"] == 3)
    of &= wide["puts_per_client"] == 6
    rng = np.random.default_rng(1)
    wide.loc[of, "full_scale_value"] *= np.exp(rng.normal(0, sd, int(of.sum())))
    return wide


def cells_of_claim(name):
    test = next(claim["test"] for claim in LOADED.claims if claim["id"] == name)
    return {(name, canonical(levels)) for name, levels in estimand_of(test).cells()}


def test_nothing_is_decided_before_there_are_runs(complete):
    found = interim.judge_interim(LOADED, so_far(complete, 0), "emulated")
    emulated = {claim["id"] for claim in LOADED.claims if "emulated" in claim["routes"]}
    assert set(found.open) == emulated
    assert set(found.decided) == {claim["id"] for claim in LOADED.claims} - emulated
    assert cells_of_claim("E-C06") <= found.cells
    known = {(name, canonical(cell)) for name, each in LOADED.experiments.items() for cell in cells_of(each)}
    assert found.cells <= known


def test_controls_that_scatter_keep_their_own_cells_and_none_of_all_controls_together(complete):
    wide = complete.copy()
    wide["full_scale_value"] *= np.random.default_rng(2).lognormal(0, 0.15, len(wide))
    found = so_far(wide, 3)
    pooled = next(each for each in controls.judge(LOADED, found) if each.row["kind"] == controls.POOLED)
    assert pooled.row["outcome"] == controls.OPEN
    assert interim.judge_interim(LOADED, found, "emulated").cells >= cells_of_claim("E-C06")


def test_undisturbed_runs_decide_at_the_first_interim_analysis_and_a_wide_claim_stays_open(complete):
    found = interim.judge_interim(LOADED, so_far(complete, 3), "emulated")
    assert found.decided["E-C06"] == claims.REPRODUCED
    assert found.decided["E-C37"] == claims.NOT_TESTABLE and found.decided["E-C03"] == claims.CONSISTENT
    found = interim.judge_interim(LOADED, so_far(scattering(complete, 0.3), 3), "emulated")
    assert "so the data cannot decide" in found.open["E-C06"] and cells_of_claim("E-C06") <= found.cells


def test_an_interim_analysis_for_one_claim_keeps_only_its_cells_and_those_of_its_controls(complete):
    found = interim.judge_interim(LOADED, so_far(scattering(complete, 0.3), 3), "emulated", only="E-C06")
    assert set(found.open) == {"E-C06"} and not found.decided
    assert cells_of_claim("E-C06") <= found.cells <= one_claim.cells(LOADED, "E-C06")
    decided = interim.judge_interim(LOADED, so_far(complete, 3), "emulated", only="E-C06")
    assert decided.decided == {"E-C06": claims.REPRODUCED} and not decided.cells


@pytest.mark.parametrize("kind", ["ratio", "ratio_of_ratios"])
def test_a_direction_without_scatter_stays_open_until_a_test_can_decide(kind):
    """Bytes are the same in every run: three and three equal values are too few for a test, ten and ten are not."""
    claim = next(claim for claim in LOADED.claims if claim["id"] == "E-C06")
    slow, fast = ({"experiment": "put-grid", "where": {"fabric": fabric, "clients": 3, "puts_per_client": 6}}
                  for fabric in ("1gbe", "10gbe"))  # fmt: skip
    pair = {"numerator": fast, "denominator": slow}
    sides = {"numerator": pair, "denominator": {"numerator": slow, "denominator": slow}} if "of" in kind else pair
    test = {"estimand": kind, "metric": "throughput", **sides, "relation": "above", "expected": 1, "no_effect": 1}
    loaded = replace(LOADED, raw={**LOADED.raw, "claims": [claim | {"test": test}]})
    table = runs(loaded, spread=0.0, most=10)

    def row(n):
        known = Runs(table[table["replicate"] <= n], loaded, analyses=(3, 6, 10))
        return judging.claims_judged(loaded, known, "emulated")[0]

    assert (row(3)["verdict"], row(3)["runs_help"]) == (claims.INCONCLUSIVE, True)
    assert row(3)["p_value"] == 0.1 and row(10)["verdict"] == claims.REPRODUCED


def test_a_size_that_is_excluded_stays_open_until_its_sign_is_certain():
    """E-C06 with another size: far from what runs give, of which the first analysis cannot give the sign."""
    of = next(claim for claim in LOADED.claims if claim["id"] == "E-C06")
    sides = {name: of["test"][name] for name in ("estimand", "metric", "numerator", "denominator")}
    test = sides | {"relation": "within", "expected": 9, "no_effect": 1, "relative": 0.1}
    loaded = replace(LOADED, raw={**LOADED.raw, "claims": [of | {"test": test}]})
    table = made(spread=0.0, most=10)

    def found(n):
        known = Runs(table[table["replicate"] <= n], loaded, analyses=(3, 6, 10))
        (row,) = judging.claims_judged(loaded, known, "emulated")
        return row["verdict"], list(interim.judge_interim(loaded, known, "emulated").open)

    assert found(3) == (claims.NOT_REPRODUCED, ["E-C06"])
    assert found(10) == (claims.DIRECTION, [])


def test_a_claim_is_near_where_the_runs_of_the_effort_may_decide_it(complete):
    beside = complete.copy()  # both networks give the same, which is beside the bound of E-C41
    alike = beside["experiment"] == "rereplicate"
    beside.loc[alike, "full_scale_value"] = np.exp(np.random.default_rng(1).normal(0, 0.05, int(alike.sum())))
    far = interim.judge_interim(LOADED, so_far(beside, 3), "emulated")
    assert "E-C41" in far.open and cells_of_claim("E-C41") <= far.cells - far.near, "cells that only far claims need"
    near = interim.judge_interim(LOADED, so_far(scattering(complete, 0.06), 3), "emulated")
    assert "E-C08" in near.open and cells_of_claim("E-C08") <= near.near
    assert near.near <= near.cells and far.near <= far.cells
    assert near.worth > 0
    none = interim.judge_interim(LOADED, so_far(complete, 0), "emulated")
    assert none.near == none.cells, "unknown before there are runs"


def test_a_claim_of_direction_ends_where_no_effect_matters(complete):
    alike, of = complete.copy(), complete["experiment"] == "rereplicate"
    alike.loc[of, "full_scale_value"] = np.exp(np.random.default_rng(1).normal(0, 0.002, int(of.sum())))
    found = interim.judge_interim(LOADED, so_far(alike, 3), "emulated")
    assert found.decided["E-C41"] == claims.NOT_REPRODUCED and not cells_of_claim("E-C41") & found.cells


def test_decided_are_the_verdicts_of_the_analysis(complete):
    known = so_far(complete, 4)
    found = interim.judge_interim(LOADED, known, "emulated")
    table, _ = analyse._verdicts(LOADED, known, Runs(complete[:0], LOADED), "emulated", None,
                                 controls.judge(LOADED, known))  # fmt: skip
    of = table.set_index("claim")["verdict"]
    assert found.decided and found.open.keys() | found.decided.keys() == set(of.index)
    emulated = table[table["route"] == "emulated"]["claim"]
    assert all(found.decided.get(claim, claims.INCONCLUSIVE) == of[claim] for claim in emulated)
    assert all(of[claim] == claims.INCONCLUSIVE for claim in found.open)


def test_open_controls_keep_their_cells(complete):
    known = so_far(complete, 2)
    found = interim.judge_interim(LOADED, known, "emulated")
    control = LOADED.controls[0]
    assert {(name, canonical(levels)) for name, levels in estimand_of(ratio_of(control)).cells()} <= found.cells


def test_where_no_run_helps_a_claim_is_done(complete):
    none = complete[:0].assign(block=pd.Series(dtype=str))
    known = on_testbed(LOADED, {**TESTBED, "fabrics": {"1gbe": {}}}, "", none)
    found = interim.judge_interim(LOADED, known, "emulated")
    assert found.decided["E-C06"] == claims.NOT_TESTABLE and not cells_of_claim("E-C06") <= found.cells


def test_more_analyses_ask_for_more(complete):
    one, many = (so_far(complete, 6, planned) for planned in ((6,), (3, 4, 6)))
    assert one.confidence(6) == 0.95 and one.overall(0.01, 6) == 0.01
    assert many.confidence(6, 3) > many.confidence(6) > 0.95 and many.overall(0.01, 6) > 0.01
    narrow, wide = (
        {row["claim"]: row for row in judging.claims_judged(LOADED, each, "emulated")} for each in (one, many)
    )
    for claim in ("E-C06", "E-C01"):
        assert wide[claim]["low"] <= narrow[claim]["low"] and narrow[claim]["high"] <= wide[claim]["high"]
    assert wide["E-C06"]["p_value"] == narrow["E-C06"]["p_value"]
    assert wide["E-C06"]["p_holm"] >= many.overall(wide["E-C06"]["p_value"], 6)


def test_the_verdicts_say_from_which_analysis_on_they_held(complete):
    known = so_far(complete, 6)
    table = analyse._verdicts(LOADED, known, Runs(complete[:0], LOADED), "emulated")[0].set_index("claim")
    assert table.loc["E-C06", "decided_after"] == 3
    decided = table["decided_after"].dropna()
    assert set(decided) <= {1, 3, 4, 6}  # a census of a single run is one after it
    assert not set(decided.index) & set(table.index[table["verdict"] == claims.INCONCLUSIVE])
    once = analyse._verdicts(LOADED, so_far(complete, 6, (6,)), Runs(complete[:0], LOADED), "emulated")[0]
    assert once["decided_after"].isna().all()


@given(st.integers(1, 8))
@settings(max_examples=8, deadline=None)
def test_the_first_runs_are_so_many_of_each_cell(n):
    table = made()
    disturbed = table["run_id"] == table["run_id"].iloc[0]
    table.loc[disturbed, "valid"] = False
    first = Runs(table, LOADED, analyses=PLANNED).first(n)
    assert first.analyses == PLANNED
    good = first.table[first.table["valid"]]
    counts = good.groupby(["experiment", *LOADED.factors])["run_id"].nunique()
    whole = table[table["valid"]].groupby(["experiment", *LOADED.factors], dropna=False)["run_id"].nunique()
    assert counts.max() <= n and counts.sum() == np.minimum(whole, n).sum()


def test_an_interim_analysis_takes_less_than_three_seconds(complete):
    begun = time.process_time()
    interim.judge_interim(LOADED, so_far(complete, 6), "emulated")
    assert time.process_time() - begun < 3
