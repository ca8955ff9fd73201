"""An interim analysis of a block: from what its journal holds to what the paper's claims are worth so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd

from whitewire.analysis import interim, prospects
from whitewire.analysis.runs import on_testbed, status_on
from whitewire.description import project
from whitewire.description.paper import Paper
from whitewire.design.rows import effort_of
from whitewire.levels import CellId
from whitewire.tidy import columns, tables


def judge_so_far(paper: Paper, testbed: Mapping[str, Any], block: Path, designed: Mapping[str, str],
                 unavailable: Mapping[CellId, str], *, only: str = "") -> interim.Interim:  # fmt: skip
    """The interim analysis of a paper's claims (or of one, `only`) by the existing runs of this block and those beside
    it.

    `designed`: run id → block; `paper` has the k of these runs, and runs of another k do not count; `testbed` is its
    description; `unavailable`: cell → why this machine cannot make it.
    """
    ids: dict[str, set[str]] = {block.name: set()}
    for run_id, name in designed.items():
        ids.setdefault(name, set()).add(run_id)
    read = [tables.so_far(paper, block.parent / name, own, testbed) for name, own in ids.items()]
    runs, overheads = as_read(
        paper, [row for rows, _ in read for row in rows], [row for _, rows in read for row in rows]
    )
    effort = effort_of(block.name)
    table = on_testbed(paper, testbed, effort, runs, overheads, unavailable, _seed())
    seconds = partial(prospects.seconds, paper, testbed, effort)
    return interim.judge_interim(paper, table, status_on(testbed), seconds, only)


def as_read(paper: Paper, made: Sequence[tables.Cells], overheads: Sequence[tables.Cells]
            ) -> tuple[pd.DataFrame, pd.DataFrame]:  # fmt: skip
    """Rows of tidy/runs.csv and tidy/floors.csv with the types that they have when read from CSV."""
    own = columns.of_runs(paper.factors, lanes=any(columns.LANE in row for row in made))
    return _read(made, own), _read(overheads, tables.TABLES["floors.csv"])


@cache
def _seed() -> int:
    """The seed as it was at the first interim analysis."""
    return int(project.load_config()["seed"])


def _read(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> pd.DataFrame:
    """Rows as read from CSV: empty cells are missing."""
    return pd.DataFrame(list(rows), columns=list(columns)).replace("", None)
