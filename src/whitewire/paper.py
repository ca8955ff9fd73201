"""A paper's YAML as an object: valid in form, and every name in it known."""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import simpleeval

from whitewire.config import load_yaml, shown, suggestion, validate
from whitewire.errors import UserError
from whitewire.workloads import hibench

FUNCTIONS = {"max": max, "min": min, "abs": abs, "round": round}
STRUCTURAL = {"fabric", "clients", "puts_per_client", "settings", "switch_buffer_kib", "file_blocks", "store", "nodes",
              "offloads", "splits", "program", "profile", "k", "packet_bytes"}  # fmt: skip
"""Factors that need no parameter or hardware entry of their name."""


@dataclass(frozen=True)
class Paper:
    """A checked paper. `raw` is the YAML as read; `path` its file."""

    raw: Mapping[str, Any]
    path: Path

    @property
    def id(self) -> str:
        return self.raw["id"]

    @property
    def claims(self) -> list[dict[str, Any]]:
        return self.raw["claims"]

    @property
    def audit(self) -> list[dict[str, Any]]:
        return self.raw.get("audit", [])

    @cached_property
    def experiments(self) -> dict[str, dict[str, Any]]:
        """The experiments by id, and after them each control as one of its own, with the single cell that it runs."""
        listed = {e["id"]: e for e in self.raw.get("experiments", [])}
        made = [control for control in self.controls if control["cell"]["experiment"] in listed]
        return listed | {
            control["id"]: _as_experiment(control, listed[control["cell"]["experiment"]]) for control in made
        }

    @property
    def controls(self) -> list[dict[str, Any]]:
        return self.raw.get("controls", [])

    @cached_property
    def factors(self) -> list[str]:
        """Names of all factors, in the order of first use: the factor columns of every table."""
        return list(dict.fromkeys(f for e in self.experiments.values() for f in e["factors"]))

    @cached_property
    def names(self) -> dict[str, Any]:
        """What an expression may name: values (`E_V07`) and constants."""
        names = {v["id"].replace("-", "_"): v["value"] for v in self.raw["values"]}
        return names | {n: c["value"] for n, c in self.raw.get("constants", {}).items()}

    def evaluate(self, expression: float | str, extra: Mapping[str, Any] | None = None) -> float:
        """A number, or the value of an expression over the paper's values; UserError when it has none."""
        if isinstance(expression, int | float):
            return float(expression)
        names = self.names | dict(extra or {})
        try:
            result = float(simpleeval.simple_eval(expression, names=names, functions=FUNCTIONS))
        except simpleeval.NameNotDefined as error:
            name = str(getattr(error, "name", "")) or str(error)
            raise UserError(
                f"{shown(self.path)}: expression {expression!r}: found {name!r}, expected a value id "
                f"or a constant{suggestion(name, names)}"
            ) from None
        except Exception as error:
            raise UserError(f"{shown(self.path)}: expression {expression!r}: {error}") from None
        return result

    def parameters(self, experiment: str, levels: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters of a run at full scale: those of the experiment, replaced by the levels it really has."""
        own = {k: v for k, v in self.really(experiment, levels).items() if v != "" and v is not None}
        store = self.store(experiment, levels)
        return dict(self.experiments[experiment]["parameters"]) | own | _replicas(store)

    def roles(self, experiment: str, levels: Mapping[str, Any]) -> dict[str, int]:
        """How many hosts of each role a run needs on an emulated testbed; its level of `nodes` counts the workers."""
        roles = dict(self.experiments[experiment]["roles"])
        return roles | ({"datanode": levels["nodes"]} if "nodes" in levels else {})

    def store(self, experiment: str, levels: Mapping[str, Any]) -> dict[str, Any]:
        """The file system of a run, at full scale: that of its level of the factor `store`, else HDFS."""
        store = self.really(experiment, levels).get("store")
        return self.experiments[experiment].get("stores", {}).get(store, {"kind": "hdfs"})

    def really(self, experiment: str, levels: Mapping[str, Any]) -> dict[str, Any]:
        """The levels that a run is made with: those that it bears, but in a control some others."""
        return {**levels, **self.experiments[experiment].get("control", {}).get("really", {})}

    def origin(self, experiment: str) -> str:
        """The experiment whose cell a control repeats; of any other experiment itself."""
        control = self.experiments[experiment].get("control")
        return control["cell"]["experiment"] if control else experiment

    def family(self, experiment: str) -> list[str]:
        """An experiment and its controls, whose runs scatter alike."""
        origin = self.origin(experiment)
        return [name for name in self.experiments if self.origin(name) == origin]


CONTROL_EFFORTS = ("quick", "full")
"""Efforts at which controls are run; smoke shows that all of it works, not what it measures."""


def _as_experiment(control: Mapping[str, Any], origin: Mapping[str, Any]) -> dict[str, Any]:
    """A control as an experiment: its origin's, with the one cell whose name its runs bear."""
    kept = {key: value for key, value in origin.items() if key not in ("only", "smoke_cells")}
    efforts = [effort for effort in CONTROL_EFFORTS if effort in origin.get("efforts", CONTROL_EFFORTS)]
    factors = {factor: [level] for factor, level in control["cell"]["where"].items()}
    own = {"id": control["id"], "title": control["title"], "factors": factors, "efforts": efforts, "control": control}
    return kept | own


def against(control: Mapping[str, Any]) -> dict[str, Any]:
    """Levels of the cell that a control is compared with: what it really is; of a known ratio, whose name it bears."""
    where = control["cell"]["where"]
    return where if "expected" in control else {**where, **control["really"]}


def ratio_of(control: Mapping[str, Any]) -> dict[str, Any]:
    """A control as a test: the runs of the control over those of the cell that it is compared with."""
    experiment, expected = control["cell"]["experiment"], control.get("expected", 1)
    return {
        "estimand": "ratio", "metric": control["metric"], "relation": "equal", "expected": expected,
        "no_effect": expected, "numerator": {"experiment": control["id"], "where": control["cell"]["where"]},
        "denominator": {"experiment": experiment, "where": against(control)},
    }  # fmt: skip


def without_servers(roles: Mapping[str, int]) -> dict[str, int]:
    """Roles less those of a parallel file system: where no run mounts one, or where it is the site's own."""
    return {role: count for role, count in roles.items() if role not in ("mds", "oss")}


def _replicas(store: Mapping[str, Any]) -> dict[str, Any]:
    return {"replication": store["replication"]} if "replication" in store else {}


def cells_of(experiment: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every combination of an experiment's levels, in the order of its factors."""
    factors, only = experiment["factors"], experiment.get("only", [{}])
    cells = [dict(zip(factors, levels, strict=True)) for levels in itertools.product(*factors.values())]
    return [cell for cell in cells if any(wanted.items() <= cell.items() for wanted in only)]


def cells_in(test: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """(experiment, levels) of every cell that a test needs; a `count` needs no cell in particular."""
    kind = test["estimand"]
    if kind in ("expression", "model", "none", "count"):
        return []
    if kind == "ratio":
        found = [test["numerator"], test["denominator"]]
    elif kind == "share":
        found = [test["cell"]]
    elif kind == "ratio_of_ratios":
        found = [test[a][b] for a in ("numerator", "denominator") for b in ("numerator", "denominator")]
    elif kind == "maximum_ratio":
        found = [
            {**test[side], "where": {**test[side]["where"], **levels}}
            for levels in test["cells"]
            for side in ("numerator", "denominator")
        ]
    else:
        found = [
            {**test["cell"], "where": {**test["cell"]["where"], test["factor"]: level}} for level in test["levels"]
        ]
    return [(cell["experiment"], cell["where"]) for cell in found]


def pairs_in(test: Mapping[str, Any]) -> list[tuple[tuple[str, dict[str, Any]], tuple[str, dict[str, Any]]]]:
    """Pairs of (experiment, levels) that a test sets side by side; of a curve, each of its cells with the first."""
    cells = cells_in(test)
    if test["estimand"] in ("ratio", "ratio_of_ratios", "maximum_ratio"):
        return list(zip(cells[::2], cells[1::2], strict=True))
    return [(cell, cells[0]) for cell in cells[1:]]


def tests_of(claim: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The judging test of a claim, then those of its further readings."""
    yield claim["test"]
    for reading in claim.get("readings", []):
        yield reading["test"]


def experiments_asked(paper: Paper, wanted: Collection[str]) -> set[str]:
    """Experiments on one of whose `wanted` metrics a verdict, a control or an inverse question rests."""
    asked = [(test, cells_in(test)) for claim in paper.claims for test in tests_of(claim)]
    asked += [(control, [(control["cell"]["experiment"], {})]) for control in paper.controls]
    asked += [(c["inverse"], [(c["inverse"]["experiment"], {})]) for c in paper.claims if "inverse" in c]
    found = set()
    for asking, cells in asked:
        sides = [asking[side] for side in ("numerator", "denominator") if side in asking]
        metrics = {asking.get("metric"), *asking.get("also", ()), *(side.get("metric") for side in sides)}
        if metrics & set(wanted):
            found |= {name for name, _ in cells}
    return found


def load_paper(path: Path | str, fabrics: Iterable[str]) -> Paper:
    """Read, validate and cross-check a paper against the names of a testbed's fabrics.

    Raises UserError with one line: file, key, found, expected and the nearest valid name.
    """
    path = Path(path)
    data = load_yaml(path)
    validate(data, "paper", path)
    paper = Paper(data, path)
    _cross_check(paper, list(fabrics))
    return paper


def _fault(paper: Paper, key: str, found: object, expected: str, names: Iterable[str] = ()) -> UserError:
    names = [str(n) for n in names]
    shown_found = json.dumps(found, ensure_ascii=False, default=str)
    return UserError(f"{shown(paper.path)}: {key}: found {shown_found}, expected {expected}{suggestion(found, names)}")


def _cross_check(paper: Paper, fabrics: list[str]) -> None:
    raw = paper.raw
    for part in ("exhibits", "values", "claims", "audit", "experiments", "controls"):
        seen: set[str] = set()
        for index, entry in enumerate(raw.get(part, [])):
            if entry["id"] in seen:
                raise _fault(paper, f"{part}[{index}].id", entry["id"], "every id only once")
            seen.add(entry["id"])
    exhibits = [e["id"] for e in raw["exhibits"]] + ["text"]
    for index, value in enumerate(raw["values"]):
        if value["exhibit"] not in exhibits:
            key = f"values[{index}].exhibit"
            raise _fault(paper, key, value["exhibit"], "the id of an exhibit, or text", exhibits)
    for index, experiment in enumerate(raw.get("experiments", [])):
        _check_experiment(paper, f"experiments[{index}]", experiment, fabrics)
    for index, control in enumerate(paper.controls):
        _check_control(paper, f"controls[{index}] ({control['id']})", control)
    for index, bias in enumerate(paper.raw.get("biases", [])):
        _check_bias(paper, f"biases[{index}]", bias)
    audits = [a["id"] for a in paper.audit]
    for index, claim in enumerate(paper.claims):
        key = f"claims[{index}] ({claim['id']})"
        for name in claim["exhibits"]:
            if name not in exhibits:
                raise _fault(paper, f"{key}.exhibits", name, "the id of an exhibit, or text", exhibits)
        if "audit" in claim and claim["audit"] not in audits:
            raise _fault(paper, f"{key}.audit", claim["audit"], "the id of an audit entry", audits)
        _check_routes(paper, key, claim)
        if "inverse" in claim:
            _check_inverse(paper, f"{key}.inverse", claim["inverse"])
        for test in tests_of(claim):
            _check_test(paper, f"{key}.test", test, fabrics)
    if raw.get("finding", raw["claims"][0]["id"]) not in [claim["id"] for claim in paper.claims]:
        raise _fault(paper, "finding", raw["finding"], "the id of a claim", [claim["id"] for claim in paper.claims])
    for index, entry in enumerate(paper.audit):
        _check_audit(paper, f"audit[{index}] ({entry['id']})", entry)


def _check_experiment(paper: Paper, key: str, experiment: Mapping[str, Any], fabrics: list[str]) -> None:
    factors, parameters = experiment["factors"], experiment["parameters"]
    missing = experiment.get("missing_fabrics", "error")
    for level in factors.get("fabric", []):
        if level not in fabrics and missing == "error":
            raise _fault(paper, f"{key}.factors.fabric", level, "a fabric of the testbed", fabrics)
    for name in ("fabric", "load_fabric"):
        if name in parameters and parameters[name] not in fabrics:
            where = f"{key}.parameters.{name}"
            raise _fault(paper, where, parameters[name], "a fabric of the testbed", fabrics)
    known = STRUCTURAL | set(parameters) | set(experiment.get("hardware", {}).get("drive", {}))
    for factor in factors:
        if factor not in known:
            raise _fault(paper, f"{key}.factors", factor, "a parameter or a hardware entry", known)
    for level in factors.get("settings", []):
        if level not in experiment.get("settings", {}):
            raise _fault(paper, f"{key}.factors.settings", level, "a key of settings", experiment.get("settings", {}))
    for level in factors.get("store", []):
        if level not in experiment.get("stores", {}):
            raise _fault(paper, f"{key}.factors.store", level, "a key of stores", experiment.get("stores", {}))
    for cell in experiment.get("only", []):
        _check_levels(paper, f"{key}.only", experiment, cell, whole=False)
    for cell in experiment.get("smoke_cells", []):
        _check_levels(paper, f"{key}.smoke_cells", experiment, cell, whole=True)
    if experiment["workload"] == "hibench":
        _check_hibench(paper, key, experiment)
        return
    size = "file_size_bytes" if experiment["workload"] in ("hdfs_put", "rereplicate") else "size_bytes"
    if size not in parameters:
        raise _fault(paper, f"{key}.parameters", sorted(parameters), f"{size} among them", parameters)
    if size == "size_bytes" and "scale" not in experiment and not experiment.get("whole_file"):
        raise _fault(paper, f"{key}.scale", None, "k, bytes and splits for this workload")
    if size == "file_size_bytes" and "file_blocks" not in paper.raw.get("scale", {}):
        raise _fault(paper, "scale.file_blocks", None, f"blocks of a file by effort, for {experiment['id']}")
    if experiment.get("whole_file") and "file_blocks" in experiment:
        raise _fault(paper, f"{key}.file_blocks", experiment["file_blocks"], "nothing beside whole_file")


PLACES = ("fabric", "store")
"""Factors that say where a run's bytes go: a control may bear one level of them and run on another."""


def _check_cell(paper: Paper, key: str, cell: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """A whole cell of a listed experiment; returns these by id."""
    listed = {e["id"]: e for e in paper.raw.get("experiments", [])}
    if cell["experiment"] not in listed:
        raise _fault(paper, f"{key}.experiment", cell["experiment"], "the id of an experiment", listed)
    _check_levels(paper, f"{key}.where", listed[cell["experiment"]], cell["where"], whole=True)
    return listed


def _check_control(paper: Paper, key: str, control: Mapping[str, Any]) -> None:
    listed = _check_cell(paper, f"{key}.cell", control["cell"])
    name, where, really = control["cell"]["experiment"], control["cell"]["where"], control["really"]
    if control["id"] in listed:
        raise _fault(paper, f"{key}.id", control["id"], "an id that no experiment has")
    for factor in really:
        if factor not in PLACES:
            raise _fault(paper, f"{key}.really", factor, f"one of {', '.join(PLACES)}", PLACES)
    if "store" in really and really["store"] not in listed[name].get("stores", {}):
        raise _fault(paper, f"{key}.really.store", really["store"], "a key of stores", listed[name].get("stores", {}))
    if all(where.get(factor) == level for factor, level in really.items()):
        raise _fault(paper, f"{key}.really", really, "another level than that of the cell")
    if against(control) not in cells_of(listed[name]):
        raise _fault(paper, f"{key}.cell", against(control), f"a cell of {name}, to compare the control with")


def _check_bias(paper: Paper, key: str, bias: Mapping[str, Any]) -> None:
    _check_cell(paper, f"{key}.cell", bias["cell"])
    if bias["lower"] > bias["upper"]:
        raise _fault(paper, f"{key}.lower", bias["lower"], f"no more than upper, {bias['upper']}")


def _check_hibench(paper: Paper, key: str, experiment: Mapping[str, Any]) -> None:
    """What its program is, only the testbed's own tree may know; its profiles are HiBench's."""
    factors, parameters = experiment["factors"], experiment["parameters"]
    for name in ("program", "profile", "maps", "reduces", "block_size_bytes"):
        if name not in parameters and name not in factors:
            raise _fault(paper, f"{key}.parameters", sorted(parameters), f"{name} among them", parameters)
    for profile in [*factors.get("profile", []), *([parameters["profile"]] if "profile" in parameters else [])]:
        if profile not in hibench.PROFILES:
            expected = f"one of {', '.join(hibench.PROFILES)}"
            raise _fault(paper, f"{key}.parameters.profile", profile, expected, hibench.PROFILES)
    if "scale" not in experiment:
        raise _fault(paper, f"{key}.scale", None, "k, bytes and splits for this workload")


def _check_levels(
    paper: Paper, key: str, experiment: Mapping[str, Any], levels: Mapping[str, Any], whole: bool
) -> None:
    factors = experiment["factors"]
    for factor, level in levels.items():
        if factor not in factors:
            raise _fault(paper, key, factor, f"a factor of experiment {experiment['id']}", factors)
        if level not in factors[factor]:
            raise _fault(paper, f"{key}.{factor}", level, f"a level of {factor}", map(str, factors[factor]))
    lacking = [f for f in factors if f not in levels]
    if whole and lacking:
        raise _fault(paper, key, levels, f"a level of {lacking[0]} too")


def _check_routes(paper: Paper, key: str, claim: Mapping[str, Any]) -> None:
    kind, routes = claim["test"]["estimand"], claim["routes"]
    allowed = {
        "none": ["not_testable"],
        "expression": ["arithmetic"],
        "model": ["modelled"],
        "count": ["emulated", "measured"],
    }.get(kind, ["emulated", "measured", "modelled"])
    for route in routes:
        if route not in allowed:
            raise _fault(paper, f"{key}.routes", route, f"one of {', '.join(allowed)} for estimand {kind}", allowed)


def _check_test(paper: Paper, key: str, test: Mapping[str, Any], fabrics: list[str]) -> None:
    if "expected" in test:
        paper.evaluate(test["expected"])
    if test["estimand"] == "expression":
        paper.evaluate(test["expression"])
    if test.get("relation") == "within" and not (
        {"relative", "absolute"} & set(test) or {"lower", "upper"} <= set(test)
    ):
        raise _fault(paper, key, "within", "relative, absolute, or lower and upper beside it")
    for name, value in test.get("arguments", {}).items():
        paper.evaluate(value)
        _check_argument(paper, key, test["model"], name)
    over = test.get("over", {})
    if over and ("constant" in over) == ("link_of" in over):
        raise _fault(paper, f"{key}.over", over, "either constant or link_of")
    if "link_of" in over and over["link_of"] not in fabrics:
        raise _fault(paper, f"{key}.over.link_of", over["link_of"], "a fabric of the testbed", fabrics)
    needed = cells_in(test)
    if test["estimand"] == "count":
        needed = [(c["experiment"], c["where"]) for c in test["cells"]]
    for name, levels in needed:
        if name not in paper.experiments:
            raise _fault(paper, f"{key}.experiment", name, "the id of an experiment", paper.experiments)
        whole = test["estimand"] != "count"
        _check_levels(paper, f"{key}.where", paper.experiments[name], levels, whole)


def _check_inverse(paper: Paper, key: str, inverse: Mapping[str, Any]) -> None:
    if inverse["experiment"] not in paper.experiments:
        raise _fault(paper, f"{key}.experiment", inverse["experiment"], "the id of an experiment", paper.experiments)
    experiment = paper.experiments[inverse["experiment"]]
    levels = dict(inverse.get("where", {})) | {inverse["factor"]: inverse["from"]}
    _check_levels(paper, f"{key}.where", experiment, levels, whole=True)
    for value in (inverse["effect"], *inverse["plausible"]):
        paper.evaluate(value)


def _check_argument(paper: Paper, key: str, model: str, name: str) -> None:
    import inspect

    from whitewire.models import MODELS

    names = list(inspect.signature(MODELS[model]).parameters)
    if name not in names:
        raise _fault(paper, f"{key}.arguments", name, f"an argument of {model}", names)


def _check_audit(paper: Paper, key: str, entry: Mapping[str, Any]) -> None:
    models = 0
    for check in entry.get("checks", []):
        if ("expression" in check) == ("model" in check):
            raise _fault(paper, f"{key}.checks", check, "either expression or model")
        if "model" in check:
            models += 1
            for name, value in check.get("arguments", {}).items():
                paper.evaluate(value)
                _check_argument(paper, key, check["model"], name)
        else:
            paper.evaluate(check["expression"], {f"model_{n + 1}": 0.5 for n in range(models)})
        if "printed" in check:
            paper.evaluate(check["printed"])
