"""Records of blocks, made up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whitewire.records.reasons import NOT_MADE

BLOCK: dict[str, Any] = {
    "block": "quick-1",
    "runs": [],
    "given_up": [],
    "unavailable": {},
    "left": {},
    "left_codes": {},
    "no_floor": {},
    "rung": 0,
    "budget_seconds": None,
    "start_budget_seconds": None,
    "pace": None,
    "spent": {},
    "marks": [],
    "seconds": 1.0,
    "commit": "",
    "modified": False,
    "software": "",
}
"""A block.json of a block without runs."""


def left(why: Mapping[str, str]) -> dict[str, Any]:
    """The keys of block.json for runs that were not made, by their reasons' sentences."""
    return {"left": dict(why), "left_codes": {run_id: code_of(said) for run_id, said in why.items()}}


def code_of(said: str) -> str:
    """The code of the sentence of a run that was not made."""
    return next(code for code, kind in NOT_MADE.items() if kind.begins and said.startswith(kind.begins))
