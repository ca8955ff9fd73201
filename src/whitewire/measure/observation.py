"""The observation of a run: counters before and after it, samples meanwhile, and what disturbed it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import cast

from whitewire.cluster.stack import Stack
from whitewire.description.transports import Transport, transport_of
from whitewire.measure import carrying, cross_traffic
from whitewire.measure.client import client_hosts
from whitewire.measure.clocks import Clocks
from whitewire.measure.conditions import Conditions, StackShaping
from whitewire.measure.cross_traffic import bytes_of_cross_traffic
from whitewire.measure.file_systems import FileSystem
from whitewire.measure.run import Run
from whitewire.records.result import Result
from whitewire.records.run import Clock, EvidenceRecord, FabricRecord, Links, RunRecord
from whitewire.records.samples import ETHERNET, HEADERS
from whitewire.records.transport import PortSeen
from whitewire.testbed.base import Fabric, Testbed, cpu_seconds
from whitewire.testbed.samples import Sampling, host_cpu_to_csv, to_csv, waited_to_csv
from whitewire.tools.rdma_counters import PortCounters

LONGEST_GAP_S = 3.0
"""Longest undisturbed gap between two samples, of ten per second: longer than a busy machine delays one."""

Segments = Mapping[str, tuple[int, int]]
"""TCP segments that a host has sent, and those of them with data, by host."""


@dataclass(frozen=True)
class _Measured:
    """The record of an action, and counters right before and right after it."""

    done: RunRecord
    sampler: Sampling
    seconds: float
    clock: Clock
    before: Links
    after: Links
    cpu_seconds: dict[str, float]
    segments_before: Segments
    segments_after: Segments
    ports: Mapping[str, PortCounters]
    """RDMA ports before and after, if the run was asked for a transport."""
    ports_after: Mapping[str, PortCounters]


@dataclass(frozen=True)
class StackObserver:
    """Observes a run."""

    stack: Stack
    run: Run
    shaping: StackShaping
    files: FileSystem

    def observe(self, act: Callable[[], RunRecord], by_host: bool = False) -> Result:
        run, testbed, stack = self.run, self.stack.testbed, self.stack
        fabric = self.shaping.apply()
        position = stack.hdfs.log_position()
        again, drops, carriers = testbed.tcp_retransmits(), testbed.queue_drops(), testbed.carrier_changes()
        _stopped(stack)  # stops before the run do not matter
        with cross_traffic.flowing(testbed, fabric, run.parameters.get("cross_traffic", 0), stack.logs):
            measured = self._measured(act, by_host)
        links = testbed.links()
        ports = carrying.seen(measured.before, measured.after, measured.ports, measured.ports_after, links)
        log = stack.hdfs.log_since(position)
        record: RunRecord = {
            **run.record,
            "asked": Conditions(stack, run).asked(),
            "evidence": {"links": links, **self._evidence(fabric, measured, ports)},
            "fabric": _network(fabric),
            **self._participants(measured.clock),
            **({"transport": self._transport.record} if self._transport else {}),
            "links_before": _of_the_run(testbed, measured.before),
            "links_after": carrying.links_after(measured.before, _of_the_run(testbed, measured.after), ports),
            "cpu_seconds": measured.cpu_seconds,
            "tcp_retransmits": max(0, sum(testbed.tcp_retransmits().values()) - sum(again.values())),
            "queue_drops": testbed.queue_drops() - drops,
            "disturbed": disturbances(_stopped(stack), carriers, testbed.carrier_changes(), measured.sampler.gap),
            **measured.done,
        }
        return Result(record, _files(measured.sampler, log, by_host))

    @property
    def _transport(self) -> Transport | None:
        """The transport that the run asks for; None if it asks for none."""
        parameters = self.run.parameters
        return transport_of(self.stack.testbed.config, parameters) if "transport" in parameters else None

    def _measured(self, act: Callable[[], RunRecord], by_host: bool) -> _Measured:
        testbed, stack = self.stack.testbed, self.stack
        used, segments = cpu_seconds(stack.processes()), testbed.segments()
        ports = testbed.rdma_ports() if self._transport else {}
        clocks = Clocks.now()
        before = testbed.counters()
        with testbed.sampler(by_host) as sampler:
            done = act()
        seconds, after = time.monotonic() - clocks.steady, testbed.counters()
        clock = clocks.since(hosts=sampler.moved)
        ports_after = testbed.rdma_ports() if self._transport else {}
        used_after, sent = cpu_seconds(stack.processes()), testbed.segments()
        cpu = {name: used_after[name] - used[name] for name in used}
        return _Measured(done, sampler, seconds, clock, before, after, cpu, segments, sent, ports, ports_after)

    def _evidence(self, fabric: Fabric, measured: _Measured, ports: dict[str, PortSeen]) -> EvidenceRecord:
        """The reported state of ports, racks, drives, daemons and caches."""
        testbed, conditions = self.stack.testbed, Conditions(self.stack, self.run)
        before, after = measured.before, measured.after
        return {
            **_segment(_of_the_run(testbed, before), after, measured.segments_before, measured.segments_after),
            **({"ports": ports} if self._transport else {}),
            **conditions.racks(fabric),
            **_beside(testbed, fabric, before, after, measured.seconds),
            **conditions.drives(),
            **conditions.daemons(),
            **self.files.caches(),
        }

    def _participants(self, clock: Clock) -> RunRecord:
        """The record's part on scale, clocks and hosts."""
        testbed, parameters = self.stack.testbed, self.run.parameters
        return {
            "scale": self.run.scale.record,
            "cpu": self.run.cpu,
            "clock": clock,
            "clients": parameters.get("clients", 0),
            "replication": parameters.get("replication", 0),
            "client_hosts": [host.name for host in client_hosts(testbed, parameters)],
            "datanode_hosts": [host.name for host in testbed.by_role("datanode")],
        }


def disturbances(stopped: Sequence[str], before: Mapping[str, int], after: Mapping[str, int], gap: float) -> list[str]:
    """Disturbances of a run, in words. `before`, `after`: number of changes of each host's link; `gap`: longest time
    between two samples, s. A run that came to its end all the same is disturbed too, because it measured the pause."""
    found = [f"{name} stood still, stopped by a signal" for name in stopped]
    for name, changes in before.items():
        if after.get(name, changes) != changes:
            found.append(f"the link of {name} went down or came up {after[name] - changes} times")
    if gap > LONGEST_GAP_S:
        found.append(f"no sample was taken for {gap:.1f} s")
    return found


def _segment(before: Links, after: Links, segments: Segments, sent: Segments) -> EvidenceRecord:
    """Lower bound on the mean payload of segments with data, in bytes, at the host where it is largest.

    A lower bound, because segments that leave as one packet are counted with a single header but a header is subtracted
    for each. So it cannot exceed the largest segment that was sent.
    """
    means = []
    for name in segments:
        number, with_data = (now - was for now, was in zip(sent[name], segments[name], strict=True))
        if with_data and name in before:
            means.append((after[name]["egress"] - before[name]["egress"] - (ETHERNET + HEADERS) * number) / with_data)
    return {"segment": max(means)} if means else {}


def _stopped(stack: Stack) -> list[str]:
    """Daemons and clients that a signal stopped since the last call."""
    return [name for name, process in stack.processes().items() if process.stood_still()]


def _network(fabric: Fabric) -> FabricRecord:
    return cast("FabricRecord", {**asdict(fabric), "unlike": dict(fabric.unlike)})


def _of_the_run(testbed: Testbed, counted: Links) -> Links:
    """Counters of the run's own hosts, without those of cross traffic."""
    beside = {host.name for host in testbed.by_role(cross_traffic.ROLE)}
    return {name: of for name, of in counted.items() if name not in beside}


def _beside(testbed: Testbed, fabric: Fabric, before: Links, after: Links, seconds: float) -> EvidenceRecord:
    """Cross traffic over the racks' uplinks during the run; nothing without hosts for it."""
    if not testbed.by_role(cross_traffic.ROLE) or not fabric.racks:
        return {}
    was, now = (bytes_of_cross_traffic(testbed, counted) for counted in (before, after))
    return {"cross_traffic": cross_traffic.share(was, now, seconds, fabric.uplink)}


def _files(sampler: Sampling, log: str, by_host: bool) -> dict[str, str]:
    """Verbatim files of a run: samples, and the audit lines of the NameNode's log."""
    audit = "\n".join(line for line in log.splitlines() if "FSNamesystem.audit" in line)
    files = {"samples.csv": to_csv(sampler.samples), "namenode-audit.txt": audit + "\n"}
    if sampler.waited:
        files["waited.csv"] = waited_to_csv(sampler.waited)
    if by_host:
        files["host-cpu.csv"] = host_cpu_to_csv(sampler.host_cpu)
    return files
