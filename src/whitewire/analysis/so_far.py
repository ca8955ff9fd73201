"""A look at a block while it is measured: from what its journal holds to what the paper's claims are worth so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from whitewire.analysis.looks import Look, look
from whitewire.analysis.runs import Runs
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.testbed import fabric_names, is_emulated, load_testbed
from whitewire.design.scale import Scale, scale_of
from whitewire.tidy import tables


def looker(paper: str, testbed: str) -> Callable[[Path, str], Look]:
    """What looks at a paper's claims: from the folder of its results and the name of a block."""
    description = load_testbed(testbed)
    loaded = load_paper(project.paper_path(paper), fabric_names(description))
    seed = project.load_config()["seed"]

    def look_at(results: Path, block: str) -> Look:
        made, floors = tables.so_far(loaded, results / "raw" / block)
        table = pd.DataFrame(made, columns=[*tables.RUN, *loaded.factors, *tables.MEASURED]).replace("", None)
        effort = block.rsplit("-", 1)[0]

        def scaling(name: str, levels: Mapping[str, Any]) -> Scale:
            return scale_of(loaded, name, effort, levels, description)

        runs = Runs(table, loaded, seed, loaded.raw["scale"]["k"], None, description["fabrics"],
                    pd.DataFrame(floors, columns=tables.TABLES["floors.csv"]).replace("", None), scaling,
                    loaded.looks(effort))  # fmt: skip
        return look(loaded, runs, "emulated" if is_emulated(description) else "measured")

    return look_at
