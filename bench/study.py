"""What do a paper's experiments give when they are measured alone? And do all pairs that its claims compare agree with
themselves?

    .venv/bin/python bench/study.py emulex-2012 block-size packet-size [--runs 6] [--effort full]
    .venv/bin/python bench/study.py emulex-2012 --pairs [--runs 4] [--effort quick]

The first makes each cell of the experiments so often, in random order, and prints their medians. The second makes an
A/A control for every pair of networks or stores that a claim compares, whose right ratio is 1: each cell of the pair
runs under its own name on the other's network or store, among runs of the cell that it then is. Both keep what they
measured in --folder and go on from there when they are started again.
"""

from __future__ import annotations

import argparse
import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from whitewire.analysis import controls
from whitewire.analysis.runs import Runs
from whitewire.analysis.so_far import tables_of
from whitewire.analysis.trust import METRICS
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper, against
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design import synthetic
from whitewire.design.rows import levels_of, make_design
from whitewire.measure.block import Block
from whitewire.records.run import DesignRow


def wanted_rows(paper: Paper, testbed: Mapping[str, Any], args: argparse.Namespace) -> list[DesignRow]:
    raw = paper.raw
    raw["replicates"][args.effort], raw["blocks"][args.effort] = {"claimed": args.runs, "other": args.runs}, 1
    for experiment in raw["experiments"]:
        experiment.pop("replicates", None)
    rows = make_design(paper, testbed, args.effort, args.seed)
    names = set(args.experiments)
    cells = {(c["cell"]["experiment"], json.dumps(against(c), sort_keys=True)) for c in paper.controls}
    return [
        row for row in rows
        if row["experiment"] in names or (args.pairs and (
            "control" in paper.experiments[row["experiment"]]
            or (row["experiment"], json.dumps(levels_of(paper, row), sort_keys=True)) in cells))
    ]  # fmt: skip


def show_cells(table: pd.DataFrame, paper: Paper) -> None:
    good = table[(table["valid"] == "true") & table["metric"].isin(METRICS)].copy()
    good["value"] = pd.to_numeric(good["value"])
    used = [f for f in paper.factors if (good[f] != "").any()]
    for (experiment, metric), group in good.groupby(["experiment", "metric"], sort=False):
        print(f"\n{experiment}, {metric} as measured: median (least to most), runs")
        for key, cell in group.groupby(used, dropna=False):
            values = cell["value"].to_numpy()
            words = " ".join(f"{f}={v}" for f, v in zip(used, key, strict=True) if v != "")
            print(f"  {words}: {np.median(values):.4g} ({values.min():.4g} to {values.max():.4g}), {len(values)}")


def show_controls(table: pd.DataFrame, paper: Paper, seed: int) -> None:
    judged = [control.row for control in controls.judge(paper, Runs(table, paper, seed))]
    for row in judged:
        interval = f"{row['low']:.3f} to {row['high']:.3f}" if row["low"] else "no interval"
        t = f"{row['t']:+.1f}" if row["t"] is not None else "?"
        seen = f"{row['estimate']:.3f}" if row["estimate"] is not None else "none"
        print(f"{row['cell']} as {row['really']}, {row['metric']}: {seen} ({interval}), t = {t}, "
              f"{row['n']} and {row['n_against']} runs, {row['outcome']}")  # fmt: skip
    bounded = [row for row in judged if row["low"]]
    outside = sum(not row["low"] <= 1 <= row["high"] for row in bounded)
    print(
        f"{outside} of {len(bounded)} intervals without 1; largest |t| {max(abs(row['t'] or 0) for row in bounded):.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paper")
    parser.add_argument("experiments", nargs="*")
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--effort", default=None)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.effort = args.effort or ("quick" if args.pairs else "full")
    testbed = load_testbed("emulated")
    paper = load_paper(project.paper_path(args.paper), fabric_names(testbed))
    raw = copy.deepcopy(dict(paper.raw))
    raw["controls"] = synthetic.same_pairs(paper, args.effort) if args.pairs else []
    paper = Paper(raw, paper.path)
    folder = Path(args.folder or f"results/study/{args.paper}")
    block = f"{args.effort}-1"
    rows = wanted_rows(paper, testbed, args)
    for order, row in enumerate(rows, start=1):
        row["order"] = order
    if not rows:
        parser.error(f"no run of {', '.join(args.experiments) or 'any pair'} at {args.effort} effort")
    (folder / block).mkdir(parents=True, exist_ok=True)
    Block(paper, testbed, block, rows, folder / block).measure()
    table = tables_of(paper, folder / block)[0].fillna("")
    if args.pairs:
        show_controls(table, paper, args.seed)
    else:
        show_cells(table, paper)


if __name__ == "__main__":
    main()
