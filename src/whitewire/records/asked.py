"""asked.json: what a block's runs were made to answer, and since when.

An entry per start that asked something new: the moment, and a digest per claim of what it asks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NotRequired, TypedDict

from whitewire import atomic
from whitewire.records import schema

NAME = "asked.json"


class Asked(TypedDict):
    """An entry of asked.json."""

    at: str
    rule: str
    claims: dict[str, str]
    """Digest by claim."""
    alone: NotRequired[str]
    """The claim that the start measured by itself, with its controls."""


class Ledger(TypedDict):
    """asked.json."""

    asked: list[Asked]


def moment(seconds: float) -> str:
    """A moment of the system clock in UTC; later ones sort after earlier ones."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def read(block: Path) -> Sequence[Asked]:
    """Entries of a block's folder, the oldest first; none of old results. Raises schema.Broken."""
    path = block / NAME
    found: Ledger = schema.load(path, Ledger) if path.exists() else {"asked": []}
    return found["asked"]


def note(block: Path, now: float, rule: str, digests: Mapping[str, str], alone: str = "") -> None:
    """Enter what is asked now, and the claim that is measured `alone`, unless the last entry says the same.

    Raises schema.Broken, OSError.
    """
    entries = list(read(block))
    asked: Asked = {"at": moment(now), "rule": rule, "claims": dict(digests)}
    if alone:
        asked["alone"] = alone
    if entries and entries[-1] == asked | {"at": entries[-1]["at"]}:
        return
    entries.append(asked)
    atomic.write(block / NAME, json.dumps({"asked": entries}, indent=1) + "\n")


def alone(entries: Sequence[Asked]) -> list[str]:
    """The claims that were measured by themselves, in the order of their first start."""
    return list(dict.fromkeys(entry["alone"] for entry in entries if entry.get("alone")))


def since(entries: Sequence[Asked]) -> Iterator[tuple[str, str, str]]:
    """(claim, digest, moment since which it is asked) of every question that a claim was in turn."""
    last: dict[str, str] = {}
    for entry in entries:
        for claim, digest in entry["claims"].items():
            if last.get(claim) != digest:
                last[claim] = digest
                yield claim, digest, entry["at"]
