"""A look at a block while it is measured: from what its journal holds to what the paper's claims are worth so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from whitewire.analysis import looks
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.tidy import tables


def look_at(paper: str, testbed: str, results: Path, block: str) -> looks.Look:
    """The look at a paper's claims by the runs of a block; `results` is the folder of the paper's results."""
    loaded, description, seed = _described(paper, testbed)
    runs, floors = tables_of(loaded, results / "raw" / block)
    return looks.at_tables(loaded, description, block.rsplit("-", 1)[0], runs, floors, seed=seed)


def tables_of(paper: Paper, block: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What tidy/runs.csv and tidy/floors.csv would say of one block's folder by now."""
    made, floors = tables.so_far(paper, block)
    columns = [*tables.RUN, *paper.factors, *tables.MEASURED]
    return _read(made, columns), _read(floors, tables.TABLES["floors.csv"])


@cache
def _described(paper: str, testbed: str) -> tuple[Paper, Mapping[str, Any], int]:
    """A paper, its testbed and the seed, as they were at the first look."""
    description = load_testbed(testbed)
    loaded = load_paper(project.paper_path(paper), fabric_names(description))
    return loaded, description, project.load_config()["seed"]


def _read(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> pd.DataFrame:
    """Rows as they come back from a CSV: what is empty is missing."""
    return pd.DataFrame(list(rows), columns=list(columns)).replace("", None)
