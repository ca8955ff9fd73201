"""Which real run tests each factor's proof: files of tests/, where the factor stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from whitewire.factors import FACTORS

TESTS = Path(__file__).resolve().parents[2]
WORKLOADS, HADOOP = "integration/test_workloads.py", "integration/test_factors_of_hadoop.py"
NETWORKS, TREATMENTS = "integration/test_networks.py", "integration/test_treatments.py"
TRANSPORTS = "integration/test_transports.py"
EXPERIMENTS = "integration/test_experiments.py"
"""One run of each experiment of each paper, held to its proofs as any run is."""
COVERED = {
    "fabric": WORKLOADS, "uplink": NETWORKS, "mtu": TREATMENTS, "slow_host": NETWORKS, "slow_drives": NETWORKS,
    "cross_traffic": NETWORKS, "drive": NETWORKS, "transport": TRANSPORTS,
    "size_bytes": TREATMENTS, "block_size_bytes": TREATMENTS, "replication": TREATMENTS,
    "file_size_bytes": WORKLOADS, "output_replication": WORKLOADS, "lost_replicas": WORKLOADS, "store": WORKLOADS,
    "clients": WORKLOADS, "puts_per_client": WORKLOADS, "maps": WORKLOADS, "reduces": WORKLOADS,
    "operation": HADOOP, "tasks_per_worker": HADOOP, "task_workers": HADOOP, "map_output_compression": HADOOP,
    "intermediate_drive": HADOOP, "writer_bound": HADOOP, "put_from": HADOOP,
    "settings": WORKLOADS, "files_per_map": WORKLOADS, "read_rate_mb_per_s": NETWORKS, "access_time_ms": NETWORKS,
    "writeback_chunk_bytes": NETWORKS, "cache_bytes": NETWORKS,
}  # fmt: skip
BY_PAPERS = {
    "k", "switch_buffer_kib", "offloads", "nodes", "splits", "file_blocks", "rate_mb_per_s", "count", "program",
    "profile", "packet_bytes", "page_cache",
}  # fmt: skip
"""Factors and keys of drives that papers' experiments have, and so EXPERIMENTS."""


def test_every_factor_is_tested_by_a_real_run():
    assert set(COVERED) | BY_PAPERS == set(FACTORS)
    assert not set(COVERED) & BY_PAPERS


@pytest.mark.parametrize(("factor", "file"), COVERED.items())
def test_the_file_has_it(factor, file):
    assert factor in (TESTS / file).read_text(encoding="utf-8")
