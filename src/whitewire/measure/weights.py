"""Processors that a run needs: at first by the model of its cell, then by earlier runs of the cell. Pure."""

from __future__ import annotations

import math

from whitewire.lanes import SPARE
from whitewire.levels import CellId, cell_id
from whitewire.measure import scale_candidate
from whitewire.measure.run import Run

ALL = math.inf
"""All processors: for work that computes as fast as it can, such as a start of JVMs."""


class Weights:
    """The processors that the cells of one block need."""

    def __init__(self) -> None:
        self._needed: dict[CellId, float] = {}

    def of(self, run: Run) -> float:
        """Processors to hold for a run."""
        return self._needed.get(_cell(run), SPARE * scale_candidate.busy_processors(run))

    def note(self, run: Run, processors: float, short: bool) -> None:
        """Note that a run needed `processors`. A run that was `short` of them gets all next time."""
        cell = _cell(run)
        before = self._needed.get(cell, 0.0)
        self._needed[cell] = ALL if short else max(processors, before if before < ALL else 0.0)


def _cell(run: Run) -> CellId:
    return cell_id(run.row["experiment"], run.levels)
