"""`whitewire check`: what of a whole folder of results is sound, and each fault in one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from whitewire.design.rows import read_csv
from whitewire.errors import Faults, UserError
from whitewire.paths import shown
from whitewire.records import checked, links
from whitewire.records.run import DesignRow

HEADER = ("paper", "part", "state", "runs", "invalid", "floors", "without manifest", "faults")
Row = tuple[object, ...]


def check(folder: Path) -> None:
    """Print a table of the papers below `folder` (results/<testbed>, or one paper of it), a row per block.

    Raises Faults with every fault; UserError where there are no results.
    """
    papers = [folder] if _is_paper(folder) else sorted(path for path in folder.glob("*") if _is_paper(path))
    measured = (folder / links.FOLDER / links.PLAN).is_file()
    if not papers and not measured:
        raise UserError(f"{shown(folder)}: found no results, expected a folder of them such as results/<testbed>")
    rows: list[Row] = []
    faults: list[str] = []
    if measured:
        row, found = of_links(folder / links.FOLDER)
        rows.append((links.FOLDER, *row, len(found)))
        faults += found
    for paper in papers:
        for row, found in of_paper(paper):
            rows.append((paper.name, *row, len(found)))
            faults += found
    print(_as_text([HEADER, *rows]))
    if faults:
        raise Faults(faults, most=len(faults))


def of_links(folder: Path) -> tuple[Row, list[str]]:
    """(part, state and numbers; faults) of the record of a testbed's links and of its tables."""
    found = [*links.faults(folder), *(checked.tables(folder / "tables") or [])]
    finished = (folder / links.RECORD).is_file()
    return _part("record", "unsound" if found else "sound" if finished else "not finished"), found


def _is_paper(folder: Path) -> bool:
    return (folder / "design.csv").exists() or (folder / "raw").is_dir()


def of_paper(results: Path) -> Iterable[tuple[Row, list[str]]]:
    """(part, state and numbers; faults) of the design, of each block, and of the tables of one paper's results."""
    rows: list[DesignRow] = []
    try:
        rows = read_csv(results / "design.csv")
        yield _part("design", "sound"), []
    except UserError as error:
        yield _part("design", "unsound"), list(error.lines)
    designed = {row["block"] for row in rows}
    there = {path.name for path in (results / "raw").glob("*") if path.is_dir()}
    for name in sorted(designed | there):
        own = [row for row in rows if row["block"] == name]
        if name not in there and not (results / "tidy").exists():
            yield _part(name, "not measured"), []
            continue
        block = checked.read_block(results / "raw" / name, own if name in designed else None)
        state = "unsound" if block.faults else "sound" if block.finished else "not finished"
        valid = sum(record["valid"] for _, record in block.runs)
        numbers = valid, len(block.runs) - valid, len(block.floors), block.unchecked
        yield (name, state, *numbers), block.faults
    for name, faults in (
        ("tidy", checked.tables(results / "tidy")),
        ("analysis", checked.analysis(results / "analysis")),
    ):
        if (results / name).is_dir():
            yield _part(name, "without manifest" if faults is None else "unsound" if faults else "sound"), faults or []


def _part(name: str, state: str) -> Row:
    return name, state, "", "", "", ""


def _as_text(rows: Sequence[Row]) -> str:
    widths = [max(len(str(row[place])) for row in rows) for place in range(len(HEADER))]
    lines = ("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
