"""`whitewire check`: what of a whole folder of results is sound, and each fault in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from whitewire.design.rows import read_csv
from whitewire.errors import Faults, UserError
from whitewire.paths import shown
from whitewire.records import checked, links, scale_candidate, trust
from whitewire.records.checked import TESTBED_TABLES, CheckedBlock, table_faults
from whitewire.records.links import LINKS_FOLDER, LINKS_RECORD, links_faults
from whitewire.records.run import DesignRow, RunRecord
from whitewire.records.scale_candidate import SCALE_FILE
from whitewire.records.trust import TRUST_FOLDER, TRUST_RECORD, block_folders, read_trust, read_trust_unchecked

_HEADER = ("paper", "part", "state", "runs", "invalid", "overhead runs", "faults")
_Row = tuple[object, ...]
Checked = tuple[_Row, list[str]]
_BUNDLE = "results.json"
"""For results that were shared: tables and records without the raw output (report/bundle.py)."""


def check_results(folder: Path) -> None:
    """Print a table of the results below `folder` (results/<testbed>, or one paper of it), one row per block, and of
    links and trust. Raises Faults with every fault; UserError if there are no results."""
    papers = [folder] if _is_paper(folder) else sorted(path for path in folder.glob("*") if _is_paper(path))
    travelled = any((place / _BUNDLE).is_file() for place in (folder, folder.absolute().parent.parent))
    of_testbed = [(LINKS_FOLDER, list(of_links(folder / LINKS_FOLDER, travelled))),
                  (TRUST_FOLDER, list(of_trust(folder / TRUST_FOLDER, travelled)))]  # fmt: skip
    if not papers and not any(parts for _, parts in of_testbed):
        raise UserError(f"{shown(folder)}: found no results, expected a folder of them such as results/<testbed>")
    rows: list[_Row] = []
    faults: list[str] = []
    for name, parts in (*of_testbed, *((paper.name, list(of_paper(paper))) for paper in papers)):
        for row, found in parts:
            rows.append((name, *row, len(found)))
            faults += found
    print(_as_text([_HEADER, *rows]))
    if faults:
        raise Faults(faults, most=len(faults))


def of_links(folder: Path, travelled: bool) -> Iterable[Checked]:
    """(part, state and numbers; faults) of the record of a testbed's links and of its tables, where they are there."""
    finished = (folder / LINKS_RECORD).is_file()
    if not finished and not (folder / links.PLAN).is_file():
        return
    found = _faults_of_reading(links.read_links_unchecked, folder) if travelled and finished else links_faults(folder)
    yield _record(folder, found, finished)


def of_trust(folder: Path, travelled: bool) -> Iterable[Checked]:
    """The same for the record of trust, and for each of its finished blocks."""
    finished = (folder / TRUST_RECORD).is_file()
    parts = [name for name in trust.PARTS if (own := trust.part(folder, name)) and own["units"]]
    if not finished and not parts:
        return
    found = (
        _faults_of_reading(read_trust_unchecked if travelled else read_trust, folder)
        if finished
        else trust.faults_of_parts(folder, parts)
    )
    yield _record(folder, found, finished)
    for path in block_folders(folder, parts):
        yield _block(path.relative_to(folder).as_posix(), checked.read_block(path))


def _record(folder: Path, found: list[str], finished: bool) -> Checked:
    found = [*found, *(table_faults(folder / TESTBED_TABLES) or [])]
    return _part("record", "unsound" if found else "sound" if finished else "not finished"), found


def _faults_of_reading(read: Callable[[Path], object], folder: Path) -> list[str]:
    """The faults with which a record is not read."""
    try:
        read(folder)
    except UserError as error:
        return list(error.faults if isinstance(error, Faults) else error.lines)
    return []


def _block(name: str, block: CheckedBlock) -> Checked:
    state = "unsound" if block.faults else "sound" if block.finished else "not finished"
    valid = sum(record["valid"] for _, record in block.runs)
    return (name, state, valid, len(block.runs) - valid, len(block.overheads)), block.faults


def _is_paper(folder: Path) -> bool:
    return (folder / "design.csv").exists() or (folder / "raw").is_dir()


def of_paper(results: Path) -> Iterable[Checked]:
    """(part, state and numbers; faults) of the design, of each block, and of the tables of one paper's results."""
    rows: list[DesignRow] = []
    try:
        rows = read_csv(results / "design.csv")
        yield _part("design", "sound"), []
    except UserError as error:
        yield _part("design", "unsound"), list(error.lines)
    designed = {row["block"] for row in rows}
    try:
        if scale_candidate.recorded(results / "raw") is not None:
            yield _part(SCALE_FILE, "sound"), []
    except UserError as error:
        yield _part(SCALE_FILE, "unsound"), list(error.lines)
    known: dict[tuple[str, object], float] = {}
    there = {path.name for path in (results / "raw").glob("*") if path.is_dir()}
    for name in sorted(designed | there):
        own = [row for row in rows if row["block"] == name]
        if name not in there and not (results / "tidy").exists():
            yield _part(name, "not measured"), []
            continue
        block = checked.read_block(results / "raw" / name, own if name in designed else None)
        wanted = {row["run_id"] for row in own}
        block.faults += _of_many_k((each for each in block.runs if each[1]["run_id"] in wanted), known)
        yield _block(name, block)
    for name, faults in (
        ("tidy", table_faults(results / "tidy")),
        ("analysis", checked.analysis(results / "analysis")),
    ):
        if (results / name).is_dir():
            yield _part(name, "without manifest" if faults is None else "unsound" if faults else "sound"), faults or []


def _of_many_k(runs: Iterable[tuple[Path, RunRecord]], known: dict[tuple[str, object], float]) -> Iterable[str]:
    """Valid runs that have another k than the first one of their experiment, which `known` keeps."""
    for folder, record in runs:
        if record["valid"]:
            k = record["scale"]["k"]
            first = known.setdefault((record["experiment"], record["factors"].get("k")), k)
            if k != first:
                path = shown(folder / "run.json")
                yield f"{path}: scale.k: found {k:g}, expected {first:g} as in other runs of {record['experiment']}"


def _part(name: str, state: str) -> _Row:
    return name, state, "", "", ""


def _as_text(rows: Sequence[_Row]) -> str:
    widths = [max(len(str(row[place])) for row in rows) for place in range(len(_HEADER))]
    lines = ("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
