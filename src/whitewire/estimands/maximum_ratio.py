"""`maximum_ratio`: the largest of several ratios of medians."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whitewire import statistics
from whitewire.estimands import extremes
from whitewire.estimands.base import LEVEL, METRIC, cell_key, in_words, list_of, of_test
from whitewire.estimands.cells import Limits
from whitewire.estimands.evidence import Evidence, Sample
from whitewire.estimands.ratio import OfPairs
from whitewire.levels import Cell

if TYPE_CHECKING:
    from whitewire.analysis.net import Drawn
    from whitewire.analysis.runs import Runs


class MaximumRatio(OfPairs):
    name: ClassVar[str] = "maximum_ratio"
    meaning: ClassVar[str] = "The largest of several ratios of cells: up to how many times?"
    keys: ClassVar[Mapping[str, Any]] = {
        "metric": METRIC,
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
        return [of_test(side, **levels) for levels in self.test["cells"] for side in sides]

    def describe(self) -> str:
        pair = f"{in_words(self.test['numerator'])} / {in_words(self.test['denominator'])}"
        return f"{self.test['metric']}: largest of {pair} over {len(self.test['cells'])} cells"

    def exact(self, samples: Sequence[Sample], runs: Runs) -> Evidence:
        pairs = list(zip(samples[::2], samples[1::2], strict=True))
        a, b = max(pairs, key=lambda pair: np.median(pair[0].values) / np.median(pair[1].values))
        found = extremes.of_runs(pairs, max, runs)
        p = self.p(lambda none: statistics.permutation_p(a.values, b.values, none, runs.seed), found[0], [a, b], runs)
        p = None if p is None else min(1.0, p * len(self.test["cells"]))
        return Evidence("runs", *found, unit="1", p_value=p, samples=[a.values, b.values])

    def limits(self, drawn: Sequence[Drawn], runs: Runs) -> Limits:
        pairs = list(zip(drawn[::2], drawn[1::2], strict=True))
        ratios = [a.values / b.values for a, b in pairs]
        best = int(np.argmax([a.cell.median / b.cell.median for a, b in pairs]))
        return extremes.of_draws(ratios, max, ratios[best], self.no_effect, runs, times=len(ratios))
