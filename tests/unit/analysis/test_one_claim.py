"""One claim by itself: its cells, those of its controls, and the claims that share some of them."""

from __future__ import annotations

import pytest

from tests.support.papers import TESTBED, paper, runs
from whitewire.analysis import controls, one_claim
from whitewire.analysis.controls import controls_of_test
from whitewire.analysis.one_claim import claim_of, rows_of_claim
from whitewire.analysis.runs import Runs
from whitewire.description.paper import ratio_of
from whitewire.design.rows import counts, make_design
from whitewire.errors import UserError
from whitewire.estimands import estimand_of
from whitewire.levels import cell_id, cell_ids

LOADED = paper()
PAIR = {cell_id("put-grid", {"fabric": fabric, "clients": 3, "puts_per_client": 6}) for fabric in ("1gbe", "10gbe")}


def test_a_claim_has_its_cells_and_those_of_the_controls_that_cover_it():
    judged = controls.judge(LOADED, Runs(runs(LOADED), LOADED))
    covering = controls_of_test(LOADED, judged, claim_of(LOADED, "E-C02")["test"])
    beside = [ratio_of(control.spec) for control in covering if control.row["kind"] != controls.POOLED]
    expected = PAIR | cell_ids(cell for test in beside for cell in estimand_of(test).cells())
    assert one_claim.own_cells(LOADED, "E-C02") == PAIR
    assert one_claim.cells(LOADED, "E-C02") == expected > PAIR


def test_its_rows_are_the_design_s_own():
    rows = make_design(LOADED, TESTBED, "quick", 1)
    own = rows_of_claim(LOADED, "E-C02", rows)
    assert [row for row in rows if row in own] == own
    of_pair = [row for row in own if (row["experiment"], row["clients"], row["puts_per_client"]) == ("put-grid", 3, 6)]
    assert {row["replicate"] for row in of_pair if row["fabric"] == "1gbe"} == {*range(1, 1 + len(of_pair) // 2)}


def test_a_claim_that_is_none_names_the_nearest():
    with pytest.raises(UserError, match='CLAIM=E_C02: .*the id of a claim of emulex-2012; did you mean "E-C02"'):
        one_claim.cells(LOADED, "E_C02")


def test_the_efforts_that_make_all_cells_of_a_claim():
    assert {"quick", "full"} <= {*one_claim.made_at(LOADED, "E-C02")}
    made = {cell_id(experiment["id"], levels) for experiment, levels, count in counts(LOADED, "smoke") if count}
    for claim in LOADED.claims:
        if own := cell_ids(estimand_of(claim["test"]).cells()):
            assert ("smoke" in one_claim.made_at(LOADED, claim["id"])) == (own <= made), claim["id"]


def test_a_claim_that_shares_some_cells_with_one_measured_by_itself_compares_starts():
    alone = one_claim.cells(LOADED, "E-C02")
    seen = set()
    for claim in LOADED.claims:
        own = one_claim.own_cells(LOADED, claim["id"])
        apart = bool(own & alone) and not own <= alone
        assert one_claim.mixed(LOADED, claim["id"], ["E-C02", "X-C99"]) == (["E-C02"] if apart else [])
        seen.add((apart, bool(own)))
    assert seen >= {(True, True), (False, True), (False, False)}
    assert one_claim.mixed(LOADED, "E-C02", ["E-C02"]) == []
