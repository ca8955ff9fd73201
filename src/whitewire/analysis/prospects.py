"""What would decide an open claim: minutes to a verdict on this testbed, its chance, the command."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

import pandas as pd
import scipy

from whitewire import budget, statistics
from whitewire.analysis import claims
from whitewire.analysis.cells_here import CellsOfRuns
from whitewire.analysis.one_claim import why_not_made
from whitewire.analysis.runs import status_on
from whitewire.description.paper import Paper
from whitewire.design import durations
from whitewire.design.rows import cell_of, claimed_cells, compared_cells, counts, make_design, why_impossible
from whitewire.estimands import estimand_of
from whitewire.levels import Cell, CellId, cell_id, cell_ids
from whitewire.paths import MAKE_PAPERS, asked_testbed, start_command
from whitewire.records.run import DesignRow
from whitewire.text import canonical
from whitewire.workloads import workload_of

_START_S = 90.0
"""Seconds until a cluster makes its first run."""
OVERHEADS = 4
"""Startup overheads that are measured per kind of job."""
LEAST_H = 2
"""Least hours of the budget that a command proposes after an earlier budget has ended."""
_JOBS, _OTHERS = 0.10, 0.03
"""Usual scatter of a run's logarithm: with jobs, and without."""
USUAL = "if the paper's number is right and runs scatter as usual"
"""The assumption behind a chance that is given before there are runs."""


def longer(had: str) -> str:
    """The budget that a command names where this one has ended."""
    hours = LEAST_H
    while math.inf > budget.seconds_of(had) >= hours * 3600:
        hours *= 2
    return f"{hours}h"


def seconds(paper: Paper, testbed: Mapping[str, Any], effort: str, cells: Sequence[Cell]) -> float:
    """Expected seconds of one run of each of some cells."""
    return sum(durations.expected_seconds(paper, row, testbed) for row in _rows(paper, effort, cells))


def chance(row: Mapping[str, Any], runs: int, anew: bool = False) -> float | None:
    """Chance that an open claim is decided with `runs` runs of each cell, by its estimate and scatter so far.

    `row` comes from judging, with the `error` of the estimate's logarithm and the function `again` that gives the
    interval for a number of runs; `anew`: all runs are made again. None without such an interval, or without a bound.
    """
    bounds = [row[end] for end in ("expected_low", "expected_high") if _positive(row[end])]
    if not (bounds and _positive(row["estimate"]) and _positive(row.get("error")) and row.get("again")):
        return None
    if runs <= row["n"] and not anew:
        return 0.0
    low, high = row["again"](runs) or (0.0, math.inf)
    if not (_positive(low) and math.isfinite(high)):
        return None
    kept = row["n"] / runs
    spread = row["error"] * math.sqrt(1 + kept if anew else 1 - kept)
    # Its middle is the estimate's, but for the emulation's own error.
    return _clear(math.log(low * high) / 2, spread, math.log(high / low) / 2, bounds)


def chance_if_right(paper: Paper, test: Mapping[str, Any], runs: int) -> float | None:
    """Chance that `runs` runs of each cell decide a claim, if the paper's number is right and runs scatter as usual.

    None if the claim is no ratio of cells, or has no range around the paper's number.
    """
    estimand, target = estimand_of(test), claims.resolve(paper, test)
    bounds = [bound for bound in (target.lower, target.upper) if bound is not None and bound > 0]
    if target.relation != "within" or not estimand.signs or runs < statistics.FEWEST or not bounds:
        return None
    assert target.expected is not None, "a range has a middle"
    cells = [workload_of(paper.experiments[name]["workload"]).on_yarn for name, _ in estimand.cells()]
    spread = math.sqrt(sum((_JOBS if on_yarn else _OTHERS) ** 2 / runs for on_yarn in cells))
    half = float(scipy.stats.t.isf(0.025, len(cells) * (runs - 1))) * spread
    return _clear(math.log(target.expected), spread, half, bounds)


def _clear(mean: float, spread: float, half: float, bounds: Sequence[float]) -> float:
    """Chance that a normal estimate lies at least `half` from each bound, all in logarithms."""
    within: list[tuple[float, float]] = []
    for bound in sorted(map(math.log, bounds)):
        low = max(bound - half, within[-1][1] if within else -math.inf)
        within.append((low, bound + half))
    if not spread:
        return float(not any(low < mean < high for low, high in within))
    return 1 - sum(float(scipy.stats.norm.cdf((high - mean) / spread) - scipy.stats.norm.cdf((low - mean) / spread))
                   for low, high in within)  # fmt: skip


def outlook(paper: Paper, testbed: Mapping[str, Any], effort: str, claim: Mapping[str, Any], row: Mapping[str, Any],
            had: str = budget.NONE) -> dict[str, Any]:  # fmt: skip
    """Columns `minutes`, `chance`, `command`, `effort_needed` and `claim_command` of an open claim in verdicts.csv.

    `minutes`: time of the further runs that decide if they scatter as those so far; `chance`: that all runs of the
    effort decide. The present effort is proposed if its most runs may decide; a larger effort makes all runs anew. If
    no effort makes enough runs, the result is `beyond`: the most runs of a cell that an effort makes, and the minutes
    of the needed runs. Keys of `row`: `busy`, other programs disturbed runs before the budget ended; `any_budget`,
    all runs that are missing need no other budget. `had`: that of the last start. Empty for claims without cells.
    """
    have, needed = row.get("n") or 0, row.get("runs_needed")
    cells = estimand_of(claim["test"]).cells()
    efforts = list(paper.raw.get("replicates", ()))
    if needed is None or not row["runs_help"] or effort not in efforts or not cells:
        return {}
    makes = {each: _most(paper, cells, each) for each in efforts[efforts.index(effort) :]}
    for each, most in makes.items():
        if have + needed > most:
            continue
        rows = list(_rows(paper, each, cells))
        anew = each != effort
        overheads = durations.all_overheads_seconds(paper, rows, testbed, OVERHEADS) if anew else 0.0
        spent = _START_S + (have * anew + needed) * seconds(paper, testbed, each, cells) + overheads
        found = chance(row, most, anew)
        # A budget that has ended makes nothing more.
        start = "AGAIN=busy " if row.get("busy") else "" if row.get("any_budget") else f"BUDGET={longer(had)} "
        start = "" if anew else start
        one = f"{start}make claim CLAIM={claim['id']} EFFORT={each}{asked_testbed()}"
        return {"minutes": max(1, round(spent / 60)), "chance": None if found is None else round(found, 2),
                "command": f"{start}{start_command()} PAPERS={paper.id} EFFORT={each}",
                "effort_needed": each,
                "claim_command": one if start_command().startswith(MAKE_PAPERS) else None}  # fmt: skip
    took = _START_S + needed * seconds(paper, testbed, effort, cells)
    return {"beyond": (max(makes.values()), max(1, round(took / 60)))}


def _most(paper: Paper, cells: Sequence[Cell], effort: str) -> int:
    """How many runs an effort makes at most of each of some cells."""
    made = {cell_id(experiment["id"], levels): count for experiment, levels, count in counts(paper, effort)}
    return min(made.get(cell, 0) for cell in cell_ids(cells))


def minutes_to_first_interim(paper: Paper, testbed: Mapping[str, Any], effort: str) -> int:
    """Minutes until the first interim analysis of all claims at an effort."""
    first = paper.analyses(effort)[0]
    cells = claimed_cells(paper) | compared_cells(paper)
    rows = [row for row in make_design(paper, testbed, effort, 1) if row["replicate"] <= first]
    rows = [row for row in rows if cell_of(paper, row) in cells]
    took = sum(durations.expected_seconds(paper, row, testbed) for row in rows)
    return round((_START_S + took + durations.all_overheads_seconds(paper, rows, testbed, OVERHEADS)) / 60)


def prospect_lines(paper: Paper, testbed: Mapping[str, Any], effort: str, judged: Sequence[Mapping[str, Any]] | None,
                   runs: int, pace: float = 1.0, unavailable: Mapping[CellId, str] | None = None
                   ) -> Iterator[str]:  # fmt: skip
    """One line per open claim that runs can judge: minutes to a verdict, and the chance of one.

    Claims that no run of the effort can judge here come last, with the reason. `judged`: rows of verdicts.csv, if the
    paper is measured; `runs`: runs of each cell that the budget has time for; `pace`: seconds that runs take here per
    planned second; `unavailable`: why this machine cannot make a cell.
    """
    known = {row["claim"]: row for row in judged or ()}
    here = CellsOfRuns(paper, [effort], unavailable, partial(why_impossible, paper, testbed=testbed))
    without: dict[str, list[str]] = {}
    for claim in paper.claims:
        if status_on(testbed) not in claim["routes"] or not (cells := estimand_of(claim["test"]).cells()):
            continue
        row = known.get(claim["id"])
        if row is not None and row["verdict"] != claims.INCONCLUSIVE:
            continue
        if row is not None and _positive(row["minutes"]):
            minutes, said = max(1, round(pace * row["minutes"])), _likely(row["chance"])
            command = f": {command}" if (command := row["claim_command"]) else ""
            yield f"  {claim['id']}: about {minutes} min to a verdict{said}{command}"
        elif row is None and (why := _why_without(paper, here, effort, claim)):
            without.setdefault(why, []).append(claim["id"])
        elif row is None:
            took = _START_S + pace * statistics.FEWEST * seconds(paper, testbed, effort, cells)
            found = chance_if_right(paper, claim["test"], runs)
            said = "" if found is None else f"{_likely(found)} to be decided within the budget, {USUAL}"
            yield f"  {claim['id']}: about {max(1, round(took / 60))} min to a first interval{said}"
    yield from (f"  {', '.join(names)}: {why}" for why, names in without.items())


def _why_without(paper: Paper, here: CellsOfRuns, effort: str, claim: Mapping[str, Any]) -> str:
    """Why no run of an effort can judge a claim here; empty if one can."""
    if why := here.why_missing(claim["test"]):
        return f"{claims.NOT_TESTABLE}: {why}"
    return why_not_made(paper, claim["id"], effort)


def _likely(chance: float | None) -> str:
    return "" if chance is None or math.isnan(chance) else f", {min(99, round(100 * chance))} % likely"


def _rows(paper: Paper, effort: str, cells: Sequence[Cell]) -> Iterator[DesignRow]:
    """A row of the design per cell, so far as durations read it."""
    for name, levels in {canonical(cell): cell for cell in cells}.values():
        row = {"experiment": name, "workload": paper.experiments[name]["workload"], "block": "", "effort": effort}
        yield cast("DesignRow", row | dict(levels))


def _positive(value: Any) -> bool:
    return value is not None and not pd.isna(value) and math.isfinite(value) and value > 0
