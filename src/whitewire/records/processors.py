"""Whether a run had the processors that it needed, where its hosts share those of one machine.

What counts is not how busy processors are but how late a process wakes that wants one: docs/inside/processors.md has
the experiment that this rests on. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from whitewire.records.metrics import SHORT_OF_PROCESSORS, Found
from whitewire.records.run import RunRecord
from whitewire.records.samples import TICKS, Samples, WaitedSeries


def metrics(record: RunRecord, samples: Samples, series: WaitedSeries) -> Found:
    """How late a timer woke, how long threads waited for each second that they ran, what others used of processors."""
    start, end = record["start"], record["end"]
    ran, waited, own, wakes, late = (
        _grown(series.time, values, start, end)
        for values in (series.ran, series.waited, series.own, series.wakes, series.late)
    )
    busy = [ticks - idle for ticks, idle in zip(samples.ticks, samples.idle_ticks, strict=True)]
    used = _grown(samples.time, busy, start, end) / TICKS
    return {
        "cpu_late": (1e3 * late / wakes if wakes > 0 else float("inf"), "ms"),
        "cpu_waited": (waited / ran if ran > 0 else 0.0, "1"),
        "cpu_outside": (max(0.0, used - ran - own) / (end - start), "cores"),
    }


def _grown(times: Sequence[float], totals: Sequence[float], start: float, end: float) -> float:
    """Growth of a running total between two moments, read off linearly."""
    first, last = np.interp([start, end], times, totals)
    return float(last - first)


def faults(record: RunRecord, found: Found, limits: Mapping[str, float]) -> list[str]:
    """Why lack of processors may have changed a run (empty: it cannot have, or nothing tells)."""
    if record.get("cpu") == "report" or "cpu_late" not in found:
        return []
    late, outside = found["cpu_late"][0], found["cpu_outside"][0]
    if late <= limits["cpu_late_ms"]:  # not so where it is NaN
        return []
    return [
        f"{SHORT_OF_PROCESSORS}: a process woke {late:.1f} ms late on average, bound {limits['cpu_late_ms']:g} ms; "
        f"other programs used {outside:.1f} processors"
    ]
