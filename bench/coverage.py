"""How often does the interval of a ratio of net times hold the truth, with startup overheads that scatter?

    .venv/bin/python bench/coverage.py [--simulations 2000]

Experiments of three cells are made up, of normal times and overheads with known means, and judged as the analysis does.
Prints a line a combination: coverage of the 95 % interval, its median width as a factor (high over low), and how many
experiments had no interval because nothing was left of some time.
"""

from __future__ import annotations

import argparse
import itertools
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
import pandas as pd

from whitewire import statistics
from whitewire.analysis import net
from whitewire.estimands.cells import ratio_limits
from whitewire.estimands.evidence import Sample

RUNS, OVERHEADS, SHARES, RATIOS = (3, 6, 10), (4, 8), (0.3, 0.5, 0.8), (1.0, 2.0)
UNEQUAL = (1.0, 4.0)
RUN_SD, OVERHEAD_SD = 0.02, 0.05
"""Scatter of a run, as a share of the shorter cell's whole time, and of an overhead run, as a share of the overhead."""
METRIC, BLOCK = "completion_time_net", "full-1"


@dataclass(frozen=True)
class Case:
    """Runs per cell, overhead runs per key, the overhead's share of the shorter cell's time, true ratio, one for both.

    `outlier` is what one in ten overhead runs takes longer, in overheads; `unequal` is the second cell's scatter over
    the first's.
    """

    runs: int
    overheads: int
    share: float
    ratio: float
    shared: bool
    outlier: float = 0.0
    unequal: float = 1.0


def interval_of(case: Case, seed: int) -> tuple[float, float] | None:
    """One made-up experiment: the interval of the ratio of two net times of one second times the ratio, and one."""
    rng = np.random.Generator(np.random.PCG64([1, seed]))
    overhead, sd = case.share / (1 - case.share), RUN_SD / (1 - case.share)
    keys = ("a", "a", "a") if case.shared else ("a", "b", "b")
    measured = {key: overhead * (1 + OVERHEAD_SD * rng.standard_normal(case.overheads)) for key in dict.fromkeys(keys)}
    for values in measured.values():
        values += overhead * case.outlier * (rng.random(len(values)) < 0.1)
    nets = [
        overhead + true + case.unequal**number * sd * rng.standard_normal(case.runs) - np.median(measured[key])
        for number, (true, key) in enumerate(zip((case.ratio, 1.0), keys, strict=False))
    ]
    if min(map(np.min, nets)) <= 0:
        return None
    rows = [
        (BLOCK, key, "terasort", "terasort", i, t, True) for key, each in measured.items() for i, t in enumerate(each)
    ]
    names = ["block", "floor", "workload", "job", "number", "seconds", "valid"]
    overheads = net.OverheadErrors(pd.DataFrame(rows, columns=names))
    samples = []
    for name, key, values in zip("ab", keys, nets, strict=False):
        own = overheads.errors(METRIC, float(np.median(values)), {(BLOCK, key): 1.0})
        spread = statistics.scatter(values)
        samples.append(Sample(values, 0, "s", name, spread, case.runs - 1, METRIC, own or {}))
    one, two = samples
    return ratio_limits(one, two)


def coverage(case: Case, simulations: int) -> tuple[float, float, int]:
    """(share of intervals that hold the true ratio, median of high over low, experiments without an interval)."""
    found = [interval_of(case, number) for number in range(simulations)]
    intervals = [each for each in found if each]
    if not intervals:
        return float("nan"), float("nan"), simulations
    held = np.mean([low <= case.ratio <= high for low, high in intervals])
    return (
        float(held),
        float(np.median([high / max(low, 1e-9) for low, high in intervals])),
        simulations - len(intervals),
    )


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--simulations", type=int, default=2000)
    count = arguments.parse_args().simulations
    each = itertools.product(RUNS, OVERHEADS, SHARES, RATIOS, (True, False), UNEQUAL)
    cases = [
        Case(runs, overheads, share, ratio, shared, unequal=x) for runs, overheads, share, ratio, shared, x in each
    ]
    print("| runs | overhead runs | share of the overhead | ratio | overhead | scatter | coverage | width | "
          "no interval |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    with ProcessPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        for case, found in zip(cases, pool.map(coverage, cases, [count] * len(cases)), strict=True):
            held, width, without = found
            which = "shared" if case.shared else "separate"
            print(f"| {case.runs} | {case.overheads} | {case.share:g} | {case.ratio:g} | {which} | x{case.unequal:g} | "
                  f"{held:.3f} | "
                  f"{width:.2f} | {without / count:.1%} |", flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
