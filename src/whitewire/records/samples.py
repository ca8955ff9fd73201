"""Reads samples.csv, host-cpu.csv and waited.csv of a run: times, ticks of processors, bytes of links. Pure."""

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
"""Clock ticks per second in /proc/stat (sysconf _SC_CLK_TCK; 100 on Linux)."""
MTU = 1500
"""Default MTU of Ethernet in bytes."""
ETHERNET, HEADERS = 14, 52
"""Bytes of an Ethernet header, and of the headers of IP and TCP with time stamps."""
SEGMENT = MTU - HEADERS
"""Bytes of payload in a full TCP segment on Ethernet with the default MTU."""


@dataclass(frozen=True)
class Samples:
    """samples.csv of a run: times (seconds since 1970), processor ticks, and link bytes by `<host>.<direction>`."""

    time: list[float]
    ticks: list[int]
    idle_ticks: list[int]
    links: dict[str, list[int]]

    def total(self, hosts: Iterable[str], way: str) -> list[int]:
        """Sum of the hosts' link bytes, per sample."""
        return [sum(values) for values in zip(*(self.links[f"{host}.{way}"] for host in hosts), strict=True)]


class Torn(ValueError):
    """A damaged table; the message is the fault without the path: line, column, found, expected."""


def read_samples(text: str) -> Samples:
    """Parse samples.csv. Raises Torn."""
    names, rows = _rows(text, ("time", "ticks", "idle_ticks"))
    links = [name for name in names if "." in name]
    return Samples(
        _column(names, rows, "time", float),
        _column(names, rows, "ticks", int),
        _column(names, rows, "idle_ticks", int),
        {name: _column(names, rows, name, int) for name in links},
    )


def _rows(text: str, needed: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """(names of columns, rows of cells) of a table, which must have at least one row. Raises Torn."""
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
    """The numbers of a column, all of which must be finite. Raises Torn."""
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
    """Largest mean rate (units of `totals` per second) over any window of `window` seconds that starts at a sample.

    A window extends to the first sample at or after its length; a series shorter than the window counts as a whole.
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

    Shares are computed between the samples nearest to the second's ends.
    """
    found = []
    for left, right in second_windows(start, end):
        first, last = (nearest(samples.time, left), nearest(samples.time, right))
        if last == first:
            continue
        ticks = samples.ticks[last] - samples.ticks[first]
        if ticks > 0:
            found.append((left - start, (samples.idle_ticks[last] - samples.idle_ticks[first]) / ticks))
    return found


def second_windows(start: float, end: float) -> list[tuple[float, float]]:
    """(begin, end) of each second of a run; the last second ends with the run and may overlap the one before."""
    whole = int(end - start)
    windows = [(start + number, start + number + 1) for number in range(whole)]
    if end - start > whole:
        windows.append((max(start, end - 1), end))
    return windows


def seconds_held(windows: Iterable[tuple[float, bool]], seconds: float) -> float:
    """Number of a run's `seconds` in which a condition held. `windows`: (seconds since start, whether it held) for the
    windows of second_windows() in their order; an overlap counts once."""
    found = covered = 0.0
    for left, holds in windows:
        right = min(left + 1, seconds)
        found += holds * (right - max(left, covered))
        covered = right
    return found


def nearest(times: Sequence[float], moment: float) -> int:
    """Index of the sample nearest to a time, of two at the same distance the earlier one; `times` must be sorted."""
    after = min(bisect.bisect_left(times, moment), len(times) - 1)
    return after - 1 if after and moment - times[after - 1] <= times[after] - moment else after


def grown(times: Sequence[float], totals: Sequence[float], start: float, end: float) -> float:
    """Growth of a running total between two times, interpolated linearly between its samples."""
    first, last = np.interp([start, end], times, totals)
    return float(last - first)


HostCpu = tuple[list[float], dict[str, list[float]]]
"""(times in seconds since 1970, CPU seconds so far by host)."""


def read_host_cpu(text: str) -> HostCpu:
    """Parse host-cpu.csv. Raises Torn."""
    names, rows = _rows(text, ("time",))
    hosts = [name for name in names if name != "time"]
    return _column(names, rows, "time", float), {host: _column(names, rows, host, float) for host in hosts}


WAITED = ("time", "ran", "waited", "own", "wakes", "late")
"""Columns of waited.csv."""


@dataclass(frozen=True)
class WaitedSeries:
    """waited.csv of a run: times (seconds since 1970), and totals up to then: seconds that the hosts' threads ran, and
    that they waited for a processor; CPU seconds of the campaign's other processes (`own`); wake-ups of a timer in the
    sandbox, and the sum of their latencies in seconds."""

    time: list[float]
    ran: list[float]
    waited: list[float]
    own: list[float]
    wakes: list[float]
    late: list[float]


def read_waited(text: str) -> WaitedSeries:
    """Parse waited.csv. Raises Torn."""
    names, rows = _rows(text, WAITED)
    return WaitedSeries(*(_column(names, rows, name, float) for name in WAITED))
