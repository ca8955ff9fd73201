"""Traffic of other hosts over the racks' uplinks while a run goes on: iperf3 from each rack to the next one.

It has hosts of its own (role `traffic`, one per rack), so that it takes no processor time and no link of the workload's
hosts: only the uplinks are shared. It is UDP at a fixed rate, which does not yield to the run's traffic.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from whitewire.records.run import Links
from whitewire.testbed.base import CommandFailed, Fabric, Host, Process, Testbed
from whitewire.tools import iperf3
from whitewire.tools.iperf3 import iperf3_server

ROLE = "traffic"
_START_S = 10.0
"""Longest time until the first bytes move."""


@contextlib.contextmanager
def flowing(testbed: Testbed, fabric: Fabric, share: float, logs: Path) -> Iterator[None]:
    """Load every uplink with `share` of its rate in both directions until the block ends; does nothing at 0.

    Raises CommandFailed when it does not begin, ProcessDied when it ended before the block did.
    """
    hosts = testbed.by_role(ROLE)
    if not share or not fabric.racks:
        yield
        return
    log = logs / "cross-traffic"
    servers = [host.start(iperf3_server(host.address), log / f"{host.name}-server.txt") for host in hosts]
    clients: list[Process] = []
    try:
        for server in servers:
            server.wait_ready("Server listening", timeout=_START_S)
        before = bytes_of_cross_traffic(testbed, testbed.counters())
        for host, other in zip(hosts, [*hosts[1:], *hosts[:1]], strict=True):
            argv = iperf3.steady(other.address, share * fabric.uplink * 1e6)
            clients.append(host.start(argv, log / f"{host.name}.txt", name=f"cross traffic of {host.name}"))
        _wait_until_it_moves(testbed, hosts, before)
        yield
        for client in clients:
            client.check()
    finally:
        for process in [*clients, *servers]:
            process.kill()


def bytes_of_cross_traffic(testbed: Testbed, counters: Links) -> dict[str, int]:
    """Bytes that each host of cross traffic has sent, from the counters of all hosts."""
    return {host.name: counters[host.name]["egress"] for host in testbed.by_role(ROLE)}


def share(before: Mapping[str, int], after: Mapping[str, int], seconds: float, uplink: float) -> float:
    """Share of an uplink's rate (`uplink`, Mbit/s) that was sent in `seconds`, by the host that sent least."""
    return min((after[name] - before[name]) * 8e-6 / seconds / uplink for name in before)


def _wait_until_it_moves(testbed: Testbed, hosts: list[Host], before: Mapping[str, int]) -> None:
    deadline = time.monotonic() + _START_S
    while still := [
        name
        for name, sent in bytes_of_cross_traffic(testbed, testbed.counters()).items()
        if sent - before[name] < 20 * iperf3.DATAGRAM
    ]:
        if time.monotonic() > deadline:
            raise CommandFailed(f"cross traffic: nothing moves from {', '.join(still)}")
        time.sleep(0.05)
