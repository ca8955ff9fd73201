"""Each factor's proof: a run that had what was asked, one that had something else, one that nothing reports."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire import factors
from whitewire.factors import FACTORS
from whitewire.factors.base import Proof
from whitewire.workloads import WORKLOADS, run_proofs

LINK = {"rate": 78.125, "rate_in": 78.125, "mtu": 1500, "queue": 131072, "offloads": "on"}
FOLDER = {"files": 2, "bytes": 8_000_000, "blocks": 8, "largest_block": 1_000_000, "fewest_blocks": 4,
          "replicas_least": 3, "replicas_most": 3, "datanodes": 5}  # fmt: skip
PLACED = [{"file": f"/data/client{c}/put{p}", "block_index": b, "bytes": 500, "datanodes": ["a", "b"]}
          for c in (1, 2) for p in (1, 2, 3) for b in range(4)]  # fmt: skip
JOB = {"name": "terasort", "maps": 8, "reduces": 4, "counters": {}, "tasks": [{"host": "a"}, {"host": "b"}]}
SPANS = [{"type": "MAP", "host": host, "start": start, "end": start + 2}
         for host in ("a", "b") for start in (0, 1, 2, 3)]  # fmt: skip
"""Two at once on each host, in two waves."""
RECORD = {
    "workload": "terasort",
    "factors": {},
    "fabric": {"name": "10gbe", "rate": 78.125, "full_scale_rate": 10000, "shared": False, "burst": 19531, "mtu": 1500,
               "racks": 0, "uplink": 0.0, "unlike": {}},
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
        "map_output_compression": "snappy", "page_cache": "on", "intermediate_drive": "ssd",
    },
}  # fmt: skip
PUTS = RECORD | {
    "scale": {"k": 128, "block_bytes": 500, "file_bytes": 2000, "packet_bytes": 16384},
    "placement": PLACED, "operations": [{"client": f"client{c}"} for c in (1, 1, 1, 2, 2, 2)],
}  # fmt: skip

LOCAL = PUTS | {"client_hosts": ["a", "b"], "datanode_hosts": ["a", "b", "c"]}
"""Each client is on a DataNode that has a copy of all blocks."""


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
    return FACTORS[name].check(own)


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
    ("put_from", LOCAL, "datanode", "client"),
    ("put_from", LOCAL | {"client_hosts": ["d", "e"]}, "client", "datanode"),
    ("maps", RECORD, 8, 20),
    ("reduces", RECORD, 4, 8),
    ("program", RECORD | {"reports": [{"type": "HadoopTerasort", "bytes": 5}]}, "terasort", "sort-merge"),
    ("settings", RECORD, {"io.file.buffer.size": "131072"}, {"io.file.buffer.size": "4096"}),
    (
        "settings",
        RECORD | {"evidence": {"daemon_settings": {"dfs.datanode.handler.count": "3"}}},
        {"dfs.datanode.handler.count": "3"},
        {"dfs.datanode.handler.count": "10"},
    ),
    (
        "settings",
        RECORD | {"evidence": {"settings": {"a": "1"}, "daemon_settings": {"b": "2 and 3"}}},
        {"a": "1", "b": "2 and 3"},
        {"a": "1", "b": "2"},
    ),
    ("operation", RECORD | {"jobs": [JOB | {"name": "write"}, JOB | {"name": "read"}]}, "both", "write"),
    ("operation", RECORD | {"jobs": [JOB | {"name": "read"}]}, "read", "both"),
    ("tasks_per_worker", RECORD | {"jobs": [JOB | {"tasks": SPANS}]}, 2, 1),
    ("task_workers", RECORD, 2, 1),
    ("files_per_map", RECORD | {"jobs": [JOB | {"nnbench": {"operations": 300, "maps": 3}}]}, 100, 50),
    ("map_output_compression", RECORD, "snappy", "none"),
    ("packet_bytes", FULL_PACKETS, 16384, 65536),
    ("page_cache", RECORD, "on", "off"),
    ("page_cache", RECORD | {"evidence": {"page_cache": "on 3 of 4 workers"}}, "on 3 of 4 workers", "on"),
    ("intermediate_drive", RECORD, "ssd", "shared"),
    ("writer_bound", RECORD | {"evidence": {"writer_bound": "on"}}, "on", "off"),
    ("writer_bound", RECORD | {"evidence": {"writer_bound": "off"}}, "off", "on"),
    ("count", RECORD, 2, 1),
    ("rate_mb_per_s", RECORD, 110, 130),
    ("read_rate_mb_per_s", RECORD, 110, 500),
    ("read_rate_mb_per_s", RECORD | {"evidence": {"drive": {"rate": 859375.0, "read_rate": 3906250.0}}}, 500, 110),
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


@pytest.mark.parametrize(("received", "seen"), [
    (4 * 2 * (67 + 2), 16384),  # 1 MiB in packets of 31 chunks: 67, and two without data
    (4 * 2 * (137 + 2), pytest.approx(8192, abs=600)),
])  # fmt: skip
def test_packets_are_as_large_as_their_number_says(received, seen):
    """As DataNodes counted them of real puts: 69 and 139 a block and replica."""
    placed = [{"file": "/data/client1/put1", "block_index": b, "bytes": 1 << 20, "datanodes": ["a", "b"]}
              for b in range(4)]  # fmt: skip
    record = PUTS | {"placement": placed, "evidence": {"packets": received}}
    found = proof(record, "packet_bytes", 16384)
    assert found.seen == seen and found.same == (seen == 16384)
    evidence = {"settings": {"dfs.client-write-packet-size": "16384"}, "packets": received}
    found = proof(record | {"evidence": evidence}, "settings", {"dfs.client-write-packet-size": "16384"})
    assert found.same == (seen == 16384)


def test_every_job_has_its_tasks_on_the_workers_asked_for():
    """TestDFSIO has two."""
    record = RECORD | {"jobs": [JOB, JOB | {"tasks": [{"host": "a"}]}]}
    assert proof(record, "task_workers", 2).fault == "task_workers: asked 2, found 1"
    assert proof(record, "task_workers", 1).fault == "task_workers: asked 1, found 2"


def test_a_block_that_left_the_host_that_put_it_is_counted():
    elsewhere = [{**block, "datanodes": ["b", "c"]} for block in PLACED]
    found = proof(LOCAL | {"placement": elsewhere}, "put_from", "datanode")
    assert found.fault == "put_from: asked datanode, found datanode, with 12 of 24 blocks on its own host"
    assert proof(LOCAL | {"placement": []}, "put_from", "datanode").fault.endswith("and nothing reports what it was")


def test_coded_files_have_no_copies_and_a_policy():
    files = {"output": FOLDER | {"policy": "RS-3-2-8k", "wanting": 0, "replicas_least": 5, "replicas_most": 5}}
    record = RECORD | {"coding": "RS-3-2-8k", "evidence": {"files": files}}
    assert proof(record, "replication", 3) is None
    assert proof(record, "output_replication", 1) is None


def test_output_that_is_shorter_than_it_was_was_compressed():
    counters = {"MAP_OUTPUT_BYTES": 2139042, "MAP_OUTPUT_MATERIALIZED_BYTES": 594034, "MAP_OUTPUT_RECORDS": 20971}
    record = RECORD | {"evidence": {"map_output_compression": "none"}, "jobs": [JOB | {"counters": counters}]}
    assert proof(record, "map_output_compression", "none").seen.startswith("something")
    counters["MAP_OUTPUT_MATERIALIZED_BYTES"] = 2181008
    assert proof(record, "map_output_compression", "none").same


@pytest.mark.parametrize(("moved", "same"), [(999, False), (1000, True), (2000, True)])
def test_all_map_output_went_to_the_drives_of_intermediate_data(moved, same):
    jobs = [JOB | {"counters": {"MAP_OUTPUT_MATERIALIZED_BYTES": 1000}}]
    record = RECORD | {"evidence": {"intermediate_drive": "ssd", "intermediate_moved": moved}, "jobs": jobs}
    assert proof(record, "intermediate_drive", "ssd").same == same


def test_links_that_differ_show_the_one_that_is_wrong():
    record = RECORD | {"evidence": {"links": {"a": LINK, "b": LINK | {"rate": 10.0}}}}
    assert proof(record, "fabric", "10gbe").seen == 10.0
    assert not proof(record, "fabric", "10gbe").same
    assert proof(RECORD, "fabric", "10gbe").same


@pytest.mark.parametrize(("rate", "same"), [(78.125, True), (10000.0, True), (10.0, False)])
def test_a_real_link_may_have_more_than_was_asked_but_not_less(rate, same):
    real = RECORD["fabric"] | {"burst": 0}
    for others in ({}, {"b": {"rate": 25000.0}}, {"b": {"mtu": 1500}} if not same else {}):
        record = RECORD | {"fabric": real, "evidence": {"links": {"a": {"rate": rate}, **others}}}
        assert proof(record, "fabric", "10gbe").same == same


@pytest.mark.parametrize("links", [{}, {"a": {"mtu": 1500}}, {"a": {"rate": 10000.0}, "b": {"mtu": 1500}}])
def test_a_real_link_that_reports_no_rate_is_left_to_the_probe_before_the_runs_and_said(links):
    real = RECORD["fabric"] | {"burst": 0}
    found = proof(RECORD | {"fabric": real, "evidence": {"links": links}}, "fabric", "10gbe")
    assert (found.seen, found.same) == (None, True)
    assert not proof(RECORD | {"evidence": {"links": {}}}, "fabric", "10gbe").same


def test_a_file_that_fills_no_block_proves_no_block_size():
    small = FOLDER | {"files": 8, "blocks": 8, "largest_block": 1000}
    record = RECORD | {"evidence": {"files": {"input": small}}}
    assert proof(record, "block_size_bytes", 1, varies=False) is None
    assert "nothing reports what it was" in proof(record, "block_size_bytes", 1).fault


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


@pytest.mark.parametrize("name", [name for name in FACTORS if name not in ("fabric", "profile", "uplink")])
def test_what_varies_and_is_not_reported_is_a_fault(name):
    bare = {**RECORD, "evidence": {}, "jobs": [], "fabric": RECORD["fabric"]}
    found = proof(bare, name, {"a": "b"} if name in ("settings", "store") else 7)
    assert found is not None and not found.same and "nothing reports what it was" in found.fault


def test_every_factor_of_every_workload_has_a_proof_and_none_is_left_out():
    for workload in WORKLOADS.values():
        assert workload.factors <= set(FACTORS), workload.name
        assert not workload.factors & set(factors.LEFT_OUT), workload.name
    for factor in FACTORS.values():
        assert factor.meaning and factor.proved_by


def test_failed_runs_prove_nothing():
    assert run_proofs({"workload": "terasort", "factors": {"fabric": "10gbe"}}) == []


UPLINK = {"rate": 19.531, "rate_in": 19.531}  # as tc rounds 19.53125
RACKED = RECORD | {
    "fabric": RECORD["fabric"] | {"racks": 2, "uplink": 19.53125, "unlike": {"b": 0.25}},
    "evidence": {
        "links": {"a": LINK | {"mtu": 9000}, "b": LINK | {"rate": 19.53, "rate_in": 19.53, "mtu": 9000}},
        "uplinks": {"rack1": UPLINK, "rack2": UPLINK}, "racks": {"/rack1": ["a"], "/rack2": ["b"]},
        "segment": 6000.0, "cross_traffic": 0.48, "slow_drives": 0.5,
        "drive": {"count": 4, "rate": 8e5, "access_time": 0.01, "chunk": 3e4, "cache": 7e4}, "volumes": 4,
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "so", "otherwise"),
    [("mtu", 9000, 1500), ("slow_host", 0.25, 1), ("slow_drives", 0.5, 1), ("cross_traffic", 0.5, 0.25),
     ("drive", RACKED["evidence"]["drive"], RACKED["evidence"]["drive"] | {"count": 1})],
)  # fmt: skip
def test_links_and_hosts_prove_what_they_had(name, so, otherwise):
    assert proof(RACKED, name, so).same
    wrong = proof(RACKED, name, otherwise)
    assert not wrong.same and ", found " in wrong.fault


def test_jumbo_frames_that_no_connection_used_were_none():
    record = RACKED | {"evidence": RACKED["evidence"] | {"segment": 1400.0}}
    assert proof(record, "mtu", 9000).fault == "mtu: asked 9000 B, found 1500 B"


def test_a_networks_rate_is_that_of_the_links_that_are_alike_and_of_its_uplinks():
    assert proof(RACKED, "fabric", "10gbe-2racks-4to1").same
    assert proof(RACKED, "uplink", "").same
    for changed in ({"uplinks": {"rack1": UPLINK, "rack2": UPLINK | {"rate_in": 40.0}}}, {"racks": {"/rack1": ["a"]}}):
        assert not proof(RACKED | {"evidence": RACKED["evidence"] | changed}, "uplink", "").same
    one_way = RECORD | {"evidence": {"links": {"a": LINK | {"rate_in": 10.0}}}}
    assert not proof(one_way, "fabric", "10gbe").same
    assert proof(RECORD, "uplink", "") is None


@given(st.floats(1, 1e12), st.floats(0.9, 1.1))
def test_a_bound_is_a_share_of_what_was_asked(rate, share):
    record = {**RECORD, "fabric": {**RECORD["fabric"], "rate": rate},
              "evidence": {"links": {"a": LINK | {"rate": rate * share, "rate_in": rate}}}}  # fmt: skip
    found = proof(record, "fabric", "10gbe")
    assert found.same == (abs(rate * share - rate) <= 0.01 * rate)
