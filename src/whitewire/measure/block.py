"""Executes one block of a design: probes, cluster up, warm-up, the runs that are missing, cluster down."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from whitewire import budget, lanes, paths
from whitewire.budget import Allowance, Budget
from whitewire.description import asked, project
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper, without_servers
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design.rows import read_csv
from whitewire.design.scale import of_another_k
from whitewire.errors import Faults, UserError
from whitewire.install.doctor import preflight
from whitewire.measure import environment, groups, services
from whitewire.measure.alone import alone
from whitewire.measure.beyond import Before, before
from whitewire.measure.block_plan import BlockPlan
from whitewire.measure.campaign import Around, Campaign, plainly
from whitewire.measure.probing import Probing
from whitewire.measure.rounds import Look
from whitewire.measure.run import Run
from whitewire.measure.rung import Ladder, TooHeavy
from whitewire.measure.services import Services
from whitewire.measure.session import Session
from whitewire.measure.weights import ALL
from whitewire.progress import Progress
from whitewire.records.asked import NAME, note
from whitewire.records.checked import block_record, read_block
from whitewire.records.journal import BUDGET, Journal, valid_floors
from whitewire.records.run import DesignRow
from whitewire.records.rung import FILE
from whitewire.sequential import RULE_VERSION
from whitewire.testbed import kinds as testbeds
from whitewire.testbed.base import Testbed

SMOKE_ATTEMPTS = 2
"""Attempts at a run or a floor at smoke effort."""
WARM_MEMORY_GIB = 1.0
"""Memory touched before the first run: about what one run's replicas take."""


def measure(paper: str, testbed: str, design_path: Path, block: str, output: Path, look: Look | None = None) -> None:
    """Make the runs of a block that its journal lacks; `output` (block.json) is written last.

    `look` tells what the paper's claims are worth so far: what they need no more is not measured. The environment may
    hold a budget (budget.VARIABLE), after which none is begun. Raises UserError when the testbed cannot work here or
    its calibration fails; runs that are finished stay.
    """
    settings = load_testbed(testbed)
    loaded = load_paper(project.paper_path(paper), fabric_names(settings))
    rows = sorted((row for row in read_csv(design_path) if row["block"] == block), key=lambda row: row["order"])
    if not rows:
        raise UserError(f"{design_path}: block: found no run of {block!r}, expected at least one")
    folder = Path(output).parent
    with alone(folder, "this block"), lanes.after_others(folder.parent / ".lane"):
        Block(
            loaded, settings, block, rows, folder,
            source=paths.shown(project.testbed_path(testbed)),
            look=look,
            allowance=Budget.read(os.environ.get(budget.VARIABLE, "")).allowance(f"{paper}/{block}"),
            before=before(folder.parents[2], settings, loaded, rows, project.load_config()["outliers"]),
        ).measure()  # fmt: skip


class Block:
    """One block: its rows in the order of running and the journal that they go to.

    `source`: what messages call the testbed's description; `look` tells what the paper's claims are worth so far, where
    the paper has looks at the effort; `before`: what the testbed's links say of the block; `around` makes each attempt
    at a run; `attempts`: at a run or a floor, in place of those of the testbed's limits; `climbs`: whether another k is
    taken where the processors are too slow.
    """

    def __init__(
        self, paper: Paper, testbed: Mapping[str, Any], name: str, rows: Sequence[DesignRow], folder: Path, *,
        source: str = "testbed", look: Look | None = None, allowance: Allowance | None = None,
        before: Before | None = None, around: Around = plainly, attempts: int | None = None,
        climbs: bool = True,
    ) -> None:  # fmt: skip
        self.config, self.name, self.rows, self.source = testbed, name, rows, source
        self.effort = name.rsplit("-", 1)[0]
        smoke, here = self.effort == "smoke", testbed["kind"] == "emulated"
        self.ladder = Ladder(paper, folder.parent, climbs and here and not smoke)
        self.before = before or Before()
        self.journal = Journal(folder)
        self.look, self.around, self.allowance = look, around, allowance or Allowance()
        self.attempts = attempts or (SMOKE_ATTEMPTS if smoke else testbed["limits"]["attempts"])
        self.left: dict[str, str] = {}
        """Runs that were not made, and why."""
        self.spent: defaultdict[str, float] = defaultdict(float)
        """Seconds by what was done."""

    @property
    def paper(self) -> Paper:
        """The paper with the k that its runs have."""
        return self.ladder.paper

    @property
    def plan(self) -> BlockPlan:
        """What its runs are, at the k that they have."""
        return BlockPlan(self.paper, self.config, self.effort)

    def measure(self) -> None:
        """Make the runs that are missing. Raises UserError when the testbed cannot work here."""
        begin, seconds = time.monotonic(), self.allowance.first()
        self._resume()
        with lanes.lane() as lane:
            while True:
                try:
                    campaign = self._make_missing(begin + seconds, begin + self.allowance.own, lane)
                    break
                except TooHeavy as heavy:
                    self._climb(str(heavy))
        self.left = campaign.left
        self.journal.finish(
            {
                "block": self.name,
                "runs": [row["run_id"] for row in self.rows],
                "given_up": campaign.given_up,
                "unavailable": campaign.unavailable,
                "left": campaign.left,
                "rung": self.paper.rung,
                "budget_seconds": round(seconds, 1) if math.isfinite(seconds) else None,
                "start_budget_seconds": self.allowance.start if math.isfinite(self.allowance.start) else None,
                "seconds": round(time.monotonic() - begin, 1),
                "pace": round(campaign.progress.pace, 3),
                "spent": {what: round(seconds, 1) for what, seconds in self.spent.items()},
                "marks": list(self.before.marks),
                **environment.commit(),
            }
        )

    def _resume(self) -> None:
        """Check what an earlier start left, and keep to its k. Raises UserError."""
        found = read_block(self.journal.folder, self.rows, measuring=True)
        if found.faults:
            raise Faults([*found.faults, "remove the folders that are damaged, and their runs are measured again"])
        raw, designed = self.journal.folder.parent, {row["run_id"] for row in self.rows}
        runs = [each for each in found.runs if each[1]["run_id"] in designed]
        others = {record.get("rung", 0) for path in raw.glob(f"{self.effort}-*/block.json")
                  if (record := block_record(path))}  # fmt: skip
        self.ladder.go_on(lambda on: others <= {on.rung} and not of_another_k(on, self.config, runs))
        if faults := of_another_k(self.paper, self.config, runs):
            remedy = "remove the runs of another k, and they are measured again"
            if self.ladder.climbs and self.paper.rungs > 1:
                remedy += f"; or write the rung of those that shall stay into {paths.shown(raw / FILE)}"
            raise Faults([*faults, remedy])

    def _climb(self, why: str) -> None:
        """Take the next k; what counted at the one before counts no more."""
        for row in self.rows:
            if self.journal.has(row["run_id"]):
                self.journal.set_aside(row["run_id"], f"made at another k: {why}")
        self.ladder.climb(why)
        print(f"{self.name}: {why}: taking the next one", file=sys.stderr, flush=True)

    def _make_missing(self, until: float, give_up_at: float, lane: int) -> Campaign:
        """Make what is missing at the present k; see Campaign for the moments. Raises TooHeavy, UserError."""
        plan, floors = self.plan, valid_floors(self.journal.folder)
        missing = [plan.run(row) for row in self.rows if not self.journal.has(row["run_id"])]
        clusters = groups.clusters(plan.paper, missing, self.config)
        ordered = [seconds for key, runs in clusters.items() for seconds in plan.expected(key, runs, floors)]
        # Side by side, blocks of several papers have one name.
        name = f"{plan.paper.id} {self.name}" if lanes.count() > 1 else self.name
        campaign = Campaign(
            plan, self.rows, self.journal, Progress(name, ordered, len(clusters)), self.attempts, self.allowance,
            self.look, self.around, until, give_up_at, self.spent, lane,
        )  # fmt: skip
        left = until - time.monotonic()
        within = f" within {budget.words(left)}" if math.isfinite(left) else ""
        campaign.progress.say(f"{len(self.rows)} runs, {len(missing)} to make{within}")
        if missing:
            self._make(campaign, clusters)
        return campaign

    def _make(self, campaign: Campaign, clusters: Mapping[str, Sequence[Run]]) -> None:
        """Make runs, by the services that they share."""
        self.journal.begin()
        self._note_what_is_asked()
        with campaign.progress.going():
            preflight(self.config)
            # Before the first cluster, so that no look at claims waits for them.
            missing = [run for runs in clusters.values() for run in runs]
            campaign.leave_out(services.unavailable(self.config, missing))
            number = 0
            for key, runs in clusters.items():
                number = self._on_one_cluster(campaign, key, runs, number)
        campaign.progress.say(f"finished{campaign.not_made()}")

    def _note_what_is_asked(self) -> None:
        """Enter what the paper's claims ask before any further run is made."""
        digests = asked.digests(self.paper, self.effort)
        Campaign.keep(NAME, lambda: note(self.journal.folder, time.time(), RULE_VERSION, digests))

    def _on_one_cluster(self, campaign: Campaign, shared: str, runs: Sequence[Run], number: int) -> int:
        """Make the runs that share one start of the cluster; `number` were begun before. Returns how many are now."""
        runs = [run for run in runs if run.row["run_id"] not in campaign.unavailable]
        if not runs:
            return number
        needs = campaign.plan.seconds_until_a_run(shared, runs, campaign.known_floors)
        roles, place, _, slots, *racks = json.loads(shared)
        if self.config["kind"] != "emulated" or all(run.store["kind"] != "cephfs" for run in runs):
            roles = without_servers(roles)
        testbed = testbeds.open_testbed(self.config, roles, runs[0].scale.k, self.source)
        if number == 0:
            testbed.preflight()
        campaign.progress.cluster()
        logs = self.journal.folder / "logs"
        with contextlib.ExitStack() as up, contextlib.ExitStack() as starting:
            # What starts takes all processors that it gets, and what is probed must not lack them.
            starting.enter_context(campaign.holding(ALL))
            if time.monotonic() + needs > campaign.until:
                campaign.left |= {run.row["run_id"]: BUDGET for run in runs}
                return number
            begin = time.monotonic()
            up.enter_context(testbed)
            if place:
                testbed.fabric(place[0])
            self._calibrate(testbed, runs, campaign.progress)
            suite, lacking = services.suite(testbed, self.config, runs, logs)
            campaign.leave_out(lacking)
            runs = [run for run in runs if run.row["run_id"] not in campaign.unavailable]
            if not runs:
                return number
            stack = Services(testbed, self.config, runs, logs, slots, *racks).stack(suite)
            up.callback(stack.stop)
            services.start(stack)
            campaign.progress.say(f"ready: {services.started(stack)}; warming up")
            campaign.spent["start"] += time.monotonic() - begin
            starting.close()
            for (k, model), alike in groups.by_scale(runs).items():
                stack.scale(k, model)
                testbed.fabric(alike[0].parameters["fabric"])
                services.record_environment(testbed, stack, self.config, self.journal.folder)
            session = Session(
                campaign, stack, runs, campaign.plan.floors(shared, runs, campaign.known_floors), self.ladder
            )
            session.prepare()
            return session.make(number)

    def _calibrate(self, testbed: Testbed, runs: Sequence[Run], progress: Progress) -> None:
        """Probe links and drives at every scale that the runs have. Raises UserError for one beyond its bound."""
        progress.say(f"{len(testbed.hosts)} hosts up ({testbed.congestion_control}), probing links and drives")
        probing = Probing(self.config, self.effort, self.journal.folder, self.before.carried)
        for (k, model), alike in groups.by_scale(runs).items():
            testbed.k = k
            probing.calibrate(testbed, model, alike)
        testbed.warm_memory(WARM_MEMORY_GIB)
