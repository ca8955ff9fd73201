"""Interim analyses: which claims the runs so far decide, and which cells still need runs. Pure.

Intervals and p-values are those of `Runs`, which knows how many analyses are planned: so a claim that is decided early
is wrong no more often than one that is judged once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pandas as pd

from whitewire.analysis import claims, controls, judging, prospects
from whitewire.analysis.controls import controls_of_test
from whitewire.analysis.runs import Runs, on_testbed, status_on
from whitewire.description.paper import Paper, ratio_of
from whitewire.estimands import estimand_of
from whitewire.levels import Cell, CellId, cell_ids


@dataclass(frozen=True)
class Interim:
    """The result of an interim analysis.

    `decided` are the verdicts of claims that need no further run: those that have one, those that no number of runs
    here decides, those that rest on none (of a model's there is no verdict yet: ""). `open` says of each other claim
    why. `cells` (experiment, levels as canonical JSON) are those on which an open claim rests, or an open control that
    covers it; the design says how many runs of them there may be. `near` are those of claims that so many may decide,
    by the estimate and the scatter so far: not those that would need more (an estimate beside its bound). `place` is
    the turn of each of these cells, that of its first claim: the headline's is 0, then the more likely a claim is
    decided per second the earlier. `worth` is the largest chance per second of these claims.
    """

    decided: Mapping[str, str]
    open: Mapping[str, str]
    cells: frozenset[CellId]
    near: frozenset[CellId]
    place: Mapping[CellId, int] = field(default_factory=dict)
    worth: float = 0.0


def at_tables(
    paper: Paper, testbed: Mapping[str, Any], effort: str, table: pd.DataFrame, overheads: pd.DataFrame | None = None,
    unavailable: Mapping[str, str] | None = None, seed: int = 1, only: str = "",
) -> Interim:  # fmt: skip
    """The interim analysis of tables so far, as runs.on_testbed takes them; of all claims, or of one `only`."""
    runs = on_testbed(paper, testbed, effort, table, overheads, unavailable, seed)
    return judge_interim(paper, runs, status_on(testbed), partial(prospects.seconds, paper, testbed, effort), only)


def judge_interim(paper: Paper, runs: Runs, status: str, seconds: Callable[[Sequence[Cell]], float] = len,
                  only: str = "") -> Interim:  # fmt: skip
    """The interim analysis of a paper by the runs so far. `status` is `emulated` or `measured`; `seconds` are those of
    a run of each of some cells; `only`: the claim for which alone there are runs to come."""
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
    """Of each decided claim that has runs, the analysis from which on it had the verdict of its row, in runs per cell.

    Each analysis is made again, with as many runs of each cell as there were. Nothing where there is but one.
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
    """The cells of a test that have a level of every factor; None where effort or machine make none of one."""
    found = [runs.here.cells(*cell) for cell in estimand_of(test).needed()]
    return [cell for each in found for cell in each] if all(found) else None
