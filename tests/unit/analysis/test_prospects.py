"""What an open claim would take: minutes, chance and command."""

import math

import numpy as np
import pytest

from tests.support.papers import TESTBED, paper
from whitewire.analysis import prospects
from whitewire.analysis.one_claim import own_cells
from whitewire.analysis.prospects import prospect_lines
from whitewire.description.checks import load_paper
from whitewire.description.project import paper_path
from whitewire.description.reading import load_yaml
from whitewire.description.testbed import fabric_names
from whitewire.paths import HOME

LOADED = paper()
CLAIM = next(claim for claim in LOADED.claims if claim["id"] == "E-C06")
OPEN = {"claim": "E-C06", "verdict": "inconclusive", "n": 3, "runs_needed": 2, "runs_help": True, "estimate": 4.0,
        "low": 3.4, "high": 4.7, "expected_low": 3.27, "expected_high": 4.43, "error": 0.05,
        "again": lambda n: (4 * math.exp(-0.2 / n**0.5), 4 * math.exp(0.2 / n**0.5))}  # fmt: skip


def test_the_chance_grows_with_runs_and_is_small_beside_a_bound():
    few, many = (prospects.chance(OPEN, runs) for runs in (4, 23))
    assert 0 < few < many < 1
    at_bound = {"estimate": 4.43, "again": lambda n: (4.43 * math.exp(-0.2 / n**0.5), 4.43 * math.exp(0.2 / n**0.5))}
    beside = prospects.chance(OPEN | at_bound, 6)
    assert beside < prospects.chance(OPEN, 6)
    assert prospects.chance(OPEN, 3) == 0
    assert prospects.chance(OPEN | {"again": None}, 6) is None


def test_the_chance_allows_for_what_widens_the_interval_to_one_side():
    """Against made-up studies of ten runs, of which three are known: half-width 0.2 over the root of ten, and 0.926."""
    half = 0.2 / 10**0.5
    wide = OPEN | {"estimate": 3.7, "again": lambda n: (0.926 * 3.7 * math.exp(-half), 3.7 * math.exp(half))}
    estimates = 3.7 * np.exp(np.random.default_rng(1).normal(0, 0.05 * 0.7**0.5, 100_000))
    low, high = 0.926 * estimates * math.exp(-half), estimates * math.exp(half)
    decided = (low > 3.27) & (high < 4.43) | (low > 4.43) | (high < 3.27)
    assert prospects.chance(wide, 10) == pytest.approx(decided.mean(), abs=0.01)


def test_runs_that_are_all_made_anew_may_come_out_otherwise():
    assert prospects.chance(OPEN, 10, anew=True) < prospects.chance(OPEN, 10)


@pytest.mark.parametrize(
    ("effort", "have", "needed", "command"),
    [
        ("quick", 3, 2, "BUDGET=2h make papers PAPERS=emulex-2012 EFFORT=quick"),  # another budget has ended
        ("smoke", 3, 2, "BUDGET=2h make papers PAPERS=emulex-2012 EFFORT=smoke"),  # six runs of the headline's cells
        ("smoke", 3, 5, "make papers PAPERS=emulex-2012 EFFORT=quick"),
        ("quick", 10, 5, None),  # no effort makes as many
    ],
)
def test_a_command_makes_the_runs_that_are_needed(effort, have, needed, command):
    found = prospects.outlook(LOADED, TESTBED, effort, CLAIM, OPEN | {"n": have, "runs_needed": needed})
    assert found.get("command") == command
    assert found.get("effort_needed") == (command and command.rpartition("=")[2])
    assert ("beyond" in found) == (command is None)


def test_runs_that_other_programs_disturbed_are_made_again_within_the_same_budget():
    found = prospects.outlook(LOADED, TESTBED, "quick", CLAIM, OPEN | {"busy": True})
    assert found["command"] == "AGAIN=busy make papers PAPERS=emulex-2012 EFFORT=quick"
    assert found["claim_command"] == "AGAIN=busy make claim CLAIM=E-C06 EFFORT=quick"


def test_runs_that_only_failed_clusters_lack_need_no_other_budget():
    found = prospects.outlook(LOADED, TESTBED, "quick", CLAIM, OPEN | {"any_budget": True})
    assert found["command"] == "make papers PAPERS=emulex-2012 EFFORT=quick"
    assert found["claim_command"] == "make claim CLAIM=E-C06 EFFORT=quick"


def test_minutes_are_said_where_no_effort_makes_enough_runs():
    most, minutes = prospects.outlook(LOADED, TESTBED, "quick", CLAIM, OPEN | {"n": 10, "runs_needed": 500})["beyond"]
    assert most == LOADED.replicates("put-grid", "full")["claimed"] and minutes > 60


def test_a_larger_effort_makes_all_runs_anew():
    on, anew = (prospects.outlook(LOADED, TESTBED, effort, CLAIM, OPEN | {"runs_needed": 6})["minutes"]
                for effort in ("quick", "smoke"))  # fmt: skip
    assert anew > on > 0
    assert prospects.outlook(LOADED, TESTBED, "quick", CLAIM, OPEN | {"runs_help": False}) == {}


def test_the_chance_before_any_run_is_that_of_usual_scatter():
    test = CLAIM["test"]
    assert prospects.chance_if_right(LOADED, test, 10) > 0.99
    narrow = {**test, "relative": 0.02}
    assert prospects.chance_if_right(LOADED, narrow, 3) < 0.05
    direction = next(claim["test"] for claim in LOADED.claims if claim["id"] == "E-C41")
    assert prospects.chance_if_right(LOADED, direction, 10) is None


def test_a_plan_names_every_claim_that_is_not_decided():
    before = list(prospect_lines(LOADED, TESTBED, "quick", None, 10))
    said = "% likely to be decided within the budget, if the paper's number is right"
    assert any(line.startswith("  E-C06: about") and said in line for line in before)
    assert list(prospect_lines(LOADED, TESTBED, "quick", None, 10, 20.0)) != before
    judged = [OPEN | {"minutes": 4, "chance": 0.7, "claim_command": "make claim CLAIM=E-C06"}]
    assert "  E-C06: about 4 min to a verdict, 70 % likely: make claim CLAIM=E-C06" in list(
        prospect_lines(LOADED, TESTBED, "quick", judged, 10)
    )
    slow = list(prospect_lines(LOADED, TESTBED, "quick", judged, 10, 2.5))
    assert "  E-C06: about 10 min to a verdict, 70 % likely: make claim CLAIM=E-C06" in slow
    judged[0]["verdict"] = "reproduced"
    assert not any("E-C06" in line for line in prospect_lines(LOADED, TESTBED, "quick", judged, 10))


def test_a_plan_promises_nothing_of_claims_that_no_run_here_can_judge():
    site = load_yaml(HOME / "config" / "testbeds" / "ssh.example.yaml")  # 1GbE and 10GbE, no RDMA
    loaded = load_paper(paper_path("chelsio-iwarp"), fabric_names(site))
    quick, smoke = (list(prospect_lines(loaded, site, effort, None, 10)) for effort in ("quick", "smoke"))
    assert quick[0].startswith("  C-C06: about") and quick[1].startswith(
        "  C-C01, C-C04: not testable here: it needs a"
    )
    assert quick[2:] == ["  C-C05: not testable here: this testbed has no network 400gbe"]
    assert smoke[-1] == "  C-C06: effort smoke does not make all its cells; EFFORT=quick does"
    mount = {"unavailable": dict.fromkeys(own_cells(LOADED, "E-C06"), "no mount")}
    (line,) = (line for line in prospect_lines(LOADED, TESTBED, "quick", None, 10, **mount) if "E-C06" in line)
    assert line.endswith(": not testable here: no mount")


def test_no_effort_is_named_that_makes_no_such_runs():
    test = CLAIM["test"] | {"numerator": {"experiment": "put-small-packets", "where": {"fabric": "1gbe", "clients": 1,
                            "puts_per_client": 8}}}  # fmt: skip
    found = prospects.outlook(LOADED, TESTBED, "smoke", CLAIM | {"test": test}, OPEN | {"n": 0, "runs_needed": 3})
    assert found["command"].endswith("EFFORT=quick")


def test_commands_measure_on_the_testbed_of_the_start(monkeypatch):
    monkeypatch.setenv("TESTBED", "lab")
    found = prospects.outlook(LOADED, TESTBED, "quick", CLAIM, OPEN)
    assert found["command"] == "BUDGET=2h make papers TESTBED=lab PAPERS=emulex-2012 EFFORT=quick"
    assert found["claim_command"] == "BUDGET=2h make claim CLAIM=E-C06 EFFORT=quick TESTBED=lab"


@pytest.mark.parametrize("had, more", [("30m", "2h"), ("2h", "4h"), ("5h", "8h"), ("none", "2h")])
def test_a_command_names_a_longer_budget_than_the_one_that_ended(had, more):
    found = prospects.outlook(LOADED, TESTBED, "quick", CLAIM, OPEN, had)
    assert found["claim_command"] == f"BUDGET={more} make claim CLAIM=E-C06 EFFORT=quick"
