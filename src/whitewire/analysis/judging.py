"""Every claim of a paper judged by the runs there are: estimate, rule, controls, Holm's correction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from whitewire import statistics
from whitewire.analysis import biases, claims, controls, guards
from whitewire.analysis.controls import controls_of_test
from whitewire.analysis.runs import Runs
from whitewire.description.paper import Paper
from whitewire.description.transports import TRANSPORT_NEEDED
from whitewire.design.cautions import cautions_of_test
from whitewire.estimands import estimand_of
from whitewire.estimands.evidence import Evidence
from whitewire.levels import cell_name
from whitewire.records.jobs import NET
from whitewire.text import canonical


def claims_judged(
    paper: Paper, runs: Runs, status: str, checked: Sequence[controls.Control] = (), modelled: Runs | None = None
) -> list[dict[str, Any]]:
    """One row per claim, in the paper's order: its line in analysis/verdicts.csv.

    `status` is `emulated` or `measured`: which kind of testbed the runs come from. Where a control in `checked` failed,
    the claims that it covers are inconclusive. Without `modelled`, the simulated runs, claims that only a model tests
    have no verdict. `runs_help`: whether more runs may decide an inconclusive claim. `open`: whether they may change a
    verdict at all; they may also show the sign of an effect whose size is excluded.
    """
    fresh = [_row(paper, claim, runs.interim(), status, checked, modelled) for claim in paper.claims]
    rows = _corrected(paper, fresh)
    if runs.ended:  # what no interim analysis decided has the last one, which spends what is left
        fresh = [_row(paper, claim, runs, status, checked, modelled) if row["open"] else kept
                 for claim, kept, row in zip(paper.claims, fresh, rows, strict=True)]  # fmt: skip
        rows = _corrected(paper, fresh)
    return rows


def _row(paper: Paper, claim: Mapping[str, Any], runs: Runs, status: str, checked: Sequence[controls.Control],
         modelled: Runs | None) -> dict[str, Any]:  # fmt: skip
    """A claim's row before Holm's correction; `p_overall` holds for all analyses."""
    route = next((r for r in claim["routes"] if r in (status, "modelled", "arithmetic")), None)
    row = {key: claim.get(key, "") for key in ("statement", "kind", "basis", "audit")}
    row |= {"paper": paper.id, "claim": claim["id"], "exhibits": " ".join(claim["exhibits"])}
    row |= {"estimand": estimand_of(claim["test"]).describe(), "control": "", "control_failed": "", "runs_help": False}
    if route is None:
        row |= _not_testable(claim, status, runs)
    elif route == "modelled" and modelled is None:
        row |= {"route": route, "verdict": "", "reason": ""}
    else:
        row |= judged(paper, claim["test"], route, modelled if route == "modelled" and modelled else runs, checked)
        if route == "emulated" and row["estimate"] is not None:
            row["reason"] += "".join(f"; caution: {words}" for words in cautions_of_test(paper, claim["test"]))
    return row | {"p_overall": runs.overall(row.get("p_value"), row.get("n"))}


def _corrected(paper: Paper, fresh: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows after Holm's correction: claims of direction among themselves, signs of other claims among all.

    Claims on the same number count once, each with its own p-value, since one may have been judged earlier.
    """
    rows = [dict(row) for row in fresh]
    tested = {
        number: canonical(estimand_of(claim["test"]).same_as())
        for number, (claim, row) in enumerate(zip(paper.claims, rows, strict=True))
        if row["p_overall"] is not None
    }
    adjusted: dict[int, float | None] = {}
    for family in (list(tested), [number for number in tested if rows[number]["asks"] == claims.SIGN]):
        own = {number: rows[number]["p_overall"] for number in family}
        least = {tested[number]: own[number] for number in sorted(family, key=own.__getitem__, reverse=True)}
        for number in family:
            others = [p for same, p in least.items() if same != tested[number]]
            adjusted[number] = statistics.holm([own[number], *others])[0]
    for number, row in enumerate(rows):
        row["p_holm"] = p = adjusted.get(number)
        verdict, row["reason"] = claims.corrected(row["verdict"], row["reason"], row, p)
        if verdict != row["verdict"] and p is None:
            row["runs_help"] = row["low"] == row["high"]  # else there is no test that they could sharpen
        row["open"] = row["runs_help"] and (verdict == claims.INCONCLUSIVE or verdict != row["verdict"])
        row["verdict"] = verdict
    return rows


def _decided(paper: Paper, test: Mapping[str, Any], route: str, runs: Runs
             ) -> tuple[claims.Target, Evidence, claims.Verdict, str]:  # fmt: skip
    """Target, evidence and verdict of a test, and a sentence on the emulation's own error if it counts."""
    target, evidence = claims.resolve(paper, test), estimand_of(test).evaluate(runs, paper)
    if route == "modelled" and evidence.source in ("runs", "census"):
        evidence = Evidence("model", evidence.estimate, unit=evidence.unit, missing=evidence.missing)
    said = ""
    if route == "emulated":
        if target.smallest:
            smallest = max(target.smallest, biases.own_error(paper, test))
            target = replace(target, smallest=smallest, own=biases.factors(paper, test)[:2])
        evidence, said = biases.widened(paper, test, evidence)
    verdict = claims.decide(target, evidence)
    if evidence.missing:
        none = f"no model predicts it: {evidence.missing}" if evidence.source == "model" else ""
        if why := none or runs.here.why_missing(test) or _reported_by_none(runs, test):
            verdict = claims.Verdict(claims.NOT_TESTABLE, why)
    return target, evidence, verdict, said


def judged(
    paper: Paper, test: Mapping[str, Any], route: str, runs: Runs, checked: Sequence[controls.Control]
) -> dict[str, Any]:
    """The row of a test in analysis/verdicts.csv or readings.csv, and whether further runs may decide it."""
    target, evidence, verdict, said = _decided(paper, test, route, runs)
    reason = "; ".join((verdict.reason, *_notes(paper, test, runs, evidence, said)))
    counts = evidence.source in ("runs", "census")
    covering = controls_of_test(paper, checked, test) if counts else []
    failed = [control for control in covering if control.failed]
    decided, reason = claims.controlled(verdict.verdict, reason, [control.said for control in failed])
    if decided in claims.BY_RUNS and covering and all(control.row["outcome"] == controls.OPEN for control in covering):
        names = ", ".join(dict.fromkeys(str(control.row["control"]) for control in covering))
        reason += f"; caution: no control of it ({names}) has an interval within 10 % of the right ratio yet"
    return {
        "route": route,
        "estimate": evidence.estimate,
        "low": evidence.low,
        "high": evidence.high,
        "unit": evidence.unit or test.get("unit", "1"),
        "n": evidence.n if counts else None,
        "relation": target.relation,
        "no_effect": target.no_effect,
        "expected": target.expected,
        "expected_low": target.lower,
        "expected_high": target.upper,
        "asks": target.kind,
        # Of equivalence there is no test against no effect to make or to correct for.
        "p_value": None if target.kind == claims.EQUIVALENCE else evidence.p_value,
        "verdict": decided,
        "reason": reason,
        "again": evidence.again,
        "error": evidence.error,
        "runs_needed": None if failed else verdict.runs_needed,
        "runs_help": verdict.runs_help and not failed,
        "control": controls.ids(covering),
        "control_failed": controls.ids(failed),
    }


def _notes(paper: Paper, test: Mapping[str, Any], runs: Runs, evidence: Evidence, said: str) -> Iterator[str]:
    """What a reader has to know beside the reason of a verdict; `said`: of the emulation's own error."""
    if evidence.note:
        yield evidence.note
    if said:
        yield said
    theirs = _statistic_of(paper, test.get("expected", ""))
    if evidence.source == "runs" and theirs and not theirs.startswith(ours := test.get("statistic", "geometric mean")):
        yield f"the paper's number is its {theirs}, ours a {ours}"
    if evidence.source == "runs" and evidence.estimate is not None:
        yield from (f"caution: {words}" for words in _cautions(runs, test))
    if evidence.n_invalid:
        attempts = "attempt" if evidence.n_invalid == 1 else "attempts"
        yield f"{evidence.n_invalid} invalid {attempts} left out"


def _reported_by_none(runs: Runs, test: Mapping[str, Any]) -> str:
    """Why runs do not report a metric of a test (only HiBench writes a report); empty if they do.

    Net times are left out: a run without one needs startup overheads, which may still be measured.
    """
    estimand = estimand_of(test)
    asked = zip(estimand.cells(), estimand.metrics(), strict=True)
    found = (guards.reported_by_none(runs, *cell, metric) for cell, metric in asked if metric not in NET)
    return str(next(filter(None, found), ""))


def _cautions(runs: Runs, test: Mapping[str, Any]) -> list[str]:
    """Cautions: guards that had nothing to check, and lanes that are confounded with the cells."""
    estimand = estimand_of(test)
    asked = list(zip(estimand.cells(), estimand.metrics(), strict=True))
    found = [f"{metric} of {cell_name(*cell)} is not checked by {name}, which no run reports"
             for cell, metric in asked for name in guards.unchecked(runs, *cell, metric)]  # fmt: skip
    if len({runs.confounded_lanes(*cell, metric) for cell, metric in asked}) > 1:
        found.append("its cells were measured in different lanes, which are confounded with them")
    return list(dict.fromkeys(found))


def _not_testable(claim: Mapping[str, Any], status: str, runs: Runs) -> dict[str, Any]:
    reason = estimand_of(claim["test"]).untestable()
    if not reason and runs.here.why_missing(claim["test"]) == TRANSPORT_NEEDED:
        reason = TRANSPORT_NEEDED
    if not reason and status == "emulated" and "measured" in claim["routes"]:
        reason = "no emulated run can show it, because what decides does not shrink with k; runs on real hardware can"
    reason = reason or f"this testbed offers none of the routes: {', '.join(claim['routes'])}"
    return {"route": claims.NOT_TESTABLE, "verdict": claims.NOT_TESTABLE, "reason": reason}


def _statistic_of(paper: Paper, expression: float | str) -> str:
    """The statistic of the paper's own number, such as `best of 3`, if the expression is a single value that states
    it."""
    for value in paper.raw["values"]:
        if value["id"].replace("-", "_") == str(expression).strip() and "statistic" in value:
            statistic = value["statistic"]
            return f"{statistic['of']} of {statistic['runs']}" if "runs" in statistic else statistic["of"]
    return ""
