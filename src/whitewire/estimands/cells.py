"""Estimands of the centres of cells: their evidence is runs, and holds the scatter of the jobs' startup overheads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from whitewire import propagation, statistics
from whitewire.estimands.base import Estimand, Problem, list_of
from whitewire.estimands.evidence import Evidence, Sample
from whitewire.estimands.protocols import PaperView, RunsView
from whitewire.propagation import Errors
from whitewire.records.jobs import NET
from whitewire.rule import ALPHA

MOSTLY_OVERHEAD = 0.5
"""Share of the startup overhead in the time above which a verdict says it."""
STATISTIC = {
    "statistic": {
        "description": "What is taken of a cell's runs: their geometric mean (default), or their arithmetic mean "
        "where the paper's number is one. Not of metrics that rest on a startup overhead. Best and worst of n "
        "are not judged by: docs/use/verdict-rules.md.",
        "enum": ["mean"],
    }
}
"""The key of estimands that may take another statistic than the geometric mean."""
ALSO = list_of(
    {"$ref": "#/$defs/metric"},
    "Further metrics: the same test on each is reported in analysis/readings.csv and does not judge.",
    uniqueItems=True,
    examples=[["throughput_sum"]],
)


@dataclass(frozen=True)
class Centre:
    """A cell, or a product and quotient of cells, and the errors of its logarithm."""

    point: float
    errors: Errors

    def interval(self, confidence: float) -> tuple[float, float] | None:
        return propagation.interval(self.point, self.errors, confidence)

    def p_value(self, no_effect: float | None) -> float | None:
        return None if no_effect is None else propagation.p_value(self.point, self.errors, no_effect)


@dataclass(frozen=True)
class Limits:
    """The result of an estimand: estimate, interval, interval of the direction if different, standard error of the
    estimate's logarithm if known."""

    estimate: float
    interval: tuple[float, float] | None
    p_value: float | None
    direction: tuple[float, float] | None = None
    error: float | None = None


Confidence = Callable[[int], float]
"""Function from the number of ratios, of which one is chosen, to the confidence of each one's interval."""
Centres = Sequence[Centre]
"""One centre per cell."""


class OfCells(Estimand):
    """An estimand of one metric in some cells."""

    @property
    def of_means(self) -> bool:
        """Whether it takes the arithmetic mean of a cell's runs in place of the geometric one."""
        return self.test.get("statistic") == "mean"

    def problems(self, paper: PaperView, fabrics: Collection[str]) -> Iterator[Problem]:
        for metric in [*self.metrics(), *self.test.get("also", [])] if self.of_means else []:
            if metric in (*NET, "job_floor"):
                why = "the scatter of startup overheads is known for geometric means only"
                yield ".statistic", self.test["statistic"], f"no statistic for {metric}: {why}", ()

    @property
    def no_effect(self) -> float | None:
        return self.test.get("no_effect")

    def scale(self) -> float:
        """Factor on the product of the cells."""
        return 1.0

    def limits(self, cells: Centres, confidence: Confidence) -> Limits:
        """Estimate, interval and p-value: by default of the product of its cells by their signs."""
        whole = product_of_cells(cells, self.signs, self.scale())
        error = propagation.standard_error(whole.errors)
        return Limits(whole.point, whole.interval(confidence(1)), whole.p_value(self.no_effect), error=error)

    def rearranged(self, samples: Sequence[Sample], runs: RunsView, no_effect: float) -> float | None:
        """p-value against no effect where the runs do not scatter at all; None where it has none."""
        return None

    def evaluate(self, runs: RunsView, paper: PaperView) -> Evidence:
        cells, metrics = self.cells(), self.metrics()
        samples = [runs.sample(*cell, metric) for cell, metric in zip(cells, metrics, strict=True)]
        n, invalid = min(len(s.values) for s in samples), sum(s.n_invalid for s in samples)
        for cell, metric in zip(cells, metrics, strict=True):
            if why := runs.why_unusable(*cell, metric):
                return Evidence("runs", n_invalid=invalid, missing=why, runs_help=False)
        if n == 0:
            return Evidence("runs", n_invalid=invalid, missing=runs.without(cells, samples)[0], fewest=self.fewest)
        found = replace(self.found(samples, runs), n=n, n_invalid=invalid, overheads=any(s.overheads for s in samples))
        high = {s.name: s.share for s in samples if s.share > MOSTLY_OVERHEAD}
        if high:
            shares = ", ".join(f"{share:.0%} of the time in {name}" for name, share in high.items())
            found = replace(found, note=f"the startup overhead is {shares}")
        return replace(found, unit=found.unit or self.unit() or "1")

    def found(self, samples: Sequence[Sample], runs: RunsView) -> Evidence:
        """Estimate, interval and p-value from at least one run of each cell."""
        n = min(len(s.values) for s in samples)

        def at(further: int) -> Limits:
            cells = [self._centre(sample, further) for sample in samples]
            with np.errstate(divide="ignore", invalid="ignore"):
                return self.limits(cells, lambda ratios: runs.confidence(n + further, ratios))

        def again(runs_of_each: int) -> tuple[float, float] | None:
            return at(runs_of_each - n).interval

        now = at(0)
        evidence = Evidence("runs", now.estimate, again=again, error=now.error, overheads_to_come=not runs.ended)
        if problem := next((s.problem for s in samples if s.problem), ""):
            return replace(evidence, unbounded=problem, runs_help=not runs.ended)
        if n < statistics.FEWEST or now.interval is None:
            return evidence
        p = now.p_value
        if p is None and self.no_effect is not None:
            p = self.rearranged(samples, runs, self.no_effect)
        low, high = now.interval
        evidence = replace(evidence, low=low, high=high, p_value=p, direction=now.direction)
        return self._with_least(evidence, samples, runs) if any(s.overheads for s in samples) else evidence

    def _centre(self, sample: Sample, further: int) -> Centre:
        return Centre(float(np.mean(sample.values)) if self.of_means else sample.centre, sample.errors(further))

    def _with_least(self, evidence: Evidence, samples: Sequence[Sample], runs: RunsView) -> Evidence:
        """The same evidence with the interval that overheads alone leave, which more runs of a cell don't narrow."""
        settled = [Centre(sample.centre, sample.overheads) for sample in samples]
        with np.errstate(divide="ignore", invalid="ignore"):
            left = self.limits(settled, lambda ratios: 1 - ALPHA / ratios).interval
        said = dict.fromkeys(runs.more_bytes(*cell) for cell in self.cells())
        words = f"the scatter of startup overheads; {' and '.join(said)}"
        return replace(evidence, least=left or (0.0, float("inf")), left_by=words)


def product_of_cells(cells: Centres, signs: Sequence[int], scale: float = 1.0) -> Centre:
    """The cells multiplied (1) or divided by (-1)."""
    point = scale * float(np.prod([np.float64(cell.point) ** sign for cell, sign in zip(cells, signs, strict=True)]))
    pairs = zip(signs, (cell.errors for cell in cells), strict=True)
    return Centre(point, propagation.product(pairs))


def ratio_limits(a: Sample, b: Sample, confidence: float = 0.95) -> tuple[float, float] | None:
    """Interval of the ratio of two samples of runs, also of one cell; None where one has too few runs or no error."""
    if min(len(a.values), len(b.values)) < statistics.FEWEST or a.problem or b.problem:
        return None
    apart = (replace(each, name=f"{side} {each.name}") for side, each in (("above", a), ("below", b)))
    cells = [Centre(each.centre, each.errors()) for each in apart]
    return product_of_cells(cells, (1, -1)).interval(confidence)


def extreme(ratios: Sequence[Centre], pick: Callable, confidence: Confidence
            ) -> tuple[float, tuple[float, float] | None]:  # fmt: skip
    """The largest or smallest of several ratios, and its interval, between the extremes of the ratios' own limits.

    Each limit is at the level of a claim over their number: an interval of the extreme itself would take the luck of
    the luckiest pair for evidence.
    """
    point = float(pick(ratio.point for ratio in ratios))
    found = [ratio.interval(confidence(len(ratios))) for ratio in ratios]
    known = [each for each in found if each]
    if len(known) < len(found):
        return point, None
    lows, highs = zip(*known, strict=True)
    return point, (float(pick(lows)), float(pick(highs)))
