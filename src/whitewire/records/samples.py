"""samples.csv, host-cpu.csv and waited.csv of a run: times, ticks of the processors, bytes of the links. Pure."""

from __future__ import annotations

import bisect
import csv
import io
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

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


class Torn(ValueError):
    """A table is not whole; the message is the fault without the path: line, column, found, expected."""


def read_samples(text: str) -> Samples:
    """Raises Torn."""
    names, rows = _rows(text, ("time", "ticks", "idle_ticks"))
    links = [name for name in names if "." in name]
    return Samples(
        _column(names, rows, "time", float),
        _column(names, rows, "ticks", int),
        _column(names, rows, "idle_ticks", int),
        {name: _column(names, rows, name, int) for name in links},
    )


def _rows(text: str, needed: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Names of columns and rows of cells, of a table with a line at least. Raises Torn."""
    names, *rows = list(csv.reader(io.StringIO(text))) or [[]]
    for name in needed:
        if name not in names:
            raise Torn(f"line 1: found no column {name}, expected one")
    if len(set(names)) < len(names):
        raise Torn("line 1: found a column twice, expected it once")
    if not rows:
        raise Torn("found no samples, expected some")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(names):
            raise Torn(f"line {number}: found {len(row)} cells, expected {len(names)}")
    if not text.endswith("\n"):
        raise Torn(f"line {len(rows) + 1}: found no line end, expected a whole line")
    return names, rows


Number = TypeVar("Number", int, float)


def _column(names: Sequence[str], rows: Sequence[Sequence[str]], name: str, kind: Callable[[str], Number]
            ) -> list[Number]:  # fmt: skip
    """The numbers of a column, all of them finite. Raises Torn."""
    place, found = names.index(name), []
    for number, row in enumerate(rows, start=2):
        try:
            value = kind(row[place])
        except ValueError:
            value = None
        if value is None or not math.isfinite(value):
            what = "a whole number" if kind is int else "a number"
            raise Torn(f"line {number}: {name}: found {row[place][:40]!r}, expected {what}")
        found.append(value)
    return found


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
    found = []
    for left, right in seconds_of(start, end):
        first, last = (nearest(samples.time, left), nearest(samples.time, right))
        if last == first:
            continue
        ticks = samples.ticks[last] - samples.ticks[first]
        if ticks > 0:
            found.append((left - start, (samples.idle_ticks[last] - samples.idle_ticks[first]) / ticks))
    return found


def seconds_of(start: float, end: float) -> list[tuple[float, float]]:
    """Begin and end of each second of a run; the rest of it is in a last one, which overlaps the one before."""
    whole = int(end - start)
    windows = [(start + number, start + number + 1) for number in range(whole)]
    if end - start > whole:
        windows.append((max(start, end - 1), end))
    return windows


def held(windows: Iterable[tuple[float, bool]], seconds: float) -> float:
    """In how many of a run's `seconds` something held, by its windows in their order: (seconds since start, whether
    it held), each as seconds_of makes them. The last one counts with what it alone covers."""
    found = covered = 0.0
    for left, holds in windows:
        right = min(left + 1, seconds)
        found += holds * (right - max(left, covered))
        covered = right
    return found


def nearest(times: Sequence[float], moment: float) -> int:
    """Number of the sample next to a moment, of two at the same distance the earlier; `times` grow."""
    after = min(bisect.bisect_left(times, moment), len(times) - 1)
    return after - 1 if after and moment - times[after - 1] <= times[after] - moment else after


def grown(times: Sequence[float], totals: Sequence[float], start: float, end: float) -> float:
    """Growth of a running total between two moments, read off linearly between its samples."""
    first, last = np.interp([start, end], times, totals)
    return float(last - first)


HostCpu = tuple[list[float], dict[str, list[float]]]
"""Times (seconds since 1970), and CPU seconds so far by host."""


def read_host_cpu(text: str) -> HostCpu:
    """Raises Torn."""
    names, rows = _rows(text, ("time",))
    hosts = [name for name in names if name != "time"]
    return _column(names, rows, "time", float), {host: _column(names, rows, host, float) for host in hosts}


WAITED = ("time", "ran", "waited", "own", "wakes", "late")
"""Columns of waited.csv."""


@dataclass(frozen=True)
class WaitedSeries:
    """waited.csv of a run: times (seconds since 1970); so far seconds that threads of the hosts ran, that they were
    ready and waited for a processor, and that the measuring process ran and what it started beside (`own`; old results:
    that process alone); how often a timer in the sandbox woke, and how many seconds late all together."""

    time: list[float]
    ran: list[float]
    waited: list[float]
    own: list[float]
    wakes: list[float]
    late: list[float]


def read_waited(text: str) -> WaitedSeries:
    """Raises Torn."""
    names, rows = _rows(text, WAITED)
    return WaitedSeries(*(_column(names, rows, name, float) for name in WAITED))
