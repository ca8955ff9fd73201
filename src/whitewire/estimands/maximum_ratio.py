"""`maximum_ratio`: the largest of several ratios of cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from whitewire import statistics
from whitewire.estimands.base import LEVEL, METRIC_KEY, cell_in_words, cell_key, cell_of_test, list_of
from whitewire.estimands.cells import Centres, Confidence, Limits, extreme, product_of_cells
from whitewire.estimands.evidence import Sample
from whitewire.estimands.protocols import RunsView
from whitewire.estimands.ratio import OfPairs
from whitewire.levels import Cell


class MaximumRatio(OfPairs):
    name: ClassVar[str] = "maximum_ratio"
    meaning: ClassVar[str] = "The largest of several ratios of cells: up to how many times?"
    says: ClassVar[str] = "largest of"
    """Words for the choice, in the table of verdicts."""
    keys: ClassVar[Mapping[str, Any]] = {
        "metric": METRIC_KEY,
        "numerator": cell_key("The cell above, without the levels that `cells` give."),
        "denominator": cell_key("The cell below, without the levels that `cells` give."),
        "cells": list_of(
            {
                "description": "Factor to level, for both sides.",
                "type": "object",
                "additionalProperties": LEVEL,
                "minProperties": 1,
            },
            "Levels that complete numerator and denominator, one entry for each ratio. Each is tested at a stricter "
            "level, since the largest is chosen.",
            minItems=1,
            examples=[[{"clients": 1}, {"clients": 3}]],
        ),
    }

    def cells(self) -> list[Cell]:
        sides = self.test["numerator"], self.test["denominator"]
        return [cell_of_test(side, **levels) for levels in self.test["cells"] for side in sides]

    def describe(self) -> str:
        pair = f"{cell_in_words(self.test['numerator'])} / {cell_in_words(self.test['denominator'])}"
        return f"{self.test['metric']}: {self.says} {pair} over {len(self.test['cells'])} cells"

    def limits(self, cells: Centres, confidence: Confidence) -> Limits:
        ratios = [product_of_cells(pair, (1, -1)) for pair in zip(cells[::2], cells[1::2], strict=True)]
        estimate, interval = extreme(ratios, max, confidence)
        p = max(ratios, key=lambda ratio: ratio.point).p_value(self.no_effect)
        return Limits(estimate, interval, None if p is None else min(1.0, p * len(ratios)))

    def rearranged(self, samples: Sequence[Sample], runs: RunsView, no_effect: float) -> float | None:
        a, b = max(zip(samples[::2], samples[1::2], strict=True), key=lambda pair: pair[0].centre / pair[1].centre)
        p = statistics.permutation_p(a.values, b.values, no_effect, runs.seed)
        return None if p is None else min(1.0, p * len(self.test["cells"]))
