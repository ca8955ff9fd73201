"""What the stage `trust` leaves of an emulated testbed, `results/<testbed>/trust/`: the form of its records.

    links/round-*.json     rows of every test of links in a round
    ratio/, same/, load/   a block each of runs whose right answer is known, as raw/ of a paper; same/ one a paper
    scales/<paper>/        a block for each k and turn
    <part>/part.json       written last of a part, with what was made
    trust.json             written last: which parts are there

Tables are made of it below tables/ (analysis/trust.py), which is no part of the record.
"""

from __future__ import annotations

from pathlib import Path
from typing import NotRequired, TypedDict

from whitewire.errors import UserError
from whitewire.paths import shown
from whitewire.records import schema
from whitewire.records.schema import Broken

FOLDER, TABLES = "trust", "tables"
"""Of a testbed's results, and below that."""
RECORD, PART, LOADS = "trust.json", "part.json", "loads.json"
PARTS = ("links", "ratio", "same", "scales", "load", "order")
"""In the order of measuring; `order` measures nothing: it reads the runs of all others, and of papers."""
RATIO, ROUNDS = "ratio", "round-*.json"
IPERF3, COUNTERS = "iperf3", "counters"
"""What tells a link's goodput: iperf3, or the bytes that the switch's port counts."""


class LinkRow(TypedDict):
    """One test of one pair of hosts: Mbit/s of TCP payload, and what the link should carry; or why there is none.

    `rate` is what is set, in Mbit/s, `pairs` how many sent at the same time.
    """

    rate: float
    pairs: int
    number: int
    meter: str
    source: str
    destination: str
    goodput: float | None
    expected: float | None
    why: str


class PartRecord(TypedDict):
    """part.json: `units` that were made, of which `unit` says what they are, `seconds` that they should take.

    `papers`: whose cells they are; `description`: digest of the testbed's file.
    """

    part: str
    units: int
    unit: str
    seconds: float
    papers: list[str]
    description: str
    took: NotRequired[float]
    begun: NotRequired[float]


class TrustRecord(TypedDict):
    """trust.json."""

    testbed: str
    description: str
    parts: list[PartRecord]
    left_out: list[str]
    begun: float
    seconds: float
    bound: float
    reach: float
    commit: str
    modified: bool
    software: str


def part(folder: Path, name: str) -> PartRecord | None:
    """The record of a part that was finished; None where there is none that can be read."""
    try:
        found: PartRecord = schema.load(folder / name / PART, PartRecord)
    except Broken:
        return None
    return found


def read(folder: Path) -> TrustRecord:
    """trust.json. Raises UserError."""
    path = folder / RECORD
    if not path.is_file():
        raise UserError(f"{shown(path)}: found no such file, expected what `make trust` measures")
    try:
        found: TrustRecord = schema.load(path, TrustRecord)
    except Broken as broken:
        raise UserError(f"{shown(path)}: {broken}; measure it anew with `make trust`") from None
    return found


def link_rows(folder: Path) -> list[LinkRow]:
    """Rows of all rounds. Raises Broken."""
    return [row for path in sorted((folder / "links").glob(ROUNDS)) for row in schema.load(path, list[LinkRow])]
