"""A testbed's results as one file: a Workflow Run RO-Crate (https://w3id.org/ro/wfrun/workflow/0.5), made here and
opened from anywhere.

It holds a bundle with all tables of the analysis, reports, configuration, workflow, licence and citation, and on demand
the raw output; manifest.json lists every file. Nothing of a crate is unpacked before all of it is checked.
"""

from __future__ import annotations

import fnmatch
import hashlib
import io
import json
import mimetypes
import stat
import struct
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, TypedDict

from whitewire import atomic, paths
from whitewire.description.reading import load_yaml
from whitewire.errors import UserError
from whitewire.paths import HOME, shown
from whitewire.records import checked, manifest, schema
from whitewire.records.checked import TESTBED_TABLES
from whitewire.records.links import LINKS_FOLDER, LINKS_RECORD
from whitewire.records.manifest import MANIFEST_FILE
from whitewire.records.schema import load_json, parse_record
from whitewire.report import bundle, commits, masking
from whitewire.report.bundle import (
    BUNDLE_FILE,
    JUDGED_TABLES,
    TESTBED_FILE,
    VERDICTS_FILE,
    bundle_of,
    check_bundle,
)
from whitewire.report.masking import Contents, content_lines, masking_lines
from whitewire.report.render import TESTBED
from whitewire.text import quoted

CRATES = "crates"
"""The folder of results/ with the crates that were made."""
METADATA, _BUNDLE = "ro-crate-metadata.json", "results/"
_OWN = _BUNDLE + BUNDLE_FILE
MOST_FILES, MOST_FILE_BYTES, _MOST_BYTES = 200_000, 1 << 30, 8 << 30
"""Most files of a crate, bytes of one file, and bytes of all, unpacked."""
MOST_KEPT_BYTES = 1 << 29
"""Most bytes of the files for reports, which are in memory until all are checked."""
_CHUNK = 1 << 20
_LAST = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MAIN = "workflow/Snakefile"
WORKFLOW = (_MAIN, "workflow/rules/*.smk", "envs/requirements.txt", "LICENSE", "CITATION.cff")
"""Files of the repository in every crate."""
_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
LICENCE = "https://spdx.org/licenses/Apache-2.0"
_FORMATS = {".csv": "text/csv", ".yaml": "application/yaml", ".cff": "application/yaml", ".gz": "application/gzip",
            ".smk": "text/plain", "": "text/plain", ".json": "application/json", ".png": "image/png"}  # fmt: skip
_KEPT = (bundle.DESIGN, MANIFEST_FILE)
"""Files of a paper beside its tables and records."""
KEPT_RUNS = ("runs", "invalid")
"""Folders of a block with runs, whether they count or not."""


# -- made --------------------------------------------------------------------------------------------------


def make_crate(
    results: Path, papers: Sequence[str], raw: bool, target: Path | None = None, private: bool = False
) -> Path:
    """Pack `results/<testbed>` into a crate and return its path, after printing its content.

    `raw`: include all raw output; `private`: keep the names of hosts, users, addresses and folders instead of replacing
    them; `target`: the file (None: results/crates/<testbed>.zip). Raises UserError for incomplete results, and for
    results whose crate could not be opened.
    """
    target = target or paths.root() / "results" / CRATES / f"{results.name}.zip"
    files = contents(results, papers, raw)
    _check_files(files, results)
    with tempfile.TemporaryDirectory(prefix="crate-", dir=paths.temporary()) as scratch:
        replaced = ["names, addresses and folders are kept as they are (PRIVATE=keep)"]
        if not private:
            record = bundle.record_of(masking.whole_bytes(files[_OWN]), shown(results))
            files, mask, left_out = masking.masked(files, record, _BUNDLE, Path(scratch))
            replaced = masking_lines(mask, left_out)
        record, sizes = _check_files(files, results)
        if raw or not private:  # with records that the bundle alone has not, or with others
            read = {
                name.removeprefix(_BUNDLE): masking.whole_bytes(files[name])
                for name in _kept_of(files, record["papers"])
            }
            bundle.check_form(record, read, shown(results))
        listed: manifest.Manifest = {"files": {name: masking.entry_of_file(content) for name, content in files.items()}}
        described = atomic.as_json(described_as(files, record, listed, times(results, papers))).encode()
        listed["files"][METADATA] = manifest.entry(described)
        listing = atomic.as_json(listed).encode()
        every: Contents = {METADATA: described, MANIFEST_FILE: listing, **files}
        sizes |= {METADATA: len(described), MANIFEST_FILE: len(listing)}
        _check_sizes(sizes, shown(results))
        _check_kept(sizes, (MANIFEST_FILE, _OWN), shown(results))
        for line in [f"in {shown(target)} will be", *content_lines(files, _BUNDLE), *replaced]:
            print(f"whitewire: {line}", file=sys.stderr)
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic.file(target) as part, zipfile.ZipFile(part, "w") as packed:
            for name, content in every.items():
                _pack(packed, name, content, listed["files"].get(name))
    return target


def _check_files(files: Contents, results: Path) -> tuple[bundle.BundleRecord, dict[str, int]]:
    """Description of a crate's results, and the sizes of its files. UserError if the crate could not be opened."""
    sizes = {name: len(each) if isinstance(each, bytes) else each.stat().st_size for name, each in files.items()}
    for name in files:
        if why := _unsafe(zipfile.ZipInfo(name)):
            raise UserError(f"{shown(results)}: {quoted(name)}: {why}")
    _check_sizes(sizes, shown(results))
    record = bundle.record_of(masking.whole_bytes(files[_OWN]), shown(results))
    _check_kept(sizes, _kept_of(files, record["papers"]), shown(results))
    return record, sizes


def _pack(packed: zipfile.ZipFile, name: str, content: bytes | Path, listed: manifest.Entry | None) -> None:
    """Add a file piece by piece. UserError if it no longer agrees with the manifest."""
    info = zipfile.ZipInfo(name)  # no time stamp: the same results make the same bytes
    info.compress_type, digest, size = zipfile.ZIP_DEFLATED, hashlib.sha256(), 0
    info.file_size = len(content) if isinstance(content, bytes) else content.stat().st_size
    with (
        packed.open(info, "w") as to,
        io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as file,
    ):
        while chunk := file.read(_CHUNK):
            to.write(chunk)
            digest.update(chunk)
            size += len(chunk)
    if listed and listed != {"bytes": size, "sha256": digest.hexdigest()}:
        raise UserError(f"{name}: changed while it was read, expected results that no command writes to")


def papers_judged(results: Path) -> list[str]:
    """The papers of a testbed's results that have verdicts, or if none has, those with a design. The others are
    reported."""
    begun = sorted(path.parent.name for path in results.glob(f"*/{bundle.DESIGN}"))
    found = [paper for paper in begun if (results / paper / "analysis" / VERDICTS_FILE).is_file()]
    if found and (others := [paper for paper in begun if paper not in found]):
        left_out = f"left out, since they have no verdicts yet: {', '.join(others)}; `make papers` goes on"
        print(f"whitewire: {left_out}", file=sys.stderr)
    return found or begun


def contents(results: Path, papers: Sequence[str], raw: bool) -> Contents:
    """Every file of a crate by its path in it, except for the two files that describe the others."""
    found: Contents = {_BUNDLE + name: content for name, content in bundle_of(results, papers).items()}
    for paper in papers:
        own = results / paper
        for pattern in ("analysis/*", *(["raw/**/*"] if raw else [])):
            found |= {f"{_BUNDLE}{paper}/{name}": path for name, path in _below(own, own.glob(pattern))}
    for folder, (record, _) in bundle.OF_TESTBED.items():
        if raw and f"{_BUNDLE}{folder}/{record}" in found:
            own = results / folder
            more = (path for path in own.glob("**/*") if path.relative_to(own).parts[0] != TESTBED_TABLES)
            found |= {f"{_BUNDLE}{folder}/{name}": path for name, path in _below(own, more)}
    config, reports = bundle.configuration_of(results), _reports_of(results)
    names = ["config.yaml", *(f"papers/{paper}.yaml" for paper in papers)]
    found |= {f"config/{name}": config / name for name in names}
    pages = [*papers, *([TESTBED] if f"{_BUNDLE}{LINKS_FOLDER}/{LINKS_RECORD}" in found else [])]
    patterns = ["index.html", *(f"{page}.*" for page in pages)]
    patterns += [f"{kind}/{page}/*" for kind in ("data", "figures", "badges") for page in pages]
    for pattern in patterns:
        found |= {f"reports/{name}": path for name, path in _below(reports, reports.glob(pattern))}
    for pattern in WORKFLOW:
        found |= dict(_below(HOME, HOME.glob(pattern)))
    return dict(sorted(found.items()))


def pages_lacking(results: Path, papers: Sequence[str]) -> list[str]:
    """Pages that a crate of these results would lack, or that are older than their tables, one line each."""
    reports, tables = _reports_of(results), {paper: results / paper / "analysis" / VERDICTS_FILE for paper in papers}
    of_links = results / LINKS_FOLDER / TESTBED_TABLES / checked.PACKAGE
    shown_by = {"index": [*tables.values()], **{paper: [table] for paper, table in tables.items()},
                **({TESTBED: [of_links]} if of_links.is_file() else {})}  # fmt: skip
    found = []
    for page, read in shown_by.items():
        path = reports / f"{page}.html"
        again = "`make testbed` makes it" if page == TESTBED else "`make papers` makes it"
        if not path.is_file():
            found.append(f"{shown(path)}: found no such page, so the crate is without it; {again}")
        elif path.stat().st_mtime < max(each.stat().st_mtime for each in read):
            found.append(f"{shown(path)}: found a page that is older than its tables, expected a newer one; {again}")
    return found


def _reports_of(results: Path) -> Path:
    """Folder of reports; that of an opened bundle is beside its results."""
    return results / "reports" if (results / "reports").is_dir() else results.resolve().parent.parent / "reports"


def _below(folder: Path, found: Iterator[Path]) -> Iterator[tuple[str, Path]]:
    for path in found:
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts):
            yield path.relative_to(folder).as_posix(), path


class Moments(TypedDict, total=False):
    """Times of run.json, in seconds since 1970; a run that failed outright has none."""

    start: float
    end: float


def times(results: Path, papers: Sequence[str]) -> tuple[float, float] | None:
    """When the first run began and the last one ended, in seconds since 1970; None where there is no raw output.

    Raises UserError for a run's record that cannot be read.
    """
    starts: list[float] = []
    ends: list[float] = []
    for path in (each for paper in papers for each in sorted((results / paper / "raw").glob("*/*/*/run.json"))):
        if path.parent.parent.name not in KEPT_RUNS or path.parent.name.startswith(atomic.PART):
            continue
        try:
            record = load_json(path, Moments)
        except schema.Broken as broken:
            raise UserError(f"{shown(path)}: {broken}; remove its folder, and the run is measured again") from None
        if "start" in record and "end" in record:
            starts.append(record["start"])
            ends.append(record["end"])
    return (min(starts), max(ends)) if starts else None


def published(files: Contents, record: bundle.BundleRecord, spent: tuple[float, float] | None) -> float:
    """The date of a crate in seconds since 1970, the same for the same results: end of the last run; without raw
    output, end of the testbed's measurement, or else the date of the code's commit; 0 if unknown."""
    if spent:
        return spent[1]
    own = [f"{_BUNDLE}{folder}/{name}" for folder, (name, _) in bundle.OF_TESTBED.items()]
    records = [json.loads(masking.whole_bytes(files[name])) for name in own if name in files]
    ends = [float(each["begun"] + each["seconds"]) for each in records]
    return max(ends or (float(commits.commit_time(each) or 0) for each in record["commits"]), default=0.0)


def described_as(
    files: Contents, record: bundle.BundleRecord, listed: manifest.Manifest, spent: tuple[float, float] | None
) -> dict[str, Any]:
    """ro-crate-metadata.json: what each file is, and the run of the workflow that made them."""
    from rocrate.rocrate import ROCrate

    crate = ROCrate(version="1.1")  # which the profiles are made for
    citation = load_yaml(HOME / "CITATION.cff")
    authors = [_add_entity(crate, f"#author-{number}", "Organization", name=each["name"])
               for number, each in enumerate(citation["authors"], start=1)]  # fmt: skip
    root = crate.root_dataset
    _describe_whole(crate, record, authors)
    requirements = [
        _add_entity(crate, f"#software-{number}", "SoftwareApplication", name=name, softwareVersion=version)
        for number, (name, version) in enumerate(_software(files), start=1)
    ]  # fmt: skip
    properties = {"name": "Whitewire's workflow", "license": root["license"], "author": authors,
                  "description": citation["title"], "version": record["whitewire"],
                  "softwareRequirements": requirements}  # fmt: skip
    workflow = crate.add_workflow(
        None, _MAIN, main=True, lang="snakemake",
        properties=properties | _entry(_MAIN, listed),
    )  # fmt: skip
    parts, raw_folders = _add_files(crate, files, listed)
    inputs = [entity for name, entity in parts.items() if name.startswith("config/") or name.endswith(TESTBED_FILE)]
    made = [entity for name, entity in parts.items() if name.startswith((_BUNDLE, "reports/"))]
    named = zip(("startTime", "endTime"), spent or (), strict=False)
    moments = {key: _moment(at).isoformat() for key, at in named}
    action = _add_entity(
        crate, "#run", "CreateAction", name=f"make papers, by commit {', '.join(record['commits'])}",
        description="measures, judges and reports"
        + (", by a changed copy of that commit" if record["modified"] else ""),
        instrument=workflow, object=inputs, result=[*made, *raw_folders],
        actionStatus="http://schema.org/CompletedActionStatus", **moments,
    )  # fmt: skip
    root["mentions"] = [action]
    crate.datePublished = _moment(published(files, record, spent))
    return crate.metadata.generate()


def _add_entity(crate: Any, identifier: str, kind: str, **properties: Any) -> Any:
    """Add to an ROCrate something that is no file of it."""
    from rocrate.model.contextentity import ContextEntity

    return crate.add(ContextEntity(crate, identifier, properties={"@type": kind, **properties}))


def _describe_whole(crate: Any, record: bundle.BundleRecord, authors: list[Any]) -> None:
    """Name, description, licence, authors and profiles of an ROCrate."""
    root, papers = crate.root_dataset, ", ".join(record["papers"])
    root["name"] = f"Whitewire: {papers} on {record['testbed']}"
    root["description"] = (
        f"Re-measured benchmarks of the papers {papers}, on the testbed {record['testbed']}: design, tables, "
        "verdicts by rule, reports, and the environment of the runs."
    )
    root["license"] = _add_entity(crate, LICENCE, "CreativeWork", name="Apache License 2.0", url=LICENCE)
    root["author"] = authors
    root["conformsTo"] = [
        _add_entity(crate, profile, "CreativeWork", name=name, version=profile.rpartition("/")[2])
        for profile, name in _PROFILES.items()
    ]


def _add_files(crate: Any, files: Contents, listed: manifest.Manifest) -> tuple[dict[str, Any], list[Any]]:
    """Add the files to an ROCrate, those of raw output as their folders; return files by name, and folders."""
    raw_folders: dict[str, None] = {}
    parts = {}
    for name in files:
        if name == _MAIN:
            continue
        if folder := _raw_folder(name):
            raw_folders[folder] = None
            continue
        about = {"name": PurePosixPath(name).name, "encodingFormat": _format(name), "description": _description(name)}
        parts[name] = crate.add_file(None, name, properties=about | _entry(name, listed))
    about = {"name": MANIFEST_FILE, "encodingFormat": _FORMATS[".json"], "description": "size and digest of every file"}
    crate.add_file(None, MANIFEST_FILE, properties=about)
    added = []
    for folder in raw_folders:
        about = {"name": folder, "description": "output of runs and tools as it came"}
        added.append(crate.add_dataset(None, folder, properties=about))
    return parts, added


def _entry(name: str, listed: manifest.Manifest) -> dict[str, str]:
    entry = listed["files"][name]
    return {"contentSize": str(entry["bytes"]), "sha256": entry["sha256"]}


def _moment(seconds: float) -> datetime:
    """A time in whole seconds, clamped to the dates that Python can represent."""
    return datetime.fromtimestamp(int(min(max(seconds, 0.0), _LAST)), UTC)


def _format(name: str) -> str:
    suffix = PurePosixPath(name).suffix
    return _FORMATS.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"


def _raw_folder(name: str) -> str:
    """The folder of raw output that contains a file; empty for other files, and for records that every bundle has."""
    parts = PurePosixPath(name).parts
    if not name.startswith(_BUNDLE) or len(parts) < 4:
        return ""
    if parts[1] in bundle.OF_TESTBED:
        return "" if parts[2] == TESTBED_TABLES else "/".join(parts[:3]) + "/"
    return "" if len(parts) < 5 or parts[2] != "raw" or _is_record(parts[3:]) else "/".join(parts[:4]) + "/"


def _is_record(parts: Sequence[str]) -> bool:
    """Whether a bundle holds raw/<block>/<file>."""
    return len(parts) == 2 and (parts[1] == "block.json" or fnmatch.fnmatchcase(parts[1], "environment*.json"))


def _description(name: str) -> str:
    parts = PurePosixPath(name).parts
    if name.startswith(_BUNDLE) and len(parts) > 2:
        kinds = {"tidy": "tidy table", TESTBED_TABLES: "testbed's own table", "analysis": "table of the analysis",
                 "raw": "record of a block", "design.csv": "one row per run",
                 MANIFEST_FILE: "size and digest of design.csv"}  # fmt: skip
        return f"{kinds.get(parts[2], 'result')} of {parts[1]}"
    kinds = {_BUNDLE + BUNDLE_FILE: "what these results are", _BUNDLE + TESTBED_FILE: "the testbed's description",
             "LICENSE": "licence", "CITATION.cff": "how to cite Whitewire"}  # fmt: skip
    folders = {"config": "configuration", "reports": "report", "workflow": "rules of the workflow",
               "envs": "Python packages, locked"}  # fmt: skip
    return kinds.get(name) or folders.get(parts[0], "file")


def _software(files: Contents) -> list[tuple[str, str]]:
    """Names and versions of the tools and Python packages in the first environment record."""
    for name, content in files.items():
        parts = PurePosixPath(name).parts
        if name.startswith(_BUNDLE) and parts[2:3] == ("raw",) and _is_record(parts[3:]) and parts[-1] != "block.json":
            record: checked.EnvironmentRecord = json.loads(masking.whole_bytes(content))
            tools = [(str(key), str(value)) for key, value in record.get("tools", {}).items() if value]
            packages = [each.partition("==") for each in record.get("software", {}).get("python_packages", [])]
            return [*tools, *((one, other) for one, _, other in packages)]
    return []


# -- opened ------------------------------------------------------------------------------------------------


def read_crate(path: Path) -> tuple[bundle.BundleRecord, dict[str, bytes]]:
    """Description of a crate's results, and the bundle's files by path. Writes nothing.

    UserError with one line for a file that is no crate of Whitewire, that is cut off, altered, of a later format or too
    large, with paths that leave its folder, or with papers that this version does not know or measures otherwise.
    """
    source = shown(path)
    if not path.is_file():
        raise UserError(f"CRATE: found {quoted(str(path))}, expected the file of a crate")
    try:
        with zipfile.ZipFile(path) as archive:
            entries = _entries(archive, source)
            files = _checked(archive, entries, source)
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError) as error:
        raise UserError(f"{source}: found no whole zip archive ({error}), expected a crate") from None
    record = bundle.record_of(files[BUNDLE_FILE], source)
    check_bundle(record, files, source)
    return record, files


def _entries(archive: zipfile.ZipFile, source: str) -> dict[str, zipfile.ZipInfo]:
    """The archive's files by path. UserError for an archive that could do harm when unpacked."""
    found: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        if why := _unsafe(info):
            raise UserError(f"{source}: {quoted(info.orig_filename)}: {why}")
        if info.filename in found:
            raise UserError(f"{source}: {quoted(info.filename)}: found the path twice, expected it once")
        if not info.is_dir():
            found[info.filename] = info
    _check_sizes({name: info.file_size for name, info in found.items()}, source)
    return found


def _check_sizes(sizes: Mapping[str, int], source: str) -> None:
    """UserError for more than a crate may have, by the bytes of its files."""
    if len(sizes) > MOST_FILES:
        raise UserError(f"{source}: found {len(sizes)} files, expected at most {MOST_FILES}")
    for name, size in sizes.items():
        if size > MOST_FILE_BYTES:
            raise UserError(f"{source}: {quoted(name)}: found {size} bytes, expected at most {MOST_FILE_BYTES}")
    if (total := sum(sizes.values())) > _MOST_BYTES:
        raise UserError(f"{source}: found {total} bytes unpacked, expected at most {_MOST_BYTES}")


def _unsafe(info: zipfile.ZipInfo) -> str:
    """Why an entry is not taken; empty: it is."""
    name, kind = info.orig_filename, stat.S_IFMT(info.external_attr >> 16)
    parts = name.removesuffix("/").split("/")
    if not name.isprintable() or "\\" in name or ":" in name or any(part in ("", ".", "..") for part in parts):
        return "found a path that leaves its folder or is none, expected one below it"
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "found a link or a device, expected a plain file"
    if info.flag_bits & 1:
        return "found an encrypted file, expected a plain one"
    if info.compress_type not in METHODS:
        return f"found a file that is packed by method {info.compress_type}, expected one that is stored or deflated"
    return ""


def _checked(archive: zipfile.ZipFile, entries: Mapping[str, zipfile.ZipInfo], source: str) -> dict[str, bytes]:
    """The files that reports are made of, once every file of the crate is as manifest.json says."""
    for name in (METADATA, MANIFEST_FILE, _OWN):
        if name not in entries:
            raise UserError(f"{source}: {name}: found no such file, expected the crate of a Whitewire")
    sizes = {name: info.file_size for name, info in entries.items()}
    _check_kept(sizes, (MANIFEST_FILE, _OWN), source)
    try:
        wanted = parse_record(archive.read(MANIFEST_FILE).decode(), manifest.Manifest)["files"]
    except (UnicodeDecodeError, schema.Broken) as error:
        raise UserError(f"{source}: {MANIFEST_FILE}: {error}") from None
    for name in sorted({*wanted} ^ ({*entries} - {MANIFEST_FILE})):
        missing = f"found no such file, expected the one that {MANIFEST_FILE} lists"
        raise UserError(f"{source}: {name}: " + (
            missing if name in wanted else f"found a file that {MANIFEST_FILE} does not list, expected none"
        ))  # fmt: skip
    # The later format first: what else it has nobody knows.
    papers = bundle.record_of(archive.read(_OWN), source)["papers"]
    kept = _kept_of(wanted, papers)
    _check_kept(sizes, kept, source)
    found = {}
    for name, entry in wanted.items():
        if sizes[name] != entry["bytes"]:
            raise UserError(
                f"{source}: {name}: found {sizes[name]} bytes, expected {entry['bytes']} by {MANIFEST_FILE}"
            )
        content, digest = _read(archive, name, name in kept)
        if digest != entry["sha256"]:
            raise UserError(
                f"{source}: {name}: found SHA-256 {digest[:12]}…, expected {entry['sha256'][:12]}… by {MANIFEST_FILE}"
            )
        if name in kept:
            found[name.removeprefix(_BUNDLE)] = content
    return found


def _kept_of(names: Iterable[str], papers: Mapping[str, object]) -> set[str]:
    """Those files of a crate that reports are made from."""
    return {name for name in names if name.startswith(_BUNDLE) and _is_of(name.removeprefix(_BUNDLE), papers)}


def _check_kept(sizes: Mapping[str, int], names: Iterable[str], source: str) -> None:
    names = list(names)
    for name in names:
        if name.endswith(".json") and sizes[name] > schema.MOST_BYTES:
            raise UserError(f"{source}: {quoted(name)}: {schema.too_large(sizes[name])}")
    if (total := sum(sizes[name] for name in names)) > MOST_KEPT_BYTES:
        raise UserError(f"{source}: found {total} bytes of tables and records, expected at most {MOST_KEPT_BYTES}")


def _read(archive: zipfile.ZipFile, name: str, keep: bool) -> tuple[bytes, str]:
    """A file's content, if it is to be kept, and its digest; piece by piece."""
    digest, pieces = hashlib.sha256(), []
    with archive.open(name) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            pieces += [chunk] if keep else []
    return b"".join(pieces), digest.hexdigest()


def _is_of(name: str, papers: Mapping[str, object]) -> bool:
    """Whether reports are made from a file."""
    if name in (BUNDLE_FILE, TESTBED_FILE):
        return True
    paper, _, rest = name.partition("/")
    parts = rest.split("/")
    if paper in bundle.OF_TESTBED:
        return rest == bundle.OF_TESTBED[paper][0] or (len(parts) == 2 and parts[0] == TESTBED_TABLES)
    if paper not in papers:
        return False
    if parts[0] == "raw":
        return len(parts) == 3 and _is_record(parts[1:])
    if len(parts) == 2:
        return parts[0] == "tidy" or (parts[0] == "analysis" and parts[1] in JUDGED_TABLES)
    return rest in _KEPT
