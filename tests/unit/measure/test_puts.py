"""Clients of a run that puts files into HDFS."""

from types import SimpleNamespace

import pytest

from whitewire.measure.client import client_hosts
from whitewire.measure.puts import StackPuts

HOSTS = [SimpleNamespace(name=name, role=name[:-1]) for name in ("client1", "client2", "datanode1", "datanode2")]
TESTBED = SimpleNamespace(by_role=lambda role: [host for host in HOSTS if host.role == role])


@pytest.mark.parametrize(("parameters", "hosts", "clients"), [
    ({"clients": 1}, ["client1", "client2"], ["client1"]),
    ({"clients": 1, "put_from": "datanode"}, ["datanode1"], ["client-datanode1"]),
    ({}, ["client1", "client2"], None),  # jobs
])  # fmt: skip
def test_counters_are_those_of_the_hosts_whose_clients_may_put(parameters, hosts, clients):
    assert [host.name for host in client_hosts(TESTBED, parameters)] == hosts
    if clients:
        jvms = [SimpleNamespace(name=host.name if host.role == "client" else f"client-{host.name}", host=host)
                for host in HOSTS]  # fmt: skip
        stack, run = SimpleNamespace(testbed=TESTBED, clients=jvms), SimpleNamespace(parameters=parameters)
        assert StackPuts(stack, run, None).names() == clients
