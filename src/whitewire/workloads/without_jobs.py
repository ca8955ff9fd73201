"""Common parts of workloads without jobs: clients or DataNodes move the files themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from whitewire.factors import parameter
from whitewire.records.jobs import segment
from whitewire.records.metrics import Found
from whitewire.records.reasons import Reason
from whitewire.records.run import RunRecord
from whitewire.workloads.base import ANY_RUN, Workload


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

    def files(self, parameters: Mapping[str, Any]) -> int:
        return parameter(parameters, "clients") * parameter(parameters, "puts_per_client")

    def written_to(self, record: RunRecord, found: Found) -> Iterable[tuple[str, float, float]]:
        """(name of the links, bytes that they carried, bytes expected for what was written)."""
        raise NotImplementedError

    def faults(self, record: RunRecord, found: Found, limits: Mapping[str, float]) -> list[Reason]:
        why = []
        idle = found["cpu_idle_min"][0]
        if "cpu_idle_floor" in limits and record.get("cpu") != "report" and not idle >= limits["cpu_idle_floor"]:
            why.append(Reason("not_idle", {"idle": idle, "bound": limits["cpu_idle_floor"]}))
        for links, wire, expected in self.written_to(record, found):
            excess = wire / expected - 1
            if not limits["wire_excess_low"] <= excess <= limits["wire_excess_high"]:
                why.append(Reason("wire", {"links": links, "excess": excess, "megabytes": expected / 1e6}))
        segments = (found["client_wire_bytes"][0] + found["datanode_wire_bytes"][0]) / segment(record)
        again = found["tcp_retransmits"][0] / segments
        if again > limits["retransmit_share"]:
            why.append(Reason("retransmits", {"share": again, "bound": limits["retransmit_share"]}))
        dropped = found["queue_drops"][0] / segments
        if dropped > limits["queue_drop_share"] and not record.get("asked", {}).get("cross_traffic"):
            why.append(Reason("drops", {"share": dropped, "bound": limits["queue_drop_share"]}))
        return why
