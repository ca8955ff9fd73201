"""manifest.json of a folder: size and SHA-256 of each of its files, written with them and checked by readers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict

from whitewire import atomic
from whitewire.atomic import PART
from whitewire.records.schema import Broken, load_json
from whitewire.text import quoted

MANIFEST_FILE = "manifest.json"


class Entry(TypedDict):
    """Size and digest of one file."""

    bytes: int
    sha256: str


class Manifest(TypedDict):
    """manifest.json: entries by path, with `/` between folders, from the manifest's own folder."""

    files: dict[str, Entry]


def entry(content: bytes) -> Entry:
    """A manifest's entry for a file with this content."""
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def manifest_of(contents: Mapping[str, bytes]) -> Manifest:
    """The manifest of files given by path and content."""
    return {"files": {name: entry(content) for name, content in sorted(contents.items())}}


def manifest_of_folder(folder: Path, paths: Iterable[Path]) -> Manifest:
    """The manifest of existing files."""
    return manifest_of({path.relative_to(folder).as_posix(): path.read_bytes() for path in paths})


def write_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files into a folder, and a manifest of them alone, which shows whether they are complete. Raises
    OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        atomic.write(folder / name, content)
    atomic.write(folder / MANIFEST_FILE, atomic.as_json(manifest_of(contents)))


def open_record(folder: Path, name: str) -> None:
    """Remove a record and its manifest, which marks its folder as unfinished until both are written again."""
    for each in (name, MANIFEST_FILE):
        (folder / each).unlink(missing_ok=True)


def close_record(folder: Path, name: str, record: Any, files: Iterable[Path]) -> None:
    """Write the manifest of `files` and record, then the record, which marks the folder as finished. Raises OSError."""
    content = atomic.as_json(record).encode()
    listed = manifest_of_folder(folder, files)
    listed["files"][name] = entry(content)
    (folder / name).unlink(missing_ok=True)  # an earlier record, which the new manifest does not list
    atomic.write(folder / MANIFEST_FILE, atomic.as_json(listed))
    atomic.write(folder / name, content)


def listed_paths(folder: Path) -> list[str]:
    """Paths that the folder's manifest lists. Raises Broken."""
    return list(load_json(folder / MANIFEST_FILE, Manifest)["files"])


def manifest_faults(
    folder: Path, names: Iterable[str] | None = None, whole: bool = True
) -> list[tuple[Path, str]] | None:
    """(path, fault) of every file that disagrees with the folder's manifest; None without a manifest.

    `names`: check only these. `whole`: files that the manifest does not list are faults too.
    """
    path = folder / MANIFEST_FILE
    if not path.exists() and not path.is_symlink():
        return None
    try:
        listed = load_json(path, Manifest)
    except Broken as broken:
        return [(path, str(broken))]
    found = []
    wanted_names = listed["files"] if names is None else names
    for name in wanted_names:
        if name not in listed["files"]:
            found.append((folder / name, f"found a file that {MANIFEST_FILE} does not list, expected none"))
        elif why := fault_of(folder, name, listed["files"][name]):
            found.append((folder / name, why))
    if whole and names is None:
        known = {MANIFEST_FILE, *listed["files"]}
        there = (each for each in sorted(folder.rglob("*")) if not each.is_dir() and not each.name.startswith(PART))
        found += [
            (each, f"found a file that {MANIFEST_FILE} does not list, expected none")
            for each in there
            if each.relative_to(folder).as_posix() not in known
        ]
    return found


def fault_of(folder: Path, name: str, wanted: Entry) -> str:
    """The fault of one listed file; empty if there is none."""
    path = folder / name
    if Path(name).is_absolute() or ".." in Path(name).parts:
        return f"found the path {quoted(name)} in {MANIFEST_FILE}, expected one below it"
    if not path.is_file():
        return f"found no such file, expected the one that {MANIFEST_FILE} lists"
    try:
        content = path.read_bytes()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return unlike(content, wanted)


def unlike(content: bytes, wanted: Entry) -> str:
    """How a file's content differs from its entry; empty if it does not."""
    if len(content) != wanted["bytes"]:
        return f"found {len(content)} bytes, expected {wanted['bytes']} by {MANIFEST_FILE}"
    if (digest := hashlib.sha256(content).hexdigest()) != wanted["sha256"]:
        return f"found SHA-256 {digest[:12]}…, expected {wanted['sha256'][:12]}… by {MANIFEST_FILE}"
    return ""
