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
from pathlib import Path

import numpy as np
import pandas as pd
from study import METRICS, table_of

from whitewire import statistics
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design.rows import levels_of, make_design
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


def values_of(paper: Paper, folder: Path, rung: int) -> dict[tuple[str, str, str], np.ndarray]:
    """Values of the valid runs on a k, at full scale where that is another, by experiment, cell and metric."""
    found = [table_of(paper, where, BLOCK) for where in sorted(folder.glob(f"rung{rung}-*"))]
    table = pd.concat(found)
    table = table[(table["valid"] == "true") & table["metric"].isin(METRICS)]
    full = pd.to_numeric(table["full_scale_value"], errors="coerce")
    table = table.assign(best=full.fillna(pd.to_numeric(table["value"])))
    told = {}
    for key, group in table.groupby(["experiment", *paper.factors, "metric"], dropna=False):
        experiment, *levels, metric = key if isinstance(key, tuple) else (key,)
        cell = " ".join(f"{f}={v}" for f, v in zip(paper.factors, levels, strict=True) if v not in ("", None))
        told[str(experiment), cell, str(metric)] = group["best"].to_numpy(dtype=float)
    return told


def show(paper: Paper, folder: Path) -> None:
    """A line per cell, metric and pair of neighbouring k."""
    rungs = [values_of(paper, folder, rung) for rung in range(paper.rungs)]
    for lower, (one, two) in enumerate(zip(rungs, rungs[1:], strict=False)):
        both = [key for key in one if key in two and min(len(one[key]), len(two[key])) > 1]
        logs = [np.log(side[key]) for key in both for side in (one, two)]
        spread, freedom = statistics.moderated([each.var(ddof=1) for each in logs], [len(each) - 1 for each in logs])
        ks = [paper.on(rung).raw["scale"]["k"] for rung in (lower, lower + 1)]
        for place, key in enumerate(both):
            at = slice(2 * place, 2 * place + 2)
            ratio = float(np.median(two[key]) / np.median(one[key]))
            counts = [len(one[key]), len(two[key])]
            interval = statistics.student_interval(ratio, counts, list(np.sqrt(spread[at])), list(freedom[at]))
            low, high = interval or (np.nan, np.nan)
            within = low >= 1 - AGREED and high <= 1 + AGREED
            apart = high < 1 - AGREED or low > 1 + AGREED
            word = "yes" if within else "no" if apart else "cannot tell"
            print(f"| {paper.id} | {' '.join(key[:2])} | {key[2]} | {ks[1]} against {ks[0]} | {ratio:.3f} "
                  f"({low:.3f} to {high:.3f}) | {counts[0]} and {counts[1]} | {word} |")  # fmt: skip


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
