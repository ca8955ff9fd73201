"""Probes of links and drives, which calibrate the testbed before a block and serve the stage `links` (survey.py)."""

from __future__ import annotations

import contextlib
import math
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from whitewire import atomic
from whitewire.design.drive import Drive
from whitewire.design.scaling import burst_bytes
from whitewire.errors import CannotMake
from whitewire.measure import schedule
from whitewire.measure.limits_exceeded import Carried
from whitewire.records.samples import ETHERNET, HEADERS
from whitewire.testbed.base import FRAME_SHARE, Completed, Fabric, Host, Process, Testbed, last_line
from whitewire.testbed.drives import put_drives
from whitewire.testbed.each import on_each
from whitewire.testbed.site.inventory import same_machine
from whitewire.tools import Unreadable, fio, iperf3
from whitewire.tools.fio import FIO_BLOCK, fio_bandwidth
from whitewire.tools.iperf3 import iperf3_client, iperf3_result, iperf3_server

PAUSES = (0, 0, 2, 10, 30)
"""Seconds to wait before each attempt of a probe; if none is within the bound, the runs at its scale are left out.

Each attempt takes twice as long as the one before, and the pauses let a short load pass.
"""
PAUSES_OF_A_SURVEY = (0, 0, 2)
"""The same for the stage `links`, where a drive beyond its bound is reported but stops nothing yet."""
MOST_RATE = 1200.0
"""Highest Mbit/s of emulated links to probe; above it this machine's processors would be measured, not the shaper."""
LEAST_BYTES = 10**6
"""Least bytes of one test: the burst of some frames that a shaper lets pass at once must be a small share of them."""
DRIVE_NODES = 3
"""DataNodes whose drives are probed: all have the same model."""


def probe_links(testbed: Testbed, fabrics: Sequence[str], seconds: float, streams: Sequence[int], bound: float,
                folder: Path, ring: bool = False, carried: Carried | None = None) -> list[dict]:  # fmt: skip
    """iperf3 from every client to a DataNode (as puts send), on each fabric.

    All clients send at once, each to another DataNode; on a shared segment one after another. With `ring`, some
    DataNodes also send to the next one at the same time. This is for pairs in one rack; between racks, one DataNode of
    each sends to one of the next, by itself. Emulated links above MOST_RATE are not probed, because no rate is claimed
    for them.

    `seconds` is the length of one test, `bound` the largest accepted relative error of the goodput against what the
    pair `carried` before (Mbit/s by fabric and a site's names of both hosts) or, if that is unknown, against the link's
    rate. Raw output goes to `folder`; returns rows of tidy/probes.csv. Raises CannotMake when a link stays beyond the
    bound.
    """
    known = _of_hosts(carried or {}, testbed.hosts)
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict] = []
    for name in fabrics:
        fabric = testbed.fabric(name)
        if testbed.capabilities.shares_processors and fabric.rate > MOST_RATE:
            continue
        with servers(testbed.by_role("datanode"), folder):
            place = testbed.racks(fabric.racks) if fabric.racks else {}
            for count, pairs in _tests(testbed, streams, ring):
                near = [(one, other) for one, other in pairs if place.get(one.name) == place.get(other.name)]

                def one(pair: tuple[Host, Host], fabric: Fabric = fabric, count: int = count) -> list[dict]:
                    return _link(testbed, *pair, fabric, count, seconds, bound, folder, known)

                with ThreadPoolExecutor(1 if fabric.shared else max(1, len(near))) as pool:
                    rows += [row for found in pool.map(one, near) for row in found]
            for pair in _between_racks(testbed.by_role("datanode"), place):
                rows += _link(testbed, *pair, through_uplinks(fabric), streams[0], seconds, bound, folder, known)
    return rows


def _of_hosts(carried: Carried, hosts: Sequence[Host]) -> Carried:
    """What pairs of these hosts carried, by fabric and the hosts' names here; `carried` has a site's names, with domain
    or without it."""
    targets = {target for _, *pair in carried for target in pair}
    here = {target: host.name for host in hosts for target in targets
            if same_machine(target, str(getattr(host, "target", host.name)))}  # fmt: skip
    return {(fabric, here[one], here[other]): rate for (fabric, one, other), rate in carried.items()
            if one in here and other in here}  # fmt: skip


@contextlib.contextmanager
def servers(hosts: Sequence[Host], folder: Path) -> Iterator[None]:
    """An iperf3 server on each host, at its address on the fabric in use."""
    started: list[Process] = []
    try:
        for host in hosts:
            started.append(host.start(iperf3_server(host.address), folder / f"server-{host.name}.txt"))
        for server in started:
            server.wait_ready("Server listening", timeout=20)
        yield
    finally:
        on_each(started, lambda server: server.stop(), max(1, len(started)))


def _tests(testbed: Testbed, streams: Sequence[int], ring: bool
           ) -> Iterator[tuple[int, list[tuple[Host, Host]]]]:  # fmt: skip
    """Numbers of streams, each with the pairs of hosts that are probed at once."""
    datanodes, clients = testbed.by_role("datanode"), testbed.by_role("client")
    for count in streams:
        rounds = _rounds(clients, datanodes)
        if ring and count == streams[0]:
            rounds += _beside(rounds.pop(), datanodes)
        for pairs in rounds:
            yield count, pairs


def _rounds(clients: Sequence[Host], datanodes: Sequence[Host]) -> list[list[tuple[Host, Host]]]:
    """Pairs of each client with a DataNode, in rounds that can be probed at once: no host is twice in a round."""
    rounds = []
    for first in range(0, len(clients), len(datanodes)):
        group = clients[first : first + len(datanodes)]
        apart = len(datanodes) // len(group)
        rounds.append([(c, datanodes[apart * i % len(datanodes)]) for i, c in enumerate(group)])
    return rounds


def _neighbours(datanodes: Sequence[Host]) -> list[tuple[Host, Host]]:
    """Pairs of each DataNode and the next one, as replicas travel. No host is in two pairs, because acknowledgements of
    one would share a link with data of the other. Empty for a single DataNode."""
    first = next(iter(schedule.ring(len(datanodes))), [])
    return [(datanodes[one], datanodes[other]) for one, other in first]


def _beside(pairs: list[tuple[Host, Host]], datanodes: Sequence[Host]) -> list[list[tuple[Host, Host]]]:
    """The pairs together with neighbours among the remaining DataNodes; in two rounds if too few remain."""
    taken = {host.name for pair in pairs for host in pair}
    free = [host for host in datanodes if host.name not in taken]
    return [pairs + _neighbours(free)] if len(free) > 1 else [pairs, *filter(None, [_neighbours(datanodes)])]


def _between_racks(datanodes: Sequence[Host], place: Mapping[str, str]) -> list[tuple[Host, Host]]:
    """Pairs of each rack's first DataNode with that of the next rack: over every uplink once in each direction."""
    firsts = list({place[host.name]: host for host in reversed(datanodes)}.values())[::-1] if place else []
    return list(zip(firsts, [*firsts[1:], *firsts[:1]], strict=True)) if len(firsts) > 1 else []


def through_uplinks(fabric: Fabric) -> Fabric:
    """The fabric as a pair in two racks has it: at the rate of a host's link or of the uplink, whichever is slower."""
    if fabric.uplink >= fabric.rate:
        return fabric
    return replace(fabric, rate=fabric.uplink, burst=burst_bytes(fabric.uplink, fabric.mtu))


def probe_bytes(rate: float, seconds: float) -> float:
    """Bytes of TCP payload of a test that should take `seconds` at a rate in Mbit/s, at its first attempt."""
    return max(LEAST_BYTES, rate * 1e6 / 8 * seconds)


def expected_goodput(fabric: Fabric, size: float, frames: float | None = None) -> float:
    """Mbit/s at which `size` bytes of TCP payload should pass a link of the fabric, in `frames` frames (None: in full
    ones). Its shaper is a token bucket that is full at first."""
    wire = size / FRAME_SHARE if frames is None else size + frames * (HEADERS + ETHERNET)
    return fabric.rate * size / (wire - fabric.burst)


@dataclass(frozen=True)
class Sent:
    """A test of a link: the result of iperf3, and the expected Mbit/s."""

    result: iperf3.LinkResult
    expected: float

    @property
    def error(self) -> float:
        return self.result.goodput / self.expected - 1


def send(testbed: Testbed, client: Host, server: Host, fabric: Fabric, streams: int, size: int, path: Path) -> Sent:
    """Send `size` bytes to a host with a server; raw output goes to `path`. Raises Unreadable, TimeoutExpired.

    Frames are counted where the testbed can: on slow links a window holds few segments, of which the last is not full.
    """
    before, segments = testbed.counters() if fabric.shared else {}, testbed.segments()
    done = client.run(iperf3_client(server.address, streams, size), timeout=60 + 2 * size / (fabric.rate * 1e6 / 8))
    atomic.write(path, done.stdout)
    result = parsed_output(done, iperf3_result)
    frames = testbed.segments()[client.name][1] - segments[client.name][1] if segments else None
    expected = expected_goodput(fabric, result.received, frames)
    if fabric.shared:
        expected *= _one_way(before, testbed.counters(), client, server)
    return Sent(result, expected)


def _link(testbed: Testbed, client: Host, server: Host, fabric: Fabric, streams: int, seconds: float, bound: float,
          folder: Path, known: Carried) -> list[dict]:  # fmt: skip
    """Rows of one pair's probe; `known`: what pairs carried, see _of_hosts()."""
    before = known.get((fabric.name, client.name, server.name))

    def probe(attempt: int) -> tuple[float, str, list[dict]]:
        size = int(probe_bytes(fabric.rate, seconds) * 2 ** (attempt - 1))
        name = f"iperf3-{fabric.name}-{client.name}-{server.name}-{streams}-{attempt}.json"
        sent = send(testbed, client, server, fabric, streams, size, folder / name)
        if before is not None:
            sent = replace(sent, expected=before)
        result = sent.result
        base = {"probe": "iperf3", "fabric": fabric.name, "source": client.name, "destination": server.name,
                "streams": streams, "operation": "send", "mode": ""}  # fmt: skip
        more = {"retransmits": (result.retransmits, "1"), "rtt": (result.rtt, "us")}
        return sent.error, f"link {client.name} to {server.name} on {fabric.name}, {streams} streams", [
            base | {"metric": "goodput", "value": result.goodput, "unit": "Mbit/s", "expected": sent.expected,
                    "error": sent.error, "ok": abs(sent.error) <= bound},
            *(base | {"metric": metric, "value": value, "unit": unit, "expected": "", "error": "", "ok": True}
              for metric, (value, unit) in more.items() if math.isfinite(value)),
        ]  # fmt: skip

    return _until_within(probe, bound)


def parsed_output(done: Completed, parse: Callable, *arguments: str) -> Any:
    """A probe's output as parsed. Raises Unreadable, with the last line of the probe's standard error."""
    try:
        return parse(done.stdout, *arguments)
    except Unreadable as fault:
        said = f"; it said {last_line(done.stderr)!r}" if done.stderr.strip() else ""
        raise Unreadable(f"{fault}{said}") from None


def _one_way(before: Mapping, after: Mapping, client: Host, server: Host) -> float:
    """Share of a shared segment's bytes that went from client to server: the acknowledgements take the rest."""
    sent, back = (after[host.name]["egress"] - before[host.name]["egress"] for host in (client, server))
    return sent / (sent + back)


def probe_drives(testbed: Testbed, drive: Drive, bound: float, folder: Path, stop: bool = True) -> list[dict]:
    """fio on the drive model of the first DRIVE_NODES DataNodes: sequential write and read, buffered and direct.

    The memory in front of drives is left out.
    Returns rows of tidy/probes.csv (MB/s). With `stop`, raises CannotMake when a drive stays beyond the relative
    `bound`; else only when fio gives no result at all.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drive = drive.alone
    hosts = testbed.by_role("datanode")[:DRIVE_NODES]
    for host in hosts:
        put_drives(drive, host)
    number_of_mode = {"buffered": 1, "direct": 2}
    tests = [[_DriveTest(host, f"drive {number}", host.drive(number), mode, operation, drive)
              for host in hosts for mode, number in number_of_mode.items()]
             for operation in ("write", "read")]  # fmt: skip
    if own := drive.intermediate:  # there may be only one, so one mode after the other
        tests += [[_DriveTest(host, "intermediate drive 1", f"{host.drive(1)}/local", mode, operation, own)
                   for host in hosts]
                  for operation in ("write", "read") for mode in number_of_mode]  # fmt: skip
    rows: list[dict] = []
    for at_once in tests:
        with ThreadPoolExecutor(len(at_once)) as pool:
            done = [pool.submit(_drive, test, drive, bound, folder, stop) for test in at_once]
            rows += [row for found in done for row in found.result()]
    for host in hosts:
        host.clear_drives()
    return rows


@dataclass(frozen=True)
class _DriveTest:
    """A test of fio in the folder `where` on a drive that is modelled by `model`; `name`: its name in rows."""

    host: Host
    name: str
    where: str
    mode: str
    operation: str
    model: Drive

    @property
    def size(self) -> int:
        """Bytes to move: long compared with what the cache hides, short enough to be run before every block."""
        rate = max(self.model.rate, self.model.read_rate)
        return int(max(8 * self.model.cache, rate * 0.7) // FIO_BLOCK + 1) * FIO_BLOCK

    @property
    def expected(self) -> float:
        """MB/s."""
        return (self.model.read_rate if self.operation == "read" else self.model.rate) / 1e6


def _drive(test: _DriveTest, drive: Drive, bound: float, folder: Path, stop: bool) -> list[dict]:
    host, expected = test.host, test.expected
    intermediate = "intermediate-" if test.model is not drive else ""

    def probe(attempt: int) -> tuple[float, str, list[dict]]:
        host.run(["mkdir", "-p", test.where]).check()
        argv = fio.sequential(test.where, test.operation, test.mode, test.size * 2 ** (attempt - 1))
        done = host.run(argv, env=drive.environment(host.drive_root), timeout=120)
        name = f"fio-{host.name}-{intermediate}{test.operation}-{test.mode}-{attempt}.json"
        atomic.write(folder / name, done.stdout)
        value = parsed_output(done, fio_bandwidth, test.operation)
        error = value / expected - 1
        row = {"probe": "fio", "fabric": "", "source": host.name, "destination": test.name, "streams": 1,
               "operation": test.operation, "mode": test.mode, "metric": "bandwidth", "value": value, "unit": "MB/s",
               "expected": expected, "error": error, "ok": abs(error) <= bound}  # fmt: skip
        return error, f"{test.name} of {host.name}, {test.mode} {test.operation}", [row]

    return _until_within(probe, bound, stop)


def _until_within(probe: Callable[[int], tuple[float, str, list[dict]]], bound: float, stop: bool = True) -> list[dict]:
    """Rows of all attempts until one is within the bound. If none is, raises CannotMake with `stop`."""
    rows: list[dict] = []
    pauses = PAUSES if stop else PAUSES_OF_A_SURVEY
    for attempt, pause in enumerate(pauses, start=1):
        time.sleep(pause)
        try:
            error, what, found = probe(attempt)
        except (Unreadable, subprocess.TimeoutExpired) as fault:
            if attempt == len(pauses) and not rows:
                raise CannotMake(f"probe: {' '.join(str(fault).split())}") from None
            continue
        rows += [row | {"attempt": attempt} for row in found]
        if abs(error) <= bound:
            return rows
    if not stop:
        return rows
    raise CannotMake(
        f"probe: {what}: {error:+.1%} off the set value, bound {bound:.1%}, in {len(pauses)} attempts: "
        "no run would count now; is the machine busy?"
    )
