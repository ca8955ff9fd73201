"""Common parts of workloads without jobs: clients or DataNodes move the files themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from whitewire.factors import parameter
from whitewire.records.jobs import ANY_METRICS, losses, moved
from whitewire.records.metrics import Found, Metric
from whitewire.records.reasons import Reason
from whitewire.records.run import RunRecord
from whitewire.records.samples import TICKS, Samples, idle_shares, nearest
from whitewire.workloads.base import ANY_RUN, Workload

CLIENT_METRICS = (
    Metric.size("client_wire_bytes", "bytes that left the clients' hosts over their links"),
    Metric.size("datanode_wire_bytes", "bytes that reached the DataNodes over their links"),
)
"""Metrics of runs without jobs, besides ANY_METRICS."""


class WithoutJobs(Workload):
    """A workload of clients and DataNodes alone."""

    size: ClassVar[str] = "file_size_bytes"
    needs: ClassVar[frozenset[str]] = frozenset({"clients", "puts_per_client", "replication"})
    reads: ClassVar[frozenset[str]] = frozenset({"file_blocks"})
    factors: ClassVar[frozenset[str]] = ANY_RUN | {
        "clients", "puts_per_client", "file_size_bytes", "file_blocks", "packet_bytes",
    }  # fmt: skip
    on_yarn: ClassVar[bool] = False
    native: ClassVar[bool] = False
    has_overhead: ClassVar[bool] = False
    heartbeats: ClassVar[frozenset[str]] = frozenset({"datanode"})
    declares: ClassVar[tuple[Metric, ...]] = (*ANY_METRICS, *CLIENT_METRICS)

    def files(self, parameters: Mapping[str, Any]) -> int:
        return parameter(parameters, "clients") * parameter(parameters, "puts_per_client")

    @staticmethod
    def of_clients(record: RunRecord, samples: Samples, user_bytes: int) -> Found:
        """Metrics of clients or DataNodes that move the files themselves."""
        start, end = record["start"], record["end"]
        shares = [share for _, share in idle_shares(samples, start, end)] or [float("nan")]
        first, last = nearest(samples.time, start), nearest(samples.time, end)
        ticks = samples.ticks[last] - samples.ticks[first]
        busy = ticks - (samples.idle_ticks[last] - samples.idle_ticks[first])
        return {
            "completion_time": end - start,
            "throughput": user_bytes / (end - start) / 1e6,
            "cpu_idle_min": min(shares),
            "cpu_idle_mean": 1 - busy / ticks if ticks else float("nan"),
            "cpu_seconds_per_gb": busy / TICKS / (user_bytes / 1e9),
            "user_bytes": user_bytes,
            "client_wire_bytes": moved(record, record["client_hosts"], "egress"),
            "datanode_wire_bytes": moved(record, record["datanode_hosts"], "ingress"),
            "tcp_retransmits": record["tcp_retransmits"],
            "queue_drops": record["queue_drops"],
        }

    def written_to(self, record: RunRecord, found: Found) -> Iterable[tuple[str, float, float]]:
        """(name of the links, bytes that they carried, bytes expected for what was written)."""
        raise NotImplementedError

    def faults(self, record: RunRecord, found: Found, limits: Mapping[str, float]) -> list[Reason]:
        why = []
        idle = found["cpu_idle_min"]
        if "cpu_idle_floor" in limits and record["cpu"] != "report" and not idle >= limits["cpu_idle_floor"]:
            why.append(Reason("not_idle", {"idle": idle, "bound": limits["cpu_idle_floor"]}))
        for links, wire, expected in self.written_to(record, found):
            code, base = ("wire", expected) if expected else ("wire_of_none", found["user_bytes"])
            excess = wire / base - (1 if expected else 0)
            if not limits["wire_excess_low"] <= excess <= limits["wire_excess_high"]:
                why.append(Reason(code, {"links": links, "excess": excess, "megabytes": base / 1e6}))
        return why + losses(record, limits, found["client_wire_bytes"] + found["datanode_wire_bytes"])
