"""A paper of Map/Reduce on a site by ssh that lacks most of the paper's networks, from design to verdicts."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
import yaml

from tests.support.answers import verdicts
from tests.support.limits import wide
from tests.support.site import open_ssh_site
from whitewire.measure import drives
from whitewire.measure.drives import DriveEffort
from whitewire.paths import HOME
from whitewire.units import MIB

PAPER = "mellanox-mapr"
ROLES = {"namenode": 1, "datanode": 5, "client": 1}
K = 100

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(1200)]


def test_jobs_run_where_the_networks_are(tmp_path, monkeypatch, can_emulate, emulated_config):
    shutil.copytree(HOME / "config", tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OUTLIERS", "mark")  # all hosts share this machine's drives
    monkeypatch.setitem(drives.EFFORTS, "smoke", DriveEffort(4 * MIB, 0.1, 1, (MIB,), (1,)))
    servers = tmp_path / "servers"
    servers.mkdir()
    emulated = emulated_config | {"memory": emulated_config["memory"] | {"storage_gib": 6}}
    with open_ssh_site(emulated, ROLES, K, servers) as site:
        described = site.description(wide(emulated["limits"], "ssh")) | {"scale": K, "data": ["/tmp/data1"]}
        Path("config/testbeds/lab.yaml").write_text(yaml.safe_dump(described))
        found = verdicts(PAPER, "lab", "smoke")
    with Path("results/lab", PAPER, "tidy", "runs.csv").open() as table:
        runs = [row for row in csv.DictReader(table) if row["valid"] == "true"]
    assert {(row["experiment"], row["fabric"]) for row in runs} == {
        ("terasort-curve", "10gbe"),
        ("testdfsio-curve", "10gbe"),
    }
    metrics = {row["metric"]: float(row["value"]) for row in runs if row["value"]}
    assert metrics["shuffle_wire_bytes"] > 0
    assert 1 <= metrics["write_tasks_at_once"] <= 5
    assert found["M-C02"]["verdict"] == "not testable here"
    assert "this testbed has no network" in found["M-C02"]["reason"]
