"""Whether a run had the processors that it needed, where its hosts share those of one machine.

What counts is not how busy processors are but how late a process wakes that wants one: docs/inside/processors.md has
the experiment that this rests on. Pure.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

from whitewire.records.jobs import SHORT
from whitewire.records.metrics import Found
from whitewire.records.reasons import Reason
from whitewire.records.run import RunRecord
from whitewire.records.samples import TICKS, Samples, WaitedSeries, grown, held, idle_shares, seconds_of


def metrics(record: RunRecord, samples: Samples, series: WaitedSeries) -> Found:
    """How late a timer woke, how long threads waited for each second that they ran, what others used of processors."""
    start, end = record["start"], record["end"]
    ran, waited, own = (grown(series.time, each, start, end) for each in (series.ran, series.waited, series.own))
    busy = [ticks - idle for ticks, idle in zip(samples.ticks, samples.idle_ticks, strict=True)]
    used = grown(samples.time, busy, start, end) / TICKS
    return {
        "cpu_late": (_wake_latency(series, start, end), "ms"),
        "cpu_waited": (waited / ran if ran > 0 else 0.0, "1"),
        "cpu_outside": (max(0.0, used - ran - own) / (end - start), "cores"),
    }


PEAK_S, MOSTLY = 0.5, 0.9
"""Seconds over which use is averaged, and in which share of these pieces of a run its processors are to be free."""


def needed(record: RunRecord, series: WaitedSeries) -> float:
    """Processors that a run's hosts need: in nine of ten half seconds they used no more.

    On average a run uses half as much: two whose averages fit would wait for each other wherever both are busy.
    """
    start, end = record["start"], record["end"]
    pieces = max(1, round((end - start) / PEAK_S))
    times = [start + (end - start) * piece / pieces for piece in range(pieces + 1)]
    rates = sorted(
        grown(series.time, series.ran, first, last) / (last - first) for first, last in itertools.pairwise(times)
    )
    return rates[math.ceil(MOSTLY * pieces) - 1]


OTHERS_CORES = 0.5
"""Processors that other programs may use beside jobs that need all of them: those under `cpu: report`, where the
testbed says no other bound. Some 0.1 are the kernel's own, for the testbed."""
OVERHEAD_SHARE = 0.5
"""Share of the processors that other programs may use beside an overhead run: with more it takes longer."""
SHORT_MS = 0.4
"""Of a second in which a process woke later on average, hosts that share one machine were short of its processors: what
separates runs that are right from others (docs/inside/processors.md), for each second by itself."""


def short_share(start: float, end: float, samples: Samples, series: WaitedSeries | None) -> float:
    """Share of the seconds between two moments, from 0 to 1, in which processors were short; NaN of none.

    Judged by how late a timer woke, where hosts share one machine's; else (None) by the share that was idle.
    """
    if series is None:
        short = [(left, idle < SHORT) for left, idle in idle_shares(samples, start, end)]
    else:
        short = [(each[0] - start, not _wake_latency(series, *each) <= SHORT_MS) for each in seconds_of(start, end)]
    known = held([(left, True) for left, _ in short], end - start)
    return held(short, end - start) / known if known else math.nan


def _wake_latency(series: WaitedSeries, start: float, end: float) -> float:
    """How many milliseconds late the timer woke between two moments, mean; without end where it never woke."""
    wakes, late = (grown(series.time, each, start, end) for each in (series.wakes, series.late))
    return 1e3 * late / wakes if wakes > 0 else math.inf


def of_an_overhead(found: Found, processors: int) -> list[Reason]:
    """Why other programs may have made an overhead run longer, on a machine of so many processors (empty: they can't).

    How late a process woke shows nothing: a start of JVMs takes all processors itself.
    """
    outside, most = found.get("cpu_outside", (0.0, ""))[0], OVERHEAD_SHARE * processors
    if outside <= most:  # not so where it is NaN
        return []
    return [Reason("others_beside_floor", {"outside": outside, "processors": processors, "bound": most})]


def faults(record: RunRecord, found: Found, limits: Mapping[str, float]) -> list[Reason]:
    """Why lack of processors may have changed a run (empty: it cannot have, or that is unknown)."""
    if "cpu_late" not in found:
        return []
    late, outside = found["cpu_late"][0], found["cpu_outside"][0]
    if record.get("cpu") == "report":
        # That its own load takes all of them is the point. That somebody else's does, halves what it shows.
        most = limits.get("cpu_outside", OTHERS_CORES)
        if outside <= most:  # not so where it is NaN
            return []
        return [Reason("others_computed", {"outside": outside, "bound": most})]
    if late <= limits["cpu_late_ms"]:  # not so where it is NaN
        return []
    return [Reason("woke_late", {"late": late, "bound": limits["cpu_late_ms"], "outside": outside})]
