"""Propagation of distributions (JCGM 101): medians and floors, each with its own error, to whatever is made of them.

Draws are arrays of one value a trial. A median of runs or floors is drawn as a scaled and shifted Student t.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

import numpy as np

from whitewire.statistics import Values

DRAWS = 10_000
CLIP, QUARTER = 4.0, 1.15
"""Residuals of floors count up to so many robust standard deviations; three quarters of normal ones are within 1.15."""
LOST = 0.025
"""Largest share of draws without a net time above zero, for an interval of 95 %."""


def generator(seed: int, *names: object) -> np.random.Generator:
    """Random numbers of their own for whatever has these names: the same each time that it is drawn."""
    return np.random.Generator(np.random.PCG64([seed, zlib.crc32(repr(names).encode())]))


def widths(rng: np.random.Generator, freedom: float, draws: int) -> np.ndarray:
    """True over estimated scatter, where the estimate has so many degrees of freedom."""
    return np.sqrt(freedom / rng.chisquare(freedom, draws))


def robust_sd(cells: Sequence[Values]) -> tuple[float, int]:
    """Scatter about the medians of cells, pooled, in the values' unit, and its degrees of freedom; (NaN, 0) without.

    A single value far off would make all others' scatter its own. So residuals count up to CLIP times a scale that
    holds as long as three quarters of them are like each other: an outlier widens, but does not drown.
    """
    arrays = [np.asarray(cell, dtype=float) for cell in cells if len(cell) > 1]
    freedom = sum(len(each) - 1 for each in arrays)
    if not freedom:
        return math.nan, 0
    residuals = np.concatenate([np.abs(each - np.median(each)) for each in arrays])
    # Of the ordered residuals the one that at least three quarters reach up to.
    scale = np.sort(residuals)[math.ceil(0.75 * len(residuals)) - 1] / QUARTER
    clipped = np.minimum(residuals, CLIP * scale) if scale > 0 else residuals
    # Residuals from a median have the larger sum of squares than those from a mean: not corrected for.
    return math.sqrt(float(np.sum(clipped**2)) / freedom), freedom


def floor_scatter(own: Values, pooled: tuple[float, int], enough: int) -> tuple[float, int]:
    """Scatter of one kind's floors and its freedom: its own from `enough` degrees on, else at least the pooled one."""
    sd, freedom = robust_sd([own])
    if freedom >= enough or not pooled[1]:
        return sd, freedom
    return max(pooled[0], sd if freedom else 0.0), pooled[1]


def interval(draws: np.ndarray, confidence: float = 0.95) -> tuple[float, float] | None:
    """Quantiles of the draws; None where a limit is not finite. Draws that are not numbers are few, and left out."""
    kept = draws[~np.isnan(draws)]
    if not len(kept):
        return None
    edges = ((1 - confidence) / 2, (1 + confidence) / 2)
    low, high = (float(np.quantile(kept, q, method="inverted_cdf")) for q in edges)
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def p_value(draws: np.ndarray, no_effect: float) -> float:
    """Two-sided: twice the share of draws on the rarer side of `no_effect`."""
    kept = draws[~np.isnan(draws)]
    rarer = min(int(np.sum(kept <= no_effect)), int(np.sum(kept >= no_effect)))
    return min(1.0, 2 * (rarer + 1) / (len(kept) + 1))


def of_net(median: float, spread: float, net: float, error: np.ndarray, floor: np.ndarray,
           kind: str) -> np.ndarray:  # fmt: skip
    """Draws of a cell's median of a metric that rests on a net time.

    `spread` is the relative scatter of one run, `error` the drawn error of the cell's median in such scatters, `net`
    the median net time and `floor` the drawn error of its floor, both in seconds. `kind`: `time` is the net time
    itself, `rate` goes inversely with it, of a `share` only the floor's part does. Where no net time is left, a time is
    0, and a rate or share is infinite.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind == "share":
            left = np.maximum(0.0, 1 - floor / net)
            return np.maximum(0.0, median * (1 + spread * error)) / left
        left = np.maximum(0.0, 1 + spread * error - floor / net)
        return median * left if kind == "time" else median / left


def lost(net: float, spread: float, error: np.ndarray, floor: np.ndarray) -> np.ndarray:
    """Which draws leave no net time above zero."""
    return 1 + spread * error - floor / net <= 0
