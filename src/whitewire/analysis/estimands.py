"""Estimands: from a long table of runs (or the paper's own values) to evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from whitewire import statistics
from whitewire.analysis import net, propagation
from whitewire.analysis.claims import Evidence
from whitewire.description.paper import Paper, cells_in
from whitewire.design.durations import gbit_per_s
from whitewire.models import MODELS
from whitewire.records.jobs import NET, WHOLE

MB_PER_GBIT = 125.0
NET_SHARE = 0.2
"""Least time of a cell's jobs beyond their floor, as a share of it, that an estimate may rest on."""
RATES = ("throughput", "rate_mean", "aggregate", "node_bandwidth")
"""Of TestDFSIO's write and read: rates of several tasks that share drives and links."""
AT_ONCE_SHARE = 0.75
"""Least share of TestDFSIO's tasks that read or write at once, for a rate that is said of all of them together."""
SHORT_SHARE = 0.5
"""Largest share of the time of TestDFSIO's writing or reading in which the processors may be short, for its rates."""
MORE_BYTES = "more bytes a run are needed"
CURVATURES = np.linspace(-4.0, 10.0, 1401)
"""Candidate exponents of the exponential fit, over the range of the horizontal axis."""


@dataclass(frozen=True)
class Sample:
    """Values of one metric in one cell: valid runs only, full-scale equivalent where the metric scales.

    `spread` and `freedom` are the scatter of the logarithms, pooled over the experiment, and its degrees of freedom; of
    a time less its floor, at least the pooled scatter in seconds over the cell's median, since the floor's own scatter
    is the larger a part the less is left.
    """

    values: np.ndarray
    n_invalid: int
    unit: str
    name: str
    spread: float = float("nan")
    freedom: int = 0


class Runs:
    """The table tidy/runs.csv, indexed by cell.

    `seed` starts resampling; `k` is the testbed's scale, `fabrics` its networks (None: every paper's). `floors` is the
    table tidy/floors.csv; without it floors count as exact.
    """

    def __init__(self, table: pd.DataFrame, paper: Paper, seed: int = 1, k: float = 1.0,
                 unavailable: Mapping[str, str] | None = None,
                 fabrics: Collection[str] | None = None,
                 floors: pd.DataFrame | None = None) -> None:  # fmt: skip
        self.floors = net.FloorErrors(floors, seed)
        self.paper, self.seed, self.k = paper, seed, k
        self.unavailable = dict(unavailable or {})
        self.fabrics = fabrics
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
        self.table = table
        self.efforts = {str(block).rsplit("-", 1)[0] for block in table["block"]} if "block" in table else set()
        self._scatter: dict[tuple[str, str], tuple[float, int]] = {}
        self.groups = dict(tuple(table.groupby(["experiment", "metric"], sort=False))) if len(table) else {}
        attempts = [name for name in ("run_id", "attempt") if name in table]
        # A run that failed has a row without a metric: it counts for every metric that it would have had.
        self.invalid = table[~table["valid"]].drop_duplicates(attempts)

    def as_measured(self, experiment: str, levels: Mapping[str, Any], metric: str) -> np.ndarray:
        """Values of a cell's valid runs as they were measured, not at full scale."""
        rows = self.groups.get((experiment, metric))
        if rows is None:
            return np.array([])
        return pd.to_numeric(rows.loc[rows["valid"] & at(rows, levels), "value"]).to_numpy(dtype=float)

    def n_invalid(self, experiment: str, levels: Mapping[str, Any]) -> int:
        """Attempts in a cell that do not count, whether they left values or failed."""
        if self.invalid.empty:
            return 0
        return int(((self.invalid["experiment"] == experiment) & at(self.invalid, levels)).sum())

    def scatter(self, experiment: str, metric: str) -> tuple[float, int]:
        """statistics.pooled_log_sd over all cells of an experiment; (NaN, 0) when a value is not above 0."""
        key = (experiment, metric)
        if key not in self._scatter:
            self._scatter[key] = self._scatter_of(self._family(experiment, metric))
        return self._scatter[key]

    def _family(self, experiment: str, metric: str) -> pd.DataFrame | None:
        """Rows of an experiment and of its controls, which are runs like its own."""
        keys = [(name, metric) for name in self.paper.family(experiment) if (name, metric) in self.groups]
        return pd.concat([self.groups[key] for key in keys]) if keys else None

    def _scatter_of(self, rows: pd.DataFrame | None) -> tuple[float, int]:
        if rows is None:
            return float("nan"), 0
        good = rows[rows["valid"] & rows["best"].notna()]
        if not len(good) or good["best"].min() <= 0:
            return float("nan"), 0
        cells = good.groupby(["experiment", *self.paper.factors], sort=False)["best"]
        return statistics.pooled_log_sd([values.to_numpy(dtype=float) for _, values in cells])

    def why_missing(self, test: Mapping[str, Any]) -> str:
        """Why this machine cannot make the runs of a test at all; empty when it can."""
        counted = [(c["experiment"], c["where"]) for c in test["cells"]] if test["estimand"] == "count" else []
        for experiment, levels in counted or cells_in(test):
            fabric = self.paper.parameters(experiment, levels).get("fabric")
            if fabric and self.fabrics is not None and fabric not in self.fabrics:
                return f"this testbed has no network {fabric}"
            if self.unavailable and self.paper.store(experiment, levels)["kind"] != "hdfs":
                return next(iter(self.unavailable.values()))
        return ""

    def sample(self, experiment: str, levels: Mapping[str, Any], metric: str) -> Sample:
        """All runs of a cell; levels left out match every level."""
        name = cell_name(experiment, levels)
        invalid, rows = self.n_invalid(experiment, levels), self.groups.get((experiment, metric))
        if rows is None:
            return Sample(np.array([]), invalid, "", name)
        good = rows[rows["valid"] & rows["best"].notna() & at(rows, levels)]
        unit = good["best_unit"].iloc[0] if len(good) else ""
        spread, freedom = self.scatter(experiment, metric)
        if metric in NET and len(good):
            spread = max(spread, self._scatter_of_net(experiment, NET[metric][0], levels))
        return Sample(good["best"].to_numpy(dtype=float), invalid, unit, name, spread, freedom)

    def drawn(
        self, experiment: str, levels: Mapping[str, Any], metric: str, fewest: int = statistics.FEWEST_POOLED
    ) -> net.Drawn:
        """The median of a cell as a distribution, with the scatter of its floors where those are known."""
        sample = self.sample(experiment, levels, metric)
        base = metric if net.KINDS.get(metric) == "share" else NET.get(metric, (metric,))[0]
        median = float(np.median(sample.values)) if len(sample.values) else math.nan
        spread, freedom = sample.spread, sample.freedom
        if not math.isfinite(spread) and median > 0:  # a share may be 0, which has no logarithm
            sd, freedom = self._absolute(experiment, metric)
            spread = sd / median
        cell = net.Cell(sample.name, experiment, metric, base, median, len(sample.values), spread, freedom)
        weights = self.floor_weights(experiment, levels, metric)
        if not weights:
            return net.draw(cell, self.floors, fewest)
        seconds, share = self._net_and_share(experiment, levels, metric)
        return net.draw(replace(cell, net=seconds, share=share, weights=weights), self.floors, fewest)

    def _absolute(self, experiment: str, metric: str) -> tuple[float, int]:
        rows = self._family(experiment, metric)
        good = rows[rows["valid"] & rows["best"].notna()]
        cells = good.groupby(["experiment", *self.paper.factors], sort=False)["best"]
        return statistics.pooled_sd([values.to_numpy(dtype=float) for _, values in cells])

    def floor_weights(self, experiment: str, levels: Mapping[str, Any], metric: str) -> dict[tuple[str, str], float]:
        """Shares of a cell's runs by the block and name of their floor; empty for what rests on no known floor."""
        rows = self.groups.get((experiment, metric))
        if rows is None or metric not in (*NET, "job_floor") or not {"block", "floor"} <= set(rows):
            return {}
        good = rows[rows["valid"] & rows["best"].notna() & at(rows, levels)]
        keys = [(str(block), text(floor)) for block, floor in zip(good["block"], good["floor"], strict=True)]
        known = [key for key in keys if self.floors.knows(*key)]
        return {key: known.count(key) / len(keys) for key in dict.fromkeys(known)}

    def _net_and_share(self, experiment: str, levels: Mapping[str, Any], metric: str) -> tuple[float, float]:
        """Median net time in seconds, and the share of the floor in the time, of a cell's runs."""
        beyond, other = (self.as_measured(experiment, levels, name) for name in NET[metric])
        beyond = float(np.nanmedian(beyond)) if np.isfinite(beyond).any() else math.nan
        other = float(np.nanmedian(other)) if np.isfinite(other).any() else math.nan
        whole = beyond + other if NET[metric] is WHOLE else other
        return beyond, 1 - beyond / whole if whole else math.nan

    def _scatter_of_net(self, experiment: str, metric: str, levels: Mapping[str, Any]) -> float:
        """Pooled scatter in seconds of an experiment's times less their floors, over the median of a cell's."""
        rows = self._family(experiment, metric)
        seconds = self.as_measured(experiment, levels, metric)
        if rows is None or not len(seconds):
            return 0.0
        good = rows[rows["valid"] & rows["best"].notna()]
        cells = good.groupby(["experiment", *self.paper.factors], sort=False)["value"]
        sd, _ = statistics.pooled_sd([pd.to_numeric(values).to_numpy(dtype=float) for _, values in cells])
        return sd / float(np.median(seconds)) if math.isfinite(sd) else 0.0


def at(rows: pd.DataFrame, levels: Mapping[str, Any]) -> pd.Series:
    """Which rows are of a cell; levels left out match every level."""
    found = pd.Series(True, index=rows.index)
    for factor, level in levels.items():
        found &= rows[factor] == text(level)
    return found


def text(level: Any) -> str:
    """A level as text: `3`, `10gbe`, empty for a factor that does not apply."""
    if level is None or (isinstance(level, float) and math.isnan(level)) or level is pd.NA:
        return ""
    if isinstance(level, float | np.floating) and float(level).is_integer():
        return str(int(level))
    found = str(level)
    return found[:-2] if found.endswith(".0") and found[:-2].isdigit() else found


def cell_name(experiment: str, levels: Mapping[str, Any]) -> str:
    """A cell in words: `put-grid 10gbe 3 6`."""
    return " ".join([experiment, *map(text, levels.values())])


def describe(test: Mapping[str, Any]) -> str:
    """The estimand in words, for the verdict table."""
    kind = test["estimand"]
    if kind == "expression":
        return test["expression"]
    if kind == "model":
        return f"model {test['model']}"
    if kind == "none":
        return ""
    metric = test["metric"]

    def cell(c: Mapping[str, Any]) -> str:
        own = f"{c['metric']} " if "metric" in c else ""
        return own + cell_name(c["experiment"], c["where"])

    if kind == "ratio":
        return f"{metric}: {cell(test['numerator'])} / {cell(test['denominator'])}"
    if kind == "share":
        over = test["over"]
        links = f"{over.get('links', 1)} x {over['link_of']} link" if "link_of" in over else ""
        return f"{metric}: {cell(test['cell'])} / {links or text(over['constant'])}"
    if kind == "ratio_of_ratios":
        a, b = test["numerator"], test["denominator"]
        return (
            f"{metric}: ({cell(a['numerator'])} / {cell(a['denominator'])}) / "
            f"({cell(b['numerator'])} / {cell(b['denominator'])})"
        )
    if kind == "maximum_ratio":
        pair = f"{cell(test['numerator'])} / {cell(test['denominator'])}"
        return f"{metric}: largest of {pair} over {len(test['cells'])} cells"
    if kind == "count":
        return f"{test['statistic']} {metric}: {', '.join(cell(c) for c in test['cells'])}"
    what = "smallest step" if kind == "trend" else "AIC linear - AIC exponential"
    return f"{metric}: {what} over {test['factor']}, {cell(test['cell'])}"


def evaluate(test: Mapping[str, Any], runs: Runs, paper: Paper) -> Evidence:
    """Evidence for any typed test but `none`."""
    kind = test["estimand"]
    if kind == "expression":
        return Evidence("paper", paper.evaluate(test["expression"]), unit=test.get("unit", "1"))
    if kind == "model":
        arguments = {name: paper.evaluate(value) for name, value in test["arguments"].items()}
        return Evidence("model", float(MODELS[test["model"]](**arguments)), unit=test.get("unit", "1"))
    if kind == "count":
        return _count(test, runs)
    samples = _samples(test, runs)
    n = min(len(s.values) for s in samples)
    invalid = sum(s.n_invalid for s in samples)
    for (experiment, levels), metric in zip(cells_in(test), _metrics(test), strict=True):
        if why := untold(runs, experiment, levels, metric):
            return Evidence("runs", n_invalid=invalid, missing=why)
    if n == 0:
        return Evidence("runs", n_invalid=invalid, missing=_without_runs(runs, cells_in(test), samples)[0])
    exact = {
        "ratio": _ratio,
        "share": _share,
        "ratio_of_ratios": _ratio_of_ratios,
        "maximum_ratio": _maximum_ratio,
        "trend": _trend,
        "curve_fit": _curve_fit,
    }[kind](test, samples, n, invalid, runs)
    return exact if kind == "curve_fit" else _with_floors(test, runs, exact)


def _with_floors(test: Mapping[str, Any], runs: Runs, exact: Evidence) -> Evidence:
    """The same evidence with the floors' scatter in its interval and p-value; `exact` takes floors for exact.

    Where the floor is more than half of the time in some cell, the interval is no narrower than that of `exact`.
    """
    cells = [(*cell, metric) for cell, metric in zip(cells_in(test), _metrics(test), strict=True)]
    if not any(runs.floor_weights(*cell) for cell in cells):
        return exact
    drawn = [runs.drawn(*cell) for cell in cells]
    high = {each.cell.name: each.cell.share for each in drawn if each.cell.share > net.MOSTLY_FLOOR}
    note = "the floor is " + ", ".join(f"{share:.0%} of the time in {name}" for name, share in high.items())
    found = replace(exact, low=None, high=None, p_value=None, direction=None, floors=True, note=note if high else "")
    if problem := next((each.problem for each in drawn if each.problem), ""):
        return replace(found, unbounded="" if problem.startswith("too few") else problem)
    worst = max(drawn, key=lambda each: each.lost)
    if worst.lost > propagation.LOST:
        lost = (
            f"with the scatter of runs and floors {worst.lost:.0%} of the draws of {worst.cell.name} have no net time"
        )
        return replace(found, unbounded=f"{lost}; {MORE_BYTES}")
    low, high_, p, direction = _limits(test, runs, drawn)
    if low is None:
        return replace(found, unbounded="the interval is not finite")
    if high and exact.low is not None and exact.high is not None:
        low, high_ = min(low, exact.low), max(high_, exact.high)
        p = max((each for each in (p, exact.p_value) if each is not None), default=None)
        if direction and exact.direction:
            direction = min(direction[0], exact.direction[0]), max(direction[1], exact.direction[1])
    freedom = min(each.cell.freedom for each in drawn)
    return replace(found, low=low, high=high_, p_value=p, direction=direction, freedom=freedom)


def _limits(
    test: Mapping[str, Any], runs: Runs, drawn: Sequence[net.Drawn]
) -> tuple[float | None, float | None, float | None, tuple[float, float] | None]:
    """(low, high, p-value, interval of the direction) of an estimand from draws of its cells."""
    kind, no_effect = test["estimand"], test.get("no_effect")
    values = [each.values for each in drawn]
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind == "share":
            statistic = _over(values[0], test, runs)
        elif kind == "ratio":
            statistic = values[0] / values[1]
        elif kind == "ratio_of_ratios":
            statistic = values[0] / values[1] / (values[2] / values[3])
        else:
            return _extreme_limits(kind, values, [each.cell.median for each in drawn], no_effect)
    p = None if no_effect is None else propagation.p_value(statistic, no_effect)
    return (*(propagation.interval(statistic) or (None, None)), p, None)


def _extreme_limits(kind: str, values: Sequence[np.ndarray], medians: Sequence[float], no_effect: float | None):
    """The same of the largest or smallest of several ratios, by the rule of `_extreme`."""
    pick: Callable = max if kind == "maximum_ratio" else min
    if kind == "maximum_ratio":
        ratios = [values[i] / values[i + 1] for i in range(0, len(values), 2)]
        best = int(np.argmax([medians[i] / medians[i + 1] for i in range(0, len(medians), 2)]))
        tested, times = ratios[best], len(ratios)
    else:
        ratios = [after / before for after, before in zip(values[1:], values, strict=False)]
        tested, times = values[-1] / values[0], 1
    p = None if no_effect is None else min(1.0, times * propagation.p_value(tested, no_effect))
    found = [propagation.interval(ratio, 1 - 0.05 / len(ratios)) for ratio in ratios]
    if not all(found):
        return None, None, None, None
    lows, highs = zip(*found, strict=True)
    return pick(lows), pick(highs), p, propagation.interval(tested) if kind == "trend" else None


def _over(values: np.ndarray, test: Mapping[str, Any], runs: Runs) -> np.ndarray:
    """Values as shares of what a test says."""
    over = test["over"]
    divisor = over.get("constant", 0) or gbit_per_s(over["link_of"]) * MB_PER_GBIT * over.get("links", 1)
    return values / divisor * (runs.k if over.get("times_k") else 1)


def _without_runs(runs: Runs, cells: Sequence[tuple[str, Mapping]], samples: Sequence[Sample]) -> list[str]:
    """Of each cell without a value, why: it was tried in vain, or its experiment belongs to other efforts."""
    told = []
    for (experiment, _), sample in zip(cells, samples, strict=True):
        if len(sample.values):
            continue
        efforts = runs.paper.experiments[experiment].get("efforts", ())
        if efforts and runs.efforts and not runs.efforts & set(efforts):
            what = f"no run of {sample.name.strip()}: that experiment is made at effort {' and '.join(efforts)} only"
        else:
            what = f"no valid run of {sample.name.strip()}"
        told.append(what)
    return told


def untold(runs: Runs, experiment: str, levels: Mapping[str, Any], metric: str) -> str:
    """Why the runs of a cell do not tell a metric, though they have values for it; empty if they do."""
    where = cell_name(experiment, levels)
    for rule in (_hidden_by_floor, _one_after_another, _short_of_processors):
        if why := rule(runs, experiment, levels, metric):
            return f"{where}: {why}"
    return ""


def _hidden_by_floor(runs: Runs, experiment: str, levels: Mapping[str, Any], metric: str) -> str:
    """The jobs take hardly more than their floor, so that what is left cannot be told."""
    if metric not in NET:
        return ""
    left, floor = (runs.as_measured(experiment, levels, name) for name in NET[metric])
    if not len(left) or not len(floor):
        return ""
    if lost := int(np.sum(~np.isfinite(left))):
        return f"{lost} of {len(left)} runs took no longer than their floor, so they have no net time; {MORE_BYTES}"
    beyond, least = float(np.median(left)), float(np.median(floor))
    if NET[metric] is not WHOLE:
        least -= beyond
    if beyond >= NET_SHARE * least:
        return ""
    return f"only {beyond:.1f} s beyond the floor of {least:.1f} s, too little to tell; {MORE_BYTES}"


def _one_after_another(runs: Runs, experiment: str, levels: Mapping[str, Any], metric: str) -> str:
    """The tasks of TestDFSIO hardly met, so that each had the shared drives to itself."""
    operation, _, rate = metric.partition("_")
    if operation not in ("write", "read") or rate not in RATES:
        return ""
    tasks = runs.paper.parameters(experiment, levels).get("maps", 1)
    met = _typical(runs, experiment, levels, f"{operation}_tasks_at_once")
    if tasks > 1 and met < AT_ONCE_SHARE * tasks:
        return f"of {tasks} tasks only {met:.1f} {operation} at once, so each has more of what they share; {MORE_BYTES}"
    return ""


def _short_of_processors(runs: Runs, experiment: str, levels: Mapping[str, Any], metric: str) -> str:
    """While the tasks of TestDFSIO wrote or read the processors, not what they share, may have set the rate."""
    operation, _, rate = metric.partition("_")
    if operation not in ("write", "read") or rate not in (*RATES, "rate_while_busy"):
        return ""
    if runs.paper.experiments[experiment].get("cpu") == "report":  # there it is the point
        return ""
    short = _typical(runs, experiment, levels, f"{operation}_short_while_busy")
    if not short > SHORT_SHARE:
        return ""
    did = {"write": "wrote", "read": "read"}[operation]
    return f"the processors were short in {short:.0%} of the time in which tasks {did}; a larger k is needed"


def _typical(runs: Runs, experiment: str, levels: Mapping[str, Any], metric: str) -> float:
    """Median over those of a cell's runs that tell a metric, as measured; NaN if none does."""
    values = runs.as_measured(experiment, levels, metric)
    values = values[np.isfinite(values)]
    return float(np.median(values)) if len(values) else math.nan


def _metrics(test: Mapping[str, Any]) -> list[str]:
    """The metric of each cell in a test."""
    if test["estimand"] == "ratio":
        return [test[side].get("metric", test["metric"]) for side in ("numerator", "denominator")]
    return [test["metric"]] * len(cells_in(test))


def _samples(test: Mapping[str, Any], runs: Runs) -> list[Sample]:
    return [
        runs.sample(experiment, levels, name)
        for (experiment, levels), name in zip(cells_in(test), _metrics(test), strict=True)
    ]


def _interval(
    samples: Sequence[Sample], statistic: Callable[..., np.ndarray], seed: int
) -> tuple[float, float, float | None, float | None]:
    """Point estimate of a vectorised statistic, and its bootstrap interval where one exists."""
    arrays = [s.values for s in samples]
    with np.errstate(divide="ignore", invalid="ignore"):
        point = float(np.ravel(statistic(*(a[None, :] for a in arrays), axis=-1))[0])
        found = statistics.bootstrap_interval(arrays, statistic, seed)
    return (point, *(found or (None, None)))


def _few_runs(point: float, samples: list[Sample], n: int, invalid: int, unit: str, values: Sequence[np.ndarray],
              no_effect: float | None = None) -> Evidence:  # fmt: skip
    """Evidence from products and quotients of medians with too few runs of their own; `values` in the point's unit."""
    counts, spreads = [len(s.values) for s in samples], [s.spread for s in samples]
    freedom = min(s.freedom for s in samples)
    found = statistics.pooled_interval(point, counts, spreads, freedom)
    if found is None:
        return Evidence("runs", point, None, None, n, invalid, unit, samples=values)
    p = None if no_effect is None else statistics.pooled_p(point, counts, spreads, freedom, no_effect)
    return Evidence("runs", point, *found, n, invalid, unit, p, samples=values, freedom=freedom)


def _ratio(test: Mapping[str, Any], samples: list[Sample], n: int, invalid: int, runs: Runs) -> Evidence:
    point, low, high = _interval(samples, statistics.ratio_of_medians, runs.seed)
    values, no_effect = [s.values for s in samples], test.get("no_effect")
    if low is None:
        return _few_runs(point, samples, n, invalid, "1", values, no_effect)
    p = None if no_effect is None else statistics.permutation_p(*values, no_effect, runs.seed)
    return Evidence("runs", point, low, high, n, invalid, "1", p, samples=values)


def _share(test: Mapping[str, Any], samples: list[Sample], n: int, invalid: int, runs: Runs) -> Evidence:
    over = test["over"]
    values = _over(samples[0].values, test, runs)
    low, high = statistics.median_interval(values) or (None, None)
    unit = "1" if "link_of" in over else over.get("unit", "1")
    point, no_effect = float(np.median(values)), test.get("no_effect")
    if low is None:
        return _few_runs(point, samples, n, invalid, unit, [values], no_effect)
    p = None if no_effect is None else statistics.sign_flip_p(values, no_effect)
    return Evidence("runs", point, low, high, n, invalid, unit, p, samples=[values])


def _ratio_of_ratios(test: Mapping[str, Any], samples: list[Sample], n: int, invalid: int, runs: Runs) -> Evidence:
    def statistic(a, b, c, d, axis=-1):
        return statistics.ratio_of_medians(a, b, axis) / statistics.ratio_of_medians(c, d, axis)

    point, low, high = _interval(samples, statistic, runs.seed)
    values = [s.values for s in samples]
    no_effect = test.get("no_effect")
    if low is None:
        return _few_runs(point, samples, n, invalid, "1", values, no_effect)
    p, freedom = None, min(s.freedom for s in samples)
    if no_effect is not None:
        p = statistics.pooled_p(point, [len(v) for v in values], [s.spread for s in samples], freedom, no_effect)
    return Evidence("runs", point, low, high, n, invalid, "1", p, samples=values)


def _extreme(pairs: Sequence[tuple[Sample, Sample]], pick: Callable, seed: int) -> tuple[float, ...]:
    """The largest or smallest (`pick`) of several ratios of medians, and its interval where all have one.

    The interval lies between the extremes of the ratios' own limits, each at 1 - 0.05 / number of ratios: a bootstrap
    of the extreme itself would take the luck of the luckiest pair for evidence.
    """
    point = float(pick([np.median(a.values) / np.median(b.values) for a, b in pairs]))
    found = [_ratio_limits(a, b, seed, 1 - 0.05 / len(pairs)) for a, b in pairs]
    if not all(found):
        return point, None, None
    lows, highs = zip(*found, strict=True)
    return point, float(pick(lows)), float(pick(highs))


def _ratio_limits(a: Sample, b: Sample, seed: int, confidence: float) -> tuple[float, float] | None:
    """Interval of a ratio of medians: from the cells' own runs, or with few of them from the pooled scatter."""
    if found := statistics.ratio_interval(a.values, b.values, seed, confidence):
        return found
    counts, spreads = [len(each.values) for each in (a, b)], [each.spread for each in (a, b)]
    point = float(np.median(a.values) / np.median(b.values))
    return statistics.pooled_interval(point, counts, spreads, min(a.freedom, b.freedom), confidence)


def _maximum_ratio(test: Mapping[str, Any], samples: list[Sample], n: int, invalid: int, runs: Runs) -> Evidence:
    pairs = list(zip(samples[::2], samples[1::2], strict=True))
    best = max(pairs, key=lambda pair: np.median(pair[0].values) / np.median(pair[1].values))
    values, p = [each.values for each in best], None
    if test.get("no_effect") is not None:
        p = statistics.permutation_p(*values, test["no_effect"], runs.seed)
        p = None if p is None else min(1.0, p * len(test["cells"]))
    return Evidence("runs", *_extreme(pairs, max, runs.seed), n, invalid, "1", p, samples=values)


def _trend(test: Mapping[str, Any], samples: list[Sample], n: int, invalid: int, runs: Runs) -> Evidence:
    values = [s.values for s in samples]
    ends = values[-1], values[0]
    p = None
    if test.get("no_effect") is not None:
        p = statistics.permutation_p(*ends, test["no_effect"], runs.seed)
    steps = list(zip(samples[1:], samples, strict=False))
    overall = _ratio_limits(samples[-1], samples[0], runs.seed, 0.95)
    return Evidence("runs", *_extreme(steps, min, runs.seed), n, invalid, "1", p, overall, values)


def _curve_fit(test: Mapping[str, Any], samples: list[Sample], n: int, invalid: int, runs: Runs) -> Evidence:
    levels = np.array(test["levels"], dtype=float)
    x = np.repeat(levels, [len(s.values) for s in samples])

    def statistic(*arrays, axis=-1):
        return aic_difference(x, np.concatenate(arrays, axis=axis))

    point, low, high = _interval(samples, statistic, runs.seed)
    return Evidence("runs", point, low, high, n, invalid, "AIC difference")


def aic_difference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """AIC of y = a + b x less AIC of y = a exp(b x), least squares, for each row of `y` (rows, points).

    Above 0 the exponential fits better. Unit 1; both curves have two parameters, so only the residuals count.
    """
    y = np.atleast_2d(y)
    centred = x - x.mean()
    slope = (y @ centred) / (centred @ centred)
    residual = y - y.mean(axis=1, keepdims=True) - slope[:, None] * centred
    linear = (residual**2).sum(axis=1)
    curves = np.exp(CURVATURES[:, None] * ((x - x.min()) / np.ptp(x) - 1)[None, :])
    squares = (y**2).sum(axis=1)
    explained = (y @ curves.T) ** 2 / (curves**2).sum(axis=1)[None, :]
    exponential = squares - explained.max(axis=1)
    floor = 1e-12 * squares
    return len(x) * np.log(np.maximum(linear, floor) / np.maximum(exponential, floor))


def _count(test: Mapping[str, Any], runs: Runs) -> Evidence:
    cells = [(c["experiment"], c["where"]) for c in test["cells"]]
    samples = [runs.sample(*cell, test["metric"]) for cell in cells]
    values = np.concatenate([s.values for s in samples])
    invalid = sum(s.n_invalid for s in samples)
    if none := _without_runs(runs, cells, samples):
        return Evidence("census", n_invalid=invalid, missing="; ".join(none))
    pick = {"minimum": np.min, "maximum": np.max}[test["statistic"]]
    return Evidence("census", float(pick(values)), None, None, len(values), invalid, "1")
