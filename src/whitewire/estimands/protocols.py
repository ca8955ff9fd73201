"""Protocols of a paper and its runs for estimands, which import neither description nor analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from whitewire.estimands.evidence import Sample
from whitewire.levels import Cell


class PaperView(Protocol):
    """The interface of a paper; description.paper implements it."""

    @property
    def units(self) -> Mapping[str, str]:
        """Units of the paper's own: name to `count`, or so much of another unit."""

    def evaluate(self, expression: float | str) -> float:
        """A number, or the value of an expression over the paper's values. Raises UserError."""

    def matched(self, experiment: str, levels: Mapping[str, Any]) -> Sequence[Cell]:
        """Cells of an experiment with a level of every factor that match the given levels."""


class CellsHere(Protocol):
    """The cells of a paper that are made here; analysis.cells_here has them."""

    def cells(self, experiment: str, levels: Mapping[str, Any]) -> Sequence[Cell]:
        """Cells that match the given levels, belong to the effort, and can be made on this machine."""


class RunsView(Protocol):
    """A paper's runs; analysis.runs has them. A cell is an experiment and levels of its factors."""

    @property
    def here(self) -> CellsHere:
        """The cells that are made here."""

    seed: int
    """Seed of resampling."""
    ended: bool
    """Whether neither runs nor overhead runs are to come."""

    def sample(self, experiment: str, levels: Mapping[str, Any], metric: str) -> Sample:
        """All valid runs of a cell; levels left out match every level."""

    def why_unusable(self, experiment: str, levels: Mapping[str, Any], metric: str) -> str:
        """Why the values of a metric in a cell are unusable; empty where they are not."""

    def without(self, cells: Sequence[Cell], samples: Sequence[Sample]) -> Sequence[str]:
        """Why each cell without a value has none."""

    def more_bytes(self, experiment: str, levels: Mapping[str, Any]) -> str:
        """Whether more bytes a run would help, in words."""

    def confidence(self, n: int, ratios: int = 1) -> float:
        """Confidence of an interval after n runs of each cell, or of one of several ratios."""
