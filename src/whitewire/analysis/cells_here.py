"""Cells of a paper that the efforts of some runs make and that a testbed can make."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Any

from whitewire.description.paper import Paper
from whitewire.design.rows import counts
from whitewire.estimands import estimand_of
from whitewire.levels import Cell, CellId, cell_id


class CellsOfRuns:
    """The cells of a paper that are made here.

    `efforts`: those of the runs; `unavailable`: why this machine could not make a cell; `impossible`: why the testbed
    never can, by experiment and levels (empty: it can).
    """

    def __init__(self, paper: Paper, efforts: Collection[str], unavailable: Mapping[CellId, str] | None,
                 impossible: Callable[[str, Mapping[str, Any]], str]) -> None:  # fmt: skip
        self._paper, self._efforts, self._impossible = paper, set(efforts), impossible
        self._unavailable = unavailable or {}

    def cells(self, experiment: str, levels: Mapping[str, Any]) -> list[Cell]:
        """Cells that match the given levels, belong to the effort, and can be made on this machine."""
        found = [cell for cell in self._paper.matched(experiment, levels) if not self._not_here(*cell)]
        return [cell for cell in found if cell_id(*cell) in self._made] if self._made else found

    def why_missing(self, test: Mapping[str, Any]) -> str:
        """Why this machine cannot make the runs of a test at all; empty when it can."""
        for named in estimand_of(test).needed():
            reasons = [self._not_here(*cell) for cell in self._paper.matched(*named)]
            if reasons and all(reasons):
                return reasons[0]
        return ""

    def _not_here(self, experiment: str, levels: Mapping[str, Any]) -> str:
        """Why this machine cannot make the runs of a cell; empty when it can."""
        own = cell_id(experiment, levels)
        if why := self._impossible(experiment, levels) or self._unavailable.get(own):
            return why
        # Of a cell that the effort does not make nobody has tried whether it can be made: but its file system cannot be
        # had where no cell on it can.
        kind = self._paper.store(experiment, levels)["kind"]
        if own in self._made or kind == "hdfs":
            return ""
        same = [cell for cell, store in self._made.items() if store == kind]
        alike = [self._unavailable.get(cell, "") for cell in same]
        return alike[0] if alike and all(alike) else ""

    @cached_property
    def _made(self) -> dict[CellId, str]:
        """Cells that the efforts make → kind of their file system; empty if no effort is known."""
        efforts = self._efforts & set(self._paper.raw.get("replicates", ()))
        return {cell_id(experiment["id"], levels): self._paper.store(experiment["id"], levels)["kind"]
                for effort in efforts
                for experiment, levels, count in counts(self._paper, effort) if count}  # fmt: skip
