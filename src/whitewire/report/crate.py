"""A testbed's results as one file: a Workflow Run RO-Crate (https://w3id.org/ro/wfrun/workflow/0.5), made here and
opened from anywhere.

It holds a parcel with all tables of the analysis, reports, configuration, workflow, licence and citation, and on demand
the raw output; manifest.json lists every file. Nothing of a crate is unpacked before all of it is checked.
"""

from __future__ import annotations

import hashlib
import io
import json
import mimetypes
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from whitewire import paths, whole
from whitewire.description.reading import load_yaml
from whitewire.errors import UserError
from whitewire.paths import HOME, shown
from whitewire.records import manifest, schema
from whitewire.records.journal import read_runs
from whitewire.report import parcel
from whitewire.text import quoted

CRATES = "crates"
"""The folder of results/ with the crates that were made."""
METADATA, PARCEL = "ro-crate-metadata.json", "results/"
MOST_FILES, MOST_FILE_BYTES, MOST_BYTES = 200_000, 1 << 30, 8 << 30
"""Of a crate that is opened: files, bytes of one, and of all together, unpacked."""
MAIN = "workflow/Snakefile"
WORKFLOW = (MAIN, "workflow/rules/*.smk", "envs/requirements.txt", "LICENSE", "CITATION.cff")
"""Of the repository, in every crate."""
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
LICENCE = "https://spdx.org/licenses/Apache-2.0"
FORMATS = {".csv": "text/csv", ".yaml": "application/yaml", ".cff": "application/yaml", ".gz": "application/gzip",
           ".smk": "text/plain", "": "text/plain", ".json": "application/json", ".png": "image/png"}  # fmt: skip
KEPT = ("design.csv", manifest.NAME)
"""Of a paper, beside its tables and records."""
Contents = dict[str, bytes | Path]
"""What is in a crate by path, as bytes or as the file that has them."""


# -- made --------------------------------------------------------------------------------------------------


def make(results: Path, papers: Sequence[str], raw: bool, target: Path | None = None) -> Path:
    """Pack `results/<testbed>` into a crate and return it; `raw`: with all raw output.

    `target` is its file; None: results/crates/<testbed>.zip. Raises UserError for results that are not complete.
    """
    target = target or paths.root() / "results" / CRATES / f"{results.name}.zip"
    files = contents(results, papers, raw)
    told = parcel.told(_bytes(files[PARCEL + parcel.NAME]), shown(results))
    listed = manifest.of({name: _bytes(content) for name, content in files.items()})
    described = (json.dumps(described_as(files, told, listed, times(results, papers)), indent=1) + "\n").encode()
    listed["files"][METADATA] = manifest.entry(described)
    every: Contents = {METADATA: described, manifest.NAME: (json.dumps(listed, indent=1) + "\n").encode(), **files}
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in every.items():
            # No time stamp: the same results make the same bytes.
            packed.writestr(zipfile.ZipInfo(name), _bytes(content), zipfile.ZIP_DEFLATED)
    target.parent.mkdir(parents=True, exist_ok=True)
    return whole.write(target, archive.getvalue())


def contents(results: Path, papers: Sequence[str], raw: bool) -> Contents:
    """Every file of a crate by its path in it, but for the two that describe the others."""
    found: Contents = {PARCEL + name: content for name, content in parcel.of(results, papers).items()}
    for paper in papers:
        own = results / paper
        for pattern in ("analysis/*", *(["raw/**/*"] if raw else [])):
            found |= {f"{PARCEL}{paper}/{name}": path for name, path in _below(own, own.glob(pattern))}
    config, reports = parcel.configuration_of(results), _reports_of(results)
    names = ["config.yaml", *(f"papers/{paper}.yaml" for paper in papers)]
    found |= {f"config/{name}": config / name for name in names}
    patterns = ["index.html", *(f"{paper}.*" for paper in papers)]
    patterns += [f"{kind}/{paper}/*" for kind in ("data", "figures") for paper in papers]
    for pattern in patterns:
        found |= {f"reports/{name}": path for name, path in _below(reports, reports.glob(pattern))}
    for pattern in WORKFLOW:
        found |= dict(_below(HOME, HOME.glob(pattern)))
    return dict(sorted(found.items()))


def _reports_of(results: Path) -> Path:
    """Of an opened parcel they are beside its results."""
    return results / "reports" if (results / "reports").is_dir() else results.resolve().parent.parent / "reports"


def _below(folder: Path, found: Iterator[Path]) -> Iterator[tuple[str, Path]]:
    for path in found:
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts):
            yield path.relative_to(folder).as_posix(), path


def _bytes(content: bytes | Path) -> bytes:
    return content if isinstance(content, bytes) else content.read_bytes()


def times(results: Path, papers: Sequence[str]) -> tuple[float, float] | None:
    """When the first run began and the last one ended, in seconds since 1970; None where no raw output tells."""
    blocks = [(results / paper / "raw", path.name) for paper in papers for path in (results / paper / "raw").glob("*")]
    records = [record for raw, block in blocks for _, record in read_runs(raw, [block])]
    starts = [record["start"] for record in records if "start" in record]
    ends = [record["end"] for record in records if "end" in record]
    return (min(starts), max(ends)) if starts and ends else None


def described_as(
    files: Contents, told: parcel.Told, listed: manifest.Manifest, spent: tuple[float, float] | None
) -> dict[str, Any]:
    """ro-crate-metadata.json: what each file is, and the run of the workflow that made them."""
    try:
        from rocrate.model.contextentity import ContextEntity
        from rocrate.rocrate import ROCrate
    except ImportError:
        raise UserError("the Python package rocrate is missing: `make setup-report` installs it") from None

    crate = ROCrate(version="1.1")  # which the profiles are made for

    def told_of(identifier: str, kind: str, **properties: Any) -> Any:
        return crate.add(ContextEntity(crate, identifier, properties={"@type": kind, **properties}))

    citation = load_yaml(HOME / "CITATION.cff")
    authors = [told_of(f"#author-{number}", "Organization", name=each["name"])
               for number, each in enumerate(citation["authors"], start=1)]  # fmt: skip
    papers = ", ".join(told["papers"])
    root = crate.root_dataset
    root["name"] = f"Whitewire: {papers} on {told['testbed']}"
    root["description"] = (
        f"Re-measured benchmarks of the papers {papers}, on the testbed {told['testbed']}: design, tables, verdicts by "
        "rule, reports, and the environment of the runs."
    )
    root["license"] = told_of(LICENCE, "CreativeWork", name="Apache License 2.0", url=LICENCE)
    root["author"] = authors
    root["conformsTo"] = [
        told_of(profile, "CreativeWork", name=name, version=profile.rpartition("/")[2])
        for profile, name in PROFILES.items()
    ]
    requirements = [
        told_of(f"#software-{number}", "SoftwareApplication", name=name, softwareVersion=version)
        for number, (name, version) in enumerate(_software(files), start=1)
    ]  # fmt: skip
    properties = {"name": "Whitewire's workflow", "license": root["license"], "author": authors,
                  "description": citation["title"], "version": told["whitewire"],
                  "softwareRequirements": requirements}  # fmt: skip
    workflow = crate.add_workflow(
        None, MAIN, main=True, lang="snakemake",
        properties=properties | _entry(MAIN, listed),
    )  # fmt: skip
    raw_folders: dict[str, Any] = {}
    parts = {}
    for name in files:
        if name == MAIN:
            continue
        if folder := _raw_folder(name):
            raw_folders.setdefault(folder, None)
            continue
        about = {"name": PurePosixPath(name).name, "encodingFormat": _format(name), "description": _description(name)}
        parts[name] = crate.add_file(None, name, properties=about | _entry(name, listed))
    about = {"name": manifest.NAME, "encodingFormat": FORMATS[".json"], "description": "size and digest of every file"}
    crate.add_file(None, manifest.NAME, properties=about)
    for folder in raw_folders:
        about = {"name": folder, "description": "output of the runs as it came: one folder a run"}
        raw_folders[folder] = crate.add_dataset(None, folder, properties=about)
    inputs = [entity for name, entity in parts.items() if name.startswith("config/") or name.endswith(parcel.TESTBED)]
    made = [entity for name, entity in parts.items() if name.startswith((PARCEL, "reports/"))]
    moments = {key: _moment(at) for key, at in zip(("startTime", "endTime"), spent, strict=True)} if spent else {}
    action = told_of(
        "#run", "CreateAction", name=f"make papers, by commit {', '.join(told['commits'])}",
        description="measures, judges and reports"
        + (", by a changed copy of that commit" if told["modified"] else ""),
        instrument=workflow, object=inputs, result=[*made, *raw_folders.values()],
        actionStatus="http://schema.org/CompletedActionStatus", **moments,
    )  # fmt: skip
    root["mentions"] = [action]
    if spent:
        crate.datePublished = datetime.fromtimestamp(spent[1], UTC)
    return crate.metadata.generate()


def _entry(name: str, listed: manifest.Manifest) -> dict[str, str]:
    entry = listed["files"][name]
    return {"contentSize": str(entry["bytes"]), "sha256": entry["sha256"]}


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _format(name: str) -> str:
    suffix = PurePosixPath(name).suffix
    return FORMATS.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"


def _raw_folder(name: str) -> str:
    """The folder of raw output that a file is in, but for the records that every parcel has; empty: in none."""
    parts = PurePosixPath(name).parts
    if not name.startswith(PARCEL) or len(parts) < 5 or parts[2] != "raw" or _is_record(parts[3:]):
        return ""
    return "/".join(parts[:4]) + "/"


def _is_record(parts: Sequence[str]) -> bool:
    """Of raw/<block>/<file>: whether a parcel has it."""
    return len(parts) == 2 and (parts[1] == "block.json" or parts[1].startswith("environment"))


def _description(name: str) -> str:
    parts = PurePosixPath(name).parts
    if name.startswith(PARCEL) and len(parts) > 2:
        kinds = {"tidy": "tidy table", "analysis": "table of the analysis", "raw": "record of a block",
                 "design.csv": "one row per run", manifest.NAME: "size and digest of design.csv"}  # fmt: skip
        return f"{kinds.get(parts[2], 'result')} of {parts[1]}"
    kinds = {PARCEL + parcel.NAME: "what these results are", PARCEL + parcel.TESTBED: "the testbed's description",
             "LICENSE": "licence", "CITATION.cff": "how to cite Whitewire"}  # fmt: skip
    folders = {"config": "configuration", "reports": "report", "workflow": "rules of the workflow",
               "envs": "Python packages, locked"}  # fmt: skip
    return kinds.get(name) or folders.get(parts[0], "file")


def _software(files: Contents) -> list[tuple[str, str]]:
    """Name and version of what the first environment record lists as tools, and of Python's packages."""
    for name, content in files.items():
        if name.startswith(PARCEL) and "/environment" in name:
            record = json.loads(_bytes(content))
            tools = [(str(key), str(value)) for key, value in record.get("tools", {}).items() if value]
            packages = record.get("software", {}).get("python_packages", [])
            return tools + [(one, other) for one, _, other in (each.partition("==") for each in packages)]
    return []


# -- opened ------------------------------------------------------------------------------------------------


def read(path: Path) -> tuple[parcel.Told, dict[str, bytes]]:
    """What a crate's results are, and the parcel's files by path. Nothing is written.

    UserError with one line for a file that is no crate of ours, cut off, altered, of a later format, with paths that
    leave its folder, too large, or of papers that this version does not know or measures otherwise.
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
    record = parcel.told(files[parcel.NAME], source)
    kept = {name: content for name, content in files.items() if _is_of(name, record["papers"])}
    parcel.check(record, kept, source)
    return record, kept


def _entries(archive: zipfile.ZipFile, source: str) -> dict[str, zipfile.ZipInfo]:
    """The archive's files by path. UserError for one that could do harm when it is unpacked."""
    infos = archive.infolist()
    if len(infos) > MOST_FILES:
        raise UserError(f"{source}: found {len(infos)} files, expected at most {MOST_FILES}")
    found: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        if why := _unsafe(info):
            raise UserError(f"{source}: {quoted(info.orig_filename)}: {why}")
        if info.filename in found:
            raise UserError(f"{source}: {quoted(info.filename)}: found the path twice, expected it once")
        if not info.is_dir():
            found[info.filename] = info
    if (total := sum(info.file_size for info in found.values())) > MOST_BYTES:
        raise UserError(f"{source}: found {total} bytes unpacked, expected at most {MOST_BYTES}")
    return found


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
    if info.file_size > MOST_FILE_BYTES:
        return f"found {info.file_size} bytes, expected at most {MOST_FILE_BYTES}"
    return ""


def _checked(archive: zipfile.ZipFile, entries: Mapping[str, zipfile.ZipInfo], source: str) -> dict[str, bytes]:
    """The parcel's files, once every file of the crate is as manifest.json says."""
    for name in (METADATA, manifest.NAME, PARCEL + parcel.NAME):
        if name not in entries:
            raise UserError(f"{source}: {name}: found no such file, expected the crate of a Whitewire")
    try:
        listed: manifest.Manifest = schema.parse(archive.read(manifest.NAME).decode())
        why = schema.fault(listed, manifest.Manifest)
    except (UnicodeDecodeError, schema.Broken) as error:
        why = str(error)
    if why:
        raise UserError(f"{source}: {manifest.NAME}: {why}")
    wanted = listed["files"]
    for name in sorted({*wanted} ^ ({*entries} - {manifest.NAME})):
        missing = f"found no such file, expected the one that {manifest.NAME} lists"
        raise UserError(f"{source}: {name}: " + (
            missing if name in wanted else f"found a file that {manifest.NAME} does not list, expected none"
        ))  # fmt: skip
    # The later format first: what else it has nobody knows.
    parcel.told(archive.read(PARCEL + parcel.NAME), source)
    found = {}
    for name, entry in wanted.items():
        if entries[name].file_size != entry["bytes"]:
            raise UserError(
                f"{source}: {name}: found {entries[name].file_size} bytes, expected {entry['bytes']} by {manifest.NAME}"
            )
        content = archive.read(name)
        if (digest := hashlib.sha256(content).hexdigest()) != entry["sha256"]:
            raise UserError(
                f"{source}: {name}: found SHA-256 {digest[:12]}…, expected {entry['sha256'][:12]}… by {manifest.NAME}"
            )
        if name.startswith(PARCEL):
            found[name.removeprefix(PARCEL)] = content if not _raw_folder(name) else b""
    return found


def _is_of(name: str, papers: Mapping[str, object]) -> bool:
    """Whether a file is one that reports are made of."""
    if name in (parcel.NAME, parcel.TESTBED):
        return True
    paper, _, rest = name.partition("/")
    parts = rest.split("/")
    if paper not in papers:
        return False
    if parts[0] == "raw":
        return len(parts) == 3 and _is_record(parts[1:])
    if len(parts) == 2:
        return parts[0] == "tidy" or (parts[0] == "analysis" and parts[1] in parcel.JUDGED)
    return rest in KEPT
