"""What goes wrong under a run makes that run invalid with its cause, and the block goes on."""

from __future__ import annotations

import copy
import signal
import threading
from pathlib import Path

import pytest

from tests.integration.test_small_jobs import records, small_block
from tests.support.limits import wide
from whitewire.cluster import history
from whitewire.cluster.cephfs import cephfs_unavailable
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper
from whitewire.description.testbed import load_testbed
from whitewire.design.rows import make_design
from whitewire.measure.block import Block
from whitewire.testbed.emulated.software import ROOT
from whitewire.workloads.copy import Copy
from whitewire.workloads.terasort import TeraSort
from whitewire.workloads.testdfsio import TestDfsio


def copy_block(folder: Path) -> Block:
    """One copy into CephFS and out of it."""
    testbed = load_testbed("emulated")
    testbed = testbed | {"limits": wide(testbed["limits"])}
    loaded = load_paper(project.paper_path("xyratex-lustre-2011"), testbed["fabrics"])
    raw = copy.deepcopy(loaded.raw)
    (experiment,) = raw["experiments"] = [e for e in raw["experiments"] if e["id"] == "copy"]
    cell = {"store": "cephfs", "fabric": "32g-qdr"}
    experiment |= {"only": [cell], "smoke_cells": [cell]}
    experiment["roles"] = experiment["roles"] | {"datanode": 2, "client": 1}
    raw["claims"] = []
    paper = Paper(raw, loaded.path)
    rows = [row for row in make_design(paper, testbed, "smoke", 7) if row["block"] == "smoke-1"][:1]
    return Block(paper, testbed, "smoke-1", rows, folder)


def once(action):
    """A workload's `run` that calls `action(stack)` before the first run that counts."""
    done = []

    def around(real):
        def with_a_fault(workload, bench):
            if (bench.stack.overheads or not workload.has_overhead) and not done:
                done.append(True)
                action(bench.stack)
            return real(workload, bench)

        return with_a_fault

    return around


def causes(block: Block) -> list[str]:
    return [record["why_invalid"] for _, record in records(block, "invalid")]


def recovered(block: Block) -> bool:
    return {record["run_id"] for _, record in records(block)} == {row["run_id"] for row in block.rows}


@pytest.mark.slow
def test_a_lost_nodemanager(can_emulate, tmp_path, monkeypatch):
    block = small_block(tmp_path / "smoke-1", ("terasort",))
    crash = once(lambda stack: threading.Timer(4.0, stack.yarn.daemons["nodemanager-datanode2"].kill).start())
    monkeypatch.setattr(TeraSort, "run", crash(TeraSort.run))
    block.measure()
    assert any("nodemanager-datanode2 ended" in cause for cause in causes(block)), causes(block)
    assert recovered(block)


@pytest.mark.slow
def test_a_silent_history_server(can_emulate, tmp_path, monkeypatch):
    block = small_block(tmp_path / "smoke-1", ("testdfsio",))
    ask = history.reported_job
    monkeypatch.setattr(history, "reported_job", lambda host, where, job, _, *more: ask(host, where, job, 6.0, *more))
    silence = once(lambda stack: stack.yarn.daemons["historyserver"].main_process().send_signal(signal.SIGSTOP))
    monkeypatch.setattr(TestDfsio, "run", silence(TestDfsio.run))
    block.measure()
    assert any(cause.startswith("history server: no answer about job_") for cause in causes(block))
    assert recovered(block)


@pytest.mark.slow
def test_full_drives(can_emulate, tmp_path, monkeypatch):
    """All drives lie in the sandbox's memory, which something else fills up to the last block."""
    block = small_block(tmp_path / "smoke-1", ("testdfsio",))
    block.config = block.config | {"memory": block.config["memory"] | {"storage_gib": 2}}
    filled = []

    def fill(stack):
        filled.append(stack.testbed)
        done = stack.testbed.inside(["dd", "if=/dev/zero", f"of={ROOT}/fill", "bs=1M"])
        assert b"No space left" in done.stderr
        threading.Timer(15.0, lambda: stack.testbed.inside(["rm", "-f", f"{ROOT}/fill"])).start()

    monkeypatch.setattr(TestDfsio, "run", once(fill)(TestDfsio.run))
    block.measure()
    assert filled
    assert any("space" in cause.lower() or "replication" in cause for cause in causes(block)), causes(block)
    assert recovered(block)


@pytest.mark.slow
@pytest.mark.skipif(bool(cephfs_unavailable()), reason=f"CephFS: {cephfs_unavailable()}")
def test_a_dead_osd(can_emulate, tmp_path, monkeypatch):
    block = copy_block(tmp_path / "smoke-1")
    assert len(block.rows) == 1
    crash = once(lambda stack: threading.Timer(0.3, stack.mounted.daemons["ost3"].kill).start())
    monkeypatch.setattr(Copy, "run", crash(Copy.run))
    block.measure()
    assert any("ost3" in cause for cause in causes(block)), causes(block)
    assert recovered(block)
