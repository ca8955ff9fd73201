"""The suite of faults: what is planned, what may not have been hit, and when the suite fails."""

from __future__ import annotations

import dataclasses
import os
import runpy
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import psutil
import pytest

from tests.support import chaos, chaos_project, ours
from tests.support.chaos import ENDS, JOBS, KINDS, PUTS, TESTBEDS, Block, Fault, Injection, Kept, Moment, Row
from whitewire import lanes
from whitewire.lanes import LANES_VARIABLE
from whitewire.workflow.documents import check_documents
from whitewire.workflow.plan import Plan

HOME = Path(__file__).parents[2]
DATA = HOME / "tests" / "data"


def injection(kind="kill", victim="measure", how="SIGKILL", testbed="emulated", paper=PUTS):
    return Injection(kind, victim, how, testbed, paper, Moment(1, 0.5))


def fault(begin=100.0, end=101.0, **more):
    return Fault(injection(**more), begin, end, True)


def kept(start=99.0, end=102.0, written=103.0, whole=False, gap=0.1):
    return Kept("run", start, end, written, whole, gap)


def test_a_seed_gives_the_same_faults_again():
    assert chaos.plan(1, KINDS, 100, TESTBEDS) == chaos.plan(1, KINDS, 100, TESTBEDS)


def test_every_fault_is_there_on_every_testbed_and_kills_of_every_victim():
    flat = [one for chain in chaos.plan(1, KINDS, 100, TESTBEDS) for one in chain]
    assert {(one.kind, one.testbed) for one in flat} == {(kind, testbed) for kind in KINDS for testbed in TESTBEDS}
    kills = [one for one in flat if one.kind == "kill"]
    assert len(kills) == 100
    by_testbed = Counter(one.testbed for one in kills)
    assert by_testbed["emulated"] > 3 * by_testbed["ssh"] > 0
    assert {*ENDS, "init", "client", "namenode", "datanode", "resourcemanager", "nodemanager", "connection"} == {
        one.victim for one in kills
    }
    assert {one.how for one in kills if one.victim in ENDS} == set(chaos.SIGNALS)
    assert {one.how for one in kills if one.victim == "init"} == {"SIGKILL"}
    assert {one.victim for one in kills if one.paper == JOBS} == {"resourcemanager", "nodemanager"}
    assert all(one.paper == PUTS for one in flat if one.testbed == "ssh")


@pytest.mark.parametrize(
    ("what", "run", "counted"),
    [
        # The measurement ended at 101: nothing that was going on since before 100 can have been finished after that.
        (fault(), kept(99, 100.5), False),
        (fault(), kept(99, 101.5), True),
        (fault(), kept(101.5, 103), False),
        # A daemon that ended at 101.
        (fault(victim="datanode"), kept(99, 100.9), False),
        (fault(victim="datanode"), kept(99, 101.1), True),
        (fault(victim="init"), kept(99, 101.1), True),
        (fault(victim="datanode"), kept(101.1, 103), False),
        (fault(kind="disk", victim="results"), kept(80, 90, written=100.5), True),
        (fault(kind="readonly", victim="results"), kept(80, 90, written=99.9), False),
        (fault(kind="disk", victim="results"), kept(99, 102, written=101.1), False),
        (fault(kind="stop", victim="client", end=130), kept(99, 131), True),
        (fault(kind="stop", victim="client", end=130), kept(120, 140), True),
        (fault(kind="stop", victim="client", end=130), kept(131, 140), False),
        (fault(kind="stop", end=130), kept(99, 131), False),
        (fault(kind="stop", end=130), kept(99, 131, gap=30), True),
        (fault(kind="link", end=105), kept(101, 102), True),
        (fault(kind="link", end=105), kept(90, 100), False),
        (fault(kind="memory", end=105), kept(101, 102), True),
        (fault(kind="memory", end=105), kept(101, 102, whole=True), False),
        (fault(kind="clock"), kept(99, 3702), True),
        (fault(kind="clock"), kept(3701, 3703), False),
        (fault(kind="clock"), kept(99, -3498), True),
        (fault(kind="clock"), kept(-3499, -3498), False),
    ],
)
def test_what_a_fault_may_not_have_hit(what, run, counted):
    assert chaos.hit(what, [run]) == (["run"] if counted else [])


def test_a_finished_run_is_lost_when_it_is_gone_or_made_again():
    assert chaos.lost({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 4, "d": 5}) == ["b", "c"]
    assert not Row(injection(), True, dict.fromkeys(chaos.LEFT, 0), lost=1).good


def test_a_run_is_whole_when_each_block_has_all_of_its_replicas():
    said = (DATA / "fsck-8-files.txt").read_text()
    assert chaos.whole(said, 3)
    assert not chaos.whole(said, 4)
    first = said.index(", DatanodeInfoWithStorage")
    assert not chaos.whole(said[:first] + said[said.index("]]", first) :], 3)
    assert not chaos.whole("", 1)


def test_a_block_differs_in_runs_verdict_or_number():
    one = Block(frozenset({"a", "b"}), frozenset({"a", "b"}), "supported", "3", 9.0)
    assert chaos.unlike(one, one) == []
    for change in ({"valid": frozenset({"a"})}, {"listed": frozenset({"c"})}, {"verdict": "other"}, {"n": "1"},
                   {"estimate": 4.4}, {"estimate": 18.1}):  # fmt: skip
        assert len(chaos.unlike(dataclasses.replace(one, **change), one)) == 1
    single = dataclasses.replace(one, n="1")
    assert [len(chaos.unlike(dataclasses.replace(single, estimate=each), single)) for each in (4.4, 2.2)] == [0, 1]


def test_kills_for_which_there_was_no_time_are_no_failure_unless_they_were_asked_for():
    disk, kills = injection("disk", "results", "full"), [injection()] * 3
    left = chaos.missing(kills, [Row(kills[0])])
    assert not chaos.lacking(left, [Row(kills[0])], None)
    assert chaos.lacking(left, [Row(kills[0])], 3)
    assert chaos.lacking(chaos.missing(kills, []), [], None)  # a victim that nothing hit
    assert chaos.lacking(chaos.missing([disk], []), [Row(kills[0])], None)
    assert not chaos.lacking({}, [], 3)


TRACEBACK = ["Traceback (most recent call last):", '  File "{file}", line 1, in <module>', "    import x", "", "{end}"]


@pytest.mark.parametrize(
    ("file", "end", "how", "is_reported"),
    [
        ("/tree/src/whitewire/cli.py", "ValueError: no", "SIGTERM", True),
        ("/tree/src/whitewire/cli.py", "KeyboardInterrupt", "SIGINT", True),
        ("/usr/lib/python3.11/site.py", "ValueError: no", "SIGINT", True),
        ("/usr/lib/python3.11/site.py", "KeyboardInterrupt", "SIGTERM", True),
        ("/usr/lib/python3.11/site.py", "KeyboardInterrupt", "SIGINT", False),
    ],
)
def test_a_traceback_is_reported_but_an_interpreter_s_own_end(file, end, how, is_reported):
    lines = ["smoke-1: run 1 of 2", *(line.format(file=file, end=end) for line in TRACEBACK), "make: *** [papers]"]
    assert chaos.tracebacks(lines, how) == ([end] if is_reported else [])
    assert chaos.tracebacks(["smoke-1: finished"], how) == []


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """bench/chaos.py as a command whose faults come out well, but for those after `made` of them."""
    bench = runpy.run_path(str(HOME / "bench" / "chaos.py"))
    space = bench["main"].__globals__

    def ended(*options: str, made: int) -> int:
        def run(self, waiting):
            flat = [one for chain in waiting for one in chain]
            self.rows = [Row(one) for one in flat[:made]]

        monkeypatch.setattr(bench["Suite"], "run", run)
        monkeypatch.setattr(sys, "argv", ["chaos.py", "--folder", str(tmp_path), *options])
        return bench["main"]()

    (tmp_path / "tree" / "config" / "testbeds").mkdir(parents=True)
    monkeypatch.setattr(bench["doing"], "prepare", lambda tree, lanes: None)
    monkeypatch.setattr(bench["ours"], "alone", lambda: None)
    monkeypatch.setitem(space, "installed", lambda name: False)
    monkeypatch.setattr("signal.signal", lambda *given: None)
    return ended


def test_the_suite_fails_unless_every_fault_was_made(suite, capsys):
    asked = ("--kinds", "clock", "--testbeds", "emulated")
    assert suite(*asked, made=2) == 0
    assert "2 of 2 faults" in capsys.readouterr().out
    assert suite(*asked, made=1) == 1
    said = capsys.readouterr().out
    assert "1 of 2 faults" in said and "Not made: clock measure set " in said and "on emulated, 1" in said


def test_the_suite_fails_where_a_fault_cannot_be_made(suite, capsys):
    """Here without sshd."""
    assert suite("--kinds", "clock", made=4) == 1
    said = capsys.readouterr().out
    assert "2 of 4 faults" in said and "Cannot be made here: ssh (no sshd" in said and "on ssh, 1" in said
    assert "Never hit: `make trust`" in said


def test_our_processes_are_separate_from_others():
    # This process is not alone in its user namespace, so all of that namespace are taken for its own.
    there = {process.pid for process in ours.processes()}
    assert os.getpid() not in there
    assert os.getppid() in there
    assert ours.namespaces([]) == set()


@pytest.mark.parametrize("paper", [PUTS, JOBS])
def test_what_is_measured_can_be_planned(paper, tmp_path, monkeypatch):
    shutil.copytree(HOME / "config", tmp_path / "config")
    shutil.copytree(HOME / "paper", tmp_path / "paper")
    chaos_project.describe_papers(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EFFORT", "smoke")
    monkeypatch.setenv("PAPERS", paper)
    plan = Plan.load()
    assert len(plan.designs[paper]) == {PUTS: 6, JOBS: 2}[paper]
    check_documents([(plan.described[paper], tmp_path / "paper" / f"{paper}.qmd")])


def test_with_lanes_the_process_of_a_further_one_is_hit_too_and_only_runs_of_its_lane():
    def victims(lanes):
        return {one.victim for chain in chaos.plan(1, ["kill"], 100, ["emulated"], lanes) for one in chain}

    assert victims(2) - victims(1) == {"lane"}
    kill = chaos.Injection("kill", "datanode", "SIGKILL", "emulated", chaos.PUTS, chaos.Moment(1, 1.0))
    runs = [chaos.Kept(f"in-{lane}", 10.0, 20.0, 20.0, True, lane=lane) for lane in (1, 2)]
    assert chaos.hit(chaos.Fault(kill, 15.0, 15.0, True, lane=2), runs) == ["in-2"]
    assert chaos.hit(chaos.Fault(kill, 15.0, 15.0, True), runs) == ["in-1", "in-2"]


def test_the_lane_of_a_process_is_the_one_it_holds(tmp_path, monkeypatch):
    monkeypatch.setenv(LANES_VARIABLE, lanes.Lanes.of(3, tmp_path).text())
    mine = psutil.Process()
    assert chaos_project.lane_of(mine) == 0
    with lanes.lane("a"), lanes.lane("b"), lanes.lane("c"):
        pass
    with lanes.lane("a"):
        assert chaos_project.lane_of(mine) == 1
        child = subprocess.Popen(["sleep", "9"])
        try:
            assert chaos_project.lane_of(psutil.Process(child.pid)) == 1
        finally:
            child.kill()
            child.wait()
