"""One claim alone: its cells and those of its controls, and the claims that a start for it alone leaves uneven.
Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from whitewire.analysis import controls
from whitewire.description.paper import Paper, ratio_of
from whitewire.design.rows import cell_of, counts
from whitewire.errors import UserError
from whitewire.estimands import estimand_of
from whitewire.levels import CellId, cell_id, cell_ids
from whitewire.records.run import DesignRow
from whitewire.text import quoted, suggestion


def claim_of(paper: Paper, name: str) -> Mapping[str, Any]:
    """A claim of a paper by its id. Raises UserError."""
    for claim in paper.claims:
        if claim["id"] == name:
            return claim
    near = suggestion(name, [claim["id"] for claim in paper.claims])
    raise UserError(f"CLAIM={name}: found {quoted(name)}, expected the id of a claim of {paper.id}{near}")


def own_cells(paper: Paper, name: str) -> set[CellId]:
    """The cells that a claim rests on, each with a level of every factor."""
    needed = estimand_of(claim_of(paper, name)["test"]).needed()
    return cell_ids(each for cell in needed for each in paper.matched(*cell))


def cells(paper: Paper, name: str) -> set[CellId]:
    """The cells of a claim and those of the controls that cover it."""
    test = claim_of(paper, name)["test"]
    covering = (each for each in paper.controls
                if any(controls.covers(paper, each, metric, test) for metric in controls.metrics(each)))  # fmt: skip
    beside = (cell for control in covering for cell in estimand_of(ratio_of(control)).cells())
    return own_cells(paper, name) | cell_ids(beside)


def rows_of_claim(paper: Paper, name: str, rows: Sequence[DesignRow]) -> list[DesignRow]:
    """The rows of a design that are of a claim's cells or of its controls'."""
    wanted = cells(paper, name)
    return [row for row in rows if cell_of(paper, row) in wanted]


def made_at(paper: Paper, name: str) -> list[str]:
    """The efforts that make runs of all cells that a claim needs."""
    needed = [cell_ids(paper.matched(*cell)) for cell in estimand_of(claim_of(paper, name)["test"]).needed()]
    made = {effort: {cell_id(experiment["id"], levels) for experiment, levels, count in counts(paper, effort) if count}
            for effort in paper.raw.get("replicates", ())}  # fmt: skip
    return [effort for effort, known in made.items() if all(known & alike for alike in needed)]


def why_not_made(paper: Paper, name: str, effort: str) -> str:
    """That an effort does not make all cells of a claim, and which one does; empty if it does."""
    makes = made_at(paper, name)
    if effort in makes:
        return ""
    return f"effort {effort} does not make all its cells" + (f"; EFFORT={makes[0]} does" if makes else "")


def mixed(paper: Paper, name: str, alone: Iterable[str]) -> list[str]:
    """Claims measured `alone` whose runs are only part of another claim's cells, so that this claim compares runs of
    several starts."""
    own = own_cells(paper, name)
    known = {claim["id"] for claim in paper.claims}
    return [each for each in alone if each in known and own & (theirs := cells(paper, each)) and not own <= theirs]
