"""Controls: runs whose right answer is known, and what they say about the verdicts beside them.

A control runs a cell under its own name and in its own shape on another network or store. Compared with the cell that
it really is, nothing differs but the name, so the ratio should be 1 (A/A). On a link of a known share of the rate,
where the link sets the time, the ratio to the cell whose name it bears should be that share.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy

from whitewire import statistics
from whitewire.analysis.runs import Runs
from whitewire.description.paper import Paper, ratio_of
from whitewire.estimands import estimand_of
from whitewire.estimands.evidence import Evidence
from whitewire.levels import cell_name, level_text
from whitewire.rule import ALPHA
from whitewire.text import numbers

HELD, _FAILED, OPEN = "held", "failed", "open"
_AGREES = 0.10
"""A control held if its whole interval lies within this share of the right ratio."""
_POWER = 0.8
"""Chance with which the smallest reported fault would be found."""
AA, KNOWN, POOLED = "A/A", "known ratio", "pooled"
_COLUMNS = [
    *("paper", "control", "title", "kind", "metric", "cell", "really", "against", "n", "n_against", "estimate"),
    *("low", "high", "expected", "t", "smallest_fault", "p_value", "p_holm", "outcome", "reason", "claims"),
]


@dataclass(frozen=True)
class Control:
    """The judgement of one metric of one control. `row` is its line of analysis/controls.csv."""

    spec: Mapping[str, Any]
    row: Mapping[str, Any]

    @property
    def failed(self) -> bool:
        return self.row["outcome"] == _FAILED

    @property
    def said(self) -> str:
        """A failure in words, for a verdict."""
        name = self.row["control"]
        what = "all A/A controls of the paper together" if name == POOLED else f"the control {name}"
        return f"{what} failed: {self.row['reason']}"


def judge(paper: Paper, runs: Runs) -> list[Control]:
    """Every control of a paper on every metric that it names, and all A/A controls together.

    A control failed if its ratio differs from the right one by more than chance explains, after Holm's correction over
    the paper's controls. It held if its interval lies within _AGREES of the right ratio. Otherwise it is open.
    """
    found = [(control, metric, _measured(control, metric, runs, paper)) for control in paper.controls
             for metric in metrics(control)]  # fmt: skip
    alike = [row for control, metric, row in found if row["kind"] == AA and metric == control["metric"]]
    if pooled := _pooled(paper, alike, runs):
        found.append(({"id": POOLED}, "", pooled))
    adjusted = statistics.holm([runs.overall(row["p_value"], min(row["n"], row["n_against"])) for *_, row in found])
    judged = []
    for (control, metric, row), p in zip(found, adjusted, strict=True):
        covered = [c["id"] for c in paper.claims if _covers(paper, control, metric, c["test"])]
        outcome, reason = _outcome(row, p)
        row |= {"p_holm": p, "outcome": outcome, "reason": reason, "claims": " ".join(covered)}
        judged.append(Control(control, row))
    return judged


def metrics(control: Mapping[str, Any]) -> list[str]:
    """Metrics of a control, the one that the pooled test takes first."""
    return [control["metric"], *control.get("also", ())]


def _covers(paper: Paper, control: Mapping[str, Any], metric: str, test: Mapping[str, Any]) -> bool:
    """Whether some control, or the pooled one, covers a test."""
    if control["id"] != POOLED:
        return covers(paper, control, metric, test)
    return any("expected" not in each and covers(paper, each, each["metric"], test) for each in paper.controls)


def _pooled(paper: Paper, rows: Sequence[Mapping[str, Any]], runs: Runs) -> dict[str, Any] | None:
    """One test of "a name changes nothing" over a paper's A/A controls, each on its first metric.

    A chi-square test on the squared distances from 1, as standard normal values, finds faults in either direction. None
    with fewer than two controls. A p-value that underflowed to 0 counts as the smallest normal number: 37.5 standard
    errors, which alone fails the test however many controls there are, and leaves the statistic finite.
    """
    known = [row for row in rows if row["p_value"] is not None and row["t"] is not None]
    if len(known) < 2:
        return None
    squares = [scipy.stats.norm.isf(max(row["p_value"], sys.float_info.min) / 2) ** 2 for row in known]
    errors = np.array([row["error"] for row in known])
    weights = errors**-2
    mean = sum(math.log(row["estimate"]) * weight for row, weight in zip(known, weights, strict=True)) / weights.sum()
    half = statistics.normal(0.95) / math.sqrt(weights.sum())
    n = [min(row[key] for row in known) for key in ("n", "n_against")]
    return {
        "paper": paper.id, "control": POOLED, "title": "A name changes nothing", "kind": POOLED, "metric": "",
        "cell": f"{len(known)} A/A controls", "really": "", "against": "", "n": n[0], "n_against": n[1],
        "estimate": math.exp(mean), "low": math.exp(mean - half), "high": math.exp(mean + half), "expected": 1.0,
        "t": mean * math.sqrt(weights.sum()), "smallest_fault": _smallest(len(known), 1 / math.sqrt(weights.sum())),
        "p_value": float(scipy.stats.chi2.sf(sum(squares), len(known))), "missing": "",
    }  # fmt: skip


def _smallest(ratios: int, error: float) -> float:
    """Smallest fault, as a ratio above 1 in all of `ratios` ratios, that their test at 5 % finds with probability
    _POWER.

    `error` is the standard error of their mean logarithm.
    """
    bound = scipy.stats.chi2.isf(ALPHA, ratios)
    needed = scipy.optimize.brentq(lambda shift: scipy.stats.ncx2.sf(bound, ratios, shift) - _POWER, 1e-3, 1e3)
    return math.exp(min(math.sqrt(needed) * error, 700.0))


def controls_table(judged: Sequence[Control]) -> pd.DataFrame:
    """analysis/controls.csv."""
    frame = pd.DataFrame([control.row for control in judged], columns=_COLUMNS)
    for column in ("n", "n_against"):
        frame[column] = frame[column].astype("Int64")
    return frame


def controls_of_test(paper: Paper, judged: Sequence[Control], test: Mapping[str, Any]) -> list[Control]:
    """The controls that cover a test."""
    return [control for control in judged if _covers(paper, control.spec, control.row["metric"], test)]


def ids(judged: Sequence[Control]) -> str:
    """Ids of controls, separated by spaces."""
    return " ".join(dict.fromkeys(control.row["control"] for control in judged))


def covers(paper: Paper, control: Mapping[str, Any], metric: str, test: Mapping[str, Any]) -> bool:
    """Whether a control covers a test: a fault of one would be a fault of the other.

    A/A: the test compares the same two networks or stores with the same workload. Known ratio: the test rests on cells
    of the same experiment. If the control has one of the metrics that the test takes from these cells, only those
    metrics count.
    """
    own_metrics = set(metrics(control))
    of_cells = zip(estimand_of(test).cells(), estimand_of(test).metrics(), strict=True)
    asked = {own for (name, _), own in of_cells if "expected" not in control or name == control["cell"]["experiment"]}
    if not asked or (asked & own_metrics and metric not in asked):
        return False
    cell, really = control["cell"], control["really"]
    if "expected" in control:
        return True
    workload = paper.experiments[cell["experiment"]]["workload"]
    of_cell = [dict(cell["where"]), {**cell["where"], **really}]
    named, other = (_places(paper, (cell["experiment"], levels), really) for levels in of_cell)
    return any(
        paper.experiments[one[0]]["workload"] == workload
        and {_places(paper, side, really) for side in (one, two)} == {named, other}
        for one, two in estimand_of(test).pairs()
    )


def _places(paper: Paper, cell: tuple[str, Mapping[str, Any]], changed: Mapping[str, Any]) -> tuple[str, ...]:
    """Networks and stores of a cell, for the factors that a control changes."""
    name, levels = cell
    parameters = paper.parameters(name, levels)
    return tuple(level_text(parameters.get(factor, levels.get(factor))) for factor in sorted(changed))


def _measured(control: Mapping[str, Any], metric: str, runs: Runs, paper: Paper) -> dict[str, Any]:
    test = ratio_of(control) | {"metric": metric}
    ratio = estimand_of(test)
    evidence, cells = ratio.evaluate(runs, paper), ratio.cells()
    counts = [len(runs.sample(*cell, metric).values) for cell in cells]
    where, expected = control["cell"]["where"], test["expected"]
    error = evidence.error if evidence.estimate and evidence.low is not None else None
    return {
        "paper": paper.id,
        "control": control["id"],
        "title": control["title"],
        "kind": KNOWN if "expected" in control else AA,
        "metric": metric,
        "cell": cell_name(control["cell"]["experiment"], where),
        "really": ", ".join(f"{factor} {level}" for factor, level in control["really"].items()),
        "against": cell_name(*cells[1]),
        "n": counts[0],
        "n_against": counts[1],
        "estimate": evidence.estimate,
        "low": evidence.low,
        "high": evidence.high,
        "expected": expected,
        "t": None if error is None or not error else math.log(evidence.estimate / expected) / error,
        "smallest_fault": None if error is None else _smallest(1, error),
        "p_value": _p(control, test, evidence, runs, paper),
        "error": error,
        "missing": runs.here.why_missing(test) or evidence.missing,
    }


def _p(control: Mapping[str, Any], test: Mapping[str, Any], evidence: Evidence, runs: Runs, paper: Paper
       ) -> float | None:  # fmt: skip
    """p-value of the right ratio or, with a tolerance, of its nearer end."""
    relative = control.get("relative", 0.0)
    if not relative or evidence.p_value is None or evidence.estimate is None:
        return evidence.p_value
    low, high = test["expected"] * (1 - relative), test["expected"] * (1 + relative)
    if low <= evidence.estimate <= high:
        return 1.0
    nearer = {**test, "no_effect": low if evidence.estimate < low else high}
    return estimand_of(nearer).evaluate(runs, paper).p_value


def _outcome(row: dict[str, Any], p: float | None) -> tuple[str, str]:
    missing = row.pop("missing")
    if row["estimate"] is None or not np.isfinite(row["estimate"]):
        return OPEN, f"no control possible: {missing}" if missing else "no control possible: it has no runs"
    seen, right = numbers([row["estimate"], row["expected"]], 3)
    if p is None or row["low"] is None:
        return OPEN, f"{seen} where {right} is right: too few runs for an interval"
    if p < ALPHA:
        return _FAILED, f"{seen} where {right} is right"
    if row["low"] < row["expected"] / (1 + _AGREES) or row["high"] > row["expected"] * (1 + _AGREES):
        return OPEN, f"{seen} where {right} is right: the interval does not exclude a fault of {_AGREES:.0%}"
    return HELD, f"{seen} where {right} is right"
