"""The rounds of a block: which run is of which, when an interim analysis is due, and which runs it makes needless.

An interim analysis judges the claims by the runs so far; those that are decided need no more.

Pure, but for the analysis itself, which reads what was kept so far and is given to the block: stages meet in files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from whitewire.description.paper import Paper
from whitewire.levels import CellId


class Seen(Protocol):
    """What an interim analysis found: the claims that are decided, those that are open, and the cells that these need.

    `near` are those of the cells on which a claim rests that the effort's runs may decide, as far as is known, and
    `place` is the turn of each of them: that of its first claim.
    """

    @property
    def decided(self) -> Collection[str]: ...
    @property
    def open(self) -> Collection[str]: ...
    @property
    def cells(self) -> Collection[CellId]: ...
    @property
    def near(self) -> Collection[CellId]: ...
    @property
    def place(self) -> Mapping[CellId, int]: ...


Interim = Callable[[Paper, Mapping[str, Any], Path, Mapping[str, str], Mapping[str, str]], Seen]
"""From a paper with the k of its runs, the testbed's description, a block's folder, the runs to analyse by the design
(id to block; an earlier design may have left others) and those that the machine cannot make, with the reason, to what
its claims are worth so far.
"""


@dataclass
class Rounds:
    """The runs of a block, `rows` (run id to cell) in the order of running. `analyses`: after how many runs of each
    cell claims are analysed; the last of them is no interim one, for then nothing is left to decide.

    Blocks of a paper number their rounds in turn: of two `blocks`, the `first` has rounds 1, 3, 5, … and the second 2,
    4, 6, … `made`: whether the other blocks have made theirs up to a number. So the analysis after n runs sees the same
    runs whichever block makes it, and there are no more analyses than those that the levels of intervals allow for.
    """

    rows: Mapping[str, CellId]
    analyses: Sequence[int]
    first: int = 1
    blocks: int = 1
    made: Callable[[int], bool] = lambda runs: True
    of: dict[str, int] = field(init=False)
    """The round of each run, from `first`."""
    ahead: list[int] = field(init=False)
    """The interim analyses that are still to be made."""

    def __post_init__(self) -> None:
        seen: Counter[CellId] = Counter()
        self.of = {}
        for run_id, cell in self.rows.items():
            seen[cell] += 1
            self.of[run_id] = self.first + self.blocks * (seen[cell] - 1)
        self.ahead = [runs for runs in self.analyses if runs < max(self.of.values(), default=0)]

    def due(self, run_id: str) -> bool:
        """Whether an interim analysis is due before a run: it is the first one of the round after the analysis."""
        return bool(self.ahead) and self.of[run_id] > self.ahead[0] and self.made(self.ahead[0])

    def before(self, run_id: str) -> int:
        """How many runs of each cell an analysis before a run is of: the largest number that all blocks have made."""
        return max((runs for runs in self.analyses if runs < self.of[run_id] and self.made(runs)), default=0)

    def analysed(self, run_id: str) -> None:
        """All interim analyses before a run are made."""
        made = self.before(run_id)
        self.ahead = [runs for runs in self.ahead if runs > made]

    def dropped(self, seen: Seen, waiting: Collection[str], after: int) -> list[str]:
        """Which of the waiting runs are needed no more after a round: those of cells that no open claim rests on.

        Runs of the rounds until then, which wait because they were disturbed, stay: each cell is to have as many.
        """
        needed = set(seen.cells)
        return [run_id for run_id in waiting if self.of[run_id] > after and self.rows[run_id] not in needed]

    def turn(self, run_id: str, seen: Seen, after: int, by_round: bool) -> tuple[bool, bool, int, int, int]:
        """What a run's turn is sorted by after the analysis at `after` runs: the rounds until the next analysis, in
        these the claims in turn, each in whole rounds; `by_round`: the rounds in turn, in each the claims, for lanes
        take rounds. What hardly decides a claim comes later, and cells that no open claim needs come last."""
        cell, number = self.rows[run_id], self.of[run_id]
        stage = sum(runs < max(number, after + 1) for runs in self.analyses)
        place = seen.place.get(cell, len(seen.place))
        own = (number, place) if by_round else (place, number)
        return cell not in seen.cells, cell not in seen.near, stage, *own
