"""What the clusters of a block share while its runs are made: journal, deadlines, runs left out and why."""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from whitewire import lanes
from whitewire.budget import Allowance
from whitewire.cluster.stack import Stack
from whitewire.errors import NotKept, of_system
from whitewire.measure import engine, environment
from whitewire.measure.block_plan import BlockPlan, Known
from whitewire.measure.engine import NEVER, Deadline
from whitewire.measure.idle import IdleWait
from whitewire.measure.paper_runs import PaperRuns
from whitewire.measure.rounds import InterimAnalysis
from whitewire.measure.run import Run
from whitewire.measure.shortage import Shortage
from whitewire.measure.spread import WorkerReport
from whitewire.measure.turns import AttemptOutcome
from whitewire.measure.weights import Weights
from whitewire.progress import Progress
from whitewire.records.journal import Journal, valid_overheads
from whitewire.records.reasons import FAILED, Reason
from whitewire.records.run import DesignRow, RunRecord

Around = Callable[[Callable[[], AttemptOutcome], Stack, str], AttemptOutcome]
"""Makes an attempt at the run with this id under special conditions, such as load; returns the attempt's outcome."""


def plainly(attempt: Callable[[], AttemptOutcome], stack: Stack, run_id: str) -> AttemptOutcome:
    """Make an attempt with nothing around it."""
    return attempt()


@dataclass
class Campaign:
    """The missing runs of a block while they are made.

    `deadline`: no run begins after it; nor after `give_up_at` if other programs have disturbed every attempt. `left`:
    why runs are not made, by id. `spent`: seconds by activity; `lane`: the number of its lane, from 1.
    """

    plan: BlockPlan
    rows: Sequence[DesignRow]
    journal: Journal
    progress: Progress
    attempts: int
    allowance: Allowance = field(default_factory=Allowance)
    interim: InterimAnalysis | None = None
    around: Around = plainly
    deadline: Deadline = NEVER
    give_up_at: Deadline = NEVER
    spent: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    lane: int = 1
    image: str = ""
    """SHA-256 of the hosts' container image; empty without one."""
    others: Sequence[DesignRow] = ()
    """The rows of the paper's other blocks."""
    given_up: list[str] = field(default_factory=list)
    left: dict[str, Reason] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    weights: Weights = field(default_factory=Weights)
    shortage: Shortage = field(default_factory=Shortage)
    timed: list[tuple[float, float]] = field(default_factory=list)
    """Actual and planned seconds of each valid run."""

    def __post_init__(self) -> None:
        self.idle = IdleWait(self.progress.say)
        self.paper_runs = PaperRuns(self.plan, self.journal.folder, self.rows, self.others)

    @property
    def designed(self) -> set[str]:
        """Ids of the block's runs in its design."""
        return {row["run_id"] for row in self.rows}

    @property
    def pace(self) -> float | None:
        """Seconds that valid runs took per planned second; None if there are none."""
        planned = sum(planned for _, planned in self.timed)
        return round(sum(took for took, _ in self.timed) / planned, 3) if planned else None

    @property
    def made_by(self) -> RunRecord:
        """The part of an attempt's record on its origin: commit, image, its lane and the number of lanes."""
        count = lanes.most()
        record: RunRecord = {**environment.commit()}
        if self.image:
            record["image"] = self.image
        return {**record, "lane": self.lane, "lanes": count} if count > 1 else record

    @property
    def known_overheads(self) -> Known:
        """Valid overhead runs in the journal, by name."""
        return valid_overheads(self.journal.folder)

    @property
    def overheads_of_lane(self) -> Known:
        """Valid overhead runs that this lane made, by name."""
        return {name: [each for each in made if each.get("lane") == self.lane]
                for name, made in self.known_overheads.items()}  # fmt: skip

    def spending(self, what: str) -> contextlib.AbstractContextManager[None]:
        """Count the seconds of the `with` block as those of an activity."""
        return engine.spending(self.spent, what)

    @contextlib.contextmanager
    def holding(self, processors: float) -> Iterator[None]:
        """Hold `processors` of those that lanes share; the wait for them counts as waiting."""
        with contextlib.ExitStack() as held:
            with self.spending("waiting"):
                held.enter_context(lanes.processors(processors))
            yield

    def wait_for_idle_processors(self, stack: Stack, deadline: Deadline) -> None:
        """Wait, within bounds, until other programs leave the processors to the hosts that share them."""
        if meter := stack.testbed.waiting():
            with self.spending("waiting"):
                self.idle.before_a_run(meter.take, deadline.ends)

    @staticmethod
    def keep(what: str, write: Callable[[], object]) -> None:
        """Write to the journal. Raises NotKept if the disk fails, because later results would be lost too."""
        try:
            write()
        except OSError as error:
            raise NotKept(f"{what} could not be kept: {of_system(error)}") from error

    def leave_out(self, lacking: Iterable[tuple[Sequence[str], str]]) -> None:
        """Leave out runs (by id) whose needs the testbed cannot meet; block.json lists them with the reason."""
        for lost, why in lacking:
            self.progress.say(f"{len(lost)} runs left out: {why}")
            self.unavailable |= dict.fromkeys(lost, why)

    def add(self, reports: Iterable[WorkerReport]) -> None:
        """Add the reports of other lanes; a run that one lane left out may have been made in another."""
        for report in reports:
            self.given_up += report.given_up
            self.left = {**report.left, **self.left}
            for what, seconds in report.spent.items():
                self.spent[what] += seconds
        gone = {*self.given_up}
        self.left = {name: why for name, why in self.left.items() if name not in gone and not self.journal.has(name)}

    def fail(self, runs: Iterable[Run], why: str) -> None:
        """Leave out, until the next start, the missing ones of these runs, because their cluster failed."""
        known = {*self.left, *self.given_up, *self.unavailable}
        lost = [run_id for run in runs if not self.journal.has(run_id := run.row["run_id"]) and run_id not in known]
        self.progress.say(f"{len(lost)} runs left out: {why}")
        self.left |= dict.fromkeys(lost, Reason(FAILED, {"why": why}))

    def not_made(self) -> str:
        """How many runs were not made, by reason, in words."""
        kinds = Counter(why.kind for why in self.left.values())
        lines = [f"{count} runs not made: {kind.begins or kind.meaning}" for kind, count in kinds.items()]
        lines += [f"{len(self.given_up)} runs given up"] if self.given_up else []
        return "".join(f"; {each}" for each in lines)
