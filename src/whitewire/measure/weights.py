"""How many processors a run needs: by the model of its cell at first, then by what runs of the cell used. Pure."""

from __future__ import annotations

import math

from whitewire.lanes import SPARE
from whitewire.measure import rung
from whitewire.measure.rounds import Cell, cell_of
from whitewire.measure.run import Run

ALL = math.inf
"""All processors: for what computes as fast as it can, such as a start of JVMs."""


class Weights:
    """The processors that the cells of one block need."""

    def __init__(self) -> None:
        self._used: dict[Cell, float] = {}

    def of(self, run: Run) -> float:
        """Processors that a run is to have."""
        return SPARE * self._used.get(_cell(run), rung.load(run))

    def used(self, run: Run, processors: float, short: bool) -> None:
        """A run used so many processors on average. One that was `short` of them is to have all next time."""
        cell = _cell(run)
        before = self._used.get(cell, 0.0)
        self._used[cell] = ALL if short else max(processors, before if before < ALL else 0.0)


def _cell(run: Run) -> Cell:
    return cell_of(run.row["experiment"], run.levels)
