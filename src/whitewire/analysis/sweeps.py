"""Named models over ranges of their arguments: the curves and tables that a report draws beside the runs.

A paper's YAML lists them under `sweeps`; nothing here is measured and no claim is judged from it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from whitewire.description.claim_checks import compute, evaluated
from whitewire.description.faults import fault, fault_in_words
from whitewire.description.paper import Paper
from whitewire.levels import level_text

MOST_ROWS = 10_000
"""Most rows of one sweep."""
_COLUMNS = ["paper", "sweep", "title", "model", "arguments", "value", "unit"]


def sweeps_table(paper: Paper) -> pd.DataFrame:
    """analysis/sweeps.csv: one row per combination of the varied arguments, with a column for each of these.

    An argument is a number or an expression over the paper's values; a varied argument replaces a fixed one of its
    name. A sweep that names an experiment may use its parameters and, as `drive_…`, the parameters of its drives.
    """
    sweeps = paper.raw.get("sweeps", [])
    varied = list(dict.fromkeys(name for sweep in sweeps for name in sweep["vary"]))
    rows = [row for sweep in sweeps for row in _rows(paper, sweep)]
    return pd.DataFrame(rows, columns=[*_COLUMNS, *varied])


def check_sweeps(paper: Paper) -> None:
    """Raise UserError for a sweep that cannot be computed."""
    sweeps_table(paper)


def _rows(paper: Paper, sweep: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    own = _own_names(paper, sweep)
    key = f"sweeps ({sweep['id']})"
    levels = {
        name: [paper.evaluate(value, own, f"{key}.vary.{name}") for value in values]
        for name, values in sweep["vary"].items()
    }
    fixed = {name: value for name, value in sweep.get("arguments", {}).items() if name not in levels}
    fixed = evaluated(paper, f"{key}.arguments", fixed, own)
    points = math.prod(map(len, levels.values()))
    if points > MOST_ROWS:
        raise fault_in_words(paper, f"{key}.vary", f"{points} combinations of values", f"at most {MOST_ROWS}")
    listed = ", ".join(f"{name}={level_text(value)}" for name, value in fixed.items())
    base = {"paper": paper.id, "sweep": sweep["id"], "title": sweep["title"], "model": sweep["model"]}
    for point in itertools.product(*levels.values()):
        chosen = dict(zip(levels, point, strict=True))
        value = compute(paper, key, sweep["model"], {**fixed, **chosen})
        yield base | {"arguments": listed, "value": value, "unit": sweep["unit"]} | chosen


def _own_names(paper: Paper, sweep: Mapping[str, Any]) -> dict[str, Any]:
    """Names that expressions of a sweep may use, besides the paper's values."""
    name = sweep.get("experiment")
    if name is None:
        return {}
    if name not in paper.experiments:
        raise fault(paper, f"sweeps ({sweep['id']}).experiment", name, "the id of an experiment", paper.experiments)
    experiment = paper.experiments[name]
    drive = experiment.get("hardware", {}).get("drive", {})
    return dict(experiment["parameters"]) | {f"drive_{key}": value for key, value in drive.items()}
