"""What do lanes change? The same cells measured alone, and in 2, 3, … lanes side by side.

    .venv/bin/python bench/lanes.py PAPER … [--lanes 1,2,3,4] [--minutes 4] [--processors 1,2] [--model 16]
        [--folder results/lanes] [--show]

Each number of lanes has so many minutes on each number of processors (taskset): every lane measures the paper's smoke
cells at quick effort's bytes, round by round, on a cluster of its own, and holds the processors that it needs. Prints
valid runs per minute, what was not valid and why, what the time was spent on, and of each cell, and of each kind of
cell, the ratio of its mean seconds to those of the first number of lanes (geometric, with the 95 % interval of a
claim's ratio; of a kind over all its cells, each over its own median). `--model` prints what the model of the runs'
work says of a machine with so many processors: how many lanes it carries, and runs per minute. It wants the machine for
itself.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from whitewire import lanes, statistics
from whitewire.budget import Allowance
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design import synthetic
from whitewire.estimands.cells import ratio_limits
from whitewire.estimands.evidence import Sample
from whitewire.lanes import LANES_VARIABLE, Lanes
from whitewire.measure import scale_candidate
from whitewire.measure.block import Block
from whitewire.measure.block_plan import BlockPlan
from whitewire.paths import KILLED_WITH_THIS
from whitewire.records.journal import read_overheads, read_runs
from whitewire.text import canonical

RUNS = 10
"""Runs of each cell at most."""


def measure(paper: str, folder: Path, seconds: float) -> None:
    """One lane: a block that begins no run after so many seconds."""
    testbed, ends = load_testbed("emulated"), time.monotonic() + seconds
    loaded = load_paper(project.paper_path(paper), fabric_names(testbed))
    rows = synthetic.of_smoke(loaded, testbed, RUNS)
    folder.mkdir(parents=True, exist_ok=True)

    def left() -> float:
        return ends - time.monotonic()

    Block(loaded, testbed, synthetic.BLOCK, rows, folder, allowance=Allowance(left, left), raises_k=False).measure()


def side_by_side(paper: str, count: int, seconds: float, folder: Path) -> None:
    """So many lanes at once, each a process."""
    shared_lanes = Lanes.of(count, folder / "locks", [lanes.NEVER_BEGUN])
    argv = [*KILLED_WITH_THIS, sys.executable, __file__, paper, "--minutes", str(seconds / 60)]
    environment = {**os.environ, **({LANES_VARIABLE: shared_lanes.text()} if count > 1 else {})}
    started = [
        subprocess.Popen([*argv, "--lane", str(folder / str(number) / synthetic.BLOCK)], env=environment)
        for number in range(1, count + 1)
    ]
    for process in started:
        if process.wait() != 0:
            sys.exit(f"a lane of {count} ended with status {process.returncode}")


def seconds_of(folder: Path) -> dict[str, list[float]]:
    """Seconds of valid runs and overhead runs, by cell and kind."""
    found: dict[str, list[float]] = defaultdict(list)
    for block in sorted(folder.glob(f"*/{synthetic.BLOCK}")):
        for _, record in read_runs(block.parent, [block.name]):
            if record["valid"]:
                cell = f"{record['experiment']} {canonical(record['factors'])}"
                found[cell].append(record["end"] - record["start"])
        for overhead in read_overheads(block):
            if overhead["valid"]:
                found[f"overhead run of {overhead['workload']}"].append(overhead["end"] - overhead["start"])
    return found


def spent(folder: Path) -> Iterator[Mapping[str, float]]:
    """What each lane's time was spent on."""
    for path in sorted(folder.glob(f"*/{synthetic.BLOCK}/block.json")):
        record = json.loads(path.read_text())
        yield {**record["spent"], "all": record["seconds"]}


def invalid(folder: Path) -> Counter[str]:
    """Attempts that do not count, by the rule that they broke."""
    blocks = folder.glob(f"*/{synthetic.BLOCK}")
    runs = [record for block in blocks for _, record in read_runs(block.parent, [block.name])]
    return Counter(" ".join(record["why_codes"]) for record in runs if not record["valid"])


def kind_of(cell: str) -> str:
    """The kind of a cell: its workload, or that it is an overhead run."""
    return "overhead run" if cell.startswith("overhead run of ") else cell.partition(" ")[0]


def ratio(values: Sequence[float], alone: Sequence[float]) -> str:
    """Ratio of geometric means with its interval, as text."""
    above, below = (
        Sample(np.array(each), 0, "s", "", statistics.scatter(each), len(each) - 1) for each in (values, alone)
    )
    text = f"{above.centre / below.centre:.3f}"
    if interval := ratio_limits(above, below):
        text += f" ({interval[0]:.3f} to {interval[1]:.3f})"
    return f"{text}, {len(values)} and {len(alone)}"


def by_kind(found: Mapping[str, Sequence[float]], alone: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """Seconds over the median of their cell in `alone`, of all cells of a kind."""
    kinds: dict[str, list[float]] = defaultdict(list)
    for cell, values in found.items():
        if cell in alone:
            kinds[kind_of(cell)] += [value / np.median(alone[cell]) for value in values]
    return kinds


def show(folder: Path, counts: Sequence[int]) -> None:
    """The tables of what was measured."""
    by_count = {count: seconds_of(folder / str(count)) for count in counts}
    print("| lanes | valid runs | runs per minute | not valid | minutes of each lane: all, of which runs, "
          "overhead runs, warm-up, start, waiting |\n|---|---|---|---|---|")  # fmt: skip
    for count, found in by_count.items():
        own = folder / str(count)
        times = list(spent(own))
        runs = sum(len(values) for cell, values in found.items() if not cell.startswith("overhead run of "))
        minutes = max(each["all"] for each in times) / 60
        spent_minutes = "; ".join(", ".join(f"{each.get(what, 0) / 60:.1f}" for what in (
            "all", "runs", "floors", "warm-up", "start", "waiting")) for each in times)  # fmt: skip
        why = ", ".join(f"{number} {what}" for what, number in invalid(own).items()) or "none"
        print(f"| {count} | {runs} | {runs / minutes:.2f} | {why} | {spent_minutes} |")
    first, *others = counts
    alone = by_count[first]
    tables = {"cell": by_count, "kind of cell": {count: by_kind(found, alone) for count, found in by_count.items()}}
    for what, table in tables.items():
        print(f"\n| {what} | {' | '.join(f'{count} lanes over {first}, runs' for count in others)} |")
        print("|" + "---|" * (1 + len(others)))
        for name, base in table[first].items():
            ratios = [ratio(values, base) if (values := table[count].get(name)) else "" for count in others]
            print(f"| {name} | {' | '.join(ratios)} |")


def model(paper: str, processors: int) -> str:
    """Lanes that so many processors carry, and runs per minute of all of them, by the model of the runs' work."""
    testbed = load_testbed("emulated")
    loaded = load_paper(project.paper_path(paper), fabric_names(testbed))
    plan = BlockPlan(loaded, testbed, synthetic.EFFORT)
    runs = [plan.run(row) for row in synthetic.of_smoke(loaded, testbed, 1)]
    seconds = sum(run.expected_seconds for run in runs)
    busy = sum(scale_candidate.busy_processors(run) * run.expected_seconds for run in runs) / seconds
    carried = lanes.carried(processors, busy, processors)
    return (f"{paper}, {processors} processors: runs keep {busy:.2f} busy, {carried} lanes, "
            f"{60 * carried * len(runs) / seconds:.1f} runs per minute")  # fmt: skip


def numbers(text: str) -> list[int]:
    """1,2,3 as numbers."""
    return [int(each) for each in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="+")
    parser.add_argument("--lanes", type=numbers, default=[1, 2])
    parser.add_argument("--minutes", type=float, default=6.0)
    parser.add_argument("--processors", type=numbers, default=[len(os.sched_getaffinity(0))])
    parser.add_argument("--model", type=int, default=16)
    parser.add_argument("--folder", type=Path, default=Path("results/lanes"))
    parser.add_argument("--lane", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--show", action="store_true", help="measure nothing")
    args = parser.parse_args()
    if args.lane:
        measure(args.papers[0], args.lane, 60 * args.minutes)
        return
    every = sorted(os.sched_getaffinity(0))
    for paper in args.papers:
        for processors in args.processors:
            os.sched_setaffinity(0, every[:processors])  # what is started has it too, as by taskset
            folder = args.folder / paper / f"{processors}-processors"
            for count in [] if args.show else args.lanes:
                side_by_side(paper, count, 60 * args.minutes, folder / str(count))
            print(f"\n{paper} on {processors} processors")
            show(folder, args.lanes)
        print(f"\nmodel: {model(paper, args.model)}")


if __name__ == "__main__":
    main()
