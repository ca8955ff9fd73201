"""What makes the startup overhead of a job longer: other programs, wake-up latency, segments sent again?

    .venv/bin/python bench/overheads.py [--runs 6] [--loads 0 0.5 1 2] [--minutes 8] [--folder results/overheads]
    .venv/bin/python bench/overheads.py --show

The same overhead runs (TeraSort and TestDFSIO of mellanox-mapr, whose data are next to none) are made while
another program burns so many processors, in random order, and each is set against the median without load.
overheads.csv in --folder has a row per overhead run; --show only reads that.
"""

from __future__ import annotations

import argparse
import csv
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from whitewire import workloads
from whitewire.cluster.stack import Stack
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design.rows import make_design
from whitewire.measure.block import Block
from whitewire.measure.block_plan import BlockPlan
from whitewire.measure.campaign import Campaign
from whitewire.measure.execution import execute_empty
from whitewire.measure.load import SETTLED_S, burning
from whitewire.measure.run import Run
from whitewire.measure.turns import AttemptOutcome
from whitewire.records.jobs import moved, segment
from whitewire.records.overhead import job_seconds
from whitewire.records.run import DesignRow

PAPER, EXPERIMENTS = "mellanox-mapr", ("terasort-curve", "testdfsio-curve")
PREDICTORS = ("cpu_outside", "cpu_late", "cpu_waited", "steal", "retransmits")
COLUMNS = ("run_id", "kind", "load", "seconds", "needed", *PREDICTORS)


def steal_ticks() -> tuple[int, int]:
    """Ticks that the hypervisor took, and all ticks, since the machine started."""
    ticks = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return ticks[7], sum(ticks)


@dataclass
class Made:
    """Makes an overhead run in place of each attempt at a run, until `ends`, and keeps what it was like."""

    runs: Mapping[str, Run]
    loads: Mapping[str, float]
    ends: float
    rows: list[dict[str, Any]] = field(default_factory=list)

    def around(self, attempt: Callable[[], AttemptOutcome], stack: Stack, run_id: str) -> AttemptOutcome:
        run, load = self.runs[run_id], self.loads[run_id]
        if time.monotonic() > self.ends:
            return AttemptOutcome()
        with burning(load):
            time.sleep(SETTLED_S)
            taken, ticks = steal_ticks()
            result = execute_empty(stack, run)
            taken, ticks = (after - before for after, before in zip(steal_ticks(), (taken, ticks), strict=True))
        record = result.record
        found = workloads.processors_of(record, result.files)
        segments = moved(record, record["links_after"], "ingress") / segment(record)
        self.rows.append({
            "run_id": run_id, "kind": run.row["workload"], "load": load, "seconds": sum(job_seconds(record).values()),
            "needed": workloads.processors_needed(record, result.files), "steal": taken / ticks,
            "retransmits": record["tcp_retransmits"] / segments, **found,
        })  # fmt: skip
        return AttemptOutcome()


def rows_of(paper: Any, testbed: Mapping[str, Any], loads: list[float], runs: int) -> Iterator[tuple[DesignRow, float]]:
    """So many overhead runs of each experiment's first cell at each load, and twice as many without any."""
    for experiment in EXPERIMENTS:
        row = next(row for row in make_design(paper, testbed, "smoke", 1) if row["experiment"] == experiment)
        for load in loads:
            for number in range(1, (runs if load else 2 * runs) + 1):
                yield {**row, "run_id": f"{experiment}-{load:g}-r{number}", "replicate": number}, load


def measure(args: argparse.Namespace) -> None:
    testbed = load_testbed("emulated")
    paper = load_paper(project.paper_path(PAPER), fabric_names(testbed))
    found = list(rows_of(paper, testbed, args.loads, args.runs))
    random.Random(1).shuffle(found)
    rows: list[DesignRow] = [{**row, "order": order} for order, (row, _) in enumerate(found, start=1)]
    plan = BlockPlan(paper, testbed, "smoke")
    folder = Path(args.folder) / PAPER / "smoke-1"
    folder.mkdir(parents=True, exist_ok=True)
    made = Made({row["run_id"]: plan.run(row) for row in rows}, {row["run_id"]: load for row, load in found},
                time.monotonic() + 60 * args.minutes)  # fmt: skip
    Campaign.wait_for_idle_processors = lambda *_: None  # type: ignore[method-assign]
    try:
        Block(paper, testbed, "smoke-1", rows, folder, around=made.around, attempts=1, raises_k=False).measure()
    finally:
        path = Path(args.folder) / "overheads.csv"
        new = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
            if new:
                writer.writeheader()
            writer.writerows(made.rows)


def show(path: Path) -> None:
    table = pd.read_csv(path)
    unloaded = table[table["load"] == 0].groupby("kind")["seconds"].median()
    table["longer"] = table["seconds"] / table["kind"].map(unloaded) - 1
    groups = table.groupby(["kind", "load"])
    shown = groups[["longer", *COLUMNS[3:]]].median().assign(runs=groups.size(), sem=groups["longer"].sem())
    print(shown.to_string(float_format=lambda value: f"{value:.3f}"))
    print("\nrank correlation with how much longer an overhead run was:")
    for name in PREDICTORS:
        within = [float(own["longer"].corr(own[name], "spearman")) for _, own in table.groupby(["kind", "load"])]
        print(
            f"  {name:12} {table['longer'].corr(table[name], 'spearman'):+.2f}; within a load {np.nanmean(within):+.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--loads", type=float, nargs="*", default=[0.0, 0.5, 1.0, 2.0])
    parser.add_argument("--minutes", type=float, default=8.0, help="after which no overhead run begins")
    parser.add_argument("--folder", default="results/overheads")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    if not args.show:
        measure(args)
    show(Path(args.folder) / "overheads.csv")


if __name__ == "__main__":
    main()
