"""Every workload that the documentation names, and every program of HiBench that runs without it: one real run each.

The larger runs of the same workloads: puts in test_block.py, TeraSort and TestDFSIO in test_small_jobs.py, the rest in
test_experiments.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.small import BLOCK, small_stack
from whitewire.cluster.hadoop import Resident
from whitewire.cluster.hdfs import FS_SHELL
from whitewire.cluster.stack import Stack
from whitewire.design.scale import Scale
from whitewire.measure.bench import StackBench
from whitewire.measure.run import Run
from whitewire.records import jobs
from whitewire.records.result import Result
from whitewire.records.run import RunRecord
from whitewire.workloads import run_proofs

PARAMETERS = {
    "hdfs_put": {"clients": 1, "puts_per_client": 2, "replication": 2},
    "rereplicate": {"clients": 1, "puts_per_client": 2, "replication": 2, "lost_replicas": 1, "load_fabric": "10gbe"},
    "teragen": {"maps": 2},
    "randomwriter": {"maps": 2},
    "randomtextwriter": {"maps": 2},
    "terasort": {"reduces": 2, "output_replication": 2},
    "testdfsio": {"maps": 2},
    "testdfsio read": {"maps": 2, "operation": "read"},
    "teravalidate": {"maps": 2},
    "nnbench": {"maps": 2, "files_per_map": 20},
    "nnbench delete": {"maps": 2, "files_per_map": 20, "operation": "delete"},
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
"""What a run of each is given besides its fabric; of HiBench its program too."""
LINKS = {"fabric"}
OF_JOBS = LINKS | {"size_bytes", "store", "replication", "block_size_bytes"}
PROVED = {
    "hdfs_put": LINKS | {"file_size_bytes", "block_size_bytes", "replication", "clients", "puts_per_client"},
    "rereplicate": LINKS | {"file_size_bytes", "block_size_bytes", "replication", "clients", "lost_replicas"},
    "teragen": OF_JOBS | {"maps"},
    "randomwriter": OF_JOBS | {"maps"},
    "randomtextwriter": OF_JOBS | {"maps"},
    "terasort": OF_JOBS | {"reduces", "output_replication"},
    "testdfsio": OF_JOBS | {"maps"},
    "teravalidate": OF_JOBS | {"maps"},
    "nnbench": LINKS | {"maps", "files_per_map"},
    "sort": OF_JOBS | {"reduces"},
    "wordcount": OF_JOBS | {"reduces"},
    "sleep": LINKS,
    "copy": OF_JOBS,
    "read_loop": OF_JOBS,
}
"""What a run of each must prove. HiBench's programs are made by the workload that they are."""
QUICK = ("copy", "sleep")
"""Those that no other test runs in a short time."""


@pytest.fixture(scope="module")
def stack(can_emulate, tmp_path_factory) -> Iterator[Stack]:
    # As a block sets it where a run has coded files: three blocks of a group take all three workers, also busy ones.
    settings = {"dfs.namenode.redundancy.considerLoad": False}
    with small_stack(tmp_path_factory.mktemp("workloads"), 1, settings) as stack:
        yield stack


def made(stack: Stack, name: str, size: int = 2 * BLOCK, **more: object) -> Result:
    workload, _, program = name.partition(" ")
    own = {"program": program, "profile": "tiny"} if workload == "hibench" else {}
    row = {"run_id": "r", "block": "b", "order": 1, "experiment": "e", "workload": workload, "replicate": 1, "seed": 0}
    sizes = {"size_bytes": 100 * size, "file_size_bytes": 100 * size, "block_size_bytes": 100 * BLOCK}
    parameters = {"fabric": "10gbe", "replication": 1, **sizes, **PARAMETERS[name], **own, **more}
    run = Run(row, {}, parameters, {}, Scale(100, 1.0, BLOCK, size), 10.0)
    return run.workload.run(StackBench(stack, run))


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in PARAMETERS])  # fmt: skip
def test_it_runs(stack, name):
    proven(made(stack, name, BLOCK // 4 if name == "hibench dfsioe" else 2 * BLOCK).record)


def proven(record: RunRecord) -> None:
    """Check that a run ended well and proves its factors."""
    assert record["end"] > record["start"]
    assert all(job.get("state", "SUCCEEDED") == "SUCCEEDED" for job in record.get("jobs", []))
    proofs = {proof.factor: proof for proof in run_proofs(record)}
    assert [proof.fault for proof in proofs.values() if not proof.same] == []
    filled = record["scale"]["file_bytes"] >= BLOCK
    unproved = {name for name in PROVED[record["workload"]] if name not in proofs}
    assert unproved == (set() if filled else {"block_size_bytes"})


def test_words_are_counted_as_often_as_it_is_asked(stack):
    """The client's JVM outlives each job."""
    records = [made(stack, "wordcount").record for _ in range(2)]
    for record in records:
        proven(record)
    first, second = (record["jobs"][0] for record in records)
    assert first["id"] != second["id"]
    assert (first["maps"], first["reduces"]) == (2, 2)
    assert first["counters"]["MAP_OUTPUT_RECORDS"] == first["counters"]["COMBINE_INPUT_RECORDS"] > 0
    assert first["counters"]["REDUCE_OUTPUT_RECORDS"] == second["counters"]["REDUCE_OUTPUT_RECORDS"] > 0


def test_a_clients_files_get_their_modes_without_a_process(stack, tmp_path):
    """The cluster's configuration names the classes of test_local_files.py."""
    host = stack.clients[0].host
    # FsShell asks ls for the mode before it sets another.
    few = 'mkdir /tmp/few; ln -s "$(command -v java)" "$(command -v ls)" /tmp/few; touch /tmp/file'
    host.run(["sh", "-c", few]).check()
    client = Resident(host, stack.hdfs.installation, tmp_path / "log", environment={"PATH": "/tmp/few"})
    client.wait_ready()
    client.run(FS_SHELL, ["-chmod", "640", "file:///tmp/file"], timeout=120).check("chmod")
    assert host.run(["stat", "-c", "%a", "/tmp/file"]).stdout.split() == [b"640"]
    client.process.kill()


CODED = {"kind": "hdfs", "erasure_coding": "XOR-2-1-1024k"}
TREATED = {
    "coded puts": ("hdfs_put", {"clients": 1, "puts_per_client": 2, "replication": 2}, CODED,
                   {"store": {"kind": "hdfs", "erasure_coding": "XOR-2-1-8k"}}),
    "coded jobs": ("terasort", {"reduces": 2}, CODED,
                   {"store": {"kind": "hdfs", "erasure_coding": "XOR-2-1-8k"}, "reduces": 2}),
    "read alone": ("testdfsio", {"maps": 3, "operation": "read"}, {"kind": "hdfs"}, {"operation": "read"}),
    "written alone": ("testdfsio", {"maps": 3, "operation": "write"}, {"kind": "hdfs"}, {"operation": "write"}),
    "compressed": ("terasort", {"reduces": 2, "map_output_compression": "snappy"}, {"kind": "hdfs"},
                   {"map_output_compression": "snappy"}),
    "not compressed": ("terasort", {"reduces": 2, "map_output_compression": "none"}, {"kind": "hdfs"},
                       {"map_output_compression": "none"}),
}  # fmt: skip
"""Name → workload, parameters, store, and what of it the run has to prove."""


def treated(stack: Stack, name: str, **own: object) -> RunRecord:
    workload, parameters, store, _ = TREATED[name]
    row = {"run_id": "r", "block": "b", "order": 1, "experiment": "e", "workload": workload, "replicate": 1, "seed": 0}
    sizes = {"size_bytes": 400 * BLOCK, "file_size_bytes": 400 * BLOCK, "block_size_bytes": 128 * BLOCK}
    whole = {"fabric": "10gbe", "replication": 1, **sizes, **parameters, **own}
    run = Run(row, {}, whole, {}, Scale(100, 1.0, BLOCK, 4 * BLOCK), 10.0, store=store)
    return run.workload.run(StackBench(stack, run)).record


@pytest.mark.slow
@pytest.mark.parametrize("name", TREATED)
def test_a_run_really_had_what_was_asked_of_hadoop(stack, name):
    record = treated(stack, name)
    proofs = {proof.factor: proof for proof in run_proofs(record)}
    assert [proof.fault for proof in proofs.values() if not proof.same] == []
    assert {factor: proofs[factor].seen for factor in TREATED[name][3]} == TREATED[name][3]


@pytest.mark.slow
def test_coded_files_cross_the_links_once_and_a_half(stack):
    record = treated(stack, "coded puts")
    found = {way: jobs.moved(record, record[hosts], way)
             for way, hosts in (("egress", "client_hosts"), ("ingress", "datanode_hosts"))}  # fmt: skip
    for moved in found.values():
        assert moved == pytest.approx(1.5 * 8 * BLOCK, rel=0.06)


@pytest.mark.slow
def test_a_setting_and_the_size_of_packets_are_read_back(stack):
    row = {"run_id": "r", "block": "b", "order": 1, "experiment": "e", "workload": "hdfs_put", "replicate": 1}
    settings = {"dfs.client-write-packet-size": 16384, "dfs.client.write.max-packets-in-flight": 40}
    sizes = {"file_size_bytes": 400 * BLOCK, "block_size_bytes": 100 * BLOCK}
    parameters = {"fabric": "10gbe", **PARAMETERS["hdfs_put"], **sizes, "settings": "tuned"}
    run = Run({**row, "seed": 0}, {"settings": "tuned"}, parameters, settings, Scale(100, 1.0, BLOCK, 4 * BLOCK), 10.0)
    record = run.workload.run(StackBench(stack, run)).record
    (proof,) = (proof for proof in run_proofs(record) if proof.factor == "settings")
    assert proof.same and proof.seen == {name: str(value) for name, value in settings.items()}
    record["asked"]["settings"]["dfs.client-write-packet-size"] = "8192"
    (proof,) = (proof for proof in run_proofs(record) if proof.factor == "settings")
    assert not proof.same and 15000 < int(proof.seen["dfs.client-write-packet-size"]) < 17000


@pytest.mark.slow
def test_tasks_run_in_waves(can_emulate, tmp_path):
    """Six tasks on three workers, one at once on each."""
    with small_stack(tmp_path, clients=1, slots=1) as one_at_once:
        one_at_once.settle()
        record = made(one_at_once, "testdfsio", BLOCK, maps=6, tasks_per_worker=1).record
    (proof,) = (proof for proof in run_proofs(record) if proof.factor == "tasks_per_worker")
    assert proof.same and proof.seen == 1
    assert all(waves >= 2 for waves in record["evidence"]["waves"].values())
