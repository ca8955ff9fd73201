"""What the stage `links` leaves of a testbed, `results/<testbed>/links/`: the form of its records, and reading them.

    plan.json              what is to be measured; written first, an interrupted stage goes on by it
    hosts.json             the hosts, and what their links really are on each fabric
    pairs/<fabric>/*.json  rows of the pairs that were measured at one time; verbatim/ has what iperf3 printed
    drives/, rdma/         what fio and perftest found
    again/*.json           rows of pairs that were beyond their bound and were measured again, by themselves
    links.json             written last, with manifest.json: all of it is there

Tables are made of it below tables/ (tidy/links.py), which is no part of the record.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from whitewire.errors import Faults, UserError
from whitewire.paths import shown
from whitewire.records import manifest, schema
from whitewire.records.checked import RDMA, DriveRows, ProbeRow, table
from whitewire.records.schema import Broken
from whitewire.whole import PART

FOLDER = "links"
"""Of a testbed's results."""
RECORD, PLAN, HOSTS = "links.json", "plan.json", "hosts.json"
PARTS = ("pairs", "again", "drives", "rdma")
"""Folders of it."""
DRIVES, MODELS, RDMA_TABLE = "drives/drives.json", "drives/models.json", "rdma/rdma.csv"
"""Curves of real drives, fio on modelled ones, perftest's table."""


class HostPlace(TypedDict):
    """A host: its name, its role, and what ssh or Slurm calls it (empty: it is of this machine)."""

    name: str
    role: str
    target: str


class FabricPlan(TypedDict):
    """A fabric: rates of a link in Mbit/s as set and at full scale, which pairs (ring, one, all), how many at one time,
    seconds of a test."""

    name: str
    rate: float
    full_scale_rate: float
    shared: bool
    depth: str
    at_once: int
    seconds: float
    streams: list[int]


class Plan(TypedDict):
    """plan.json.

    `description`: digest of the testbed's file; `shape`: the paper whose hosts and k an emulated testbed has, else
    empty; `left_out`: what is not measured, with the reason; `expected_seconds`: how long it should take.
    """

    testbed: str
    kind: str
    emulated: bool
    description: str
    effort: str
    shape: str
    k: float
    roles: dict[str, int]
    fabrics: list[FabricPlan]
    left_out: list[str]
    limits: dict[str, float]
    expected_seconds: float


class HostsRecord(TypedDict):
    """hosts.json: facts by host as tools say them, seconds that clocks are ahead, links by fabric and host."""

    hosts: list[HostPlace]
    machine: dict[str, Any]
    facts: dict[str, dict[str, Any]]
    clocks: dict[str, float]
    links: dict[str, dict[str, dict[str, Any]]]


class PairRow(TypedDict):
    """A value of a pair in one direction, or (`why`) the reason why there is none.

    `streams`: 0 for the round trip at rest; `beside`: how many other pairs were measured at the same time.
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


class LinksRecord(TypedDict):
    """links.json."""

    plan: Plan
    hosts: list[HostPlace]
    left_out: list[str]
    begun: float
    seconds: float
    spent: dict[str, float]
    commit: str
    modified: bool
    software: str


def kept_files(folder: Path) -> list[Path]:
    """What the manifest lists but for links.json."""
    patterns = (PLAN, HOSTS, *(f"{part}/**/*" for part in PARTS))
    found = (path for pattern in patterns for path in sorted(folder.glob(pattern)))
    return [path for path in found if path.is_file() and not path.name.startswith(PART)]


def faults(folder: Path) -> list[str]:
    """What is wrong with a whole record, a line each; none where there is no record yet."""
    if not (folder / RECORD).exists():
        return []
    found = manifest.faults(folder, whole=False)
    if found is None:
        return [f"{shown(folder / manifest.NAME)}: found no such file, expected one beside {RECORD}"]
    told = [f"{shown(path)}: {why}" for path, why in found]
    if not told:
        for name, kind in ((RECORD, LinksRecord), (PLAN, Plan), (HOSTS, HostsRecord)):
            try:
                schema.load(folder / name, kind)
            except Broken as broken:
                told.append(f"{shown(folder / name)}: {broken}")
    return told


def read(folder: Path) -> LinksRecord:
    """links.json of a record that is whole. Raises UserError, of several faults Faults."""
    if not (folder / RECORD).is_file():
        raise UserError(f"{shown(folder / RECORD)}: found no such file, expected the testbed's links; make testbed")
    if wrong := faults(folder):
        raise Faults([*wrong, f"remove {shown(folder)}, and links are measured again"])
    record: LinksRecord = schema.load(folder / RECORD, LinksRecord)
    return record


def hosts(folder: Path) -> HostsRecord:
    """hosts.json of a record that is whole."""
    record: HostsRecord = schema.load(folder / HOSTS, HostsRecord)
    return record


def pair_rows(folder: Path) -> Iterator[PairRow]:
    """Rows of all pairs in the order of measuring; those that were measured again come last. Raises Broken."""
    for pattern in ("pairs/*/*.json", "again/*.json"):
        for path in sorted(folder.glob(pattern)):
            yield from schema.load(path, list[PairRow])


def drive_rows(folder: Path) -> list[dict[str, Any]]:
    """Rows of fio's curves of a site's drives and mounts; none where it has none. Raises Broken."""
    path = folder / DRIVES
    return schema.load(path, DriveRows)["rows"] if path.exists() else []


def model_rows(folder: Path) -> list[ProbeRow]:
    """Rows of fio on modelled drives, as those of a block's probes. Raises Broken."""
    path = folder / MODELS
    return schema.load(path, list[ProbeRow]) if path.exists() else []


def rdma_rows(folder: Path) -> list[dict[str, str]]:
    """perftest's rows. Raises Torn or Broken."""
    path = folder / RDMA_TABLE
    return table(schema.read(path), RDMA) if path.exists() else []
