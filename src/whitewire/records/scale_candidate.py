"""scale.json of a paper's raw results: the scale candidate of its runs. Pure except for reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NotRequired, TypedDict

from whitewire.errors import UserError
from whitewire.paths import shown
from whitewire.records.schema import Broken, load_json

SCALE_FILE = "scale.json"
"""Name of the file in raw/ of a paper's results."""


class CandidateRecord(TypedDict):
    """Content of scale.json: index of the scale candidate, and the candidates that were tried."""

    rung: int
    tried: NotRequired[list[dict[str, Any]]]


def recorded(raw: Path, count: int | None = None) -> int | None:
    """Index of the scale candidate (of `count`) of a paper's results; None without a record.

    Raises UserError for a broken record, because new runs might get another k than existing ones.
    """
    path = raw / SCALE_FILE
    if not path.exists() and not path.is_symlink():
        return None
    try:
        record = load_json(path, CandidateRecord)
        if why := candidate_fault(record["rung"], count):
            raise Broken(why)
    except Broken as broken:
        raise UserError(
            f'{shown(path)}: {broken}; write {{"rung": 0}} (0: the first k) or that of the runs beside it, or remove '
            "it and them"
        ) from None
    return record["rung"]


def candidate_fault(candidate: int, count: int | None = None) -> str:
    """The fault of an index among `count` scale candidates; empty if it is valid."""
    if candidate >= 0 and (count is None or candidate < count):
        return ""
    return f"rung: found {candidate}, expected " + ("0 or more" if count is None else f"one from 0 to {count - 1}")
