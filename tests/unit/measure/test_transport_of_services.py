"""What daemons, clients and tasks of a cluster get of the transport that its runs have."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.unit.design.test_transports_of_sites import SITE, paper, rows_of
from whitewire.description.capabilities import INVENTORY
from whitewire.measure.block_plan import BlockPlan
from whitewire.measure.services import stack_of
from whitewire.testbed.base import Completed
from whitewire.testbed.installation import Installation
from whitewire.tools.rdma_counters import Moved, PortCounters

ROLES = {"namenode": 1, "datanode": 2, "client": 1}
RSOCKETS = {
    "kind": "rdma", "preload": ["librspreload.so"], "environment": {"RS_SQ_SIZE": "512"}, "java": ["-Dpoll=yes"],
    "settings": {"dfs.datanode.transferTo.allowed": False},
}  # fmt: skip
DESCRIBED = SITE | {"transports": {"rsockets": RSOCKETS}}


class Started(SimpleNamespace):
    """A host that keeps each command with its environment."""

    def __init__(self, name, role):
        super().__init__(name=name, role=role, address="10.0.0.1", endpoint="10.0.0.1", scratch="/tmp", folder="/tmp",
                         drive_root="/tmp/drives", commands=[])  # fmt: skip

    def run(self, argv, env=None, stdin=None, timeout=None):
        self.commands.append((argv[0], env or {}))
        said = b'{"beans": [{"PacketsReceived": 1}]}' if argv[0] == "curl" else b""
        return Completed(tuple(argv), 0, said, b"")

    def start(self, argv, log, env=None, name="", stdin=None):
        self.commands.append((argv[0], env or {}))
        return SimpleNamespace(wait_ready=lambda *_, **__: None, said=lambda: "", log=log)

    def clear_drives(self):
        self.run(["rm"])

    def drive(self, number):
        return f"/tmp/drives/{number}"


def hosts_of_a_site():
    hosts = [Started(f"{role}{n}", role) for role, count in ROLES.items() for n in range(count)]
    return SimpleNamespace(
        hosts=hosts, config=DESCRIBED, capabilities=INVENTORY, shared=None,
        installation=lambda: Installation(["/j.jar"], "/conf", None, java_home="/java"),
        by_role=lambda role: [host for host in hosts if host.role == role],
        rdma_ports=lambda: {host.name: PortCounters("mlx5_0/1", Moved(0), Moved(0), 0) for host in hosts},
    )  # fmt: skip


@pytest.fixture
def stacks(tmp_path):
    """Testbed and services of each transport's runs, none of them started."""
    plan, found = BlockPlan(paper("chelsio-iwarp"), DESCRIBED, "smoke"), {}
    for row in rows_of("chelsio-iwarp", DESCRIBED, "smoke"):
        there = hosts_of_a_site()
        found[row["transport"]] = there, stack_of(there, DESCRIBED, [plan.run(row)], tmp_path, 2, 0, None)
    assert set(found) == {"tcp", "rdma"}
    return found


VARIABLES = {"RS_SQ_SIZE": "512", "LD_PRELOAD": "librspreload.so"}


def test_what_opens_sockets_has_the_library_and_every_other_command_has_not(stacks, monkeypatch):
    hosts, stack = stacks["rdma"]
    monkeypatch.setattr("whitewire.cluster.hdfs.time.sleep", lambda _: None)
    monkeypatch.setattr("whitewire.cluster.hdfs.write_configuration", lambda *_: None)
    stack.hdfs.image = None
    stack.hdfs.start()
    stack.yarn._daemon(hosts.hosts[0], "Main", "resourcemanager", 64, {})
    stack.hdfs.packets()
    with pytest.raises(KeyError, match="conf"):  # curl answers as a DataNode does
        stack.yarn.settings("job_1_0001", ["a"])
    ran = [each for host in hosts.hosts for each in host.commands]
    own = {name: [env for command, env in ran if command == name] for name, _ in ran}
    # The first command of Java makes the NameNode's folder, alone.
    java = [env for env in own.pop("java") if env]
    assert len(java) == 5 and all(env.items() >= VARIABLES.items() for env in [*java, *own.pop("curl")])
    assert {"rm", "mkdir"} <= own.keys() and all(env == {} for each in own.values() for env in each)


def test_every_jvm_has_the_options(stacks):
    _, stack = stacks["rdma"]
    argv = stack.hdfs.installation.argv("Main", 64, {})
    assert argv.index("-Dpoll=yes") < argv.index("-cp")
    assert "-Dpoll=yes" in stack.yarn._args("task", 64)
    values = stack.hdfs.values
    assert values["dfs.datanode.transferTo.allowed"] is False
    assert {"LD_PRELOAD", "RS_SQ_SIZE"} <= set(values["yarn.nodemanager.env-whitelist"].split(","))


def test_over_tcp_nothing_is_added(stacks):
    _, stack = stacks["tcp"]
    assert stack.hdfs.installation.environment() == {}
    assert "-Dpoll=yes" not in stack.hdfs.installation.argv("Main", 64, {})
    assert "dfs.datanode.transferTo.allowed" not in stack.hdfs.values
    assert "RS_SQ_SIZE" not in stack.hdfs.values["yarn.nodemanager.env-whitelist"]
