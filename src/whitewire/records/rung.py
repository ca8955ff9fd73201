"""scale.json of a paper's raw results: which k of the paper's ladders its runs have. Pure but for reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NotRequired, TypedDict

from whitewire.errors import UserError
from whitewire.paths import shown
from whitewire.records import schema
from whitewire.records.schema import Broken

FILE = "scale.json"
"""In raw/ of a paper's results."""


class RungRecord(TypedDict):
    """scale.json: the rung, from 0, and what was tried."""

    rung: int
    tried: NotRequired[list[dict[str, Any]]]


def recorded(raw: Path, rungs: int | None = None) -> int | None:
    """The rung of a paper's results, one of so many; None where there is no record of it.

    Raises UserError for a record that is broken: runs of another k would come beside those that are there.
    """
    path = raw / FILE
    if not path.exists() and not path.is_symlink():
        return None
    try:
        record: RungRecord = schema.load(path, RungRecord)
        if why := beyond(record["rung"], rungs):
            raise Broken(why)
    except Broken as broken:
        raise UserError(
            f'{shown(path)}: {broken}; write {{"rung": 0}} (0: the first k) or that of the runs beside it, or remove '
            "it and them"
        ) from None
    return record["rung"]


def beyond(rung: int, rungs: int | None = None) -> str:
    """What is wrong with the number of a rung, of which there are so many; empty: nothing."""
    if rung >= 0 and (rungs is None or rung < rungs):
        return ""
    return f"rung: found {rung}, expected " + ("0 or more" if rungs is None else f"one from 0 to {rungs - 1}")
