"""Loads a paper and checks that every name in it is known."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from whitewire.description import claim_checks
from whitewire.description.experiment_checks import check_experiment
from whitewire.description.faults import check_levels, fault
from whitewire.description.files import validate_by_schema
from whitewire.description.measures import problems_of_units, read_converted
from whitewire.description.paper import BOUNDS, CONTROL_EFFORTS, PLACES, Paper, against, cells_of, scale_candidates
from whitewire.errors import UserError
from whitewire.estimands import estimand_of
from whitewire.paths import shown


def load_paper(path: Path, fabrics: Collection[str]) -> Paper:
    """Read, validate and cross-check a paper against the names of a testbed's fabrics.

    Raises UserError with one line: file, key, found, expected and the nearest valid name.
    """
    data = read_converted(path)
    validate_by_schema(data, "paper", path)
    paper = Paper.of(data, path)
    _cross_check(paper, fabrics)
    return paper


def _cross_check(paper: Paper, fabrics: Collection[str]) -> None:
    raw = paper.raw
    for key, text in _texts_in_tables(raw):
        if FORMULA.match(text):
            raise fault(paper, key, text, "text that a spreadsheet does not take for a formula: begin with a word")
    _check_ids(paper)
    exhibits = [e["id"] for e in raw["exhibits"]] + ["text"]
    for index, value in enumerate(raw["values"]):
        if value["exhibit"] not in exhibits:
            key = f"values[{index}].exhibit"
            raise fault(paper, key, value["exhibit"], "the id of an exhibit, or text", exhibits)
    _check_parts(paper)
    _check_analyses(paper)
    for index, experiment in enumerate(raw.get("experiments", [])):
        check_experiment(paper, f"experiments[{index}]", experiment, fabrics)
    for index, control in enumerate(paper.controls):
        _check_control(paper, f"controls[{index}] ({control['id']})", control)
    for index, bias in enumerate(paper.as_written.get("biases", [])):
        _check_bias(paper, f"biases[{index}]", bias)
        _check_bounds(paper, f"biases[{index}]", bias)
    for index, claim in enumerate(paper.claims):
        _check_claim(paper, f"claims[{index}] ({claim['id']})", claim, exhibits, fabrics)
    ids = [claim["id"] for claim in paper.claims]
    for name in ("finding", "headline"):
        if raw.get(name, ids[0]) not in ids:
            raise fault(paper, name, raw[name], "the id of a claim", ids)
    _check_amendments(paper, ids)
    for index, entry in enumerate(paper.audit):
        _check_audit(paper, f"audit[{index}] ({entry['id']})", entry)
    for index, sweep in enumerate(raw.get("sweeps", [])):
        # `sweeps.check_sweeps` tests their values.
        given = {**sweep.get("arguments", {}), **sweep["vary"]}
        claim_checks.check_arguments(paper, f"sweeps[{index}] ({sweep['id']}).arguments", sweep["model"], given)
    for key, why in problems_of_units(paper):
        raise UserError(f"{shown(paper.path)}: {key}: {why}")


def _check_ids(paper: Paper) -> None:
    for part in ("exhibits", "values", "claims", "audit", "experiments", "controls", "sweeps"):
        seen: set[str] = set()
        for index, entry in enumerate(paper.raw.get(part, [])):
            if entry["id"] in seen:
                raise fault(paper, f"{part}[{index}].id", entry["id"], "every id only once")
            seen.add(entry["id"])


def _check_parts(paper: Paper) -> None:
    """Parts that others need are there, and lists of k increase."""
    raw = paper.raw
    needed = [*((part, "experiments") for part in ("scale", "replicates", "blocks")), ("blocks", "replicates")]
    for part, since in needed:
        if raw.get(since) and part not in raw:
            raise fault(paper, part, None, f"one, since there are {since}")
    for key, ks in scale_candidates(paper.as_written):
        if any(left >= right for left, right in itertools.pairwise(ks)):
            raise fault(paper, key, ks, "a list of k that increases")


def _check_claim(
    paper: Paper, key: str, claim: Mapping[str, Any], exhibits: Collection[str], fabrics: Collection[str]
) -> None:
    for name in claim["exhibits"]:
        if name not in exhibits:
            raise fault(paper, f"{key}.exhibits", name, "the id of an exhibit, or text", exhibits)
    audits = [entry["id"] for entry in paper.audit]
    if "audit" in claim and claim["audit"] not in audits:
        raise fault(paper, f"{key}.audit", claim["audit"], "the id of an audit entry", audits)
    _check_routes(paper, key, claim)
    if "inverse" in claim:
        claim_checks.check_inverse(paper, f"{key}.inverse", claim["inverse"])
    claim_checks.check_test(paper, f"{key}.test", claim["test"], fabrics)
    for number, route in enumerate(claim["routes"]):
        claim_checks.check_route(paper, f"{key}.routes[{number}]", route, claim["test"])
    for number, reading in enumerate(claim.get("readings", [])):
        below = f"{key}.readings[{number}]"
        claim_checks.check_test(paper, f"{below}.test", reading["test"], fabrics)
        claim_checks.check_route(paper, f"{below}.route", reading["route"], reading["test"])


def _check_amendments(paper: Paper, claims: Collection[str]) -> None:
    """An amendment is of a day of the calendar, and of claims that the paper has."""
    for index, amendment in enumerate(paper.raw.get("amendments", [])):
        try:
            date.fromisoformat(amendment["date"])
        except ValueError:
            raise fault(paper, f"amendments[{index}].date", amendment["date"], "a day of the calendar") from None
        for claim in amendment["claims"]:
            if claim not in claims:
                raise fault(paper, f"amendments[{index}].claims", claim, "the id of a claim", claims)


def _texts_in_tables(part: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """(key, text) of all that tables take over as it is, which people open in spreadsheets."""
    if isinstance(part, list):
        for index, item in enumerate(part):
            yield from _texts_in_tables(item, f"{key}[{index}]")
    elif isinstance(part, Mapping):
        for name, value in part.items():
            below = f"{key}.{name}" if key else name
            if name == "factors" and isinstance(value, Mapping):
                for factor, levels in value.items():
                    yield from ((f"{below}.{factor}", level) for level in levels if isinstance(level, str))
            elif isinstance(value, str) and name in IN_TABLES:
                yield below, value
            else:
                yield from _texts_in_tables(value, below)


def _check_analyses(paper: Paper) -> None:
    analyses, replicates = paper.raw.get("looks", {}), paper.raw.get("replicates", {})
    if analyses and not replicates:
        raise fault(paper, "looks", analyses, "none, since there are no replicates")
    for effort, planned in analyses.items():
        for index, (before, after) in enumerate(itertools.pairwise(planned), start=1):
            if after <= before:
                expected = f"more runs than the {before} of the interim analysis before"
                raise fault(paper, f"looks.{effort}[{index}]", after, expected)
        if len(planned) > 1 and paper.raw["blocks"][effort] > 1:
            raise fault(paper, f"blocks.{effort}", paper.raw["blocks"][effort], f"1, since looks.{effort} has several")
        most = replicates[effort]["claimed"]
        if planned[-1] != most:
            raise fault(
                paper,
                f"looks.{effort}[{len(planned) - 1}]",
                planned[-1],
                f"{most}, as replicates.{effort}.claimed says",
            )
        for index, experiment in enumerate(paper.raw.get("experiments", ()) if len(planned) > 1 else ()):
            own = experiment.get("replicates", {}).get(effort, 0)
            key, claimed = (".claimed", own["claimed"]) if isinstance(own, Mapping) else ("", own)
            if claimed > planned[-1]:
                expected = f"at most {planned[-1]}, the last of looks.{effort}, for which intervals are made"
                raise fault(paper, f"experiments[{index}].replicates.{effort}{key}", claimed, expected)


def _check_cell(paper: Paper, key: str, cell: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """A whole cell of a listed experiment; returns these by id."""
    listed = {e["id"]: e for e in paper.raw.get("experiments", [])}
    if cell["experiment"] not in listed:
        raise fault(paper, f"{key}.experiment", cell["experiment"], "the id of an experiment", listed)
    check_levels(paper, f"{key}.where", listed[cell["experiment"]], cell["where"], whole=True)
    return listed


def _check_control(paper: Paper, key: str, control: Mapping[str, Any]) -> None:
    listed = _check_cell(paper, f"{key}.cell", control["cell"])
    name, where, really = control["cell"]["experiment"], control["cell"]["where"], control["really"]
    if control["id"] in listed:
        raise fault(paper, f"{key}.id", control["id"], "an id that no experiment has")
    for factor in really:
        if factor not in PLACES:
            raise fault(paper, f"{key}.really", factor, f"one of {', '.join(PLACES)}", PLACES)
    if "store" in really and really["store"] not in listed[name].get("stores", {}):
        raise fault(paper, f"{key}.really.store", really["store"], "a key of stores", listed[name].get("stores", {}))
    if all(where.get(factor) == level for factor, level in really.items()):
        raise fault(paper, f"{key}.really", really, "another level than that of the cell")
    if against(control) not in cells_of(listed[name]):
        raise fault(paper, f"{key}.cell", against(control), f"a cell of {name}, to compare the control with")
    if "metric" in control["cell"]:
        raise fault(paper, f"{key}.cell.metric", control["cell"]["metric"], "nothing: the control has its metric")
    claim_checks.check_metric(paper, f"{key}.metric", name, control["metric"], where)
    for index, metric in enumerate(control.get("also", [])):
        claim_checks.check_metric(paper, f"{key}.also[{index}]", name, metric, where)
    if not set(listed[name].get("efforts", CONTROL_EFFORTS)) & set(CONTROL_EFFORTS):
        expected = f"an experiment that {' or '.join(CONTROL_EFFORTS)} effort makes, since controls are made there"
        raise fault(paper, f"{key}.cell.experiment", name, expected)


def _check_bias(paper: Paper, key: str, bias: Mapping[str, Any]) -> None:
    _check_cell(paper, f"{key}.cell", bias["cell"])
    if "metric" in bias["cell"]:
        raise fault(paper, f"{key}.cell.metric", bias["cell"]["metric"], "nothing: metrics has those of the bias")
    for index, metric in enumerate(bias["metrics"]):
        claim_checks.check_metric(
            paper, f"{key}.metrics[{index}]", bias["cell"]["experiment"], metric, bias["cell"]["where"]
        )


def _check_bounds(paper: Paper, key: str, bias: Mapping[str, Any]) -> None:
    """Check that a bias has one number per scale candidate of the cell, or 1 for all. `bias` is as written in the
    file."""
    raw = paper.as_written
    own = next(each for each in raw["experiments"] if each["id"] == bias["cell"]["experiment"])
    k = own.get("scale", {}).get("k", raw["scale"]["k"])
    for end in BOUNDS:
        found = bias[end]
        if not isinstance(k, list) and isinstance(found, list):
            raise fault(paper, f"{key}.{end}", found, f"a number, since there is one k, {k}")
        if isinstance(k, list) and found != 1 and (not isinstance(found, list) or len(found) != len(k)):
            raise fault(paper, f"{key}.{end}", found, f"a list with a number for each k, {k}")
    steps = len(k) if isinstance(k, list) else 1
    lower, upper = (each if isinstance(each, list) else [each] * steps for each in map(bias.get, BOUNDS))
    for least, most in zip(lower, upper, strict=True):
        if least > most:
            raise fault(paper, f"{key}.lower", least, f"no more than upper, {most}")


IN_TABLES = ("title", "statement", "basis", "note", "finding", "missing", "testbed", "source", "unit", "metric",
             "condition")  # fmt: skip
FORMULA = re.compile(r"\s*([=@]|[+-](?![0-9. ]))")
"""Start of a cell that a spreadsheet would compute; signed numbers are harmless."""


def _check_routes(paper: Paper, key: str, claim: Mapping[str, Any]) -> None:
    estimand = estimand_of(claim["test"])
    allowed = estimand.routes
    for route in claim["routes"]:
        if route not in allowed:
            expected = f"one of {', '.join(allowed)} for estimand {estimand.name}"
            raise fault(paper, f"{key}.routes", route, expected, allowed)


def _check_audit(paper: Paper, key: str, entry: Mapping[str, Any]) -> None:
    results: dict[str, float] = {}
    for index, check in enumerate(entry.get("checks", [])):
        where = f"{key}.checks[{index}]"
        if ("expression" in check) == ("model" in check):
            raise fault(paper, where, check, "either expression or model")
        if "model" in check:
            arguments = claim_checks.evaluated(paper, f"{where}.arguments", check.get("arguments", {}))
            results[f"model_{len(results) + 1}"] = claim_checks.compute(paper, where, check["model"], arguments)
        else:
            paper.evaluate(check["expression"], results, f"{where}.expression")
            if "arguments" in check:
                raise fault(paper, f"{where}.arguments", sorted(check["arguments"]), "nothing beside expression")
        if "printed" in check:
            paper.evaluate(check["printed"], key=f"{where}.printed")
        bounds = [name for name in ("at_most", "at_least", "relative") if check.get(name) not in (None, False)]
        if bounds and "printed" not in check:
            raise fault(paper, f"{where}.{bounds[0]}", check[bounds[0]], "printed beside it, to compare with")
        if len(bounds) > 1:
            raise fault(paper, f"{where}.{bounds[1]}", check[bounds[1]], f"nothing beside {bounds[0]}")
