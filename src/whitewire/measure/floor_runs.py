"""Make the floors of a cluster: what jobs of a kind take on almost no data, on the fastest fabric.

A floor (starts of JVMs and the like) does not shrink with the data, so it is measured beside the runs and taken off
their times.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from whitewire import workloads
from whitewire.cluster.stack import Stack
from whitewire.measure.campaign import Campaign
from whitewire.measure.execution import cause, execute_empty, last_words
from whitewire.measure.floors import Floors, too_wide
from whitewire.measure.run import FAILURES, FloorKey, Run, floor_key
from whitewire.measure.weights import ALL
from whitewire.records import processors, reasons
from whitewire.records.floor import typical
from whitewire.records.jobs import losses
from whitewire.records.journal import read_runs
from whitewire.records.metrics import Found
from whitewire.records.reasons import Reason
from whitewire.records.result import Result
from whitewire.records.run import RunRecord

OF_A_RUN = ("run_id", "order", "experiment", "replicate", "seed", "factors", "floors", "floor_wire")
"""What a floor's record does not take from the run that it is the floor of, among others."""


@dataclass(frozen=True)
class FloorRuns:
    """Makes the floors of one cluster. `restart` starts its services again."""

    campaign: Campaign
    stack: Stack
    runs: Sequence[Run]
    floors: Floors
    restart: Callable[[Sequence[Run]], None]

    def take_over(self, warm: Mapping[FloorKey, Result]) -> None:
        """Take those that are there before the first run: of an interrupted measurement, and from the warm-up."""
        for key in self.floors.known:
            if not self.floors.has(key) and key in warm:
                found = workloads.processors_of(warm[key].record, warm[key].files)
                if not self._keep(key, warm[key], found, attempt=1):
                    self.floors.skip(key)
            if self.floors.has(key):
                self.stack.floors[key] = typical(self.floors.known[key])

    def make_due(self, place: int) -> None:
        """Make those that are due before a run (from 0)."""
        for key in self.floors.due(place):
            self._make(key)

    def make_further(self) -> None:
        """Make more of kinds whose floors scatter too much beside what is left of their shortest runs."""
        if self.campaign.plan.smoke:
            return
        journal, designed = self.campaign.journal.folder, self.campaign.designed
        there = read_runs(journal.parent, [journal.name])
        kept = [record for _, record in there if record["valid"] and record["run_id"] in designed]
        for key in self.floors.known:
            own = [record for record in kept if record.get("floor") == self.floors.name(key)]
            for _ in range(self.floors.further(key)):
                if not too_wide(self.floors.known[key], own):
                    break
                self._make(key)

    def _make(self, key: FloorKey) -> None:
        """Make one floor of a kind, in as many attempts as a run has; in one if no earlier floor could be made."""
        run = next(run for run in self.runs if self.campaign.plan.floored(run) and floor_key(run) == key)
        why, attempts = "", 1 if key in self.floors.lacking else self.campaign.attempts
        for attempt in range(1, attempts + 1):
            # As before a run: it would be said to lack what others slow down here.
            with self.campaign.holding(ALL):
                self.campaign.wait_for_idle_processors(self.stack, self.campaign.deadline)
                with self.campaign.spending("floors"):
                    why = self._attempt(key, run, attempt)
            if not why:
                return
        if not self.floors.has(key):
            self.floors.lacking[key] = why
            what = " ".join(map(str, key))
            self.campaign.progress.say(f"no valid overhead run of {what}: going on; its runs have no net times so far")

    def _attempt(self, key: FloorKey, run: Run, attempt: int) -> str:
        """Make one floor of a kind, by the run that it is the floor of; returns why it is not valid (empty: it is)."""
        floors, say = self.floors, self.campaign.progress.say
        what, number = " ".join(map(str, key)), len(floors.known[key]) + 1
        again = f", attempt {attempt}" if attempt > 1 else ""
        say(f"overhead run {number} of {max(number, floors.counts[key])}: {what}{again}")
        failure: list[Reason] = []
        found: Found = {}
        try:
            result = execute_empty(self.stack, run)
            found = workloads.processors_of(result.record, result.files)
        except FAILURES as error:
            failure = [Reason("failed", {"why": cause(error, self.stack)})]
            result = Result({"block": run.row["block"], "workload": run.row["workload"]}, last_words(self.stack))
        why = self._keep(key, result, found, attempt, failure)
        if not why:
            self.stack.floors[key] = typical(floors.known[key])
            return ""
        say(f"overhead run of {what}: not valid: {why}")
        if failure:
            say(f"starting HDFS again ({', '.join(self.stack.dead()) or 'the overhead run did not end'})")
            self.restart(self.runs)
        return why

    def _keep(self, key: FloorKey, result: Result, found: Found, attempt: int, failure: Sequence[Reason] = ()
              ) -> str:  # fmt: skip
        """Write one floor to the journal; returns why it is not valid (empty: it is). `failure`: why it has no result;
        `found`: what it had of processors."""
        record, limits = result.record, self.campaign.plan.config["limits"]
        # It moves next to no data, so most segments that are sent again are probes for an answer that was late.
        faults = failure or [
            *reasons.disturbed_by(record), *losses(record, limits, bulk=False),
            *processors.of_a_floor(found, len(os.sched_getaffinity(0))),
        ]  # fmt: skip
        kept = cast("RunRecord", {name: of for name, of in record.items() if name not in OF_A_RUN})
        kept |= {"floor": self.floors.name(key), "attempt": attempt, **reasons.validity(faults)}
        if found:
            kept["outside"] = found["cpu_outside"][0]
        self.campaign.keep(
            f"an overhead run of {record['workload']}",
            lambda: self.campaign.journal.write_floor({**kept, **self.campaign.made_by}, result.files),
        )
        if kept["valid"]:
            self.floors.add(key, kept)
        return kept["why_invalid"]
