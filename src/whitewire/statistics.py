"""Intervals and tests, as Hoefler & Belli (SC'15) ask for: medians, order statistics, resampling.

SciPy has Wilcoxon's test, the bootstrap and distributions. What else it has is our own where it is not the same:
`quantile_test` takes twenty times as long for the same interval, `permutation_test` draws other arrangements and tells
ties by a relative tolerance, which sums near 0 escape. It has no adjustment of Holm's.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy import special, stats

MINIMUM = 6
"""Fewest values for which a 95 % order-statistic interval of the median exists (2 x 0.5^6 < 0.05)."""
FEWEST_POOLED = 3
"""Fewest runs of a cell for an interval from scatter that cells share.

With two degrees of freedom of its own such a cell needs no others: Student's t makes up for how little is known.
`bench/looks.py` shows that a pair of cells alone is covered as often as one of many."""
PRIOR_FREEDOM = 1.0
"""Most degrees of freedom that other cells' scatter adds to a cell's own: it counts as much as one further run does.

By `bench/looks.py`: with more, a pair of cells that scatters four times as much as all others is covered too rarely."""
MEDIAN_EFFICIENCY = 1.2533
"""Standard error of a normal sample's median over that of its mean, for large samples; smaller for few values."""
RESAMPLES = 2000
MOST_RUNS = 1000
"""A report names no more further runs than that."""
EXACT_LIMIT = 20000


Values = Sequence[float] | np.ndarray
"""Numbers of one sample."""


def median_interval(values: Values, confidence: float = 0.95) -> tuple[float, float] | None:
    """Exact order-statistic interval of the median, in the values' unit; None when too few values.

    The narrowest symmetric pair of order statistics whose binomial coverage is at least that (Conover, Practical
    Nonparametric Statistics, 3.2).
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    beyond = int(stats.binom.ppf((1 - confidence) / 2, len(ordered), 0.5))
    return (float(ordered[beyond - 1]), float(ordered[-beyond])) if beyond else None


def fewest(confidence: float) -> int:
    """Fewest values for which an order-statistic interval of the median exists at a confidence: 2 x 0.5^n < 1 - it."""
    return math.floor(1 - math.log2(1 - confidence)) + 1


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
    result = stats.bootstrap(
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


def ratio_of_medians(numerator: np.ndarray, denominator: np.ndarray, axis: int = -1) -> np.ndarray:
    """Median over median along `axis` (no unit when both have the same)."""
    return np.median(numerator, axis=axis) / np.median(denominator, axis=axis)


def ratio_of_means(numerator: np.ndarray, denominator: np.ndarray, axis: int = -1) -> np.ndarray:
    """Arithmetic mean over arithmetic mean along `axis` (no unit when both have the same)."""
    return np.mean(numerator, axis=axis) / np.mean(denominator, axis=axis)


def mean_interval(values: Values, confidence: float = 0.95) -> tuple[float, float] | None:
    """Student's interval of the mean, in the values' unit; None below six values, as for the median."""
    array = np.asarray(values, dtype=float)
    if len(array) < MINIMUM:
        return None
    half = float(stats.t.ppf((1 + confidence) / 2, len(array) - 1) * array.std(ddof=1) / math.sqrt(len(array)))
    return float(array.mean()) - half, float(array.mean()) + half


def ratio_interval(
    numerator: Values, denominator: Values, seed: int, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Bootstrap interval (percentile) of median(numerator) / median(denominator)."""
    return bootstrap_interval([numerator, denominator], ratio_of_medians, seed, confidence)


def share_interval(held: int, count: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Interval of a share of `count` independent trials of which `held` did (Clopper & Pearson); None of no trial."""
    if not count:
        return None
    found = stats.binomtest(held, count).proportion_ci(confidence, method="exact")
    return float(found.low), float(found.high)


def moderated(variances: Values, freedoms: Values, most: float = PRIOR_FREEDOM) -> tuple[np.ndarray, np.ndarray]:
    """Variances within cells, each drawn towards what all say, and their degrees of freedom; over the last axis.

    Smyth's moderated variances (doi:10.2202/1544-6115.1027): the true variances are taken for scaled inverse chi-square
    with d0 degrees of freedom, fitted by the moments of the logarithms. A cell's variance becomes
    (d0 s0^2 + d s^2) / (d0 + d), with d0 + d degrees, but not more than all cells have together. Where all scatter
    alike, d0 is infinite: one pooled scatter. `most` bounds d0 for cells of three runs or more, on which verdicts may
    rest; of one run, the freedom is 0 and the variance that of the others. NaN and 0 without any freedom.

    limma is R; inmoose has its functions in Python, for samples by genes with a design matrix, in a suite with compiled
    code: too much for these lines, and it knows no bound.
    """
    variance, own = np.broadcast_arrays(np.asarray(variances, dtype=float), np.asarray(freedoms, dtype=float))
    known = own > 0
    count, total = (each.sum(axis=-1, keepdims=True) for each in (known, own))
    variance, degrees = np.where(known, variance, 0.0), np.where(known, own, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled = (variance * own).sum(axis=-1, keepdims=True) / total
        # A scatter of 0 has no logarithm: as in limma it counts as next to none beside the typical one.
        low = 1e-5 * np.median(np.where(known, variance, pooled), axis=-1, keepdims=True)
        logs = np.log(np.maximum(variance, low)) - special.digamma(degrees / 2) + np.log(degrees / 2)
        mean = np.where(known, logs, 0.0).sum(axis=-1, keepdims=True) / count
        excess = np.where(known, (logs - mean) ** 2, 0.0).sum(axis=-1, keepdims=True) / (count - 1)
        excess = excess - np.where(known, special.polygamma(1, degrees / 2), 0.0).sum(axis=-1, keepdims=True) / count
        unlike = (excess > 0) & np.isfinite(excess)
        prior_freedom = 2 * _trigamma_inverse(np.where(unlike, excess, 1.0))
        prior = np.exp(mean + special.digamma(prior_freedom / 2) - np.log(prior_freedom / 2))
    prior, prior_freedom = np.where(unlike, prior, pooled), np.where(unlike, prior_freedom, np.inf)
    weight = np.where(own >= FEWEST_POOLED - 1, np.minimum(prior_freedom, most), prior_freedom)
    whole = np.isinf(weight)
    finite = np.where(whole, 1.0, weight)
    found = np.where(whole, prior, (finite * prior + own * variance) / (finite + own))
    return found, np.minimum(weight + own, total)


def _trigamma_inverse(values: np.ndarray) -> np.ndarray:
    """y of trigamma(y) = values, by Newton's method on 1/trigamma, which is nearly straight (Smyth, 2004)."""
    found = 0.5 + 1 / values
    for _ in range(50):
        trigamma = special.polygamma(1, found)
        step = trigamma * (1 - trigamma / values) / special.polygamma(2, found)
        found = found + step
        if np.all(np.abs(step) < 1e-9 * found):
            break
    return found


def student_interval(
    point: float, counts: Sequence[int], spreads: Sequence[float], freedoms: Sequence[float], confidence: float = 0.95
) -> tuple[float, float] | None:
    """Interval of a product and quotient of medians of `counts` values, whose logarithms scatter by `spreads`.

    Student's t with the degrees of freedom of all together. None when a cell has too few values or no freedom.
    """
    if min(counts) < FEWEST_POOLED or not min(freedoms) > 0 or not point > 0 or not np.all(np.isfinite(spreads)):
        return None
    freedom = welch_freedom(counts, spreads, freedoms)
    half = stats.t.ppf((1 + confidence) / 2, freedom) * _median_error(counts, spreads)
    return point * math.exp(-half), point * math.exp(half)


def student_p(
    point: float, counts: Sequence[int], spreads: Sequence[float], freedoms: Sequence[float], no_effect: float
) -> float | None:
    """Two-sided t test of the same against `no_effect`; None where there is no interval, or no scatter."""
    error = _median_error(counts, spreads)
    if student_interval(point, counts, spreads, freedoms) is None or no_effect <= 0 or not error:
        return None
    freedom = welch_freedom(counts, spreads, freedoms)
    return float(2 * stats.t.sf(abs(math.log(point / no_effect)) / error, freedom))


def welch_freedom(counts: Sequence[int], spreads: Sequence[float], freedoms: Sequence[float]) -> float:
    """Degrees of freedom of the error of independent medians together (Welch & Satterthwaite)."""
    parts = np.array([(sd * median_error(n)) ** 2 for sd, n in zip(spreads, counts, strict=True)])
    if not parts.sum():
        return float(min(freedoms))
    return float(parts.sum() ** 2 / np.sum(parts**2 / np.array(freedoms, dtype=float)))


def median_error(n: int) -> float:
    """Standard error of a median of `n` values, in standard deviations of one; of two it is their mean's."""
    return (MEDIAN_EFFICIENCY if n > 2 else 1.0) / math.sqrt(n)


def _median_error(counts: Sequence[int], spreads: Sequence[float]) -> float:
    """Standard error of the logarithm, of independent medians together."""
    return math.sqrt(sum((sd * median_error(n)) ** 2 for sd, n in zip(spreads, counts, strict=True)))


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
        return float(stats.wilcoxon(logs).pvalue)
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


def log_sd(values: Values) -> float:
    """Sample standard deviation of the logarithms (no unit); 0 for fewer than two positive values."""
    array = np.asarray(values, dtype=float)
    array = array[array > 0]
    return float(np.std(np.log(array), ddof=1)) if len(array) > 1 else 0.0


def normal(confidence: float) -> float:
    """Half-width of a normal interval, in standard errors, to two digits as usual: 1.96 of 95 %."""
    return round(float(stats.norm.isf((1 - confidence) / 2)), 2)


def runs_to_decide(
    samples: Sequence[Values], estimate: float, bounds: Sequence[float], confidence: float = 0.95
) -> int | None:
    """Further runs of each cell until the interval would clear the nearest of `bounds`.

    Takes the interval's half-width in logarithms as normal() x MEDIAN_EFFICIENCY x sd x sqrt(1/n) summed in quadrature
    over the samples. At least what an interval of a cell's own needs; None without samples, or when the estimate is a
    bound.
    """
    if not samples:
        return None
    have = min(len(s) for s in samples)
    lacking = max(0, MINIMUM - have)
    positive = [b for b in bounds if b is not None and b > 0]
    spread = math.sqrt(sum(log_sd(s) ** 2 for s in samples))
    if not positive or estimate <= 0 or spread == 0:
        return lacking or None
    distance = min(abs(math.log(estimate / b)) for b in positive)
    if distance == 0:
        return None
    needed = math.ceil((normal(confidence) * MEDIAN_EFFICIENCY * spread / distance) ** 2)
    return min(MOST_RUNS, max(1, lacking, needed - have))


def runs_to_narrow(
    n: int, estimate: float, shown: tuple[float, float], least: tuple[float, float], bounds: Sequence[float],
    independent: bool,
) -> int | None:  # fmt: skip
    """Further runs of each cell, of which there are `n`, until the interval `shown` would clear all of `bounds`.

    Runs narrow it down to `least` only, the part of the error that is not theirs: of `independent` errors the halves
    (in logarithms) add in squares, else they add. None where no number of runs clears a bound.
    """
    power = 2 if independent else 1
    needed = 0.0
    for bound in bounds:
        if not shown[0] < bound < shown[1] or bound <= 0 or estimate <= 0:
            continue
        side = 1 if bound > estimate else 0
        if min(shown[side], least[side]) <= 0:
            return None
        now, left = (abs(math.log(ends[side] / estimate)) ** power for ends in (shown, least))
        distance = abs(math.log(bound / estimate)) ** power
        if distance <= left:
            return None
        needed = max(needed, n * ((now - left) / (distance - left)) ** (2 / power))
    return min(MOST_RUNS, max(1, math.ceil(needed) - n))
