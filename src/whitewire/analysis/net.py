"""Errors of startup overheads in net times and in metrics computed from them (docs/use/verdict-rules.md)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from whitewire import propagation, statistics
from whitewire.propagation import Errors

INVERSE = ("throughput_net", "shuffle_share")
"""Metrics that are something over the net time."""
_JOBS = {"write_time_net": "write", "read_time_net": "read"}
"""Metric → the only job whose startup overhead it depends on; other net metrics depend on all jobs of the run."""
OWN_FREEDOM = 5
"""Least degrees of freedom to estimate scatter from a kind's own overhead runs: as many as six of them have."""


def sensitivity(metric: str, value: float) -> float:
    """Relative change of a metric per relative change of the net time by the overhead: d ln(metric) = this · d overhead
    / net.

    `compute_share` is (s - overhead) / (t - overhead), where both parts fall by the same amount; `value` is the share.
    """
    if metric == "compute_share":
        return 1 - 1 / value if value else -math.inf
    return 1 if metric in INVERSE else -1


def flags(column: Iterable[Any]) -> list[bool]:
    """Truth values of a table's column, however pandas read them."""
    return [str(value).strip().lower() in ("true", "1", "1.0") for value in column]


class OverheadErrors:
    """Errors of the median startup overhead of each kind, from tidy/floors.csv."""

    def __init__(self, table: pd.DataFrame | None) -> None:
        self._seconds: dict[str, dict[tuple[str, str], np.ndarray]] = {}
        self._workload: dict[tuple[str, str], str] = {}
        self._lacking: dict[tuple[str, str], str] = {}
        if table is None or not len(table):
            return
        for (block, overhead), rows in table.groupby(["block", "floor"], sort=False):
            if "why_invalid" in rows and not any(flags(rows["valid"])):
                self._lacking[str(block), str(overhead)] = str(rows["why_invalid"].iloc[-1])
        table = table[flags(table["valid"])].assign(seconds=pd.to_numeric(table["seconds"], errors="coerce"))
        table = table[table["seconds"].notna()]
        for (block, overhead), rows in table.groupby(["block", "floor"], sort=False):
            key = (str(block), str(overhead))
            self._workload[key] = str(rows["workload"].iloc[0])
            whole = rows.groupby("number", sort=False)["seconds"].sum()
            self._seconds.setdefault("", {})[key] = whole.to_numpy(dtype=float)
            for job, own in rows.groupby("job", sort=False):
                self._seconds.setdefault(str(job), {})[key] = own["seconds"].to_numpy(dtype=float)

    def knows(self, block: str, overhead: str) -> bool:
        return (block, overhead) in self._workload

    def lacking(self, block: str, overhead: str) -> str:
        """Why the last overhead run of a kind was invalid, if none of the kind is valid; else empty."""
        return self._lacking.get((block, overhead), "")

    def scatter(self, block: str, overhead: str, job: str = "") -> tuple[float, int]:
        """Standard deviation of one overhead run in seconds, and its degrees of freedom.

        With few degrees of freedom of its own it is pooled over overhead runs of the same workload or, if these are few
        too, over all.
        """
        every = self._seconds.get(job, {})
        alike = [values for key, values in every.items() if self._workload[key] == self._workload[block, overhead]]
        pooled = propagation.robust_sd(alike)
        if pooled[1] < OWN_FREEDOM:
            pooled = propagation.robust_sd(list(every.values()))
        return propagation.overhead_scatter(every[block, overhead], pooled, OWN_FREEDOM)

    def error(self, block: str, overhead: str, job: str = "") -> tuple[float, float] | None:
        """Standard error of the overhead's median in seconds, and its degrees of freedom; None if it cannot be
        estimated."""
        own = self._seconds.get(job, {}).get((block, overhead))
        sd, freedom = self.scatter(block, overhead, job) if own is not None else (math.nan, 0)
        return (sd * statistics.median_error(len(own)), freedom) if own is not None and freedom else None

    def errors(self, metric: str, net: float, weights: Mapping[tuple[str, str], float], value: float = math.nan
               ) -> Errors | None:  # fmt: skip
        """Errors of a cell's metric by overhead, relative to it; None where an overhead's scatter is unknown.

        `net` is the cell's net time in seconds, `weights` the shares of its runs by (block, overhead), `value` the
        metric's centre, which only `compute_share` needs.
        """
        job, part = _JOBS.get(metric, ""), sensitivity(metric, value)
        found: dict[tuple[str, ...], tuple[float, float]] = {}
        for key, weight in weights.items():
            error = self.error(*key, job)
            if error is None:
                return None
            found["overhead", *key, job] = (part * weight * error[0] / net, error[1])
        return found
