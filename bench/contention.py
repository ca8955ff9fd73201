"""Which indicator shows that a run lacked processors? Which bound throws away the fewest right runs?

    .venv/bin/python bench/contention.py [--runs 4] [--loads 0 0.25 0.5 1 1.5 2] [--cells light heavy ...]
    .venv/bin/python bench/contention.py --show
    .venv/bin/python bench/contention.py --of results/reference OTHER

The same cells (one put, eight puts, eighteen puts, a job on two networks, a copy) are made while so many processors
are burnt by another program, in random order. For each candidate (idle share in the worst second, mean idle share,
wake-up latency of a timer of 1 ms, how long the cluster's threads that are ready wait for a processor, pressure) the
largest bound is searched that keeps the bias of what it lets pass below 2 %. What was measured stays in --folder, one
row per run in runs.csv; --show only reads that.

--of takes whole results instead, of one k and design: by how much runs take longer than the undisturbed runs of their
cell, by their wake-up latency, and by what other programs used.
"""

from __future__ import annotations

import argparse
import csv
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from whitewire import workloads
from whitewire.cluster.stack import Stack
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design.rows import levels_of, make_design
from whitewire.measure.block import Block
from whitewire.measure.load import under
from whitewire.measure.turns import AttemptOutcome
from whitewire.records.journal import read_runs
from whitewire.records.run import DesignRow
from whitewire.records.samples import idle_shares, read_samples
from whitewire.testbed.emulated.waiting import Threads
from whitewire.testbed.samples import Repeated
from whitewire.tidy.form import short_of_processors

CELLS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "light": ("emulex-2012", "put-grid", {"fabric": "10gbe", "clients": 1, "puts_per_client": 1}, "throughput"),
    "eight": ("emulex-2012", "put-grid", {"fabric": "1gbe", "clients": 1, "puts_per_client": 8}, "throughput"),
    "heavy": ("emulex-2012", "put-grid", {"fabric": "10gbe", "clients": 3, "puts_per_client": 6}, "throughput_sum"),
    "job": ("mellanox-mapr", "terasort-curve", {"fabric": "10gbe"}, "completion_time"),
    "fast job": ("mellanox-mapr", "terasort-curve", {"fabric": "40gbe"}, "completion_time"),
    "copy": ("xyratex-lustre-2011", "copy", {"store": "hdfs-3x", "fabric": "1gbe"}, "completion_time"),
}
"""Paper, experiment, cell and metric of each."""
LOADS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0)
"""Processors that another program burns."""
PERIOD_S = 0.2
"""Between readings of what waits."""
BIAS = 0.02
"""Largest bias that a bound may let pass, as a share of the value without load."""
CANDIDATES = {
    "idle_worst": -1, "idle_mean": -1, "late_mean_ms": 1, "late_p99_ms": 1, "waited_per_s": 1, "waited_per_ran": 1,
    "waited_worst": 1, "worst_per_ran": 1, "pressure": 1,
}  # fmt: skip
"""Candidates, and whether much (1) or little (-1) of it is bad."""
CANARY = """
import sys, time
late = []
sys.stdout.write("ready\\n"); sys.stdout.flush()
import select
while not select.select([sys.stdin], [], [], 0)[0]:
    begin = time.perf_counter(); time.sleep(0.001); late.append(1e3 * (time.perf_counter() - begin - 0.001))
late.sort()
print(sum(late) / len(late), late[int(0.99 * (len(late) - 1))])
"""


class Watch(Repeated):
    """All candidates that no file of a run has, while its `with` block runs."""

    period = PERIOD_S

    def __init__(self, proc: str) -> None:
        self.waiting, self.rows = Threads(proc), list[tuple[float, float, float, float]]()

    def __enter__(self) -> Self:
        self.canary = subprocess.Popen(
            [sys.executable, "-c", CANARY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.canary.stdout is not None
        self.canary.stdout.readline()
        return super().__enter__()

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        said, _ = self.canary.communicate("\n")
        self.late = tuple(map(float, said.split()))

    def take(self) -> None:
        ran, waited = self.waiting.take()
        words = Path("/proc/pressure/cpu").read_text().split() if Path("/proc/pressure/cpu").exists() else []
        some = float(words[4].removeprefix("total=")) / 1e6 if words else float("nan")
        self.rows.append((time.time(), ran, waited, some))

    def indicators(self, start: float, end: float) -> dict[str, float]:
        """Over the run itself: waiting in thread-seconds per second, and per second that threads ran."""
        times, ran, waited, some = map(np.array, zip(*self.rows, strict=True))
        edges = np.array([*np.arange(start, end - 1, 1.0), end]) if end - start > 1 else np.array([start, end])
        at = {name: np.interp(edges, times, values) for name, values in (("r", ran), ("w", waited), ("p", some))}
        seconds, r, w = np.diff(edges), np.diff(at["r"]), np.diff(at["w"])
        whole = edges[-1] - edges[0]
        return {
            "waited_per_s": w.sum() / whole, "waited_per_ran": w.sum() / r.sum(),
            "waited_worst": (w / seconds).max(), "worst_per_ran": (w / np.maximum(r, 0.01)).max(),
            "pressure": (at["p"][-1] - at["p"][0]) / whole, "ran_per_s": r.sum() / whole,
            "late_mean_ms": self.late[0], "late_p99_ms": self.late[1],
        }  # fmt: skip


@dataclass
class Watched:
    """Makes attempts under load and notes all candidates (`indicators`, by run). `block`: the folder of its journal."""

    loads: Mapping[str, float]
    block: Path
    indicators: dict[str, dict[str, float]] = field(default_factory=dict)

    def around(self, attempt: Callable[[], AttemptOutcome], stack: Stack, run_id: str) -> AttemptOutcome:
        testbed: Any = stack.testbed

        def watched() -> AttemptOutcome:
            with Watch(f"/proc/{testbed.init_pid}/root/proc") as watch:
                outcome = attempt()
            self.note(run_id, watch)
            return outcome

        return replace(under(self.loads)(watched, stack, run_id), why="")  # once each, whatever its bounds say

    def note(self, run_id: str, watch: Watch) -> None:
        for where, record in read_runs(self.block.parent, [self.block.name]):
            if record["run_id"] == run_id and "start" in record:
                start, end = record["start"], record["end"]
                shares = [
                    share for _, share in idle_shares(read_samples((where / "samples.csv").read_text()), start, end)
                ]
                self.indicators[run_id] = watch.indicators(start, end) | {
                    "idle_worst": min(shares),
                    "idle_mean": float(np.mean(shares)),
                    "seconds": end - start,
                }


@dataclass(frozen=True)
class Made:
    rows: list[DesignRow]
    loads: dict[str, float]
    cells: dict[str, str]


def rows_of(paper: Any, testbed: Mapping[str, Any], cells: Sequence[str], loads: Sequence[float], runs: int) -> Made:
    """So many runs of each cell at each load, and twice as many without any, in random order."""
    paper.raw["replicates"]["quick"], paper.raw["blocks"]["quick"] = {"claimed": 1, "other": 1}, 1
    for experiment in paper.raw["experiments"]:
        experiment.pop("replicates", None)
    found, loads_of, cell_of = [], dict[str, float](), dict[str, str]()
    for row in make_design(paper, testbed, "quick", 1):
        for name in cells:
            _, experiment, where, _ = CELLS[name]
            if row["experiment"] != experiment or levels_of(paper, row) != where:
                continue
            for load in loads:
                for number in range(1, (runs if load else 2 * runs) + 1):
                    made: DesignRow = {
                        **row,
                        "run_id": f"{name.replace(' ', '_')}-{load:g}-r{number}",
                        "replicate": number,
                    }
                    loads_of[made["run_id"]], cell_of[made["run_id"]] = load, name
                    found.append(made)
    random.Random(1).shuffle(found)
    for order, row in enumerate(found, start=1):
        row["order"] = order
    return Made(found, loads_of, cell_of)


def measure(args: argparse.Namespace) -> None:
    testbed = load_testbed("emulated")
    for name in dict.fromkeys(CELLS[cell][0] for cell in args.cells):
        paper = load_paper(project.paper_path(name), fabric_names(testbed))
        if args.k:
            paper.raw["scale"]["k"] = args.k
        cells = [cell for cell in args.cells if CELLS[cell][0] == name]
        made = rows_of(paper, testbed, cells, args.loads, args.runs)
        folder = Path(args.folder) / name / "quick-1"
        folder.mkdir(parents=True, exist_ok=True)
        watched = Watched(made.loads, folder)
        block = Block(paper, testbed, "quick-1", made.rows, folder, around=watched.around, attempts=1, raises_k=False)
        try:
            block.measure()
        finally:  # also of what is stopped
            keep(Path(args.folder) / "runs.csv", folder, made, watched.indicators)


def keep(path: Path, folder: Path, made: Made, indicators: Mapping[str, Mapping[str, float]]) -> None:
    """Add a row per run to the table: cell, load, metric, indicators."""
    columns = ["cell", "load", "run_id", "value", "why_invalid", "seconds", "ran_per_s", *CANDIDATES]
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, columns)
        if new:
            writer.writeheader()
        for where, record in read_runs(folder.parent, [folder.name]):
            run_id = record["run_id"]
            if run_id not in indicators:
                continue
            files = {
                each.name: each.read_text() for each in where.iterdir() if each.suffix in (".csv", ".txt", ".json")
            }
            value = workloads.run_metrics(record, files)[CELLS[made.cells[run_id]][3]]
            writer.writerow({"cell": made.cells[run_id], "load": made.loads[run_id], "run_id": run_id, "value": value,
                             "why_invalid": record["why_invalid"], **indicators[run_id]})  # fmt: skip


def show(path: Path) -> None:
    table = pd.read_csv(path)
    unloaded = table[table["load"] == 0].groupby("cell")["value"]
    middle, scatter = unloaded.median(), unloaded.std(ddof=1) / unloaded.median()
    rate = {name: workloads.METRICS[CELLS[name][3]].scaling == "rate" for name in middle.index}
    table["bias"] = [
        (value / middle[cell] - 1) if rate[cell] else (middle[cell] / value - 1)
        for cell, value in zip(table["cell"], table["value"], strict=True)
    ]
    print(
        f"{'cell':9} {'load':>5} {'runs':>4} {'bias':>7} {'least':>7} " + " ".join(f"{name:>14}" for name in CANDIDATES)
    )
    for (cell, load), group in table.groupby(["cell", "load"], sort=False):
        medians = " ".join(f"{group[name].median():14.3f}" for name in CANDIDATES)
        print(f"{cell:9} {load:5g} {len(group):4} {group['bias'].median():+7.1%} {group['bias'].min():+7.1%} {medians}")
    allowed = np.array([max(BIAS, 2 * scatter[cell]) for cell in table["cell"]])
    right = np.abs(table["bias"]) <= allowed
    print(
        f"\n{right.sum()} of {len(table)} runs are right (within 2 % or two standard deviations of those without load)"
    )
    print(f"{'candidate':15} {'bound':>9} {'right kept':>10} {'wrong kept':>10} {'worst bias kept':>15} {'AUC':>6}")
    for name, sign in CANDIDATES.items():
        bound, kept = best_bound(table, name, sign)
        auc = area(sign * table[name].to_numpy(), ~right.to_numpy())
        worst = max((abs(g["bias"].median()) for _, g in table[kept].groupby("cell")), default=0.0)
        print(f"{name:15} {bound:9.3f} {(kept & right).sum() / right.sum():10.0%} "
              f"{(kept & ~right).sum() / max(1, (~right).sum()):10.0%} {worst:15.1%} {auc:6.3f}")  # fmt: skip
    ours = table["why_invalid"].isna() | (table["why_invalid"] == "")
    print(f"{'the rule today':15} {'':9} {(ours & right).sum() / right.sum():10.0%} "
          f"{(ours & ~right).sum() / max(1, (~right).sum()):10.0%}")  # fmt: skip


def best_bound(table: pd.DataFrame, name: str, sign: int) -> tuple[float, pd.Series]:
    """The loosest bound under which what passes of each cell has a mean bias below 2 %, and what passes."""
    best, kept = float("nan"), pd.Series(False, index=table.index)
    for bound in np.sort(sign * table[name].to_numpy()):
        passing = sign * table[name] <= bound
        biases = table[passing].groupby("cell")["bias"].mean()
        # What lies next to the bound counts by itself: many right runs must not hide it.
        nearest = table[passing].assign(x=sign * table[name]).nlargest(max(4, int(0.1 * passing.sum())), "x")["bias"]
        if biases.abs().max() > BIAS or abs(nearest.mean()) > BIAS:
            continue
        best, kept = sign * bound, passing
    return best, kept


def area(score: np.ndarray, wrong: np.ndarray) -> float:
    """Area under the ROC curve: the chance that a wrong run has more of the candidate than a right one."""
    good, bad = score[~wrong], score[wrong]
    if not len(good) or not len(bad):
        return float("nan")
    return float(np.mean((bad[:, None] > good[None, :]) + 0.5 * (bad[:, None] == good[None, :])))


UNDISTURBED_MS, UNDISTURBED_CORES = 0.25, 0.35
"""Wake-up latency and others' use in a run that others may be held against."""
WAKE_LATENCY_MS = (0.0, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, np.inf)
OUTSIDE = (0.0, 0.35, 0.6, 1.0, 1.4, np.inf)


def show_results(folders: Sequence[Path]) -> None:
    """Of all runs, valid or not for lack of processors, of cells that have undisturbed ones."""
    tables = [one for folder in folders for path in sorted(folder.glob("*/tidy/runs.csv*")) for one in _runs_of(path)]
    runs = pd.concat(tables, ignore_index=True)
    undisturbed = runs[(runs["cpu_late"] <= UNDISTURBED_MS) & (runs["cpu_outside"] <= UNDISTURBED_CORES)]
    of_cell = undisturbed.groupby(["paper", "cell"])["log"].median()
    runs = runs.join(of_cell.rename("undisturbed"), on=["paper", "cell"]).dropna(subset=["undisturbed"])
    runs["longer"] = np.expm1(runs["log"] - runs["undisturbed"])
    for name, edges in (("cpu_late", WAKE_LATENCY_MS), ("cpu_outside", OUTSIDE)):
        runs["from"] = pd.cut(runs[name], edges, labels=edges[:-1])
        groups = runs.groupby(["kind", "from"], observed=True)["longer"]
        found = groups.agg(["size", "median", "mean", "sem"])
        print(f"\n{name}\n{found.to_string(float_format=lambda value: f'{value:.3f}')}")


def _runs_of(path: Path) -> Iterator[pd.DataFrame]:
    """A row per run of a table of runs: its cell, the logarithm of its time, and what it had of the processors."""
    table = pd.read_csv(path, low_memory=False)
    lacking = pd.Series(short_of_processors(table), dtype=bool)
    table = table[lacking | (table["valid"].astype(str).str.lower() == "true")]
    names = ["completion_time", "completion_time_net", "cpu_late", "cpu_outside"]
    wide = table[table["metric"].isin(names)].assign(value=lambda each: pd.to_numeric(each["value"]))
    if "cpu_late" not in set(wide["metric"]):
        return
    wide = wide.pivot_table(index=["run_id", "attempt", "experiment"], columns="metric", values="value").reset_index()
    paper = path.parents[1].name
    experiments = load_paper(project.paper_path(paper), fabric_names(load_testbed("emulated"))).experiments
    reported = {name for name, each in experiments.items() if each.get("cpu") == "report"}
    net = wide["completion_time_net"] if "completion_time_net" in wide else pd.Series(np.nan, wide.index)
    jobs, seconds = net.notna(), net.fillna(wide["completion_time"])
    kind = np.where(wide["experiment"].isin(reported), "cpu: report", np.where(jobs, "jobs", "no jobs"))
    cell = wide["run_id"].str.replace(r"-r\d+-[0-9a-f]+$", "", regex=True)
    yield wide[["cpu_late", "cpu_outside"]].assign(paper=paper, cell=cell, kind=kind, log=np.log(seconds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--loads", type=float, nargs="*", default=LOADS)
    parser.add_argument("--k", type=int, default=None, help="in place of the papers' k: how own load shows")
    parser.add_argument("--cells", nargs="*", choices=CELLS, default=list(CELLS))
    parser.add_argument("--folder", default="results/contention")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--of", nargs="+", type=Path, help="folders of whole results, such as results/reference")
    args = parser.parse_args()
    if args.of:
        show_results(args.of)
        return
    if not args.show:
        measure(args)
    show(Path(args.folder) / "runs.csv")


if __name__ == "__main__":
    main()
