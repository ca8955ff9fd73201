"""Every workload that the documentation names, and every program of HiBench that runs without it: one real run each.

The larger runs of the same workloads: puts in test_block.py, TeraSort and TestDFSIO in test_small_jobs.py, the rest in
test_experiments.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.small import BLOCK, small_stack
from whitewire import workloads
from whitewire.cluster.stack import Stack
from whitewire.design.scale import Scale
from whitewire.measure.bench import Bench
from whitewire.measure.run import Run
from whitewire.records.result import Result

PARAMETERS = {
    "hdfs_put": {"clients": 1, "puts_per_client": 2, "replication": 2},
    "rereplicate": {"clients": 1, "puts_per_client": 2, "replication": 2, "lost_replicas": 1, "load_fabric": "10gbe"},
    "teragen": {"maps": 2},
    "terasort": {"reduces": 2, "output_replication": 2},
    "testdfsio": {"maps": 2},
    "sort": {"reduces": 2},
    "wordcount": {"reduces": 2},
    "sleep": {"maps": 2, "reduces": 1, "map_ms": 10},
    "copy": {},
    "read_loop": {"block_size_bytes": 64 * BLOCK},
    "hibench sort": {"reduces": 2},
    "hibench terasort": {"reduces": 2},
    "hibench wordcount": {"reduces": 2},
    "hibench dfsioe": {},
    "hibench sleep": {"maps": 2, "reduces": 1},
}
"""What a run of each is told besides its fabric; of HiBench its program too."""
LINKS = {"fabric"}
OF_JOBS = LINKS | {"size_bytes", "store", "replication", "block_size_bytes"}
PROVED = {
    "hdfs_put": LINKS | {"file_size_bytes", "block_size_bytes", "replication", "clients", "puts_per_client"},
    "rereplicate": LINKS | {"file_size_bytes", "block_size_bytes", "replication", "clients", "lost_replicas"},
    "teragen": OF_JOBS | {"maps"},
    "terasort": OF_JOBS | {"reduces", "output_replication"},
    "testdfsio": OF_JOBS | {"maps"},
    "sort": OF_JOBS | {"reduces"},
    "wordcount": OF_JOBS | {"reduces"},
    "sleep": LINKS,
    "copy": OF_JOBS,
    "read_loop": OF_JOBS,
}
"""What a run of each must prove. HiBench's programs are made by the workload that they are."""
QUICK = ("wordcount", "copy", "sleep")
"""Those that no other test runs in a short time."""


@pytest.fixture(scope="module")
def stack(can_emulate, tmp_path_factory) -> Iterator[Stack]:
    with small_stack(tmp_path_factory.mktemp("workloads"), clients=1) as stack:
        yield stack


def made(stack: Stack, name: str, size: int = 2 * BLOCK) -> Result:
    workload, _, program = name.partition(" ")
    own = {"program": program, "profile": "tiny"} if program else {}
    row = {"run_id": "r", "block": "b", "order": 1, "experiment": "e", "workload": workload, "replicate": 1, "seed": 0}
    sizes = {"size_bytes": 100 * size, "file_size_bytes": 100 * size, "block_size_bytes": 100 * BLOCK}
    parameters = {"fabric": "10gbe", "replication": 1, **sizes, **PARAMETERS[name], **own}
    run = Run(row, {}, parameters, {}, Scale(100, 1.0, BLOCK, size), 10.0)
    return run.workload.run(Bench(stack, run))


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in PARAMETERS])  # fmt: skip
def test_it_runs(stack, name):
    record = made(stack, name, BLOCK // 4 if name == "hibench dfsioe" else 2 * BLOCK).record
    assert record["end"] > record["start"]
    assert all(job.get("state", "SUCCEEDED") == "SUCCEEDED" for job in record.get("jobs", []))
    proofs = {proof.factor: proof for proof in workloads.proofs(record)}
    assert [proof.fault for proof in proofs.values() if not proof.same] == []
    filled = record["scale"]["file_bytes"] >= BLOCK
    untold = {name for name in PROVED[record["workload"]] if name not in proofs}
    assert untold == (set() if filled else {"block_size_bytes"})


def test_words_are_counted_as_often_as_it_is_asked(stack):
    """The client's JVM outlives each job."""
    first, second = (made(stack, "wordcount").record["jobs"][0] for _ in range(2))
    assert first["id"] != second["id"]
    assert (first["maps"], first["reduces"]) == (2, 2)
    assert first["counters"]["MAP_OUTPUT_RECORDS"] == first["counters"]["COMBINE_INPUT_RECORDS"] > 0
    assert first["counters"]["REDUCE_OUTPUT_RECORDS"] == second["counters"]["REDUCE_OUTPUT_RECORDS"] > 0
