"""What does it cost to look at claims while runs come in, and to stop at those that are decided?

    .venv/bin/python bench/looks.py [--designs 10000] [--quick]

Designs of eight pairs of cells are made up, with normal logarithms and known ratios, and judged as the analysis does:
Student's t with moderated variances below six runs, the bootstrap from six on (here of all resamples at once, by their
probabilities), at the level of sequential.nominal. A pair's runs end when its claim is decided. "One pair alone" has
each pair in an experiment of its own, "one cell alone" judges each first cell against a number. Prints a line per kind
of scatter and way of stopping: coverage of the interval at stopping (of all pairs, and of the first, which scatters
otherwise), false alarms where there is no effect (of the second pair and of the first), runs of a cell, and, of the
claims that can be decided, those open at the end.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, partial
from itertools import product

import numpy as np
from scipy import stats

from whitewire import sequential, statistics

LADDER = (3, 4, 6, 8, 10)
CLAIMS = (
    (0.0, 0.0, math.inf),
    (0.0, 0.0, math.inf),
    (0.0, -5.0, 5.0),
    (1.0, 0.0, math.inf),
    (2.0, 0.0, math.inf),
    (4.0, 0.0, math.inf),
    (4.0, -1.0, 9.0),
    (8.0, 0.0, math.inf),
)
"""Of each pair the logarithm of its ratio and the claim's bounds, in scatters of a run. The first two have no effect
and are said to have one, which no number of runs decides; the first scatters otherwise."""
NULL = 2
CHUNK = 500


@dataclass(frozen=True)
class Way:
    """How one stops: `looks` at `alpha` each, with `scatter` from variances and degrees of freedom of all cells."""

    name: str
    looks: tuple[int, ...]
    alpha: float
    scatter: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] = statistics.moderated
    alone: int = 0
    """Cells of an experiment: all where this is 0, a pair, or one cell, which is then judged by itself."""

    def scattered(self, variances: np.ndarray, freedoms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of all cells, by what those of their own experiment say."""
        if not self.alone:
            return self.scatter(variances, freedoms)
        shape = (len(variances), -1, self.alone)
        found = self.scatter(variances.reshape(shape), freedoms.reshape(shape))
        return found[0].reshape(variances.shape), found[1].reshape(variances.shape)


def pooled(variances: np.ndarray, freedoms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One scatter of all cells, for comparison."""
    total = freedoms.sum(axis=-1, keepdims=True)
    same = (variances * freedoms).sum(axis=-1, keepdims=True) / total
    return np.broadcast_to(same, variances.shape), np.broadcast_to(total, variances.shape)


WAYS = (
    Way("looks", LADDER, sequential.nominal(sequential.ALPHA, LADDER)),
    Way("looks, one pooled scatter", LADDER, sequential.nominal(sequential.ALPHA, LADDER), pooled),
    Way("looks at 95 % each", LADDER, sequential.ALPHA),
    *(Way(f"{n} runs", (n,), sequential.ALPHA) for n in (3, 6, 10)),
    Way("looks, one pair alone", LADDER, sequential.nominal(sequential.ALPHA, LADDER), alone=2),
    Way("3 runs, one pair alone", (3,), sequential.ALPHA, alone=2),
    Way("3 runs, one cell alone", (3,), sequential.ALPHA, alone=1),
    Way("3 runs, d0 at most 2", (3,), sequential.ALPHA, partial(statistics.moderated, most=2)),
    Way("3 runs, any d0", (3,), sequential.ALPHA, partial(statistics.moderated, most=math.inf)),
    Way("3 runs, one pooled scatter", (3,), sequential.ALPHA, pooled),
)
SCATTERS: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "alike": lambda rng, designs, cells: np.ones((designs, cells)),
    "one pair twice the others": lambda rng, designs, cells: _noisy(designs, cells, 2.0),
    "one pair four times the others": lambda rng, designs, cells: _noisy(designs, cells, 4.0),
    "every cell its own": lambda rng, *shape: np.sqrt(4 / rng.chisquare(4, shape)),
}


def _noisy(designs: int, cells: int, times: float) -> np.ndarray:
    found = np.ones((designs, cells))
    found[:, :2] = times
    return found


@dataclass
class Told:
    """What many designs told: hits of `held` of the pairs, and so on; the first column is the pair apart."""

    held: np.ndarray
    alarm: np.ndarray
    runs: np.ndarray
    open: np.ndarray

    def line(self) -> str:
        """The cells of a row of the table."""
        alarm = self.alarm.mean(axis=0)
        return (
            f"{self.held.mean():.3f} | {self.held[:, 0].mean():.3f} | {alarm[1]:.3f} | {alarm[0]:.3f} | "
            f"{self.runs.mean():.1f} | {self.open[:, NULL:].mean():.0%}"
        )


def simulated(way: Way, scatter: str, designs: int, seed: int = 1) -> Told:
    """So many designs, each with its pairs measured until decided."""
    parts = []
    for number in range(0, designs, CHUNK):
        rng = np.random.Generator(np.random.PCG64([seed, number]))
        parts.append(_simulated(way, SCATTERS[scatter], min(CHUNK, designs - number), rng))
    return Told(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Told)))


def _simulated(way: Way, scatter: Callable[..., np.ndarray], designs: int, rng: np.random.Generator) -> Told:
    truth, lower, upper = (np.array(column) for column in zip(*CLAIMS, strict=True))
    cells = 2 * len(CLAIMS)
    logs = rng.standard_normal((designs, cells, max(LADDER))) * scatter(rng, designs, cells)[:, :, None]
    logs[:, ::2] += truth[:, None]
    if way.alone == 1:
        logs[:, 1::2] = 0.0  # a number, which does not scatter
    still = np.ones((designs, len(CLAIMS)), dtype=bool)
    low, high, runs = (np.zeros(still.shape) for _ in range(3))
    counts, variances = np.zeros((designs, cells)), np.zeros((designs, cells))
    for n in way.looks:
        running = np.repeat(still, 2, axis=1)
        counts[running] = n
        variances = np.where(running, logs[:, :, :n].var(axis=2, ddof=1), variances)
        ends = _by_bootstrap(logs[:, :, :n], way.alpha, still) if n >= statistics.MINIMUM else None
        if ends is None:
            ends = _by_scatter(logs[:, :, :n], counts, *way.scattered(variances, counts - 1), way.alpha)
        low, high = np.where(still, ends[0], low), np.where(still, ends[1], high)
        runs[still] = n
        still &= ~((low > lower) & (high < upper) | (high <= lower) | (low >= upper))
    held = (low <= truth) & (truth <= high)
    return Told(held, ((low > 0) | (high < 0))[:, :NULL], runs, still)


def _by_scatter(
    logs: np.ndarray, counts: np.ndarray, variances: np.ndarray, freedoms: np.ndarray, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """statistics.student_interval of every pair of every design, in logarithms."""
    error = variances * np.vectorize(statistics.median_error)(counts) ** 2
    both = error[:, ::2] + error[:, 1::2]
    parts = error**2 / freedoms
    half = stats.t.isf(alpha / 2, both**2 / (parts[:, ::2] + parts[:, 1::2])) * np.sqrt(both)
    medians = np.median(logs, axis=2)
    point = medians[:, ::2] - medians[:, 1::2]
    return point - half, point + half


def _by_bootstrap(logs: np.ndarray, alpha: float, still: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """statistics.ratio_interval of the pairs that are still open, in logarithms, of infinitely many resamples."""
    ordered = np.sort(logs, axis=2)
    i, j, weights = resampled_medians(logs.shape[2])
    medians = (ordered[:, :, i] + ordered[:, :, j]) / 2
    low, high = np.zeros(still.shape), np.zeros(still.shape)
    joint = np.outer(weights, weights).ravel()
    for pair in range(still.shape[1]):
        rows = still[:, pair]
        if not rows.any():
            continue
        above, below = medians[rows, 2 * pair], medians[rows, 2 * pair + 1]
        atoms = (above[:, :, None] - below[:, None, :]).reshape(len(above), -1)
        order = np.argsort(atoms, axis=1)
        share = np.cumsum(joint[order], axis=1)
        for ends, quantile in ((low, alpha / 2), (high, 1 - alpha / 2)):
            at = np.minimum((share < quantile).sum(axis=1), atoms.shape[1] - 1)
            ends[rows, pair] = atoms[np.arange(len(atoms)), order[np.arange(len(atoms)), at]]
    return low, high


@cache
def resampled_medians(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which two order statistics (the same one twice for odd n) the median of a resample averages, how probably."""
    first, second = (n - 1) // 2 + 1, n // 2 + 1

    def within(i: int, j: int) -> float:
        """Chance that the two are at most the i-th and the j-th of the sample."""
        i = min(i, j)
        return sum(
            stats.multinomial.pmf([a, b, n - a - b], n, [i / n, (j - i) / n, 1 - j / n])
            for a, b in product(range(first, n + 1), range(n + 1))
            if second <= a + b <= n
        )

    found = []
    for i in range(1, n + 1):
        for j in range(i, n + 1):
            chance = within(i, j) - within(i, j - 1) - (within(i - 1, j) - within(i - 1, j - 1))
            if chance > 1e-12:
                found.append((i - 1, j - 1, chance))
    i_, j_, chances = zip(*found, strict=True)
    return np.array(i_), np.array(j_), np.array(chances) / sum(chances)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--designs", type=int, default=10_000)
    arguments.add_argument("--quick", action="store_true", help="a hundred designs, to see that it works")
    given = arguments.parse_args()
    designs = 100 if given.quick else given.designs
    print(f"{designs} designs; level of each of the looks {LADDER}: {WAYS[0].alpha:.4f}\n")
    print("| scatter | runs end | coverage | of the first pair | false alarms | of the first pair | runs | open |")
    print("|---|---|---|---|---|---|---|---|")
    for scatter, way in product(SCATTERS, WAYS):
        print(f"| {scatter} | {way.name} | {simulated(way, scatter, designs).line()} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
