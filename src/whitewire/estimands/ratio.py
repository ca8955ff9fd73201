"""`ratio`: the mean of a metric in one cell over its mean in another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from whitewire import statistics
from whitewire.estimands.base import COMPARES, METRIC_KEY, cell_in_words, cell_key, cell_of_test
from whitewire.estimands.cells import ALSO, STATISTIC, OfCells
from whitewire.estimands.evidence import Sample
from whitewire.estimands.protocols import RunsView
from whitewire.levels import Cell
from whitewire.text import canonical
from whitewire.workloads import unit_of


class OfPairs(OfCells):
    """An estimand of ratios: each two cells are one over the other."""

    optional: ClassVar[Mapping[str, Any]] = {"also": ALSO, "compares": COMPARES}

    def pairs(self) -> list[tuple[Cell, Cell]]:
        cells = self.cells()
        return list(zip(cells[::2], cells[1::2], strict=True))

    def same_as(self) -> list[Any]:
        """One key for a ratio and its inverse: their logarithms differ in sign alone."""
        if not self.signs or self.no_effect is None:
            return super().same_as()
        parts = list(zip(map(canonical, self.cells()), self.metrics(), self.signs, strict=True))
        none = math.log(self.no_effect)
        either: list[Any] = [
            [sorted((cell, metric, way * sign) for cell, metric, sign in parts), round(way * none, 9) + 0.0]
            for way in (1, -1)
        ]
        return [self.name, min(either), self.test.get("statistic", "")]


class Ratio(OfPairs):
    name: ClassVar[str] = "ratio"
    meaning: ClassVar[str] = "Geometric (or arithmetic) mean of a metric in one cell over that in another."
    keys: ClassVar[Mapping[str, Any]] = {
        "metric": METRIC_KEY,
        "numerator": cell_key("The cell above."),
        "denominator": cell_key("The cell below: what the other is compared with."),
    }
    optional: ClassVar[Mapping[str, Any]] = {**OfPairs.optional, **STATISTIC}
    signs: ClassVar[tuple[int, ...]] = (1, -1)

    def sides(self) -> list[Mapping[str, Any]]:
        return [self.test["numerator"], self.test["denominator"]]

    def cells(self) -> list[Cell]:
        return [cell_of_test(side) for side in self.sides()]

    def metrics(self) -> list[str]:
        return [side.get("metric", self.test["metric"]) for side in self.sides()]

    def unit(self) -> str:
        above, below = map(unit_of, self.metrics())
        return "1" if above == below else ""

    def describe(self) -> str:
        of = "mean " if self.of_means else ""
        return f"{of}{self.test['metric']}: {' / '.join(map(cell_in_words, self.sides()))}"

    def rearranged(self, samples: Sequence[Sample], runs: RunsView, no_effect: float) -> float | None:
        a, b = samples
        return statistics.permutation_p(a.values, b.values, no_effect, runs.seed)
