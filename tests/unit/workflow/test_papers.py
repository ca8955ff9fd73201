"""`make papers` goes on where papers left time, with those whose budget had ended."""

import json
import os
import time
from dataclasses import replace
from itertools import chain, repeat
from types import SimpleNamespace

import pytest

from tests.support import blocks
from tests.support.blocks import BLOCK
from whitewire.budget import BUDGET_VARIABLE, Budget
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design.rows import claimed_cells, compared_cells, levels_of, make_design
from whitewire.levels import cell_id
from whitewire.workflow import ahead, papers
from whitewire.workflow.papers import run_papers
from whitewire.workflow.plan import GOES_ON, Plan
from whitewire.workflow.preamble import preamble

TESTBED = load_testbed("emulated")
NAMES = ("chelsio-iwarp", "emulex-2012", "mellanox-mapr")
PAPERS = {name: load_paper(project.paper_path(name), fabric_names(TESTBED)) for name in NAMES}
DESIGNS = {name: make_design(paper, TESTBED, "quick", 1) for name, paper in PAPERS.items()}
MADE = Plan(list(NAMES), "emulated", "quick", 1, DESIGNS, described=PAPERS)
FILE = "results/emulated/{}/raw/quick-1/block.json"


@pytest.fixture
def started(monkeypatch):
    """What Snakemake is started with, once or twice; `within`: the budget, of which some seconds are `spent`."""

    def started(within="100m", spent=4000.0, statuses=(0, 0), late=("emulex-2012",), outdated=()):
        calls, clock, left = [], chain([0.0], repeat(spent)), iter(statuses)
        monkeypatch.setenv(GOES_ON, "")
        monkeypatch.setenv(BUDGET_VARIABLE, "")
        monkeypatch.setattr(papers, "time", SimpleNamespace(time=lambda: 500.0, monotonic=lambda: next(clock)))
        monkeypatch.setattr(papers, "validated", lambda: replace(MADE, budget=within))
        monkeypatch.setattr(papers, "again", lambda plan: list(outdated))
        monkeypatch.setattr(papers.Plan, "load", lambda again: MADE)
        records = {f"{name}/quick-1": BLOCK | {"seconds": 300.0, "spent": {"runs": 200.0}} for name in late}
        monkeypatch.setattr(papers, "cut_short", lambda *_: records)
        monkeypatch.setattr(papers, "run_workflow", lambda *given: calls.append(given) or next(left))
        return run_papers(["--cores", "2"]), calls

    return started


def test_time_that_is_left_goes_to_papers_whose_budget_ended(started, capsys):
    status, calls = started(late=("emulex-2012", "chelsio-iwarp"), statuses=(0, 3))
    files = [FILE.format(name) for name in ("emulex-2012", "chelsio-iwarp")]
    assert calls == [(["--cores", "2"], []), (["--cores", "2"], files)]
    assert status == 3
    assert capsys.readouterr().err == (
        "papers: 33 min of the budget are left: going on with emulex-2012, chelsio-iwarp\n"
    )
    shared_budget, blocks = Budget.read(os.environ[BUDGET_VARIABLE]), ["emulex-2012/quick-1", "chelsio-iwarp/quick-1"]
    assert os.environ[GOES_ON] and list(shared_budget.expected) == blocks
    assert (shared_budget.ends, shared_budget.seconds, set(shared_budget.claims.values())) == (6000.0, 6000.0, {0.0})
    allowance = shared_budget.allowance(blocks[0])
    assert (allowance.earlier, allowance.spent) == (300.0, {"runs": 200.0})


def test_what_is_outdated_is_made_again_in_the_first_turn_alone(started):
    _, calls = started(outdated=["design.csv"])
    assert calls == [(["--cores", "2"], ["design.csv"]), (["--cores", "2"], [FILE.format("emulex-2012")])]


@pytest.mark.parametrize(
    "case",
    [{"statuses": (1, 0)}, {"within": "none"}, {"spent": 6000 - papers._LEAST_S + 1}, {"spent": 7000.0}, {"late": ()}],
)
def test_nothing_goes_on_after_a_fault_or_where_nothing_is_left(started, case, capsys):
    status, calls = started(**case)
    assert calls == [(["--cores", "2"], [])] and status == case.get("statuses", (0,))[0]
    assert capsys.readouterr().err == ""


def judged(name):
    """Rows of cells of claims and controls."""
    cells = claimed_cells(PAPERS[name]) | compared_cells(PAPERS[name])
    return [row for row in DESIGNS[name] if cell_id(row["experiment"], levels_of(PAPERS[name], row)) in cells]


@pytest.fixture
def finished(monkeypatch, tmp_path):
    """The blocks that are to go on; `left`: why runs were not made, by paper, of which the first `near` may decide and
    `after` so many of each cell were made."""
    for module in (ahead, papers):
        monkeypatch.setattr(module, "root", lambda: tmp_path)

    def finished(left, worth, near=1, began=0.0, after=0):
        late = {name: [row for row in judged(name) if row["replicate"] > after][:3] for name in left}
        for name, why in left.items():
            path = tmp_path / FILE.format(name)
            path.parent.mkdir(parents=True)
            beside = [row for row in DESIGNS[name] if row not in judged(name)]  # of no claim
            reasons = {row["run_id"]: why for row in (*late[name], *beside)}
            path.write_text(json.dumps(BLOCK | blocks.left(reasons)))

        def judge_so_far(paper, testbed, folder, designed, unavailable, only):
            assert (unavailable, only) == ({}, "") and {*designed.values()} <= {"quick-1"}
            finished.seen = {row["replicate"] for row in DESIGNS[paper.id] if row["run_id"] in designed}
            assert folder == tmp_path / f"results/emulated/{paper.id}/raw/quick-1"
            cells = {cell_id(row["experiment"], levels_of(paper, row)) for row in late[paper.id][:near]}
            return SimpleNamespace(near=cells, worth=worth[paper.id])

        monkeypatch.setattr(ahead, "judge_so_far", judge_so_far)
        return [*papers.cut_short(MADE, began)]

    return finished


def test_the_paper_with_the_best_chance_per_second_goes_on_first(finished):
    ended = dict.fromkeys(NAMES, "the budget ended")
    found = finished(ended, dict(zip(NAMES, (0.01, 0.03, 0.02), strict=True)))
    assert found == ["emulex-2012/quick-1", "mellanox-mapr/quick-1", "chelsio-iwarp/quick-1"]


def test_only_papers_whose_budget_ended_before_runs_that_may_decide_go_on(finished):
    reasons = ("decided after 3 runs of each cell", "the budget ended", "other programs used the processors")
    assert finished(dict(zip(NAMES, reasons, strict=True)), dict.fromkeys(NAMES, 0.01)) == ["emulex-2012/quick-1"]


@pytest.mark.parametrize(("after", "seen"), [(0, []), (2, []), (3, [1, 2, 3]), (5, [1, 2, 3]), (6, range(1, 7))])
def test_the_last_interim_analysis_chooses_and_no_further_one(finished, after, seen):
    """Runs that were made after it are not analysed: that would be one analysis more than is planned."""
    assert finished({"emulex-2012": "the budget ended"}, {"emulex-2012": 0.01}, after=after) == ["emulex-2012/quick-1"]
    assert len(judged("emulex-2012")) < len(DESIGNS["emulex-2012"]), "cells of no claim lack their first run"
    assert finished.seen == {*seen}


@pytest.mark.parametrize("case", [{"near": 0}, {"began": time.time() + 3600}])
def test_a_paper_without_such_runs_or_of_an_earlier_start_does_not_go_on(finished, case):
    assert finished({"emulex-2012": "the budget ended"}, {"emulex-2012": 0.01}, **case) == []


def test_a_start_that_goes_on_does_so_with_the_blocks_and_the_end_of_its_budget(monkeypatch):
    for name, value in {"PAPERS": " ".join(NAMES), "BUDGET": "100m", "EFFORT": "quick", "TESTBED": "emulated",
                        GOES_ON: "yes"}.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    blocks, ends = ["mellanox-mapr/quick-1", "chelsio-iwarp/quick-1"], time.monotonic() + 4000
    shared_budget = Budget(ends, {blocks[0]: 0.0, blocks[1]: 300.0}, dict.fromkeys(blocks, 0.0), 6000.0)
    monkeypatch.setenv(BUDGET_VARIABLE, shared_budget.text())
    plan = Plan.load()
    assert list(plan.waiting) == blocks
    assert plan.turn("mellanox-mapr", "quick-1") > plan.turn("chelsio-iwarp", "quick-1") > 0
    assert preamble(plan) and Budget.read(os.environ[BUDGET_VARIABLE]) == shared_budget
    assert shared_budget.further(blocks[0], now=ends - 4000) == pytest.approx(3700)
