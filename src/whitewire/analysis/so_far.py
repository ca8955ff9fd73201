"""A look at a block while it is measured: from what its journal holds to what the paper's claims are worth so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from whitewire.analysis import looks
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.tidy import tables


def looker(paper: str, testbed: str) -> Callable[[Path, str], looks.Look]:
    """What looks at a paper's claims: from the folder of its results and the name of a block."""
    description = load_testbed(testbed)
    loaded = load_paper(project.paper_path(paper), fabric_names(description))
    seed = project.load_config()["seed"]

    def look_at(results: Path, block: str) -> looks.Look:
        made, floors = tables.so_far(loaded, results / "raw" / block)
        columns = [*tables.RUN, *loaded.factors, *tables.MEASURED]
        return looks.at_tables(
            loaded, description, block.rsplit("-", 1)[0], _read(made, columns),
            _read(floors, tables.TABLES["floors.csv"]), seed=seed,
        )  # fmt: skip

    return look_at


def _read(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> pd.DataFrame:
    """Rows as they come back from a CSV: what is empty is missing."""
    return pd.DataFrame(list(rows), columns=list(columns)).replace("", None)
