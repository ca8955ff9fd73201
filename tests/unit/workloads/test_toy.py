"""A workload is one class and a line in the table: a new one is taken by every stage, and nothing else is changed."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import pytest

from tests.support import quick_yaml
from whitewire import workloads
from whitewire.description.checks import load_paper
from whitewire.description.project import paper_path
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design.durations import OVERHEAD_S, expected_seconds, overhead_seconds
from whitewire.design.rows import make_design
from whitewire.design.shapes import check_shapes
from whitewire.errors import UserError
from whitewire.records.jobs import ANY_METRICS, JOB_METRICS
from whitewire.records.metrics import Metric
from whitewire.records.reasons import Reason
from whitewire.records.result import Result
from whitewire.tidy.tables import metric_rows
from whitewire.workloads import METRICS, WORKLOADS, workload_of
from whitewire.workloads.base import Workload

TESTBED = load_testbed("emulated")
OWN = (
    Metric("search_rate", "MB/s", "user bytes ÷ `search_time`", "rate"),
    Metric("search_time", "s", "submission to end of the job", "time", overhead="always"),
)


class Grep(Workload):
    """A job that searches its input and writes next to nothing."""

    name = "grep"
    needs = frozenset({"maps", "pattern"})
    startup_s = 7.0
    passes = 1.0
    declares = (*ANY_METRICS, *JOB_METRICS, *OWN)

    def crossings(self, remote, copies, outputs, workers):
        return remote

    def outputs(self, copies, outputs, drives):
        return 0.0

    def run(self, bench):
        bench.files.begin()
        source = bench.jobs.input("text", lambda path: ("Write", [path]))
        target = bench.files.output("found")

        def act(kept):
            return [bench.jobs.submit("Grep", [bench.parameters["pattern"], source, target], self.name, kept)]

        result = bench.jobs.record(act, bench.scale.file_bytes, input=source, output=target)
        return result.plus({"matches": len(bench.client.cat(f"{target}/part-r-00000").splitlines())})

    def own_metrics(self, record, samples):
        seconds = record["jobs"][0]["end"] - record["jobs"][0]["submit"]
        return {"search_rate": record["user_bytes"] / seconds / 1e6, "search_time": seconds}

    def faults(self, record, found, limits):
        none = [] if record["matches"] else [Reason("other", {"why": "nothing was found"})]
        return none + super().faults(record, found, limits)


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setitem(WORKLOADS, Grep.name, Grep())
    for metric in OWN:  # the table is made when workloads are imported
        monkeypatch.setitem(METRICS, metric.name, metric)


def read(tmp_path, **parameters):
    """The paper of Mellanox with one more experiment, and one claim, on the toy."""
    data = quick_yaml.load(paper_path("mellanox-mapr").read_text(encoding="utf-8"))
    like = next(e for e in data["experiments"] if e["id"] == "terasort-curve")
    own = {"size_bytes": 1.0e12, "block_size_bytes": 268435456, "replication": 3, "maps": 5, "pattern": "a.*b"}
    made = copy.deepcopy(like) | {"id": "search", "workload": "grep", "parameters": own | parameters}
    data["experiments"].append(made)
    claim = next(c for c in data["claims"] if c["id"] == "M-C02")
    claim["test"]["metric"], claim["test"]["also"] = "search_rate", []
    for side in ("numerator", "denominator"):
        claim["test"][side]["experiment"] = "search"
    path = tmp_path / "mellanox-mapr.yaml"
    path.write_text(quick_yaml.dump(data, sort_keys=False), encoding="utf-8")
    return load_paper(path, fabric_names(TESTBED))


def test_what_no_table_lists_is_refused(tmp_path):
    with pytest.raises(UserError, match=r'workload: found "grep"|metric: found "search_rate"'):
        read(tmp_path)


def test_it_is_checked(toy, tmp_path):
    assert read(tmp_path).experiments["search"]["workload"] == "grep"
    with pytest.raises(UserError, match=r'found "patern", expected a parameter that grep reads .*"pattern"'):
        read(tmp_path, patern="x")
    with pytest.raises(UserError, match=r'metric: found "search_rte"'):
        loaded = read(tmp_path)
        path = tmp_path / "mellanox-mapr.yaml"
        path.write_text(path.read_text().replace("metric: search_rate", "metric: search_rte"))
        load_paper(loaded.path, fabric_names(TESTBED))


def test_it_gets_a_design_with_expected_seconds(toy, tmp_path):
    loaded = read(tmp_path)
    check_shapes(loaded, TESTBED)
    rows = [row for row in make_design(loaded, TESTBED, "quick", 1) if row["experiment"] == "search"]
    assert len(rows) > 6 and {row["workload"] for row in rows} == {"grep"}
    seconds = {row["fabric"]: expected_seconds(loaded, row, TESTBED) for row in rows}
    assert seconds["5gbe"] > seconds["400gbe"] > Grep.startup_s + OVERHEAD_S == overhead_seconds(rows[0])


def record(**changes):
    links = {host: {"egress": 0, "ingress": 0} for host in ("a", "b")}
    after = {host: {"egress": 5_000_000, "ingress": 5_000_000} for host in ("a", "b")}
    return {
        "run_id": "r", "workload": "grep", "factors": {}, "valid": True, "why_invalid": "", "why_codes": [],
        "scale": {"k": 10, "data_fraction": 0.1},
        "start": 100.0, "end": 120.0, "user_bytes": 40_000_000, "matches": 3, "workers": ["a", "b"],
        "floors": {"grep": 8.0}, "jobs": [{"name": "grep", "submit": 100.0, "end": 120.0}], "cpu": "limit",
        "links_before": links, "links_after": after, "tcp_retransmits": 0, "queue_drops": 0,
        "fabric": {"rate": 100.0, "burst": 0, "mtu": 0, "racks": 0, "unlike": {}}, "floor": "", "asked": {},
        "evidence": {}, "clock": {"stepped": 0.0, "slept": 0.0}, "disturbed": [],
    } | changes  # fmt: skip


SAMPLES = "time,ticks,idle_ticks\n" + "".join(f"{100 + s},{s * 200},{s * 160}\n" for s in range(21))
FILES = {"samples.csv": SAMPLES, "host-cpu.csv": "time,a,b\n100,0,0\n120,10,5\n"}


def test_its_metrics_and_faults_come_from_its_record(toy, tmp_path):
    found = workloads.run_metrics(record(), FILES)
    assert found["search_rate"] == 2.0 and found["completion_time_net"] == 12.0
    assert set(found) - {"link_time"} <= set(Grep().metric_names)
    limits = TESTBED["limits"]
    assert workloads.run_faults(record(), found, limits) == []
    assert [*map(str, workloads.run_faults(record(matches=0), found, limits))] == ["nothing was found"]
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    rows = {row["metric"]: row["full_scale_value"] for row in metric_rows(tmp_path, record(), [])}
    assert rows["search_rate"] == "20" and rows["search_time"] == "" and rows["completion_time_net"] == "120"


def test_it_runs_on_a_bench_without_a_cluster(toy):
    did = []

    def submit(tool, arguments, what, kept):
        did.append([tool, *arguments])
        return {"name": what, "submit": 1.0, "end": 3.0, "tasks": [], "counters": {}}

    def seen(act, user_bytes, **files):
        return Result({"jobs": act({}), "user_bytes": user_bytes, "evidence": {"files": files}}, {})

    bench = SimpleNamespace(
        parameters={"pattern": "a.*b"},
        scale=SimpleNamespace(file_bytes=8, block_bytes=4),
        files=SimpleNamespace(begin=lambda: did.append("begin"), output=lambda name: f"/output/{name}"),
        jobs=SimpleNamespace(input=lambda kind, make: f"/input/{kind}", submit=submit, record=seen),
        client=SimpleNamespace(cat=lambda path: "ab\naxb\n"),
    )
    record = workload_of("grep").run(bench).record
    assert did == ["begin", ["Grep", "a.*b", "/input/text", "/output/found"]]
    assert (record["user_bytes"], record["matches"], record["jobs"][0]["name"]) == (8, 2, "grep")
    assert record["evidence"]["files"] == {"input": "/input/text", "output": "/output/found"}
