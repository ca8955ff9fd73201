"""The table of estimands, a line each. `of` makes the estimand of a paper's test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whitewire.estimands.base import Estimand
from whitewire.estimands.count import Count
from whitewire.estimands.curve_fit import CurveFit
from whitewire.estimands.expression import Expression
from whitewire.estimands.maximum_ratio import MaximumRatio
from whitewire.estimands.model import Model
from whitewire.estimands.nothing import Nothing
from whitewire.estimands.ratio import Ratio
from whitewire.estimands.ratio_of_ratios import RatioOfRatios
from whitewire.estimands.share import Share
from whitewire.estimands.trend import Trend

ESTIMANDS: dict[str, type[Estimand]] = {
    estimand.name: estimand
    for estimand in (
        Ratio,
        Share,
        RatioOfRatios,
        MaximumRatio,
        Trend,
        CurveFit,
        Count,
        Expression,
        Model,
        Nothing,
    )
}


def estimand_of(test: Mapping[str, Any]) -> Estimand:
    """The estimand of a test. KeyError for an unknown one, which the schema refuses beforehand."""
    return ESTIMANDS[test["estimand"]](test)
