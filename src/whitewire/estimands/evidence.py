"""Samples that estimands use, and the evidence that they give."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from whitewire.propagation import Errors
from whitewire.statistics import FEWEST, alike


@dataclass(frozen=True)
class Sample:
    """Values of one metric in one cell: valid runs only, full-scale equivalent where the metric scales.

    `spread` is the scatter of a run relative to the centre, `freedom` its degrees of freedom. `overheads` are the
    errors of the startup overheads' medians, relative to the net time; `share` is that of the overhead in the time.
    `problem` says why overheads leave no interval. `lanes` are the errors of what lanes add, which was taken off.
    """

    values: np.ndarray
    n_invalid: int
    unit: str
    name: str
    spread: float = float("nan")
    freedom: float = 0
    metric: str = ""
    overheads: Errors = field(default_factory=dict)
    share: float = float("nan")
    problem: str = ""
    lanes: Errors = field(default_factory=dict)

    @property
    def centre(self) -> float:
        """Geometric mean of the runs; the arithmetic one where a value has no logarithm; of runs alike their value."""
        if not len(self.values):
            return math.nan
        if alike(self.values):
            return float(self.values[0])
        if self.values.min() <= 0:
            return float(np.mean(self.values))
        return float(np.exp(np.mean(np.log(self.values))))

    def errors(self, further: int = 0) -> Errors:
        """Errors of the centre by source, now or after `further` runs of the same scatter."""
        n = len(self.values) + further
        own = {("runs", self.name, self.metric): (self.spread / math.sqrt(n), self.freedom + further)}
        less = math.sqrt(len(self.values) / n)
        lanes = {source: (less * error, freedom + further) for source, (error, freedom) in self.lanes.items()}
        return {**own, **lanes, **self.overheads}


@dataclass(frozen=True)
class Evidence:
    """Evidence for or against a claim.

    `source` is `runs` (estimate with interval), `census` (a count over all runs), `paper` (arithmetic) or `model`. `n`
    is the number of valid runs of the cell that has fewest. `direction` is the interval that shows the sign, when it is
    not low..high. `again` makes the interval of so many runs a cell, if those to come scatter like these; it needs
    `fewest`. `error` is the standard error of the estimate's logarithm. `overheads` says that the interval holds the
    scatter of the jobs' startup overheads. `unbounded` is why there is no interval, `note` what else a reader of the
    reason must know. `least` is the interval that would be left with any number of runs, if more than the estimate, and
    `left_by` what leaves it; `overheads_to_come` says that overhead runs may still narrow it. `runs_help` is false
    where not runs are `missing`, and where the interval is `unbounded` however many there are.
    """

    source: str
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    n_invalid: int = 0
    unit: str = ""
    p_value: float | None = None
    direction: tuple[float, float] | None = None
    again: Callable[[int], tuple[float, float] | None] | None = None
    error: float | None = None
    fewest: int = FEWEST
    missing: str = ""
    overheads: bool = False
    unbounded: str = ""
    note: str = ""
    least: tuple[float, float] | None = None
    left_by: str = ""
    overheads_to_come: bool = False
    runs_help: bool = True
