"""Checks of tests, inverse questions and routes, and that the cells and metrics that they name exist."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from whitewire import models
from whitewire.description.faults import check_levels, fault
from whitewire.description.paper import Paper, cells_of
from whitewire.errors import UserError
from whitewire.estimands import estimand_of
from whitewire.estimands.ratio import Ratio
from whitewire.levels import Cell
from whitewire.paths import shown
from whitewire.text import canonical
from whitewire.units import gbit_per_s
from whitewire.workloads import METRICS, workload_of

LEAST_RATES = 3
"""Link rates that make a curve."""
MODELLED = ("throughput", "throughput_sum", "throughput_peak_1s", "completion_time", "link_share")
"""Metrics that the max-min model predicts."""


def check_metric(paper: Paper, key: str, experiment: str, metric: str, levels: Mapping[str, Any]) -> None:
    """UserError for a metric that runs of the experiment do not have, or some of those with these levels."""
    spec = paper.experiments[experiment]
    workload = workload_of(spec["workload"])
    for cell in cells_of(spec):
        names = workload.metric_names_with(paper.parameters(experiment, cell))
        if metric not in names and levels.items() <= cell.items():
            named = " ".join([experiment, *(map(str, levels.values()) if metric in workload.metric_names else ())])
            raise fault(paper, key, metric, f"a metric that runs of {workload.name} ({named}) have", names)


def check_test(paper: Paper, key: str, test: Mapping[str, Any], fabrics: Collection[str]) -> None:
    """UserError for the first fault of a test; `fabrics`: names of the testbed's."""
    estimand = estimand_of(test)
    for name in ("expected", "expression"):
        if name in test:
            paper.evaluate(test[name], key=f"{key}.{name}")
    evaluated(paper, f"{key}.arguments", test.get("arguments", {}))
    if test.get("relation") == "within" and not (
        {"relative", "absolute"} & set(test) or {"lower", "upper"} <= set(test)
    ):
        raise fault(paper, key, "within", "relative, absolute, or lower and upper beside it")
    for below, found, expected, names in estimand.problems(paper, fabrics):
        raise fault(paper, f"{key}{below}", found, expected, names)
    for name, levels in estimand.needed():
        if name not in paper.experiments:
            raise fault(paper, f"{key}.experiment", name, "the id of an experiment", paper.experiments)
        check_levels(paper, f"{key}.where", paper.experiments[name], levels, estimand.whole)
    for place, cell in _cells_in(test):
        if "metric" in cell and not (test["estimand"] == Ratio.name and place in ("numerator", "denominator")):
            expected = "nothing: only numerator and denominator of a ratio have metrics of their own"
            raise fault(paper, f"{key}.{place}.metric", cell["metric"], expected)
    for place, metric, cell in _asked(test):
        check_metric(paper, f"{key}.{place}", cell["experiment"], metric, cell["where"])
    own = [side for side in ("numerator", "denominator") if "metric" in test.get(side, {})]
    if own and test.get("also"):
        raise fault(paper, f"{key}.also", test["also"], f"nothing where {own[0]} has a metric of its own")
    cells = [(name, canonical(levels), metric) for (name, levels), metric in zip(
        estimand.cells(), estimand.metrics(), strict=False)]  # fmt: skip
    if test["estimand"] == Ratio.name and cells[0] == cells[1]:
        raise fault(paper, f"{key}.denominator", test["denominator"]["where"], "another cell than the numerator")
    for place, factor in _given_twice(test):
        raise fault(paper, f"{key}.{place}.where", factor, "no level of a factor that the test varies")
    _check_target(paper, key, test)
    if test["estimand"] == "model":
        compute(paper, key, test["model"], evaluated(paper, f"{key}.arguments", test["arguments"]))


def _cells_in(test: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(key, cell) of every cell that a test names."""
    for key in ("cell", "numerator", "denominator"):
        part = test.get(key, {})
        if "where" in part:
            yield key, part
        for side in ("numerator", "denominator"):
            if side in part:
                yield f"{key}.{side}", part[side]
    for index, cell in enumerate(test.get("cells", [])):
        if "where" in cell and "experiment" in cell:
            yield f"cells[{index}]", cell


def _asked(test: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """(key, metric, cell) of every metric that a test takes from an experiment's runs."""
    for place, cell in _cells_in(test):
        if "metric" in cell:
            yield f"{place}.metric", cell["metric"], cell
        else:
            yield "metric", test["metric"], cell
        for index, metric in enumerate(test.get("also", [])):
            yield f"also[{index}]", metric, cell


def _given_twice(test: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(key of a cell, factor) where a cell has a level that the test puts another one over."""
    varied = {test["factor"]} if "factor" in test else set()
    if "numerator" in test:
        varied |= {factor for levels in test.get("cells", []) for factor in levels}
    for place, cell in _cells_in(test):
        for factor in cell["where"]:
            if factor in varied:
                yield place, factor


def _check_target(paper: Paper, key: str, test: Mapping[str, Any]) -> None:
    """Check that a range is in order and contains the expected value, and that no key is given that the relation
    ignores."""
    relation, ends = test.get("relation"), {"lower", "upper"} <= set(test)
    tolerances = [name for name in ("lower", "upper", "absolute", "relative") if name in test]
    if relation in ("above", "below", "equal"):
        for name in tolerances:
            raise fault(paper, f"{key}.{name}", test[name], f"nothing beside relation {relation}: only within reads it")
    if "smallest_effect" in test and (relation not in ("above", "below") or "no_effect" not in test
                                      or paper.evaluate(test["expected"]) != test["no_effect"]):  # fmt: skip
        expected = "none: only a claim of direction, above or below its own no_effect, has one"
        raise fault(paper, f"{key}.smallest_effect", test["smallest_effect"], expected)
    if relation != "within":
        return
    if ends and test["lower"] > test["upper"]:
        raise fault(paper, f"{key}.lower", test["lower"], f"no more than upper, {test['upper']}")
    if ends and not test["lower"] <= paper.evaluate(test["expected"]) <= test["upper"]:
        raise fault(paper, f"{key}.expected", test["expected"], f"between {test['lower']} and {test['upper']}")
    read = ("lower", "upper") if ends else ("absolute",) if "absolute" in test else ("relative",)
    for name in tolerances:
        if name not in read:
            raise fault(paper, f"{key}.{name}", test[name], f"nothing beside {' and '.join(read)}")


def check_route(paper: Paper, key: str, route: str, test: Mapping[str, Any]) -> None:
    """UserError where a model is to predict runs or a metric that it does not know, or emulated runs a value at full
    scale that they do not have."""
    if route == "emulated":
        _check_full_scale(paper, key, test)
    if route != "modelled" or test["estimand"] in ("model", "none", "expression"):
        return
    for _, metric, cell in _asked({k: v for k, v in test.items() if k != "also"}):
        name = cell["experiment"]
        workload = workload_of(paper.experiments[name]["workload"])
        if not workload.modelled:
            expected = f"a route without a model: none predicts runs of {workload.name} ({name})"
            raise fault(paper, key, route, expected)
        if metric not in MODELLED:
            raise fault(paper, key, route, f"a route without a model: it does not predict {metric}")


def _check_full_scale(paper: Paper, key: str, test: Mapping[str, Any]) -> None:
    """UserError for an absolute value that has none at full scale, or a ratio of one that has to one that has not."""
    estimand = estimand_of(test)
    sets: list[list[tuple[str, Cell]]]
    if estimand.absolute:
        sets = [[(metric, (cell["experiment"], cell["where"]))] for _, metric, cell in _asked(test)]
    else:
        sides = list(zip(estimand.metrics(), estimand.cells(), strict=False))
        sets = [list(pair) for pair in zip(sides[::2], sides[1::2], strict=False)]
    for compared in sets:
        without = [(metric, cell) for metric, cell in compared if _without_full_scale(paper, metric, *cell)]
        if without and (estimand.absolute or len(without) < len(compared)):
            metric, (name, _) = without[0]
            what = f"{metric} of {name} holds the startup of its jobs, so it has no value at full scale"
            raise fault(paper, key, "emulated", f"another route or metric: {what}")


def _without_full_scale(paper: Paper, metric: str, name: str, levels: Mapping[str, Any]) -> bool:
    """Whether a metric of a cell should have a value at full scale and has none; runs that move no data need none."""
    spec = paper.experiments[name]
    workload = workload_of(spec["workload"])
    cell = next(each for each in cells_of(spec) if levels.items() <= each.items())
    moves = workload.whole_bytes(paper.parameters(name, cell)) > 0
    declared = METRICS[metric]
    return moves and declared.scaling != "none" and declared.holds_overhead(workload.on_yarn)


def check_inverse(paper: Paper, key: str, inverse: Mapping[str, Any]) -> None:
    """UserError for a curve of too few link rates or two fabrics of one, a metric that its runs lack, or no range."""
    if inverse["experiment"] not in paper.experiments:
        raise fault(paper, f"{key}.experiment", inverse["experiment"], "the id of an experiment", paper.experiments)
    experiment, where, factor = paper.experiments[inverse["experiment"]], inverse.get("where", {}), inverse["factor"]
    check_levels(paper, f"{key}.where", experiment, {**where, factor: inverse["from"]}, whole=True)
    check_metric(paper, f"{key}.metric", inverse["experiment"], inverse["metric"], where)
    if factor in where:
        raise fault(paper, f"{key}.where", factor, f"factors other than {factor}")
    cells = cells_of(experiment)
    names = dict.fromkeys(cell[factor] for cell in cells if where.items() <= cell.items())
    if len(names) < LEAST_RATES:
        raise fault(paper, f"{key}.experiment", inverse["experiment"],
                    f"an experiment with at least {LEAST_RATES} levels of {factor}, not {len(names)}")  # fmt: skip
    of_rate: dict[float, str] = {}
    for name in names:
        if (other := of_rate.setdefault(gbit_per_s(name), name)) != name:
            expected = f"an experiment with one {factor} of each link rate, not {other} and {name}"
            raise fault(paper, f"{key}.experiment", inverse["experiment"], expected)
    low, high = (paper.evaluate(value, key=f"{key}.plausible") for value in inverse["plausible"])
    if low > high:
        raise fault(paper, f"{key}.plausible", inverse["plausible"], "the smaller ratio first")
    if low <= 0:
        raise fault(paper, f"{key}.plausible", inverse["plausible"], "ratios of link rate above 0")
    if paper.evaluate(inverse["effect"], key=f"{key}.effect") <= 0:
        raise fault(paper, f"{key}.effect", inverse["effect"], "a ratio above 0: the metric after over before")


def evaluated(
    paper: Paper, key: str, arguments: Mapping[str, Any], extra: Mapping[str, Any] | None = None
) -> dict[str, float]:
    """Arguments of a model as numbers. UserError that names the argument which has no value."""
    return {name: paper.evaluate(value, extra, f"{key}.{name}") for name, value in arguments.items()}


def check_arguments(paper: Paper, key: str, model: str, given: Mapping[str, Any]) -> None:
    """UserError for an argument that a model does not have, or one that it needs and that is not given."""
    if model not in models.MODELS:
        raise fault(paper, key, model, "a model", models.MODELS)
    needed = inspect.signature(models.MODELS[model]).parameters
    for name in given:
        if name not in needed:
            raise fault(paper, key, name, f"an argument of {model}", needed)
    for name, parameter in needed.items():
        if name not in given and parameter.default is parameter.empty:
            raise fault(paper, key, sorted(given), f"{name} among them, which {model} needs")


def compute(paper: Paper, key: str, model: str, arguments: Mapping[str, float]) -> float:
    """Result of a model; UserError where it has none for these arguments."""
    check_arguments(paper, f"{key}.arguments", model, arguments)
    try:
        found = float(models.MODELS[model](**arguments))
    except (ArithmeticError, ValueError, TypeError) as error:
        said = str(error) or type(error).__name__
        raise UserError(f"{shown(paper.path)}: {key}: {model} has no result for {dict(arguments)}: {said}") from None
    if not math.isfinite(found):
        raise UserError(f"{shown(paper.path)}: {key}: {model} gives no finite number for {dict(arguments)}")
    return found
