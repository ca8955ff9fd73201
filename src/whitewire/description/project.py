"""config.yaml, and which papers and testbeds there are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whitewire import budget
from whitewire.description.files import validate_by_schema
from whitewire.description.names import (
    CLAIM,
    check_budget,
    check_known,
    check_variables,
    paper_names,
    paper_of,
    papers_listed,
    testbeds,
)
from whitewire.description.reading import load_yaml
from whitewire.paths import root, shown

# --- the files --------------------------------------------------------------------------------------


def load_config(environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """`config/config.yaml`, overridden by PAPERS, TESTBED, EFFORT, BUDGET, LANES and OUTLIERS of the environment.

    `claim`: the claim that is measured alone, with its paper only; else empty.
    """
    path = root() / "config" / "config.yaml"
    config = load_yaml(path)
    validate_by_schema(config, "config", path)
    given = {name: value for name, value in (os.environ if environ is None else environ).items() if value}
    check_variables(given)
    for name in ("testbed", "effort", "outliers", "budget"):
        if name.upper() in given:
            config[name] = given[name.upper()]
    if "PAPERS" in given:
        config["papers"] = papers_listed(given["PAPERS"])
    if lanes := given.get("LANES"):
        config["lanes"] = lanes if lanes == "auto" else int(lanes)
    for index, paper in enumerate(config["papers"]):
        check_known(paper, paper_names(), f"{shown(path)}: papers[{index}]", "papers")
    check_known(config["testbed"], testbeds(), f"{shown(path)}: testbed", "testbeds")
    config.setdefault("outliers", "stop")
    config.setdefault("lanes", 1)
    config["budget"] = _budget(config.get("budget", budget.NONE), config["effort"], shown(path))
    config["claim"] = given.get(CLAIM, "")
    if config["claim"]:
        config["papers"] = [paper_of(config["claim"], papers_listed(given.get("PAPERS", "")))]
    return config


def _budget(value: Any, effort: str, source: str) -> str:
    """The budget of an effort as its text; UserError with one line where it is no time."""
    text = value.get(effort, budget.NONE) if isinstance(value, Mapping) else str(value)
    check_budget(text, f"{source}: budget.{effort}" if isinstance(value, Mapping) else source)
    return text


def is_paper(name: str) -> bool:
    """Whether a paper of that name has a file."""
    return name in paper_names()


def paper_path(name: str) -> Path:
    """The file of a paper."""
    check_known(name, paper_names(), "paper", "papers")
    return root() / "config" / "papers" / f"{name}.yaml"


def document_path(name: str) -> Path:
    """The document of a paper, which need not be there."""
    return root() / "paper" / f"{name}.qmd"


def testbed_path(name: str) -> Path:
    """The file of a testbed."""
    check_known(name, testbeds(), "testbed", "testbeds")
    return root() / "config" / "testbeds" / f"{name}.yaml"
