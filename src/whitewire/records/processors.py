"""Checks whether a run had the processors that it needed, on hosts that share those of one machine.

The criterion is not how busy processors are, but the wake-up latency of a process that needs one.
docs/inside/processors.md describes the underlying experiment. Pure.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

from whitewire.records.jobs import SHORT
from whitewire.records.metrics import Found, Metric
from whitewire.records.reasons import Reason
from whitewire.records.run import RunRecord
from whitewire.records.samples import TICKS, Samples, WaitedSeries, grown, idle_shares, second_windows, seconds_held

MACHINE_METRICS = (
    Metric("cpu_late", "ms", "mean wake-up latency of a process that sleeps 2 ms", in_claims=False),
    Metric.number("cpu_waited", "seconds that ready threads of the hosts waited for a processor ÷ seconds that they "
                  "ran", in_claims=False),
    Metric("cpu_outside", "cores", "processors in use by other programs: all that were busy, less the hosts' and the "
           "measuring process's", in_claims=False),
)  # fmt: skip
"""Metrics of any run on hosts that share one machine: whether it had the processors that it needed."""


def processor_metrics(record: RunRecord, samples: Samples, series: WaitedSeries) -> Found:
    """Mean wake-up latency of a timer, threads' waiting time per second of running time, processors used by others."""
    start, end = record["start"], record["end"]
    ran, waited, own = (grown(series.time, each, start, end) for each in (series.ran, series.waited, series.own))
    busy = [ticks - idle for ticks, idle in zip(samples.ticks, samples.idle_ticks, strict=True)]
    used = grown(samples.time, busy, start, end) / TICKS
    return {
        "cpu_late": _wake_latency(series, start, end),
        "cpu_waited": waited / ran if ran > 0 else 0.0,
        "cpu_outside": max(0.0, used - ran - own) / (end - start),
    }


PEAK_S, MOSTLY = 0.5, 0.9
"""Seconds over which use of processors is averaged, and the share of such periods whose use must fit."""


def needed(record: RunRecord, series: WaitedSeries) -> float:
    """Number of processors that a run's hosts need: the most that they used in nine of ten half seconds.

    The average is about half of that. Two runs whose averages fit together would wait for each other while both are
    busy.
    """
    start, end = record["start"], record["end"]
    pieces = max(1, round((end - start) / PEAK_S))
    times = [start + (end - start) * piece / pieces for piece in range(pieces + 1)]
    rates = sorted(
        grown(series.time, series.ran, first, last) / (last - first) for first, last in itertools.pairwise(times)
    )
    return rates[math.ceil(MOSTLY * pieces) - 1]


OTHERS_CORES = 0.5
"""Default bound on processors that other programs may use during jobs that need all of them (`cpu: report`). The kernel
itself uses some 0.1 for the testbed."""
OVERHEAD_SHARE = 0.5
"""Share of the processors that other programs may use during an overhead run; with more it takes longer."""
SHORT_MS = 0.4
"""Mean wake-up latency of a process in ms above which processors were short in a second, for hosts that share one
machine: the bound that separates correct runs from others (docs/inside/processors.md), applied to single seconds."""


def short_share(start: float, end: float, samples: Samples, series: WaitedSeries | None) -> float:
    """Share (0 to 1) of the seconds between two times in which processors were short; NaN without data.

    Hosts that share one machine are judged by the timer's wake-up latency (`series`), others (None) by the idle share.
    """
    if series is None:
        short = [(left, idle < SHORT) for left, idle in idle_shares(samples, start, end)]
    else:
        short = [(each[0] - start, not _wake_latency(series, *each) <= SHORT_MS) for each in second_windows(start, end)]
    known = seconds_held([(left, True) for left, _ in short], end - start)
    return seconds_held(short, end - start) / known if known else math.nan


def _wake_latency(series: WaitedSeries, start: float, end: float) -> float:
    """Mean wake-up latency of the timer between two times, in ms; infinite if it never woke."""
    wakes, late = (grown(series.time, each, start, end) for each in (series.wakes, series.late))
    return 1e3 * late / wakes if wakes > 0 else math.inf


def of_an_overhead(found: Found, processors: int) -> list[Reason]:
    """Why other programs may have prolonged an overhead run on a machine with `processors` (empty: they cannot have).

    The timer's wake-up latency is no criterion here, because starting JVMs uses all processors itself.
    """
    outside, most = found.get("cpu_outside", 0.0), OVERHEAD_SHARE * processors
    if outside <= most:  # not so where it is NaN
        return []
    return [Reason("others_beside_floor", {"outside": outside, "processors": processors, "bound": most})]


def processor_faults(record: RunRecord, found: Found, limits: Mapping[str, float]) -> list[Reason]:
    """Why a lack of processors may have affected a run (empty: it cannot have, or that is unknown)."""
    if "cpu_late" not in found:
        return []
    late, outside = found["cpu_late"], found["cpu_outside"]
    if record["cpu"] == "report":
        # Its own load may use all processors, as intended; the load of others would falsify the result.
        most = limits.get("cpu_outside", OTHERS_CORES)
        if outside <= most:  # not so where it is NaN
            return []
        return [Reason("others_computed", {"outside": outside, "bound": most})]
    if late <= limits["cpu_late_ms"]:  # not so where it is NaN
        return []
    return [Reason("woke_late", {"late": late, "bound": limits["cpu_late_ms"], "outside": outside})]
