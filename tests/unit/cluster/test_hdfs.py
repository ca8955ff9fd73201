"""Clients of HDFS, also those on DataNodes' own hosts: each has a name and a log of its own, and ends with the rest."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from whitewire.cluster.hdfs import Hdfs
from whitewire.design.drive import Drive


class Testbed:
    __test__ = False

    def __init__(self):
        self.killed = []
        roles = ["namenode", "datanode", "datanode", "datanode", "client", "client"]
        self.hosts = [SimpleNamespace(name=f"{role}{number}", role=role, address="", endpoint="", drive_root="",
                                      start=self.start) for number, role in enumerate(roles)]  # fmt: skip

    def by_role(self, role):
        return [host for host in self.hosts if host.role == role]

    def start(self, argv, log, environment, name, stdin):
        return SimpleNamespace(log=log, kill=lambda: self.killed.append(log.name))


@pytest.mark.parametrize(("putting", "further"), [(0, []), (2, ["client-datanode1", "client-datanode2"])])
def test_clients_on_datanodes_are_processes_of_their_own(putting, further):
    testbed = Testbed()
    installation = SimpleNamespace(argv=lambda *_, **__: [], environment=lambda _: {})
    hdfs = Hdfs(testbed, installation, {}, Drive.none(), Path("logs"), None, putting)
    for host in testbed.by_role("datanode"):
        hdfs.daemons[host.name] = host.start([], Path(f"logs/{host.name}.log"), {}, "", 0)
    hdfs._start_clients()
    daemons, clients = ["datanode1", "datanode2", "datanode3"], ["client4", "client5", *further]
    assert [client.name for client in hdfs.clients] == clients
    assert list(hdfs.processes()) == [*daemons, *clients]
    hdfs.stop()
    assert testbed.killed == [f"{name}.log" for name in (*daemons, *clients)]
    assert hdfs.processes() == {}
