"""asked.json: what a block's runs were made to answer, and since when.

An entry per start that asked something new or went on after one that had ended: when it began and ended, and a digest
per claim of what it asks.
"""

from __future__ import annotations

import math
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
    ended: NotRequired[str]
    """When the start had ended; its claims were judged then. Absent where it was killed, and in old results."""


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


def note(block: Path, now: float, rule: str, digests: Mapping[str, str], alone: str = "", began: float = math.inf
         ) -> None:  # fmt: skip
    """Enter what is asked now, and the claim that is measured `alone`, unless a start that has not ended asks the same.

    A start that `began` (seconds since 1970) before the end of the last entry goes on with it. Raises schema.Broken,
    OSError.
    """
    entries = list(read(block))
    asked: Asked = {"at": moment(now), "rule": rule, "claims": dict(digests)}
    if alone:
        asked["alone"] = alone
    if entries:
        last: Asked = {**entries[-1], "at": asked["at"]}
        ended = last.pop("ended", "")
        if last == asked and (not ended or ended >= moment(min(began, now))):
            return
    entries.append(asked)
    _write(block, entries)


def end(block: Path, now: float) -> None:
    """Enter that the start has ended, if it asked something. Raises schema.Broken, OSError."""
    entries = list(read(block))
    if entries:
        entries[-1]["ended"] = moment(now)
        _write(block, entries)


def _write(block: Path, entries: Sequence[Asked]) -> None:
    atomic.write(block / NAME, atomic.as_json({"asked": entries}))


def judgements(blocks: Sequence[Sequence[Asked]]) -> list[str]:
    """Moments at which no block of a paper, of each of which these are the entries, was to be measured further: its
    claims were judged then."""

    def rests(entries: Sequence[Asked], at: str) -> bool:
        begun = [entry for entry in entries if entry["at"] <= at]
        return bool(begun) and "" < begun[-1].get("ended", "") <= at

    ends = sorted(entry["ended"] for entries in blocks for entry in entries if "ended" in entry)
    return [at for at in ends if all(rests(entries, at) for entries in blocks)]


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
