"""`ratio_of_ratios`: a ratio of two cells over a ratio of two others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whitewire.estimands.base import METRIC, in_words, of_test
from whitewire.estimands.cells import bootstrapped
from whitewire.estimands.evidence import Evidence, Sample
from whitewire.estimands.ratio import OfPairs
from whitewire.levels import Cell
from whitewire.statistics import ratio_of_medians

if TYPE_CHECKING:
    from whitewire.analysis.runs import Runs

SIDES = ("numerator", "denominator")


class RatioOfRatios(OfPairs):
    name: ClassVar[str] = "ratio_of_ratios"
    meaning: ClassVar[str] = "A ratio of two cells over a ratio of two others: is the gain larger here than there?"
    keys: ClassVar[Mapping[str, Any]] = {
        "metric": METRIC,
        "numerator": {"description": "The pair above.", "$ref": "#/$defs/pair"},
        "denominator": {"description": "The pair below.", "$ref": "#/$defs/pair"},
    }
    signs: ClassVar[tuple[int, ...]] = (1, -1, -1, 1)

    def cells(self) -> list[Cell]:
        return [of_test(self.test[ratio][side]) for ratio in SIDES for side in SIDES]

    def describe(self) -> str:
        a, b = (" / ".join(in_words(self.test[ratio][side]) for side in SIDES) for ratio in SIDES)
        return f"{self.test['metric']}: ({a}) / ({b})"

    def exact(self, samples: Sequence[Sample], runs: Runs) -> Evidence:
        def statistic(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, axis: int = -1) -> np.ndarray:
            return ratio_of_medians(a, b, axis) / ratio_of_medians(c, d, axis)

        point, low, high = bootstrapped(samples, statistic, runs)
        values = [s.values for s in samples]
        if low is None:
            return self.few_runs(point, samples, "1", values, runs)
        p = self.student_p(point, samples)
        return Evidence("runs", point, low, high, unit="1", p_value=p, samples=values)

    def of_medians(self, medians: Sequence[np.ndarray], runs: Runs) -> np.ndarray:
        return medians[0] / medians[1] / (medians[2] / medians[3])
