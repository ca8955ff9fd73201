"""Guards: why the runs of a cell do not tell a metric, though they have values for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from whitewire.estimands.evidence import MORE_BYTES
from whitewire.levels import cell_name
from whitewire.records.jobs import NET, WHOLE

if TYPE_CHECKING:
    from whitewire.analysis.runs import Runs

NET_SHARE = 0.2
"""Least time of a cell's jobs beyond their floor, as a share of it, that an estimate may rest on."""
RATES = ("throughput", "rate_mean", "aggregate", "node_bandwidth")
"""Of TestDFSIO's write and read: rates of several tasks that share drives and links."""
AT_ONCE_SHARE = 0.75
"""Least share of TestDFSIO's tasks that read or write at once, for a rate that is said of all of them together."""
SHORT_SHARE = 0.5
"""Largest share of the time of TestDFSIO's writing or reading in which the processors may be short, for its rates."""


def untold(runs: Runs, experiment: str, levels: Mapping[str, Any], metric: str) -> str:
    """Why the runs of a cell do not tell a metric, though they have values for it; empty if they do."""
    where = cell_name(experiment, levels)
    for rule in (_hidden_by_floor, _one_after_another, _short_of_processors):
        if why := rule(runs, experiment, levels, metric):
            return f"{where}: {why}"
    return ""


def _hidden_by_floor(runs: Runs, experiment: str, levels: Mapping[str, Any], metric: str) -> str:
    """The jobs take hardly more than their floor, so that too little is left to judge."""
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
