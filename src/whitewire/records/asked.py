"""asked.json: the claims for which a block's runs were made, and since when.

It has an entry per start that had new questions or continued after an ended one: times of begin and end, and per claim
a digest of its question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NotRequired, TypedDict

from whitewire import atomic
from whitewire.records.schema import load_json

ASKED_FILE = "asked.json"


class Asked(TypedDict):
    """An entry of asked.json."""

    at: str
    rule: str
    claims: dict[str, str]
    """Digest by claim."""
    alone: NotRequired[str]
    """The only claim that the start measured, with its controls."""
    ended: NotRequired[str]
    """Time at which the start finished the block, by which its claims were judged; missing if it was killed."""


class Ledger(TypedDict):
    """Content of asked.json."""

    asked: list[Asked]


def iso_time(seconds: float) -> str:
    """A time of the system clock as ISO 8601 in UTC; texts sort by time."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def asked_of_block(block: Path) -> Sequence[Asked]:
    """Entries of a block's folder, the oldest first; empty before its first start. Raises schema.Broken."""
    path = block / ASKED_FILE
    return load_json(path, Ledger)["asked"] if path.exists() else []


def note(block: Path, now: float, rule: str, digests: Mapping[str, str], alone: str = "", continues: bool = False
         ) -> None:  # fmt: skip
    """Add an entry for the claims of this start (`alone`: its only claim), unless an unended start has the same ones.

    `continues`: the start made this block before and continues its entry. Raises schema.Broken, OSError.
    """
    entries = list(asked_of_block(block))
    asked: Asked = {"at": iso_time(now), "rule": rule, "claims": dict(digests)}
    if alone:
        asked["alone"] = alone
    if entries:
        last: Asked = {**entries[-1], "at": asked["at"]}
        ended = last.pop("ended", "")
        if last == asked and (continues or not ended):
            return
    entries.append(asked)
    _write(block, entries)


def end(block: Path, now: float) -> None:
    """Record the end of the start in the last entry, if there is one. Raises schema.Broken, OSError."""
    entries = list(asked_of_block(block))
    if entries:
        entries[-1]["ended"] = iso_time(now)
        _write(block, entries)


def _write(block: Path, entries: Sequence[Asked]) -> None:
    atomic.write(block / ASKED_FILE, atomic.as_json({"asked": entries}))


def judgements(blocks: Sequence[Sequence[Asked]]) -> list[str]:
    """Times at which the starts of all blocks of a paper had ended, so that its claims were judged. `blocks`: the
    entries of each block."""

    def rests(entries: Sequence[Asked], at: str) -> bool:
        begun = [entry for entry in entries if entry["at"] <= at]
        return bool(begun) and "" < begun[-1].get("ended", "") <= at

    ends = sorted(entry["ended"] for entries in blocks for entry in entries if "ended" in entry)
    return [at for at in ends if all(rests(entries, at) for entries in blocks)]


def alone(entries: Sequence[Asked]) -> list[str]:
    """The claims that were the only one of a start, in the order of their first such start."""
    return list(dict.fromkeys(entry["alone"] for entry in entries if entry.get("alone")))


def since(entries: Sequence[Asked]) -> Iterator[tuple[str, str, str]]:
    """(claim, digest, time of the first entry) for every successive question of each claim."""
    last: dict[str, str] = {}
    for entry in entries:
        for claim, digest in entry["claims"].items():
            if last.get(claim) != digest:
                last[claim] = digest
                yield claim, digest, entry["at"]
