"""`count`: a statistic over all runs of some cells, taken as a census."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np

from whitewire.estimands.base import RANGE, Estimand, cell_in_words, cell_of_test, list_of
from whitewire.estimands.evidence import Evidence
from whitewire.estimands.protocols import PaperView, RunsView
from whitewire.levels import Cell
from whitewire.workloads import unit_of

STATISTICS = {"minimum": np.min, "maximum": np.max}
_NAMED = 3
"""A reason names no more cells without a run than that."""


class Count(Estimand):
    """A count over cells; levels left out match every level. Each cell that the effort makes needs a valid run."""

    name: ClassVar[str] = "count"
    meaning: ClassVar[str] = (
        "The smallest or largest value over all runs of the cells. It is a census: it holds or not, without an "
        "interval."
    )
    keys: ClassVar[Mapping[str, Any]] = {
        "metric": {"description": "Metric of which the extreme is taken.", "$ref": "#/$defs/metric"},
        "statistic": {"enum": list(STATISTICS), "description": "Which extreme."},
        "cells": list_of(
            {"$ref": "#/$defs/cell"},
            "Cells whose runs are looked at; factors left out mean all their levels.",
            minItems=1,
            examples=[[{"experiment": "put-grid", "where": {"fabric": "10gbe"}}]],
        ),
    }
    routes: ClassVar[tuple[str, ...]] = ("emulated", "measured")
    whole: ClassVar[bool] = False
    fewest: ClassVar[int] = 1
    absolute: ClassVar[bool] = True
    target: ClassVar[Mapping[str, Any]] = RANGE

    def needed(self) -> list[Cell]:
        return [cell_of_test(cell) for cell in self.test["cells"]]

    def describe(self) -> str:
        return f"{self.test['statistic']} {self.test['metric']}: {', '.join(map(cell_in_words, self.test['cells']))}"

    def unit(self) -> str:
        return unit_of(self.test["metric"])

    def evaluate(self, runs: RunsView, paper: PaperView) -> Evidence:
        # One that the effort or the machine makes nothing of stands for itself, as lacking.
        made = [each for cell in self.needed() for each in runs.here.cells(*cell) or [cell]]
        cells = [cell for number, cell in enumerate(made) if cell not in made[:number]]
        samples = [runs.sample(*cell, self.test["metric"]) for cell in cells]
        invalid = sum(s.n_invalid for s in samples)
        if none := runs.without(cells, samples):
            more = [f"nor of {len(none) - _NAMED} more cells"] if len(none) > _NAMED else []
            return Evidence("census", n_invalid=invalid, missing="; ".join([*none[:_NAMED], *more]))
        values = np.concatenate([s.values for s in samples])
        found = float(STATISTICS[self.test["statistic"]](values))
        unit = next((s.unit for s in samples if s.unit), self.unit())
        return Evidence("census", found, n=len(values), n_invalid=invalid, unit=unit, note=self._left_out(paper, cells))

    def _left_out(self, paper: PaperView, cells: Collection[Cell]) -> str:
        """How many of the cells that it names are not asked for; empty where all are."""
        named = [each for cell in self.needed() for each in paper.matched(*cell)]
        lacking = sum(cell not in cells for cell in named)
        return f"{lacking} of the {len(named)} cells are not made at this effort or on this testbed" if lacking else ""
