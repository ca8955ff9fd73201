"""Each factor's proof: a run that had what was asked, one that had something else, one of which nothing tells."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire import factors, workloads
from whitewire.factors.base import Proof

LINK = {"rate": 78.125, "rate_in": 78.125, "mtu": 1500, "queue": 131072, "offloads": "on"}
FOLDER = {"files": 2, "bytes": 8_000_000, "blocks": 8, "largest_block": 1_000_000, "fewest_blocks": 4,
          "replicas_least": 3, "replicas_most": 3, "datanodes": 5}  # fmt: skip
PLACED = [{"file": f"/data/client{c}/put{p}", "block_index": b, "bytes": 500, "datanodes": ["a", "b"]}
          for c in (1, 2) for p in (1, 2, 3) for b in range(4)]  # fmt: skip
JOB = {"name": "terasort", "maps": 8, "reduces": 4, "tasks": [{"host": "a"}, {"host": "b"}]}
RECORD = {
    "workload": "terasort",
    "factors": {},
    "fabric": {"name": "10gbe", "rate": 78.125, "full_scale_rate": 10000},
    "scale": {"k": 128, "block_bytes": 1_000_000, "file_bytes": 8_000_000, "packet_bytes": 16384},
    "user_bytes": 8_000_000,
    "mounted": False,
    "jobs": [JOB],
    "asked": {},
    "evidence": {
        "links": {"a": LINK, "b": LINK},
        "files": {"input": FOLDER, "output": FOLDER | {"replicas_most": 2, "replicas_least": 2}},
        "store": {"kind": "hdfs"}, "settings": {"io.file.buffer.size": "131072"},
        "drive": {"count": 2, "rate": 859375.0, "access_time": 0.0123, "chunk": 32768.0, "cache": 524288.0},
    },
}  # fmt: skip
PUTS = RECORD | {
    "scale": {"k": 128, "block_bytes": 500, "file_bytes": 2000, "packet_bytes": 16384},
    "placement": PLACED, "operations": [{"client": f"client{c}"} for c in (1, 1, 1, 2, 2, 2)],
}  # fmt: skip


# A block of 63,488 bytes takes four full packets of 15,872 bytes of data, and HDFS's two last ones; three copies.
FULL_PACKETS = RECORD | {
    "placement": [{"file": "/data/client1/put1", "block_index": 0, "bytes": 63488, "datanodes": ["a", "b", "c"]}],
    "evidence": {"packets": 18},
}


def proof(record: dict, name: str, asked, varies: bool = True) -> Proof | None:
    own = copy.deepcopy(record)
    own["scale"] = own["scale"] | ({"packet_bytes": asked} if name == "packet_bytes" else {})
    own["asked"] = {"replication": 3, **own["asked"], name: asked}
    own["factors"] = {name: asked} if varies else {}
    return factors.TABLE[name].check(own)


CASES = [  # factor, record, what was asked and so, what was asked and not so
    ("k", RECORD, 128, 64),
    ("switch_buffer_kib", RECORD, 128, 256),
    ("offloads", RECORD, "on", "off"),
    ("splits", RECORD, 8, 4),
    ("replication", RECORD | {"evidence": {"files": {"output": FOLDER}}}, 3, 2),
    ("replication", PUTS, 2, 3),
    ("output_replication", RECORD, 2, 3),
    ("file_blocks", PUTS, 4, 8),
    ("lost_replicas", RECORD | {"evidence": {"files": {"before": FOLDER | {"replicas_most": 1}}}}, 2, 1),
    ("store", RECORD, {"kind": "hdfs"}, {"kind": "cephfs", "layout": "stripe_count=8"}),
    ("nodes", RECORD, 5, 3),
    ("nodes", RECORD | {"mounted": True}, 2, 5),
    ("clients", PUTS, 2, 3),
    ("puts_per_client", PUTS, 3, 6),
    ("maps", RECORD, 8, 20),
    ("reduces", RECORD, 4, 8),
    ("program", RECORD | {"reports": [{"type": "HadoopTerasort", "bytes": 5}]}, "terasort", "sort-merge"),
    ("settings", RECORD, {"io.file.buffer.size": "131072"}, {"io.file.buffer.size": "4096"}),
    ("packet_bytes", FULL_PACKETS, 16384, 65536),
    ("count", RECORD, 2, 1),
    ("rate_mb_per_s", RECORD, 110, 130),
    ("access_time_ms", RECORD, 12.3, 8),
    ("writeback_chunk_bytes", RECORD, 4194304, 1048576),
    ("cache_bytes", RECORD, 67108864, 33554432),
]


@pytest.mark.parametrize(("name", "record", "so", "otherwise"), CASES)
def test_a_run_proves_what_it_had(name, record, so, otherwise):
    replication = {"asked": {"replication": 3}} if name == "lost_replicas" else {}
    right, wrong = proof(record | replication, name, so), proof(record | replication, name, otherwise)
    assert right is not None and right.same and right.fault == ""
    assert wrong is not None and not wrong.same
    assert wrong.fault.startswith(f"{name}: asked ") and ", found " in wrong.fault


@pytest.mark.parametrize(("name", "record", "key", "size"), [
    ("size_bytes", RECORD, "user_bytes", 8_000_000),
    ("block_size_bytes", RECORD, "block_bytes", 1_000_000),
    ("block_size_bytes", PUTS, "block_bytes", 500),
    ("file_size_bytes", PUTS, "file_bytes", 2000),
])  # fmt: skip
def test_sizes_are_compared_on_the_testbeds_scale(name, record, key, size):
    assert proof(record, name, 1.0e12).same
    changed = copy.deepcopy(record)
    (changed if key in changed else changed["scale"])[key] = size / 10
    assert not proof(changed, name, 1.0e11).same


def test_links_that_differ_show_the_one_that_is_wrong():
    record = RECORD | {"evidence": {"links": {"a": LINK, "b": LINK | {"rate": 10.0}}}}
    assert proof(record, "fabric", "10gbe").seen == 10.0
    assert not proof(record, "fabric", "10gbe").same
    assert proof(RECORD, "fabric", "10gbe").same


def test_a_file_that_fills_no_block_proves_no_block_size():
    small = FOLDER | {"files": 8, "blocks": 8, "largest_block": 1000}
    record = RECORD | {"evidence": {"files": {"input": small}}}
    assert proof(record, "block_size_bytes", 1, varies=False) is None
    assert "nothing tells what it was" in proof(record, "block_size_bytes", 1).fault


def test_records_of_random_length_may_pass_the_size_by_their_room():
    folder = FOLDER | {"bytes": 8_600_000, "files": 8, "largest_block": 1_070_000}
    record = RECORD | {"evidence": {"files": {"input": folder}}}
    for name in ("size_bytes", "block_size_bytes"):
        assert not proof(record, name, 1).same
        assert proof(record | {"inexact": 0.17}, name, 1).same


def test_a_profile_is_the_bytes_that_the_suite_reports():
    record = RECORD | {"asked": {"program": "dfsioe"}, "scale": RECORD["scale"] | {"file_bytes": 100},
                       "reports": [{"type": "Dfsioe-write", "bytes": 1600}]}  # fmt: skip
    assert proof(record, "profile", "tiny").same  # 16 files
    assert not proof(record, "profile", "small").same  # 32 files


@pytest.mark.parametrize("name", [name for name in factors.TABLE if name not in ("fabric", "racks", "profile")])
def test_what_varies_and_is_not_told_is_a_fault(name):
    bare = {**RECORD, "evidence": {}, "jobs": [], "fabric": RECORD["fabric"]}
    found = proof(bare, name, {"a": "b"} if name in ("settings", "store") else 7)
    assert found is not None and not found.same and "nothing tells what it was" in found.fault


def test_every_factor_of_every_workload_has_a_proof_and_none_is_left_out():
    for workload in workloads.TABLE.values():
        assert workload.factors <= set(factors.TABLE), workload.name
        assert not workload.factors & set(factors.LEFT_OUT), workload.name
    for factor in factors.TABLE.values():
        assert factor.meaning and factor.proved_by


def test_old_and_failed_runs_prove_nothing():
    assert workloads.proofs({"workload": "terasort", "factors": {"fabric": "10gbe"}}) == []


@given(st.floats(1, 1e12), st.floats(0.9, 1.1))
def test_a_bound_is_a_share_of_what_was_asked(rate, share):
    record = {**RECORD, "fabric": {**RECORD["fabric"], "rate": rate},
              "evidence": {"links": {"a": LINK | {"rate": rate * share, "rate_in": rate}}}}  # fmt: skip
    found = proof(record, "fabric", "10gbe")
    assert found.same == (abs(rate * share - rate) <= 0.01 * rate)
