"""Metrics of runs: name, unit, scaling with k, startup overhead and meaning. Pure.

Each is declared once, in the module that computes it: those of all jobs in records/jobs.py, the others in their
workload's. `workloads.METRICS` has all of them. Tables, checks of claims and documents take them from there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

Found = dict[str, float]
"""Metric → value as measured."""
ScalesAs = Literal["rate", "time", "size", "none"]
"""Full-scale equivalent: rates × k, times ÷ data fraction, sizes × k ÷ data fraction; none for all others."""
Overhead = Literal["never", "of jobs", "always"]
"""Whether a value includes the startup overhead of jobs: never, in runs of jobs only, or always."""


@dataclass(frozen=True)
class Metric:
    """What a metric of a run is. Only those `in_claims` may be the metric of a claim or a control.

    `words`: its name in sentences, unless that is the name with spaces.
    """

    name: str
    unit: str
    meaning: str
    scaling: ScalesAs = "none"
    overhead: Overhead = "never"
    in_claims: bool = True
    words: str = ""

    def holds_overhead(self, jobs: bool) -> bool:
        """Whether a value includes a startup overhead, which does not scale. `jobs`: it is of a run of jobs."""
        return self.overhead == "always" or (self.overhead == "of jobs" and jobs)

    def full_scale(self, value: float, jobs: bool, k: float, data_fraction: float) -> float | None:
        """A measured value at full scale; None for one that has no equivalent. `jobs`: it is of a run of jobs."""
        factors = {"rate": k, "time": 1 / data_fraction, "size": k / data_fraction}
        scales = self.scaling in factors and not self.holds_overhead(jobs)
        return value * factors[self.scaling] if scales else None

    @classmethod
    def rate(cls, name: str, meaning: str, overhead: Overhead = "never", **more: Any) -> Metric:
        return cls(name, "MB/s", meaning, "rate", overhead, **more)

    @classmethod
    def time(cls, name: str, meaning: str, overhead: Overhead = "never", **more: Any) -> Metric:
        return cls(name, "s", meaning, "time", overhead, **more)

    @classmethod
    def size(cls, name: str, meaning: str, **more: Any) -> Metric:
        return cls(name, "B", meaning, "size", **more)

    @classmethod
    def number(cls, name: str, meaning: str, **more: Any) -> Metric:
        return cls(name, "1", meaning, **more)


def names_for_claims(*groups: Iterable[Metric]) -> tuple[str, ...]:
    """Names of those metrics of some groups that claims may use, each once."""
    return tuple(dict.fromkeys(metric.name for group in groups for metric in group if metric.in_claims))
