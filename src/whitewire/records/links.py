"""Results of the stage `links`, `results/<testbed>/links/`: the format of its records, and functions to read them.

    plan.json              what is to be measured; written first, so that an interrupted stage can continue
    hosts.json             the hosts, and the actual state of their links on each fabric
    network.json, drives.json, rdma.json, transports.json
                           written when a part has been measured: seconds, and what was left out
    pairs/<fabric>/*.json  rows of pairs that were measured concurrently; verbatim/ has iperf3's output
    drives/, rdma/, transports/
                           results of fio, perftest, and iperf3 over each transport
    again/*.json           rows of pairs beyond their bound that were measured again, one at a time
    links.json             written last, with manifest.json: all parts are complete

Tables are derived from it into tables/ (tidy/links.py), which is not part of the record.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

from whitewire.atomic import PART
from whitewire.errors import Faults, UserError
from whitewire.paths import shown
from whitewire.records import schema
from whitewire.records.checked import parse_table
from whitewire.records.manifest import MANIFEST_FILE, listed_paths, manifest_faults
from whitewire.records.parts import OF_LINKS, OfLinks
from whitewire.records.samples import Torn
from whitewire.records.schema import Broken, load_json, read_bounded
from whitewire.text import quoted
from whitewire.tools.link import Link

LINKS_FOLDER = "links"
"""Name of its folder in a testbed's results."""
LINKS_RECORD, PLAN, HOSTS = "links.json", "plan.json", "hosts.json"
FOLDERS_OF_PARTS: dict[OfLinks, tuple[str, ...]] = {
    "drives": ("drives",), "network": ("pairs", "again"), "rdma": ("rdma",), "transports": ("transports",),
}  # fmt: skip
"""Folders of each part; parts are measured separately."""
PAIRS = ("pairs/*/*.json", "again/*.json")
DRIVES_FILE, MODELS_FILE, RDMA_TABLE = "drives/drives.json", "drives/models.json", "rdma/rdma.csv"
TRANSPORTS = "transports/transports.json"
"""Files with curves of real drives, with fio's results on modelled drives, with perftest's table, and with iperf3's
results over transports."""


Effort = Literal["smoke", "quick", "full"]
Depth = Literal["ring", "one", "all"]
"""ring: each host with the next one, so that every link is used in both directions; one: every pair with the first
number of streams, and the ring with the others; all: every pair with every number of streams."""


class HostPlace(TypedDict):
    """A host: its name, its role, and its target for ssh or the scheduler (empty: it is on this machine)."""

    name: str
    role: str
    target: str


@schema.closed
class FabricPlan(TypedDict):
    """A fabric: link rates in Mbit/s as set and at full scale, which pairs, number of concurrent pairs, seconds per
    test."""

    name: str
    rate: float
    full_scale_rate: float
    shared: bool
    depth: Depth
    at_once: int
    seconds: float
    streams: list[int]


@schema.closed
class TransportPlan(TypedDict):
    """A transport to measure with iperf3, as it is described, without what only Java and Hadoop read."""

    name: str
    kind: str
    preload: list[str]
    environment: dict[str, str]


class LinkLimits(TypedDict):
    """A testbed's bounds for links and drives, as shares."""

    link_error: float
    drive_error: float
    retransmit_share: float


class SurveyPlan(TypedDict):
    """Content of plan.json.

    `description`: digest of the testbed's file; `shape`: the paper whose hosts and k an emulated testbed has, else
    empty; `transports`: besides TCP; `left_out`: what is not measured, with the reason; `expected_seconds`: estimated
    duration.
    """

    testbed: str
    kind: str
    emulated: bool
    description: str
    effort: Effort
    shape: str
    k: float
    roles: dict[str, int]
    fabrics: list[FabricPlan]
    transports: NotRequired[list[TransportPlan]]
    left_out: list[str]
    limits: LinkLimits
    expected_seconds: float


class HostLink(Link, total=False):
    """A host's link, and its interface's driver if known."""

    driver: str
    version: str
    firmware: str


class HostFacts(TypedDict, total=False):
    """Verbatim answers of a site's host about itself (testbed/site/shell.ABOUT) and its interface on each fabric."""

    processor: str
    processors: str
    memory: str
    kernel: str
    system: str
    sysctls: str
    fabrics: dict[str, dict[str, str]]


class Machine(TypedDict, total=False):
    """The measuring machine."""

    processor: str
    processors: int | None
    memory_gib: float
    kernel: str
    system: str


class HostsRecord(TypedDict):
    """Content of hosts.json: facts by host as tools print them, seconds that clocks are ahead, links by fabric."""

    hosts: list[HostPlace]
    machine: Machine
    facts: dict[str, HostFacts]
    clocks: dict[str, float]
    links: dict[str, dict[str, HostLink]]


@schema.closed
class PairRow(TypedDict):
    """A value of a pair in one direction, or the reason why there is none (`why`).

    `streams`: 0 for the round trip on an idle link; `beside`: number of other pairs measured concurrently.
    """

    fabric: str
    source: str
    destination: str
    streams: int
    metric: str
    value: float | None
    unit: str
    expected: NotRequired[float | None]
    error: NotRequired[float | None]
    beside: int
    attempt: int
    why: str


@schema.closed
class TransportRow(TypedDict):
    """A value of iperf3 over a transport, or the reason why there is none (`why`). `streams`: 0 where none was sent."""

    fabric: str
    source: str
    destination: str
    transport: str
    kind: str
    streams: int
    metric: str
    value: float | None
    unit: str
    attempt: int
    why: str


@schema.closed
class DriveRow(TypedDict):
    """A row of drives.json; for a failed measurement the metric is `failed`, and there are no numbers."""

    host: str
    folder: str
    kind: str
    mode: str
    operation: str
    block_bytes: int | str
    queue_depth: int | str
    metric: str
    value: float | str
    unit: str
    problem: str


class _DriveRows(TypedDict):
    """Content of drives.json."""

    rows: list[DriveRow]


RDMA_COLUMNS = ("fabric", "source", "destination", "source_port", "destination_port", "transport", "test",
                "message_bytes", "iterations", "attempt", "metric", "value", "unit", "limit", "why",
                "why_code")  # fmt: skip
"""Columns of rdma.csv. `limit`: data rate of all lanes of the slower port in MB/s (10^6 bytes), including headers."""


@schema.closed
class ModelRow(TypedDict):
    """A row of models.json: fio on a modelled drive, MB/s."""

    probe: str
    fabric: str
    source: str
    destination: str
    streams: int
    operation: Literal["write", "read"]
    mode: str
    metric: str
    value: float
    unit: str
    expected: float
    error: float
    ok: bool
    attempt: int


@schema.closed
class LinksPart(TypedDict):
    """<part>.json: begin of the part, its total seconds and those by phase, and what was left out of it."""

    left_out: list[str]
    begun: float
    seconds: float
    spent: dict[str, float]


class LinksRecord(TypedDict):
    """Content of links.json."""

    plan: SurveyPlan
    hosts: list[HostPlace]
    left_out: list[str]
    begun: float
    seconds: float
    spent: dict[str, float]
    commit: str
    modified: bool
    software: str


def part_file(part: OfLinks) -> str:
    """The file that marks a part as measured."""
    return f"{part}.json"


def part_of(path: Path) -> OfLinks:
    """The part that makes a file, by its path in the record; `network` for files that all parts need."""
    return next(
        (part for part, folders in FOLDERS_OF_PARTS.items() if path.parts[0] in (part_file(part), *folders)), "network"
    )


def is_made(folder: Path, part: OfLinks) -> bool:
    """Whether a part is measured, and its required files exist."""
    needed = {"network": HOSTS, "rdma": RDMA_TABLE, "transports": TRANSPORTS}
    return all((folder / name).is_file() for name in (PLAN, part_file(part), needed.get(part, part_file(part))))


def parts_of(folder: Path) -> list[OfLinks]:
    """The parts that a survey has: transports only where its plan names some."""
    with suppress(Broken):
        if read_plan(folder).get("transports"):
            return list(OF_LINKS)
    return [part for part in OF_LINKS if part != "transports"]


def files_of_links(folder: Path) -> list[Path]:
    """The files of the manifest except for links.json."""
    parts = [f"{of}/**/*" for folders in FOLDERS_OF_PARTS.values() for of in folders]
    return _whole_files(folder, (PLAN, HOSTS, *map(part_file, OF_LINKS), *parts))


def _whole_files(folder: Path, patterns: Iterable[str]) -> list[Path]:
    """Files by pattern, without partial files of killed writers."""
    found = (path for pattern in patterns for path in sorted(folder.glob(pattern)))
    return [path for path in found if path.is_file() and not path.name.startswith(PART)]


def damaged(folder: Path) -> list[tuple[Path, str]]:
    """(file, fault) in a complete or an interrupted record: by the manifest, if there is one, and by each file's
    format."""
    there = [path for path in (folder / LINKS_RECORD, *files_of_links(folder)) if path.is_file()]
    found = dict(manifest_faults(folder, whole=False) or ())
    if (folder / MANIFEST_FILE).exists() and folder / MANIFEST_FILE not in found:
        names = {path.relative_to(folder).as_posix() for path in there}
        found |= dict(manifest_faults(folder, sorted(names - {*listed_paths(folder)})) or ())
    if not (folder / LINKS_RECORD).exists():
        found.pop(folder / LINKS_RECORD, None)
    for path in there:
        if path not in found and (form := _form(path.relative_to(folder))):
            try:
                form(path)
            except (Broken, Torn) as broken:
                found[path] = str(broken)
    return list(found.items())


def _form(path: Path) -> Callable[[Path], object] | None:
    """The function that reads a file, by its path in the record; None for verbatim output."""
    return next((form for pattern, form in _FORMS.items()
                 if len(path.parts) == pattern.count("/") + 1 and path.match(pattern)), None)  # fmt: skip


def links_faults(folder: Path) -> list[str]:
    """Faults of a record, a line each; one without links.json is not finished, and may be incomplete."""
    finished = (folder / LINKS_RECORD).exists()
    broken = [f"{shown(path)}: {why}" for path, why in damaged(folder)]
    lacking = [MANIFEST_FILE, PLAN, HOSTS] if finished else []
    return broken + [f"{shown(folder / name)}: found no such file, expected one beside {LINKS_RECORD}"
                     for name in lacking if not (folder / name).exists()]  # fmt: skip


def read_links_unchecked(folder: Path) -> LinksRecord:
    """links.json, without checks of other files. Raises UserError."""
    path = folder / LINKS_RECORD
    try:
        return load_json(path, LinksRecord)
    except Broken as broken:
        raise UserError(f"{shown(path)}: {broken}; remove it, and `make testbed` makes it anew") from None


def read_links(folder: Path) -> LinksRecord:
    """links.json of a record whose files are all checked. Raises UserError; Faults for faults in files."""
    if not (folder / LINKS_RECORD).is_file():
        raise UserError(
            f"{shown(folder / LINKS_RECORD)}: found no such file, expected the testbed's links; make testbed"
        )
    if wrong := links_faults(folder):
        raise Faults([*wrong, f"remove {shown(folder)}, and links are measured again"])
    return read_links_unchecked(folder)


def read_plan(folder: Path) -> SurveyPlan:
    """Content of plan.json. Raises Broken."""
    return _plan(folder / PLAN)


def parts(folder: Path) -> dict[OfLinks, LinksPart]:
    """Records of the parts that are measured. Raises Broken."""
    there = {part: folder / part_file(part) for part in OF_LINKS}
    return {part: load_json(path, LinksPart) for part, path in there.items() if path.is_file()}


def read_hosts(folder: Path) -> HostsRecord:
    """Content of hosts.json. Raises Broken."""
    return _hosts(folder / HOSTS)


def pair_rows(folder: Path) -> Iterator[PairRow]:
    """Rows of all pairs in the order of measuring; repeated measurements come last. Raises Broken."""
    for path in _whole_files(folder, PAIRS):
        yield from _pair_rows(path)


def drive_rows(folder: Path) -> list[DriveRow]:
    """Rows of fio's curves of a site's drives and mounts; empty if there are none. Raises Broken."""
    path = folder / DRIVES_FILE
    return _drive_rows(path) if path.exists() else []


def model_rows(folder: Path) -> list[ModelRow]:
    """Rows of fio on modelled drives, in the format of a block's probes; empty if there are none. Raises Broken."""
    path = folder / MODELS_FILE
    return load_json(path, list[ModelRow]) if path.exists() else []


def rdma_rows(folder: Path) -> list[dict[str, str]]:
    """perftest's rows; empty if there are none. Raises Torn or Broken."""
    path = folder / RDMA_TABLE
    return _rdma_rows(path) if path.exists() else []


def transport_rows(folder: Path) -> list[TransportRow]:
    """Rows of iperf3 over transports; empty if there are none. Raises Broken."""
    path = folder / TRANSPORTS
    return _transport_rows(path) if path.exists() else []


def _within(rows: Iterable[Mapping[str, Any]], columns: Collection[str], where: str) -> None:
    """Raise Broken for a key that is not in `columns`; `where`: a format for the row's number and the key."""
    for number, row in enumerate(rows):
        if key := next((name for name in row if name not in columns), None):
            raise Broken(schema.unknown(where.format(number, key), key, columns))


def _hosts(path: Path) -> HostsRecord:
    found = load_json(path, HostsRecord)
    for hosts in found["links"].values():
        _within(hosts.values(), HostLink.__annotations__, "links, host {}: {}")
    return found


def _plan(path: Path) -> SurveyPlan:
    plan = load_json(path, SurveyPlan)
    for place, of in enumerate(plan["fabrics"]):
        if not of["streams"]:
            raise Broken(f"fabrics[{place}].streams: found none, expected a number of streams or more")
        if of["at_once"] < 1:
            raise Broken(f"fabrics[{place}].at_once: found {of['at_once']}, expected 1 or more")
    return plan


def _pair_rows(path: Path) -> list[PairRow]:
    rows = load_json(path, list[PairRow])
    row: Mapping[str, object]
    for place, row in enumerate(rows):
        needed = ("value", "expected", "error") if row["metric"] == "goodput" else ("value",)
        for name in needed if not row["why"] else ():
            if row.get(name) is None:
                raise Broken(f"[{place}].{name}: found nothing, expected a number where `why` is empty")
    return rows


def _drive_rows(path: Path) -> list[DriveRow]:
    record: _DriveRows = load_json(path, _DriveRows)
    rows = record["rows"]
    row: Mapping[str, object]
    for place, row in enumerate(rows):
        for name in ("block_bytes", "value") if row["metric"] != "failed" else ():
            if isinstance(row[name], str):
                raise Broken(f"rows[{place}].{name}: found {quoted(row[name])}, expected a number")
    return rows


def _transport_rows(path: Path) -> list[TransportRow]:
    rows = load_json(path, list[TransportRow])
    for place, row in enumerate(rows):
        if row["value"] is None and not row["why"]:
            raise Broken(f"[{place}].value: found nothing, expected a number where `why` is empty")
    return rows


def _rdma_rows(path: Path) -> list[dict[str, str]]:
    rows = parse_table(read_bounded(path), RDMA_COLUMNS)
    _within(rows[:1], RDMA_COLUMNS, "line 1: {1}")
    for number, row in enumerate(rows, start=2):
        if row["metric"] and not _finite(row["value"]):
            raise Torn(f"line {number}: value: found {quoted(row['value'])}, expected a number")
    return rows


def _finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


_FORMS: dict[str, Callable[[Path], object]] = {
    LINKS_RECORD: lambda path: load_json(path, LinksRecord),
    PLAN: _plan,
    HOSTS: _hosts,
    **{part_file(part): lambda path: load_json(path, LinksPart) for part in OF_LINKS},
    **dict.fromkeys(PAIRS, _pair_rows),
    DRIVES_FILE: _drive_rows,
    MODELS_FILE: lambda path: load_json(path, list[ModelRow]),
    RDMA_TABLE: _rdma_rows,
    TRANSPORTS: _transport_rows,
}
"""Functions that read the files other than verbatim output, by pattern; they raise Broken or Torn."""
