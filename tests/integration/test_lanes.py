"""A block in two lanes, on small real clusters: whole rounds in each, a killed worker, and going on after it."""

import contextlib
import json
import os
import signal
import time
from collections import defaultdict
from types import SimpleNamespace

import pytest

from tests.conftest import descendants, still_alive
from tests.support.small import small_block
from whitewire.lanes import LANES_VARIABLE, Lanes
from whitewire.levels import cell_id
from whitewire.measure import spread
from whitewire.measure.spread import Lead

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

ROUNDS = 6


@pytest.fixture
def of_two(can_emulate, tmp_path, monkeypatch):
    shared_lanes = Lanes.of(2, tmp_path / "locks")
    monkeypatch.setenv(LANES_VARIABLE, shared_lanes.text())
    monkeypatch.setattr(spread, "further", lambda turns, working, *_: 2 - working)  # whatever its start costs
    return tmp_path / "quick-1"


def block_of(folder):
    return small_block(folder, "quick", ROUNDS)


def records(folder, what="runs"):
    return [json.loads(path.read_text()) for path in sorted(folder.glob(f"{what}/[!.]*/run.json"))]


def lanes_by_round(block):
    found = defaultdict(set)
    rounds = block.plan.rounds(block.rows).of
    for record in records(block.journal.folder):
        found[rounds[record["run_id"]]].add(record["lane"])
    return found


def test_every_round_is_made_whole_in_one_of_two_lanes(of_two):
    block = block_of(of_two)
    before = descendants(os.getpid())
    block.measure()
    done = json.loads((of_two / "block.json").read_text())
    assert len(done["runs"]) == 5 * ROUNDS
    assert not done["left"]
    made = {record["run_id"] for record in records(of_two)}
    assert made | {*done["given_up"]} == {*done["runs"]}
    rounds = lanes_by_round(block)
    assert all(len(own) == 1 for own in rounds.values())
    assert {lane for own in rounds.values() for lane in own} == {1, 2}
    assert not still_alive(descendants(os.getpid()) - before)


def test_an_interim_analysis_comes_once_after_the_same_runs_of_each_cell(of_two):
    block = block_of(of_two)
    raw = json.loads(json.dumps(block.paper.raw)) | {"looks": {"quick": [3, 5, 6]}}
    block.candidates.paper = type(block.paper).of(raw, block.paper.path)
    one = cell_id("put-grid", {"fabric": "1gbe", "clients": 1, "puts_per_client": 2})
    seen = []

    def interim(*_):
        seen.append(len(records(of_two)))
        return SimpleNamespace(decided=["a"], open=["b"], cells=[one], near=[one], place={})

    block.interim = interim
    block.measure()
    done = json.loads((of_two / "block.json").read_text())
    assert seen == [15, 17]
    assert len(done["left"]) == 12
    assert set(done["left"].values()) == {"decided after 3 runs of each cell"}
    assert len(records(of_two)) == 18


@pytest.mark.parametrize("when", ["starting", "running"])
def test_rounds_of_a_killed_worker_are_made_by_the_others(of_two, monkeypatch, when):
    block, killed = block_of(of_two), []
    grow = Lead.grow

    def then_kill(lead, *of):
        found = grow(lead, *of)
        ready = lead._busy and (when == "starting" or any(r["lane"] == 2 for r in records(of_two)))
        if ready and not killed:
            (worker,) = lead._busy
            killed.append(worker.process.pid)
            inside = descendants(worker.process.pid)
            os.kill(worker.process.pid, signal.SIGKILL)
            worker.process.join()
            assert not still_alive(inside)
        return found

    monkeypatch.setattr(Lead, "grow", then_kill)
    block.measure()
    assert killed
    done = json.loads((of_two / "block.json").read_text())
    assert {record["run_id"] for record in records(of_two)} | {*done["given_up"]} == {*done["runs"]}
    assert not done["left"]
    assert not list(of_two.glob("*/.part-*"))


def test_killed_in_both_lanes_it_goes_on_where_it_was(of_two):
    owner = os.fork()
    if not owner:
        with contextlib.suppress(BaseException):
            block_of(of_two).measure()
        os._exit(0)
    deadline = time.monotonic() + 150
    while not any(record["lane"] == 2 for record in records(of_two)) and time.monotonic() < deadline:
        time.sleep(0.2)
    inside = descendants(owner)
    os.kill(owner, signal.SIGKILL)
    os.waitpid(owner, 0)
    assert not still_alive(inside)
    kept = {path.parent.name: path.stat().st_mtime_ns for path in of_two.glob("runs/[!.]*/run.json")}
    assert kept
    block = block_of(of_two)
    block.measure()
    now = {path.parent.name: path.stat().st_mtime_ns for path in of_two.glob("runs/[!.]*/run.json")}
    assert kept.items() <= now.items(), "a finished run was lost or made again"
    done = json.loads((of_two / "block.json").read_text())
    assert {*now} | {*done["given_up"]} == {*done["runs"]}
