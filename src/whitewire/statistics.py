"""Intervals of medians, the bootstrap, permutation tests, Holm's correction, as Hoefler & Belli (SC'15) ask for; means
over several sites.

Intervals of medians are for tables, the bootstrap for curve fits, permutation tests for data without scatter.
Intervals of verdicts are in propagation.py.

SciPy gives Wilcoxon's test, the bootstrap and distributions. Two functions are our own because SciPy's differ:
`quantile_test` takes twenty times as long for the same interval; `permutation_test` draws other arrangements and finds
ties by a relative tolerance, which misses sums near 0. SciPy has no Holm adjustment and no random-effects mean;
statsmodels has both, takes 65 MB in every environment and image, and lacks prediction intervals.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded where they are used: a command that uses none starts sooner

MINIMUM = 6
"""Fewest values for which a 95 % order-statistic interval of the median exists (2 x 0.5^6 < 0.05)."""
FEWEST = 3
"""Fewest runs of a cell for the interval of a verdict; a curve fit needs MINIMUM."""
RESAMPLES = 2000
MOST_RUNS = 1000
"""Upper bound on the further runs that a report names."""
EXACT_LIMIT = 20000
ROUNDING = 1e-12
"""Largest relative difference of values that differ only by rounding."""


Values = Sequence[float] | np.ndarray
"""Numbers of one sample."""


def median_interval(values: Values, confidence: float = 0.95) -> tuple[float, float] | None:
    """Exact order-statistic interval of the median, in the values' unit; None when too few values.

    The narrowest symmetric pair of order statistics whose binomial coverage is at least `confidence` (Conover,
    Practical Nonparametric Statistics, 3.2).
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    beyond = int(scipy.stats.binom.ppf((1 - confidence) / 2, len(ordered), 0.5))
    return (float(ordered[beyond - 1]), float(ordered[-beyond])) if beyond else None


def bootstrap_interval(
    samples: Sequence[Values],
    statistic: Callable[..., np.ndarray],
    seed: int,
    confidence: float = 0.95,
) -> tuple[float, float] | None:
    """Bootstrap interval (percentile) of a statistic of independent samples, each resampled on its own.

    `statistic(*samples, axis)` is vectorised over `axis`. None when a sample has fewer than six values or the
    interval is not finite.
    """
    arrays = tuple(np.asarray(s, dtype=float) for s in samples)
    if min(len(a) for a in arrays) < MINIMUM:
        return None
    if all(np.ptp(a) == 0 for a in arrays):
        point = float(np.atleast_1d(statistic(*(a[None, :] for a in arrays), axis=-1))[0])
        return (point, point) if math.isfinite(point) else None
    result = scipy.stats.bootstrap(
        arrays,
        statistic,
        n_resamples=RESAMPLES,
        vectorized=True,
        confidence_level=confidence,
        method="percentile",
        rng=np.random.Generator(np.random.PCG64(seed)),
    ).confidence_interval
    low, high = float(result.low), float(result.high)
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def share_interval(held: int, count: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Interval of a share: `held` successes in `count` independent trials (Clopper & Pearson); None without trials."""
    if not count:
        return None
    found = scipy.stats.binomtest(held, count).proportion_ci(confidence, method="exact")
    return float(found.low), float(found.high)


def share_interval_of(share: float, count: float, confidence: float = 0.95) -> tuple[float, float]:
    """Interval of a share of trials of which only `count`, above 0, are independent (Korn & Graubard, Survey
    Methodology, 1998): Clopper & Pearson's for `count` trials, which need not be a whole number."""
    held, tail = share * count, (1 - confidence) / 2
    low = float(scipy.stats.beta.ppf(tail, held, count - held + 1)) if share > 0 else 0.0
    high = float(scipy.stats.beta.isf(tail, held + 1, count - held)) if share < 1 else 1.0
    return low, high


def alike(values: Values) -> bool:
    """Whether values differ only by rounding, as after subtracting the effects of lanes."""
    array = np.asarray(values, dtype=float)
    return bool(np.ptp(array) <= ROUNDING * np.abs(array).max())


def scatter(values: Values) -> float:
    """Standard deviation of the logarithms; if a value has none, the standard deviation over the mean."""
    array = np.asarray(values, dtype=float)
    if alike(array):  # exactly 0, unlike the scatter of their logarithms
        return 0.0
    if array.min() > 0:
        return float(np.std(np.log(array), ddof=1))
    return float(np.std(array, ddof=1) / np.mean(array))


def median_error(n: int) -> float:
    """Standard error of the median of `n` normal values, in their standard deviations; accurate within 3 %."""
    return math.sqrt(math.pi / 2 / (n + (0.5 if n % 2 else 1.3)))


def permutation_p(numerator: Values, denominator: Values, no_effect: float, seed: int) -> float | None:
    """Two-sided permutation test of ratio = `no_effect`, on the difference of mean logarithms.

    Exact when there are few arrangements, else 9999 random ones. None when a value is not above 0 or a
    sample has fewer than two values.
    """
    first, second = np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float)
    if min(len(first), len(second)) < 2 or min(first.min(), second.min()) <= 0 or no_effect <= 0:
        return None
    pooled = np.concatenate([np.log(first / no_effect), np.log(second)])
    n = len(first)

    def distance(index: np.ndarray) -> np.ndarray:
        one = pooled[index].sum(axis=-1)
        return np.abs(one / n - (pooled.sum() - one) / (len(pooled) - n))

    seen = distance(np.arange(n)[None, :])[0]
    if math.comb(len(pooled), n) <= EXACT_LIMIT:
        every = np.array(list(itertools.combinations(range(len(pooled)), n)))
        return float(np.mean(distance(every) >= seen - 1e-12))
    rng = np.random.Generator(np.random.PCG64(seed))
    random = np.array([rng.permutation(len(pooled))[:n] for _ in range(9999)])
    return float((1 + np.sum(distance(random) >= seen - 1e-12)) / 10000)


def sign_flip_p(values: Values, no_effect: float) -> float | None:
    """Two-sided sign-flip test of log(value / no_effect), exact up to 14 values, else Wilcoxon's."""
    array = np.asarray(values, dtype=float)
    if len(array) < 2 or array.min() <= 0 or no_effect <= 0:
        return None
    logs = np.log(array / no_effect)
    if len(logs) > 14:
        return float(scipy.stats.wilcoxon(logs).pvalue)
    signs = np.array(list(itertools.product([-1, 1], repeat=len(logs))))
    return float(np.mean(np.abs(signs @ logs) >= abs(logs.sum()) - 1e-12))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjustment; None stays None and does not count."""
    known = [(p, i) for i, p in enumerate(p_values) if p is not None]
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, index) in enumerate(sorted(known)):
        highest = max(highest, min(1.0, p * (len(known) - rank)))
        adjusted[index] = highest
    return adjusted


def normal(confidence: float) -> float:
    """Half-width of a normal interval, in standard errors, to the usual two decimals: 1.96 for 95 %."""
    return round(float(scipy.stats.norm.isf((1 - confidence) / 2)), 2)


@dataclass(frozen=True)
class RandomEffects:
    """A mean over sites with its interval, in the unit of their estimates.

    `tau2` is the variance of the true values between sites, `i2` the share of the estimates' variation that is not
    explained by their own errors, `prediction` the interval of the true value at one more site like these, `weights`
    the sites' shares in the mean.
    """

    mean: float
    interval: tuple[float, float]
    tau2: float
    i2: float
    prediction: tuple[float, float]
    weights: np.ndarray


def random_effects(estimates: Values, errors: Values, confidence: float = 0.95) -> RandomEffects:
    """Mean over three or more sites from independent estimates and their standard errors.

    tau2 by Paule & Mandel (J. Res. NBS 87, 1982): that at which the weighted squares about the mean are as many as
    sites less one. The interval is Hartung & Knapp's (Statistics in Medicine 20, 2001), never narrower than the errors
    alone make it (Röver, Knapp & Friede, BMC Medical Research Methodology 15:99, 2015). With that tau2 their factor on
    the variance is 1, or less where tau2 is 0, so Student's t is all that is left of it. The prediction interval has
    one degree of freedom less (Higgins, Thompson & Spiegelhalter, J. R. Stat. Soc. A 172, 2009).
    """
    y, variances = np.asarray(estimates, dtype=float), np.square(np.maximum(errors, ROUNDING))
    freedom = len(y) - 1

    def weighted(tau2: float) -> tuple[np.ndarray, float, float]:
        """Weights, mean, and weighted squares about it."""
        weights = 1 / (variances + tau2)
        mean = float(weights @ y / weights.sum())
        return weights, mean, float(weights @ (y - mean) ** 2)

    squares, tau2 = weighted(0.0)[2], 0.0
    if squares > freedom:
        most = 2 * float(np.var(y, ddof=1))  # there the squares are fewer, whatever the errors
        tau2 = float(scipy.optimize.brentq(lambda t: weighted(t)[2] - freedom, 0.0, most, xtol=1e-12 * most))
    weights, mean, _ = weighted(tau2)
    variance, tail = 1 / float(weights.sum()), (1 - confidence) / 2
    half = float(scipy.stats.t.isf(tail, freedom)) * math.sqrt(variance)
    beyond = float(scipy.stats.t.isf(tail, freedom - 1)) * math.sqrt(variance + tau2)
    return RandomEffects(
        mean, (mean - half, mean + half), tau2, max(0.0, 1 - freedom / squares) if squares else 0.0,
        (mean - beyond, mean + beyond), weights / weights.sum(),
    )  # fmt: skip


def difference_p(estimates: Values, errors: Values, freedoms: Values) -> float:
    """p-value of no difference between sites: Cochran's Q, whose test takes errors as exact, with Welch's correction
    for the degrees of freedom of each (Biometrika 38, 1951)."""
    y, weights, k = np.asarray(estimates, dtype=float), np.maximum(errors, ROUNDING) ** -2.0, len(estimates)
    squares = float(weights @ (y - weights @ y / weights.sum()) ** 2)
    spread = float(np.sum((1 - weights / weights.sum()) ** 2 / freedoms))
    ratio = squares / (k - 1) / (1 + 2 * (k - 2) / (k**2 - 1) * spread)
    return float(scipy.stats.f.sf(ratio, k - 1, (k**2 - 1) / (3 * spread)))
