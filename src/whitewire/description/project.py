"""config.yaml, and which papers and testbeds there are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whitewire import budget
from whitewire.description.files import validate_by_schema
from whitewire.description.names import CLAIM, check_budget, check_known, paper_names, paper_of, papers_listed, testbeds
from whitewire.description.reading import load_yaml
from whitewire.paths import root, shown

# --- the files --------------------------------------------------------------------------------------


def load_config(environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """`config/config.yaml`, overridden by PAPERS, TESTBED, EFFORT, BUDGET, LANES and OUTLIERS of the environment.

    `claim`: the claim that is measured alone, with its paper only; else empty.
    """
    environ = os.environ if environ is None else environ
    path = root() / "config" / "config.yaml"
    config = load_yaml(path)
    validate_by_schema(config, "config", path)
    for name in ("testbed", "effort"):
        if environ.get(name.upper()):
            config[name] = environ[name.upper()]
            validate_by_schema(config, "config", f"{name.upper()}={config[name]}")
    if environ.get("PAPERS"):
        config["papers"] = papers_listed(environ["PAPERS"])
        validate_by_schema(config, "config", f"PAPERS={environ['PAPERS']}")
    source = f"PAPERS={environ['PAPERS']}" if environ.get("PAPERS") else shown(path)
    for index, paper in enumerate(config["papers"]):
        check_known(paper, paper_names(), f"{source}: papers[{index}]", "papers")
    source = f"TESTBED={environ['TESTBED']}" if environ.get("TESTBED") else shown(path)
    check_known(config["testbed"], testbeds(), f"{source}: testbed", "testbeds")
    if environ.get("OUTLIERS"):
        config["outliers"] = environ["OUTLIERS"]
        validate_by_schema(config, "config", f"OUTLIERS={config['outliers']}")
    config.setdefault("outliers", "stop")
    if lanes := environ.get("LANES"):
        config["lanes"] = int(lanes) if lanes.isascii() and lanes.isdecimal() and len(lanes) < 6 else lanes
        validate_by_schema(config, "config", f"LANES={lanes}")
    config.setdefault("lanes", 1)
    source = shown(path)
    if environ.get("BUDGET"):
        config["budget"], source = environ["BUDGET"], f"BUDGET={environ['BUDGET']}"
    config["budget"] = _budget(config.get("budget", budget.NONE), config["effort"], source)
    config["claim"] = environ.get(CLAIM, "")
    if config["claim"]:
        config["papers"] = [paper_of(config["claim"], papers_listed(environ.get("PAPERS", "")))]
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
