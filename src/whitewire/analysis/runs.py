"""The table of runs, as what estimands ask of it: samples of cells, their scatter, their errors."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial, wraps
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from whitewire import estimands, propagation, sequential, statistics
from whitewire.analysis import guards, lane_effect, net
from whitewire.description import transports
from whitewire.description.paper import Paper, cells_of, tests_of
from whitewire.description.testbed import is_emulated
from whitewire.design.rows import counts, effort_of, stem, stem_of
from whitewire.design.scale import Scale, scale_of
from whitewire.estimands.evidence import Sample
from whitewire.levels import Cell, cell_name, text
from whitewire.propagation import Errors
from whitewire.records import metrics
from whitewire.records.jobs import NET, WHOLE
from whitewire.tidy.columns import LANE

MORE_BYTES = "more bytes a run are needed"
LANES = ("block", "experiment", "metric", "n", "lanes", "difference", "low", "high")
"""Columns of analysis/lanes.csv, which is there where tidy/runs.csv has lanes."""
OF_MACHINE = {each.name for each in metrics.MACHINE}
Scaling = Callable[[str, Mapping[str, Any]], Scale]
"""Function from an experiment and the levels of its factors to the scale of a run."""


Found = TypeVar("Found")


def once(method: Callable[..., Found]) -> Callable[..., Found]:
    """A method of Runs that answers the same question once: estimates, claims, readings and interim analyses ask alike.

    Its answer must not depend on whether the runs have ended: interim() shares the answers.
    """

    @wraps(method)
    def answered(self: Runs, *asked: object) -> Found:
        key = method.__name__, repr(asked)
        if key not in self.answers:
            self.answers[key] = method(self, *asked)
        return self.answers[key]

    return answered


class Runs:
    """The table tidy/runs.csv, indexed by cell.

    `seed` starts resampling; `k` is the testbed's scale, `fabrics` its networks and `ways` its transports (None: every
    paper's). `overheads` is the table tidy/floors.csv; without it overheads count as exact. `scaling` says how a run of
    a cell was scaled. `analyses` are the numbers of runs after which the claims are analysed, if more than once: every
    interval and p-value that a verdict rests on takes its level from them, here. `ended`: neither runs nor overhead
    runs are to come, so this analysis spends what is left of the level.
    """

    def __init__(self, table: pd.DataFrame, paper: Paper, seed: int = 1, k: float = 1.0,
                 unavailable: Mapping[str, str] | None = None,
                 fabrics: Collection[str] | None = None,
                 overheads: pd.DataFrame | None = None,
                 scaling: Scaling | None = None,
                 analyses: Sequence[int] = (),
                 ended: bool = False,
                 ways: Collection[str] | None = None) -> None:  # fmt: skip
        self.analyses, self.ended = tuple(analyses), ended
        self.answers: dict[tuple[str, str], Any] = {}
        """Results by method and arguments; see once()."""
        self._again = partial(type(self), paper=paper, seed=seed, k=k, unavailable=unavailable, fabrics=fabrics,
                              overheads=overheads, scaling=scaling, analyses=analyses, ways=ways)  # fmt: skip
        self.overheads = net.OverheadErrors(overheads)
        self.paper, self.seed, self.k = paper, seed, k
        self.unavailable = {stem_of(run_id): why for run_id, why in (unavailable or {}).items()}
        """Why this machine cannot make a cell, by how the ids of its runs begin."""
        self.fabrics, self.ways = fabrics, ways
        self.scaling = scaling
        table = table.copy()
        for factor in paper.factors:
            if factor not in table:
                table[factor] = ""
            table[factor] = [text(v) for v in table[factor]]
        table["valid"] = net.flags(table["valid"])
        value = pd.to_numeric(table["value"], errors="coerce")
        full = pd.to_numeric(table["full_scale_value"], errors="coerce")
        table["best"] = full.where(full.notna(), value)
        units = table["full_scale_unit"].where(full.notna(), table["unit"])
        table["best_unit"] = units.fillna("").astype(str)
        self.lost: dict[tuple[str, str], int] = {}
        """Degrees of freedom that lanes take of the scatter of an experiment and its controls, by name and metric."""
        self.lane_errors: dict[tuple[str, str], dict[tuple[str, ...], tuple[pd.Series, int]]] = {}
        """Errors of the lanes' effects, by name and metric: per source the part of each row, and degrees of freedom."""
        self.confounded: dict[tuple[str, str], frozenset[str]] = {}
        """Blocks whose lanes are confounded with cells, by name and metric."""
        self._measured = table
        self.table = table = self._without_lanes(table.copy()) if LANE in table else table
        self.efforts = {effort_of(str(block)) for block in table["block"]} if "block" in table else set()
        self.groups = dict(tuple(table.groupby(["experiment", "metric"], sort=False))) if len(table) else {}
        attempts = [name for name in ("run_id", "attempt") if name in table]
        # A run that failed has a row without a metric: it counts for every metric that it would have had.
        self.invalid = table[~table["valid"]].drop_duplicates(attempts)

    def _without_lanes(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table less what lanes add to the values of every metric that has a logarithm."""
        columns = ["value", "full_scale_value", "best"]
        table[columns] = table[columns].apply(pd.to_numeric, errors="coerce").astype(float)
        for (experiment, metric), rows in self._in_lanes(table):
            found = lane_effect.effect(rows["best"], rows["cell"], rows["block"], rows[LANE])
            errors: dict[tuple[str, ...], tuple[pd.Series, int]] = {
                ("lanes", experiment, metric, block, str(number)): (pd.Series(part, rows.index), freedom)
                for (block, number), (part, freedom) in found.errors.items()
            }
            for name in self.paper.family(experiment):
                key = name, metric
                self.lost[key], self.lane_errors[key], self.confounded[key] = found.lost, errors, found.confounded
            table.loc[rows.index, columns] = table.loc[rows.index, columns].mul(np.exp(-found.shift), axis=0)
        return table

    def _in_lanes(self, table: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
        """Valid runs of a table by experiment, controls among its own, and metric, where all values are above 0.

        Shares and other plain numbers are left out: a factor of them means nothing, and of a share may exceed 1. So is
        whether the machine was short of processors, which belongs to the moment.
        """
        good = table[table["valid"] & table["best"].notna()].copy()
        if good.empty:
            return
        good["cell"] = good[["experiment", *self.paper.factors]].astype(str).agg("\0".join, axis=1)
        good[LANE] = pd.to_numeric(good[LANE]).fillna(1)
        origin = good["experiment"].map(self.paper.origin)
        for (experiment, metric), rows in good.groupby([origin, "metric"], sort=False):
            if metric not in OF_MACHINE and rows["best_unit"].iloc[0] != "1" and rows["best"].min() > 0:
                yield (str(experiment), str(metric)), rows

    def lane_differences(self) -> list[dict[str, Any]]:
        """Differences between the lanes of each block: a row of LANES per experiment and metric that claims use."""
        if LANE not in self.table:
            return []
        tests = [test for claim in self.paper.claims for test in tests_of(claim)]
        asked = {(self.paper.origin(name), test.get("metric")) for test in tests
                 for name, _ in estimands.of(test).needed()}  # fmt: skip
        found = []
        for (experiment, metric), rows in self._in_lanes(self._measured):
            for block, own in rows.groupby("block", sort=False):
                effect = lane_effect.difference(own["best"], own["cell"], own[LANE])
                if effect and (experiment, metric) in asked:
                    of = {"block": block, "experiment": experiment, "metric": metric, "n": len(own)}
                    found.append(of | asdict(effect))
        return found

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
        return self._again(self._measured[kept])

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
        """Attempts in a cell that do not count, whether they left values or failed."""
        if self.invalid.empty:
            return 0
        return int(((self.invalid["experiment"] == experiment) & at(self.invalid, levels)).sum())

    def interim(self) -> Runs:
        """The same runs, with more of them to come."""
        found = copy.copy(self)
        found.ended = False
        return found

    def confidence(self, n: int, ratios: int = 1) -> float:
        """Confidence of an interval after n runs of each cell, or of one of several ratios; 0.95 of one analysis."""
        return 1 - sequential.nominal(sequential.ALPHA / ratios, n, self.analyses, self.ended)

    def overall(self, p: float | None, n: int | None) -> float | None:
        """A p-value after n runs of each cell that holds for all analyses together."""
        return p if p is None or not n else sequential.overall(p, n, self.analyses, self.ended)

    @once
    def scatter(self, experiment: str, levels: Mapping[str, Any], metric: str) -> tuple[float, float]:
        """Relative scatter of one run of a cell, and its degrees of freedom: its own from three runs on.

        With fewer, that of all cells of the experiment that have three. (NaN, 0) where no cell has.
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
        """Share of the degrees of freedom within cells that the effects of lanes leave."""
        lost = self.lost.get((experiment, metric), 0)
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

    def why_missing(self, test: Mapping[str, Any]) -> str:
        """Why this machine cannot make the runs of a test at all; empty when it can."""
        for named in estimands.of(test).needed():
            reasons = [self._not_here(*cell) for cell in self.matched(*named)]
            if reasons and all(reasons):
                return reasons[0]
        return ""

    def _not_here(self, experiment: str, levels: Mapping[str, Any]) -> str:
        """Why this machine cannot make the runs of a cell; empty when it can."""
        parameters = self.paper.parameters(experiment, levels)
        fabric, transport = parameters.get("fabric"), parameters.get("transport")
        if transport and self.ways is not None and transport not in self.ways:
            return transports.NEEDED if transport == transports.RDMA else f"this testbed has no transport {transport}"
        if fabric and self.fabrics is not None and fabric not in self.fabrics:
            return f"this testbed has no network {fabric}"
        own = stem(experiment, levels)
        if why := self.unavailable.get(own):
            return why
        # Of a cell that the effort does not make nobody has tried whether it can be made: but its file system cannot be
        # had where no cell on it can.
        kind = self.paper.store(experiment, levels)["kind"]
        if own in self._made or kind == "hdfs":
            return ""
        alike = [self.unavailable.get(name, "") for name, store in self._made.items() if store == kind]
        return alike[0] if alike and all(alike) else ""

    def matched(self, experiment: str, levels: Mapping[str, Any]) -> list[Cell]:
        """The cells with a level of every factor that one matches; levels left out match every level."""
        cells = cells_of(self.paper.experiments[experiment])
        return [(experiment, cell) for cell in cells if levels.items() <= cell.items()]

    def cells(self, experiment: str, levels: Mapping[str, Any]) -> list[Cell]:
        """Those cells that match a cell, that the effort makes and that this machine can make."""
        found = [cell for cell in self.matched(experiment, levels) if not self._not_here(*cell)]
        return [cell for cell in found if stem(*cell) in self._made] if self._made else found

    @cached_property
    def _made(self) -> dict[str, str]:
        """How the ids of those runs begin that the efforts of the runs make, with the kind of their file system; none
        where no effort is known."""
        efforts = self.efforts & set(self.paper.raw.get("replicates", ()))
        return {stem(experiment["id"], levels): self.paper.store(experiment["id"], levels)["kind"] for effort in efforts
                for experiment, levels, count in counts(self.paper, effort) if count}  # fmt: skip

    def why_unusable(self, experiment: str, levels: Mapping[str, Any], metric: str) -> str:
        """Why the values of a metric in a cell are unusable; empty where they are not."""
        found = guards.of(self, experiment, levels, metric)
        return f"{cell_name(experiment, levels)}: {found}" if found else ""

    def more_bytes(self, experiment: str, levels: Mapping[str, Any]) -> str:
        """Remedy: more bytes per run, or nothing where the runs moved all of the paper's bytes already."""
        if self.scaling and self.scaling(experiment, levels).data_fraction >= 1:
            return "nothing helps here: the runs moved all of the paper's bytes already"
        return MORE_BYTES

    def scaled(self, experiment: str, levels: Mapping[str, Any]) -> bool:
        """Whether a larger k could be had: not on hosts that run at their own rates."""
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
        found = replace(found, lanes=self._errors_of_lanes(experiment, metric, good.index))
        return self._with_overheads(found, experiment, levels, metric)

    def _errors_of_lanes(self, experiment: str, metric: str, rows: pd.Index) -> Errors:
        """Errors of the centre of some rows by what lanes add, which was taken off."""
        known = self.lane_errors.get((experiment, metric), {})
        return {source: (-float(part[rows].mean()), freedom) for source, (part, freedom) in known.items()}

    def confounded_lanes(self, experiment: str, levels: Mapping[str, Any], metric: str) -> frozenset[tuple[str, float]]:
        """Block and lane of each run of a cell, of blocks whose lanes are confounded with cells."""
        rows = self.groups.get((experiment, metric))
        if rows is None or not (blocks := self.confounded.get((experiment, metric))):
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
        """Shares of a cell's runs by the block and name of their overhead; empty for what rests on no known one."""
        rows = self.groups.get((experiment, metric))
        if rows is None or metric not in (*NET, "job_floor") or not {"block", "floor"} <= set(rows):
            return {}
        good = rows[rows["valid"] & rows["best"].notna() & at(rows, levels)]
        keys = [(str(block), text(overhead)) for block, overhead in zip(good["block"], good["floor"], strict=True)]
        known = [key for key in keys if self.overheads.knows(*key)]
        return {key: known.count(key) / len(keys) for key in dict.fromkeys(known)}

    def overheads_lacking(self, experiment: str, levels: Mapping[str, Any]) -> dict[str, str]:
        """Overheads of a cell's valid runs for which no overhead run was valid, and why the last one was not."""
        rows = self.table[self.table["valid"] & (self.table["experiment"] == experiment)]
        if not len(rows) or not {"block", "floor"} <= set(rows):
            return {}
        own = rows.loc[at(rows, levels), ["block", "floor"]].drop_duplicates()
        keys = [(str(block), text(overhead)) for block, overhead in own.itertuples(index=False)]
        return {key[1]: why for key in keys if (why := self.overheads.lacking(*key))}

    def _net_and_share(self, experiment: str, levels: Mapping[str, Any], metric: str) -> tuple[float, float]:
        """Median net time in seconds, and the share of the startup overhead in the time, of a cell's runs."""
        both = [self.as_measured(experiment, levels, name) for name in NET[metric]]
        beyond, other = (float(np.nanmedian(v)) if np.isfinite(v).any() else math.nan for v in both)
        whole = beyond + other if NET[metric] is WHOLE else other
        return beyond, 1 - beyond / whole if whole else math.nan


def status_on(testbed: Mapping[str, Any]) -> str:
    """Status of the runs of a testbed: `emulated` or `measured`."""
    return "emulated" if is_emulated(testbed) else "measured"


def on_testbed(
    paper: Paper, testbed: Mapping[str, Any], effort: str, table: pd.DataFrame, overheads: pd.DataFrame | None = None,
    unavailable: Mapping[str, str] | None = None, seed: int = 1, ended: bool = False,
) -> Runs:  # fmt: skip
    """The runs of a paper at an effort (empty: there are none) on a testbed, of which `testbed` is the description.

    `table` and `overheads` have the columns of tidy/runs.csv and tidy/floors.csv, `unavailable` is reason by run.
    `ended`: nothing more is to be measured.
    """
    k = paper.raw["scale"]["k"] if is_emulated(testbed) and paper.experiments else 1
    scaling = partial(_scaling, paper, effort, testbed) if effort else None
    fabrics, ways = testbed["fabrics"], transports.levels(testbed)
    return Runs(table, paper, seed, k, unavailable, fabrics, overheads, scaling, paper.analyses(effort), ended, ways)


def _scaling(paper: Paper, effort: str, testbed: Mapping[str, Any], name: str, levels: Mapping[str, Any]) -> Scale:
    return scale_of(paper, name, effort, levels, testbed)


def at(rows: pd.DataFrame, levels: Mapping[str, Any]) -> np.ndarray:
    """Mask of the rows of a cell; levels left out match every level."""
    found = np.ones(len(rows), dtype=bool)
    for factor, level in levels.items():
        found &= rows[factor].to_numpy() == text(level)
    return found
