"""Controls: runs whose right answer is known, and what they say about the verdicts beside them.

A control runs a cell under its own name and in its own shape on another network or store. Compared with the cell that
it really is, nothing differs but the name, so the ratio should be 1 (A/A). On a link of a known share of the rate,
where the link sets the time, the ratio to the cell whose name it bears should be that share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from whitewire import estimands, statistics
from whitewire.analysis.claims import SIGNIFICANT
from whitewire.analysis.runs import Runs
from whitewire.description.paper import Paper, ratio_of
from whitewire.estimands.evidence import Evidence
from whitewire.levels import cell_name, text
from whitewire.text import numbers

HELD, FAILED, OPEN = "held", "failed", "open"
TELLS = 0.25
"""Largest half-width of an interval, as a share, that could show a fault worth the name."""
COLUMNS = [
    *("paper", "control", "title", "kind", "metric", "cell", "really", "against", "n", "n_against", "estimate"),
    *("low", "high", "expected", "t", "p_value", "p_holm", "outcome", "reason", "claims"),
]


@dataclass(frozen=True)
class Control:
    """One metric of one control, judged. `row` is its line of analysis/controls.csv."""

    spec: Mapping[str, Any]
    row: Mapping[str, Any]

    @property
    def failed(self) -> bool:
        return self.row["outcome"] == FAILED

    @property
    def said(self) -> str:
        """A failure in words, for a verdict."""
        return f"the control {self.row['control']} failed: {self.row['reason']}"


def judge(paper: Paper, runs: Runs) -> list[Control]:
    """Every control of a paper on every metric that it names.

    It failed when the ratio differs from the right one by more than chance explains, after Holm's correction over the
    paper's controls. It is open without enough runs, or where the interval is too wide to show a fault.
    """
    found = [(control, metric, _measured(control, metric, runs, paper)) for control in paper.controls
             for metric in (control["metric"], *control.get("also", ()))]  # fmt: skip
    adjusted = statistics.holm([runs.overall(row["p_value"]) for *_, row in found])
    judged = []
    for (control, metric, row), p in zip(found, adjusted, strict=True):
        covered = [c["id"] for c in paper.claims if covers(paper, control, metric, c["test"])]
        outcome, reason = _outcome(row, p)
        row |= {"p_holm": p, "outcome": outcome, "reason": reason, "claims": " ".join(covered)}
        judged.append(Control(control, row))
    return judged


def table(judged: Sequence[Control]) -> pd.DataFrame:
    """analysis/controls.csv."""
    frame = pd.DataFrame([control.row for control in judged], columns=COLUMNS)
    for column in ("n", "n_against"):
        frame[column] = frame[column].astype("Int64")
    return frame


def of(paper: Paper, judged: Sequence[Control], test: Mapping[str, Any]) -> list[Control]:
    """The controls that cover a test."""
    return [control for control in judged if covers(paper, control.spec, control.row["metric"], test)]


def covers(paper: Paper, control: Mapping[str, Any], metric: str, test: Mapping[str, Any]) -> bool:
    """Whether a control says something of a test, since what makes the one wrong makes the other wrong.

    A/A: the test compares the same two networks or stores with the same workload. Known ratio: it rests on cells of the
    same experiment. Both only for the metrics that these cells are asked for, where the control tells one of them.
    """
    told = {control["metric"], *control.get("also", ())}
    of_cells = zip(estimands.of(test).cells(), estimands.of(test).metrics(), strict=True)
    asked = {own for (name, _), own in of_cells if "expected" not in control or name == control["cell"]["experiment"]}
    if not asked or (asked & told and metric not in asked):
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
        for one, two in estimands.of(test).pairs()
    )


def _places(paper: Paper, cell: tuple[str, Mapping[str, Any]], changed: Mapping[str, Any]) -> tuple[str, ...]:
    """The networks and stores of a cell, of the factors that a control changes."""
    name, levels = cell
    parameters = paper.parameters(name, levels)
    return tuple(text(parameters.get(factor, levels.get(factor))) for factor in sorted(changed))


def _measured(control: Mapping[str, Any], metric: str, runs: Runs, paper: Paper) -> dict[str, Any]:
    test = ratio_of(control) | {"metric": metric}
    ratio = estimands.of(test)
    evidence, cells = ratio.evaluate(runs, paper), ratio.cells()
    counts = [len(runs.sample(*cell, metric).values) for cell in cells]
    where, expected = control["cell"]["where"], test["expected"]
    return {
        "paper": paper.id,
        "control": control["id"],
        "title": control["title"],
        "kind": "known ratio" if "expected" in control else "A/A",
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
        "t": _distance(evidence.estimate, evidence.low, evidence.high, expected, runs.confidence()),
        "p_value": _p(control, test, evidence, runs, paper),
        "missing": runs.why_missing(test) or evidence.missing,
    }


def _distance(
    estimate: float | None, low: float | None, high: float | None, expected: float, confidence: float
) -> float | None:
    """How many standard errors an estimate lies from the right value, by its interval, in logarithms."""
    if estimate is None or low is None or high is None or not (0 < low < high and estimate > 0):
        return None
    return math.log(estimate / expected) / (math.log(high / low) / (2 * statistics.normal(confidence)))


def _p(control: Mapping[str, Any], test: Mapping[str, Any], evidence: Evidence, runs: Runs, paper: Paper
       ) -> float | None:  # fmt: skip
    """p-value of the right ratio, or of the nearer end of what is still right."""
    relative = control.get("relative", 0.0)
    if not relative or evidence.p_value is None or evidence.estimate is None:
        return evidence.p_value
    low, high = test["expected"] * (1 - relative), test["expected"] * (1 + relative)
    if low <= evidence.estimate <= high:
        return 1.0
    nearer = {**test, "no_effect": low if evidence.estimate < low else high}
    return estimands.of(nearer).evaluate(runs, paper).p_value


def _outcome(row: dict[str, Any], p: float | None) -> tuple[str, str]:
    missing = row.pop("missing")
    if row["estimate"] is None or not np.isfinite(row["estimate"]):
        return OPEN, f"no control possible: {missing}" if missing else "no control possible: it has no runs"
    seen, right = numbers([row["estimate"], row["expected"]], 3)
    if p is None or row["low"] is None:
        return OPEN, f"{seen} where {right} is right: too few runs for an interval"
    if p < SIGNIFICANT:
        return FAILED, f"{seen} where {right} is right"
    if not row["low"] > 0 or math.log(row["high"] / row["low"]) / 2 > math.log1p(TELLS):
        return OPEN, f"{seen} where {right} is right: the interval is too wide to show a fault"
    return HELD, f"{seen} where {right} is right"
