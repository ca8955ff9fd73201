"""Common parts of all metrics: type, units, conversion to full scale (docs/inside/tables.md). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from whitewire.records.run import RunRecord
from whitewire.records.samples import TICKS, Samples, idle_shares, nearest

Found = dict[str, tuple[float, str]]
"""Metric → (value as measured, unit)."""


def moved(record: RunRecord, hosts: Iterable[str], way: str) -> int:
    """Bytes that left (`egress`) or reached (`ingress`) hosts over their links in a run."""
    return sum(record["links_after"][h][way] - record["links_before"][h][way] for h in hosts)


OF_CLIENTS = (
    "completion_time", "throughput", "cpu_idle_min", "cpu_idle_mean", "cpu_seconds_per_gb", "user_bytes",
    "client_wire_bytes", "datanode_wire_bytes", "tcp_retransmits", "queue_drops",
)  # fmt: skip
"""Metrics that of_clients() returns."""


def of_clients(record: RunRecord, samples: Samples, user_bytes: int) -> Found:
    """Metrics of runs whose clients or DataNodes move files themselves, without jobs."""
    start, end = record["start"], record["end"]
    shares = [share for _, share in idle_shares(samples, start, end)] or [float("nan")]
    first, last = nearest(samples.time, start), nearest(samples.time, end)
    ticks = samples.ticks[last] - samples.ticks[first]
    busy = ticks - (samples.idle_ticks[last] - samples.idle_ticks[first])
    return {
        "completion_time": (end - start, "s"),
        "throughput": (user_bytes / (end - start) / 1e6, "MB/s"),
        "cpu_idle_min": (min(shares), "1"),
        "cpu_idle_mean": (1 - busy / ticks if ticks else float("nan"), "1"),
        "cpu_seconds_per_gb": (busy / TICKS / (user_bytes / 1e9), "s/GB"),
        "user_bytes": (user_bytes, "B"),
        "client_wire_bytes": (moved(record, record["client_hosts"], "egress"), "B"),
        "datanode_wire_bytes": (moved(record, record["datanode_hosts"], "ingress"), "B"),
        "tcp_retransmits": (record["tcp_retransmits"], "1"),
        "queue_drops": (record["queue_drops"], "1"),
    }


SCALES = {"MB/s": "rate", "s": "time", "B": "size"}


WITH_OVERHEAD = frozenset({
    "job_floor", "map_time", "shuffle_time", "merge_time", "reduce_time", "map_phase", "reduce_phase", "write_time",
    "read_time",
})  # fmt: skip
"""Times and rates of jobs that include startup overhead, which does not scale: they have no full-scale equivalent."""


def holds_overhead(metric: str, jobs: bool) -> bool:
    """Whether a metric includes the startup overhead of jobs, which does not scale. `jobs`: it is a run of jobs."""
    with_overhead = metric in WITH_OVERHEAD or metric.endswith(("report_time", "report_throughput", "node_throughput"))
    return with_overhead or (jobs and metric in ("completion_time", "throughput", "cpu_seconds_per_gb"))


def full_scale(metric: str, value: float, unit: str, jobs: bool, k: float, data_fraction: float
               ) -> tuple[float, str] | None:  # fmt: skip
    """A measured value as (value, unit) at full scale: rates × k, times ÷ data fraction, bytes × k ÷ data fraction.

    None for metrics that do not scale. `jobs`: it is a run of jobs, whose total time includes their startup overhead.
    """
    if holds_overhead(metric, jobs):
        return None
    factor = {"rate": k, "time": 1 / data_fraction, "size": k / data_fraction}.get(SCALES.get(unit, ""))
    return None if factor is None else (value * factor, unit)


UNITS = {
    r".*_per_gb": "s/GB",
    r".*_cores": "cores",
    r"operations_per_second": "1/s",
    r".*latency_mean": "ms",
    r".*_per_user_byte|.*_share|credit_ratio.*|.*_excess|.*_at_once|.*_short_while_busy": "1",
    r".*(throughput|rate|aggregate|bandwidth)(_.*)?": "MB/s",
    r".*_time(_net)?|job_floor|(map|reduce)_phase": "s",
    r".*bytes(_.*)?": "B",
}
"""Units of metrics by pattern of their names; any other metric is a number."""


def unit_of(metric: str) -> str:
    """The expected unit of a metric by its name; tests compare it with the units that runs record."""
    return next((unit for pattern, unit in UNITS.items() if re.fullmatch(pattern, metric)), "1")
