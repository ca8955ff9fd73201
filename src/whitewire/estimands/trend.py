"""`trend`: the smallest ratio of a level's mean to that of the level before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from whitewire import statistics
from whitewire.estimands.base import LEVEL, METRIC_KEY, cell_in_words, cell_key, cell_of_test, list_of, text_key
from whitewire.estimands.cells import ALSO, Centres, Confidence, Limits, OfCells, extreme, product_of_cells
from whitewire.estimands.evidence import Sample
from whitewire.estimands.protocols import RunsView
from whitewire.levels import Cell


class OfLevels(OfCells):
    """An estimand of the cells that levels of one factor make."""

    optional: ClassVar[Mapping[str, Any]] = {"also": ALSO}
    says: ClassVar[str]
    """Words for the trend over the factor, in the table of verdicts."""

    def cells(self) -> list[Cell]:
        return [cell_of_test(self.test["cell"], **{self.test["factor"]: level}) for level in self.test["levels"]]

    def describe(self) -> str:
        return f"{self.test['metric']}: {self.says} over {self.test['factor']}, {cell_in_words(self.test['cell'])}"


class Trend(OfLevels):
    name: ClassVar[str] = "trend"
    meaning: ClassVar[str] = "The smallest ratio of a level's mean to that of the level before it: does it never fall?"
    says: ClassVar[str] = "smallest step"
    keys: ClassVar[Mapping[str, Any]] = {
        "metric": METRIC_KEY,
        "cell": cell_key("The cell without the level of `factor`."),
        "factor": text_key("Factor along which it is to grow.", examples=["clients"]),
        "levels": list_of(
            LEVEL, "Levels in the order in which it is to grow.", minItems=2, uniqueItems=True, examples=[[1, 2, 3]]
        ),
    }
    relations: ClassVar[tuple[str, ...]] = ("increasing",)
    expects: ClassVar[bool] = False
    holds: ClassVar[str] = "increasing: no step falls by more than `relative`."
    target: ClassVar[Mapping[str, Any]] = {
        "relative": {
            "description": "Fall of one step that is let pass, as a share: 0.05 lets each step lose five percent. "
            "Without it none may fall.",
            "type": "number",
            "minimum": 0,
            "examples": [0.05],
        },
        "no_effect": {
            "description": "Ratio of the last level to the first that would mean no effect, 1: an interval of that "
            "ratio above it makes a trend that falls somewhere `direction only`.",
            "examples": [1],
            "type": "number",
            "exclusiveMinimum": 0,
        },
    }

    def limits(self, cells: Centres, confidence: Confidence) -> Limits:
        steps = [product_of_cells(pair, (1, -1)) for pair in zip(cells[1:], cells, strict=False)]
        whole = product_of_cells((cells[-1], cells[0]), (1, -1))
        estimate, interval = extreme(steps, min, confidence)
        return Limits(estimate, interval, whole.p_value(self.no_effect), whole.interval(confidence(1)))

    def rearranged(self, samples: Sequence[Sample], runs: RunsView, no_effect: float) -> float | None:
        return statistics.permutation_p(samples[-1].values, samples[0].values, no_effect, runs.seed)
