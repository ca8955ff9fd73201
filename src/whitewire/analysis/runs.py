"""The table of runs as estimands use it: samples of cells, their scatter, their errors."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, wraps
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from whitewire import propagation, sequential, statistics
from whitewire.analysis import net
from whitewire.analysis.cells_here import CellsOfRuns
from whitewire.analysis.guards import rejection_of_metric
from whitewire.analysis.run_lanes import RunLanes
from whitewire.description.paper import Paper
from whitewire.description.testbed import is_emulated
from whitewire.design.rows import effort_of, why_impossible
from whitewire.design.scale import Scale, scale_of
from whitewire.estimands.evidence import Sample
from whitewire.levels import Cell, CellId, cell_name, level_text
from whitewire.records.jobs import NET, WHOLE_RUN
from whitewire.rule import ALPHA
from whitewire.tidy.columns import LANE

MORE_BYTES = "more bytes a run are needed"
Scaling = Callable[[str, Mapping[str, Any]], Scale]
"""Function from an experiment and the levels of its factors to the scale of a run."""


_Found = TypeVar("_Found")


def once(method: Callable[..., _Found]) -> Callable[..., _Found]:
    """Caches a method of Runs, because estimates, claims, readings and interim analyses ask the same questions.

    The method must not depend on `ended`: interim() shares the cache.
    """

    @wraps(method)
    def answered(self: Runs, *asked: object) -> _Found:
        key = method.__name__, repr(asked)
        if key not in self.answers:
            self.answers[key] = method(self, *asked)
        return self.answers[key]

    return answered


class Runs:
    """The table tidy/runs.csv, indexed by cell.

    `seed` starts resampling; `k` is the testbed's scale; `impossible` says why it cannot make a cell (None: it can
    make all). `overheads` is the table tidy/floors.csv; without it overheads count as exact. `scaling` says how a run
    of a cell was scaled. `analyses` are the numbers of runs after which the claims are analysed, if more than once:
    every interval and p-value that a verdict rests on takes its level from them, here. `ended`: neither runs nor
    overhead runs are to come, so this analysis spends what is left of the level.
    """

    def __init__(self, table: pd.DataFrame, paper: Paper, seed: int = 1, k: float = 1.0,
                 unavailable: Mapping[CellId, str] | None = None,
                 impossible: Callable[[str, Mapping[str, Any]], str] | None = None,
                 overheads: pd.DataFrame | None = None,
                 scaling: Scaling | None = None,
                 analyses: Sequence[int] = (),
                 ended: bool = False) -> None:  # fmt: skip
        self.analyses, self.ended = tuple(analyses), ended
        self.answers: dict[tuple[str, str], Any] = {}
        """Results by method and arguments; see once()."""
        self._again = partial(type(self), paper=paper, seed=seed, k=k, unavailable=unavailable, impossible=impossible,
                              overheads=overheads, scaling=scaling, analyses=analyses)  # fmt: skip
        self.overheads = net.OverheadErrors(overheads)
        self.paper, self.seed, self.k = paper, seed, k
        self.scaling = scaling
        table = table.copy()
        for factor in paper.factors:
            if factor not in table:
                table[factor] = ""
            table[factor] = [level_text(v) for v in table[factor]]
        table["valid"] = net.flags(table["valid"])
        value = pd.to_numeric(table["value"], errors="coerce")
        full = pd.to_numeric(table["full_scale_value"], errors="coerce")
        table["best"] = full.where(full.notna(), value)
        units = table["full_scale_unit"].where(full.notna(), table["unit"])
        table["best_unit"] = units.fillna("").astype(str)
        self.lanes = RunLanes(table, paper)
        self.table = table = self.lanes.table
        self.efforts = {effort_of(str(block)) for block in table["block"]} if "block" in table else set()
        self.here = CellsOfRuns(paper, self.efforts, unavailable, impossible or (lambda *_: ""))
        self.groups = dict(tuple(table.groupby(["experiment", "metric"], sort=False))) if len(table) else {}
        attempts = [name for name in ("run_id", "attempt") if name in table]
        # A run that failed has a row without a metric: it counts for every metric that it would have had.
        self.invalid = table[~table["valid"]].drop_duplicates(attempts)

    def first(self, n: int) -> Runs:
        """The first n valid runs of each cell by their number, or all of them where there are fewer."""
        keys = ["experiment", *self.paper.factors]
        good = self.table[self.table["valid"]].drop_duplicates([*keys, "replicate"])
        number = pd.to_numeric(good["replicate"]).groupby([good[key] for key in keys]).rank()
        late = good[number > n]
        gone = set(zip(*(late[key] for key in (*keys, "replicate")), strict=True))
        if not gone:
            return self.interim()
        kept = [each not in gone for each in zip(*(self.table[key] for key in (*keys, "replicate")), strict=True)]
        return self._again(self.lanes.measured[kept])

    @once
    def as_measured(self, experiment: str, levels: Mapping[str, Any], metric: str) -> np.ndarray:
        """Values of a cell's valid runs as they were measured, not at full scale."""
        rows = self.groups.get((experiment, metric))
        if rows is None:
            return np.array([])
        return pd.to_numeric(rows.loc[rows["valid"] & at(rows, levels), "value"]).to_numpy(dtype=float)

    @once
    def n_valid(self, experiment: str, levels: Mapping[str, Any]) -> int:
        """Number of valid runs of a cell, whatever metrics they have."""
        rows = self.table[self.table["valid"] & (self.table["experiment"] == experiment)]
        return int(rows.loc[at(rows, levels), "run_id"].nunique()) if len(rows) else 0

    @once
    def n_invalid(self, experiment: str, levels: Mapping[str, Any]) -> int:
        """Number of attempts in a cell that do not count, including those that failed without values."""
        if self.invalid.empty:
            return 0
        return int(((self.invalid["experiment"] == experiment) & at(self.invalid, levels)).sum())

    def interim(self) -> Runs:
        """The same runs, with more of them to come."""
        found = copy.copy(self)
        found.ended = False
        return found

    def confidence(self, n: int, ratios: int = 1) -> float:
        """Confidence of each of `ratios` intervals after n runs of each cell; 0.95 for one ratio and one analysis."""
        return 1 - sequential.nominal(ALPHA / ratios, n, self.analyses, self.ended)

    def overall(self, p: float | None, n: int | None) -> float | None:
        """A p-value after n runs of each cell that holds for all analyses together."""
        return p if p is None or not n else sequential.overall(p, n, self.analyses, self.ended)

    @once
    def scatter(self, experiment: str, levels: Mapping[str, Any], metric: str) -> tuple[float, float]:
        """Relative scatter of one run of a cell, and its degrees of freedom.

        With fewer than three runs, pooled over all cells of the experiment that have three; (NaN, 0) if none has.
        """
        rows = self.groups.get((experiment, metric))
        own = self._values(rows[at(rows, levels)]) if rows is not None else np.array([])
        if len(own) < statistics.FEWEST:
            return self._pooled(experiment, metric)
        left = self._left(experiment, metric)
        return statistics.scatter(own) / math.sqrt(left), (len(own) - 1) * left

    @staticmethod
    def _values(rows: pd.DataFrame) -> np.ndarray:
        return rows.loc[rows["valid"] & rows["best"].notna(), "best"].to_numpy(dtype=float)

    @once
    def _pooled(self, experiment: str, metric: str) -> tuple[float, float]:
        """Relative scatter within cells of three runs or more, and its degrees of freedom."""
        known = [values for values in self._family(experiment, metric) if len(values) >= statistics.FEWEST]
        freedom = sum(len(values) - 1 for values in known) * self._left(experiment, metric)
        squares = sum(statistics.scatter(values) ** 2 * (len(values) - 1) for values in known)
        return (math.sqrt(squares / freedom), freedom) if freedom else (math.nan, 0)

    @once
    def _left(self, experiment: str, metric: str) -> float:
        """Share of the degrees of freedom within cells that remains after estimating the effects of lanes."""
        lost = self.lanes.lost.get((experiment, metric), 0)
        return 1 - lost / sum(len(values) - 1 for values in self._family(experiment, metric)) if lost else 1.0

    @once
    def _family(self, experiment: str, metric: str) -> list[np.ndarray]:
        """Values of each cell of an experiment and of its controls, which are runs like its own."""
        keys = [(name, metric) for name in self.paper.family(experiment) if (name, metric) in self.groups]
        if not keys:
            return []
        rows = pd.concat([self.groups[key] for key in keys])
        cells = rows.groupby(["experiment", *self.paper.factors], sort=False)
        return [values for _, own in cells if len(values := self._values(own))]

    def why_unusable(self, experiment: str, levels: Mapping[str, Any], metric: str) -> str:
        """Why the values of a metric in a cell are unusable; empty where they are not."""
        found = rejection_of_metric(self, experiment, levels, metric)
        return f"{cell_name(experiment, levels)}: {found}" if found else ""

    def more_bytes(self, experiment: str, levels: Mapping[str, Any]) -> str:
        """Remedy: more bytes per run, or nothing where the runs moved all of the paper's bytes already."""
        if self.scaling and self.scaling(experiment, levels).data_fraction >= 1:
            return "nothing helps here: the runs moved all of the paper's bytes already"
        return MORE_BYTES

    def scaled(self, experiment: str, levels: Mapping[str, Any]) -> bool:
        """Whether a larger k is possible; not on hosts that run at their own rates."""
        return self.scaling is None or self.k > 1 or self.scaling(experiment, levels).k > 1

    def without(self, cells: Sequence[Cell], samples: Sequence[Sample]) -> list[str]:
        """Why each cell without a value has none: all attempts failed, or its experiment belongs to other efforts."""
        lines = []
        for (experiment, _), sample in zip(cells, samples, strict=True):
            if len(sample.values):
                continue
            efforts = self.paper.experiments[experiment].get("efforts", ())
            if efforts and self.efforts and not self.efforts & set(efforts):
                what = (
                    f"no run of {sample.name.strip()}: that experiment is made at effort {' and '.join(efforts)} only"
                )
            else:
                what = f"no valid run of {sample.name.strip()}"
            lines.append(what)
        return lines

    @once
    def sample(self, experiment: str, levels: Mapping[str, Any], metric: str) -> Sample:
        """All runs of a cell; levels left out match every level."""
        name = cell_name(experiment, levels)
        invalid, rows = self.n_invalid(experiment, levels), self.groups.get((experiment, metric))
        if rows is None:
            return Sample(np.array([]), invalid, "", name)
        good = rows[rows["valid"] & rows["best"].notna() & at(rows, levels)]
        unit = good["best_unit"].iloc[0] if len(good) else ""
        spread, freedom = self.scatter(experiment, levels, metric)
        found = Sample(good["best"].to_numpy(dtype=float), invalid, unit, name, spread, freedom, metric)
        found = replace(found, lanes=self.lanes.errors(experiment, metric, good.index))
        return self._with_overheads(found, experiment, levels, metric)

    def confounded_lanes(self, experiment: str, levels: Mapping[str, Any], metric: str) -> frozenset[tuple[str, float]]:
        """Block and lane of each run of a cell, of blocks whose lanes are confounded with cells."""
        rows = self.groups.get((experiment, metric))
        if rows is None or not (blocks := self.lanes.confounded.get((experiment, metric))):
            return frozenset()
        good = rows[rows["valid"] & rows["best"].notna() & at(rows, levels) & rows["block"].isin(blocks)]
        return frozenset(zip(good["block"], pd.to_numeric(good[LANE]).fillna(1), strict=True))

    def _with_overheads(self, sample: Sample, experiment: str, levels: Mapping[str, Any], metric: str) -> Sample:
        """The sample with the errors of its startup overheads, if it rests on any."""
        weights = self.overhead_weights(experiment, levels, metric)
        if not weights or metric == "job_floor":
            return sample
        seconds, share = self._net_and_share(experiment, levels, metric)
        overheads = self.overheads.errors(metric, seconds, weights, sample.centre)
        if overheads is None:
            problem = f"{sample.name} has a single overhead run, whose scatter is unknown"
            return replace(sample, share=share, problem=problem)
        # Errors are taken as relative to what is left; that ends where nothing may be left.
        if (propagation.interval(1.0, overheads) or (0.0, math.inf))[1] > math.e:
            problem = f"with the scatter of its startup overheads nothing may be left of the net time of {sample.name}"
            return replace(
                sample, share=share, overheads=overheads, problem=f"{problem}; {self.more_bytes(experiment, levels)}"
            )
        return replace(sample, share=share, overheads=overheads)

    @once
    def overhead_weights(self, experiment: str, levels: Mapping[str, Any], metric: str) -> dict[tuple[str, str], float]:
        """Shares of a cell's runs by the block and name of their overhead; empty if none of the overheads is known."""
        rows = self.groups.get((experiment, metric))
        if rows is None or metric not in (*NET, "job_floor") or not {"block", "floor"} <= set(rows):
            return {}
        good = rows[rows["valid"] & rows["best"].notna() & at(rows, levels)]
        keys = [
            (str(block), level_text(overhead)) for block, overhead in zip(good["block"], good["floor"], strict=True)
        ]
        known = [key for key in keys if self.overheads.knows(*key)]
        return {key: known.count(key) / len(keys) for key in dict.fromkeys(known)}

    def overheads_lacking(self, experiment: str, levels: Mapping[str, Any]) -> dict[str, str]:
        """Overheads of a cell's valid runs for which no overhead run was valid, and why the last one was not."""
        rows = self.table[self.table["valid"] & (self.table["experiment"] == experiment)]
        if not len(rows) or not {"block", "floor"} <= set(rows):
            return {}
        own = rows.loc[at(rows, levels), ["block", "floor"]].drop_duplicates()
        keys = [(str(block), level_text(overhead)) for block, overhead in own.itertuples(index=False)]
        return {key[1]: why for key in keys if (why := self.overheads.lacking(*key))}

    def _net_and_share(self, experiment: str, levels: Mapping[str, Any], metric: str) -> tuple[float, float]:
        """Median net time in seconds, and the share of the startup overhead in the time, of a cell's runs."""
        both = [self.as_measured(experiment, levels, name) for name in NET[metric]]
        beyond, other = (float(np.nanmedian(v)) if np.isfinite(v).any() else math.nan for v in both)
        whole = beyond + other if NET[metric] is WHOLE_RUN else other
        return beyond, 1 - beyond / whole if whole else math.nan


def status_on(testbed: Mapping[str, Any]) -> str:
    """Status of the runs of a testbed: `emulated` or `measured`."""
    return "emulated" if is_emulated(testbed) else "measured"


def on_testbed(
    paper: Paper, testbed: Mapping[str, Any], effort: str, table: pd.DataFrame, overheads: pd.DataFrame | None = None,
    unavailable: Mapping[CellId, str] | None = None, seed: int = 1, ended: bool = False,
) -> Runs:  # fmt: skip
    """The runs of a paper at an effort (empty: there are none) on the testbed that `testbed` describes.

    `table` and `overheads` have the columns of tidy/runs.csv and tidy/floors.csv; `unavailable`: why this machine
    cannot make a cell. `ended`: no more runs will be measured.
    """
    k = paper.raw["scale"]["k"] if is_emulated(testbed) and paper.experiments else 1
    scaling = partial(_scaling, paper, effort, testbed) if effort else None
    impossible = partial(why_impossible, paper, testbed=testbed)
    return Runs(table, paper, seed, k, unavailable, impossible, overheads, scaling, paper.analyses(effort), ended)


def _scaling(paper: Paper, effort: str, testbed: Mapping[str, Any], name: str, levels: Mapping[str, Any]) -> Scale:
    return scale_of(paper, name, effort, levels, testbed)


def at(rows: pd.DataFrame, levels: Mapping[str, Any]) -> np.ndarray:
    """Mask of the rows of a cell; levels left out match every level."""
    found = np.ones(len(rows), dtype=bool)
    for factor, level in levels.items():
        found &= rows[factor].to_numpy() == level_text(level)
    return found
