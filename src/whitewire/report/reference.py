"""results/reference: the tables of a complete run in the repository, from which reports are made and with which runs
are compared."""

from __future__ import annotations

import gzip
import sys
import tempfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from whitewire import atomic, paths
from whitewire.errors import Faults, UserError
from whitewire.paths import shown
from whitewire.records.manifest import MANIFEST_FILE, manifest_faults, manifest_of
from whitewire.report import bundle, masking
from whitewire.report.bundle import BUNDLE_FILE, REFERENCE, VERDICTS_FILE, bundle_of, check_bundle
from whitewire.report.masking import masking_lines
from whitewire.tidy import form
from whitewire.tidy.tables import TABLES

LARGE_BYTES = 1 << 15
"""Size in bytes above which tables are compressed, except for verdicts, which comparisons and appendices read in
place."""
_MOST_BYTES = 3_000_000
"""Most bytes of all files together."""
_AGAIN = "make it anew with `make reference`"


def reference_folder() -> Path:
    """The folder of reference results: beside the configuration in use or the opened project there, else in the
    repository. It may not exist."""
    root = paths.root()
    around = [root.parent.parent] if root.parent.name == bundle.OPENED else []
    places = [results / REFERENCE for results in (root / "results", *around, paths.HOME / "results")]
    return next((place for place in places if place.is_dir()), places[-1])


def is_kept(results: Path) -> bool:
    """Whether a folder holds the reference results."""
    return reference_folder().is_dir() and reference_folder().resolve() == results.resolve()


def keep_reference(results: Path, papers: Sequence[str], private: bool = False) -> Path:
    """Keep results of papers (`results/<testbed>`) as the reference, replacing the last one; return its folder.

    `private`: keep the names of hosts, users, addresses and folders instead of replacing them. Raises UserError, and
    writes nothing, for incomplete, damaged or too large results.
    """
    files = {_stored(name, content): content for name, content in _of(results, papers, private).items()}
    # No time stamp in an archive: the same results make the same bytes.
    kept = {name: gzip.compress(content, mtime=0) if _is_packed(name) else content for name, content in files.items()}
    size = sum(map(len, kept.values()))
    if size > _MOST_BYTES:
        raise UserError(f"{shown(results)}: found {size} bytes of tables, expected at most {_MOST_BYTES}")
    target = paths.root() / "results" / REFERENCE
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic.folder(target) as part:
        for name, content in kept.items():
            (part / name).parent.mkdir(parents=True, exist_ok=True)
            (part / name).write_bytes(content)
        (part / MANIFEST_FILE).write_text(atomic.as_json(manifest_of(kept)), encoding="utf-8")
    return target


def _of(results: Path, papers: Sequence[str], private: bool) -> dict[str, bytes]:
    files = bundle_of(results, papers)
    if private:
        return files
    own = bundle.record_of(files[BUNDLE_FILE], shown(results))
    with tempfile.TemporaryDirectory(prefix="reference-", dir=paths.temporary()) as scratch:
        made, mask, left_out = masking.masked(files, own, "", Path(scratch))
    for line in masking_lines(mask, left_out) if mask.seen or left_out else ():
        print(f"whitewire: {line}", file=sys.stderr)
    found = {name: content for name, content in made.items() if isinstance(content, bytes)}
    bundle.check_form(own, found, shown(results))
    return found


def read_reference(papers: Collection[str] | None = None) -> tuple[bundle.BundleRecord, dict[str, bytes]]:
    """Description of results/reference, and its files by path, tables unpacked.

    Raises UserError with one line if it is missing, altered, of a later format, or has another design than this
    version; with `papers`, only for these.
    """
    own = reference_folder()
    record = results_record()
    faults = manifest_faults(own)
    if faults:
        raise Faults([f"{shown(path)}: {why}; {_AGAIN}" for path, why in faults])
    try:
        files = dict(_files(own))
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{shown(own)}: found a table that cannot be unpacked ({error}); {_AGAIN}") from None
    check_bundle(record, files, shown(own), papers)
    return record, files


def results_record() -> bundle.BundleRecord:
    """results.json of the reference. Raises UserError."""
    path = reference_folder() / BUNDLE_FILE
    if not path.is_file() or not (reference_folder() / MANIFEST_FILE).is_file():
        raise UserError(
            f"{shown(reference_folder())}: found no reference results, expected some; {_AGAIN} after a complete run"
        )
    return bundle.record_of(path.read_bytes(), shown(path.parent))


def _files(own: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(each for each in own.rglob("*") if each.is_file() and each != own / MANIFEST_FILE):
        name, content = path.relative_to(own).as_posix(), path.read_bytes()
        yield (name.removesuffix(".gz"), form.gunzip(content)) if _is_packed(name) else (name, content)


def _stored(name: str, content: bytes) -> str:
    large = name.endswith(".csv") and len(content) > LARGE_BYTES and Path(name).name != VERDICTS_FILE
    return f"{name}.gz" if large else name


def _is_packed(name: str) -> bool:
    """Whether a file was packed here; some tables are compressed anyway."""
    return name.endswith(".csv.gz") and Path(name).name not in TABLES
