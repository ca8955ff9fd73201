"""A start for one claim makes its runs and those of its controls; the next start makes the others, and none twice."""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter

import pytest

from whitewire.analysis.one_claim import rows_of_claim
from whitewire.budget import Allowance
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design.rows import make_design
from whitewire.measure import block, services
from whitewire.measure.block import Block, Only
from whitewire.measure.one_cluster import OneCluster
from whitewire.records import asked
from whitewire.records.asked import asked_of_block
from whitewire.records.journal import left_of
from whitewire.records.reasons import DECIDED, ELSE, Reason
from whitewire.workflow.missing import lacking

CLAIM = "E-C02"
WHY = "measuring ended with claim E-C02"


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Starts a block whose clusters make each run at once; `made` counts runs, `lacking` are those without a mount."""
    testbed = load_testbed("emulated")
    paper = load_paper(project.paper_path("emulex-2012"), fabric_names(testbed))
    rows = make_design(paper, testbed, "quick", 1)
    folder, made = tmp_path / "raw" / "quick-1", Counter()

    def make(self, runs, number, task):
        begin.deadlines = self.campaign.deadline.ends, self.campaign.give_up_at.ends
        self.campaign.left |= dict.fromkeys(begin.decided, Reason(DECIDED, {"runs": 3}))
        for run in (run for run in runs if run.row["run_id"] not in begin.decided):
            made[run.row["run_id"]] += 1
            self.campaign.journal.write(run.row["run_id"], {"valid": True}, {}, valid=True)
        return number + len(runs)

    monkeypatch.setattr(block, "preflight", lambda config: None)
    monkeypatch.setattr(Block, "_resume", lambda self: None)
    monkeypatch.setattr(OneCluster, "make", make)

    def begin(only, lost=(), allowance=None, decided=()):
        begin.decided = decided
        monkeypatch.setattr(services, "unavailable_runs", lambda config, runs: [(lost, "no mount")] if lost else [])
        Block(paper, testbed, "quick-1", rows, folder, only=only, allowance=allowance).measure()
        return json.loads((folder / "block.json").read_text())

    begin.made, begin.rows, begin.folder = made, rows, folder
    begin.own = {row["run_id"] for row in rows_of_claim(paper, CLAIM, rows)}
    return begin


def test_the_runs_of_one_claim_are_made_and_the_others_by_the_next_start(start):
    every = {row["run_id"] for row in start.rows}
    record = start(Only(CLAIM, rows_of_claim))
    assert {*start.made} == start.own < every and {*record["runs"]} == every
    assert record["left"] == dict.fromkeys(sorted(every - start.own, key=record["runs"].index), WHY)
    assert {why.code for why in left_of(record).values()} == {ELSE} and asked.alone(asked_of_block(start.folder)) == [
        CLAIM
    ]
    record = start(None)
    assert {*start.made} == every and max(start.made.values()) == 1
    assert record["left"] == {}
    assert asked.alone(asked_of_block(start.folder)) == [CLAIM], "it is still known that it was measured by itself"
    assert [("alone" in entry, "ended" in entry) for entry in asked_of_block(start.folder)] == [
        (True, True),
        (False, True),
    ]
    start(None)
    assert len(asked_of_block(start.folder)) == 2, "it made nothing"


def test_what_one_claim_no_longer_needs_is_left_to_others(start):
    decided = sorted(start.own)[:2]
    record = start(Only(CLAIM, rows_of_claim), decided=decided)
    assert {record["left"][run_id] for run_id in decided} == {WHY} and {*record["left_codes"].values()} == {ELSE}
    rows = [row for row in start.rows if row["run_id"] in decided]
    assert lacking(start.folder.parents[1], rows, again=True) == rows, "for a start for another claim"
    record = start(None, decided=decided)
    assert {*record["left_codes"]} == {*decided} and {*record["left_codes"].values()} == {DECIDED}
    assert lacking(start.folder.parents[1], rows, again=True) == []


def test_after_all_runs_nothing_is_left_for_a_claim(start):
    start(None)
    record = start(Only(CLAIM, rows_of_claim))
    assert max(start.made.values()) == 1 and record["left"] == {}


def test_what_the_machine_cannot_make_is_known_of_other_cells_too(start):
    lost = next(row["run_id"] for row in start.rows if row["run_id"] not in start.own)
    record = start(Only(CLAIM, rows_of_claim), lost=[lost])
    assert record["unavailable"] == {lost: "no mount"} and lost not in record["left"]
    record = start(Only(CLAIM, rows_of_claim), lost=[lost])
    assert record["unavailable"] == {lost: "no mount"} and lost not in record["left"], "also where no run is missing"


def test_a_block_that_goes_on_counts_what_it_took_before(start):
    record = start(None, allowance=Allowance(earlier=250.0, spent={"runs": 200.0, "start": 30.0}))
    assert record["spent"] == {"runs": 200.0, "start": 30.0}
    assert 250 <= record["seconds"] < 300


def test_the_time_of_a_block_begins_when_it_has_its_lane(start, monkeypatch):
    had = []

    @contextlib.contextmanager
    def lane(block):
        time.sleep(0.3)
        had.append(time.monotonic())
        yield 1

    monkeypatch.setattr(block.lanes, "lane", lane)
    start(None, allowance=Allowance(first=lambda: 100.0, own=0.2))
    first, give_up_at = start.deadlines
    assert first >= had[0] + 100 and give_up_at >= had[0] + 0.2
