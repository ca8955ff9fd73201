"""A block of a paper that varies what only Hadoop knows: from its YAML to valid runs that prove their levels."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import yaml

from tests.support.limits import beside_others, wide
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper
from whitewire.description.testbed import load_testbed
from whitewire.design.rows import make_design
from whitewire.measure import groups
from whitewire.measure.block import Block
from whitewire.records import jobs
from whitewire.workloads import run_proofs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROLES = {"namenode": 1, "datanode": 3, "client": 1}
SCALE = {"k": 100, "bytes": {"smoke": 6.0e6, "quick": 6.0e6, "full": 6.0e6}, "splits": 6}
JOB = {"size_bytes": 1.0e12, "block_size_bytes": 134217728, "replication": 1, "fabric": "10gbe"}
DRIVE = {"count": 1, "rate_mb_per_s": 1000, "access_time_ms": 0, "writeback_chunk_bytes": 4194304, "cache_bytes": 0}
SSD = [*DRIVE, "read_rate_mb_per_s"]
HARDWARE = {
    "drive": DRIVE, "sources": dict.fromkeys(DRIVE, "a test"),
    "writer": {"rate_mb_per_s": 100, "sources": {"rate_mb_per_s": "a test"}},
}  # fmt: skip
"""Writers of a tenth of a link, which drives do not bound."""
EXPERIMENTS = {
    "coded-puts": ("hdfs_put", {"store": ["copies", "coded"]}, {
        "parameters": {"file_size_bytes": 4.0e9, "block_size_bytes": 134217728, "replication": 2, "clients": 1,
                       "puts_per_client": 2, "fabric": "10gbe"},
        "stores": {"copies": {"kind": "hdfs", "replication": 2},
                   "coded": {"kind": "hdfs", "erasure_coding": "XOR-2-1-1024k"}}}),
    "waves": ("terasort", {"tasks_per_worker": [1, 2], "map_output_compression": ["none", "snappy"]}, {
        "parameters": JOB | {"maps": 6, "reduces": 3}, "scale": SCALE,
        "only": [{"tasks_per_worker": 1, "map_output_compression": "none"},
                 {"tasks_per_worker": 2, "map_output_compression": "snappy"}]}),
    "intermediate": ("terasort", {"intermediate_drive": ["shared", "ssd"]}, {
        "parameters": JOB | {"maps": 6, "reduces": 3}, "scale": SCALE,
        "hardware": {"drive": DRIVE, "drives": {"ssd": DRIVE | {
            "rate_mb_per_s": 2000, "read_rate_mb_per_s": 4000, "sources": dict.fromkeys(SSD, "a test")}}}}),
    "puts-of-a-processor": ("hdfs_put", {"writer_bound": ["on", "off"]}, {
        "parameters": {"file_size_bytes": 4.0e9, "block_size_bytes": 134217728, "replication": 2, "clients": 1,
                       "puts_per_client": 2, "fabric": "10gbe"}, "hardware": HARDWARE}),
    "tasks-of-a-processor": ("testdfsio", {"writer_bound": ["on"]}, {
        "parameters": JOB | {"size_bytes": 1.0e10, "maps": 3, "operation": "write"}, "scale": SCALE | {"splits": 2},
        "hardware": HARDWARE}),
    "read": ("testdfsio", {"operation": ["read"]}, {
        "parameters": JOB | {"size_bytes": 1.0e10, "maps": 3}, "scale": SCALE | {"splits": 2}}),
    "on-chosen-workers": ("testdfsio", {"task_workers": [1, 3]}, {
        "parameters": JOB | {"size_bytes": 1.0e10, "maps": 3}, "scale": SCALE | {"splits": 2}}),
    "from-datanodes": ("hdfs_put", {"put_from": ["client", "datanode"], "replication": [1, 2]}, {
        "only": [{"put_from": "client", "replication": 2}, {"put_from": "datanode"}],
        "parameters": {"file_size_bytes": 4.0e9, "block_size_bytes": 134217728, "clients": 1, "puts_per_client": 2,
                       "fabric": "10gbe"}}),
    "in-order": ("teravalidate", {"maps": [3], "settings": ["more"]}, {
        "parameters": JOB, "scale": SCALE,
        "settings": {"more": {"yarn.resourcemanager.client.thread-count": 20, "yarn.nodemanager.vmem-pmem-ratio": 3,
                              "mapreduce.jobhistory.client.thread-count": 12, "mapreduce.job.max.map": 9,
                              "ipc.server.listen.queue.size": 300}}}),
    "throttles": ("rereplicate", {"settings": ["default", "throttled"]}, {
        "parameters": {"file_size_bytes": 4.0e9, "block_size_bytes": 134217728, "replication": 2, "lost_replicas": 1,
                       "clients": 1, "puts_per_client": 2, "fabric": "10gbe", "load_fabric": "10gbe"},
        "settings": {"default": {}, "throttled": {"dfs.namenode.replication.max-streams": 1,
                                                  "dfs.datanode.data.transfer.bandwidthPerSec": 2.0e7}}}),
    "calls": ("nnbench", {"operation": ["rename"]}, {
        "parameters": {"maps": 3, "files_per_map": 20, "block_size_bytes": 134217728, "fabric": "10gbe"},
        "whole_file": True}),
}  # fmt: skip


def written(folder: Path) -> Paper:
    """The paper of Mellanox's head with these experiments, read and checked as any."""
    raw = copy.deepcopy(dict(load_paper(project.paper_path("mellanox-mapr"), load_testbed("emulated")["fabrics"]).raw))
    raw["claims"] = [claim for claim in raw["claims"] if not claim["test"].keys() & {"numerator", "cell", "cells"}]
    raw["claims"] = [claim for claim in raw["claims"] if "inverse" not in claim and "readings" not in claim]
    raw["controls"], raw["biases"] = [], []
    raw.pop("amendments")
    raw["finding"] = raw["headline"] = raw["claims"][0]["id"]
    raw["scale"]["file_blocks"] = {"smoke": 4, "quick": 4, "full": 4}
    raw["scale"]["k"], raw["scale"]["block_granule_bytes"] = 100, 512
    raw["experiments"] = [
        {
            "id": name,
            "title": name,
            "workload": workload,
            "roles": ROLES,
            "factors": factors,
            "cpu": "report",
            "replicates": {"smoke": 1, "quick": 1, "full": 1},
            **own,
        }
        for name, (workload, factors, own) in EXPERIMENTS.items()
    ]
    path = folder / "mellanox-mapr.yaml"
    path.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    return load_paper(path, load_testbed("emulated")["fabrics"])


@pytest.fixture(scope="module")
def block(can_emulate, tmp_path_factory) -> Block:
    folder = tmp_path_factory.mktemp("hadoop")
    testbed = load_testbed("emulated")
    testbed |= {"limits": wide(testbed["limits"])}
    paper = written(folder)
    groups.check_slots(paper, testbed)
    rows = [row for row in make_design(paper, testbed, "smoke", 7) if row["block"] == "smoke-1"]
    made = Block(paper, testbed, "smoke-1", rows, folder / "smoke-1")
    with beside_others():
        made.measure()
    return made


def test_every_level_is_proved_by_a_valid_run(block):
    found: dict[str, list[dict]] = {}
    for path in block.journal.runs.glob("*/run.json"):
        record = json.loads(path.read_text())
        found.setdefault(record["experiment"], []).append(record)
        proofs = {proof.factor: proof for proof in run_proofs(record)}
        assert set(record["factors"]) <= set(proofs)
        assert all(proof.same for proof in proofs.values())
    why = [json.loads(path.read_text())["why_invalid"] for path in block.journal.invalid.glob("*/run.json")]
    assert {name: len(records) for name, records in found.items()} == {
        "coded-puts": 2, "waves": 2, "intermediate": 2, "read": 1, "in-order": 1, "throttles": 2, "calls": 1,
        "puts-of-a-processor": 2, "tasks-of-a-processor": 1, "on-chosen-workers": 2,
        "from-datanodes": 3,
    }, why  # fmt: skip


def test_levels_that_differ_make_runs_that_differ(block):
    def runs(name):
        return [json.loads(path.read_text()) for path in sorted(block.journal.runs.glob(f"{name}*/run.json"))]

    one, two = sorted(runs("waves"), key=lambda record: record["factors"]["tasks_per_worker"])
    assert one["evidence"]["waves"]["terasort"] >= 2
    written = [record["jobs"][0]["counters"]["MAP_OUTPUT_MATERIALIZED_BYTES"] for record in (one, two)]
    assert written[1] < 0.6 * written[0]
    spilled = {record["factors"]["intermediate_drive"]: record["evidence"]["drive"] for record in runs("intermediate")}
    assert "intermediate_moved" not in spilled["shared"] and spilled["ssd"]["intermediate_moved"] > 0
    (apart,) = (record for record in runs("intermediate") if record["factors"]["intermediate_drive"] == "ssd")
    output = apart["jobs"][0]["counters"]["MAP_OUTPUT_MATERIALIZED_BYTES"]
    # Written by map tasks, read for reduce tasks, and merged by these or not.
    assert 2 * output <= apart["evidence"]["intermediate_moved"] < 8 * output
    policies = {
        record["factors"]["store"]: record["evidence"]["files"]["output"].get("policy") for record in runs("coded-puts")
    }
    assert policies["copies"] is None and policies["coded"].startswith("XOR-2-1-")
    seconds = {record["factors"]["settings"]: record["end"] - record["start"] for record in runs("throttles")}
    # 10.7 MB, of which each of three DataNodes passes on its part at 0.2 MB/s.
    assert seconds["throttled"] > 10 and seconds["throttled"] > 2 * seconds["default"]
    puts = {record["factors"]["writer_bound"]: record for record in runs("puts-of-a-processor")}
    # Two puts at once in one JVM, each of 5.37 MB at 1 MB/s; the pause at each of four blocks' ends is not caught up.
    each = {level: [put["end"] - put["start"] for put in record["operations"]] for level, record in puts.items()}
    assert min(each["on"]) > 5.3 and max(each["on"]) < 10 and max(each["off"]) < 3
    writers = puts["on"]["evidence"]["writers"]
    assert writers["sent"] / writers["sending"] == pytest.approx(1e6, rel=0.01)
    assert "writers" not in puts["off"]["evidence"]
    (tasks,) = runs("tasks-of-a-processor")
    assert tasks["evidence"]["writers"]["sent"] >= 3 * tasks["scale"]["file_bytes"]
    on_one, on_all = sorted(runs("on-chosen-workers"), key=lambda record: record["factors"]["task_workers"])
    for job in on_one["jobs"]:
        assert {task["host"] for task in job["tasks"]} == {on_one["datanode_hosts"][0]}
    assert on_one["workers"] == on_all["workers"] == on_one["datanode_hosts"]
    # The only copy of each file is where it was written, and read.
    assert jobs.worker_wire(on_one) < 0.2 * on_one["user_bytes"]
    into = {}
    for record in runs("from-datanodes"):
        role, copies = record["factors"]["put_from"], record["factors"]["replication"]
        user = sum(put["bytes"] for put in record["operations"])
        into[role, copies] = jobs.moved(record, record["datanode_hosts"], "ingress") / user
        if role == "datanode":
            (host,) = record["client_hosts"]
            assert host == record["datanode_hosts"][0] and record["busy_clients"] == [f"client-{host}"]
            assert all(host in block["datanodes"] for block in record["placement"])
            assert record["cpu_seconds"][f"client-{host}"] > 0
    assert into["client", 2] == pytest.approx(2, rel=0.1) and into["datanode", 2] == pytest.approx(1, rel=0.1)
    assert into["datanode", 1] < 0.1
    (calls,) = runs("calls")
    assert calls["jobs"][0]["nnbench"]["operations"] == 60
