"""`trend`: the smallest ratio of a level's median to that of the level before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whitewire import statistics
from whitewire.estimands import extremes
from whitewire.estimands.base import LEVEL, METRIC, cell_key, in_words, list_of, of_test, text_key
from whitewire.estimands.cells import ALSO, Limits, OfCells, ratio_limits
from whitewire.estimands.evidence import Evidence, Sample
from whitewire.levels import Cell

if TYPE_CHECKING:
    from whitewire.analysis.net import Drawn
    from whitewire.analysis.runs import Runs


class OfLevels(OfCells):
    """An estimand of the cells that levels of one factor make."""

    optional: ClassVar[Mapping[str, Any]] = {"also": ALSO}
    says: ClassVar[str]
    """What it is over the factor, in the words of the verdict table."""

    def cells(self) -> list[Cell]:
        return [of_test(self.test["cell"], **{self.test["factor"]: level}) for level in self.test["levels"]]

    def describe(self) -> str:
        return f"{self.test['metric']}: {self.says} over {self.test['factor']}, {in_words(self.test['cell'])}"


class Trend(OfLevels):
    name: ClassVar[str] = "trend"
    meaning: ClassVar[str] = (
        "The smallest ratio of a level's median to that of the level before it: does it never fall?"
    )
    says: ClassVar[str] = "smallest step"
    keys: ClassVar[Mapping[str, Any]] = {
        "metric": METRIC,
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

    def exact(self, samples: Sequence[Sample], runs: Runs) -> Evidence:
        first, last = samples[0], samples[-1]
        whole = float(np.median(last.values) / np.median(first.values))
        p = self.p(lambda none: statistics.permutation_p(last.values, first.values, none, runs.seed),
                   whole, [last, first], runs)  # fmt: skip
        found = extremes.of_runs(list(zip(samples[1:], samples, strict=False)), min, runs)
        overall = ratio_limits(last, first, runs.seed, runs.confidence())
        values = [s.values for s in samples]
        return Evidence("runs", *found, unit="1", p_value=p, direction=overall, samples=values)

    def limits(self, drawn: Sequence[Drawn], runs: Runs) -> Limits:
        values = [each.values for each in drawn]
        steps = [after / before for after, before in zip(values[1:], values, strict=False)]
        return extremes.of_draws(steps, min, values[-1] / values[0], self.no_effect, runs, direction=True)
