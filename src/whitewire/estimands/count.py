"""`count`: a statistic over all runs of some cells, taken as a census."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whitewire.estimands.base import RANGE, Estimand, in_words, list_of, of_test
from whitewire.estimands.evidence import Evidence
from whitewire.levels import Cell

if TYPE_CHECKING:
    from whitewire.analysis.runs import Runs
    from whitewire.description.paper import Paper

STATISTICS = {"minimum": np.min, "maximum": np.max}


class Count(Estimand):
    """It needs no cell in particular: of its cells, levels left out match every level."""

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
    target: ClassVar[Mapping[str, Any]] = RANGE

    def needed(self) -> list[Cell]:
        return [of_test(cell) for cell in self.test["cells"]]

    def describe(self) -> str:
        return f"{self.test['statistic']} {self.test['metric']}: {', '.join(map(in_words, self.test['cells']))}"

    def evaluate(self, runs: Runs, paper: Paper) -> Evidence:
        samples = [runs.sample(*cell, self.test["metric"]) for cell in self.needed()]
        values = np.concatenate([s.values for s in samples])
        invalid = sum(s.n_invalid for s in samples)
        if none := runs.without(self.needed(), samples):
            return Evidence("census", n_invalid=invalid, missing="; ".join(none))
        found = float(STATISTICS[self.test["statistic"]](values))
        return Evidence("census", found, n=len(values), n_invalid=invalid, unit="1")
