"""HiBench's adapter on a small emulated cluster: real jobs, by way of a tree with HiBench's layout and interface."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from pathlib import Path

import pytest

from tests.support.small import BLOCK, small_stack
from whitewire.cluster.built_hibench import BuiltHiBench
from whitewire.cluster.hibench import HiBench, hadoop_of
from whitewire.cluster.stack import Stack
from whitewire.description.testbed import HIBENCH
from whitewire.design.scale import Scale
from whitewire.errors import RunFailed
from whitewire.measure.bench import StackBench
from whitewire.measure.run import Run
from whitewire.testbed.emulated import software
from whitewire.tools import hibench, history
from whitewire.tools.hibench import HiBenchJob
from whitewire.tools.hibench_report import job_ids_of_script, report_metrics, report_rows
from whitewire.tools.testdfsio import dfsio_result
from whitewire.workloads import terasort

TREE = Path(__file__).parents[1] / "data" / "hibench-tree"
SECONDS = 240.0
OPTIONS = {"mapreduce.terasort.partitions.sample": terasort.SAMPLED_ROWS, "dfs.replication": 2}

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bc") is None, reason="bc is not installed; HiBench's scripts need it"),
]


@pytest.fixture(scope="module")
def stack(can_emulate, tmp_path_factory):
    with small_stack(tmp_path_factory.mktemp("logs"), clients=1) as stack:
        yield stack


@pytest.fixture(scope="module")
def tree(can_emulate):
    """A copy where all hosts see it (each has a /tmp of its own), with the jar that a build makes."""
    with tempfile.TemporaryDirectory(dir=software.CACHE, prefix="hibench-") as folder:
        home = Path(shutil.copytree(TREE, Path(folder) / "tree"))
        (home / "autogen" / "target").mkdir(parents=True)
        (tests,) = software.HADOOP.glob("hadoop-mapreduce-client-jobclient-*-tests.jar")
        with zipfile.ZipFile(tests) as source, zipfile.ZipFile(home / "autogen/target/datatool.jar", "w") as target:
            for name in source.namelist():
                if name.startswith("org/apache/hadoop/fs/"):
                    target.writestr(name, source.read(name))
        yield home


@pytest.fixture
def bench(stack, tree, tmp_path):
    return HiBench(BuiltHiBench(stack.testbed.by_role("client")[0], str(tree)), tmp_path)


def configured(stack: Stack, bench: HiBench, program: str, size: int | None = None, profile: str = "tiny") -> None:
    """Checked and configured; `size` bytes instead of the profile's."""
    workers = [host.endpoint for host in stack.testbed.by_role("datanode")]
    bench.tree.check([(program, profile)], workers)
    sizes = hibench.sizes(program, profile, size) if size is not None else {}
    masters = [stack.testbed.by_role("namenode")[0].endpoint]
    hadoop = hadoop_of(stack.hdfs, stack.yarn, bench, OPTIONS)
    bench.configure(hadoop, HiBenchJob(program, profile, 3, 2, masters, workers, sizes))


def jobs_of(stack: Stack, ids: list[str]) -> list[dict]:
    return [history.job(stack.yarn.history(number)) for number in ids]


def jvms(stack: Stack) -> list[str]:
    """Options' files of the JVMs that stay for tasks, on all workers."""
    script = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -o '^@.*/task.args$' || true"
    return stack.testbed.by_role("datanode")[0].run(["sh", "-c", script]).stdout.decode().split()


@pytest.mark.skipif(not (HIBENCH / "tree").is_dir(), reason="no HiBench: `make hibench` brings it")
@pytest.mark.parametrize("program, size", [
    ("terasort", 3 * BLOCK // 100 * 100), ("sort", 2 * BLOCK), ("wordcount", 2 * BLOCK), ("sleep", None),
    ("dfsioe", None),
])  # fmt: skip
def test_the_real_one_runs_its_micro_programs(stack, tmp_path, program, size):
    bench = HiBench(BuiltHiBench(stack.testbed.by_role("client")[0], str(HIBENCH / "tree")), tmp_path)
    configured(stack, bench, program, size)
    bench.prepare(SECONDS, stack.check)
    reports = bench.measure(SECONDS, stack.check)
    for report in reports:
        first, *others = jobs_of(stack, report.jobs)
        assert first["state"] == "SUCCEEDED" and bool(others) == (program == "dfsioe")
        assert first["end"] - first["submit"] < report.row.seconds < SECONDS
        if report.row.rate:
            assert report.row.rate == pytest.approx(report.row.bytes / report.row.seconds, abs=1)
            assert report.row.node_rate == report.row.rate // 3
        print(program, report.name, report.row, [job["end"] - job["submit"] for job in (first, *others)], report.result)
    if program == "dfsioe":
        assert [report.name for report in reports] == ["read", "write"]
        assert all(report.result.files == 16 and report.result.throughput > 0 for report in reports)
    # Its tasks stay in their JVMs, which are not those of other jobs: their class paths differ.
    assert any("/hibench/task.args" in file for file in jvms(stack))


def test_terasort_runs_on_the_cluster_and_is_reported(stack, tree, bench):
    before = {path: path.stat().st_mtime_ns for path in tree.rglob("*")}
    configured(stack, bench, "terasort", 3 * BLOCK // 100 * 100)
    links = stack.testbed.counters()
    prepared = job_ids_of_script(bench.prepare(SECONDS, stack.check))
    (reported,) = bench.measure(SECONDS, stack.check)
    moved = {name: now["ingress"] - links[name]["ingress"] for name, now in stack.testbed.counters().items()}
    rows = 3 * BLOCK // 100
    assert (reported.name, reported.row.type, reported.row.bytes) == ("terasort", "HadoopTerasort", rows * 100)
    (job,) = jobs_of(stack, reported.jobs)
    assert job["state"] == "SUCCEEDED" and job["counters"]["MAP_INPUT_RECORDS"] == rows
    assert job["reduces"] == 2 and {task["host"] for task in job["tasks"]} <= set(moved)
    # HiBench's time holds the client's start too; its rate is its bytes over that time, rounded down.
    assert job["end"] - job["submit"] < reported.row.seconds < SECONDS
    assert reported.row.rate == pytest.approx(reported.row.bytes / reported.row.seconds, abs=1)
    assert reported.row.node_rate == reported.row.rate // 3
    (made,) = jobs_of(stack, prepared)
    assert made["counters"]["HDFS_BYTES_WRITTEN"] == rows * 100 and made["maps"] == 3
    # Shuffle and replicas crossed the links of the workers.
    assert sum(moved[f"datanode{number}"] for number in (1, 2, 3)) > rows * 100
    assert {path: path.stat().st_mtime_ns for path in tree.rglob("*")} == before
    kept = bench.files()
    assert "hibench.terasort.whitewire.datasize\t31457" in kept["hibench.conf"]
    assert report_rows(kept["hibench.report"]) == [reported.row]
    assert bench.made_by == "HiBench 7.1.1-layout"


def test_runs_of_a_round_share_an_input_and_have_their_report(stack, bench, monkeypatch):
    prepared = []
    monkeypatch.setattr(stack, "hibench", bench)
    monkeypatch.setattr(bench, "prepare", lambda *given: prepared.append(HiBench.prepare(bench, *given)))
    row = {"run_id": "r", "block": "b", "order": 1, "experiment": "e", "workload": "hibench", "seed": 0}
    own = {"program": "terasort", "profile": "tiny", "maps": 3, "reduces": 2, "replication": 2}
    parameters = {"fabric": "10gbe", "block_size_bytes": 100 * BLOCK, **own}
    scale = Scale(100, 1.0, BLOCK, 3 * BLOCK // 100 * 100)
    for replicate, made in ((1, 1), (1, 1), (2, 2)):
        run = Run({**row, "replicate": replicate}, {}, parameters, {}, scale, 20.0)
        record = run.workload.run(StackBench(stack, run)).record
        assert len(prepared) == made
    (job,), (report,) = record["jobs"], record["reports"]
    assert record["user_bytes"] == report["bytes"] == scale.file_bytes and job["state"] == "SUCCEEDED"
    assert (job["name"], record["made_by"], record["program"]) == ("terasort", "HiBench 7.1.1-layout", "terasort")


def test_dfsioe_keeps_the_options_whose_quotes_got_lost(stack, bench):
    configured(stack, bench, "dfsioe")
    bench.prepare(SECONDS, stack.check)
    reports = bench.measure(SECONDS, stack.check)
    assert [report.name for report in reports] == ["read", "write"]
    results = bench.files()
    for report, counter in zip(reports, ("HDFS_BYTES_READ", "HDFS_BYTES_WRITTEN"), strict=True):
        (job,) = jobs_of(stack, report.jobs)
        assert job["state"] == "SUCCEEDED" and job["counters"][counter] > 2 * BLOCK
        said = dfsio_result(results[f"result_{report.name}.txt"])
        assert said.files == 2 and 0 < said.seconds < report.row.seconds
        assert "-Dtest.build.data=viewfs://whitewire/whitewire/HiBench/Dfsioe/Input @" in report.output
    metrics = report_metrics([report.record() for report in reports])
    assert metrics["read_report_time"] == reports[0].row.seconds


def test_sleep_moves_no_data(stack, bench):
    configured(stack, bench, "sleep")
    bench.prepare(SECONDS, stack.check)
    (report,) = bench.measure(SECONDS, stack.check)
    (job,) = jobs_of(stack, report.jobs)
    assert (job["maps"], job["reduces"], report.row.bytes, report.row.rate) == (3, 2, 0, 0)
    assert "report_throughput" not in report_metrics([report.record()])


@pytest.mark.slow
@pytest.mark.parametrize("program, counter", [("sort", "MAP_OUTPUT_RECORDS"), ("wordcount", "COMBINE_INPUT_RECORDS")])
def test_the_other_micro_workloads(stack, bench, program, counter):
    configured(stack, bench, program, 2 * BLOCK)
    bench.prepare(SECONDS, stack.check)
    (report,) = bench.measure(SECONDS, stack.check)
    (job,) = jobs_of(stack, report.jobs)
    assert job["state"] == "SUCCEEDED" and job["counters"][counter] > 0
    assert report.row.bytes == pytest.approx(2 * BLOCK, rel=0.25)


def test_a_job_that_fails_is_named(stack, bench):
    configured(stack, bench, "terasort", BLOCK)
    stack.hdfs.remove("/whitewire")
    with pytest.raises(RunFailed, match=r"hibench micro/terasort/hadoop/run.sh: status .*Exception"):
        bench.measure(SECONDS, stack.check)
