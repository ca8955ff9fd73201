"""Results of the stage `trust` on an emulated testbed, `results/<testbed>/trust/`: the format of its records.

    links/round-*.json     rows of all tests of links in a round
    ratio/, same/, load/   blocks of runs whose right answer is known, as in raw/ of a paper; in same/ one per paper
    scales/<paper>/        a block for each k and turn
    lanes/<paper>/         a block for each number of lanes and turn
    <part>/part.json       written when a part begins, with no units, and when it ends, with the number of units
    trust.json             written last, with manifest.json: the finished parts

Tables are derived from it into tables/ (analysis/trust.py), which is not part of the record.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict, get_args

from whitewire import atomic
from whitewire.errors import Faults, UserError
from whitewire.paths import shown
from whitewire.records.manifest import MANIFEST_FILE, listed_paths, manifest_faults
from whitewire.records.parts import PARTS, Part
from whitewire.records.schema import Broken, load_json

TRUST_FOLDER = "trust"
"""Name of its folder in a testbed's results."""
TRUST_RECORD, PART_RECORD, LOADS_FILE, KNOWN_PAPER = "trust.json", "part.json", "loads.json", "known.yaml"
LINKS, RATIO, SAME, SCALES, LOAD, LANES, ORDER = PARTS
ROUNDS, BLOCK_RECORD = "round-*.json", "block.json"
_Meter = Literal["iperf3", "counters"]
IPERF3, COUNTERS = get_args(_Meter)
"""Meters of a link's goodput: iperf3, or the byte counters of the switch port."""


class LinkRow(TypedDict):
    """One test of a pair of hosts: goodput in Mbit/s (TCP payload) and its expected value, or why there is none.

    `rate`: rate set, in Mbit/s; `pairs`: number of pairs that sent concurrently.
    """

    rate: float
    pairs: int
    number: int
    meter: _Meter
    source: str
    destination: str
    goodput: float | None
    expected: float | None
    why: str


class TrustPart(TypedDict):
    """part.json: number of complete `units` (0: the part is not finished), and the word for them (`unit`).

    `planned`: units in the rows of its blocks; `seconds`: their estimated time; `papers`: papers of their cells;
    `description`: digest of the testbed's file; `lanes`: numbers of lanes that are compared with one lane.
    """

    part: Part
    units: int
    planned: int
    unit: str
    seconds: float
    papers: list[str]
    description: str
    lanes: NotRequired[list[int]]
    took: NotRequired[float]
    begun: float


class TrustRecord(TypedDict):
    """Content of trust.json."""

    testbed: str
    description: str
    parts: list[TrustPart]
    left_out: list[str]
    begun: float
    seconds: float
    bound: float
    reach: float
    commit: str
    modified: bool
    software: str


def part(folder: Path, name: str) -> TrustPart | None:
    """The record in part.json; None if it is missing or invalid."""
    try:
        return load_json(folder / name / PART_RECORD, TrustPart)
    except Broken:
        return None


def read_trust_unchecked(folder: Path) -> TrustRecord:
    """trust.json, without checks of other files. Raises UserError."""
    path = folder / TRUST_RECORD
    if not path.is_file():
        raise UserError(f"{shown(path)}: found no such file, expected what `make trust` measures")
    try:
        return load_json(path, TrustRecord)
    except Broken as broken:
        raise UserError(f"{shown(path)}: {broken}; remove it, and `make trust` makes it anew") from None


def read_trust(folder: Path) -> TrustRecord:
    """trust.json of a record whose files, except for those in blocks, are checked. Raises UserError, Faults."""
    found = read_trust_unchecked(folder)
    if wrong := _faults(folder, found):
        raise Faults(wrong)
    return found


def _faults(folder: Path, record: TrustRecord) -> list[str]:
    """Faults of a record except for files in its blocks, a line each."""
    path = folder / MANIFEST_FILE
    if not path.exists():
        return [f"{shown(path)}: found no such file, expected one beside {TRUST_RECORD}; `whitewire trust` writes it"]
    lines = [f"{shown(each)}: {why}" for each, why in _unlike_manifest(folder, [TRUST_RECORD], ())]
    return lines or faults_of_parts(folder, [each["part"] for each in record["parts"]])


def faults_of_parts(folder: Path, names: Collection[str]) -> list[str]:
    """Faults of finished parts except for files in their blocks: by the manifest, if there is one, and by each file's
    format."""
    there = [path.relative_to(folder).as_posix() for path in files_of_trust(folder, names)]
    found = dict(_unlike_manifest(folder, there, names))
    forms: list[tuple[Path, Any]] = [(folder / name / PART_RECORD, TrustPart) for name in names]
    forms += [(folder / LOAD / LOADS_FILE, dict[str, float])] if LOAD in names else []
    for path, form in forms:
        try:
            load_json(path, form)
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
    return [f"{shown(path)}: {why}; {remedy_of_damage(folder, path)}" for path, why in found.items()]


def remedy_of_damage(folder: Path, path: Path) -> str:
    """The remedy for a damaged file of a part."""
    part = shown(folder / path.relative_to(folder).parts[0])
    return f"remove {part} and {TRUST_RECORD}, and `make trust` measures what is missing"


def _unlike_manifest(folder: Path, names: Iterable[str], parts: Collection[str]) -> list[tuple[Path, str]]:
    """Faults of these files and of all the files of these parts in the manifest; empty without a manifest."""
    if not (folder / MANIFEST_FILE).exists():
        return []
    try:
        listed = [name for name in listed_paths(folder) if name.partition("/")[0] in parts]
    except Broken as broken:
        return [(folder / MANIFEST_FILE, str(broken))]
    return manifest_faults(folder, sorted({*names, *listed})) or []


def files_of_trust(folder: Path, parts: Iterable[str]) -> list[Path]:
    """Files of parts in the manifest; for blocks only block.json and their manifest, which lists the other files."""
    found = [path for name in parts for path in (folder / name).glob("**/*" if name == LINKS else "*")]
    found += [block / name for block in block_folders(folder, parts) for name in (BLOCK_RECORD, MANIFEST_FILE)]
    return sorted(path for path in {*found} if path.is_file() and not path.name.startswith(atomic.PART))


def block_folders(folder: Path, parts: Iterable[str]) -> list[Path]:
    """Folders of finished blocks of parts."""
    below: dict[str, str] = {RATIO: "*", LOAD: "*", SAME: "*/*", SCALES: "*/*/*", LANES: "*/*/*"}
    return sorted(
        path.parent for name in parts if name in below for path in (folder / name).glob(f"{below[name]}/{BLOCK_RECORD}")
    )


def round_rows(path: Path) -> list[LinkRow]:
    """Rows of a round. Raises Broken."""
    rows = load_json(path, list[LinkRow])
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
