"""Estimands of the medians of cells: their evidence is runs, and holds the scatter of the jobs' floors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from whitewire import propagation, statistics
from whitewire.estimands.base import Estimand, Problem, list_of
from whitewire.estimands.evidence import Evidence, Sample
from whitewire.records.jobs import NET

if TYPE_CHECKING:
    from whitewire.analysis.net import Drawn
    from whitewire.analysis.runs import Runs
    from whitewire.description.paper import Paper

Limits = tuple[float | None, float | None, float | None, tuple[float, float] | None]
"""(low, high, p-value, interval of the direction)."""
STATISTIC = {
    "statistic": {
        "description": "What is taken of a cell's runs: the median (default), or their arithmetic mean where the "
        "paper's number is one. Not of metrics that rest on a floor. Best and worst of n are not judged by: "
        "docs/use/verdict-rules.md.",
        "enum": ["median", "mean"],
    }
}
"""The key of estimands that may take another statistic than the median."""
ALSO = list_of(
    {"$ref": "#/$defs/metric"},
    "Further metrics: the same test on each is reported in analysis/readings.csv and does not judge.",
    uniqueItems=True,
    examples=[["throughput_sum"]],
)


class OfCells(Estimand):
    """An estimand of one metric in some cells."""

    with_floors: ClassVar[bool] = True
    """Whether its interval holds the scatter of floors, where its metric rests on them."""

    @property
    def of_means(self) -> bool:
        """Whether it takes the mean of a cell's runs in place of their median."""
        return self.test.get("statistic") == "mean"

    def problems(self, paper: Paper, fabrics: Collection[str]) -> Iterator[Problem]:
        for metric in [*self.metrics(), *self.test.get("also", [])] if self.of_means else []:
            if metric in (*NET, "job_floor"):
                expected = f"median for {metric}: the scatter of floors is known for medians only"
                yield ".statistic", self.test["statistic"], expected, ()

    @property
    def no_effect(self) -> float | None:
        return self.test.get("no_effect")

    @abstractmethod
    def exact(self, samples: Sequence[Sample], runs: Runs) -> Evidence:
        """Estimate, interval and p-value from at least one run of each cell, with floors taken for exact."""

    def of_medians(self, medians: Sequence[np.ndarray], runs: Runs) -> np.ndarray:
        """The estimand from draws of its cells' medians."""
        raise NotImplementedError

    def limits(self, drawn: Sequence[Drawn], runs: Runs) -> Limits:
        """Its interval and p-value from draws of its cells."""
        found = self.of_medians([each.values for each in drawn], runs)
        p = None if self.no_effect is None else propagation.p_value(found, self.no_effect)
        return (*(propagation.interval(found, runs.confidence()) or (None, None)), p, None)

    def evaluate(self, runs: Runs, paper: Paper) -> Evidence:
        cells, metrics = self.cells(), self.metrics()
        samples = [runs.sample(*cell, metric) for cell, metric in zip(cells, metrics, strict=True)]
        n, invalid = min(len(s.values) for s in samples), sum(s.n_invalid for s in samples)
        for cell, metric in zip(cells, metrics, strict=True):
            if why := runs.untold(*cell, metric):
                return Evidence("runs", n_invalid=invalid, missing=why, runs_help=False)
        if n == 0:
            return Evidence("runs", n_invalid=invalid, missing=runs.without(cells, samples)[0])
        exact = replace(self.exact(samples, runs), n=n, n_invalid=invalid)
        return self._with_floors(runs, exact) if self.with_floors else exact

    def _with_floors(self, runs: Runs, exact: Evidence) -> Evidence:
        """The same evidence with the floors' scatter in its interval and p-value; `exact` takes floors for exact.

        Where the floor is more than half of the time in some cell, the interval is no narrower than that of `exact`.
        """
        cells = [(*cell, metric) for cell, metric in zip(self.cells(), self.metrics(), strict=True)]
        if not any(runs.floor_weights(*cell) for cell in cells):
            return exact
        drawn = [runs.drawn(*cell) for cell in cells]
        high = {each.cell.name: each.cell.share for each in drawn if each.mostly_floor}
        note = "the floor is " + ", ".join(f"{share:.0%} of the time in {name}" for name, share in high.items())
        found = replace(
            exact, low=None, high=None, p_value=None, direction=None, floors=True, note=note if high else ""
        )
        if problem := next((each.problem for each in drawn if each.problem), ""):
            few = problem.startswith("too few")
            return replace(found, unbounded="" if few else problem, runs_help=few)
        worst, of_worst = max(zip(drawn, self.cells(), strict=True), key=lambda each: each[0].lost)
        if worst.lost > runs.alpha / 2:
            lost = (
                f"with the scatter of runs and floors {worst.lost:.0%} of the draws of {worst.cell.name} have no net "
                "time"
            )
            settled = [runs.drawn(*cell, settled=True).lost for cell in cells]
            said = f"{lost}; {runs.more_bytes(*of_worst)}"
            return replace(found, unbounded=said, runs_help=max(settled) <= runs.alpha / 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high_, p, direction = self.limits(drawn, runs)
        if low is None or high_ is None:
            return replace(found, unbounded="the interval is not finite")
        if high and exact.low is not None and exact.high is not None:
            low, high_ = min(low, exact.low), max(high_, exact.high)
            known = [each for each in (p, exact.p_value) if each is not None]
            p = max(known) if known else None
            if direction and exact.direction:
                direction = min(direction[0], exact.direction[0]), max(direction[1], exact.direction[1])
        freedom = min(each.cell.freedom for each in drawn)
        found = replace(found, low=low, high=high_, p_value=p, direction=direction, freedom=freedom)
        return self._with_least(runs, found)

    def _with_least(self, runs: Runs, found: Evidence) -> Evidence:
        """The same evidence with what the floors alone leave of its interval: more runs of a cell don't narrow that."""
        settled = [runs.drawn(*cell, metric, settled=True)
                   for cell, metric in zip(self.cells(), self.metrics(), strict=True)]  # fmt: skip
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high, *_ = self.limits(settled, runs)
        if low is None or high is None:
            low, high = 0.0, float("inf")
        said = dict.fromkeys(runs.more_bytes(*cell) for cell in self.cells())
        return replace(found, least=(low, high), left_by=f"the scatter of floors; {' and '.join(said)}")

    def few_runs(
        self, point: float, samples: Sequence[Sample], unit: str, values: Sequence[np.ndarray], runs: Runs,
        ours: Callable[[float], float | None] | None = None,
    ) -> Evidence:  # fmt: skip
        """Evidence from products and quotients of medians with too few runs of their own; `values` in `unit`.

        `ours` tests against a value of no effect where there is no scatter for Student's t.
        """
        counts, spreads, freedoms = _scatter(samples)
        found = statistics.student_interval(point, counts, spreads, freedoms, runs.confidence())
        if found is None:
            return Evidence("runs", point, unit=unit, samples=values)
        p = self.student_p(point, samples)
        if p is None and ours and self.no_effect is not None:
            p = ours(self.no_effect)
        return Evidence("runs", point, *found, unit=unit, p_value=p, samples=values, freedom=min(freedoms))

    def student_p(self, point: float, samples: Sequence[Sample]) -> float | None:
        """p-value of a product or quotient of medians by the shared scatter; None without a value of no effect."""
        return None if self.no_effect is None else statistics.student_p(point, *_scatter(samples), self.no_effect)

    def p(self, ours: Callable[[float], float | None], point: float, samples: Sequence[Sample], runs: Runs
          ) -> float | None:  # fmt: skip
        """p-value from the cells' own runs by `ours`, a test against a value of no effect; None without such a value.

        Where claims are looked at more than once it is Student's, if there is one: rearranging six and six runs tells
        no p-value below 0.002, too coarse for that and Holm's correction together.
        """
        if self.no_effect is None:
            return None
        by_scatter = self.student_p(point, samples) if len(runs.looks) > 1 else None
        return ours(self.no_effect) if by_scatter is None else by_scatter


def bootstrapped(
    samples: Sequence[Sample], statistic: Callable[..., np.ndarray], runs: Runs
) -> tuple[float, float | None, float | None]:
    """Point estimate of a vectorised statistic, and its bootstrap interval where one exists."""
    arrays = [s.values for s in samples]
    with np.errstate(divide="ignore", invalid="ignore"):
        point = float(np.ravel(statistic(*(a[None, :] for a in arrays), axis=-1))[0])
        found = statistics.bootstrap_interval(arrays, statistic, runs.seed, runs.confidence())
    return (point, *(found or (None, None)))


def ratio_limits(a: Sample, b: Sample, seed: int, confidence: float) -> tuple[float, float] | None:
    """Interval of a ratio of medians from the cells' own runs, or with few of them from a scatter that cells share."""
    if found := statistics.ratio_interval(a.values, b.values, seed, confidence):
        return found
    point = float(np.median(a.values) / np.median(b.values))
    return statistics.student_interval(point, *_scatter([a, b]), confidence)


def _scatter(samples: Sequence[Sample]) -> tuple[list[int], list[float], list[float]]:
    """Runs of each cell, their scatter, and its degrees of freedom."""
    return [len(s.values) for s in samples], [s.spread for s in samples], [s.freedom for s in samples]
