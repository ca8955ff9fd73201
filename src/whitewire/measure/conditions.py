"""Links and drives as a run wants them: set before it, read back after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whitewire.cluster.stack import Stack
from whitewire.description.paper import OFF, ON, SHARED_DRIVES
from whitewire.measure.run import Run
from whitewire.records.run import EvidenceRecord
from whitewire.testbed import drives
from whitewire.testbed.base import Fabric
from whitewire.testbed.each import on_each
from whitewire.tools.history import setting_text

WRITER_WITHIN = 1.01
"""Factor by which writers may exceed their bound."""


@dataclass(frozen=True)
class StackShaping:
    """Links and drives of a run's hosts."""

    stack: Stack
    run: Run

    def apply(self) -> Fabric:
        """Throttle links and drives as the run wants them, with empty memory before drives; returns its network."""
        testbed, parameters, levels = self.stack.testbed, self.run.parameters, self.run.levels
        self.stack.ease(False, fresh=True)
        kib, share = levels.get("switch_buffer_kib"), parameters.get("slow_host", 1)
        slow = {self.stack.slow_worker.name: share} if share != 1 else {}
        fabric = testbed.fabric(
            parameters["fabric"], int(kib * 1024) if kib else None, parameters.get("mtu"), slow
        )  # fmt: skip
        testbed.offloads(levels.get("offloads", "on") == "on")
        return fabric

    def lift(self, fabric: str | None = None) -> None:
        """Unthrottle links and drives for work that is not measured.

        With a `fabric`: links of this one, unless the cluster would have to be started anew for it.
        """
        testbed = self.stack.testbed
        if fabric is None:
            testbed.fabric(testbed.fastest())
        elif not testbed.capabilities.addresses_by_fabric:
            testbed.fabric(fabric)
        self.stack.ease(True)


@dataclass(frozen=True)
class Conditions:
    """The requested conditions of a run, and those that links and drives report."""

    stack: Stack
    run: Run

    def asked(self) -> dict[str, Any]:
        """Levels and parameters as the run really has them, with the values of settings in place of their name."""
        run = self.run
        own: dict[str, Any] = {**run.levels, **run.parameters}
        if "drive" in own:
            own["drive"] = run.drive.record
        if run.drive.cached:
            own.setdefault("page_cache", ON)
        if run.drive.writer:
            own.setdefault("writer_bound", ON)
        own.pop("store", None)  # jobs and puts add its settings
        if "output_replication" in run.workload.known():
            own.setdefault("output_replication", run.workload.output_copies(run.parameters))
        if "settings" in own:
            every = {**run.settings, **run.daemon_settings}
            own["settings"] = {name: setting_text(value) for name, value in every.items()}
        return own

    def daemons(self) -> EvidenceRecord:
        """The run's settings of daemons, which may be none, as these report them; nothing if none are asked for."""
        if "settings" not in self.run.parameters:
            return {}
        return {"daemon_settings": self.stack.settings_of_daemons(self.run.daemon_settings)}

    def racks(self, fabric: Fabric) -> EvidenceRecord:
        """Racks as HDFS prints them, and their uplinks; nothing on a network without racks."""
        if not fabric.racks:
            return {}
        return {"uplinks": self.stack.testbed.uplinks(), "racks": self.stack.hdfs.racks()}

    def drives(self) -> EvidenceRecord:
        """The drive model that the first worker reports; nothing for runs without one."""
        drive, parameters = self.run.drive, self.run.parameters
        if not drive.limits:
            return {}
        testbed, slow = self.stack.testbed, self.stack.slow_worker
        bounded = drive.writer > 0 or "writer_bound" in parameters
        cached = drive.cached or "page_cache" in parameters
        workers, clients = testbed.by_role("datanode"), testbed.by_role("client") if bounded else []
        if not (bounded or cached or parameters.keys() & {"intermediate_drive", "slow_drives"}):
            workers = workers[:1]
        states = on_each([*workers, *clients], drives.read_back)
        of_workers = states[: len(workers)]
        found: EvidenceRecord = {"drive": of_workers[0]}
        if cached:
            found["page_cache"] = _page_cache(of_workers)
        if "intermediate_drive" in parameters:
            found |= self._intermediate_drive(of_workers)
        if bounded:
            found |= self._writers(states)
        if "drive" in parameters:
            found["volumes"] = self.stack.hdfs.volumes(workers[0])
        if "slow_drives" in parameters:
            found["slow_drives"] = of_workers[workers.index(slow)]["rate"] / found["drive"]["rate"]
        return found

    def _intermediate_drive(self, states: Sequence[Mapping[str, float]]) -> EvidenceRecord:
        """The drives of intermediate data by the workers' states: SHARED_DRIVES, their name if all have them as asked,
        or a fault. Where there are some, also the bytes that went to them."""
        start, workers, parameters = "intermediate_", self.stack.testbed.by_role("datanode"), self.run.parameters
        seen = [
            {key.removeprefix(start): value for key, value in state.items() if key.startswith(start)}
            for state in states
        ]
        if not any(seen):
            return {"intermediate_drive": SHARED_DRIVES}
        moved = sum(state.pop("moved", 0.0) for state in seen)
        asked, slow, share = self.run.drive.intermediate, self.stack.slow_worker, parameters.get("slow_drives", 1)
        wanted = [asked.slowed(share if host is slow else 1).numbers for host in workers] if asked else []
        name = str(parameters["intermediate_drive"]) if seen == wanted else "drives of other properties"
        return {"intermediate_drive": name, "intermediate_moved": moved}

    def _writers(self, states: Sequence[Mapping[str, float]]) -> EvidenceRecord:
        """What the states of hosts say of their writers: ON if all bound them as asked and the run's bytes came by,
        else OFF or what was found. Where there is a bound, also what writers sent."""
        run = self.run
        rates = {state.get("writer", 0.0) for state in states}
        if rates == {0.0}:
            return {"writer_bound": OFF}
        sent, sending = (sum(state.get(key, 0.0) for state in states) for key in ("sent", "sending"))
        files = run.workload.files(run.parameters) if run.workload.written(run.parameters) else 0
        if rates != {run.drive.writer}:
            found = f"on, with {' and '.join(f'{rate:.0f}' for rate in sorted(rates))} B/s"
        elif sent < files * run.scale.file_bytes:
            found = f"on, and {sent:.0f} of {files * run.scale.file_bytes} bytes came by"
        elif sent > run.drive.writer * sending * WRITER_WITHIN:
            found = f"on, and writers sent {sent / sending:.0f} B/s"
        else:
            found = ON
        return {"writer_bound": found, "writers": {"rate": max(rates), "sent": sent, "sending": sending}}


def _page_cache(states: Sequence[Mapping[str, float]]) -> str:
    """Whether the run's bytes went through memory in front of all workers' drives: ON, OFF, or what was found."""
    there = [state.get("limit", 0) > 0 for state in states]
    if not any(there):
        return OFF
    if not all(there):
        return f"on {sum(there)} of {len(there)} workers"
    return ON if any(state["asked"] > 0 for state in states) else "on, and nothing came by"
