"""The rounds of a block: the round of each run, when an interim analysis is due, and which runs it makes unnecessary.

An interim analysis judges the claims by the runs so far; decided claims need no more runs.

Pure, except for the analysis itself, which is given to the block and reads the kept results: stages share files only.
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
    """Result of an interim analysis: decided claims, open claims, and the cells that open claims need.

    `near`: cells of claims that the effort's runs may decide, as far as known; `place`: the turn of each cell, by its
    first claim.
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


InterimAnalysis = Callable[[Paper, Mapping[str, Any], Path, Mapping[str, str], Mapping[CellId, str]], Seen]
"""An interim analysis. Arguments: a paper at the k of its runs, the testbed's description, a block's folder, the runs
to analyse by the design (id to block; an earlier design may have left others), and the cells that the machine cannot
make, with the reason.
"""


@dataclass
class Rounds:
    """The runs of a block by round.

    `rows`: run id → cell, in the order of running. `analyses`: numbers of runs per cell after which claims are
    analysed; the last is no interim analysis, because no run is left after it.

    Blocks of a paper number their rounds alternately: of two `blocks`, the one with `first` 1 has rounds 1, 3, 5, … and
    the other 2, 4, 6, … `made`: whether the other blocks have made their rounds up to a number. An analysis waits for
    them, so that after n runs it sees the same runs in every block, and takes place only where the levels of intervals
    plan one.
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
        """Whether an interim analysis is due before a run, because the run belongs to a round after the analysis."""
        return bool(self.ahead) and self.of[run_id] > self.ahead[0] and self.made(self.ahead[0])

    def before(self, run_id: str) -> int:
        """Runs per cell that an analysis before a run sees: the largest planned number that all blocks have made."""
        return max((runs for runs in self.analyses if runs < self.of[run_id] and self.made(runs)), default=0)

    def analysed(self, run_id: str) -> None:
        """Note that all interim analyses before a run are made."""
        made = self.before(run_id)
        self.ahead = [runs for runs in self.ahead if runs > made]

    def dropped(self, seen: Seen, waiting: Collection[str], after: int) -> list[str]:
        """The waiting runs that are no longer needed after a round: those of cells that no open claim needs.

        Runs up to that round, which wait because they were disturbed, stay, so that each cell has equally many.
        """
        needed = set(seen.cells)
        return [run_id for run_id in waiting if self.of[run_id] > after and self.rows[run_id] not in needed]

    def turn(self, run_id: str, seen: Seen, after: int, by_round: bool) -> tuple[bool, bool, int, int, int]:
        """The sort key of a run after the analysis at `after` runs.

        Cells that no open claim needs come last, preceded by cells that hardly decide a claim. The other runs come in
        the order of analyses, then of claims, each in whole rounds; with `by_round`, round by round, because lanes take
        rounds.
        """
        cell, number = self.rows[run_id], self.of[run_id]
        stage = sum(runs < max(number, after + 1) for runs in self.analyses)
        place = seen.place.get(cell, len(seen.place))
        own = (number, place) if by_round else (place, number)
        return cell not in seen.cells, cell not in seen.near, stage, *own
