"""Make the missing runs of one block of a design: resume, lanes, k, clusters one after the other, block.json."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from whitewire import lanes, paths
from whitewire.budget import BUDGET_VARIABLE, Allowance, Budget, time_in_words
from whitewire.description import asked, project
from whitewire.description.capabilities import capabilities_of
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design.rows import effort_of, read_csv
from whitewire.design.scale import of_another_k
from whitewire.errors import CannotMake, Faults, UserError
from whitewire.install.doctor import preflight
from whitewire.measure import environment, groups, services
from whitewire.measure.block_plan import CLOSING_S, BlockPlan
from whitewire.measure.campaign import Around, Campaign, plainly
from whitewire.measure.engine import NEVER, Deadline, hold_measurement
from whitewire.measure.limits_exceeded import Before, before
from whitewire.measure.one_cluster import OneCluster
from whitewire.measure.rounds import InterimAnalysis
from whitewire.measure.run import Run
from whitewire.measure.scale_candidate import ScaleCandidates, TooHeavy
from whitewire.measure.spread import MOST_ROUNDS, Mate, Worker, WorkerReport, WorkerTask, serve
from whitewire.progress import Progress
from whitewire.records import asked as ledger
from whitewire.records.asked import ASKED_FILE
from whitewire.records.checked import block_record, read_block
from whitewire.records.journal import Journal, read_overheads, valid_overheads
from whitewire.records.overhead import kinds_lacking
from whitewire.records.reasons import DECIDED, ELSE, LACKING, Reason
from whitewire.records.run import DesignRow
from whitewire.records.scale_candidate import SCALE_FILE
from whitewire.rule import RULE_VERSION
from whitewire.testbed.site.job import within_its_job

SMOKE_ATTEMPTS = 2
"""Attempts at a run or an overhead run at smoke effort."""


@dataclass(frozen=True)
class Only:
    """The single claim to measure, and a function that finds the rows of a design for it and its controls."""

    claim: str
    rows_of: Callable[[Paper, str, Sequence[DesignRow]], Sequence[DesignRow]]

    def ids(self, paper: Paper, rows: Sequence[DesignRow]) -> set[str]:
        """Ids of the claim's runs among these rows."""
        return {row["run_id"] for row in self.rows_of(paper, self.claim, rows)}


def measure_block(paper: str, testbed: str, design_path: Path, block: str, output: Path,
                  interim: InterimAnalysis | None = None, only: Only | None = None) -> None:  # fmt: skip
    """Make the missing runs of a block, or with `only` those of one claim; `output` (block.json) is written last.

    `interim` judges the paper's claims by the runs so far; runs that no claim needs any more are left out. After the
    budget in the environment (budget.BUDGET_VARIABLE), if any, no run begins. Raises UserError when the testbed cannot
    work here or its calibration fails; finished runs stay.
    """
    settings = load_testbed(testbed)
    loaded = load_paper(project.paper_path(paper), fabric_names(settings))
    designed = read_csv(design_path)
    rows = sorted((row for row in designed if row["block"] == block), key=lambda row: row["order"])
    if not rows:
        raise UserError(f"{design_path}: block: found no run of {block!r}, expected at least one")
    folder = Path(output).parent
    with hold_measurement(folder, "this block"), within_its_job(settings):
        Block(
            loaded, settings, block, rows, folder,
            source=paths.shown(project.testbed_path(testbed)),
            interim=interim, others=[row for row in designed if row["block"] != block],
            allowance=Budget.read(os.environ.get(BUDGET_VARIABLE, "")).allowance(f"{paper}/{block}"),
            before=before(folder.parents[2], settings, loaded, rows, project.load_config()["outliers"]),
            only=only,
        ).measure()  # fmt: skip


class Block:
    """One block: its rows in the order of running and the journal that they go to.

    `source`: name of the testbed's description in messages; `interim` judges the paper's claims by the runs so far, if
    the paper has interim analyses at the effort; `others`: rows of the paper's other blocks, which the analyses see
    too; `before`: findings of the stage `links` on the block; `around` makes each attempt at a run; `attempts`: most
    attempts at a run or an overhead run (default: the testbed's limit); `raises_k`: whether to take a larger k if the
    processors are too slow; `only`: the claim whose runs alone are made.
    """

    def __init__(
        self, paper: Paper, testbed: Mapping[str, Any], name: str, rows: Sequence[DesignRow], folder: Path, *,
        source: str = "testbed", interim: InterimAnalysis | None = None, allowance: Allowance | None = None,
        before: Before | None = None, around: Around = plainly, attempts: int | None = None,
        raises_k: bool = True, others: Sequence[DesignRow] = (), only: Only | None = None,
    ) -> None:  # fmt: skip
        self.config, self.name, self.rows, self.source = testbed, name, rows, source
        self.effort = effort_of(name)
        smoke, scales = self.effort == "smoke", capabilities_of(testbed).scales_rates
        self.candidates = ScaleCandidates(paper, folder.parent, raises_k and scales and not smoke)
        self.before = before or Before()
        self.journal = Journal(folder)
        self.others, self.only = others, only
        self.interim, self.around, self.allowance = interim, around, allowance or Allowance()
        self.attempts = attempts or (SMOKE_ATTEMPTS if smoke else testbed["limits"]["attempts"])
        self.deadline = self.give_up_at = NEVER
        self.workers: list[Worker] = []
        self.left: dict[str, Reason] = {}
        """Runs that were not made, and why."""
        self.spent = defaultdict(float, self.allowance.spent)
        """Seconds of this start by activity."""

    @property
    def paper(self) -> Paper:
        """The paper at the k of its runs."""
        return self.candidates.paper

    @property
    def plan(self) -> BlockPlan:
        """The plan of the block's runs, at their k."""
        return BlockPlan(self.paper, self.config, self.effort)

    def measure(self) -> None:
        """Make the runs that are missing. Raises UserError when the testbed cannot work here."""
        self._resume()
        with self._waiting_workers() as self.workers, lanes.lane(f"{self.paper.id}/{self.name}") as lane:
            # Waiting for the lane took none of the block's time.
            begin, seconds = time.monotonic(), self.allowance.first()
            self.deadline, self.give_up_at = Deadline(begin + seconds), Deadline(begin + self.allowance.own)
            while True:
                try:
                    campaign = self._make_missing(lane)
                    break
                except TooHeavy as heavy:
                    self._raise_k(str(heavy))
        self.left = self._left_by(campaign)
        self.journal.finish(
            {
                "block": self.name,
                "runs": [row["run_id"] for row in self.rows],
                "given_up": campaign.given_up,
                "unavailable": campaign.unavailable,
                "left": {run_id: str(why) for run_id, why in self.left.items()},
                "left_codes": {run_id: why.code for run_id, why in self.left.items()},
                "no_floor": kinds_lacking(read_overheads(self.journal.folder)),
                "rung": self.paper.candidate,
                "budget_seconds": round(seconds, 1) if math.isfinite(seconds) else None,
                "start_budget_seconds": self.allowance.start if math.isfinite(self.allowance.start) else None,
                "seconds": round(self.allowance.earlier + time.monotonic() - begin, 1),
                "pace": campaign.pace,
                "spent": {what: round(seconds, 1) for what, seconds in self.spent.items()},
                "marks": list(self.before.marks),
                **environment.commit(),
            }
        )

    def _not_asked(self) -> list[DesignRow]:
        """Rows of missing runs that this start was not asked to make."""
        if not self.only:
            return []
        own = self.only.ids(self.paper, self.rows)
        return [row for row in self.rows if row["run_id"] not in own and not self.journal.has(row["run_id"])]

    def _left_by(self, campaign: Campaign) -> dict[str, Reason]:
        """Reasons for missing runs that this machine can make. After a start for one claim, others may need both those
        that it was not asked to make and those that the claim no longer needed."""
        if not self.only:
            return campaign.left
        ids = [row["run_id"] for row in self._not_asked() if row["run_id"] not in campaign.unavailable]
        ids += [run_id for run_id, why in campaign.left.items() if why.code == DECIDED]
        return {**campaign.left, **dict.fromkeys(ids, Reason(ELSE, {"claim": self.only.claim}))}

    def _resume(self) -> None:
        """Check what an earlier start left, and keep to its k. Raises UserError."""
        found = read_block(self.journal.folder, self.rows, measuring=True)
        if found.faults:
            raise Faults([*found.faults, "remove the folders that are damaged, and their runs are measured again"])
        raw, designed = self.journal.folder.parent, {row["run_id"] for row in self.rows}
        runs = [each for each in found.runs if each[1]["run_id"] in designed]
        others = {record["rung"] for path in raw.glob("*/block.json")
                  if effort_of(path.parent.name) == self.effort and (record := block_record(path))}  # fmt: skip
        self.candidates.go_on(lambda on: others <= {on.candidate} and not of_another_k(on, self.config, runs))
        if faults := of_another_k(self.paper, self.config, runs):
            remedy = "remove the runs of another k, and they are measured again"
            if self.candidates.raises_k and self.paper.candidate_count > 1:
                remedy += f"; or write the index of the k to keep into {paths.shown(raw / SCALE_FILE)}"
            raise Faults([*faults, remedy])

    def _raise_k(self, why: str) -> None:
        """Take the next k. Runs at the old one no longer count; the paper's other blocks are measured again, too."""
        others = dict.fromkeys(self.journal.folder.with_name(row["block"]) for row in self.others)
        for journal in [self.journal, *map(Journal, filter(Path.is_dir, others))]:
            journal.begin()
            for record in sorted(journal.runs.glob("[!.]*/run.json")):
                journal.set_aside(record.parent.name, Reason("other_k", {"why": why}))
        self.candidates.raise_k(why)
        print(f"{self.name}: {why}: going on with the next k", file=sys.stderr, flush=True)

    @contextlib.contextmanager
    def _waiting_workers(self) -> Iterator[list[Worker]]:
        """Processes that wait to make rounds of this block in further lanes."""
        workers = [Worker(partial(serve, self.journal.folder, self._beside)) for _ in range(1, lanes.most())]
        try:
            yield workers
        finally:
            for worker in workers:
                worker.kill()

    def _beside(self, task: WorkerTask, team: Mate) -> WorkerReport:
        """Make rounds of a cluster's runs in a further lane. Raises UserError; the other lanes then make its rounds."""
        with lanes.further_lane() as lane:
            if not lane:
                return WorkerReport(ended=True)
            self.candidates.stay(task.candidate)
            rows, plan = {row["run_id"]: row for row in self.rows}, self.plan
            runs = [plan.run(rows[run_id]) for run_id in task.ids]
            self.spent = defaultdict(float)
            progress = Progress(f"{plan.paper.id} {self.name}, lane {lane}", [run.expected_seconds for run in runs])
            progress.lanes = task.lanes
            # Runs of the first lane counted, so not every attempt is disturbed.
            self.deadline, self.give_up_at = task.deadline.earlier(-CLOSING_S), NEVER
            campaign = self._campaign(progress, lane, task.unavailable)
            with campaign.progress.going():
                self._one_cluster(campaign).make(runs, 0, task, team)
            lacking = {run_id: Reason(LACKING, {"why": why})
                       for run_id, why in campaign.unavailable.items() if run_id in task.ids}  # fmt: skip
            report = team.report(plan.rounds(self.rows), campaign.given_up, lacking | campaign.left)
            return replace(report, spent=self.spent, ended=True, crowded=team.crowded)

    def _campaign(self, progress: Progress, lane: int, unavailable: Mapping[str, str] | None = None) -> Campaign:
        return Campaign(
            self.plan, self.rows, self.journal, progress, self.attempts, self.allowance, self.interim, self.around,
            self.deadline, self.give_up_at, self.spent, lane, others=self.others, unavailable=dict(unavailable or {}),
        )  # fmt: skip

    def _one_cluster(self, campaign: Campaign) -> OneCluster:
        return OneCluster(campaign, self.candidates, self.source, self.before.carried, self.workers)

    def _make_missing(self, lane: int) -> Campaign:
        """Make what is missing at the present k. Raises TooHeavy, UserError."""
        plan, overheads = self.plan, valid_overheads(self.journal.folder)
        not_asked = [plan.run(row) for row in self._not_asked()]
        others = {run.row["run_id"] for run in not_asked}
        missing = [plan.run(row) for row in self.rows
                   if not self.journal.has(row["run_id"]) and row["run_id"] not in others]  # fmt: skip
        clusters = groups.clusters(plan.paper, missing, self.config)
        ordered = [seconds for key, runs in clusters.items() for seconds in plan.expected(key, runs, overheads)]
        # Blocks of several papers that are measured side by side may have the same name.
        name = f"{plan.paper.id} {self.name}" if lanes.most() > 1 else self.name
        campaign = self._campaign(Progress(name, ordered, len(clusters)), lane)
        left = self.deadline.left()
        within = f" within {time_in_words(left)}" if math.isfinite(left) else ""
        campaign.progress.say(f"{len(self.rows)} runs, {len(missing)} to make{within}")
        # Before the first cluster, so that no interim analysis waits for them.
        campaign.leave_out(services.unavailable_runs(self.config, [*missing, *not_asked]))
        if missing:
            self._make(campaign, clusters)
        return campaign

    def _make(self, campaign: Campaign, clusters: Mapping[str, Sequence[Run]]) -> None:
        """Make runs, grouped by the services that they share.

        Raises CannotMake if a cluster failed and the block has no valid run, also from earlier starts.
        """
        self.journal.begin()
        digests = asked.digests(self.paper, self.effort)
        alone, folder = self.only.claim if self.only else "", self.journal.folder
        continues = campaign.allowance.earlier > 0
        campaign.keep(ASKED_FILE, lambda: ledger.note(folder, time.time(), RULE_VERSION, digests, alone, continues))
        with campaign.progress.going():
            preflight(self.config)
            cluster, number = self._one_cluster(campaign), 0
            failures = []
            for place, (key, runs) in enumerate(clusters.items()):
                task = WorkerTask(self.paper.candidate, key, (), campaign.unavailable, place * MOST_ROUNDS)
                try:
                    number = cluster.make(runs, number, task)
                except CannotMake as failure:
                    campaign.fail(runs, str(failure))
                    failures.append(failure)
            if failures and not any(self.journal.has(row["run_id"]) for row in self.rows):
                raise failures[0]
        campaign.progress.say(f"finished{campaign.not_made()}")
