"""Turns the records of the stage `trust` (records/trust.py) into tables that say how far the testbed can be trusted.

Runs go through the same analysis as those of papers: the same table of runs, estimands and controls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy

from whitewire import statistics
from whitewire.analysis import controls, judging
from whitewire.analysis.net import flags
from whitewire.analysis.runs import Runs, on_testbed, status_on
from whitewire.analysis.so_far import as_read
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper, cells_of
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design import synthetic
from whitewire.errors import Faults, UserError
from whitewire.estimands.cells import ratio_limits
from whitewire.estimands.evidence import Sample
from whitewire.paths import shown
from whitewire.records import checked
from whitewire.records import trust as records
from whitewire.records.checked import TESTBED_TABLES, parse_table, table_faults
from whitewire.records.run import DesignRow, RunRecord
from whitewire.records.samples import Torn
from whitewire.records.schema import Broken, load_json, read_bounded
from whitewire.records.trust import (
    BLOCK_RECORD,
    KNOWN_PAPER,
    LOADS_FILE,
    TrustPart,
    read_trust,
    remedy_of_damage,
)
from whitewire.rule import ALPHA
from whitewire.text import quoted
from whitewire.tidy import form
from whitewire.tidy.columns import LANE, factors_of
from whitewire.tidy.tables import Cells, flag, of_block, write_tables

AGREED, ALARMS, COVERED = 0.03, 0.05, 0.95
"""Largest difference between two k; goals for the share of false alarms and of intervals that contain the truth."""
BIAS = 0.02
"""Largest share by which outside load, other lanes, or the place in a block may change results."""
COMPARED_METRICS = ("throughput", "completion_time_net", "write_throughput", "read_rate_while_busy")
"""Metrics that are compared between k, where a cell has them at full scale."""
TIMED = "completion_time"
"""The metric of every run, which is compared with the run's place in its block."""
PERMUTATIONS = 4000
OVERHEAD = "floor"
"""The kind of overhead runs in lanes.csv."""
_ALL = "all"
"""The row of all sources, or ratios, together."""
CONTROLS = ("control", "kind", "cell", "really", "metric", "n", "n_against", "estimate", "low", "high")
_RUNS = ("run_id", "attempt", "block", "metric", "value", "valid")
"""Columns that are read from papers' analysis/controls.csv and tidy/runs.csv."""
Tables = tuple[pd.DataFrame, pd.DataFrame]
"""The tables tidy/runs.csv and tidy/floors.csv, before they are written."""
Starts = Mapping[tuple[str, int], float]
"""Seconds since 1970 at which attempts began, by run and attempt."""
_AGAIN = ".venv/bin/whitewire trust --parts {}"
MET, NOT_MET, _OPEN = "met", "not met", "open"
_AGREES, DIFFERS, _UNKNOWN = "yes", "no", "cannot tell"
APART = {_AGREES: flag(False), DIFFERS: flag(True), _UNKNOWN: ""}
OF_TRUST: dict[str, tuple[str, ...]] = {
    "summary.csv": ("part", "asked", "n", "of", "value", "low", "high", "unit", "goal", "outcome", "again"),
    "links.csv": ("rate", "pairs", "meter", "n", "error", "low", "high", "largest", "reach", "within_bound", "missing"),
    "ratio.csv": ("expected", "clients", "group", "n", "estimate", "low", "high", "covered", "verdict", "reason"),
    "coverage.csv": ("expected", "n", "covered", "share", "low", "high", "error"),
    "same.csv": ("source", "group", "control", "cell", "really", "metric", "n", "n_against", "estimate", "low", "high",
                 "alarm"),
    "scales.csv": ("paper", "cell", "metric", "k", "k_other", "n", "n_other", "ratio", "low", "high", "agrees"),
    "load.csv": ("load", "clients", "made", "n", "n_calm", "ratio", "low", "high"),
    "lanes.csv": ("paper", "kind", "cell", "lanes", "turns", "made", "n", "n_alone", "ratio", "low", "high"),
    "order.csv": ("source", "n", "cells", "change", "low", "high", "p_value"),
}  # fmt: skip


def outcome(value: float, low: float, high: float, goal: tuple[float, float]) -> str:
    """Whether a goal is met: the value lies within it. Missed: no part of its interval does. Otherwise open."""
    least, most = goal
    if not math.isfinite(value):
        return _OPEN
    if least <= value <= most:
        return MET
    return NOT_MET if high < least or low > most else _OPEN


def outcome_of_interval(low: float, high: float, goal: tuple[float, float]) -> str:
    """Whether a goal is met: the whole interval lies in it. Not met: the whole interval lies outside. Else, or without
    an interval, open."""
    least, most = goal
    if least <= low <= high <= most:
        return MET
    return NOT_MET if high < least or low > most else _OPEN


def write_trust_tables(folder: Path, results: Path) -> None:
    """Read the record in results/<testbed>/trust, write tables below it; `results` has the papers' runs.

    Raises UserError if there is no record or one of its papers cannot be read, and Faults with one line per damaged or
    missing file. The tables then stay as they are.
    """
    record = read_trust(folder)
    testbed = load_testbed(record["testbed"])
    rows: dict[str, list[Cells]] = {}
    wrong: dict[str, None] = {}
    for name, make in _Found(folder, results, testbed, record).makers().items():
        try:
            rows[name] = list(make())
        except UserError as error:
            wrong |= dict.fromkeys(error.faults if isinstance(error, Faults) else error.lines)
    if wrong:
        raise Faults(list(wrong))
    rows["coverage.csv"] = list(coverage(rows.get("ratio.csv", [])))
    rows["summary.csv"] = list(_summary(rows, record))
    every = {name: rows.get(name, []) for name in OF_TRUST}
    write_tables(folder / TESTBED_TABLES, f"{record['testbed']}-trust", OF_TRUST, every)


@dataclass(frozen=True)
class Read:
    """A block of runs whose right answer is known, as read; each of its `groups` is a separate study."""

    paper: Paper
    tables: Tables
    starts: Starts
    groups: int = 0

    def studies(self) -> Iterator[tuple[int, Tables]]:
        """Each group by its number."""
        runs, overheads = self.tables
        replicate = pd.to_numeric(runs["replicate"])
        for number, (first, last) in enumerate(synthetic.groups(self.groups * synthetic.RUNS), start=1):
            yield number, (runs[replicate.between(first, last)], overheads)


def _read(paper: Paper, rows: Sequence[DesignRow], folder: Path, groups: int = 0) -> Read:
    """A finished block whose design has these rows. Raises Faults, also where it has no run."""
    block = checked.read_block(folder, rows)
    wanted = {row["run_id"] for row in rows}
    block.runs = [each for each in block.runs if each[1]["run_id"] in wanted]
    faults = list(block.faults)
    if not faults and not block.finished:
        faults.append(f"{shown(folder / BLOCK_RECORD)}: found no such file, expected how the block ended")
    if not faults and not block.runs:
        faults.append(f"{shown(folder / 'runs')}: found no run, expected some")
    if faults:
        raise Faults(faults)
    tables = as_read(paper, *of_block(paper, folder.name, block))
    return Read(paper, tables, _starts(record for _, record in block.runs), groups)


@dataclass(frozen=True)
class _Found:
    """Measured parts as rows of tables."""

    folder: Path
    results: Path
    testbed: Mapping[str, Any]
    record: records.TrustRecord
    blocks: dict[Path, Read] = field(default_factory=dict)
    """Results that were read already."""

    def makers(self) -> dict[str, Callable[[], Iterator[Cells]]]:
        """The function that makes each table, for the parts that were measured."""
        made = {
            records.LINKS: self.links, records.RATIO: self.ratio, records.SAME: self.same,
            records.SCALES: self.scales, records.LOAD: self.load, records.LANES: self.lanes, records.ORDER: self.order,
        }  # fmt: skip
        return {f"{part}.csv": make for part, make in made.items() if self._part(part)}

    def links(self) -> Iterator[Cells]:
        rows = pd.DataFrame(records.link_rows(self.folder))
        yield from link_errors(rows, self.record["bound"], self.record["reach"])

    def _part(self, name: str) -> TrustPart | None:
        return next((each for each in self.record["parts"] if each["part"] == name), None)

    def _papers(self, part: str) -> Iterator[tuple[Paper, TrustPart]]:
        """The papers of a part, and what its record says; empty if it was not measured."""
        if own := self._part(part):
            for name in own["papers"]:
                yield load_paper(project.paper_path(name), fabric_names(self.testbed)), own

    def _runs(self, read: Read, tables: Tables) -> Runs:
        return on_testbed(read.paper, self.testbed, synthetic.EFFORT, *tables)

    def _once(self, paper: Paper, rows: Sequence[DesignRow], folder: Path, groups: int = 0) -> Read:
        if folder not in self.blocks:
            try:
                self.blocks[folder] = _read(paper, rows, folder, groups)
            except Faults as wrong:
                raise Faults([f"{fault}; {remedy_of_damage(self.folder, folder)}" for fault in wrong.faults]) from None
        return self.blocks[folder]

    def _known(self, part: str) -> Paper:
        return load_paper(self.folder / part / KNOWN_PAPER, fabric_names(self.testbed))

    def _ratios(self) -> Iterator[Read]:
        """The block of known ratios, where it was measured."""
        if own := self._part(records.RATIO):
            paper = self._known(records.RATIO)
            rows = synthetic.all_rows(paper, self.testbed)
            yield self._once(paper, rows, self.folder / records.RATIO / synthetic.BLOCK, own["units"])

    def _pairs(self) -> Iterator[Read]:
        """Blocks with one link under two names, if they were measured."""
        for described, own in self._papers(records.SAME):
            paper = synthetic.same(described, own["planned"])
            rows = synthetic.of_controls(paper, self.testbed)
            yield self._once(paper, rows, self.folder / records.SAME / paper.id / synthetic.BLOCK, own["units"])

    def ratio(self) -> Iterator[Cells]:
        for read in self._ratios():
            for number, tables in read.studies():
                yield from self._claims(read, number, self._runs(read, tables))

    def _claims(self, read: Read, number: int, runs: Runs) -> Iterator[Cells]:
        paper = read.paper
        judged = judging.claims_judged(paper, runs, status_on(self.testbed), controls.judge(paper, runs))
        for claim, row in zip(paper.claims, judged, strict=True):
            bounded = row["low"] is not None and row["high"] is not None
            expected = claim["test"]["expected"]
            yield {
                "expected": expected, "clients": claim["test"]["numerator"]["where"]["clients"], "group": number,
                **{name: row[name] for name in ("n", "estimate", "low", "high", "verdict", "reason")},
                "covered": flag(row["low"] <= expected <= row["high"]) if bounded else "",
            }  # fmt: skip

    def same(self) -> Iterator[Cells]:
        for read in (*self._pairs(), *self._ratios()):
            for number, tables in read.studies():
                found = controls.judge(read.paper, self._runs(read, tables))
                yield from _same(
                    read.paper.id, number, [each.row for each in found if each.row["kind"] != controls.POOLED]
                )
        for path in sorted(self.results.glob("*/analysis/controls.csv")):
            _raise(checked.analysis(path.parent), path, "analyse")
            table = _table(path, CONTROLS, ("n", "n_against", "estimate", "low", "high"), "analyse")
            rows = table.astype(object).where(table.notna(), None).to_dict("records")
            own = [{str(key): value for key, value in row.items()} for row in rows if row["kind"] == "A/A"]
            yield from _same(f"{path.parents[1].name}, as judged", 0, own)

    def scales(self) -> Iterator[Cells]:
        for paper, own in self._papers(records.SCALES):
            folder = self.folder / records.SCALES / paper.id
            yield from scale_rows(paper, self.testbed, folder, own["units"], reads=self._once)

    def load(self) -> Iterator[Cells]:
        if not (own := self._part(records.LOAD)):
            return
        path = self.folder / records.LOAD / LOADS_FILE
        loads = load_json(path, dict[str, float])
        paper = self._known(records.LOAD)
        base = synthetic.of_fastest(paper, self.testbed, own["planned"])
        rows, _ = synthetic.loaded(base, sorted({*loads.values()}))
        for run_id in sorted({row["run_id"] for row in rows} ^ {*loads}):
            found = "a run that is none of them" if run_id in loads else "no such run"
            raise UserError(
                f"{shown(path)}: {run_id}: found {found}, expected the runs of {synthetic.EXPERIMENT} under load"
            )
        yield from load_rows(self._once(paper, rows, path.parent / synthetic.BLOCK).tables[0], loads)

    def lanes(self) -> Iterator[Cells]:
        for paper, own in self._papers(records.LANES):
            rows = synthetic.of_kinds(paper, self.testbed, synthetic.RUNS)
            turns: list[dict[int, Tables]] = [{} for _ in range(own["units"])]
            for count, turn in product(range(1, synthetic.MOST_LANES + 1), range(own["units"])):
                block = self.folder / records.LANES / paper.id / f"{count}-{turn}" / synthetic.BLOCK
                if block.is_dir():
                    turns[turn][count] = self._once(paper, rows, block).tables
            yield from lane_rows(paper, turns)

    def order(self) -> Iterator[Cells]:
        tables: dict[str, pd.DataFrame] = {}
        for path in sorted(self.results.glob("*/tidy/runs.csv")):
            _raise(table_faults(path.parent), path, "tidy")
            table = _table(path, _RUNS, ("attempt", "value"), "tidy")
            tables[path.parents[1].name] = begun(table, starts_of(table, path.parents[1] / "raw"))
        for name, found in (("{}", self._ratios()), ("{}, A/A", self._pairs())):
            tables |= {name.format(each.paper.id): begun(each.tables[0], each.starts) for each in found}
        yield from order_rows(tables)


def _raise(faults: Sequence[str] | None, path: Path, stage: str) -> None:
    """Faults of a stage's tables, each with what makes them anew."""
    if faults:
        raise Faults([f"{fault}; {_anew(path, stage)}" for fault in faults])


def _anew(path: Path, stage: str) -> str:
    return f"make the tables of {path.parents[1].name} anew with `.venv/bin/whitewire {stage}`"


def _table(path: Path, columns: Sequence[str], numbers: Sequence[str], stage: str) -> pd.DataFrame:
    """A paper's table with at least these columns, of which `numbers` are converted. Raises UserError."""
    try:
        parse_table(read_bounded(path), columns)
    except (Broken, Torn) as why:
        raise UserError(f"{shown(path)}: {why}; {_anew(path, stage)}") from None
    table = form.frame(path, numbers)
    lost = table["valid"].astype(str).str.lower() == "false" if "valid" in table else np.zeros(len(table), dtype=bool)
    for name in numbers:
        found = pd.to_numeric(table[name], errors="coerce").astype(float)  # not kept: whole numbers stay whole
        # An interval may have no end, and no process may have woken in an attempt that does not count.
        endless = np.isinf(found) & (name not in ("low", "high")) & ~lost
        if len(wrong := table[name][(found.isna() & table[name].notna()) | endless]):
            said = f"line {wrong.index[0] + 2}, {name}: found {quoted(str(wrong.iloc[0]))}, expected a number"
            raise UserError(f"{shown(path)}: {said}; {_anew(path, stage)}")
    return table


# --- links ---------------------------------------------------------------------------------------------


def link_errors(rows: pd.DataFrame, bound: float, reach: float) -> Iterator[Cells]:
    """One row per rate, number of pairs and meter: the median error over rounds, where a round's error is the median of
    its pairs.

    `rows` as records.LinkRow. `reach`: largest Mbit/s of all links together at which processors limit none of them;
    rows beyond it have no goal.
    """
    for key, own in rows.groupby(["rate", "pairs", "meter"], sort=True):
        rate, pairs, meter = float(str(key[0])), int(str(key[1])), key[2]
        measured = own[own["goodput"].notna()]
        error = measured["goodput"].astype(float) / measured["expected"].astype(float) - 1
        rounds = error.groupby(measured["number"]).median().to_numpy()
        low, high = statistics.median_interval(rounds) or (math.nan, math.nan)
        middle = float(np.median(rounds)) if len(rounds) else math.nan
        within = rate * pairs <= reach
        yield {
            "rate": f"{rate:g}", "pairs": pairs, "meter": meter, "n": len(rounds), "error": _number(middle),
            "low": _number(low), "high": _number(high),
            "largest": _number(max(error, key=abs, default=math.nan)), "reach": flag(within),
            "within_bound": flag(abs(middle) <= bound) if within else "", "missing": len(own) - len(measured),
        }  # fmt: skip


# --- ratios and A/A --------------------------------------------------------------------------------------


def coverage(rows: Sequence[Cells]) -> Iterator[Cells]:
    """One row per true ratio, and one for all: how many intervals contain it, and the error of the estimates."""
    table = pd.DataFrame([row for row in rows if row["covered"] != ""])
    if table.empty:
        return
    ratios = sorted(table["expected"].unique())
    for expected, own in [*((f"{ratio:g}", table[table["expected"] == ratio]) for ratio in ratios), (_ALL, table)]:
        held = int((own["covered"] == "true").sum())
        low, high = statistics.share_interval(held, len(own)) or (math.nan, math.nan)
        error = float(np.median(own["estimate"].astype(float) / own["expected"].astype(float) - 1))
        yield {"expected": expected, "n": len(own), "covered": held, "share": _number(held / len(own)),
               "low": _number(low), "high": _number(high), "error": _number(error)}  # fmt: skip


def _same(source: str, group: int, rows: Iterable[Mapping[str, Any]]) -> Iterator[Cells]:
    """A/A controls with an interval, each by its first metric alone: its other metrics come of the same runs."""
    seen: set[str] = set()
    for row in rows:
        if row["control"] in seen or row["low"] is None or row["high"] is None:
            continue
        seen.add(row["control"])
        yield {
            "source": source, "group": group or "",
            **{name: row[name] for name in ("control", "cell", "really", "metric", "n", "n_against", "estimate", "low",
                                            "high")},
            "alarm": flag(not row["low"] <= 1 <= row["high"]),
        }  # fmt: skip


# --- k against k -------------------------------------------------------------------------------------------


def scale_rows(paper: Paper, testbed: Mapping[str, Any], folder: Path, turns: int, runs: int = synthetic.RUNS,
               reads: Callable[[Paper, Sequence[DesignRow], Path], Read] = _read) -> Iterator[Cells]:  # fmt: skip
    """One row per cell, metric and pair of neighbouring k: second value over first, at full scale.

    `folder` has a folder `rung<i>-<turn>` for each k and turn, with `runs` runs of each cell
    (measure.trust_runs.on_scales); `reads` reads a block. Raises Faults.
    """
    read_at = []
    for candidate in range(paper.candidate_count):
        settled = Paper(paper.on(candidate).raw, paper.path)
        rows = synthetic.of_smoke(settled, testbed, runs)
        blocks = {f"{candidate}.{turn}": folder / f"rung{candidate}-{turn}" / synthetic.BLOCK for turn in range(turns)}
        found = [_of_start(reads(settled, rows, block).tables, start) for start, block in blocks.items()]
        made, overheads = (pd.concat(each) for each in zip(*found, strict=True))
        read_at.append(on_testbed(settled, testbed, synthetic.EFFORT, made, overheads))
    ks = [paper.on(candidate).raw["scale"]["k"] for candidate in range(paper.candidate_count)]
    for (lower, one), (upper, two) in pairwise(zip(ks, read_at, strict=True)):
        for name, metric in product(paper.experiments, COMPARED_METRICS):
            if not all(_has_full_scale(each, name, metric) for each in (one, two)):
                continue
            for levels in cells_of(paper.experiments[name]):
                first, second = (each.sample(name, levels, metric) for each in (one, two))
                if len(first.values) and len(second.values):
                    yield {"paper": paper.id, "cell": first.name.strip(), "metric": metric, "k": f"{lower:g}",
                           "k_other": f"{upper:g}", **_between(first, second)}  # fmt: skip


def _of_start(read: Tables, start: str) -> Tables:
    """The tables with the start added to the names of blocks, since each start has its own overhead runs."""
    runs, overheads = (each.assign(block=each["block"].astype(str) + f".{start}") for each in read)
    return runs, overheads


def _has_full_scale(runs: Runs, experiment: str, metric: str) -> bool:
    """Whether a metric has full-scale values; others differ between k by nature."""
    rows = runs.groups.get((experiment, metric))
    return rows is not None and bool(pd.to_numeric(rows["full_scale_value"], errors="coerce").notna().any())


def _between(one: Sample, two: Sample) -> dict[str, object]:
    """The second over the first with its interval, the numbers of runs, and whether they agree within AGREED."""
    ratio = two.centre / one.centre
    low, high = ratio_limits(two, one) or (math.nan, math.nan)
    apart = high < 1 - AGREED or low > 1 + AGREED
    word = _AGREES if low >= 1 - AGREED and high <= 1 + AGREED else DIFFERS if apart else _UNKNOWN
    return {"n": len(one.values), "n_other": len(two.values), "ratio": _number(ratio),
            "low": _number(low), "high": _number(high), "agrees": word}  # fmt: skip


# --- load from outside -------------------------------------------------------------------------------------


def load_rows(table: pd.DataFrame, loads: Mapping[str, float]) -> Iterator[Cells]:
    """One row per load and number of clients: rates of valid runs over those without load, and the number of attempts.

    `table` as tidy/runs.csv; `loads`: processors by run id. Each cell has its own scatter. The goal concerns the row
    with the largest change, so intervals hold jointly at 95 % (Bonferroni).
    """
    table = table.assign(load=[loads[run_id] for run_id in table["run_id"]])
    good = table[(table["metric"] == synthetic.METRIC) & (table["valid"].astype(str) == "true")]
    values = {(float(str(load)), str(clients)): own["value"].astype(float).to_numpy()
              for (load, clients), own in good.groupby(["load", "clients"])}  # fmt: skip
    if not values:
        return
    samples = {
        key: Sample(each, 0, "MB/s", str(key), statistics.scatter(each) if len(each) > 1 else math.nan, len(each) - 1)
        for key, each in values.items()
    }
    compared = [(key, samples[0.0, key[1]]) for key in samples if key[0] and (0.0, key[1]) in samples]
    for (load, clients), idle in compared:
        sample = samples[load, clients]
        own = (table["load"] == load) & (table["clients"].astype(str) == clients)
        ratio = sample.centre / idle.centre
        low, high = ratio_limits(sample, idle, 1 - ALPHA / len(compared)) or (math.nan, math.nan)
        yield {"load": f"{load:g}", "clients": clients, "made": len(set(table["run_id"][own])), "n": len(sample.values),
               "n_calm": len(idle.values), "ratio": _number(ratio), "low": _number(low),
               "high": _number(high)}  # fmt: skip


# --- lanes -------------------------------------------------------------------------------------------------


def lane_rows(paper: Paper, turns: Sequence[Mapping[int, Tables]]) -> Iterator[Cells]:
    """One row per cell (or kind of overhead run) and number of lanes above 1: times beside other lanes over times
    alone.

    `turns`: for each turn, the tables tidy/runs.csv and tidy/floors.csv by number of lanes. Clusters differ between
    starts, so a turn gives one ratio whatever its number of runs; the interval is Student's over turns.
    """
    pairs = [
        _timed(paper, *made[count]).assign(turn=turn, compared=max(counts), lanes=count)
        for turn, made in enumerate(turns) for counts in ((1, other) for other in made if other > 1 and 1 in made)
        for count in counts
    ]  # fmt: skip
    if not pairs:
        return
    for (kind, cell, compared), own in pd.concat(pairs).groupby(["kind", "cell", "compared"], sort=True):
        good = own[own["valid"] & (own["seconds"] > 0)]
        medians = good.groupby(["turn", "lanes"])["seconds"].median().unstack().reindex(columns=[1, compared])
        logs = np.log((medians[compared] / medians[1]).dropna().to_numpy())
        yield {"paper": paper.id, "kind": kind, "cell": cell, "lanes": compared, "turns": len(logs),
               "made": int((own["lanes"] == compared).sum()), "n": int((good["lanes"] == compared).sum()),
               "n_alone": int((good["lanes"] == 1).sum()), **_over_turns(logs)}  # fmt: skip


def _over_turns(logs: np.ndarray) -> Cells:
    """Geometric mean of ratios, given as logarithms, with Student's interval; a single ratio has no interval."""
    if not len(logs):
        return {}
    mean, half = float(np.mean(logs)), math.nan
    if len(logs) > 1:
        half = float(scipy.stats.t.ppf(0.975, len(logs) - 1) * np.std(logs, ddof=1)) / math.sqrt(len(logs))
    ratio, low, high = (_number(math.exp(each)) for each in (mean, mean - half, mean + half))
    return {"ratio": ratio, "low": low, "high": high}


def _timed(paper: Paper, runs: pd.DataFrame, overheads: pd.DataFrame) -> pd.DataFrame:
    """Kind, cell, seconds and validity of each attempt at a run or overhead run; seconds are NaN if it failed.

    An overhead run of several jobs is one attempt with the sum of their times (as in net.OverheadErrors).
    """
    runs = runs.assign(seconds=pd.to_numeric(runs["value"].where(runs["metric"] == TIMED)))
    of_runs = runs.groupby(["experiment", "run_id", "attempt"])[["seconds", "valid"]].first().reset_index()
    overheads = overheads.assign(seconds=pd.to_numeric(overheads["seconds"]))
    jobs = overheads.groupby(["floor", "number", "attempt"])
    of_overheads = jobs[["valid"]].first().assign(seconds=jobs["seconds"].sum(min_count=1)).reset_index()
    kinds = [paper.experiments[name]["workload"] for name in of_runs["experiment"]]
    every = pd.concat([
        of_runs.assign(kind=kinds, cell=of_runs["experiment"]),
        of_overheads.assign(kind=OVERHEAD, cell=of_overheads["floor"]),
    ], ignore_index=True)[["kind", "cell", "seconds", "valid"]]  # fmt: skip
    return every.assign(valid=flags(every["valid"]))


# --- order ---------------------------------------------------------------------------------------------------


def starts_of(table: pd.DataFrame, raw: Path) -> Starts:
    """Begin of each attempt in a paper's tidy/runs.csv, from its record; blocks whose runs are missing are left out.
    Raises Faults."""
    found: dict[tuple[str, int], float] = {}
    for name in table["block"].dropna().unique():
        if (raw / str(name) / "runs").is_dir():
            block = checked.read_block(raw / str(name))
            if block.faults:
                raise Faults(block.faults)
            found |= _starts(record for _, record in block.runs)
    return found


def _starts(runs: Iterable[RunRecord]) -> dict[tuple[str, int], float]:
    return {(each["run_id"], each["attempt"]): each["start"] for each in runs if "start" in each}


def begun(table: pd.DataFrame, starts: Starts) -> pd.DataFrame:
    """`table` (as tidy/runs.csv) with the column `begun`: begin of each attempt, seconds since 1970; NaN if no record
    has it.

    The design's order does not give it, because interim analyses postpone or drop runs.
    """
    attempts = zip(table["run_id"], pd.to_numeric(table["attempt"]), strict=True)
    return table.assign(begun=[starts.get((run, attempt), math.nan) for run, attempt in attempts])


def order_rows(tables: Mapping[str, pd.DataFrame]) -> Iterator[Cells]:
    """One row per source, and one for all: by what share the last run of a block takes longer than the first.

    `tables` as `begun` returns them.
    """
    found = {source: placed(table) for source, table in tables.items()}
    found = {source: each for source, each in found.items() if len(each)}
    if len(found) > 1:
        found[_ALL] = pd.concat([each.assign(cell=source + each["cell"]) for source, each in found.items()])
    for source, each in found.items():
        if slope := drift(each["place"].to_numpy(), each["log"].to_numpy(), each["cell"].to_numpy()):
            yield {"source": source, "n": slope.n, "cells": slope.cells, "change": _number(slope.change),
                   "low": _number(slope.low), "high": _number(slope.high),
                   "p_value": _number(slope.p_value)}  # fmt: skip


def placed(table: pd.DataFrame) -> pd.DataFrame:
    """For each valid run: its place in the block (0 to 1), its cell, and the logarithm of its time. Places count
    invalid attempts too."""
    table = table[table["begun"].notna()]
    order = table.groupby("block")["begun"].rank("dense")  # the rows of an attempt share a moment
    last = order.groupby(table["block"]).transform("max")
    good = table[(table["metric"] == TIMED) & (table["valid"].astype(str).str.lower() == "true")]
    seconds = pd.to_numeric(good["value"])
    good = good[seconds > 0]
    order, last = order[good.index], last[good.index]
    factors = factors_of(table.columns.drop("begun"))
    keys = [name for name in ("block", "experiment", LANE, *factors) if name in table]
    cell = ["|".join(map(str, row)) for row in good[keys].itertuples(index=False)]
    place: pd.Series = (order - 1) / (last - 1).clip(lower=1)
    logs = np.log(seconds[good.index])
    return pd.DataFrame({"place": place, "log": logs, "cell": pd.Series(cell, good.index, dtype=str)})


@dataclass(frozen=True)
class Drift:
    """`change`: share by which a time grows from the first to the last place of a block, with its interval and p-value
    (of no change); for `n` runs in `cells` cells with at least two runs."""

    n: int
    cells: int
    change: float
    low: float
    high: float
    p_value: float


def drift(place: np.ndarray, logs: np.ndarray, cells: np.ndarray) -> Drift | None:
    """Common slope of logarithms on places within cells; None if no cell has two places.

    The interval is Student's, with an error that allows each cell its own scatter; the p-value comes from permutations
    within cells.
    """
    _, index, counts = np.unique(cells, return_inverse=True, return_counts=True)
    kept = counts[index] > 1
    place, logs = place[kept], logs[kept]
    _, index, counts = np.unique(cells[kept], return_inverse=True, return_counts=True)
    x, y = (each - (np.bincount(index, each) / counts)[index] for each in (place, logs))
    square, freedom = float(np.sum(x**2)), len(x) - len(counts) - 1
    if freedom < 1 or square <= 0:
        return None
    slope = float(np.sum(x * y)) / square
    # The residuals of a cell of n runs are smaller than its errors by the mean that was taken out.
    left = (y - slope * x) * np.sqrt(counts / (counts - 1))[index]
    error = math.sqrt(float(np.sum((x * left) ** 2))) / square
    half = float(scipy.stats.t.ppf(0.975, freedom)) * error
    rng = np.random.Generator(np.random.PCG64(synthetic.SEED))
    # Runs in a random order, sorted by cell: a permutation within each.
    own = np.argsort(index, kind="stable")
    x, y, index = x[own], y[own], index[own]
    beyond = sum(
        abs(float(np.sum(x * y[np.lexsort((rng.random(len(y)), index))]))) >= abs(slope) * square * (1 - 1e-12)
        for _ in range(PERMUTATIONS)
    )
    change, low, high = (math.expm1(each) for each in (slope, slope - half, slope + half))
    return Drift(len(x), len(counts), change, low, high, (1 + beyond) / (1 + PERMUTATIONS))


# --- all together ----------------------------------------------------------------------------------------------


def _summary(rows: Mapping[str, Sequence[Cells]], record: records.TrustRecord) -> Iterator[Cells]:
    """One row per question: what was asked, of how many, the answer with its interval, the goal, and the command that
    asks again."""
    bound = record["bound"]
    for meter, words in ((records.IPERF3, "by iperf3"), (records.COUNTERS, "by bytes that the switch's ports count")):
        own = [row for row in rows.get("links.csv", []) if row["meter"] == meter and row["reach"] == "true"]
        rates = sorted(float(str(row["rate"])) for row in own) or [math.nan]
        asked = f"How exact are links from {rates[0]:g} to {rates[-1]:g} Mbit/s, {words}? (the largest median error)"
        yield from _worst("links", asked, own, "error", sum(int(str(row["n"])) for row in own),
                          "tests of a rate and number of pairs", 0.0, bound)  # fmt: skip
    yield from _share("ratio", "What share of intervals holds the true ratio of two links?", rows.get("ratio.csv", []),
                      "covered", "intervals", (COVERED, 1.0))  # fmt: skip
    same = rows.get("same.csv", [])
    judged, fresh = ([row for row in same if bool(row["group"]) == own] for own in (False, True))
    for own, words in ((fresh, "cells measured for it"), (judged, "the papers' own controls")):
        yield from _share("same", f"How often does one link under two names seem two? ({words})", own, "alarm",
                          "comparisons", (0.0, ALARMS))  # fmt: skip
    apart = [{"apart": APART[str(row["agrees"])]} for row in rows.get("scales.csv", [])]
    yield from _share("scales", f"What share of cells gives another result at the next k, by more than {AGREED:.0%}?",
                      apart, "apart", "cells and metrics", (0.0, ALARMS))  # fmt: skip
    loads = rows.get("load.csv", [])
    yield from _worst("load", "How much does load from outside move what counts? (the largest)", loads, "ratio",
                      sum(int(str(row["n"])) for row in loads), "runs under load", 1.0, BIAS)  # fmt: skip
    beside = rows.get("lanes.csv", [])
    for kind in dict.fromkeys(str(row["kind"]) for row in beside):
        own = [row for row in beside if row["kind"] == kind]
        what = "startup overhead" if kind == OVERHEAD else kind
        yield _beside(f"How much do other lanes change times? ({what}; the largest)", own)
    order = list(rows.get("order.csv", []))
    yield from _worst("order", "How much longer does the last run of a block take than the first?", order[-1:],
                      "change", sum(int(str(row["n"])) for row in order[-1:]), "runs", 0.0, BIAS)  # fmt: skip
    sources = [row for row in order if row["source"] != _ALL]
    adjusted = statistics.holm([float(str(row["p_value"])) for row in sources])
    moved = [{"moved": flag(p is not None and p < ALPHA)} for p in adjusted]
    yield from _share("order", "In what share of sources does it take longer or shorter by more than chance explains? "
                      "(permutations, after Holm's correction)", moved, "moved", "sources", (0.0, ALARMS))  # fmt: skip


def _share(part: str, asked: str, rows: Sequence[Cells], column: str, of: str, goal: tuple[float, float]
           ) -> Iterator[Cells]:  # fmt: skip
    """Share of rows with `true` among those with an answer; rows with an empty cell are counted separately."""
    if not rows:
        return
    answers = [row[column] == "true" for row in rows if row[column]]
    held, unknown = sum(answers), len(rows) - len(answers)
    low, high = statistics.share_interval(held, len(answers)) or (math.nan, math.nan)
    words = f"at least {goal[0]:.0%}" if goal[1] == 1 else f"at most {goal[1]:.0%}"
    of += f"; {unknown} more cannot tell" if unknown else ""
    yield _answer(part, asked, len(answers), of, (held / len(answers) if answers else math.nan, low, high), words, goal)


def _worst(part: str, asked: str, rows: Sequence[Cells], column: str, n: int, of: str, right: float, bound: float
           ) -> Iterator[Cells]:  # fmt: skip
    """The row that is farthest from the right value; the bound holds in both directions."""
    numbers = [[float(str(row[name] or "nan")) - right for name in (column, "low", "high")] for row in rows]
    known_ = [each for each in numbers if math.isfinite(each[0])]
    if not known_:
        return
    value, low, high = max(known_, key=lambda each: abs(each[0]))
    yield _answer(part, asked, n, of, (value, low, high), f"within {bound:.1%}", (-bound, bound))


def _beside(asked: str, rows: Sequence[Cells]) -> Cells:
    """The row of lanes.csv that decides about the goal: met if every interval lies inside, not met if one lies wholly
    outside."""
    goal = (-BIAS, BIAS)
    numbers = [[float(str(row.get(name) or "nan")) - 1 for name in ("ratio", "low", "high")] for row in rows]
    found = [(outcome_of_interval(low, high, goal), value, low, high) for value, low, high in numbers]
    order = (MET, _OPEN, NOT_MET)
    said, value, low, high = max(found, key=lambda each: (order.index(each[0]), np.nan_to_num(abs(each[1]))))
    n = sum(int(str(row["n"])) for row in rows)
    row = _answer("lanes", asked, n, "beside other lanes", (value, low, high), f"all within {BIAS:.1%}", goal)
    return {**row, "outcome": said}


def _answer(part: str, asked: str, n: int, of: str, estimate: tuple[float, float, float], words: str,
            goal: tuple[float, float]) -> Cells:  # fmt: skip
    value, low, high = estimate
    return {"part": part, "asked": asked, "n": n, "of": of, "value": _number(value), "low": _number(low),
            "high": _number(high), "unit": "1", "goal": words, "outcome": outcome(value, low, high, goal),
            "again": _AGAIN.format(part)}  # fmt: skip


def _number(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else ""
