"""One start of a block's cluster: runs in turn, overhead runs among them, until claims are decided or time is up."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from functools import partial

from whitewire import lanes, paths, workloads
from whitewire.cluster.stack import Stack
from whitewire.design.rows import by_cell
from whitewire.errors import CannotMake, NotKept
from whitewire.measure import scale_candidate, services
from whitewire.measure.block_plan import CLOSING_S
from whitewire.measure.campaign import Campaign
from whitewire.measure.engine import NEVER
from whitewire.measure.execution import execute, failure_cause, given_up, last_words, no_disk
from whitewire.measure.overhead_runs import OverheadRuns
from whitewire.measure.overheads import Overheads
from whitewire.measure.rounds import Seen
from whitewire.measure.run import FAILURES, OverheadKey, Run, overhead_key
from whitewire.measure.scale_candidate import ScaleCandidates, TooHeavy
from whitewire.measure.shortage import Shortage
from whitewire.measure.spread import Team
from whitewire.measure.turns import AttemptOutcome, Turns
from whitewire.measure.warm_up import warm_up
from whitewire.measure.weights import ALL
from whitewire.records import processors
from whitewire.records.reasons import BUDGET, Reason, validity
from whitewire.records.result import Result
from whitewire.records.run import RunRecord

WARM_UP_PROCESSORS = 1.0
"""Processors of a warm-up, whose times do not matter; the others are left to runs of other lanes."""


class Session:
    """The runs of one cluster, whose services are up."""

    def __init__(
        self, campaign: Campaign, stack: Stack, runs: Sequence[Run], overheads: Overheads, candidates: ScaleCandidates
    ) -> None:
        self.campaign, self.stack, self.runs, self.candidates = campaign, stack, runs, candidates
        self.overhead_runs = OverheadRuns(campaign, stack, runs, overheads, self.restart)
        self.team = Team()
        self.turns = self._turns()
        self._begun = 0

    def _turns(self) -> Turns:
        """The order of the runs. Once a run of the block is valid, on any cluster, other programs have not disturbed
        every attempt."""
        campaign = self.campaign
        give_up_at = NEVER if campaign.spent.get("runs") else campaign.give_up_at
        rounds = campaign.plan.rounds(campaign.rows, campaign.paper_runs.others_made)
        if not campaign.interim:
            rounds.ahead = []
        return Turns(self.runs, rounds, campaign.attempts, campaign.deadline.earlier(CLOSING_S), give_up_at,
                     takes=lambda number: self.team.takes(number), by_round=lanes.most() > 1)  # fmt: skip

    def prepare(self) -> None:
        """Warm up, take over existing overhead runs, and try whether this machine can hold k. Raises TooHeavy."""
        # At smoke effort the warm-up gives the overheads.
        with (
            self.campaign.holding(ALL if self.campaign.plan.smoke else WARM_UP_PROCESSORS),
            self.campaign.spending("warm-up"),
        ):
            self.overhead_runs.take_over(self._warm_up(self.runs))
        self._try_heaviest()

    def make(self, number: int, team: Team | None = None) -> int:
        """Make the runs, of which `number` were begun before, in the lanes of `team`; returns how many are begun now.

        Every attempt is kept. Attempts of an earlier, interrupted measurement do not count against the bound. Raises
        TooHeavy when the processors are too slow at this k and there is a larger one.
        """
        campaign, turns = self.campaign, self.turns
        self.team = team or self.team
        returned = True
        try:
            while returned:
                number = self._make_runs(number)
                if not turns.hopeless:
                    self.overhead_runs.make_due(len(self.runs))
                returned = self.team.returned(turns)
        finally:
            campaign.given_up += turns.given_up
            campaign.left |= turns.left
        if reports := self.team.over():
            campaign.add(reports)
            self.overhead_runs.overheads.pool(campaign.known_overheads)
        if self.team.leads and not turns.hopeless:
            self.overhead_runs.make_further()
        return number

    def _make_runs(self, number: int) -> int:
        """Make runs until this lane has no more; returns how many are begun now."""
        campaign, turns = self.campaign, self.turns
        while (run := turns.next(campaign.progress.pace)) is not None:
            if turns.rounds.due(run.row["run_id"]):
                turns.put_back(run)
                if not self.team.returned(turns, turns.rounds.of[run.row["run_id"]] - 1):
                    self._analyse_claims(run)
                continue
            if campaign.journal.has(run.row["run_id"]):  # made in a lane that ended within the round
                continue
            if lanes_now := self.team.grow(turns, campaign.progress.pace):
                self.overhead_runs.overheads.pool(campaign.known_overheads)
                self.overhead_runs.overheads.divide(lanes_now, self._begun)
                campaign.progress.lanes = lanes_now
            # Overhead runs that are due at the end wait for the runs that are tried again.
            self.overhead_runs.make_due(min(self._begun, len(self.runs) - 1))
            self._begun += 1
            if not turns.tried[run.row["run_id"]]:
                number += 1
            self._one(run, number)
        return number

    def _one(self, run: Run, number: int) -> None:
        """Make an attempt at a run and act on its outcome."""
        campaign, turns, run_id = self.campaign, self.turns, run.row["run_id"]
        with campaign.holding(campaign.weights.of(run)):
            if turns.too_late(run, campaign.progress.pace):  # other lanes had the processors until now
                turns.put_back(run)
                return
            campaign.wait_for_idle_processors(self.stack, turns.deadline)
            tried = turns.tried[run_id] + 1
            campaign.progress.run(number, run.title + (f", attempt {tried}" if tried > 1 else ""))
            clock = time.monotonic()
            outcome = campaign.around(partial(self.attempt, run), self.stack, run_id)
        seconds = time.monotonic() - clock
        campaign.spent["runs" if not outcome.why else "disturbed"] += seconds
        if not outcome.why:
            campaign.timed.append((seconds, run.expected_seconds))
        campaign.progress.done(outcome.why)
        if not outcome.disturbed:
            campaign.shortage.note(run_id, outcome.short)
        if turns.ended(run, outcome):
            campaign.progress.again(run.expected_seconds)
        if turns.waiting:
            self._check_processors(run)
        if outcome.failed and (turns.waiting or self.overhead_runs.overheads.ahead(len(self.runs))):
            # A daemon or client that ended or hangs: nothing of the old cluster is trusted.
            campaign.progress.say(f"starting HDFS again ({', '.join(self.stack.dead()) or 'the run did not end'})")
            with campaign.holding(ALL):
                self.restart(turns.waiting or self.runs)

    def attempt(self, run: Run) -> AttemptOutcome:
        """Make one attempt at a run and keep its record."""
        campaign, run_id = self.campaign, run.row["run_id"]
        failed = disturbed = full = False
        short = ""
        attempt = campaign.journal.attempt(run_id)
        of: RunRecord = {
            "floor": self.overhead_runs.overheads.name(overhead_key(run)) if campaign.plan.has_overhead(run) else ""
        }
        try:
            result = execute(self.stack, run)
            record, files = result.record | of, result.files
            values = workloads.run_metrics(record, files)
            faults = workloads.run_faults(record, values, campaign.plan.config["limits"])
            short = next((str(each) for each in faults if each.kind.short), "")
            others = values.get("cpu_outside", 0.0) > processors.OTHERS_CORES or run.cpu == "report"
            # Beside other lanes these may be the cause: the next attempt has all processors.
            beside = (shared := lanes.shared()) is not None and campaign.weights.of(run) < shared.processors
            disturbed = bool(short) and (others or beside)
            self.team.attempted(bool(short) and beside)
            if shared and (needed := workloads.processors_needed(record, files)):
                campaign.weights.note(run, needed, bool(short))
        except FAILURES as failure:
            faults, failed, full = (
                [Reason("failed", {"why": failure_cause(failure, self.stack)})],
                True,
                no_disk(failure),
            )
            record = {**run.record, "scale": run.scale.record}
            files = last_words(self.stack)
        record |= {**of, "attempt": attempt, **validity(faults), **campaign.made_by}
        why = record["why_invalid"]
        self._keep(run_id, record, files)
        if full:
            raise NotKept(f"{run_id}: {why}")
        return AttemptOutcome(why, failed, disturbed, short)

    def _keep(self, run_id: str, record: RunRecord, files: Mapping[str, str]) -> None:
        journal = self.campaign.journal
        try:
            self.campaign.keep(run_id, lambda: journal.write(run_id, record, files, valid=record["valid"]))
        except NotKept as error:
            record |= validity([Reason("not_kept", {"why": str(error)})])
            with contextlib.suppress(OSError):  # a record alone may fit where its files do not
                journal.write(run_id, record, {}, valid=False)
            raise

    def restart(self, runs: Sequence[Run]) -> None:
        """Restart and warm up, twice if needed: the cause of a failure (a full drive) may last some seconds more."""
        self.stack.stop()
        services.start(self.stack)
        self._warm_up(runs)

    def _warm_up(self, runs: Sequence[Run]) -> dict[OverheadKey, Result]:
        """Warm up; if a service has ended, restart the services and warm up again. Raises CannotMake."""
        given = (self.stack, self.campaign.plan, runs, self.campaign.progress.say)
        try:
            return warm_up(*given)
        except CannotMake:
            self.stack.stop()
            services.start(self.stack)
            return warm_up(*given)

    def _interim(self, count: int) -> Seen:
        """Judge the claims by `count` runs of each cell."""
        campaign, plan = self.campaign, self.campaign.plan
        assert campaign.interim is not None, "there is an interim analysis only where something makes it"
        designed = campaign.paper_runs.seen(count)
        unavailable = by_cell(self.turns.rounds.rows, campaign.unavailable)
        with campaign.holding(1.0), campaign.spending("looks"):
            return campaign.interim(plan.paper, plan.config, campaign.journal.folder, designed, unavailable)

    def _analyse_claims(self, run: Run) -> None:
        """Make the interim analysis before a run, and leave out runs that no open claim needs any more."""
        campaign, turns = self.campaign, self.turns
        seen = self.team.saw(turns, partial(self._interim, turns.rounds.before(run.row["run_id"])))
        if seen is None:
            turns.leave(Reason(BUDGET))
            return
        turns.rounds.analysed(run.row["run_id"])
        # For this cluster only: another one of the block still has its first interim analysis ahead.
        turns.deadline = turns.deadline.within(campaign.allowance.further() - CLOSING_S)
        turns.spare = turns.deadline.within(campaign.allowance.spare() - CLOSING_S)
        dropped = turns.drop(seen, run)
        campaign.progress.say(
            f"interim analysis: {len(seen.decided)} decided, {len(seen.open)} open; {dropped} runs are "
            f"not needed, {len(turns.waiting)} are left"
        )
        campaign.progress.left([each.expected_seconds for each in turns.waiting])

    def _try_heaviest(self) -> None:
        """If k is still to be chosen, make one run of the heaviest cell, which is not kept. Raises TooHeavy."""
        run = scale_candidate.heaviest(self.runs)
        if not self.candidates.open or run is None:
            return
        campaign = self.campaign
        campaign.progress.say(f"trying the heaviest cell at k = {run.scale.k:g}: {run.title.rsplit(' (', 1)[0]}")
        try:
            with campaign.holding(ALL):
                campaign.wait_for_idle_processors(self.stack, campaign.deadline)
                with campaign.spending("warm-up"):
                    result = execute(self.stack, run)
            latency = workloads.run_metrics(result.record, result.files)["cpu_late"]
        except FAILURES as failure:
            if no_disk(failure):
                raise given_up("the heaviest cell", failure, self.stack) from None
            why = f"the heaviest cell failed ({failure_cause(failure, self.stack)})"
            self.candidates.keep(why)
            campaign.progress.say(f"{why}: going on with k = {run.scale.k:g}; starting HDFS again")
            with campaign.holding(ALL):
                self.restart(self.runs)
            return
        campaign.progress.say(self.candidates.judge(run, latency, campaign.plan.config["limits"]["cpu_late_ms"]))

    def _check_processors(self, run: Run) -> None:
        """Act when hardly any run gets the processors that it needs, although no other programs use them.

        Raises TooHeavy if there is a larger k; else cells that lack processors are tried less often.
        """
        campaign = self.campaign
        if not self.candidates.raises_k or not (short := str(campaign.shortage)):
            return
        if not self.candidates.last:
            raise TooHeavy(f"k = {run.scale.k:g} is too small for this machine ({short})")
        campaign.progress.say(
            f"{short}: this machine is too slow for k = {run.scale.k:g}; cells that lack processors are tried "
            f"once more only. A larger k: `scale` in {paths.shown(campaign.plan.paper.path)}"
        )
        self.turns.attempts, campaign.shortage = 2, Shortage()
