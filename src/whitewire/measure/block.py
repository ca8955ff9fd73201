"""Executes one block of a design: probes, cluster up, warm-up, the runs that are missing, cluster down."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import math
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import psutil

from whitewire import budget, factors, paths, whole, workloads
from whitewire.budget import Budget
from whitewire.cluster import cephfs, hdfs, yarn
from whitewire.cluster.cephfs import CephFs
from whitewire.cluster.existing import Existing
from whitewire.cluster.hdfs import Hdfs
from whitewire.cluster.hibench import HiBench, hibench_of
from whitewire.cluster.posix import Posix
from whitewire.cluster.stack import Stack
from whitewire.cluster.yarn import Yarn
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper, experiments_asked, hardware_of, without_servers
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design import durations
from whitewire.design.drive import Drive
from whitewire.design.rows import defining_floor, levels_of, read_csv
from whitewire.design.scale import Scale, of_another_k, scale_of
from whitewire.errors import Faults, UserError, of_system
from whitewire.install.doctor import preflight
from whitewire.measure import environment, groups, rung
from whitewire.measure.alone import alone
from whitewire.measure.bench import Bench, warm_up
from whitewire.measure.beyond import Before, before
from whitewire.measure.calm import Calm, Readings
from whitewire.measure.floors import FLOOR_RUNS, UNJUDGED, Floors, too_wide
from whitewire.measure.probing import Probing, unused
from whitewire.measure.rounds import Look, Rounds, cell_of
from whitewire.measure.run import FAILURES, FloorKey, Run, floor_key, tiny
from whitewire.measure.rung import Ladder, TooHeavy
from whitewire.measure.shortage import Shortage
from whitewire.measure.turns import Outcome, Turns
from whitewire.progress import Progress
from whitewire.records import processors
from whitewire.records.checked import block_record, read_block
from whitewire.records.floor import name_of, typical
from whitewire.records.jobs import NET, losses
from whitewire.records.journal import BUDGET, Journal, read_runs, valid_floors
from whitewire.records.metrics import SHORT_OF_PROCESSORS, Found
from whitewire.records.result import Result
from whitewire.records.run import DesignRow, RunRecord
from whitewire.records.rung import FILE
from whitewire.testbed import kinds as testbeds
from whitewire.testbed.base import Testbed
from whitewire.testbed.emulated import segment, software
from whitewire.workloads import hibench_copy

OF_A_RUN = ("run_id", "order", "experiment", "replicate", "seed", "factors", "floors", "floor_wire")
"""What a floor's record does not take from the run that it is the floor of, among others."""
SMOKE_ATTEMPTS = 2
"""Attempts at a run or a floor at smoke effort."""
NO_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""What a run may fail by that no later run would escape."""
CLOSING_S, START_S = 15.0, 90.0
"""Seconds that a budget keeps for the end of a cluster, and at least for its start."""
WARM_UP_GIB = 1.0
"""Memory touched before the first run: about what one run's replicas take."""
WARM_UP_JOBS = 4
"""Jobs before the first run, however few runs are left: JVMs get faster over the first ones."""
WARM_UP, WARM_UP_SMOKE = (5, 2), (1, 1)
"""Rounds of many small puts, then runs of the block's largest cell; none is kept. At smoke effort, where it matters
more that all of it works than what it measures, there are fewer."""


def measure(paper: str, testbed: str, design_path: Path, block: str, output: Path, look: Look | None = None) -> None:
    """Make the runs of a block that its journal lacks; `output` (block.json) is written last.

    `look` tells what the paper's claims are worth so far: what they need no more is not measured. The environment may
    hold a budget (budget.VARIABLE), after which none is begun. Raises UserError when the testbed cannot work here or
    its calibration fails; runs that are finished stay.
    """
    settings = load_testbed(testbed)
    loaded = load_paper(project.paper_path(paper), fabric_names(settings))
    rows = [row for row in read_csv(design_path) if row["block"] == block]
    if not rows:
        raise UserError(f"{design_path}: block: found no run of {block!r}, expected at least one")
    folder = Path(output).parent
    with alone(folder, "this block"):
        made = Block(loaded, settings, block, sorted(rows, key=lambda row: row["order"]), folder)
        made.source = paths.shown(project.testbed_path(testbed))
        made.look = look
        own, name = Budget.read(os.environ.get(budget.VARIABLE, "")), f"{paper}/{block}"
        made.first, made.further = partial(own.first, name), partial(own.further, name)
        made.own, made.start_budget = own.own(name), own.seconds
        made.before = before(folder.parents[2], settings, loaded, made.rows, project.load_config()["outliers"])
        made.measure()


class Block:
    """One block: its rows in the order of running and the journal that they go to."""

    def __init__(
        self, paper: Paper, testbed: Mapping[str, Any], name: str, rows: Sequence[DesignRow], folder: Path
    ) -> None:
        self.config, self.name, self.rows = testbed, name, rows
        self.effort = name.rsplit("-", 1)[0]
        self.ladder = Ladder(paper, folder.parent, self.effort != "smoke" and testbed["kind"] == "emulated")
        self.source = "testbed"
        """What messages call the testbed's description."""
        self.look: Look | None = None
        """Tells what the paper's claims are worth so far, where the paper has looks at the effort."""
        self.first: Callable[[], float] = lambda: math.inf
        self.further = self.first
        """Seconds from now on in which it may measure until its first look at claims, and after that one."""
        self.own = math.inf
        """Seconds that it should take until its first look: after them others may not have spoiled every attempt."""
        self.start_budget = math.inf
        """Seconds that all blocks of the start may measure together."""
        self.before = Before()
        """What the testbed's links say of it."""
        self.net_experiments = experiments_asked(paper, NET)
        self.journal = Journal(folder)
        self.given_up: list[str] = []
        self.left: dict[str, str] = {}
        self.shortage = Shortage()
        self.unavailable: dict[str, str] = {}
        self.attempts = testbed["limits"]["attempts"] if self.effort != "smoke" else SMOKE_ATTEMPTS
        self.pace = 1.0
        self.spent: defaultdict[str, float] = defaultdict(float)
        self.until = self.unless = math.inf

    @property
    def paper(self) -> Paper:
        """The paper with the k that its runs have."""
        return self.ladder.paper

    @property
    def designed(self) -> set[str]:
        """Ids of the block's runs by its design."""
        return {row["run_id"] for row in self.rows}

    @property
    def probing(self) -> Probing:
        return Probing(self.config, self.effort, self.journal.folder, self.before.carried)

    def measure(self) -> None:
        begin, seconds = time.monotonic(), self.first()
        self.until, self.unless = begin + seconds, begin + self.own
        self._go_on()
        while True:
            try:
                self._make_missing()
                break
            except TooHeavy as heavy:
                self._climb(str(heavy))
        self.journal.finish(
            {
                "block": self.name,
                "runs": [row["run_id"] for row in self.rows],
                "given_up": self.given_up,
                "unavailable": self.unavailable,
                "left": self.left,
                "rung": self.ladder.paper.rung,
                "budget_seconds": round(seconds, 1) if math.isfinite(seconds) else None,
                "start_budget_seconds": self.start_budget if math.isfinite(self.start_budget) else None,
                "seconds": round(time.monotonic() - begin, 1),
                "pace": self.pace,
                "spent": {what: round(seconds, 1) for what, seconds in self.spent.items()},
                "marks": list(self.before.marks),
                **environment.commit(),
            }
        )

    def _go_on(self) -> None:
        """Check what an earlier start left, and keep to its k. Raises UserError."""
        found = read_block(self.journal.folder, self.rows, measuring=True)
        if found.faults:
            raise Faults([*found.faults, "remove the folders that are damaged, and their runs are measured again"])
        raw, designed = self.journal.folder.parent, self.designed
        runs = [each for each in found.runs if each[1]["run_id"] in designed]
        others = {record.get("rung", 0) for path in raw.glob(f"{self.effort}-*/block.json")
                  if (record := block_record(path))}  # fmt: skip
        self.ladder.go_on(lambda on: others <= {on.rung} and not of_another_k(on, self.config, runs))
        if faults := of_another_k(self.paper, self.config, runs):
            remedy = "remove the runs of another k, and they are measured again"
            if self.ladder.climbs and self.paper.rungs > 1:
                remedy += f"; or write the rung of those that shall stay into {paths.shown(raw / FILE)}"
            raise Faults([*faults, remedy])

    def _make_missing(self) -> None:
        missing = [self._run(row) for row in self.rows if not self.journal.has(row["run_id"])]
        clusters = groups.clusters(self.paper, missing, self.config)
        ordered = [seconds for key, runs in clusters.items() for seconds in self._expected(key, runs)]
        progress = Progress(self.name, ordered, len(clusters))
        left = self.until - time.monotonic()
        within = f" within {budget.words(left)}" if math.isfinite(left) else ""
        progress.say(f"{len(self.rows)} runs, {len(missing)} to make{within}")
        if not missing:
            return
        self.calm = Calm(progress.say)
        self.journal.begin()
        with progress.going():
            preflight(self.config)
            self._find_unavailable(missing, progress)
            number = 0
            for key, runs in clusters.items():
                number = self._on_one_cluster(key, runs, progress, number)
        self.pace = round(progress.pace, 3)
        progress.say(f"finished{self._not_made()}")

    def _not_made(self) -> str:
        """In words: how many runs were not made, by reason."""
        reasons = Counter(why.split(" after ")[0] for why in self.left.values())
        told = [f"{count} runs not made: {why}" for why, count in reasons.items()]
        told += [f"{len(self.given_up)} runs given up"] if self.given_up else []
        return "".join(f"; {each}" for each in told)

    @contextlib.contextmanager
    def _spending(self, what: str) -> Iterator[None]:
        """Count the time that something takes."""
        begin = time.monotonic()
        try:
            yield
        finally:
            self.spent[what] += time.monotonic() - begin

    def _try_heaviest(self, stack: Stack, runs: Sequence[Run], progress: Progress) -> None:
        """Make the heaviest cell once, which is not kept, where the k is still to be chosen. Raises TooHeavy."""
        run = rung.heaviest(runs)
        if not self.ladder.open or run is None:
            return
        progress.say(f"trying the heaviest cell at k = {run.scale.k:g}: {run.title.rsplit(' (', 1)[0]}")
        if readings := self._readings(stack):
            self.calm.before_a_run(readings, self.until)
        try:
            result = _made(stack, run)
            late = workloads.metrics(result.record, result.files)["cpu_late"][0]
        except FAILURES as failure:
            raise UserError(f"the heaviest cell: {_why(failure, stack)}; logs: {stack.logs}") from None
        progress.say(self.ladder.judge(run, late, self.config["limits"]["cpu_late_ms"]))

    def _climb(self, why: str) -> None:
        """Take the next k; what counted at the one before counts no more."""
        for row in self.rows:
            if self.journal.has(row["run_id"]):
                self.journal.set_aside(row["run_id"], f"made at another k: {why}")
        self.ladder.climb(why)
        self.shortage, self.given_up, self.left = Shortage(), [], {}
        print(f"{self.name}: {why}: taking the next one", file=sys.stderr, flush=True)

    @staticmethod
    def _readings(stack: Stack) -> Callable[[], Readings] | None:
        meter = stack.testbed.waiting()
        return meter.take if meter else None

    def _run(self, row: DesignRow) -> Run:
        levels = levels_of(self.paper, row)
        experiment = self.paper.experiments[row["experiment"]]
        scale = scale_of(self.paper, row["experiment"], self.effort, levels, self.config)
        store = self.paper.store(row["experiment"], levels)
        return Run(
            row=row,
            levels=levels,
            parameters=self.paper.parameters(row["experiment"], levels),
            settings=scale.settings(experiment.get("settings", {}).get(levels.get("settings"), {})),
            scale=scale,
            expected_seconds=durations.expected_seconds(self.paper, row, self.config),
            store=store,
            cpu=experiment.get("cpu", "limit"),
            drive=self._drive(experiment, levels, scale),
            workers=self._part(row, levels, store),
        )

    def _drive(self, experiment: Mapping[str, Any], levels: Mapping[str, Any], scale: Scale) -> Drive:
        """The drive model of a run; none on real hosts, whose drives are a site's own."""
        hardware = hardware_of(experiment, levels)
        if not hardware or self.config["kind"] != "emulated":
            return Drive.none(len(self.config.get("data", [""])))
        return Drive.scaled(hardware, scale.k, software.DRIVE_LIBRARY, scale.data_fraction)

    def _part(self, row: DesignRow, levels: Mapping[str, Any], store: Mapping[str, Any]) -> int | None:
        """How many of a larger cluster's workers a run's level of `nodes` asks for; None: it has a cluster for itself.

        Jobs whose data lie in a parallel file system may share one; in HDFS the data must lie on just as many hosts.
        """
        if self.config["kind"] != "emulated" or store["kind"] != "cephfs" or not workloads.of(row["workload"]).native:
            return None
        nodes, roles = levels.get("nodes", 0), self.paper.experiments[row["experiment"]]["roles"]
        return nodes if 0 < nodes < roles.get("datanode", 0) else None

    def _floors(self, shared: str, runs: Sequence[Run]) -> Floors:
        """The floors that a cluster's runs need, with those that an interrupted measurement left."""
        first: dict[FloorKey, int] = {}
        for place, run in enumerate(runs):
            if self._floored(run):
                first.setdefault(floor_key(run), place)
        names = {key: name_of(key, shared, self._defines(runs[place])) for key, place in first.items()}
        floored = [run for run in runs if self._floored(run)]
        judged = {floor_key(r) for r in floored if self.paper.origin(r.row["experiment"]) in self.net_experiments}
        counts = {key: 1 if self.effort == "smoke" else FLOOR_RUNS if key in judged else UNJUDGED for key in first}
        return Floors(first, names, len(runs), counts, valid_floors(self.journal.folder))

    def _defines(self, run: Run) -> str:
        """Digest of what of the testbed's description affects a run's floor."""
        return defining_floor(self.config, run.workload, run.store["kind"] == "cephfs")

    def _floored(self, run: Run) -> bool:
        return run.workload.floored(run.parameters, bool(self.config.get("hibench")))

    def _expected(self, shared: str, runs: Sequence[Run]) -> list[float]:
        """Seconds of each run of a cluster and of the floors after it; those before the first are part of the start."""
        floors, kinds = self._floors(shared, runs), {floor_key(run): run for run in runs if self._floored(run)}
        return [
            run.expected_seconds + sum(durations.floor_seconds(kinds[key].row) for key in floors.ahead(place))
            for place, run in enumerate(runs, start=1)
        ]

    def _until_a_run(self, shared: str, runs: Sequence[Run]) -> float:
        """Seconds until a cluster has made its first run and has ended: with less it would start for nothing."""
        floors, kinds = self._floors(shared, runs), {floor_key(run): run for run in runs if self._floored(run)}
        due = [durations.floor_seconds(kinds[key].row) for key in floors.ahead(0) if not floors.has(key)]
        return START_S + sum(due) + runs[0].expected_seconds + CLOSING_S

    def _on_one_cluster(self, shared: str, runs: Sequence[Run], progress: Progress, number: int) -> int:
        roles, place, _, slots, *racks = json.loads(shared)
        runs = [run for run in runs if run.row["run_id"] not in self.unavailable]
        if not runs:
            return number
        if time.monotonic() + self._until_a_run(shared, runs) > self.until:
            self.left |= {run.row["run_id"]: BUDGET for run in runs}
            return number
        emulated = self.config["kind"] == "emulated"
        drive = next((run.drive for run in runs if run.drive.limits), runs[0].drive)
        if not emulated or all(run.store["kind"] != "cephfs" for run in runs):
            roles = without_servers(roles)
        testbed = testbeds.open_testbed(self.config, roles, runs[0].scale.k, self.source)
        if number == 0:
            testbed.preflight()
        progress.cluster()
        begin = time.monotonic()
        with testbed:
            if place:
                testbed.fabric(place[0])
            progress.say(f"{len(testbed.hosts)} hosts up ({testbed.congestion_control}), probing links and drives")
            for (k, model), alike in groups.by_scale(runs).items():
                testbed.k = k
                self.probing.calibrate(testbed, model, alike)
            testbed.warm_memory(WARM_UP_GIB)
            suite = self._suite(testbed, runs, progress)
            runs = [run for run in runs if run.row["run_id"] not in self.unavailable]
            if not runs:
                return number
            stack = self._stack(testbed, drive, runs, slots, *racks)
            stack.hibench = suite
            try:
                self._start(stack)
                times = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in stack.start_seconds.items())
                again = f" (started twice: {stack.first_failure.splitlines()[0]})" if stack.first_failure else ""
                progress.say(f"ready: {times}{again}; warming up")
                self.spent["start"] += time.monotonic() - begin
                for (k, model), alike in groups.by_scale(runs).items():
                    stack.scale(k, model)
                    testbed.fabric(alike[0].parameters["fabric"])
                    self._record_environment(testbed, stack)
                floors = self._floors(shared, runs)
                with self._spending("warm-up"):
                    self._take_over(stack, floors, self._warm_up(stack, runs))
                    self._try_heaviest(stack, runs, progress)
                number = self._all(stack, runs, progress, number, floors)
            finally:
                stack.stop()
        return number

    def _suite(self, testbed: Testbed, runs: Sequence[Run], progress: Progress) -> HiBench | None:
        """The testbed's HiBench, checked for all that the runs want of it; None where it has none or none is wanted.

        Runs of programs that it lacks are left out. UserError for what would stop a run; see also workflow/plan.py.
        """
        own = [run for run in runs if run.workload.of_suite]
        if not own or not self.config.get("hibench"):
            return None
        wanted = [(run.parameters["program"], run.parameters["profile"]) for run in own]
        suite = hibench_of(testbed, self.config["hibench"], wanted, self.journal.folder / "logs")
        for program in dict.fromkeys(program for program, _ in wanted):
            if why := suite.lacks(program):
                self._leave_out([run for run in own if run.parameters["program"] == program], why, progress)
        return suite

    def _leave_out(self, runs: Sequence[Run], why: str, progress: Progress) -> None:
        """Do not make these runs: the testbed cannot have what they need; block.json says which and why."""
        progress.say(f"{len(runs)} runs left out: {why}")
        self.unavailable |= {run.row["run_id"]: why for run in runs}

    def _find_unavailable(self, runs: Sequence[Run], progress: Progress) -> None:
        """Leave out runs on a file system or a network that the testbed cannot have.

        Before the first cluster, so that no look at claims waits for them.
        """
        fabrics = self.config["fabrics"]
        mounted = [run for run in runs if run.store["kind"] == "cephfs"]
        on_a_segment = [run for run in runs if fabrics[run.parameters["fabric"]].get("shared")]
        for lost, reason in ((mounted, self._without_a_mount), (on_a_segment, segment.available)):
            if lost and (why := reason()):
                self._leave_out(lost, why, progress)

    def _without_a_mount(self) -> str:
        """Why there is no parallel file system on this testbed; empty where there is one."""
        if self.config["kind"] == "emulated":
            why = cephfs.available()
            return f"CephFS: {why}" if why else ""
        return "" if "mount" in self.config else "no parallel file system; a site names its own under `mount`"

    def _stack(self, testbed: Testbed, drive: Drive, runs: Sequence[Run], slots: int | None,
               racks: int = 0) -> Stack:  # fmt: skip
        first, logs = runs[0], self.journal.folder / "logs"
        scale = first.scale
        packet = max(run.scale.packet_bytes for run in runs)  # for what is no run: puts say their own
        values = hdfs.settings(testbed, scale.block_bytes, first.parameters.get("replication", 1), packet)
        if any("erasure_coding" in run.store for run in runs):
            # A block group needs as many DataNodes as it has blocks, which may be all, also the busiest.
            values |= {"dfs.namenode.redundancy.considerLoad": False}
        jobs_wanted = any(run.workload.on_yarn for run in runs)
        installation = testbeds.installation(testbed)
        mounts = any(run.store["kind"] == "cephfs" for run in runs)
        above = self._mounted(testbed, drive, logs) if mounts else None
        if "cluster" in self.config:
            site = self.config["cluster"]
            there = Existing(testbed, installation, site["configuration"], site["folder"], logs, jobs_wanted)
            return Stack(there, there if jobs_wanted else None, above)
        if jobs_wanted:
            place = above.mount if above else cephfs.MOUNT
            values |= yarn.settings(testbed, installation.configuration, place, slots)
        if racks:
            values |= hdfs.topology(testbed, installation.configuration, racks) | yarn.topology(testbed, racks)
        below = Hdfs(testbed, installation, values, drive, logs, software.IMAGE)
        return Stack(below, Yarn(testbed, installation, below, drive, logs) if jobs_wanted else None, above)

    def _mounted(self, testbed: Testbed, drive: Drive, logs: Path) -> CephFs | Posix:
        """The parallel file system: CephFS in Lustre's place, or what the site has mounted."""
        if testbed.emulated:
            return CephFs(testbed, drive.rate, logs)
        return Posix(testbed, self.config["mount"]["path"])

    def _record_environment(self, testbed: Testbed, stack: Stack) -> None:
        cluster = stack.hdfs
        record = environment.capture(testbed, cluster.installation.version) | {
            "cluster": {
                "configuration": cluster.values,
                "drive": stack.drive.record,
                "hdfs_seconds": cluster.hdfs_seconds,
                "start_seconds": cluster.start_seconds,
                "services": stack.start_seconds,
                "parallel_file_system": stack.mounted.kind if stack.mounted else None,
                "memory_mib": _memory_mib(stack),
            },
            "limits": self.config["limits"],
            "switch": self.config.get("switch", {}),
            **({"hibench": hibench_copy.described(self.config["hibench"]["home"])} if stack.hibench else {}),
        }
        path = unused(self.journal.folder, "environment", ".json")
        whole.write(path, json.dumps(record, indent=1, default=str) + "\n")

    def _warm_up(self, stack: Stack, runs: Sequence[Run]) -> dict[FloorKey, Result]:
        """Runs that are not kept: JVMs compile, files and memory get warm, so that the order of runs doesn't matter.

        Returns, at smoke effort, the last job of each kind on almost no data: its floor.
        """
        try:
            stack.testbed.fabric(stack.testbed.fastest())
            self._warm_up_puts(stack, [run for run in runs if not run.workload.on_yarn])
            floored = [run for run in runs if self._floored(run)] if stack.reuses_jvms else []
            warm = self._warm_up_jobs(stack, floored)
            stack.settle()
        except FAILURES as failure:
            raise UserError(f"warm-up: {_why(failure, stack)}; logs: {stack.logs}") from None
        return warm

    def _warm_up_puts(self, stack: Stack, puts: Sequence[Run]) -> None:
        if not puts:
            return
        puts = [run for run in puts if run.workload.modelled] or puts

        def load(run: Run) -> tuple[int, float]:
            rate = self.config["fabrics"][run.parameters["fabric"]]["rate_mbit_per_s"]
            return run.parameters["clients"] * run.parameters["puts_per_client"], rate

        largest = max(puts, key=load)
        rounds, repeats = WARM_UP_SMOKE if self.effort == "smoke" else WARM_UP
        for _ in range(rounds):
            warm_up(stack)
        for _ in range(repeats):
            _made(stack, largest)

    def _warm_up_jobs(self, stack: Stack, runs: Sequence[Run]) -> dict[FloorKey, Result]:
        # By workload and kind of store, each on as many hosts as it ever has; what times itself comes last.
        wide = sorted(runs, key=lambda run: (run.workers is None, run.parameters.get("maps", 1)))
        kinds = sorted({floor_key(run)[:2]: run for run in wide}.values(), key=lambda run: run.workload.times_itself)
        if self.effort == "smoke":  # each kind's last one is its floor; TestDFSIO's two jobs, first, warm up the others
            kinds.reverse()
            again = [] if any(run.workload.times_itself for run in kinds) else kinds
        else:
            again = list(itertools.islice(itertools.cycle(kinds), max(1, WARM_UP_JOBS - len(kinds))))
        warm = {floor_key(run): _tiny(stack, run) for run in [*again, *kinds]}
        return warm if self.effort == "smoke" else {}

    def _take_over(self, stack: Stack, floors: Floors, warm: Mapping[FloorKey, Result]) -> None:
        """Floors that are there before the first run: of an interrupted measurement, and what the warm-up gave."""
        for key in floors.known:
            if not floors.has(key) and key in warm:
                lacking = workloads.processors_of(warm[key].record, warm[key].files)
                if not self._keep_floor(floors, key, warm[key], lacking, attempt=1):
                    floors.skip(key)
            if floors.has(key):
                stack.floors[key] = typical(floors.known[key])

    def _keep_floor(self, floors: Floors, key: FloorKey, result: Result, lacking: Found, attempt: int, why: str = ""
                    ) -> str:  # fmt: skip
        """Write one floor to the journal; returns why it is not valid (empty: it is). `why` is for one that failed,
        `lacking` what it had of processors."""
        why = why or "; ".join([*result.record.get("disturbed", []), *losses(result.record, self.config["limits"])])
        record = cast("RunRecord", {name: of for name, of in result.record.items() if name not in OF_A_RUN})
        record |= {"floor": floors.name(key), "attempt": attempt, "valid": not why, "why_invalid": why}
        if lacking:
            record["outside"] = lacking["cpu_outside"][0]
        self._keep(f"a floor of {result.record['workload']}",
                   lambda: self.journal.write_floor({**record, **environment.commit()}, result.files))  # fmt: skip
        if not why:
            floors.add(key, record)
        return why

    def _floor(self, stack: Stack, floors: Floors, key: FloorKey, runs: Sequence[Run], progress: Progress) -> None:
        """What a job of a kind takes on almost no data, on the fastest fabric: starts of JVMs and the like.

        It does not shrink with the data, so it is measured beside the runs and told apart from them. One that is not
        valid is made again as often as a run is. Raises UserError when none of its kind is valid.
        """
        run = next(run for run in runs if self._floored(run) and floor_key(run) == key)
        readings, why = self._readings(stack), ""
        for attempt in range(1, self.attempts + 1):
            if readings:
                with self._spending("waiting"):  # as before a run: it would be said to lack what others slow down here
                    self.calm.before_a_run(readings, self.until)
            with self._spending("floors"):
                why = self._make_floor(stack, floors, key, runs, run, attempt, progress)
            if not why:
                return
        if not floors.has(key):
            raise UserError(f"floor of {run.row['workload']}: {why}; logs: {stack.logs}")

    def _make_floor(self, stack: Stack, floors: Floors, key: FloorKey, runs: Sequence[Run], run: Run, attempt: int,
                    progress: Progress) -> str:  # fmt: skip
        """Make one floor of a kind, by the run that it is the floor of; returns why it is not valid (empty: it is)."""
        what = " ".join(map(str, key))
        number, again = len(floors.known[key]) + 1, f", attempt {attempt}" if attempt > 1 else ""
        progress.say(f"floor {number} of {max(number, floors.counts[key])}: {what}{again}")
        why, failed = "", False
        found: Found = {}
        try:
            result = _tiny(stack, run)
            found = workloads.processors_of(result.record, result.files)
            # One that lacked processors is better than none: then all runs are tried beside the same programs.
            if attempt < self.attempts or floors.has(key):
                why = "; ".join(processors.faults(result.record, found, self.config["limits"]))
        except FAILURES as failure:
            why, failed = _why(failure, stack), True
            result = Result({"block": run.row["block"], "workload": run.row["workload"]}, _last_words(stack))
        why = self._keep_floor(floors, key, result, found, attempt, why)
        if not why:
            stack.floors[key] = typical(floors.known[key])
            return ""
        progress.say(f"floor of {what}: not valid: {why}")
        if failed and (attempt < self.attempts or floors.has(key)):
            progress.say(f"starting HDFS again ({', '.join(stack.dead()) or 'the floor did not end'})")
            self._restart(stack, runs)
        return why

    def _further_floors(self, stack: Stack, floors: Floors, runs: Sequence[Run], progress: Progress) -> None:
        """More floors of kinds whose floors scatter too much beside what is left of their shortest runs."""
        if self.effort == "smoke":
            return
        there, designed = read_runs(self.journal.folder.parent, [self.journal.folder.name]), self.designed
        kept = [record for _, record in there if record["valid"] and record["run_id"] in designed]
        for key in floors.known:
            own = [record for record in kept if record.get("floor") == floors.name(key)]
            for _ in range(floors.further(key)):
                if not too_wide(floors.known[key], own):
                    break
                self._floor(stack, floors, key, runs, progress)

    def _all(self, stack: Stack, runs: Sequence[Run], progress: Progress, number: int, floors: Floors) -> int:
        """Make the runs in turn, with floors among them, until claims are decided or time is up.

        Every attempt is kept. Attempts of an earlier, interrupted measurement do not count against the bound. TooHeavy
        when the processors are too slow at this k and there is another one.
        """
        turns, begun = self._turns(runs), 0
        readings = self._readings(stack)
        while (run := turns.next(progress.pace)) is not None:
            run_id = run.row["run_id"]
            if self.look and turns.rounds.due(run_id):
                turns.put_back(run)
                self._look_at_claims(turns, run, progress)
                continue
            # Those that are due at the end wait for the runs that are tried again.
            for key in floors.due(min(begun, len(runs) - 1)):
                self._floor(stack, floors, key, runs, progress)
            begun += 1
            if not turns.tried[run_id]:
                number += 1
            if readings:
                with self._spending("waiting"):
                    self.calm.before_a_run(readings, turns.until)
            tried = turns.tried[run_id] + 1
            progress.run(number, run.title + (f", attempt {tried}" if tried > 1 else ""))
            clock = time.monotonic()
            outcome = self._attempt(stack, run, floors)
            self.spent["runs" if not outcome.why else "spoiled"] += time.monotonic() - clock
            progress.done(outcome.why)
            if not outcome.spoiled:
                self.shortage.note(run_id, outcome.why)
            if turns.ended(run, outcome):
                progress.again(run.expected_seconds)
            if turns.waiting:
                self._check_processors(run, turns, progress)
            if outcome.failed and (turns.waiting or floors.ahead(len(runs))):
                # A daemon or client that ended or hangs: nothing of the old cluster is trusted.
                progress.say(f"starting HDFS again ({', '.join(stack.dead()) or 'the run did not end'})")
                self._restart(stack, turns.waiting or runs)
        self.given_up += turns.given_up
        self.left |= turns.left
        if turns.hopeless:
            return number
        for key in floors.due(len(runs)):
            self._floor(stack, floors, key, runs, progress)
        self._further_floors(stack, floors, runs, progress)
        return number

    def _turns(self, runs: Sequence[Run]) -> Turns:
        """The runs of a cluster in turn. Once a run of the block counted, of this or another cluster, others do not
        spoil all of them."""
        unless = math.inf if self.spent.get("runs") else self.unless
        return Turns(runs, self._rounds(), self.attempts, self.until - CLOSING_S, unless=unless)

    def _rounds(self) -> Rounds:
        rows = {row["run_id"]: cell_of(row["experiment"], levels_of(self.paper, row)) for row in self.rows}
        looks = self.paper.looks(self.effort)
        return Rounds(rows, looks if len(looks) > 1 else ())

    def _look_at_claims(self, turns: Turns, run: Run, progress: Progress) -> None:
        """Leave out what no open claim needs any more."""
        assert self.look is not None, "it is looked only where there is something to look with"
        with self._spending("looks"):
            seen = self.look(self.paper, self.config, self.journal.folder, self.designed, self.unavailable)
        turns.rounds.looked(run.row["run_id"])
        # Of this cluster only: another one of the block still has its first look before it.
        turns.until = min(turns.until, time.monotonic() + self.further() - CLOSING_S)
        dropped = turns.drop(seen, run)
        progress.say(f"looked at the claims: {len(seen.decided)} decided, {len(seen.open)} open; {dropped} runs are "
                     f"not needed, {len(turns.waiting)} are left")  # fmt: skip
        progress.left([each.expected_seconds for each in turns.waiting])

    def _check_processors(self, run: Run, turns: Turns, progress: Progress) -> None:
        """What to do when hardly any run gets the processors that it needs, though others leave them to it.

        TooHeavy where there is a larger k; else the cells that this machine cannot make are tried less often.
        """
        if not self.ladder.climbs or not (short := str(self.shortage)):
            return
        if not self.ladder.last:
            raise TooHeavy(f"k = {run.scale.k:g} is too small for this machine ({short})")
        progress.say(f"{short}: this machine is too slow for k = {run.scale.k:g}; cells that lack processors are tried "
                     f"once more only. A larger k: `scale` in {paths.shown(self.paper.path)}")  # fmt: skip
        turns.attempts, self.shortage = 2, Shortage()

    @staticmethod
    def _start(stack: Stack) -> None:
        """Start all services; a start in some dozens fails, so once again. Raises UserError when that fails too."""
        try:
            stack.start()
        except FAILURES:
            stack.stop()
            try:
                stack.start()
            except FAILURES as failure:
                why = _why(failure, stack)
                raise UserError(f"the services do not start: {why}; logs: {stack.logs}") from None

    def _restart(self, stack: Stack, runs: Sequence[Run]) -> None:
        """Start again and warm up, twice if need be: what broke a run (a full drive) may outlast it by some seconds."""
        stack.stop()
        self._start(stack)
        try:
            self._warm_up(stack, runs)
        except UserError:
            stack.stop()
            self._start(stack)
            self._warm_up(stack, runs)

    def _attempt(self, stack: Stack, run: Run, floors: Floors) -> Outcome:
        """One attempt, which is kept."""
        run_id, failed, spoiled, no_disk = run.row["run_id"], False, False, False
        attempt = self.journal.attempt(run_id)
        try:
            result = _made(stack, run)
            files = result.files
            values = workloads.metrics(result.record, files)
            record, why = result.record, "; ".join(workloads.faults(result.record, values, self.config["limits"]))
            others = values.get("cpu_outside", (0.0, ""))[0] > processors.OTHERS_CORES or run.cpu == "report"
            spoiled = SHORT_OF_PROCESSORS in why and others
        except FAILURES as failure:
            cells: Mapping[str, Any] = run.row
            row = cast("RunRecord", {name: cells[name] for name in DesignRow.__annotations__ if name in cells})
            record = {**row, "factors": dict(run.levels), "scale": run.scale.record}
            why, failed = _why(failure, stack), True
            no_disk = _no_disk(failure)
            files = _last_words(stack)
        floor = floors.name(floor_key(run)) if self._floored(run) else ""
        record |= {"floor": floor, "attempt": attempt, "valid": not why, "why_invalid": why, **environment.commit()}
        try:
            self._keep(run_id, lambda: self.journal.write(run_id, record, files, valid=not why))
        except UserError as error:
            record |= {"valid": False, "why_invalid": str(error)}
            with contextlib.suppress(OSError):  # a record alone may fit where its files do not
                self.journal.write(run_id, record, {}, valid=False)
            raise
        if no_disk:
            raise UserError(f"{run_id}: {why}")
        return Outcome(why, failed, spoiled)

    @staticmethod
    def _keep(what: str, write: Callable[[], object]) -> None:
        """Write to the journal; UserError where the disk does not take it: what comes after would be lost too."""
        try:
            write()
        except OSError as error:
            raise UserError(f"{what} could not be kept: {of_system(error)}") from error


def _last_words(stack: Stack) -> dict[str, str]:
    """Ends of the logs of daemons that have ended, by file name."""
    return {f"{name}.log": daemon.log_end(60) for name, daemon in stack.processes().items() if not daemon.alive}


def _tiny(stack: Stack, run: Run) -> Result:
    """The run's jobs on almost no data, on the fastest fabric."""
    own = {name: value for name, value in run.parameters.items() if name not in factors.NETWORK}
    parameters = {**own, "fabric": stack.testbed.fastest()}
    return _made(stack, replace(tiny(run), parameters=parameters, levels={}))


def _made(stack: Stack, run: Run) -> Result:
    """The run, at its scale and on as many of the workers as it asks for."""
    stack.scale(run.scale.k, run.drive, run.parameters.get("slow_drives", 1.0))
    slots = groups.slots(run, {"datanode": run.workers}) if run.workers else None
    stack.work_on((run.workers, slots) if run.workers and slots else None)
    return run.workload.run(Bench(stack, run))


def _memory_mib(stack: Stack) -> float:
    """Proportional set size of all daemons and clients, in MiB."""
    total = 0.0
    for process in stack.processes().values():
        main = process.main_process()
        if main is not None:
            with contextlib.suppress(psutil.Error):
                total += main.memory_full_info().pss / 2**20
    return round(total, 1)


def _why(failure: Exception, stack: Stack) -> str:
    """Why a run failed, in one line; also which daemons found a drive full: it may then wait for ever."""
    names = [name for name, process in stack.processes().items() if "No space left on device" in process.said()]
    drives = [f"no space left on a drive, say {', '.join(sorted(names)[:3])}"] if names else []
    try:
        whole.check_space(stack.logs)
    except OSError as error:
        return "; ".join([str(of_system(error)), *([] if _no_disk(failure) else [_line(failure)]), *drives])
    return "; ".join([_line(failure), *drives])


def _no_disk(failure: Exception) -> bool:
    return isinstance(failure, OSError) and failure.errno in NO_DISK


def _line(failure: Exception) -> str:
    said: object = of_system(failure) if isinstance(failure, OSError) and failure.errno else failure
    if isinstance(failure, ArithmeticError | LookupError | StopIteration):  # whose words alone say nothing
        said = f"what it left cannot be computed with: {failure.__class__.__name__}: {failure}"
    return " ".join(str(said).split())[:400] or failure.__class__.__name__
