"""Real Map/Reduce jobs on a small emulated cluster: three workers, a TeraSort and a TestDFSIO."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from tests.support.limits import beside_others, wide
from whitewire import workloads
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper
from whitewire.description.testbed import load_testbed
from whitewire.design.rows import make_design
from whitewire.measure.block import Block
from whitewire.workloads import terasort


def small_block(folder: Path, workloads: tuple[str, ...]) -> Block:
    """One run a workload; every bound that depends on how busy this machine is lies open."""
    testbed = load_testbed("emulated")
    testbed = testbed | {"limits": wide(testbed["limits"])}
    loaded = load_paper(project.paper_path("mellanox-mapr"), testbed["fabrics"])
    raw = copy.deepcopy(loaded.raw)
    kept = {"terasort": "terasort-curve", "testdfsio": "testdfsio-curve"}
    raw["experiments"] = [e for e in raw["experiments"] if e["id"] in [kept[name] for name in workloads]]
    for experiment in raw["experiments"]:
        experiment["roles"] = {"namenode": 1, "datanode": 3, "client": 1}
        experiment["factors"] = {"fabric": ["20gbe"]}
        experiment["smoke_cells"] = [{"fabric": "20gbe"}]
        sort = experiment["workload"] == "terasort"
        experiment["scale"] = {
            "k": 400,
            "bytes": {"smoke": 12_000_000 if sort else 6_000_000},
            "splits": 3 if sort else 1,
        }
        experiment["parameters"] |= {"maps": 3, "output_replication": 1}
        experiment["parameters"] |= {"reduces": 3} if sort else {}
    raw["claims"] = []
    paper = Paper(raw, loaded.path)
    rows = [row for row in make_design(paper, testbed, "smoke", 7) if row["block"] == "smoke-1"]
    return Block(paper, testbed, "smoke-1", rows, folder)


def records(block: Block, kind: str = "runs") -> list[tuple[Path, dict]]:
    found = sorted((block.journal.folder / kind).glob("*/run.json"))
    return [(path.parent, json.loads(path.read_text())) for path in found]


@pytest.fixture(scope="module")
def block(can_emulate, tmp_path_factory) -> Block:
    block = small_block(tmp_path_factory.mktemp("jobs") / "smoke-1", ("terasort", "testdfsio"))
    with beside_others():
        block.measure()
    return block


@pytest.fixture(scope="module")
def measured(block) -> dict[str, tuple[dict, dict]]:
    found = {}
    for folder, record in records(block):
        files = {path.name: path.read_text() for path in folder.iterdir()}
        found[record["workload"]] = record, {"metrics": workloads.run_metrics(record, files), "files": files}
    return found


def test_both_workloads_ran(block, measured):
    assert set(measured) == {"terasort", "testdfsio"}
    assert {record["run_id"] for _, record in records(block)} == {row["run_id"] for row in block.rows}


def test_terasort_reads_few_rows_of_one_split_before_it_is_submitted(measured):
    _, found = measured["terasort"]
    said = found["files"]["terasort.txt"]
    assert f"Sampling {terasort.SAMPLED_SPLITS} splits of " in said
    assert f"from {terasort.SAMPLED_ROWS} sampled records" in said


def test_the_shuffle_crosses_the_links(measured):
    record, found = measured["terasort"]
    (job,) = record["jobs"]
    assert job["counters"]["REDUCE_SHUFFLE_BYTES"] > record["user_bytes"]
    assert job["counters"]["MAP_INPUT_RECORDS"] == record["user_bytes"] // 100
    crossing = found["metrics"]["shuffle_wire_bytes"]
    assert 0 < crossing < job["counters"]["REDUCE_SHUFFLE_BYTES"]
    # What the interfaces counted holds the shuffle, and is of its size.
    assert 0.9 * crossing < found["metrics"]["worker_wire_bytes"] < 4 * crossing + 10e6


@pytest.mark.parametrize(("workload", "kind"), [("terasort", "MAP"), ("terasort", "REDUCE"), ("testdfsio", "MAP")])
def test_every_worker_has_its_even_share_of_the_tasks(measured, workload, kind):
    record, _ = measured[workload]
    for job in record["jobs"]:
        assert sorted(task["host"] for task in job["tasks"] if task["type"] == kind) == sorted(record["workers"])


def test_tasks_have_their_phases(measured):
    record, _ = measured["terasort"]
    tasks = record["jobs"][0]["tasks"]
    for task in tasks:
        assert record["start"] <= task["start"] <= task["end"] <= record["end"] + 0.1
        if task["type"] == "REDUCE":
            assert task["start"] <= task["shuffle_end"] <= task["merge_end"] <= task["end"]


def test_the_overhead_was_measured_beside_it(measured):
    record, found = measured["terasort"]
    assert 0.5 < record["floors"]["terasort"] < 60
    net = found["metrics"]["completion_time_net"]
    assert net <= found["metrics"]["completion_time"]


def test_testdfsio_moved_whole_files_both_ways(measured):
    record, found = measured["testdfsio"]
    for job in record["jobs"]:
        assert job["testdfsio"]["size"] == record["user_bytes"] == 18_000_000
    assert {job["name"] for job in record["jobs"]} == {"write", "read"}
    assert found["metrics"]["write_throughput"] > 0
    for job in record["jobs"]:
        # By the tasks' own logs, whose spans add up to the time that TestDFSIO says they took.
        tasks = int(job["testdfsio"]["tasks"])
        assert sum(end - begin for begin, end in job["spans"]) == pytest.approx(job["testdfsio"]["time"] / 1e3)
        assert 1 <= found["metrics"][f"{job['name']}_tasks_at_once"] <= tasks
    # Two further replicas of each file cross links into the workers.
    assert found["metrics"]["worker_wire_bytes"] > 2 * record["user_bytes"]


def test_each_host_was_charged_with_its_own_cpu_time(measured):
    record, found = measured["terasort"]
    assert 0.01 < found["metrics"]["worker_cpu_cores"] < 2
    assert "host-cpu.csv" in found["files"]
