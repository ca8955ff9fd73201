"""Errors of an estimate by source, and the interval that they give.

Estimates are products and quotients of cells, so errors are those of logarithms. A source that two cells share, such as
an overhead, enters once, with the sum of its signed parts.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy

from whitewire.statistics import ROUNDING, Values

CLIP, QUARTER = 4.0, 1.15
"""Limit of overhead runs' residuals in robust standard deviations; limit that holds 3/4 of normal residuals."""
Errors = Mapping[Any, tuple[float, float]]
"""Signed standard error of the logarithm and its degrees of freedom, by independent source."""


def product(parts: Iterable[tuple[float, Errors]]) -> Errors:
    """Errors of a product of cells, each to a power (1 above, -1 below)."""
    found: dict[Hashable, tuple[float, float]] = {}
    for power, errors in parts:
        for source, (error, freedom) in errors.items():
            found[source] = (found.get(source, (0.0, freedom))[0] + power * error, freedom)
    return found


def half_width(variances: np.ndarray, freedoms: np.ndarray, alpha: float | np.ndarray) -> np.ndarray:
    """Half-width of an interval at a two-sided level, from independent variances along the last axis.

    Student's t with the degrees of freedom of Welch & Satterthwaite. 0 without any variance.
    """
    total = variances.sum(axis=-1)
    parts = (variances**2 / freedoms).sum(axis=-1)
    freedom = np.divide(total**2, parts, out=np.ones_like(total), where=parts > 0)
    return scipy.special.stdtrit(freedom, 1 - np.asarray(alpha) / 2) * np.sqrt(total)


def _arrays(errors: Errors) -> tuple[np.ndarray, np.ndarray]:
    both = np.array(list(errors.values()), dtype=float).reshape(-1, 2)
    return both[:, 0] ** 2, both[:, 1]


def interval(point: float, errors: Errors, confidence: float = 0.95) -> tuple[float, float] | None:
    """Interval of a positive estimate, or (0, 0) of 0 without error; None where it is not finite."""
    variances, freedoms = _arrays(errors)
    if not (point >= 0 and math.isfinite(point) and np.all(np.isfinite(variances)) and np.all(freedoms > 0)):
        return None
    half = float(half_width(variances, freedoms, 1 - confidence))
    return (point * math.exp(-half), point * math.exp(half)) if half < 700 else None


def p_value(point: float, errors: Errors, no_effect: float) -> float | None:
    """Two-sided p-value of a positive estimate against `no_effect`; None without any error or interval."""
    variances, freedoms = _arrays(errors)
    error = math.sqrt(variances.sum())
    if not error > 0 or not point > 0 or no_effect <= 0 or interval(point, errors) is None:
        return None
    freedom = variances.sum() ** 2 / np.sum(variances**2 / freedoms)
    return float(2 * scipy.special.stdtr(freedom, -abs(math.log(point / no_effect)) / error))


def standard_error(errors: Errors) -> float:
    """Standard error of the estimate's logarithm."""
    return math.sqrt(_arrays(errors)[0].sum())


def robust_sd(cells: Sequence[Values]) -> tuple[float, int]:
    """Pooled scatter about the medians of cells, in the values' unit, and its degrees of freedom; (NaN, 0) without any.

    Residuals are clipped at CLIP times a scale that three quarters of them determine, so that a single outlier widens
    the scatter but does not dominate it.
    """
    arrays = [np.asarray(cell, dtype=float) for cell in cells if len(cell) > 1]
    freedom = sum(len(each) - 1 for each in arrays)
    if not freedom:
        return math.nan, 0
    residuals = np.concatenate([np.abs(each - np.median(each)) for each in arrays])
    # The smallest residual that at least three quarters of them do not exceed.
    scale = np.sort(residuals)[math.ceil(0.75 * len(residuals)) - 1] / QUARTER
    rounding = ROUNDING * max(float(np.abs(each).max()) for each in arrays)
    clipped = np.minimum(residuals, CLIP * scale) if scale > rounding else residuals
    # Residuals from a median have a larger sum of squares than those from a mean; this is not corrected.
    return math.sqrt(float(np.sum(clipped**2)) / freedom), freedom


def overhead_scatter(own: Values, pooled: tuple[float, int], enough: int) -> tuple[float, int]:
    """Scatter of one kind's overhead runs, and its freedom: its own if that is `enough`, else at least `pooled`."""
    sd, freedom = robust_sd([own])
    if freedom >= enough or not pooled[1]:
        return sd, freedom
    return max(pooled[0], sd if freedom else 0.0), pooled[1]
