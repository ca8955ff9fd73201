"""Make the overhead runs of a cluster: jobs of each kind on almost no data and the fastest fabric.

A startup overhead (starts of JVMs and the like) does not shrink with the data, so it is measured beside the runs and
taken off their times.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from whitewire import workloads
from whitewire.cluster.stack import Stack
from whitewire.measure.campaign import Campaign
from whitewire.measure.execution import execute_empty, failure_cause, last_words
from whitewire.measure.overheads import Overheads, too_wide
from whitewire.measure.run import FAILURES, OverheadKey, Run, overhead_key
from whitewire.measure.weights import ALL
from whitewire.records import processors, reasons
from whitewire.records.jobs import all_wire, losses
from whitewire.records.journal import read_runs
from whitewire.records.metrics import Found
from whitewire.records.overhead import typical
from whitewire.records.reasons import Reason
from whitewire.records.result import Result
from whitewire.records.run import RunRecord

_OF_A_RUN = ("run_id", "order", "experiment", "replicate", "seed", "factors", "floors", "floor_wire")
"""Keys of a run's record that an overhead run's record does not have."""


@dataclass(frozen=True)
class OverheadRuns:
    """Makes the overhead runs of one cluster. `restart` starts its services again."""

    campaign: Campaign
    stack: Stack
    runs: Sequence[Run]
    overheads: Overheads
    restart: Callable[[Sequence[Run]], None]

    def take_over(self, warm: Mapping[OverheadKey, Result]) -> None:
        """Take over existing overhead runs before the first run: of an interrupted measurement, and of the warm-up."""
        for key in self.overheads.known:
            if not self.overheads.has(key) and key in warm:
                found = workloads.processors_of(warm[key].record, warm[key].files)
                if not self._keep(key, warm[key], found, attempt=1):
                    self.overheads.skip(key)
            if self.overheads.has(key):
                self.stack.overheads[key] = typical(self.overheads.known[key])

    def make_due(self, place: int) -> None:
        """Make the overhead runs that are due before a run (from 0)."""
        for key in self.overheads.due(place):
            self._make(key)

    def make_further(self) -> None:
        """Make more overhead runs of kinds whose scatter is too large for the net time of their shortest runs."""
        if self.campaign.plan.smoke:
            return
        journal, designed = self.campaign.journal.folder, self.campaign.designed
        there = read_runs(journal.parent, [journal.name])
        kept = [record for _, record in there if record["valid"] and record["run_id"] in designed]
        for key in self.overheads.known:
            own = [record for record in kept if record["floor"] == self.overheads.name(key)]
            for _ in range(self.overheads.further(key)):
                if not too_wide(self.overheads.known[key], own):
                    break
                self._make(key)

    def _make(self, key: OverheadKey) -> None:
        """Make one overhead run of a kind, in as many attempts as a run has; in one if none could be made so far."""
        run = next(run for run in self.runs if self.campaign.plan.has_overhead(run) and overhead_key(run) == key)
        why, attempts = "", 1 if key in self.overheads.lacking else self.campaign.attempts
        for attempt in range(1, attempts + 1):
            # Wait as before a run, or others' load would show as a lack of processors.
            with self.campaign.holding(ALL):
                self.campaign.wait_for_idle_processors(self.stack, self.campaign.deadline)
                with self.campaign.spending("floors"):
                    why = self._attempt(key, run, attempt)
            if not why:
                return
        if not self.overheads.has(key):
            self.overheads.lacking[key] = why
            what = " ".join(map(str, key))
            self.campaign.progress.say(f"no valid overhead run of {what}: going on; its runs have no net times so far")

    def _attempt(self, key: OverheadKey, run: Run, attempt: int) -> str:
        """Make one overhead run of a kind, for a run of that kind; returns why it is not valid (empty: it is)."""
        overheads, say = self.overheads, self.campaign.progress.say
        what, number = " ".join(map(str, key)), len(overheads.known[key]) + 1
        again = f", attempt {attempt}" if attempt > 1 else ""
        say(f"overhead run {number} of {max(number, overheads.counts[key])}: {what}{again}")
        failure: list[Reason] = []
        found: Found = {}
        try:
            result = execute_empty(self.stack, run)
            found = workloads.processors_of(result.record, result.files)
        except FAILURES as error:
            failure = [Reason("failed", {"why": failure_cause(error, self.stack)})]
            result = Result({"block": run.row["block"], "workload": run.row["workload"]}, last_words(self.stack))
        why = self._keep(key, result, found, attempt, failure)
        if not why:
            self.stack.overheads[key] = typical(overheads.known[key])
            return ""
        say(f"overhead run of {what}: not valid: {why}")
        if failure:
            say(f"starting HDFS again ({', '.join(self.stack.dead()) or 'the overhead run did not end'})")
            self.restart(self.runs)
        return why

    def _keep(self, key: OverheadKey, result: Result, found: Found, attempt: int, failure: Sequence[Reason] = ()
              ) -> str:  # fmt: skip
        """Write one overhead run to the journal; returns why it is not valid (empty: it is). `failure`: why it has no
        result; `found`: metrics of its processors."""
        record, limits = result.record, self.campaign.plan.config["limits"]
        faults = failure or [
            *reasons.disturbed_by(record), *losses(record, limits, all_wire(record)),
            *processors.of_an_overhead(found, len(os.sched_getaffinity(0))),
        ]  # fmt: skip
        kept = cast("RunRecord", {name: of for name, of in record.items() if name not in _OF_A_RUN})
        kept |= {"floor": self.overheads.name(key), "attempt": attempt, **reasons.validity(faults)}
        if found:
            kept["outside"] = found["cpu_outside"]
        self.campaign.keep(
            f"an overhead run of {record['workload']}",
            lambda: self.campaign.journal.write_overhead({**kept, **self.campaign.made_by}, result.files),
        )
        if kept["valid"]:
            self.overheads.add(key, kept)
        return kept["why_invalid"]
