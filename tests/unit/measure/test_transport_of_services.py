"""What daemons, clients and tasks of a cluster get of the transport that its runs have."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.unit.design.test_transports_of_sites import SITE, paper, rows_of
from whitewire.description.capabilities import INVENTORY
from whitewire.measure.block_plan import BlockPlan
from whitewire.measure.services import Services
from whitewire.testbed.installation import Installation
from whitewire.tools.rdma_counters import Moved, Port

ROLES = {"namenode": 1, "datanode": 2, "client": 1}
RSOCKETS = {
    "kind": "rdma", "preload": ["librspreload.so"], "environment": {"RS_SQ_SIZE": "512"}, "java": ["-Dpoll=yes"],
    "settings": {"dfs.datanode.transferTo.allowed": False},
}  # fmt: skip
DESCRIBED = SITE | {"transports": {"rsockets": RSOCKETS}}


def hosts_of_a_site():
    hosts = [SimpleNamespace(name=f"{role}{n}", role=role, address="10.0.0.1", endpoint="10.0.0.1", scratch="/tmp",
                             variables={}) for role, count in ROLES.items() for n in range(count)]  # fmt: skip
    return SimpleNamespace(
        hosts=hosts, config=DESCRIBED, capabilities=INVENTORY, shared=None,
        installation=lambda: Installation(["/j.jar"], "/conf", None, java_home="/java"),
        by_role=lambda role: [host for host in hosts if host.role == role],
        rdma_ports=lambda: {host.name: Port("mlx5_0/1", Moved(0), Moved(0), 0) for host in hosts},
    )  # fmt: skip


@pytest.fixture
def stacks(tmp_path):
    """Testbed and services of each transport's runs, none of them started."""
    plan, found = BlockPlan(paper("chelsio-iwarp"), DESCRIBED, "smoke"), {}
    for row in rows_of("chelsio-iwarp", DESCRIBED, "smoke"):
        there = hosts_of_a_site()
        found[row["transport"]] = there, Services(there, DESCRIBED, [plan.run(row)], tmp_path, slots=2).stack()
    assert set(found) == {"tcp", "rdma"}
    return found


def test_every_command_has_the_library_and_every_jvm_the_options(stacks):
    hosts, stack = stacks["rdma"]
    assert all(host.variables == {"RS_SQ_SIZE": "512", "LD_PRELOAD": "librspreload.so"} for host in hosts.hosts)
    argv = stack.hdfs.installation.argv("Main", 64, {})
    assert argv.index("-Dpoll=yes") < argv.index("-cp")
    assert "-Dpoll=yes" in stack.yarn._args("task", 64)
    values = stack.hdfs.values
    assert values["dfs.datanode.transferTo.allowed"] is False
    assert {"LD_PRELOAD", "RS_SQ_SIZE"} <= set(values["yarn.nodemanager.env-whitelist"].split(","))


def test_over_tcp_nothing_is_added(stacks):
    hosts, stack = stacks["tcp"]
    assert all(host.variables == {} for host in hosts.hosts)
    assert "-Dpoll=yes" not in stack.hdfs.installation.argv("Main", 64, {})
    assert "dfs.datanode.transferTo.allowed" not in stack.hdfs.values
    assert "RS_SQ_SIZE" not in stack.hdfs.values["yarn.nodemanager.env-whitelist"]
