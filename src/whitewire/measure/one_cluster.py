"""Make the runs of a block that share one start of the cluster: probes, services, warm-up, runs, end."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from whitewire.cluster.stack import Stack
from whitewire.description.capabilities import capabilities_of
from whitewire.description.paper import without_servers
from whitewire.description.transports import TCP, Transport, transport_of
from whitewire.errors import CannotMake
from whitewire.measure import environment, groups, services
from whitewire.measure.campaign import Campaign
from whitewire.measure.execution import cannot_make
from whitewire.measure.limits_exceeded import Carried
from whitewire.measure.probing import probe_cluster
from whitewire.measure.run import Run
from whitewire.measure.scale_candidate import ScaleCandidates
from whitewire.measure.session import Session
from whitewire.measure.spread import ROUNDS_FOLDER, Claims, Lead, Mate, Worker, WorkerTask
from whitewire.measure.weights import ALL
from whitewire.records.reasons import BUDGET, Reason
from whitewire.testbed import kinds as testbeds
from whitewire.testbed.base import Testbed

WARM_MEMORY_GIB = 1.0
"""Memory touched before the first run: about what one run's replicas take."""


@dataclass(frozen=True)
class OneCluster:
    """Starts of a cluster, each for the runs of a block that share its services.

    `source`: name of the testbed's description in messages; `carried`: Mbit/s of a site's pairs, from the stage
    `links`; `workers`: processes that make rounds in further lanes.
    """

    campaign: Campaign
    candidates: ScaleCandidates
    source: str
    carried: Carried = field(default_factory=dict)
    workers: list[Worker] = field(default_factory=list)

    def make(self, runs: Sequence[Run], number: int, task: WorkerTask, team: Mate | None = None) -> int:
        """Make the runs of one start; returns how many have begun, including `number` before it.

        With `team`, this is a further lane, which does `task`; without it, `task` is the template for further lanes.
        Raises CannotMake, TooHeavy, UserError.
        """
        campaign = self.campaign
        runs = [run for run in runs if run.row["run_id"] not in campaign.unavailable]
        if not runs:
            return number
        spent = sum(campaign.spent[what] for what in ("start", "warm-up"))
        known = campaign.overheads_of_lane if team else campaign.known_overheads
        testbed = self._testbed(task.shared, runs)
        transport = transport_of(campaign.plan.config, runs[0].parameters)
        campaign.progress.cluster()
        logs = campaign.journal.folder / "logs" / (f"lane-{campaign.lane}" if team else "")
        if number == 0 or transport.name != TCP:
            self._preflight(testbed, transport, logs)
        with cannot_make(logs), contextlib.ExitStack() as up:
            # Starting services use all processors that they get, and probes must not lack any.
            with campaign.holding(ALL):
                if not campaign.deadline.has(campaign.plan.seconds_until_a_run(task.shared, runs, known)):
                    campaign.left |= {run.row["run_id"]: Reason(BUDGET) for run in runs}
                    return number
                with campaign.spending("start"):
                    up.enter_context(testbed)
                    stack, runs = self._start(up, testbed, task.shared, runs, logs)
            if stack is None:
                return number
            overheads = campaign.plan.overheads(task.shared, runs, known)
            session = Session(campaign, stack, runs, overheads, self.candidates)
            if team:
                session.turns.rounds.ahead = list(task.ahead)
                overheads.divide(task.lanes, 0, leads=False)
            session.prepare()
            if team or not self.workers:
                return session.make(number, team)
            started = sum(campaign.spent[what] for what in ("start", "warm-up")) - spent
            return self.lead(session, number, task, started)

    def _testbed(self, shared: str, runs: Sequence[Run]) -> Testbed:
        """The testbed of a start, not yet up."""
        config = self.campaign.plan.config
        roles, *_ = json.loads(shared)
        mounted = any(run.store["kind"] == "cephfs" for run in runs)
        if not (mounted and capabilities_of(config).starts_file_system):
            roles = without_servers(roles)
        return testbeds.open_testbed(config, roles, runs[0].scale.k, self.source, self.campaign.lane)

    def _preflight(self, testbed: Testbed, transport: Transport, logs: Path) -> None:
        """Check the hosts, and that their image is the one of the paper's runs and overhead runs at this effort.

        Raises UserError; CannotMake for what hosts lack for a transport, which costs its runs alone.
        """
        with contextlib.nullcontext() if transport.name == TCP else cannot_make(logs):
            image = testbed.preflight(transport=transport)
        self.campaign.image = image
        if image:
            kept = self.campaign.paper_runs.kept()
            earlier = {folder: [record.get("image", "") for record in records] for folder, records in kept}
            environment.check_image(image, self.source, earlier)

    def _start(self, up: contextlib.ExitStack, testbed: Testbed, shared: str, runs: Sequence[Run], logs: Path
               ) -> tuple[Stack | None, Sequence[Run]]:  # fmt: skip
        """Probe hosts and start their services, which `up` stops; returns the services and the runs that they can make.

        If there are no such runs, no service is started, and the services are None.
        """
        campaign, config = self.campaign, self.campaign.plan.config
        _, place, _, slots, racks, *_ = json.loads(shared)
        if place:
            testbed.fabric(place[0])
        runs = self.calibrate(testbed, runs)
        suite, lacking = services.suite(testbed, config, runs, logs)
        campaign.leave_out(lacking)
        runs = [run for run in runs if run.row["run_id"] not in campaign.unavailable]
        if not runs:
            return None, runs
        stack = services.stack_of(testbed, config, runs, logs, slots, racks, suite)
        up.callback(stack.stop)
        services.start(stack)
        for (k, model), alike in groups.by_scale(runs).items():
            stack.scale(k, model)
            testbed.fabric(alike[0].parameters["fabric"])
            services.record_environment(testbed, stack, config, campaign.journal.folder)
        campaign.progress.say(f"ready: {services.started(stack)}; warming up")
        return stack, runs

    def calibrate(self, testbed: Testbed, runs: Sequence[Run]) -> list[Run]:
        """Probe links and drives at every scale of the runs; returns the runs whose scale is within its bounds.

        Raises CannotMake if there is none.
        """
        campaign, folder = self.campaign, self.campaign.journal.folder
        lost: list[tuple[Sequence[Run], CannotMake]] = []
        campaign.progress.say(f"{len(testbed.hosts)} hosts up ({testbed.congestion_control}), probing links and drives")
        for (k, model), alike in groups.by_scale(runs).items():
            testbed.k = k
            try:
                with cannot_make(folder):
                    probe_cluster(testbed, model, alike, campaign.plan.config, folder, self.carried)
            except CannotMake as failure:
                lost.append((alike, failure))
        without = {run.row["run_id"] for alike, _ in lost for run in alike}
        kept = [run for run in runs if run.row["run_id"] not in without]
        if not kept:
            raise lost[0][1]
        for beyond, why in lost:
            campaign.fail(beyond, str(why))
        testbed.warm_memory(WARM_MEMORY_GIB)
        return kept

    def lead(self, session: Session, number: int, task: WorkerTask, started: float) -> int:
        """Make the runs of a cluster whose start took `started` seconds, together with further lanes."""
        campaign, folder = self.campaign, self.campaign.journal.folder
        claims = Claims(folder / ROUNDS_FOLDER, task.place)
        lead = Lead(claims, self.workers, task, campaign.journal.has, campaign.progress.say, started)
        with contextlib.closing(lead):
            try:
                with cannot_make(folder / "logs"):
                    return session.make(number, lead)
            except CannotMake:
                campaign.add(lead.leave())
                raise
