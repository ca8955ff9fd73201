"""Guards: why values of a metric in a cell are unusable, and what would help.

A workload says which metrics a guard covers, and by which it decides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from whitewire.description.paper import Paper
from whitewire.records.jobs import NET, WHOLE_RUN
from whitewire.workloads import workload_of
from whitewire.workloads.base import Workload

NET_SHARE = 0.2
"""Least time of a cell's jobs beyond their startup overhead, as a share of that overhead, for an estimate."""
LINK_SHARE = 0.95
"""Least net time as a share of what the busiest link needs for the bytes, for an estimate."""
AT_ONCE_SHARE = 0.75
"""Least share of a run's tasks that must read or write at once, for a rate of all of them together."""
SHORT_SHARE = 0.5
"""Largest share of the tasks' time in which the processors may be short, for the tasks' rates."""


@dataclass(frozen=True)
class Unusable:
    """Why a metric of a cell is unusable (`why`), and what would help, or that nothing does (`remedy`)."""

    why: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.why}; {self.remedy}"


class MeasuredCells(Protocol):
    """The protocol of runs that guards read; analysis.runs implements it."""

    paper: Paper

    def as_measured(self, experiment: str, levels: Mapping[str, Any], metric: str) -> np.ndarray:
        """Values of a cell's valid runs as they were measured, not at full scale."""

    def n_valid(self, experiment: str, levels: Mapping[str, Any]) -> int:
        """Number of a cell's valid runs."""

    def overheads_lacking(self, experiment: str, levels: Mapping[str, Any]) -> Mapping[str, str]:
        """Overheads of a cell's valid runs for which no overhead run was valid, with the reason of the last one."""

    def more_bytes(self, experiment: str, levels: Mapping[str, Any]) -> str:
        """Whether more bytes a run would help, in words."""

    def scaled(self, experiment: str, levels: Mapping[str, Any]) -> bool:
        """Whether a larger k could be had."""


def rejection_of_metric(
    runs: MeasuredCells, experiment: str, levels: Mapping[str, Any], metric: str
) -> Unusable | None:
    """The first guard that rejects a metric of a cell; None where all let it pass."""
    for rule in (
        _without_overhead,
        _hidden_by_overhead,
        _faster_than_links,
        reported_by_none,
        _one_after_another,
        _short_of_processors,
    ):
        if found := rule(runs, experiment, levels, metric):
            return found
    return None


def _without_overhead(runs: MeasuredCells, experiment: str, levels: Mapping[str, Any], metric: str) -> Unusable | None:
    """Rejects a net time if no overhead run of its kind was valid."""
    if metric not in NET or len(runs.as_measured(experiment, levels, metric)):
        return None
    for name, why in runs.overheads_lacking(experiment, levels).items():
        kind = name.split(" | ", 1)[0]
        said = f"no overhead run of {kind} was valid, so its runs have no net time (the last one: {why})"
        return Unusable(said, "measure this paper again on an idle machine")
    return None


def reported_by_none(runs: MeasuredCells, experiment: str, levels: Mapping[str, Any], metric: str) -> Unusable | None:
    """Rejects a metric that no valid run reports: only HiBench writes a report, for example."""
    if np.isfinite(runs.as_measured(experiment, levels, metric)).any():
        return None
    valid = runs.n_valid(experiment, levels)
    return Unusable(f"none of {valid} valid runs reports {metric}", "more of them would not") if valid else None


def _workload(
    runs: MeasuredCells, experiment: str, levels: Mapping[str, Any]
) -> tuple[Workload, Workload, dict[str, Any]]:
    """The workload of a cell, the one whose traffic it has, and its parameters."""
    parameters = runs.paper.parameters(experiment, levels)
    own = workload_of(runs.paper.experiments[experiment]["workload"])
    return own, own.stands_for(parameters), parameters


def _hidden_by_overhead(
    runs: MeasuredCells, experiment: str, levels: Mapping[str, Any], metric: str
) -> Unusable | None:
    """Rejects a net time that is hardly longer than the startup overhead, because too little is left to judge."""
    if metric not in NET:
        return None
    left, overhead = (runs.as_measured(experiment, levels, name) for name in NET[metric])
    if not len(left) or not len(overhead):
        return None
    remedy = runs.more_bytes(experiment, levels)
    if lost := int(np.sum(~np.isfinite(left))):
        said = f"{lost} of {len(left)} runs took no longer than their startup overhead, so they have no net time"
        return Unusable(said, remedy)
    beyond, least = float(np.median(left)), float(np.median(overhead))
    if NET[metric] is not WHOLE_RUN:
        least -= beyond
    if beyond >= NET_SHARE * least:
        return None
    return Unusable(f"only {beyond:.1f} s beyond the startup overhead of {least:.1f} s, too little to tell", remedy)


def _faster_than_links(runs: MeasuredCells, experiment: str, levels: Mapping[str, Any], metric: str
                       ) -> Unusable | None:  # fmt: skip
    """Rejects a net time that is shorter than the busiest link needs for the bytes.

    Tasks that have started move data while others still start, so that the startup overhead is no time of its own.
    """
    if NET.get(metric) is not WHOLE_RUN:
        return None
    net, least = (runs.as_measured(experiment, levels, name) for name in ("completion_time_net", "link_time"))
    if not np.isfinite(net).any() or not np.isfinite(least).any():
        return None
    seconds, needed = float(np.nanmedian(net)), float(np.nanmedian(least))
    if seconds >= LINK_SHARE * needed:
        return None
    said = f"{seconds:.1f} s beyond the startup overhead, and the busiest link needs {needed:.1f} s for the bytes, so "
    said += "tasks moved data while others started"
    return Unusable(said, runs.more_bytes(experiment, levels))


def _one_after_another(runs: MeasuredCells, experiment: str, levels: Mapping[str, Any], metric: str) -> Unusable | None:
    """Rejects a common rate of tasks that hardly overlapped, because each had the shared resource to itself."""
    own, native, parameters = _workload(runs, experiment, levels)
    together = native.together(metric)
    if together is None:
        return None
    tasks = own.files(parameters)
    met, at_best = (_typical(runs, experiment, levels, name) for name in (together.met, together.at_best))
    if tasks < 2 or not met < AT_ONCE_SHARE * tasks:
        return None
    why = f"of {tasks} tasks only {met:.1f} {together.did} at once, so each has more of what they share"
    if not at_best < AT_ONCE_SHARE * tasks:
        return Unusable(why, runs.more_bytes(experiment, levels))
    alone = ", as one beside the only copy of its data does" if _beside_its_data(together.did, parameters) else ""
    some = f"some end long before others{alone}"
    return Unusable(why, f"nothing helps here while {some}: begun together {at_best:.1f} would")


def _beside_its_data(did: str, parameters: Mapping[str, Any]) -> bool:
    return did == "read" and str(parameters.get("replication")) == "1"


def _short_of_processors(
    runs: MeasuredCells, experiment: str, levels: Mapping[str, Any], metric: str
) -> Unusable | None:
    """Rejects a rate of tasks if the processors, rather than the shared resource, may have limited it."""
    _, native, _ = _workload(runs, experiment, levels)
    shortage = native.short_while(metric)
    if shortage is None or runs.paper.experiments[experiment].get("cpu") == "report":  # there it is the point
        return None
    short = _typical(runs, experiment, levels, shortage.metric)
    if not short > SHORT_SHARE:
        return None
    remedy = "a larger k is needed" if runs.scaled(experiment, levels) else "with these processors nothing helps here"
    return Unusable(f"the processors were short in {short:.0%} of the time in which {shortage.when}", remedy)


def unchecked(runs: MeasuredCells, experiment: str, levels: Mapping[str, Any], metric: str) -> list[str]:
    """Metrics that guards need and no run of the cell has, so that these guards check nothing."""
    own, native, parameters = _workload(runs, experiment, levels)
    together, short = native.together(metric), native.short_while(metric)
    asked = [together.met] if together and own.files(parameters) > 1 else []
    if short and runs.paper.experiments[experiment].get("cpu") != "report":
        asked.append(short.metric)
    return [name for name in asked if math.isnan(_typical(runs, experiment, levels, name))]


def _typical(runs: MeasuredCells, experiment: str, levels: Mapping[str, Any], metric: str) -> float:
    """Median of a metric over a cell's runs that have it, as measured; NaN if none has."""
    values = runs.as_measured(experiment, levels, metric)
    values = values[np.isfinite(values)]
    return float(np.median(values)) if len(values) else math.nan
