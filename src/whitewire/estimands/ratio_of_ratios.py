"""`ratio_of_ratios`: a ratio of two cells over a ratio of two others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from whitewire import statistics
from whitewire.estimands.base import METRIC_KEY, cell_in_words, cell_of_test
from whitewire.estimands.evidence import Sample
from whitewire.estimands.protocols import RunsView
from whitewire.estimands.ratio import OfPairs
from whitewire.levels import Cell

_SIDES = ("numerator", "denominator")


class RatioOfRatios(OfPairs):
    name: ClassVar[str] = "ratio_of_ratios"
    meaning: ClassVar[str] = "A ratio of two cells over a ratio of two others: is the gain larger here than there?"
    keys: ClassVar[Mapping[str, Any]] = {
        "metric": METRIC_KEY,
        "numerator": {"description": "The pair above.", "$ref": "#/$defs/pair"},
        "denominator": {"description": "The pair below.", "$ref": "#/$defs/pair"},
    }
    signs: ClassVar[tuple[int, ...]] = (1, -1, -1, 1)

    def cells(self) -> list[Cell]:
        return [cell_of_test(self.test[ratio][side]) for ratio in _SIDES for side in _SIDES]

    def describe(self) -> str:
        a, b = (" / ".join(cell_in_words(self.test[ratio][side]) for side in _SIDES) for ratio in _SIDES)
        return f"{self.test['metric']}: ({a}) / ({b})"

    def rearranged(self, samples: Sequence[Sample], runs: RunsView, no_effect: float) -> float | None:
        a, b, c, d = samples
        return statistics.permutation_p(a.values, b.values, no_effect * c.centre / d.centre, runs.seed)
