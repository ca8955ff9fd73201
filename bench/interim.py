"""How often do intervals hold the truth after interim analyses, and what do these cost?

    .venv/bin/python bench/interim.py [--designs 2500] [--variants] [--seed 1]

Designs of eight pairs of cells are made up, with known ratios, and judged by the analysis' own interval and levels. A
pair's runs end when its claim is decided. Without `--variants` prints a line per setting for the rule in use; with it a
line per variant of the rule, over all settings. Columns: coverage of the final interval over all pairs, and of the pair
that is covered least; the chance to decide a claim that is a factor of 1.25 from its bound; runs of a cell; the mean
width (in logarithms) of the final interval of a pair without effect. Some two minutes on two processors.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np

from whitewire import propagation, sequential, statistics
from whitewire.rule import POWER

ANALYSES = (3, 6, 10)
SD, OVERHEAD, OVERHEAD_SD, OVERHEADS = 0.1, 1.0, 0.05, 4
"""Scatter of a run's logarithm; seconds of a startup overhead, its relative scatter, how many there are."""
STEP = math.log(1.25)
CLAIMS = np.array([
    (0.0, 0.0, math.inf), (0.0, 0.0, math.inf), (0.0, -STEP, STEP), (math.log(1.1), 0.0, math.inf),
    (STEP, 0.0, math.inf), (math.log(2), 0.0, math.inf), (STEP, -math.inf, 2 * STEP), (math.log(4), 0.0, math.inf),
])  # fmt: skip
"""Of each pair the logarithm of its ratio, and its claim's bounds. The first two have no effect, which no number of
runs decides; of the first pair one cell or both scatter otherwise."""
DECIDABLE = [4, 6]
SETTINGS = tuple(product(("normal", "t3", "outliers"), ("alike", "pair x4", "cell x4"), ("none", "shared", "separate")))


@dataclass(frozen=True)
class Rule:
    """A variant: centre of a cell's runs, freedom that other cells add, planned analyses, exponent of the spending.

    `end`: after how many runs a budget ends; 0 for the last of `analyses`.
    """

    centre: str = "mean"
    prior: float = 0.0
    analyses: tuple[int, ...] = ANALYSES
    power: float = POWER
    end: int = 0

    def levels(self) -> Iterator[tuple[int, float]]:
        """Runs and level of each analysis."""
        made = tuple(n for n in self.analyses if not self.end or n <= self.end)
        yield from zip(made, sequential.levels(0.05, made, self.analyses[-1], False, self.power), strict=True)
        if self.end and self.end < self.analyses[-1]:
            last = (*(n for n in made if n < self.end), self.end)
            yield self.end, sequential.levels(0.05, last, self.analyses[-1], True, self.power)[-1]


def hodges_lehmann(logs: np.ndarray) -> np.ndarray:
    one, two = np.triu_indices(logs.shape[-1])
    return np.median((logs[..., one] + logs[..., two]) / 2, axis=-1)


CENTRES = {
    "mean": (lambda logs: logs.mean(axis=-1), lambda n: 1 / math.sqrt(n)),
    "median": (lambda logs: np.median(logs, axis=-1), statistics.median_error),
    "Hodges-Lehmann": (hodges_lehmann, lambda n: 1.02 / math.sqrt(n)),
    "median, factor 1.2533": (lambda logs: np.median(logs, axis=-1), lambda n: 1.2533 / math.sqrt(n)),
}


def made_up(rng: np.random.Generator, designs: int, setting: tuple[str, str, str]
            ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """(logarithms of net times: designs, cells, runs; variances of overheads' medians in seconds: designs, cells)."""
    noise, scatter, overheads = setting
    shape = (designs, 2 * len(CLAIMS), max(ANALYSES))
    errors = rng.standard_t(3, shape) / math.sqrt(3) if noise == "t3" else rng.standard_normal(shape)
    sd = np.full(shape[1], SD)
    if scatter != "alike":
        sd[[0, 8]] *= 4
    if scatter == "pair x4":
        sd[[1, 9]] *= 4
    errors *= sd[:, None]
    if noise == "outliers":
        errors += (rng.random(shape) < 0.05) * math.log(1.5)
    errors[:, ::2] += CLAIMS[:, 0, None]
    if overheads == "none":
        return errors, np.zeros(shape[:2])
    made = OVERHEAD * (
        1 + OVERHEAD_SD * rng.standard_normal((designs, 1 if overheads == "shared" else shape[1], OVERHEADS))
    )
    seconds = np.exp(errors) + OVERHEAD - np.median(made, axis=-1)[..., None]
    # As the analysis does with few overhead runs: all kinds have one scatter.
    variances = made.var(axis=-1, ddof=1).mean(axis=-1, keepdims=True) * statistics.median_error(OVERHEADS) ** 2
    return np.log(np.maximum(seconds, 1e-6)), np.broadcast_to(variances, shape[:2])


def intervals(logs: np.ndarray, overheads: np.ndarray, setting: tuple[str, str, str], rule: Rule, alpha: float
              ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Ends of the interval of every pair's ratio, in logarithms."""
    n = logs.shape[-1]
    centre, error = CENTRES[rule.centre]
    points, own = centre(logs), logs.var(axis=-1, ddof=1)
    pooled = own.mean(axis=-1, keepdims=True)
    own = (rule.prior * pooled + (n - 1) * own) / (rule.prior + n - 1) * error(n) ** 2
    inverse = np.exp(-points)
    above, below = inverse[:, ::2], inverse[:, 1::2]
    shared = setting[2] == "shared"
    of_overheads = ((above - below) ** 2 if shared else above**2 + below**2) * overheads[:, ::2]
    variances = np.stack([own[:, ::2], own[:, 1::2], of_overheads], axis=-1)
    freedom = n - 1 + rule.prior
    known = (OVERHEADS - 1) * (1 if shared else logs.shape[1])
    half = propagation.half_width(variances, np.array([freedom, freedom, known]), alpha)
    point = points[:, ::2] - points[:, 1::2]
    return point - half, point + half


def simulated(setting: tuple[str, str, str], rule: Rule, designs: int, seed: int) -> tuple[float, ...]:
    """(coverage, least of a pair, chance to decide, runs, width) of one setting."""
    logs, overheads = made_up(np.random.default_rng(seed), designs, setting)
    truth, lower, upper = CLAIMS.T
    still = np.ones((designs, len(CLAIMS)), dtype=bool)
    low, high, runs = np.zeros(still.shape), np.zeros(still.shape), np.zeros(still.shape)
    for n, alpha in rule.levels():
        ends = intervals(logs[:, :, :n], overheads, setting, rule, alpha)
        low, high, runs = np.where(still, ends[0], low), np.where(still, ends[1], high), np.where(still, n, runs)
        still &= ~((low > lower) & (high < upper) | (high <= lower) | (low >= upper))
    held = (low <= truth) & (truth <= high)
    decided = 1 - still[:, DECIDABLE].mean()
    return held.mean(), held.mean(axis=0).min(), decided, runs.mean(), (high - low)[:, 1].mean()


def variants() -> Iterator[Rule]:
    """Centres and priors at a fixed number of runs; then schedules."""
    for n, centre, prior in product((3, 4, 6, 8, 10), CENTRES, (0.0, 1.0)):
        yield Rule(centre, prior, (n,))
    yield from (replace(Rule(analyses=analyses), prior=prior, power=power)
                for prior in (0.0, 1.0)
                for analyses in ((3, 4, 6, 8, 10), (3, 5, 10), (3, 6, 10), (4, 7, 10), (4, 10), (5, 10))
                for power in (1.0, 2.0, 3.0))  # fmt: skip


def row(found: tuple[float, ...]) -> str:
    coverage, least, decided, runs, width = found
    return f"{coverage:.3f} | {least:.3f} | {decided:.0%} | {runs:.1f} | {width:.2f} |"


def of_variant(rule: Rule, designs: int, seed: int) -> str:
    """The line of one variant, over all settings; the least coverage is that of a pair in a setting."""
    found = np.array([simulated(setting, rule, designs, seed) for setting in SETTINGS])
    whole = (found[:, 0].mean(), found[:, 1].min(), *found[:, 2:].mean(axis=0))
    analyses = " ".join(map(str, rule.analyses))
    return f"| {rule.centre} | {rule.prior:g} | {analyses} | {rule.power:g} | {found[:, 0].min():.3f} | {row(whole)}"


def of_setting(setting: tuple[str, str, str], designs: int, seed: int) -> Iterator[str]:
    for words, rule in (("analyses after 3, 6, 10", Rule()), *((f"ends after {n}", Rule(end=n)) for n in (3, 5, 8))):
        yield f"| {' | '.join(setting)} | {words} | {row(simulated(setting, rule, designs, seed))}"


def listed(setting: tuple[str, str, str], designs: int, seed: int) -> list[str]:
    return list(of_setting(setting, designs, seed))


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--designs", type=int, default=2500)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--variants", action="store_true", help="compare variants of the rule")
    given = arguments.parse_args()
    columns = "coverage | least of a pair | decided | runs | width |"
    with ProcessPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        if given.variants:
            print(f"| centre | prior | analyses | power | least of a setting | {columns}\n|{'---|' * 10}")
            for line in pool.map(partial(of_variant, designs=given.designs, seed=given.seed), variants()):
                print(line, flush=True)
            return 0
        print(f"| runs | scatter | overhead | measured | {columns}\n|{'---|' * 9}")
        for lines in pool.map(partial(listed, designs=given.designs, seed=given.seed), SETTINGS):
            print("\n".join(lines), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
