"""perftest between hosts with RDMA ports: raw bandwidth and latency of the fabric, beside iperf3's TCP goodput.

What cannot be measured is a row too, with the reason in its column `why`: a pair of hosts without RDMA ports, or a
test whose output stayed unreadable.
"""

from __future__ import annotations

import csv
import io
import ipaddress
import itertools
import json
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whitewire import atomic
from whitewire.measure.engine import LOST, TEST_FAILURES, why_failed
from whitewire.records.links import RDMA_COLUMNS
from whitewire.records.reasons import NO_DEVICE, Reason
from whitewire.testbed.base import CommandFailed, Host, Process, last_line
from whitewire.tools import Unreadable, perftest
from whitewire.tools.ibv_devinfo import DevicePort, device_ports
from whitewire.tools.perftest import MESSAGE_SIZES, list_interfaces, perftest_command, version_command

_ATTEMPTS = 5
"""Attempts at a test of one message size: perftest's clock calibration sometimes fails, mostly on a busy machine."""
_SECONDS, SLOWER = 60.0, 20.0
"""A test may take _SECONDS, plus SLOWER times what its bytes need at the port's rate."""
_LISTENS_S = 20.0
"""Longest wait until a server listens."""
SETTLE = 1.0
"""Seconds until a server that waits with rdma_cm is ready: no list of the host shows when it is."""

_METRICS: dict[type, dict[str, tuple[str, str]]] = {
    perftest.Bandwidth: {
        "bandwidth_average": ("average", "MB/s"),
        "bandwidth_peak": ("peak", "MB/s"),
        "message_rate": ("message_rate", "1/s"),
    },
    perftest.Latency: {
        "latency_min": ("minimum", "us"),
        "latency_typical": ("typical", "us"),
        "latency_average": ("average", "us"),
        "latency_p99": ("p99", "us"),
        "latency_p99_9": ("p99_9", "us"),
    },
}


class NoRdma(Exception):
    """Why a host has no RDMA port on its fabric, in one line; `code`: NO_DEVICE if it has no RDMA device."""

    def __init__(self, why: str, code: str = "") -> None:
        super().__init__(why)
        self.code = code

    @property
    def cells(self) -> dict[str, str]:
        """The reason's cells in a row of RDMA_COLUMNS."""
        return {"why": str(self), "why_code": self.code}


@dataclass(frozen=True)
class Endpoint:
    """A host's port on the fabric, and how perftest has to address it."""

    host: Host
    port: DevicePort
    gid_index: int | None
    rdma_cm: bool

    @property
    def arguments(self) -> dict:
        return {"device": self.port.device, "port": self.port.number, "gid_index": self.gid_index,
                "rdma_cm": self.rdma_cm}  # fmt: skip


# --- finding the ports ------------------------------------------------------------------------------


def choose(ports: Sequence[DevicePort], address: str, link_address: str) -> tuple[DevicePort, int | None, bool] | None:
    """The port with a host's address, its GID index (Ethernet), and whether rdma_cm has to connect (iWARP).

    `link_address` belongs to the network interface with the address, in hexadecimal with colons. A RoCE port lists
    the address itself among its GIDs, v2 (routable) preferred; an iWARP port's GID begins with the MAC; the last
    sixteen bytes of an IPoIB interface's link address are its port's GID.
    """
    ip = ipaddress.ip_address(address)
    mapped = ip if ip.version == 6 else ipaddress.IPv6Address(f"::ffff:{ip}")
    hardware = bytes.fromhex(link_address.replace(":", ""))
    found: list[tuple[int, int, tuple[DevicePort, int | None, bool]]] = []
    for port in ports:
        for gid in port.gids:
            if port.transport == "iWARP":
                if len(hardware) == 6 and gid.address.packed[:6] == hardware:
                    found.append((0, gid.index, (port, None, True)))
            elif port.link_layer == "InfiniBand":
                if len(hardware) == 20 and gid.address.packed == hardware[4:]:
                    found.append((0, gid.index, (port, None, False)))
            elif gid.address == mapped:
                found.append((int(gid.kind != "RoCE v2"), gid.index, (port, gid.index, False)))
    return min(found, key=lambda one: one[:2])[2] if found else None


def find_endpoint(host: Host) -> Endpoint:
    """The host's RDMA port on the fabric that its address belongs to. Raises NoRdma."""
    try:
        names = host.run(perftest.device_names(), timeout=30)
        if names.status != 0 or not names.stdout.split():
            raise NoRdma(str(Reason(NO_DEVICE, {"host": host.name})), NO_DEVICE)
        listed = host.run(perftest.devices(), timeout=30)
        if listed.status != 0:
            raise NoRdma(f"ibv_devinfo on {host.name}: {last_line(listed.stderr or listed.stdout)}")
        version = host.run(version_command(), timeout=30)
        if b"Version" not in version.stdout + version.stderr:
            raise NoRdma(f"no perftest on {host.name}: {last_line(version.stderr or version.stdout)}")
        ports = device_ports(listed.stdout)
        chosen = choose(ports, host.address, _link_address(host))
    except (CommandFailed, Unreadable, OSError, subprocess.SubprocessError) as fault:
        raise NoRdma(f"{host.name}: {why_failed(fault)}") from None
    if chosen is None:
        raise NoRdma(f"no RDMA port of {host.name} has the address {host.address}, "
                     f"only found {', '.join(port.name for port in ports)}")  # fmt: skip
    port, gid_index, rdma_cm = chosen
    if port.state != "PORT_ACTIVE":
        raise NoRdma(f"RDMA port {port.name} of {host.name} is in state {port.state}")
    return Endpoint(host, port, gid_index, rdma_cm)


def _link_address(host: Host) -> str:
    """Link address of the interface with the host's address; "" when no interface has it."""
    done = host.run(list_interfaces(), timeout=30).check()
    try:
        for interface in json.loads(done.stdout):
            if any(each.get("local") == host.address for each in interface.get("addr_info", [])):
                return interface.get("address", "")
    except (ValueError, AttributeError, TypeError):
        raise Unreadable(f"ip -json address: not whole JSON ({len(done.stdout)} bytes)") from None
    return ""


# --- measuring --------------------------------------------------------------------------------------


def between(source: Host, destination: Host, fabric: str, folder: Path,
            tests: Sequence[str] = perftest.TESTS, sizes: Sequence[int] = MESSAGE_SIZES) -> list[dict]:  # fmt: skip
    """Run every test at every message size, one after the other, between two hosts on the fabric.

    Raw output goes to `folder`/perftest; returns rows of RDMA_COLUMNS. A lack of RDMA is a row too, never an exception.
    """
    base = {"fabric": fabric, "source": source.name, "destination": destination.name}
    try:
        ends = find_endpoint(source), find_endpoint(destination)
    except NoRdma as why:
        return [row(base, **why.cells)]
    return list(_pair(*ends, base, folder / "perftest", tests, sizes))


def _pair(source: Endpoint, destination: Endpoint, base: Mapping, folder: Path, tests: Sequence[str],
          sizes: Sequence[int]) -> Iterator[dict]:  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    rates = [end.port.rate for end in (source, destination)]
    known = [rate for rate in rates if rate is not None]
    limit = min(known) if len(known) == len(rates) else None
    base = {**base, "source_port": source.port.name, "destination_port": destination.port.name,
            "transport": _transport(source.port), "limit": "" if limit is None else _number(limit)}  # fmt: skip
    tcp_ports = itertools.count(perftest.TCP_PORT)
    lost = 0
    for test, size in itertools.product(tests, sizes):
        count = perftest.iterations(test, size)
        patience = _SECONDS + SLOWER * size * count / ((limit or 1000.0) * 1e6)
        keys = {**base, "test": test, "message_bytes": size, "iterations": count}
        why = ""
        for attempt in range(1, _ATTEMPTS + 1):
            stem = f"{base['fabric']}-{base['source']}-{base['destination']}-{test}-{size}-{attempt}"
            try:
                found = _once(source, destination, test, size, count, next(tcp_ports), patience, folder / stem)
            except subprocess.TimeoutExpired:
                why = f"{test} did not end in {patience:.0f} s"
                break
            except TEST_FAILURES as fault:
                why = why_failed(fault)
                continue
            for metric, (name, unit) in _METRICS[type(found)].items():
                value = _number(getattr(found, name))
                yield row(keys, attempt=attempt, metric=metric, value=value, unit=unit)
            why = ""
            break
        if why:
            yield row(keys, attempt=attempt, why=why)
        lost = lost + 1 if why else 0
        if lost == LOST:
            yield row(base, why=f"given up after {LOST} tests in a row without a result")
            return


def _once(source: Endpoint, destination: Endpoint, test: str, size: int, count: int, tcp_port: int, patience: float,
          stem: Path) -> perftest.Bandwidth | perftest.Latency:  # fmt: skip
    """Run one server and one client; returns the one row. Raises one of TEST_FAILURES, or TimeoutExpired."""
    waits = perftest_command(test, size, count, tcp_port, **destination.arguments)
    measures = [*perftest_command(test, size, count, tcp_port, **source.arguments), destination.host.address]
    server = destination.host.start(waits, stem.with_name(f"{stem.name}-server.txt"))
    try:
        _await(destination, server, tcp_port)
        done = source.host.run(measures, timeout=patience)
    finally:
        server.stop()
    atomic.write(stem.with_name(f"{stem.name}.txt"), done.stdout)
    if done.stderr:
        atomic.write(stem.with_name(f"{stem.name}.err"), done.stderr)
    done.check()
    parse = perftest.bandwidth if test in perftest.BANDWIDTH else perftest.latency
    rows = parse(done.stdout, test)
    if [row.message_bytes for row in rows] != [size]:
        raise Unreadable(f"perftest: {test}: a table of {rows[0].message_bytes} bytes, expected one row of {size}")
    return rows[0]


def _await(end: Endpoint, server: Process, tcp_port: int) -> None:
    """Wait until the server listens. A test connection would be its only client, so sockets are looked at instead."""
    if end.rdma_cm:
        time.sleep(SETTLE)
        server.check()
        return
    deadline = time.monotonic() + _LISTENS_S
    while not listens(end.host.run(perftest.sockets(), timeout=_LISTENS_S).stdout.decode(errors="replace"), tcp_port):
        server.check()
        if time.monotonic() > deadline:
            raise TimeoutError(f"{server.name}: no socket at port {tcp_port} after {_LISTENS_S:.0f} s")
        time.sleep(0.05)


def listens(table: str, tcp_port: int) -> bool:
    """Whether a socket of the table (proc_net_tcp(5)) is in state LISTEN (0A) at that port."""
    sockets = (line.split() for line in table.splitlines())
    return any(len(socket) > 3 and socket[1].endswith(f":{tcp_port:04X}") and socket[3] == "0A" for socket in sockets)


def _transport(port: DevicePort) -> str:
    if port.transport == "iWARP":
        return "iWARP"
    return "RoCE" if port.link_layer == "Ethernet" else port.link_layer


def row(base: Mapping[str, Any] | None = None, **cells: Any) -> dict[str, Any]:
    """A row of RDMA_COLUMNS; what is not given is empty."""
    return {**dict.fromkeys(RDMA_COLUMNS, ""), **(base or {}), **cells}


def _number(value: float) -> str:
    return f"{value:.8g}"


# --- rows -------------------------------------------------------------------------------------------


def nothing_measured(rows: Sequence[Mapping]) -> str:
    """Why nothing at all was measured, in one line; "" when something was."""
    if any(row["metric"] for row in rows):
        return ""
    return "; ".join(dict.fromkeys(row["why"] for row in rows)) or "no pair of hosts to measure"


def write_rdma_rows(path: Path, rows: Sequence[Mapping]) -> None:
    """Write rows as a table, whose folder is made if missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = io.StringIO()
    writer = csv.DictWriter(table, RDMA_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    atomic.write(path, table.getvalue())
