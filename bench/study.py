"""What do a paper's experiments give when they are measured alone? And do all pairs that its claims compare agree with
themselves?

    .venv/bin/python bench/study.py emulex-2012 block-size packet-size [--runs 6] [--effort full]
    .venv/bin/python bench/study.py emulex-2012 --pairs [--runs 4] [--effort quick]
    .venv/bin/python bench/study.py config/suspects/blocks-tasks-memory.yaml [--dry-run]

The first makes each cell of the experiments so often, in random order, and prints their medians. The second makes an
A/A control for every pair of networks or stores that a claim compares, whose right ratio is 1: each cell of the pair
runs under its own name on the other's network or store, among runs of the cell that it then is. The third measures a
description that is no paper of the workflow, at its own numbers of runs: it prints each claim's ratio with its
interval, and of each cell the bytes into the busiest worker over those into the mean one. All keep what they measured
in --folder and go on from there when they are started again; --dry-run prints runs and minutes.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from whitewire import propagation, statistics
from whitewire.analysis import controls, judging
from whitewire.analysis.runs import Runs, on_testbed, status_on
from whitewire.analysis.so_far import as_read
from whitewire.analysis.trust import COMPARED_METRICS
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper, against
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design import synthetic
from whitewire.design.amounts import check_amounts
from whitewire.design.rows import levels_of, make_design
from whitewire.design.shapes import check_shapes
from whitewire.levels import cell_name
from whitewire.measure import groups
from whitewire.measure.block import Block
from whitewire.measure.block_plan import BlockPlan
from whitewire.records.jobs import moved
from whitewire.records.run import DesignRow
from whitewire.tidy import tables
from whitewire.workflow.missing import START_UP_S, seconds_lacking


def is_file(paper: str) -> bool:
    return paper.endswith(".yaml")


def wanted_rows(paper: Paper, testbed: Mapping[str, Any], args: argparse.Namespace) -> list[DesignRow]:
    raw = paper.raw
    raw["blocks"][args.effort] = 1
    if args.runs:
        raw["replicates"][args.effort] = {"claimed": args.runs, "other": args.runs}
        for experiment in raw["experiments"]:
            experiment.pop("replicates", None)
    rows = make_design(paper, testbed, args.effort, args.seed)
    names = set(args.experiments or (paper.experiments if is_file(args.paper) else ()))
    cells = {(c["cell"]["experiment"], json.dumps(against(c), sort_keys=True)) for c in paper.controls}
    return [
        row for row in rows
        if row["experiment"] in names or (args.pairs and (
            "control" in paper.experiments[row["experiment"]]
            or (row["experiment"], json.dumps(levels_of(paper, row), sort_keys=True)) in cells))
    ]  # fmt: skip


def show_cells(table: pd.DataFrame, paper: Paper) -> None:
    good = table[(table["valid"] == "true") & table["metric"].isin(COMPARED_METRICS)].copy()
    good["value"] = pd.to_numeric(good["value"], errors="coerce")  # a net time below 0 is "nan"
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


def show_claims(paper: Paper, runs: Runs, status: str) -> None:
    print("\n| claim | asked for | ratio | 95 % interval | runs | unit | verdict |\n|---|---|---|---|---|---|---|")
    rows = judging.claims_judged(paper, runs, status)
    for row in rows:
        estimate, interval, wanted = (
            " to ".join(f"{row[end]:.3g}" for end in ends if row[end] is not None)
            for ends in (("estimate",), ("low", "high"), ("expected_low", "expected_high"))
        )
        print(f"| {row['claim']}: {row['statement']} | {row['relation']} {wanted} | {estimate} | {interval} "
              f"| {row['n'] or 0} | {row['unit']} | {row['verdict']} |")  # fmt: skip
    for row in rows:
        print(f"{row['claim']}: {row['reason']}")


def show_links(block: Path) -> None:
    """How unevenly a cell's bytes come into its workers, and how full that makes the busiest link."""
    uneven: dict[str, list[float]] = defaultdict(list)
    full: dict[str, list[float]] = defaultdict(list)
    for path in sorted((block / "runs").glob("*/run.json")):
        record = json.loads(path.read_text())
        into = [moved(record, [host], "ingress") for host in record["workers"]]
        seconds = record["end"] - record["start"] - sum(record["floors"].values())
        cell = cell_name(record["experiment"], record["factors"])
        uneven[cell].append(max(into) * len(into) / sum(into))
        full[cell].append(max(into) / seconds / (record["fabric"]["rate"] * 1e6 / 8) if seconds > 0 else math.nan)
    print("\nbytes into the busiest worker over those into the mean one, and over what its link carries in net time")
    print("| cell | busiest over mean, 1 | 95 % interval | runs | busiest over link, 1 |\n|---|---|---|---|---|")
    for cell, values in uneven.items():
        estimate, interval = mean_of(values)
        print(f"| {cell} | {estimate:.3f} | {interval} | {len(values)} | {np.nanmedian(full[cell]):.2f} |")


def mean_of(values: Sequence[float]) -> tuple[float, str]:
    """Geometric mean of runs, and its interval in words."""
    mean, n = float(np.exp(np.mean(np.log(values)))), len(values)
    if n < statistics.FEWEST:
        return mean, ""
    found = propagation.interval(mean, {"runs": (statistics.scatter(values) / math.sqrt(n), n - 1)})
    return mean, " to ".join(f"{end:.3f}" for end in found or ())


def show_plan(paper: Paper, testbed: Mapping[str, Any], rows: Sequence[DesignRow], effort: str) -> None:
    for cell, runs in Counter(cell_name(row["experiment"], levels_of(paper, row)) for row in rows).items():
        print(f"{runs} x {cell}")
    made = [BlockPlan(paper, testbed, effort).run(row) for row in rows]
    clusters = len(groups.clusters(paper, made, testbed))
    seconds = seconds_lacking(paper, rows, testbed) + (clusters - 1) * START_UP_S
    plural = "s" if clusters > 1 else ""
    print(f"{len(rows)} runs on {clusters} cluster{plural}: {seconds / 60:.0f} min by the model of times")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paper", help="a paper's name, or a description's file")
    parser.add_argument("experiments", nargs="*")
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--runs", type=int, default=None, help="of each cell (default: 6; of a file, its own numbers)")
    parser.add_argument("--effort", default=None)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dry-run", action="store_true", help="measure nothing")
    args = parser.parse_args()
    described = is_file(args.paper)
    args.effort = args.effort or ("quick" if args.pairs or described else "full")
    args.runs = args.runs or (None if described else 6)
    testbed = load_testbed("emulated")
    paper = load_paper(Path(args.paper) if described else project.paper_path(args.paper), fabric_names(testbed))
    check_amounts(paper, testbed)
    check_shapes(paper, testbed)
    raw = copy.deepcopy(dict(paper.raw))
    raw["controls"] = synthetic.same_pairs(paper, args.effort) if args.pairs else []
    paper = Paper(raw, paper.path)
    folder = Path(args.folder or f"results/study/{paper.id}")
    block = f"{args.effort}-1"
    rows = wanted_rows(paper, testbed, args)
    for order, row in enumerate(rows, start=1):
        row["order"] = order
    if not rows:
        parser.error(f"no run of {', '.join(args.experiments) or 'any pair'} at {args.effort} effort")
    if args.dry_run:
        show_plan(paper, testbed, rows, args.effort)
        return
    (folder / block).mkdir(parents=True, exist_ok=True)
    Block(paper, testbed, block, rows, folder / block).measure()
    made, overheads = as_read(paper, *tables.so_far(paper, folder / block))
    table = made.fillna("")
    if args.pairs:
        show_controls(table, paper, args.seed)
    else:
        show_cells(table, paper)
    if described:
        runs = on_testbed(paper, testbed, args.effort, made, overheads, seed=args.seed, ended=True)
        show_claims(paper, runs, status_on(testbed))
        show_links(folder / block)


if __name__ == "__main__":
    main()
