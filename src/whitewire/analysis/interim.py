"""Interim analyses: which claims the runs so far decide, and which cells still need runs. Pure.

Intervals and p-values come from `Runs`, which knows the planned number of analyses. So a claim that is decided early is
wrong no more often than one that is judged once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from whitewire.analysis import claims, controls, judging, prospects
from whitewire.analysis.controls import controls_of_test
from whitewire.analysis.runs import Runs
from whitewire.description.paper import Paper, ratio_of
from whitewire.estimands import estimand_of
from whitewire.levels import Cell, CellId, cell_ids


@dataclass(frozen=True)
class Interim:
    """The result of an interim analysis.

    `decided`: verdicts of claims that need no further run because they have a verdict, because no number of runs here
    decides them, or because they rest on no run ("": that of a model is still to come). `open`: the reason for each
    other claim. `cells` (experiment, levels as canonical JSON): cells of open claims and of open controls that cover
    these; the design limits their runs. `near`: cells of claims that the design's runs may decide, by estimate and
    scatter so far. `place`: the turn of each of these cells, by its first claim: 0 for the headline, then by falling
    chance of a decision per second. `worth`: the largest of these chances.
    """

    decided: Mapping[str, str]
    open: Mapping[str, str]
    cells: frozenset[CellId]
    near: frozenset[CellId]
    place: Mapping[CellId, int] = field(default_factory=dict)
    worth: float = 0.0


def judge_interim(paper: Paper, runs: Runs, status: str, seconds: Callable[[Sequence[Cell]], float] = len,
                  only: str = "") -> Interim:  # fmt: skip
    """The interim analysis of a paper by its runs so far.

    `status` is `emulated` or `measured`; `seconds` gives the time of one run of each of some cells; `only`: the claim
    to which all further runs belong.
    """
    checked = controls.judge(paper, runs)
    decided, still, needed, near = {}, {}, list[Cell](), list[Cell]()
    most, in_turn = max(runs.analyses, default=0), list[tuple[bool, float, list[Cell]]]()
    for claim, row in zip(paper.claims, judging.claims_judged(paper, runs, status, checked), strict=True):
        if only and claim["id"] != only:
            continue
        cells = cells_of_test(runs, claim["test"])
        if row["open"] and cells is not None:
            still[claim["id"]] = row["reason"]
            own = list(cells)
            for control in controls_of_test(paper, checked, claim["test"]):
                # The pooled one has no cells but those of the A/A controls, which are in the list themselves.
                if control.row["outcome"] == controls.OPEN and control.row["kind"] != controls.POOLED:
                    cells += cells_of_test(runs, ratio_of(control.spec)) or []
            needed += cells
            if row["runs_needed"] is None or (row["n"] or 0) + row["runs_needed"] <= most:
                near += cells
                chance = prospects.chance(row, most)
                headline = claim["id"] == paper.raw.get("headline")
                in_turn.append((not headline, -(1.0 if chance is None else chance) / seconds(own), own))
        else:
            decided[claim["id"]] = row["verdict"]
    place: dict[CellId, int] = {}
    for number, (*_, own) in enumerate(sorted(in_turn, key=lambda each: each[:2])):
        for cell in sorted(cell_ids(own)):
            place.setdefault(cell, number)
    worth = max((-rate for _, rate, _ in in_turn), default=0.0)
    return Interim(decided, still, frozenset(cell_ids(needed)), frozenset(cell_ids(near)), place, worth)


def decided_after(paper: Paper, runs: Runs, status: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Claim → the analysis, in runs per cell, from which on a decided claim had its present verdict.

    Repeats each analysis with the runs that it had. Empty if there is only one analysis.
    """
    if len(runs.analyses) < 2:
        return {}
    last = {row["claim"]: row["verdict"] for row in rows if row.get("n") and row["verdict"] != claims.INCONCLUSIVE}
    most = {row["claim"]: row["n"] for row in rows if row["claim"] in last}
    after = dict(most)
    waiting = set(last)
    for n in sorted(runs.analyses, reverse=True):
        if not waiting:
            break
        then = runs.first(n)
        found = judging.claims_judged(paper, then, status, controls.judge(paper, then))
        waiting &= {row["claim"] for row in found if row["verdict"] == last.get(row["claim"])}
        after |= {claim: min(n, most[claim]) for claim in waiting}
    return after


def cells_of_test(runs: Runs, test: Mapping[str, Any]) -> list[Cell] | None:
    """Cells of a test with a level of every factor; None if effort or machine make no cell for one of its entries."""
    found = [runs.here.cells(*cell) for cell in estimand_of(test).needed()]
    return [cell for each in found for cell in each] if all(found) else None
