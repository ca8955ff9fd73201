"""perftest, for bandwidth and latency of RDMA between two ports: its command lines, and the table that it prints.

Formats from perftest's perftest_parameters.h, releases 4.5 (Debian 12) to 24, which differ in the lines before the
table and in the name of its unit. All numbers are rounded to two decimals (message rates to six).

If perftest cannot calibrate its clock, it prints `inf`, `nan` or 0.00, and still ends with status 0. Such a table is
Unreadable, and the test has to be repeated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from whitewire.tools import Unreadable

# --- command lines ---

BANDWIDTH = ("ib_write_bw", "ib_read_bw", "ib_send_bw")
LATENCY = ("ib_write_lat", "ib_read_lat", "ib_send_lat")
TESTS = (*BANDWIDTH, *LATENCY)

MESSAGE_SIZES = tuple(4**power for power in range(1, 12))
"""Message sizes in bytes: 4 B to 4 MiB, in steps of a factor of 4."""

TCP_PORT = 18515
"""perftest's default port; both ends exchange data over TCP before the test."""


def iterations(test: str, size: int) -> int:
    """Number of messages in one test: enough for its statistics, at most a few seconds of a 10 Gbit/s link.

    Bandwidth tests stay below 20,000, above which perftest omits the peak. Latency tests use up to 10,000: with fewer
    than some thousand, the 99.9th percentile would be the largest value.
    """
    if test in BANDWIDTH:
        return max(200, min(5000, 2**31 // size))
    return max(1000, min(10_000, 2**30 // size))


def perftest_command(test: str, size: int, count: int, tcp_port: int, device: str, port: int,
                     gid_index: int | None = None, rdma_cm: bool = False) -> list[str]:  # fmt: skip
    """The server of a test, and followed by the server's address its client, which connects, measures and prints.

    The device and its GID are each end's own. If a server's output is a file, it prints nothing before its end.
    `gid_index` is needed on Ethernet (RoCE), `rdma_cm` on iWARP, whose connections need rdma_cm.
    The output is text, because the JSON of release 4.5 (Debian 12) is invalid.
    """
    argv = [
        test, f"--ib-dev={device}", f"--ib-port={port}", f"--port={tcp_port}", f"--size={size}", f"--iters={count}",
        "--CPU-freq",
    ]  # fmt: skip
    if gid_index is not None:
        argv.append(f"--gid-index={gid_index}")
    if rdma_cm:
        argv.append("--rdma_cm")
    return argv


def version_command() -> list[str]:
    """Print the version; the exit status is not 0 even so."""
    return [TESTS[0], "--version"]


def device_names() -> list[str]:
    """List the kernel's RDMA devices, one per line; fails if the kernel has no RDMA."""
    return ["ls", "/sys/class/infiniband"]


def devices() -> list[str]:
    """List all devices and ports with their attributes and addresses (GIDs)."""
    return ["ibv_devinfo", "-v"]


def list_interfaces() -> list[str]:
    """List the network interfaces with their addresses, as JSON."""
    return ["ip", "-json", "address", "show"]


def sockets() -> list[str]:
    """List the TCP sockets of the host, proc_net_tcp(5); tcp6 does not exist if IPv6 is off."""
    return ["cat", "/proc/net/tcp", "/proc/net/tcp6"]


# --- output ---

TITLES = {
    "ib_write_bw": "RDMA_Write BW Test",
    "ib_read_bw": "RDMA_Read BW Test",
    "ib_send_bw": "Send BW Test",
    "ib_write_lat": "RDMA_Write Latency Test",
    "ib_read_lat": "RDMA_Read Latency Test",
    "ib_send_lat": "Send Latency Test",
}
_UNITS = {"MB/sec": 2**20, "MiB/sec": 2**20, "Gb/sec": 1e9 / 8}
"""Bytes per unit of bandwidth. "MB", the name until release 24.07, always meant 2^20 bytes."""

BANDWIDTH_HEADING = re.compile(r"#bytes +#iterations +BW peak\[(\S+)\] +BW average\[(\S+)\] +MsgRate\[Mpps\]")
LATENCY_HEADING = re.compile(
    r"#bytes +#iterations +t_min\[usec\] +t_max\[usec\] +t_typical\[usec\] +t_avg\[usec\] +t_stdev\[usec\] +"
    r"99% percentile\[usec\] +99\.9% percentile\[usec\]"
)
_RULE = re.compile(r"-{60,}")
BANDWIDTH_CELLS = ("peak", "average", "message rate")
LATENCY_CELLS = ("minimum", "maximum", "typical", "average", "deviation", "p99", "p99.9")
"""Names of a row's cells after message bytes and iterations."""


@dataclass(frozen=True)
class Bandwidth:
    """Bandwidths in MB/s (10^6 bytes) and messages per second at one message size."""

    message_bytes: int
    iterations: int
    peak: float
    average: float
    message_rate: float


@dataclass(frozen=True)
class Latency:
    """Latencies in microseconds at one message size: half a round trip for write and send, a whole one for read."""

    message_bytes: int
    iterations: int
    minimum: float
    maximum: float
    typical: float
    average: float
    deviation: float
    p99: float
    p99_9: float


def bandwidth(raw: bytes, test: str) -> list[Bandwidth]:
    """The rows of a one-way bandwidth test over a number of iterations. Raises Unreadable."""
    unit, rows = _table(raw, test, BANDWIDTH_HEADING, BANDWIDTH_CELLS)
    if unit not in _UNITS:
        raise Unreadable(f"perftest: bandwidth in {unit}, expected one of {', '.join(_UNITS)}")
    found = []
    for size, count, (peak, average, rate) in rows:
        _same_bandwidth(size, average, rate, unit, test)
        most, mean = (float(cell) * _UNITS[unit] / 1e6 for cell in (peak, average))
        found.append(Bandwidth(size, count, most, mean, float(rate) * 1e6))
    return found


def latency(raw: bytes, test: str) -> list[Latency]:
    """The rows of a latency test over a number of iterations. Raises Unreadable."""
    found = []
    for size, count, cells in _table(raw, test, LATENCY_HEADING, LATENCY_CELLS)[1]:
        row = Latency(size, count, *map(float, cells))
        if not (row.minimum <= row.typical <= row.p99 <= row.p99_9 <= row.maximum):
            raise Unreadable(f"perftest: {test}: {size} bytes: the percentiles do not rise: {' '.join(cells)}")
        found.append(row)
    return found


def _table(
    raw: bytes, test: str, header: re.Pattern, names: Sequence[str]
) -> tuple[str, list[tuple[int, int, list[str]]]]:
    """(unit of bandwidth in the header, "" for latency; rows of message bytes, iterations and further cells)."""
    lines = raw.decode(errors="replace").splitlines()
    if not lines:
        raise Unreadable(f"perftest: {test}: no output")
    if not any(line.strip() == TITLES[test] for line in lines):
        raise Unreadable(f"perftest: {test}: no line {TITLES[test]!r} in {len(raw)} bytes of output")
    starts = [number for number, line in enumerate(lines) if line.lstrip().startswith("#bytes")]
    if not starts:
        raise Unreadable(f"perftest: {test}: it ended before its table, with {lines[-1].strip()[:80]!r}")
    header_line = lines[starts[-1]].strip()
    match = header.fullmatch(header_line)
    if match is None:
        raise Unreadable(f"perftest: {test}: columns {header_line!r}, expected those of a test by iterations")
    if len(set(match.groups())) > 1:
        raise Unreadable(f"perftest: {test}: peak and average in different units: {header_line!r}")
    rule = next((line for line in lines if _RULE.fullmatch(line.strip())), None)
    rows = []
    for line in lines[starts[-1] + 1 :]:
        if line == rule:
            break
        cells = line.split()
        if cells and cells[0][0].isdecimal():
            rows.append(_row(cells, names, test))
    else:
        raise Unreadable(f"perftest: {test}: cut off: no line ends the table")
    if not rows:
        raise Unreadable(f"perftest: {test}: a table without rows")
    return (match.group(1) if match.groups() else ""), rows


def _row(cells: list[str], names: Sequence[str], test: str) -> tuple[int, int, list[str]]:
    row = " ".join(cells)
    if len(cells) != 2 + len(names) or not (cells[0].isdecimal() and cells[1].isdecimal()):
        raise Unreadable(f"perftest: {test}: row {row!r}, expected {2 + len(names)} numbers")
    for name, cell in zip(names, cells[2:], strict=True):
        try:
            value = float(cell)
        except ValueError:
            raise Unreadable(f"perftest: {test}: row {row!r}: {name} is no number") from None
        # Identical latencies have a deviation of 0.
        if not math.isfinite(value) or value < 0 or (value == 0 and name != "deviation"):
            raise Unreadable(f"perftest: {test}: row {row!r}: {name} {cell}, which is no measurement")
    return int(cells[0]), int(cells[1]), cells[2:]


def _same_bandwidth(size: int, average: str, rate: str, unit: str, test: str) -> None:
    """Raise Unreadable unless bandwidth and message rate × bytes agree within rounding."""

    def span(cell: str, factor: float) -> tuple[float, float]:
        half = 0.5 * 10.0 ** -len(cell.partition(".")[2])
        return (float(cell) - half) * factor * 0.999, (float(cell) + half) * factor * 1.001

    low, high = span(average, _UNITS[unit])
    least, most = span(rate, 1e6 * size)
    if high < least or most < low:
        raise Unreadable(
            f"perftest: {test}: {average} {unit} is not {rate} million messages/s of {size} bytes: another unit?"
        )
