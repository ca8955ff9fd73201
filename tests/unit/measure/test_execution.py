"""What a run asks of its clients, and of workers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from whitewire.design.scale import PACKET, Scale
from whitewire.measure import puts, services
from whitewire.measure.bench import StackBench
from whitewire.measure.execution import execute
from whitewire.measure.run import Run, overhead_key
from whitewire.workloads.testdfsio import TestDfsio

SIZE = "dfs.client-write-packet-size"


@pytest.mark.parametrize(("own", "workers", "at_work"), [
    ({"task_workers": 1}, None, (1, 6)),
    ({"task_workers": 4}, None, (4, 2)),
    ({"task_workers": 2, "tasks_per_worker": 1}, None, (2, 1)),
    ({}, None, None),
    ({}, 3, (3, 2)),
])  # fmt: skip
def test_tasks_run_on_the_workers_asked_for(monkeypatch, own, workers, at_work):
    did = []
    stack = SimpleNamespace(scale=lambda *given: None, work_on=did.append)
    monkeypatch.setattr(TestDfsio, "run", lambda self, bench: did.append("run"))
    row, scale = {"workload": "testdfsio"}, Scale(100, 1.0, 512, 1024)
    run = Run(row, {}, {"maps": 6, **own}, {}, scale, 5.0, workers=workers)
    execute(stack, run)
    assert did == [at_work, "run"]
    # Each number of workers has a startup overhead of its own.
    assert overhead_key(run)[6:] == (() if at_work is None else at_work[:1])


def test_a_sites_own_cluster_puts_tasks_where_it_likes():
    row, fabric = {"workload": "testdfsio"}, {"fabric": "10gbe"}
    runs = [Run({**row, "run_id": str(own)}, {}, fabric | own, {}, Scale(1, 1.0, 512, 1024), 5.0)
            for own in ({}, {"task_workers": 1})]  # fmt: skip
    site = {"kind": "ssh", "fabrics": {"10gbe": {}}}
    assert services.unavailable_runs(site, runs) == []
    assert services.unavailable_runs(site | {"cluster": {}}, runs) == [([runs[1].row["run_id"]], services.THEIR_TASKS)]


def test_a_sites_own_datanodes_get_no_clients():
    row, fabric = {"workload": "hdfs_put"}, {"fabric": "10gbe", "clients": 1}
    runs = [Run({**row, "run_id": role}, {}, fabric | {"put_from": role}, {}, Scale(1, 1.0, 512, 1024), 5.0)
            for role in ("client", "datanode")]  # fmt: skip
    site = {"kind": "ssh", "fabrics": {"10gbe": {}}}
    assert services.unavailable_runs(site, runs) == []
    assert services.unavailable_runs(site | {"cluster": {}}, runs) == [(["datanode"], services.THEIR_DATANODES)]


CLIENTS = [
    SimpleNamespace(name=f"client{n}", host=SimpleNamespace(name=f"client{n}", role="client")) for n in range(1, 5)
]
TESTBED = SimpleNamespace(by_role=lambda role: [each.host for each in CLIENTS if each.host.role == role])


@pytest.mark.parametrize(
    ("packet", "settings", "expected"),
    [(16384, {}, 16384), (16384, {SIZE: 131072}, 131072), (PACKET, {}, None), (PACKET, {SIZE: 131072}, 131072)],
)
def test_puts_write_in_the_packets_of_their_run(monkeypatch, packet, settings, expected):
    asked = {}

    def together(stack, clients, files, options, timeout):
        asked.update(options, clients=clients, files=files)
        return []

    monkeypatch.setattr(puts, "put_together", together)
    run = Run({}, {}, {"clients": 3}, {}, Scale(128, 0.02, 524288, 1048576, packet), 5.0)
    StackBench(SimpleNamespace(clients=CLIENTS, testbed=TESTBED), run).puts.put(["put1"], settings)
    assert (asked["dfs.blocksize"], asked["clients"], asked["files"]) == (524288, CLIENTS[:3], ["put1"])
    assert asked.get(SIZE) == expected
