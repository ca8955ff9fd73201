"""A look at a block while it is measured: from what its journal holds to what the paper's claims are worth so far."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from whitewire.analysis import looks
from whitewire.description import project
from whitewire.description.paper import Paper
from whitewire.design.rows import effort_of
from whitewire.tidy import tables


def look_at(paper: Paper, testbed: Mapping[str, Any], block: Path, designed: Collection[str],
            unavailable: Mapping[str, str]) -> looks.Look:  # fmt: skip
    """The look at a paper's claims by the runs of a block's folder that the design has, `designed` by id.

    `paper` has the k of these runs, `testbed` is its description. `unavailable` are the runs that this machine cannot
    make, by id, and why.
    """
    runs, floors = tables_of(paper, block, designed)
    return looks.at_tables(paper, testbed, effort_of(block.name), runs, floors, unavailable, _seed())


def tables_of(paper: Paper, block: Path, designed: Collection[str] | None = None
              ) -> tuple[pd.DataFrame, pd.DataFrame]:  # fmt: skip
    """What tidy/runs.csv and tidy/floors.csv would say of one block's folder by now, of all runs or those by id."""
    return as_read(paper, *tables.so_far(paper, block, designed))


def as_read(paper: Paper, made: Sequence[tables.Cells], floors: Sequence[tables.Cells]
            ) -> tuple[pd.DataFrame, pd.DataFrame]:  # fmt: skip
    """Rows of tidy/runs.csv and tidy/floors.csv, as they come back from there."""
    columns = [*tables.RUN, *paper.factors, *tables.MEASURED]
    return _read(made, columns), _read(floors, tables.TABLES["floors.csv"])


@cache
def _seed() -> int:
    """The seed as it was at the first look."""
    return int(project.load_config()["seed"])


def _read(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> pd.DataFrame:
    """Rows as they come back from a CSV: what is empty is missing."""
    return pd.DataFrame(list(rows), columns=list(columns)).replace("", None)
