"""scale.json of a paper's raw results: which scale candidate its runs have. Pure but for reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NotRequired, TypedDict

from whitewire.errors import UserError
from whitewire.paths import shown
from whitewire.records import schema
from whitewire.records.schema import Broken

FILE = "scale.json"
"""In raw/ of a paper's results."""


class CandidateRecord(TypedDict):
    """scale.json: the index of the scale candidate, and what was tried."""

    rung: int
    tried: NotRequired[list[dict[str, Any]]]


def recorded(raw: Path, count: int | None = None) -> int | None:
    """Index of the scale candidate of a paper's results, of `count`; None where there is no record of it.

    Raises UserError for a record that is broken: runs of another k would come beside those that are there.
    """
    path = raw / FILE
    if not path.exists() and not path.is_symlink():
        return None
    try:
        record: CandidateRecord = schema.load(path, CandidateRecord)
        if why := beyond(record["rung"], count):
            raise Broken(why)
    except Broken as broken:
        raise UserError(
            f'{shown(path)}: {broken}; write {{"rung": 0}} (0: the first k) or that of the runs beside it, or remove '
            "it and them"
        ) from None
    return record["rung"]


def beyond(candidate: int, count: int | None = None) -> str:
    """What is wrong with the index of a scale candidate, of which there are `count`; empty: nothing."""
    if candidate >= 0 and (count is None or candidate < count):
        return ""
    return f"rung: found {candidate}, expected " + ("0 or more" if count is None else f"one from 0 to {count - 1}")
