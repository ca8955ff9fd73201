"""The transports of a testbed, in the stage `links`: iperf3 between two hosts over each, in turn with TCP.

A test whose bytes went another way, by the counters of its hosts, has no value.
"""

from __future__ import annotations

import contextlib
import itertools
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from whitewire import atomic
from whitewire.description.transports import RDMA, TCP, Transport, preloading
from whitewire.errors import CannotMake
from whitewire.measure import carrying, links
from whitewire.measure.engine import TEST_FAILURES, TIME_UP, Attempts, why_failed
from whitewire.measure.execution import cannot_make
from whitewire.measure.survey_plan import Survey
from whitewire.records import links as records
from whitewire.records.links import Effort, FabricPlan, TransportRow
from whitewire.records.transport import fault_of_transport
from whitewire.testbed.base import Fabric, Host, Testbed
from whitewire.testbed.site import shell
from whitewire.tools import Unreadable
from whitewire.tools.iperf3 import iperf3_client, iperf3_result, iperf3_server

REPEATS: Mapping[Effort, int] = {"smoke": 1, "quick": 3, "full": 5}
"""Tests of each transport with each number of streams, by effort."""
_READY_S = 20.0
_FOR_IPERF3: Mapping[str, str] = {"RDMAV_FORK_SAFE": "1"}
"""Variables of iperf3 over RDMA, for librspreload before rdma-core 63. Its select() reports accepted connections under
other descriptors, so that iperf3 never reads them, but not those that move to RDMA after accept(), as with this."""


class WentElsewhere(Exception):
    """Why a test's bytes did not use the transport that it was asked for."""


def measure_transports(survey: Survey) -> None:
    """Measure every transport on every fabric, between the two hosts whose RDMA ports perftest measures.

    A transport is given up after LOST tests in a row without a result, and with a number of streams after one that does
    not end.
    """
    with survey.work.phase("transports"):
        path = survey.folder / records.TRANSPORTS
        if path.exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        rows: list[TransportRow] = []
        for of in survey.plan["fabrics"]:
            with survey.work.leaving_out(f"transports on {of['name']}"), cannot_make(survey.folder):
                rows += _on_a_fabric(survey, of, path.parent)
        atomic.write(path, atomic.as_json(rows))


def _on_a_fabric(survey: Survey, of: FabricPlan, folder: Path) -> list[TransportRow]:
    testbed, work, plan = survey.testbed, survey.work, survey.plan
    fabric = testbed.fabric(of["name"])
    try:
        with_port = {name for name, port in testbed.rdma_ports().items() if port.name}
    except Unreadable as fault:
        raise CannotMake(str(fault)) from None
    able = [host for host in testbed.hosts if host.name in with_port]
    ends = able if len(able) > 1 else testbed.hosts
    if len(ends) < 2:
        raise CannotMake("transports need two hosts")
    source, destination = ends[:2]
    tests = Tests(testbed, fabric, source, destination, links.probe_bytes(fabric.rate, of["seconds"]), folder)
    ways = [Transport(TCP, TCP), *(Transport(**each) for each in plan.get("transports", ()))]
    lacking = {way.name: why for way in ways if (why := _lacking(way, (source, destination), with_port))}
    rows = [tests.without(way, 0, 1, lacking[way.name]) for way in ways if way.name in lacking]
    tested = [way for way in ways if way.name not in lacking]
    work.progress.say(f"transports on {fabric.name}: {', '.join(way.name for way in tested)}")
    attempts, endless = Attempts(), set[tuple[str, int]]()
    turns = itertools.product(range(1, REPEATS[plan["effort"]] + 1), of["streams"], tested)
    for attempt, streams, way in turns:
        if (way.name, streams) in endless or attempts.exhausted(way.name):
            continue
        if work.deadline.left() <= 0:
            work.leave_out(f"transports on {fabric.name}", TIME_UP)
            break
        try:
            rows += tests.once(way, streams, attempt)
            attempts.succeeded(way.name)
        except subprocess.TimeoutExpired as fault:
            rows.append(tests.without(way, streams, attempt, f"iperf3 did not end in {fault.timeout:.0f} s"))
            endless.add((way.name, streams))
        except (*TEST_FAILURES, WentElsewhere) as fault:
            rows.append(tests.without(way, streams, attempt, why_failed(fault)))
            attempts.failed(way.name)
    return rows


def _lacking(way: Transport, ends: Sequence[Host], with_port: Collection[str]) -> str:
    """Why a transport cannot be measured between two hosts; empty if it can."""
    if way.kind == RDMA and (without := [host.name for host in ends if host.name not in with_port]):
        return f"no RDMA port on {' and '.join(without)}"
    for host in ends if way.preload else ():
        done = host.run(["sh", "-c", shell.PRELOADED], preloading([way]), timeout=_READY_S)
        if refused := done.stdout.decode(errors="replace").split():
            return f"{', '.join(refused)} cannot be preloaded on {host.name}"
    return ""


def iperf3_variables(way: Transport) -> dict[str, str]:
    """The environment of iperf3 over a transport, whose own variables win."""
    return {**_FOR_IPERF3, **way.variables} if way.kind == RDMA else way.variables


@dataclass(frozen=True)
class Tests:
    """Tests of `size` bytes from one host to another on a fabric; verbatim output goes to `folder`."""

    testbed: Testbed
    fabric: Fabric
    source: Host
    destination: Host
    size: float
    folder: Path

    def _row(self, way: Transport, streams: int, attempt: int, metric: str, value: float | None, unit: str,
             why: str = "") -> TransportRow:  # fmt: skip
        return {"fabric": self.fabric.name, "source": self.source.name, "destination": self.destination.name,
                "transport": way.name, "kind": way.kind, "streams": streams, "metric": metric, "value": value,
                "unit": unit, "attempt": attempt, "why": why}  # fmt: skip

    def without(self, way: Transport, streams: int, attempt: int, why: str) -> TransportRow:
        """The row of a test that has no value."""
        return self._row(way, streams, attempt, "goodput", None, "Mbit/s", why)

    def once(self, way: Transport, streams: int, attempt: int) -> Sequence[TransportRow]:
        """Goodput and, if the hosts are machines, CPU time of both for a gigabyte. Raises TimeoutExpired, WentElsewhere
        or one of TEST_FAILURES."""
        stem = f"{self.fabric.name}-{way.name}-{streams}-{attempt}"
        testbed, ends = self.testbed, (self.source.name, self.destination.name)
        with self._server(way, self.folder / f"{stem}-server.txt"):
            before, ports, busy = testbed.counters(), testbed.rdma_ports(), testbed.cpu_seconds()
            argv = iperf3_client(self.destination.address, streams, int(self.size))
            seconds = 60 + 2 * self.size / (self.fabric.rate * 1e6 / 8)
            done = self.source.run(argv, iperf3_variables(way), timeout=seconds)
            used, ports_after, after = testbed.cpu_seconds(), testbed.rdma_ports(), testbed.counters()
        atomic.write(self.folder / f"{stem}.json", done.stdout)
        result = links.parsed_output(done, iperf3_result)
        own = {name: port for name, port in ports.items() if name in ends}
        seen = carrying.seen(before, after, own, ports_after, testbed.links())
        if why := fault_of_transport(way.kind, seen):
            raise WentElsewhere(f"asked {way.kind}, found {why}")
        rows = [self._row(way, streams, attempt, "goodput", result.goodput, "Mbit/s")]
        if not testbed.capabilities.shares_processors:
            cpu = sum(used[name] - busy[name] for name in ends) / (result.received / 1e9)
            rows.append(self._row(way, streams, attempt, "cpu_seconds_per_gb", cpu, "s/GB"))
        return rows

    @contextlib.contextmanager
    def _server(self, way: Transport, log: Path) -> Iterator[None]:
        server = self.destination.start(iperf3_server(self.destination.address), log, iperf3_variables(way))
        try:
            server.wait_ready("Server listening", timeout=_READY_S)
            yield
        finally:
            server.stop()
