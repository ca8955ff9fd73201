"""samples.csv and host-cpu.csv of a run: times, ticks of the processors, bytes of the links. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

TICKS = 100
"""Clock ticks a second in /proc/stat (sysconf _SC_CLK_TCK; 100 on Linux)."""
MTU = 1500
"""Bytes of an IP packet on Ethernet, unless a run asks for others."""
ETHERNET, HEADERS = 14, 52
"""Bytes of a frame's header, and of those of IP and TCP with time stamps."""
SEGMENT = MTU - HEADERS
"""Bytes of data in a full TCP segment on Ethernet, unless a run had another MTU."""


@dataclass(frozen=True)
class Samples:
    """samples.csv of a run: times (seconds since 1970), ticks, and link bytes by `<host>.<way>`."""

    time: list[float]
    ticks: list[int]
    idle_ticks: list[int]
    links: dict[str, list[int]]

    def total(self, hosts: Iterable[str], way: str) -> list[int]:
        """Sum over hosts of their link's bytes, sample by sample."""
        return [sum(values) for values in zip(*(self.links[f"{host}.{way}"] for host in hosts), strict=True)]


def read_samples(text: str) -> Samples:
    rows = list(csv.DictReader(io.StringIO(text)))
    links = [name for name in rows[0] if "." in name]
    return Samples(
        [float(row["time"]) for row in rows],
        [int(row["ticks"]) for row in rows],
        [int(row["idle_ticks"]) for row in rows],
        {name: [int(row[name]) for row in rows] for name in links},
    )


def peak_rate(times: Sequence[float], totals: Sequence[float], window: float) -> float:
    """Largest mean rate (units of `totals` a second) over any window of `window` seconds that starts at a sample.

    A window reaches to the first sample at or after its length; a series shorter than the window counts whole.
    """
    best, end = 0.0, 0
    for start in range(len(times) - 1):
        end = max(end, start + 1)
        while end < len(times) - 1 and times[end] - times[start] < window - 1e-3:
            end += 1
        best = max(best, (totals[end] - totals[start]) / max(times[end] - times[start], window))
    return best


def idle_shares(samples: Samples, start: float, end: float) -> list[tuple[float, float]]:
    """(seconds since start, idle share of all processors) for each second of the run, or for the run if shorter.

    The shares are between the samples next to the second's ends.
    """
    whole = int(end - start)
    windows = [(start + number, start + number + 1) for number in range(whole)]
    # The rest of the run is in a last window of full length, which overlaps the one before.
    if end - start > whole:
        windows.append((max(start, end - 1), end))
    found = []
    for left, right in windows:
        first, last = (nearest(samples.time, left), nearest(samples.time, right))
        if last == first:
            continue
        ticks = samples.ticks[last] - samples.ticks[first]
        if ticks > 0:
            found.append((left - start, (samples.idle_ticks[last] - samples.idle_ticks[first]) / ticks))
    return found


def nearest(times: Sequence[float], moment: float) -> int:
    """Number of the sample next to a moment."""
    return min(range(len(times)), key=lambda number: abs(times[number] - moment))


HostCpu = tuple[list[float], dict[str, list[float]]]
"""Times (seconds since 1970), and CPU seconds so far by host."""


def read_host_cpu(text: str) -> HostCpu:
    rows = list(csv.DictReader(io.StringIO(text)))
    hosts = [name for name in rows[0] if name != "time"]
    return [float(row["time"]) for row in rows], {host: [float(row[host]) for row in rows] for host in hosts}
