"""Do neighbouring k of a paper's ladder agree?

    .venv/bin/python bench/scales.py [PAPER ...] [--runs 2] [--turns 2] [--folder results/scales] [--show]

The cells that a paper measures at smoke effort, with the bytes of quick effort, on each k of its ladder in turn (first,
second, first, second, ...), so that what drifts does not line up with k. Each turn is a start of the cluster of its
own; what is finished is not made again. Prints per cell and metric the ratio of what the second k says to what the
first says, at full scale, with its 95 % interval, and whether it lies within 3 %.
"""

from __future__ import annotations

import argparse
import contextlib
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pandas as pd
from study import METRICS, table_of

from whitewire import statistics
from whitewire.analysis.runs import Runs
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper, cells_of
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design.rows import levels_of, make_design
from whitewire.estimands.evidence import Sample
from whitewire.measure.block import Block
from whitewire.records.run import DesignRow
from whitewire.text import canonical

PAPERS = ("emulex-2012", "mellanox-mapr", "qubole-2015", "xyratex-lustre-2011")
"""Those whose k is a ladder."""
BLOCK, AGREED = "quick-1", 0.03
SEED = 1


def rows_of(paper: Paper, testbed: dict, runs: int) -> list[DesignRow]:
    """So many runs of each cell that smoke effort has, as quick effort makes them."""
    cells = {
        (row["experiment"], canonical(levels_of(paper, row))) for row in make_design(paper, testbed, "smoke", SEED)
    }
    rows = [
        row for row in make_design(paper, testbed, "quick", SEED)
        if (row["experiment"], canonical(levels_of(paper, row))) in cells and row["replicate"] <= runs
    ]  # fmt: skip
    for order, row in enumerate(rows, start=1):
        row["order"], row["block"] = order, BLOCK
    return rows


def measure(paper: Paper, testbed: dict, runs: int, turns: int, folder: Path) -> None:
    """The same runs on every k, in turn."""
    for turn in range(turns):
        for rung in range(paper.rungs):
            block = folder / f"rung{rung}-{turn}" / BLOCK
            block.mkdir(parents=True, exist_ok=True)
            settled = Paper(paper.on(rung).raw, paper.path)
            if not (block / "block.json").exists():
                Block(settled, testbed, BLOCK, rows_of(settled, testbed, runs), block).measure()


def runs_of(paper: Paper, folder: Path, rung: int) -> Runs:
    """The runs on a k, of all turns."""
    return Runs(pd.concat([table_of(paper, where, BLOCK) for where in sorted(folder.glob(f"rung{rung}-*"))]), paper)


def show(paper: Paper, folder: Path) -> None:
    """A line per cell, metric and pair of neighbouring k."""
    rungs = [runs_of(paper, folder, rung) for rung in range(paper.rungs)]
    ks = [paper.on(rung).raw["scale"]["k"] for rung in range(paper.rungs)]
    for (lower, one), (upper, two) in pairwise(zip(ks, rungs, strict=True)):
        for name, metric in product(paper.experiments, METRICS):
            for levels in cells_of(paper.experiments[name]):
                pair = [each.sample(name, levels, metric) for each in (one, two)]
                if all(len(sample.values) for sample in pair):
                    told = between(*pair)
                    print(f"| {paper.id} | {pair[0].name.strip()} | {metric} | {upper:g} against {lower:g} | {told} |")


def between(one: Sample, two: Sample) -> str:
    """The second over the first with its interval, the numbers of runs, and whether it lies within AGREED of 1."""
    ratio = float(np.median(two.values) / np.median(one.values))
    counts = [len(one.values), len(two.values)]
    interval = statistics.student_interval(ratio, counts, [one.spread, two.spread], [one.freedom, two.freedom])
    low, high = interval or (np.nan, np.nan)
    apart = high < 1 - AGREED or low > 1 + AGREED
    word = "yes" if low >= 1 - AGREED and high <= 1 + AGREED else "no" if apart else "cannot tell"
    return f"{ratio:.3f} ({low:.3f} to {high:.3f}) | {counts[0]} and {counts[1]} | {word}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("papers", nargs="*", default=list(PAPERS))
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path("results/scales"))
    parser.add_argument("--show", action="store_true", help="measure nothing")
    args = parser.parse_args()
    testbed = load_testbed("emulated")
    loaded = [load_paper(project.paper_path(name), fabric_names(testbed)) for name in args.papers]
    if not args.show:
        for paper in loaded:
            measure(paper, dict(testbed), args.runs, args.turns, args.folder / paper.id)
    print("| paper | cell | metric | k | ratio | runs | within 3 % |\n|---|---|---|---|---|---|---|")
    with contextlib.suppress(BrokenPipeError):
        for paper in loaded:
            if list((args.folder / paper.id).glob("rung*")):
                show(paper, args.folder / paper.id)


if __name__ == "__main__":
    main()
