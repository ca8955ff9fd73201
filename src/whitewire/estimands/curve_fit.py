"""`curve_fit`: whether an exponential or a straight line goes better through the runs of some levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from whitewire import statistics
from whitewire.estimands.base import METRIC_KEY, cell_key, list_of, text_key
from whitewire.estimands.evidence import Evidence, Sample
from whitewire.estimands.protocols import RunsView
from whitewire.estimands.trend import OfLevels

CURVATURES = np.linspace(-4.0, 10.0, 1401)
"""Candidate exponents of the exponential fit, over the range of the horizontal axis."""
AIC = "AIC difference"
"""Its unit. A difference grows with the number of runs."""


class CurveFit(OfLevels):
    name: ClassVar[str] = "curve_fit"
    meaning: ClassVar[str] = (
        "AIC of a straight line less AIC of an exponential curve, through all runs: above 0 the exponential fits "
        "better."
    )
    says: ClassVar[str] = "AIC linear - AIC exponential"
    keys: ClassVar[Mapping[str, Any]] = {
        "metric": METRIC_KEY,
        "cell": cell_key("The cell without the level of `factor`."),
        "factor": text_key("Factor on the horizontal axis; its levels are numbers.", examples=["clients"]),
        "levels": list_of(
            {"type": "number"},
            "Levels that the curves go through.",
            minItems=4,
            uniqueItems=True,
            examples=[[1, 2, 4, 8]],
        ),
    }
    fewest: ClassVar[int] = statistics.MINIMUM
    relations: ClassVar[tuple[str, ...]] = ("above", "below")
    holds: ClassVar[str] = "above: the exponential fits better than by `expected`. below: the line does."
    target: ClassVar[Mapping[str, Any]] = {
        "expected": {
            "description": "Difference of AIC that is asked for; 0 asks only which curve fits better.",
            "type": ["number", "string"],
            "examples": [0],
        }
    }

    def found(self, samples: Sequence[Sample], runs: RunsView) -> Evidence:
        levels = np.array(self.test["levels"], dtype=float)
        arrays = [s.values for s in samples]
        x = np.repeat(levels, [len(values) for values in arrays])

        def statistic(*arrays: np.ndarray, axis: int = -1) -> np.ndarray:
            return aic_difference(x, np.concatenate(arrays, axis=axis))

        point = float(statistic(*(values[None, :] for values in arrays))[0])
        confidence = runs.confidence(min(map(len, arrays)))
        low, high = statistics.bootstrap_interval(arrays, statistic, runs.seed, confidence) or (None, None)
        return Evidence("runs", point, low, high, unit=AIC, fewest=self.fewest)


def aic_difference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """AIC of y = a + b x less AIC of y = a exp(b x), least squares, for each row of `y` (rows, points).

    Above 0 the exponential fits better. Unit 1; both curves have two parameters, so only the residuals count.
    """
    y = np.atleast_2d(y)
    centred = x - x.mean()
    slope = (y @ centred) / (centred @ centred)
    residual = y - y.mean(axis=1, keepdims=True) - slope[:, None] * centred
    linear = (residual**2).sum(axis=1)
    curves = np.exp(CURVATURES[:, None] * ((x - x.min()) / np.ptp(x) - 1)[None, :])
    squares = (y**2).sum(axis=1)
    explained = (y @ curves.T) ** 2 / (curves**2).sum(axis=1)[None, :]
    exponential = squares - explained.max(axis=1)
    floor = 1e-12 * squares
    return len(x) * np.log(np.maximum(linear, floor) / np.maximum(exponential, floor))
