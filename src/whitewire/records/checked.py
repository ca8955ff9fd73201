"""Reads results and checks them each time: runs, overhead runs and blocks against their manifests, the records' schema,
their folders' names and the design.

Returns validated records only.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast

from whitewire.atomic import PART
from whitewire.paths import shown
from whitewire.records import manifest, schema
from whitewire.records.asked import ASKED_FILE, asked_of_block
from whitewire.records.journal import KEPT, BlockRecord, files_of_block
from whitewire.records.manifest import MANIFEST_FILE, manifest_faults
from whitewire.records.run import OF_A_RUN, OF_AN_OVERHEAD, OF_ANY, OF_DONE, OF_JOBS, DesignRow, RunRecord
from whitewire.records.samples import Torn, read_host_cpu, read_samples, read_waited
from whitewire.records.schema import (
    Broken,
    fault_of_value,
    load_json,
    missing_key,
    parse_json,
    parse_record,
    read_bounded,
)
from whitewire.text import quoted


class HostSeen(TypedDict):
    """A host of environment.json."""

    name: str
    role: str
    address: str


class CondaSeen(TypedDict):
    """A conda environment of environment.json."""

    packages: NotRequired[list[str]]


class SoftwareSeen(TypedDict):
    """Installed software in environment.json; packages with name and version as their installer prints them."""

    deployment: NotRequired[str]
    python_packages: NotRequired[list[str]]
    debian_packages: NotRequired[list[str]]
    conda: NotRequired[CondaSeen]


class EnvironmentRecord(TypedDict):
    """Those parts of environment.json that tables and documents use. Sites have `machines`, by host."""

    hosts: list[HostSeen]
    software: NotRequired[SoftwareSeen]
    tools: NotRequired[dict[str, Any]]
    machine: NotRequired[dict[str, Any]]
    machines: NotRequired[dict[str, dict[str, Any]]]


@schema.closed
class ProbeRow(TypedDict):
    """A row of probes.json."""

    probe: str
    fabric: str
    source: str
    destination: str
    streams: int
    operation: NotRequired[str]
    mode: NotRequired[str]
    metric: str
    value: float | None
    unit: str
    expected: NotRequired[float | str | None]
    error: NotRequired[float | str | None]
    ok: bool
    attempt: NotRequired[int]


PACKAGE = "datapackage.json"
"""Name of the file that describes the tables of its folder, with size and digest of each."""
TESTBED_TABLES = "tables"
"""Folder of the tables beside a testbed's own record, of links or trust."""
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""Names of tables: a file in the folder of its datapackage, never elsewhere."""
_MOST_CELLS = 8_000_000
"""Most commas and line ends in a table that is read into memory."""
CELL_KINDS = {"number": "a number", "integer": "a whole number", "boolean": "true or false",
              "name": "a name of at most 200 letters, digits, spaces and .,:;+/@()=_%-",
              "unit": "a unit of at most 20 letters, digits and /%^.-",
              "line": "a line without control characters"}  # fmt: skip
"""Kinds of cells, described for messages: those of datapackage.json, and restricted texts. Free text has no kind."""
_FORMS = {"name": re.compile(r"[\w.,:;+/@()=%-](?:[\w .,:;+/@()=%-]{0,198}[\w.,:;+/@()=%-])?"),
          "unit": re.compile(r"[\w/%^.-]{1,20}")}  # fmt: skip
TRUTHS = ("true", "false", "1", "0", "1.0", "0.0")


@dataclass
class CheckedBlock:
    """The valid records of one block, and its faults, a line each with the file."""

    runs: list[tuple[Path, RunRecord]] = field(default_factory=list)
    """Folder and record of every attempt, valid or not."""
    overheads: list[RunRecord] = field(default_factory=list)
    """Records in the order of their making, valid or not."""
    finished: BlockRecord | None = None
    """block.json; None if the block is not finished."""
    faults: list[str] = field(default_factory=list)


class Resource(TypedDict):
    """A table in datapackage.json."""

    path: str
    bytes: int
    hash: str


class _Package(TypedDict):
    """Content of datapackage.json."""

    resources: list[Resource]


def table_faults(folder: Path) -> list[str] | None:
    """Faults of the tables that a folder's datapackage.json describes; None without one."""
    path = folder / PACKAGE
    if not path.exists():
        return None
    try:
        resources = described_tables(read_bounded(path, schema.MOST_BYTES))
    except Broken as broken:
        return [_said(path, str(broken))]
    found = []
    for each in resources:
        wanted: manifest.Entry = {"bytes": each["bytes"], "sha256": each["hash"].removeprefix("sha256:")}
        if why := manifest.fault_of(folder, each["path"], wanted):
            found.append(_said(folder / each["path"], why.replace(MANIFEST_FILE, path.name)))
    return found


def described_tables(package: str) -> list[Resource]:
    """Tables that the text of a datapackage.json lists. Raises Broken, also for a path to another folder."""
    listed = parse_record(package, _Package)
    for number, each in enumerate(listed["resources"]):
        if not FILE_NAME.fullmatch(each["path"]):
            raise Broken(
                f"resources[{number}].path: found {quoted(each['path'])}, expected the name of a file beside it"
            )
    return listed["resources"]


def analysis(folder: Path) -> list[str] | None:
    """Faults of the tables that an analysis wrote; None if it wrote no manifest."""
    found = manifest_faults(folder)
    return None if found is None else [_said(path, why) for path, why in found]


def read_block(folder: Path, rows: Sequence[DesignRow] | None = None, measuring: bool = False) -> CheckedBlock:
    """Read one block (`raw/<block>`) with all its faults; `rows`: the block's rows of the design.

    Runs that are not in the design are checked too, but not against it. `measuring`: the block is about to be measured
    further, so block.json does not matter, and runs may have been removed.
    """
    found = CheckedBlock()
    if not folder.is_dir():
        found.faults.append(f"{shown(folder)}: found no such folder, expected the block's raw results")
        return found
    for kind in KEPT:
        for each in sorted((folder / kind).glob("*")):
            if not each.name.startswith(PART):
                _read_kept(each, kind, found)
    _read_around(folder, found)
    _as_listed(folder, found, finished=not measuring and (folder / "block.json").exists())
    if not measuring:
        _finished(folder, found, rows)
    if rows is not None:
        _against_design(found, {row["run_id"]: row for row in rows})
    _once(found)
    return found


def _of_folder(folder: Path, kind: str) -> tuple[RunRecord | None, list[str]]:
    """(record, faults) for the folder of one run, attempt or overhead run; the record is None if there are faults.

    `kind` is one of KEPT.
    """
    if not folder.is_dir():
        return None, [_said(folder, "found a file, expected a folder")]
    listed = manifest_faults(folder)
    if listed is None:
        listed = [(folder / MANIFEST_FILE, "found no such file, expected one beside run.json")]
    if listed:
        return None, [_said(path, why) for path, why in listed]
    try:
        record = _record(folder, kind)
    except Broken as broken:
        return None, [_said(folder / "run.json", str(broken))]
    faults = [_said(folder / name, why) for name, why in _series_faults(folder, record)]
    return (None if faults else record), faults


def _read_kept(folder: Path, kind: str, found: CheckedBlock) -> None:
    record, faults = _of_folder(folder, kind)
    found.faults += faults
    if record is None:
        return
    if record["block"] != folder.parents[1].name:
        found.faults.append(_unlike(folder, "block", record["block"], folder.parents[1].name))
    elif kind == "floors":
        found.overheads.append(record)
    else:
        found.runs.append((folder, record))


def _record(folder: Path, kind: str) -> RunRecord:
    """run.json, which must have all keys of its kind and agree with its folder. Raises Broken."""
    parsed = parse_json(read_bounded(folder / "run.json", schema.MOST_BYTES))
    done = not isinstance(parsed, dict) or "start" in parsed or parsed.get("valid") is True
    if why := fault_of_value(parsed, RunRecord):
        raise Broken(why)
    record: RunRecord = parsed
    needed = [*OF_ANY, *(OF_AN_OVERHEAD if kind == "floors" else OF_A_RUN), *(OF_DONE if done else ())]
    if "jobs" in record:
        needed += [name for name in OF_JOBS if kind != "floors" or name not in ("floors", "floor_wire")]
    if kind == "floors" and record.get("valid"):
        needed.append("jobs")
    for name in needed:
        if name not in record:
            raise Broken(missing_key(name, record))
    if kind == "floors" and record["valid"] and not record["jobs"]:
        raise Broken("jobs: found none, expected those of a valid overhead run")
    for where, host in itertools.product(("links_before", "links_after"), record.get("workers", ()) if done else ()):
        links: dict[str, dict[str, int]] = cast("Any", record)[where]
        if "ingress" not in (link := links.get(host, {})):
            raise Broken(missing_key(f"{where}.{host}.ingress", link))
    if kind == "floors":
        name, expected = "number", folder.name
        same = folder.name.isdecimal() and int(folder.name) == record["number"]
    else:
        name = "run_id"
        own = record["run_id"] if kind == "runs" else f"{record['run_id']}.{record['attempt']}"
        expected, same = folder.name, folder.name == own
    if not same:
        raise Broken(f"{name}: found {quoted(cast('Any', record)[name])}, expected that of its folder {expected}")
    if kind != "floors" and record["valid"] is not (kind == "runs"):
        raise Broken(f"valid: found {quoted(record['valid'])}, expected {quoted(kind == 'runs')} in {kind}/")
    return record


def _series_faults(folder: Path, record: RunRecord) -> Iterator[tuple[str, str]]:
    """(file, fault) of series that are missing or cannot be read."""
    if "start" not in record:
        return
    for name, read in (("samples.csv", read_samples), ("host-cpu.csv", read_host_cpu), ("waited.csv", read_waited)):
        if not (folder / name).exists() and not (record["valid"] and name in _series(record)):
            continue
        try:
            read(read_bounded(folder / name))
        except (Broken, Torn) as error:
            yield name, str(error)


def _series(record: RunRecord) -> tuple[str, ...]:
    return ("samples.csv", "host-cpu.csv") if "jobs" in record else ("samples.csv",)


def _read_around(folder: Path, found: CheckedBlock) -> None:
    """Check the block's environment, probes and asked.json."""
    kinds: tuple[tuple[str, Callable[[Path], object]], ...] = (
        ("environment*.json", lambda path: load_json(path, EnvironmentRecord)), ("probes*/probes.json", probe_rows),
        (ASKED_FILE, lambda path: asked_of_block(path.parent)),
    )  # fmt: skip
    for pattern, read in kinds:
        for path in sorted(folder.glob(pattern)):
            try:
                read(path)
            except Broken as broken:
                found.faults.append(_said(path, str(broken)))


def probe_rows(path: Path) -> list[ProbeRow]:
    """Rows of probes.json. Raises Broken, also for an unknown key."""
    return load_json(path, list[ProbeRow])


def parse_table(
    text: str, columns: Iterable[str], filled: Iterable[str] = (), kinds: Mapping[str, str] | None = None
) -> list[dict[str, str]]:
    """Rows of a CSV table, which must have `columns`, and in every row a cell for each of its columns.

    If the table has them, the columns `filled` must have no empty cells, and those of `kinds` only empty cells or ones
    of their kind (see CELL_KINDS). Raises Torn.
    """
    if (cells := text.count(",") + text.count("\n")) > _MOST_CELLS:
        raise Torn(f"found {cells} commas and line ends, expected at most {_MOST_CELLS}")
    if text and not text.endswith("\n"):
        raise Torn(f"line {text.count(chr(10)) + 1}: found no line end, expected a whole line")
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), restval=None, strict=True)
        names = reader.fieldnames or []
        if missing := [name for name in columns if name not in names]:
            raise Torn(f"line 1: found no column {missing[0]}, expected one")
        if twice := [name for number, name in enumerate(names) if name in names[:number]]:
            raise Torn(f"line 1: found the column {quoted(twice[0])} twice, expected it once")
        needed = [name for name in filled if name in names]
        kind_of = {name: kind for name, kind in (kinds or {}).items() if name in names}
        rows = []
        for row in reader:
            if None in row or None in row.values():
                raise Torn(f"line {reader.line_num}: found another number of cells, expected {len(names)}")
            for name in needed:
                if not row[name]:
                    raise Torn(f"line {reader.line_num}: {name}: found an empty cell, expected a value")
            for name, kind in kind_of.items():
                if row[name] and not is_of_kind(row[name], kind):
                    raise Torn(
                        f"line {reader.line_num}: {name}: found {quoted(row[name])}, expected {CELL_KINDS[kind]}"
                    )
            rows.append(row)
    except csv.Error as error:
        raise Torn(f"found a table that cannot be read ({error}), expected CSV") from None
    return rows


def is_of_kind(cell: str, kind: str) -> bool:
    """Whether a cell is of a kind, by the rules of pandas and R too."""
    if kind in _FORMS:
        return _FORMS[kind].fullmatch(cell) is not None
    if kind == "line":
        return cell.isprintable()
    if kind == "boolean":
        return cell.lower() in TRUTHS
    try:
        number = float(cell) if cell.isascii() and "_" not in cell else math.nan
    except ValueError:
        return False
    return number.is_integer() if kind == "integer" else not math.isnan(number) or cell.lower() == "nan"


def _finished(folder: Path, found: CheckedBlock, rows: Sequence[DesignRow] | None) -> None:
    """Read block.json, and check that all the runs that it lists exist."""
    path = folder / "block.json"
    if not path.exists() and not path.is_symlink():
        return
    try:
        record = load_json(path, BlockRecord)
    except Broken as broken:
        found.faults.append(_said(path, str(broken)))
        return
    if record["block"] != folder.name:
        found.faults.append(_said(path, f"block: found {quoted(record['block'])}, expected {folder.name}"))
        return
    if not (folder / MANIFEST_FILE).exists():
        found.faults.append(_said(folder / MANIFEST_FILE, "found no such file, expected one beside block.json"))
    found.finished = record
    there = {each.name for each in (folder / "runs").glob("*")}
    not_made = {*record["given_up"], *record["unavailable"], *record["left"]}
    for run_id in sorted({*record["runs"]} - not_made - there):
        found.faults.append(_said(folder / "runs" / run_id, "found no such folder, expected the run of block.json"))
    if rows is None:
        return
    own = {row["run_id"] for row in rows}
    for run_id in sorted(own ^ {*record["runs"]}):
        has, lacks = ("design.csv", "block.json") if run_id in own else ("block.json", "design.csv")
        found.faults.append(_said(path, f"runs: found {run_id} in {has} but not in {lacks}, expected the same runs"))


def block_record(path: Path) -> BlockRecord | None:
    """The record in a block.json; None if it is missing or damaged (read_block() reports damage)."""
    try:
        return load_json(path, BlockRecord)
    except Broken:
        return None


def _as_listed(folder: Path, found: CheckedBlock, finished: bool) -> None:
    """Check that the block's files agree with its manifest, and that there are no others.

    Missing files count only in a `finished` block. A block that is being measured has no manifest.
    """
    for path, why in manifest_faults(folder, whole=False) or ():
        if finished or path.exists():
            found.faults.append(_said(path, why))
    for path in _unlisted(folder):
        what = "folder" if path.is_dir() else "file"
        why = f"found a {what} that {MANIFEST_FILE} of its block does not list, expected none: remove a copy"
        found.faults.append(_said(path, why))


def _unlisted(folder: Path) -> list[Path]:
    """The outermost files and folders that the block's manifest does not list; empty without a manifest."""
    try:
        listed = load_json(folder / MANIFEST_FILE, manifest.Manifest)
    except Broken:
        return []
    known = {each for name in listed["files"] for each in (Path(name), *Path(name).parents)}
    new: dict[Path, None] = {}
    for path in files_of_block(folder):
        own = path.relative_to(folder)
        steps = [*reversed(own.parents), own][1:]
        if own.parts[0] in KEPT:
            steps = steps[1:2]  # a run's or overhead run's own manifest covers the content of its folder
        new |= {folder / each: None for each in [step for step in steps if step not in known][:1]}
    return list(new)


def _against_design(found: CheckedBlock, rows: Mapping[str, DesignRow]) -> None:
    """Check that the runs of the design agree with their rows."""
    sound = []
    for folder, record in found.runs:
        cells: Mapping[str, object] | None = rows.get(record["run_id"])
        why = "" if cells is None else _unlike_row(record, cells)
        if why:
            found.faults.append(_said(folder / "run.json", why))
        else:
            sound.append((folder, record))
    found.runs = sound


def _unlike_row(record: RunRecord, row: Mapping[str, object]) -> str:
    # Hadoop's jars may run a program of HiBench; then the record has the workload that ran it.
    names = ("experiment", "replicate", *(() if "program" in record else ("workload",)))
    recorded: dict[str, object] = {name: cast("Any", record)[name] for name in names}
    recorded |= {f"factors.{name}": value for name, value in record["factors"].items()}
    for name, value in recorded.items():
        cell = row.get(name.removeprefix("factors."), "")
        if str(value) != str(cell):
            return f"{name}: found {quoted(value)}, expected {quoted(cell)} of its row of design.csv"
    return ""


def _once(found: CheckedBlock) -> None:
    """Check that no attempt occurs twice."""
    seen: dict[tuple[str, int, bool], Path] = {}
    for folder, record in found.runs:
        key = (record["run_id"], record["attempt"] if not record["valid"] else 0, record["valid"])
        if key in seen:
            other = shown(seen[key])
            found.faults.append(_unlike(folder, "run_id", record["run_id"], f"it once, and not in {other} too"))
        seen[key] = folder


def _said(path: Path, why: str) -> str:
    return f"{shown(path)}: {why}"


def _unlike(folder: Path, key: str, value: object, expected: str) -> str:
    return _said(folder / "run.json", f"{key}: found {quoted(value)}, expected {expected}")
