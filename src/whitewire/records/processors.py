"""Whether a run had the processors that it needed, where its hosts share those of one machine. Pure.

What counts is not how busy processors are but how long threads that are ready wait for one: docs/inside/processors.md
has the experiment that this rests on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from whitewire.records.metrics import SHORT_OF_PROCESSORS, Found
from whitewire.records.run import RunRecord
from whitewire.records.samples import TICKS, Samples, WaitedSeries

NAMES = ("cpu_waited", "cpu_outside")
"""Metrics of a run whose hosts share this machine's processors."""
LEAST_RAN = 0.05
"""Seconds of running in a window; what waits in less of them weighs nothing."""


def metrics(record: RunRecord, samples: Samples, series: WaitedSeries) -> Found:
    """How long the hosts' threads waited for each second that they ran, and how many processors others used."""
    start, end = record["start"], record["end"]
    ran, waited, own = (_grown(series.time, values, start, end) for values in (series.ran, series.waited, series.own))
    busy = [ticks - idle for ticks, idle in zip(samples.ticks, samples.idle_ticks, strict=True)]
    used = _grown(samples.time, busy, start, end) / TICKS
    return {
        "cpu_waited": (waited / ran if ran > LEAST_RAN else 0.0, "1"),
        "cpu_outside": (max(0.0, used - ran - own) / (end - start), "cores"),
    }


def _grown(times: list[float], totals: list[float] | list[int], start: float, end: float) -> float:
    """Growth of a running total between two moments, read off linearly."""
    first, last = np.interp([start, end], times, totals)
    return float(last - first)


def faults(record: RunRecord, found: Found, limits: Mapping[str, float]) -> list[str]:
    """Why lack of processors may have changed a run (empty: it cannot have, or nothing tells)."""
    if record.get("cpu") == "report" or "cpu_waited" not in found:
        return []
    waited, outside = found["cpu_waited"][0], found["cpu_outside"][0]
    if math.isfinite(waited) and waited <= limits["cpu_waited"]:
        return []
    return [
        f"{SHORT_OF_PROCESSORS}: threads waited {waited:.2f} s for each second that they ran, bound "
        f"{limits['cpu_waited']:g}; other programs used {outside:.1f} processors"
    ]
