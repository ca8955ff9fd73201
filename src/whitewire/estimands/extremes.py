"""The largest or smallest of several ratios of medians.

Its interval lies between the extremes of the ratios' own limits, each at the level of a claim over their number: a
bootstrap of the extreme itself would take the luck of the luckiest pair for evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from whitewire import propagation
from whitewire.estimands.cells import Limits, ratio_limits
from whitewire.estimands.evidence import Sample

if TYPE_CHECKING:
    from whitewire.analysis.runs import Runs


def of_runs(
    pairs: Sequence[tuple[Sample, Sample]], pick: Callable, runs: Runs
) -> tuple[float, float | None, float | None]:
    """(estimate, low, high) of the extreme that `pick` chooses; no limits where a ratio has none."""
    point = float(pick([np.median(a.values) / np.median(b.values) for a, b in pairs]))
    found = [ratio_limits(a, b, runs.seed, runs.confidence(len(pairs))) for a, b in pairs]
    if not all(found):
        return point, None, None
    lows, highs = zip(*found, strict=True)
    return point, float(pick(lows)), float(pick(highs))


def of_draws(
    ratios: Sequence[np.ndarray], pick: Callable, tested: np.ndarray, no_effect: float | None, runs: Runs,
    times: int = 1, direction: bool = False,
) -> Limits:  # fmt: skip
    """The same from draws of each ratio, with the p-value of `tested`, one of so many `times`.

    `direction`: the interval of `tested` is that of the direction.
    """
    p = None if no_effect is None else min(1.0, times * propagation.p_value(tested, no_effect))
    found = [propagation.interval(ratio, runs.confidence(len(ratios))) for ratio in ratios]
    if not all(found):
        return None, None, None, None
    lows, highs = zip(*found, strict=True)
    return pick(lows), pick(highs), p, propagation.interval(tested, runs.confidence()) if direction else None
