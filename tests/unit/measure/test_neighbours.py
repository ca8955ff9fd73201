"""Other lanes beside a block are processes that measure while it does and are gone with their files afterwards."""

import json
import os
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from whitewire import lanes
from whitewire.description.checks import load_paper
from whitewire.description.project import paper_path
from whitewire.description.testbed import load_testbed
from whitewire.errors import UserError
from whitewire.lanes import LANES_VARIABLE
from whitewire.measure import neighbours
from whitewire.measure.spread import Claims, Lead, WorkerReport, WorkerTask

TESTBED = load_testbed("emulated")
PAPER = load_paper(paper_path("emulex-2012"), TESTBED["fabrics"])
MEASURING = """
import json, os, pathlib, sys, time
task = json.loads(pathlib.Path(sys.argv[1]).read_text())
run = pathlib.Path(task["folder"], "quick-1", "runs", "a")
run.mkdir(parents=True)
(run / "run.json").write_text(json.dumps([os.getpid(), task["raw"]["id"], os.environ["WHITEWIRE_LANES"]]))
time.sleep(600)
"""


def test_another_lane_makes_the_papers_cells_in_its_own_folder(monkeypatch, tmp_path):
    class Block:
        def __init__(self, paper, testbed, name, rows, folder, raises_k):
            self.folder = folder
            assert (paper.id, name, raises_k) == (PAPER.id, folder.name, False) and rows

        def measure(self):
            (self.folder / "measured").touch()

    task = {"raw": PAPER.raw, "path": str(PAPER.path), "testbed": TESTBED, "folder": str(tmp_path)}
    (tmp_path / neighbours.TASK).write_text(json.dumps(task))
    monkeypatch.setattr(neighbours, "Block", Block)
    monkeypatch.setattr(neighbours.sys, "argv", ["-c", str(tmp_path / neighbours.TASK)])
    exec(neighbours.STATEMENT)
    assert (tmp_path / "quick-1" / "measured").exists()


def test_others_measure_while_the_block_does_and_leave_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(neighbours, "STATEMENT", MEASURING)
    monkeypatch.delenv(LANES_VARIABLE, raising=False)
    folder = tmp_path / "beside"
    with neighbours.neighbours(PAPER, TESTBED, 2, folder):
        records = [json.loads(path.read_text()) for path in folder.glob("*/*/quick-1/runs/a/run.json")]
        assert [name for _, name, _ in records] == [PAPER.id] * 2
        assert lanes.count() == json.loads(records[0][2])["count"] == 3
        processes = [psutil.Process(pid) for pid, *_ in records]
    assert not any(process.is_running() for process in processes)
    assert not folder.exists() and LANES_VARIABLE not in os.environ


def test_another_lane_does_not_grow_into_the_one_of_the_measured_block(monkeypatch, tmp_path):
    monkeypatch.setattr(neighbours, "STATEMENT", MEASURING)
    waiting = [SimpleNamespace(row={"run_id": str(number)}, expected_seconds=60.0) for number in range(20)]
    turns = SimpleNamespace(waiting=waiting, rounds=SimpleNamespace(of={str(n): n for n in range(20)}, ahead=[]))
    sent = []
    worker = SimpleNamespace(busy=False, report=WorkerReport(), send=sent.append)
    with neighbours.neighbours(PAPER, TESTBED, 1, tmp_path / "beside"), lanes.lane("emulex-2012/quick-1") as its:
        claims = Claims(tmp_path / ".rounds", 0)
        with closing(Lead(claims, [worker], WorkerTask(0, "shared", (), {}, 0), lambda _: False, print, 0.0)) as lead:
            assert lead.takes(0) and lead.grow(turns, 1.0) == 0 and not sent
        with lanes.lane("emulex-2012/quick-1") as measured:
            assert (its, measured) == (1, 2)


def test_one_that_ends_before_it_measures_is_reported_with_what_it_said(monkeypatch, tmp_path):
    monkeypatch.setattr(neighbours, "STATEMENT", "raise SystemExit('whitewire: error: no memory')")
    with pytest.raises(UserError, match="another lane began no run: whitewire: error: no memory"):
        with neighbours.neighbours(PAPER, TESTBED, 1, tmp_path / "beside"):
            pass
    assert not (tmp_path / "beside").exists()


def test_one_that_ends_while_the_block_is_measured_is_reported(monkeypatch, tmp_path):
    dying = MEASURING.replace("time.sleep(600)", "raise SystemExit('whitewire: error: no memory')")
    monkeypatch.setattr(neighbours, "STATEMENT", dying)
    monkeypatch.setattr(neighbours, "_wait_until_measuring", lambda started, _: [each.wait() for each in started])
    with pytest.raises(neighbours.Ended, match="ended while the block was measured: whitewire: error: no memory"):
        with neighbours.neighbours(PAPER, TESTBED, 1, tmp_path / "beside"):
            pass


def test_what_a_killed_one_still_writes_is_not_in_the_way_of_the_next(monkeypatch, tmp_path):
    monkeypatch.setattr(neighbours, "STATEMENT", MEASURING)
    monkeypatch.setattr(neighbours, "shutil", SimpleNamespace(rmtree=lambda *_, **__: None))
    for _ in range(2):
        with neighbours.neighbours(PAPER, TESTBED, 1, tmp_path / "beside"):
            pass


def test_alone_nothing_is_started(tmp_path):
    with neighbours.neighbours(PAPER, TESTBED, 0, Path(tmp_path / "beside")):
        assert not (tmp_path / "beside").exists() and lanes.count() == 1
