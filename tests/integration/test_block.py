"""Whole blocks on a small real cluster: the journal, resuming, a DataNode that dies, an owner that is killed."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from tests.conftest import descendants, still_alive
from tests.support.limits import beside_others
from tests.support.small import small_block
from whitewire import workloads
from whitewire.budget import Allowance
from whitewire.description.paper import Paper
from whitewire.design.rows import levels_of
from whitewire.levels import cell_id
from whitewire.measure import session
from whitewire.measure.block_plan import CLOSING_S, START_S
from whitewire.measure.scale_candidate import ScaleCandidates
from whitewire.records.checked import read_block
from whitewire.records.journal import Journal
from whitewire.records.reasons import BUDGET, DECIDED
from whitewire.tidy import columns, tables
from whitewire.workloads.hdfs_put import HdfsPut

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module", autouse=True)
def busy():
    with beside_others():
        yield


@pytest.fixture(scope="module")
def finished(can_emulate, tmp_path_factory):
    """A block whose first put on 1 GbE, of those that are kept, loses a DataNode a moment after the puts began."""
    folder = tmp_path_factory.mktemp("block") / "smoke-1"
    block, real, killed = small_block(folder), HdfsPut.run, []

    def with_a_crash(workload, bench):
        if block.warm and not killed and bench.run.levels["fabric"] == "1gbe":
            victim = bench.stack.hdfs.daemons["datanode2"]
            killed.append(victim.name)
            threading.Timer(0.4, victim.kill).start()
        return real(workload, bench)

    warm_up = session.warm_up
    block.warm = False

    def then_warm(*arguments):
        found = warm_up(*arguments)
        block.warm = True
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HdfsPut, "run", with_a_crash)
        patch.setattr(session, "warm_up", then_warm)
        block.measure()
    return folder


def records(folder, what="runs"):
    return [json.loads(path.read_text()) for path in sorted(folder.glob(f"{what}/*/run.json"))]


def test_every_run_is_there_and_valid(finished):
    block = json.loads((finished / "block.json").read_text())
    assert len(block["runs"]) == 5
    assert block["given_up"] == []
    assert sorted(record["run_id"] for record in records(finished)) == sorted(block["runs"])
    assert all(record["valid"] and record["why_invalid"] == "" for record in records(finished))


def test_a_datanode_killed_in_a_run_made_it_invalid_and_the_block_recovered(finished):
    # A busy machine may make another run invalid too; exactly one was cut off by the crash.
    (invalid,) = [r for r in records(finished, "invalid") if "DataNode datanode2 ended" in r["why_invalid"]]
    assert not invalid["valid"]
    assert (finished / "invalid" / f"{invalid['run_id']}.1" / "datanode2.log").stat().st_size > 0


def test_what_was_written_is_what_hdfs_holds(finished):
    for record in records(finished):
        size = record["scale"]["file_bytes"]
        files = {block["file"] for block in record["placement"]}
        puts = 2 * record["clients"]
        assert len(files) == puts
        assert sum(block["bytes"] for block in record["placement"]) == puts * size
        assert {len(set(block["datanodes"])) for block in record["placement"]} == {3}


def test_the_wire_carried_it_and_the_fabric_limited_it(finished):
    for record in records(finished):
        if record["workload"] != "hdfs_put":
            continue
        path = finished / "runs" / record["run_id"] / "samples.csv"
        found = workloads.run_metrics(record, {path.name: path.read_text()})
        user = found["user_bytes"]
        assert user <= found["client_wire_bytes"] <= 1.1 * user
        assert 3 * user <= found["datanode_wire_bytes"] <= 3.3 * user
        assert found["throughput"] * 8 < record["fabric"]["rate"] * record["clients"]
        if record["fabric"]["name"] == "1gbe" and record["clients"] == 1:
            assert found["link_share"] > 0.3


def test_rereplication_made_two_more_replicas(finished):
    (record,) = [record for record in records(finished) if record["workload"] == "rereplicate"]
    assert record["blocks_copied"] == 2 * len(record["placement"])
    assert 0 < record["end"] - record["start"] < 60


def test_environment_and_probes_are_recorded(finished):
    environment = json.loads((finished / "environment.json").read_text())
    assert environment["tools"]["hadoop"] == "3.5.0"
    assert len(environment["hosts"]) == 7
    assert {values["tcp_congestion_control"] for values in environment["tcp"].values()} <= {"cubic", "reno"}
    probes = json.loads((finished / "probes" / "probes.json").read_text())
    assert {row["probe"] for row in probes} == {"iperf3", "fio"}
    assert {row["streams"] for row in probes if row["probe"] == "iperf3"} == {1, 4}
    assert {(r["operation"], r["mode"]) for r in probes if r["probe"] == "fio"} == {
        ("write", "buffered"), ("write", "direct"), ("read", "buffered"), ("read", "direct")}  # fmt: skip


def test_a_finished_block_measures_nothing_again(finished):
    before = {path: path.stat().st_mtime_ns for path in finished.glob("runs/*/*")}
    begin = time.process_time()
    small_block(finished).measure()
    assert time.process_time() - begin < 3
    assert {path: path.stat().st_mtime_ns for path in finished.glob("runs/*/*")} == before


TWICE = [signal.SIGTERM, signal.SIGKILL]


@pytest.mark.parametrize("signals", [TWICE, pytest.param(3 * TWICE, marks=pytest.mark.slow)], ids=len)
def test_killed_at_a_random_moment_nothing_is_left_or_lost(can_emulate, tmp_path, signals):
    folder, kept = tmp_path / "smoke-1", {}
    for number in signals:
        with subprocess.Popen(
            [sys.executable, "-m", "tests.support.small", str(folder)], stderr=subprocess.PIPE
        ) as owner:
            assert b" to make" in owner.stderr.readline()
            inside: set[int] = set()
            try:
                assert owner.wait(timeout=random.uniform(0, 20)) == 0  # all runs were made before
            except subprocess.TimeoutExpired:
                inside = descendants(owner.pid)
                owner.send_signal(number)
                owner.wait(timeout=20)
        assert not still_alive(inside)
        now = {path.parent.name: path.stat().st_mtime_ns for path in folder.glob("runs/*/run.json")}
        assert kept.items() <= now.items(), "a finished run was lost or made again"
        kept = now
    Journal(folder)
    assert not list(folder.glob("*/.part-*"))


def described(block, **changes):
    """A block whose paper has other entries."""
    raw = json.loads(json.dumps(block.paper.raw)) | changes
    block.candidates = ScaleCandidates(Paper.of(raw, block.paper.path), block.journal.folder.parent, raises_k=True)
    return block


def finished_record(folder):
    return json.loads((folder / "block.json").read_text())


@pytest.mark.slow
def test_a_machine_that_is_too_slow_takes_the_next_k_and_then_goes_on(can_emulate, tmp_path, capfd):
    """No wake-up latency is allowed: no k is large enough, the last one is taken, and every run stays invalid."""
    folder = tmp_path / "quick-1"
    block = small_block(folder, "quick", 1, {"cpu_late_ms": 0.0, "attempts": 1})
    described(block, scale=block.paper.raw["scale"] | {"k": [128, 256]})
    before = descendants(os.getpid())
    block.measure()
    said = capfd.readouterr().err
    assert re.search(
        r"k = 128 is too small for this machine \(mean wake-up latency \d.* ms, .*: going on with the next k", said
    )
    assert re.search(r"even k = 256 is too small for this machine .* the rest is measured", said)
    chosen = json.loads((tmp_path / "scale.json").read_text())
    assert chosen["rung"] == 1
    assert [tried["k"] for tried in chosen["tried"]] == [128, 256]
    assert not any(tried["enough"] for tried in chosen["tried"])
    done = finished_record(folder)
    assert done["rung"] == 1
    assert {*done["given_up"], *done["left"]} == {*done["runs"]}  # other programs may have been in the way too
    assert all("woke_late" in record["why_codes"] for record in records(folder, "invalid"))
    assert {record["scale"]["k"] for record in records(folder, "invalid")} == {256}
    assert not still_alive(descendants(os.getpid()) - before)


@pytest.mark.parametrize("all_starts", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_what_no_open_claim_needs_is_not_measured_and_a_budget_ends_it(can_emulate, tmp_path, all_starts):
    def of_two_cells():
        block = small_block(tmp_path / "quick-1", "quick", 3)
        block.rows = [row for row in block.rows if row["fabric"] == "10gbe" and row["experiment"] == "put-grid"]
        return block

    block = described(of_two_cells(), looks={"quick": [1, 2, 3]})
    folder = block.journal.folder
    one = cell_id(block.rows[0]["experiment"], levels_of(block.paper, block.rows[0]))
    seen = []

    def interim(paper, config, results, designed, unavailable):
        assert (paper, config, results, unavailable) == (block.paper, block.config, folder, {})
        assert len(designed) == 2 * (1 + len(seen)) and {*designed.values()} == {"quick-1"}
        seen.append(len(records(folder)))
        return SimpleNamespace(decided=["a"], open=["b"], cells=[one], near=[one], place={})

    block.interim = interim
    block.measure()
    done = finished_record(folder)
    assert seen == [2, 3]  # after one run of each cell, and after another one of the cell that is still open
    assert len(done["runs"]) == 6
    assert set(done["left"].values()) == {"decided after 1 runs of each cell"}
    assert set(done["left_codes"].values()) == {DECIDED}
    assert len(done["left"]) == 2
    assert len(records(folder)) == 4
    again = of_two_cells()
    again.allowance = Allowance(lambda: START_S + CLOSING_S)  # enough to start and end, but not for a run
    again.measure()
    done = finished_record(folder)
    assert set(done["left"].values()) == {"the budget ended"}
    assert set(done["left_codes"].values()) == {BUDGET}
    assert len(done["left"]) == 2
    assert len(records(folder)) == 4
    assert judged_with(folder, block) is None, "no start has added a run to what an earlier one had judged"
    if all_starts:
        of_two_cells().measure()
        assert len(records(folder)) == 6
        assert judged_with(folder, block) == 1, "the cell that was left out had one run by then"


def judged_with(folder, block):
    """What tidy/asked.csv says of a claim that compares the block's two cells."""
    cells = {cell_id(row["experiment"], levels): {"experiment": row["experiment"], "where": levels}
             for row in block.rows for levels in [levels_of(block.paper, row)]}  # fmt: skip
    test = {"metric": "throughput", **dict(zip(("numerator", "denominator"), cells.values(), strict=True))}
    claims = [{"id": "C", "test": {"estimand": "ratio", **test}}]
    paper = Paper.of({**block.paper.raw, "claims": claims}, block.paper.path)
    (row,) = tables._asked(paper, folder.parent, {folder.name: read_block(folder, block.rows)})
    return row.get(columns.JUDGED)
