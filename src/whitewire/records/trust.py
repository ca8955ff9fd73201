"""What the stage `trust` leaves of an emulated testbed, `results/<testbed>/trust/`: the form of its records.

    links/round-*.json     rows of every test of links in a round
    ratio/, same/, load/   a block each of runs whose right answer is known, as raw/ of a paper; same/ one a paper
    scales/<paper>/        a block for each k and turn
    lanes/<paper>/         a block for each number of lanes and turn
    <part>/part.json       written first of a part, with no unit made, and last, with what was made
    trust.json             written last, with manifest.json: which parts are there

Tables are made of it below tables/ (analysis/trust.py), which is no part of the record.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict, get_args

from whitewire import atomic
from whitewire.errors import Faults, UserError
from whitewire.paths import shown
from whitewire.records import manifest, schema
from whitewire.records.parts import PARTS, Part
from whitewire.records.schema import Broken

FOLDER, TABLES = "trust", "tables"
"""Of a testbed's results, and below that."""
RECORD, PART, LOADS, KNOWN = "trust.json", "part.json", "loads.json", "known.yaml"
LINKS, RATIO, SAME, SCALES, LOAD, LANES, ORDER = PARTS
ROUNDS, BLOCK = "round-*.json", "block.json"
Meter = Literal["iperf3", "counters"]
IPERF3, COUNTERS = get_args(Meter)
"""What measures a link's goodput: iperf3, or the bytes that the switch's port counts."""


class LinkRow(TypedDict):
    """One test of one pair of hosts: Mbit/s of TCP payload, and what the link should carry; or why there is none.

    `rate` is what is set, in Mbit/s, `pairs` how many sent at the same time.
    """

    rate: float
    pairs: int
    number: int
    meter: Meter
    source: str
    destination: str
    goodput: float | None
    expected: float | None
    why: str


class PartRecord(TypedDict):
    """part.json: whole `units` that were made, of which `unit` says what they are; of none the part is not finished.

    `planned`: units of which its blocks have the rows; `seconds` that they should take; `papers`: whose cells they are;
    `description`: digest of the testbed's file; `lanes`: numbers of lanes that one lane is compared with.
    """

    part: Part
    units: int
    planned: NotRequired[int]
    """Missing in old records: as many as were made."""
    unit: str
    seconds: float
    papers: list[str]
    description: str
    lanes: NotRequired[list[int]]
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
    """What part.json says; None where there is none that can be read."""
    try:
        found: PartRecord = schema.load(folder / name / PART, PartRecord)
    except Broken:
        return None
    return found


def planned(part: PartRecord) -> int:
    """Units of a part of which its blocks have the rows."""
    return part.get("planned", part["units"])


def record(folder: Path) -> TrustRecord:
    """trust.json by itself. Raises UserError."""
    path = folder / RECORD
    if not path.is_file():
        raise UserError(f"{shown(path)}: found no such file, expected what `make trust` measures")
    try:
        found: TrustRecord = schema.load(path, TrustRecord)
    except Broken as broken:
        raise UserError(f"{shown(path)}: {broken}; remove it, and `make trust` makes it anew") from None
    return found


def read(folder: Path) -> TrustRecord:
    """trust.json of a record that is whole but for what its blocks hold. Raises UserError, of several faults Faults."""
    found = record(folder)
    if wrong := faults(folder, found):
        raise Faults(wrong)
    return found


def faults(folder: Path, record: TrustRecord) -> list[str]:
    """What is wrong with a record but for what its blocks hold, a line each."""
    path = folder / manifest.NAME
    if not path.exists():
        return [f"{shown(path)}: found no such file, expected one beside {RECORD}; `whitewire trust` writes it"]
    lines = [f"{shown(each)}: {why}" for each, why in _unlike_manifest(folder, [RECORD], ())]
    return lines or faults_of_parts(folder, [each["part"] for each in record["parts"]])


def faults_of_parts(folder: Path, names: Collection[str]) -> list[str]:
    """What is wrong with finished parts but for what their blocks hold: by the manifest where there is one, and by the
    form of each file."""
    there = [path.relative_to(folder).as_posix() for path in kept_files(folder, names)]
    found = dict(_unlike_manifest(folder, there, names))
    forms: list[tuple[Path, Any]] = [(folder / name / PART, PartRecord) for name in names]
    forms += [(folder / LOAD / LOADS, dict[str, float])] if LOAD in names else []
    for path, form in forms:
        try:
            schema.load(path, form)
        except Broken as broken:
            found.setdefault(path, str(broken))
    if LINKS in names:
        rounds = sorted((folder / LINKS).glob(ROUNDS))
        if not rounds:
            found[folder / LINKS / ROUNDS] = "found no such file, expected those of rounds"
        for path in rounds:
            try:
                round_rows(path)
            except Broken as broken:
                found.setdefault(path, str(broken))
    return [f"{shown(path)}: {why}; {again(folder, path)}" for path, why in found.items()]


def again(folder: Path, path: Path) -> str:
    """What to do about a file of a part that is damaged."""
    return (f"remove {shown(folder / path.relative_to(folder).parts[0])} and {RECORD}, and `make trust` measures what "
            "is missing")  # fmt: skip


def _unlike_manifest(folder: Path, names: Iterable[str], parts: Collection[str]) -> list[tuple[Path, str]]:
    """Faults of these files, and of all that the manifest lists of these parts; none where there is no manifest."""
    if not (folder / manifest.NAME).exists():
        return []
    try:
        listed = [name for name in manifest.names(folder) if name.partition("/")[0] in parts]
    except Broken as broken:
        return [(folder / manifest.NAME, str(broken))]
    return manifest.faults(folder, sorted({*names, *listed})) or []


def kept_files(folder: Path, parts: Iterable[str]) -> list[Path]:
    """What the manifest lists of parts, of blocks what says how they ended: it lists the rest."""
    found = [path for name in parts for path in (folder / name).glob("**/*" if name == LINKS else "*")]
    found += [block / name for block in blocks(folder, parts) for name in (BLOCK, manifest.NAME)]
    return sorted(path for path in {*found} if path.is_file() and not path.name.startswith(atomic.PART))


def blocks(folder: Path, parts: Iterable[str]) -> list[Path]:
    """Folders of finished blocks of parts."""
    below: dict[str, str] = {RATIO: "*", LOAD: "*", SAME: "*/*", SCALES: "*/*/*", LANES: "*/*/*"}
    return sorted(
        path.parent for name in parts if name in below for path in (folder / name).glob(f"{below[name]}/{BLOCK}")
    )


def round_rows(path: Path) -> list[LinkRow]:
    """Rows of a round. Raises Broken."""
    rows: list[LinkRow] = schema.load(path, list[LinkRow])
    if not rows:
        raise Broken("found no row, expected one for each test")
    row: Mapping[str, object]
    for place, row in enumerate(rows):
        for name in ("goodput", "expected") if not row["why"] else ():
            if row[name] is None:
                raise Broken(f"[{place}].{name}: found nothing, expected a number where `why` is empty")
    return rows


def link_rows(folder: Path) -> list[LinkRow]:
    """Rows of all rounds. Raises Broken."""
    return [row for path in sorted((folder / LINKS).glob(ROUNDS)) for row in round_rows(path)]
