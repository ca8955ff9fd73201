"""Levels for tests that are made more than once while runs come in: Pocock's constant boundary (Biometrika, 1977).

Whoever looks at 95 % intervals after 3, 4, 6, 8 and 10 runs and stops at the first that pleases is wrong in 13 % of
cases, not in 5. Repeated confidence intervals (Jennison & Turnbull, J. R. Stat. Soc. B, 1989) are each so much wider
that all of them hold the truth together in 95 %. Estimates after n of N runs are taken as normal, correlated as sums of
like runs are.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy import optimize, stats

RULE_VERSION = "2026-11-28"
"""Version of the rule that makes verdicts: set it anew, to the day, when intervals, tests or levels change."""
ALPHA = 0.05
"""Share of wrong verdicts that all looks together may give of a claim."""
NODES = 160
"""Points of the Gauss-Legendre rule between the boundaries: the error of a probability is below 1e-9."""
RULE = np.polynomial.legendre.leggauss(NODES)


@lru_cache(maxsize=4096)
def overall(p: float, looks: tuple[int, ...]) -> float:
    """Chance that without any effect some look finds a two-sided p-value of at most `p`; p itself with one look.

    `looks` are the numbers of runs at which one looks, growing. Armitage, McPherson & Rowe's recursion: the density of
    the sum of runs within the boundaries, from look to look. SciPy's multivariate normal gives the same, but at random
    and to no more than five digits, where small p-values need more.
    """
    if len(looks) < 2 or not 0 < p < 1:
        return p
    z = float(stats.norm.isf(p / 2))
    points, weights = RULE
    crossed = p
    edge = z * math.sqrt(looks[0])
    sums = points * edge
    density = stats.norm.pdf(sums, scale=math.sqrt(looks[0])) * weights * edge
    for before, runs in zip(looks, looks[1:], strict=False):
        step, bound = math.sqrt(runs - before), z * math.sqrt(runs)
        beyond = stats.norm.sf((bound - sums) / step) + stats.norm.sf((bound + sums) / step)
        crossed += float(beyond @ density)
        after = points * bound
        density = stats.norm.pdf(after[:, None] - sums[None, :], scale=step) @ density * weights * bound
        sums = after
    return min(1.0, crossed)


@lru_cache(maxsize=256)
def nominal(alpha: float, looks: tuple[int, ...]) -> float:
    """Two-sided level of every look for which all of them together have `alpha`; alpha itself with one look."""
    if len(looks) < 2:
        return alpha
    found = optimize.brentq(
        lambda log: math.log(overall(math.exp(log), looks) / alpha),
        math.log(alpha / len(looks)), math.log(alpha), xtol=1e-10,
    )  # fmt: skip
    return math.exp(found)
