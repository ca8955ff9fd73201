"""Levels of interim analyses: a spending function (Lan & DeMets, Biometrika, 1983) that spends late.

Of the level ALPHA, a share of (n / most) ** POWER is spent by the analysis after n of at most `most` runs (Kim &
DeMets, Biometrika, 1987). Repeated confidence intervals (Jennison & Turnbull, J. R. Stat. Soc. B, 1989) at these levels
all contain the true value in 95 % of cases. The last analysis that takes place spends what is left. Estimates after n
of N runs are assumed to be normal and correlated like sums of identically distributed runs.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import scipy

from whitewire.rule import POWER

POINTS, WEIGHTS = np.polynomial.legendre.leggauss(80)
FARTHEST = 40.0
"""Upper limit of a boundary, in standard errors."""


def nominal(alpha: float, n: int, analyses: tuple[int, ...], ended: bool = False) -> float:
    """Two-sided level of the analysis after n runs, such that all analyses together have `alpha`.

    `analyses` are the planned numbers of runs, growing; with fewer than two of them it is alpha itself. `ended`: no
    further analysis follows, so this one spends what is left.
    """
    if len(analyses) < 2:
        return alpha
    before = tuple(runs for runs in analyses[:-1] if runs < n)
    return levels(alpha, (*before, n), max(n, analyses[-1]), ended)[-1]


@lru_cache(maxsize=4096)
def overall(p: float, n: int, analyses: tuple[int, ...], ended: bool = False) -> float:
    """p-value over all analyses: the least `alpha` at which the analysis after n runs rejects with `p`."""
    if len(analyses) < 2 or not 0 < p < 1:
        return p

    def beyond(alpha: float) -> float:
        return math.log(nominal(alpha, n, analyses, ended) / p)

    most = 1 - 1e-9
    return max(p, scipy.optimize.brentq(beyond, p / 2, most, rtol=1e-7)) if beyond(most) > 0 else 1.0


@lru_cache(maxsize=4096)
def levels(
    alpha: float, analyses: tuple[int, ...], most: int, ended: bool = False, power: float = POWER
) -> tuple[float, ...]:
    """Two-sided level of each of the `analyses`.

    Armitage, McPherson & Rowe's recursion: the density of the sum of runs within the boundaries, from one analysis to
    the next.
    """
    found: list[float] = []
    sums, density, before, spent = np.zeros(1), np.ones(1), 0, 0.0
    for n in analyses:
        due = alpha if ended and n == analyses[-1] else alpha * (n / most) ** power
        step = math.sqrt(n - before)

        def lacking(z: float, n: int = n, due: float = due) -> float:
            """Probability of crossing the boundary `z` now, less the level that may be spent now."""
            bound = z * math.sqrt(n)
            tails = scipy.special.ndtr((sums - bound) / step) + scipy.special.ndtr(-(sums + bound) / step)  # noqa: B023
            return float(tails @ density) - (due - spent)  # noqa: B023

        z = scipy.optimize.brentq(lacking, 0.0, FARTHEST, xtol=1e-10)
        found.append(float(2 * scipy.special.ndtr(-z)))
        bound = z * math.sqrt(n)
        after = POINTS * bound
        steps = (after[:, None] - sums[None, :]) / step
        density = np.exp(-(steps**2) / 2) @ density * WEIGHTS * bound / (step * math.sqrt(2 * math.pi))
        sums, before, spent = after, n, due
    return tuple(found)
