"""The order of a cluster's runs: which one is next, when invalid ones are tried again, which are left out and why.

Pure, except for a clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from whitewire.levels import CellId
from whitewire.measure.engine import NEVER, Deadline
from whitewire.measure.rounds import Rounds, Seen
from whitewire.measure.run import Run
from whitewire.records.reasons import BUDGET, DECIDED, OTHERS, Reason

MORE_FOR_OTHERS = 3
"""Factor by which runs that other programs disturbed are tried more often than runs that are invalid themselves. They
are never given up, but left for the next start."""


@dataclass(frozen=True)
class AttemptOutcome:
    """How an attempt ended: why it does not count (empty: it does), whether with an error, whether disturbed by other
    programs, and how it lacked processors (empty: it did not)."""

    why: str = ""
    failed: bool = False
    disturbed: bool = False
    short: str = ""


class Turns:
    """The runs of a cluster in turn. No run begins that would end after `deadline`, and none after `give_up_at` if
    other programs have disturbed every attempt, since the next start may find the machine idle. `takes`: whether this
    lane makes a round; `by_round`: whether there may be other lanes."""

    def __init__(self, runs: Sequence[Run], rounds: Rounds, attempts: int, deadline: Deadline,
                 give_up_at: Deadline = NEVER, takes: Callable[[int], bool] = lambda number: True,
                 by_round: bool = False) -> None:  # fmt: skip
        self.waiting, self.rounds, self.attempts = list(runs), rounds, attempts
        self.deadline, self.give_up_at = deadline, give_up_at
        self.takes, self.by_round = takes, by_round
        self.near: Collection[CellId] | None = None
        """Cells of claims that may be decided, by the last interim analysis; None before the first one."""
        self.spare = deadline
        """Deadline of runs of other cells, once there was an interim analysis."""
        self.elsewhere: list[Run] = []
        """Runs of rounds that other lanes make."""
        self.tried: Counter[str] = Counter()
        self.disturbed: Counter[str] = Counter()
        self.given_up: list[str] = []
        self.left: dict[str, Reason] = {}
        """Runs that are not made, and why."""

    def next(self, pace: float = 1.0) -> Run | None:
        """The next run; None at the end. `pace`: actual seconds per planned second."""
        if self.hopeless:
            self.leave(Reason(OTHERS))
        while self.waiting:
            run = self.waiting.pop(0)
            if self.too_late(run, pace):
                self.left[run.row["run_id"]] = Reason(BUDGET)
            elif self.rounds.due(run.row["run_id"]) or self.takes(self.rounds.of[run.row["run_id"]]):
                return run
            else:
                self.elsewhere.append(run)
        return None

    @property
    def hopeless(self) -> bool:
        """Whether other programs have disturbed every attempt until `give_up_at`."""
        tried = self.tried.total()
        return not self.give_up_at.has(0) and tried > 0 and tried == self.disturbed.total()

    def too_late(self, run: Run, pace: float = 1.0) -> bool:
        """Whether a run that begins now would end after its deadline."""
        far = self.near is not None and self.rounds.rows[run.row["run_id"]] not in self.near
        return not (self.spare if far else self.deadline).has(pace * run.expected_seconds)

    def put_back(self, run: Run) -> None:
        """Make a run the next one again, because it was not its turn yet."""
        self.waiting.insert(0, run)

    def take_back(self, runs: Sequence[Run]) -> None:
        """Take over runs from another lane, as the next ones."""
        self.elsewhere = [run for run in self.elsewhere if run not in runs]
        self.waiting[:0] = runs

    def leave(self, why: Reason) -> None:
        """Leave out all waiting runs."""
        self.left |= {run.row["run_id"]: why for run in self.waiting}
        self.waiting.clear()

    def drop(self, seen: Seen, run: Run) -> int:
        """Leave out runs that no open claim needs, and put last those that hardly decide one.

        `run` is the first one after the interim analysis. Returns how many are left out.
        """
        self.near = seen.near
        after = self.rounds.before(run.row["run_id"])
        ids = self.rounds.dropped(seen, [each.row["run_id"] for each in self.waiting], after)
        self.left |= dict.fromkeys(ids, Reason(DECIDED, {"runs": after}))
        still = [each for each in self.waiting if each.row["run_id"] not in self.left]
        self.waiting = sorted(still, key=lambda each: self.rounds.turn(each.row["run_id"], seen, after, self.by_round))
        return len(ids)

    def ended(self, run: Run, outcome: AttemptOutcome) -> bool:
        """Note the end of an attempt at a run; returns whether there is to be another one."""
        run_id = run.row["run_id"]
        self.tried[run_id] += 1
        if not outcome.why:
            return False
        self.disturbed[run_id] += outcome.disturbed
        own = self.tried[run_id] - self.disturbed[run_id]
        if own >= self.attempts:
            self.given_up.append(run_id)
            return False
        if self.disturbed[run_id] >= MORE_FOR_OTHERS * self.attempts:
            self.left[run_id] = Reason(OTHERS)
            return False
        self.waiting.insert(self._place(run), run)
        return True

    def _place(self, run: Run) -> int:
        """Place before the next later round; later still after disturbances, as other programs may be idle by then."""
        run_id = run.row["run_id"]
        last = self.rounds.of[run_id] + self.disturbed[run_id]
        found = (place for place, each in enumerate(self.waiting) if self.rounds.of[each.row["run_id"]] > last)
        return next(found, len(self.waiting))
