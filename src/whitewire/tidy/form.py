"""Tidy tables as they are read: with the columns that readers need, and cells of the kinds that tables.py writes."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import pandas as pd

from whitewire.records import reasons
from whitewire.records.checked import CELL_KINDS, is_of_kind, parse_table
from whitewire.records.samples import Torn
from whitewire.text import quoted
from whitewire.tidy import columns as declared
from whitewire.tidy.columns import BY_ITSELF, COLUMN_TYPES, JUDGED, kind_of_column, of_runs
from whitewire.tidy.tables import TABLES

_MOST_BYTES, MOST_UNPACKED, MOST_LINE = 1 << 27, 1 << 29, 1 << 20
"""Most bytes of a table that is held in memory, of any other one, and of a line."""
_CHUNK = 500_000
"""Cells that are looked at together."""
OWN = {"runs.csv": of_runs((), lanes=True), **TABLES, "asked.csv": (*TABLES["asked.csv"], BY_ITSELF, JUDGED)}
"""Columns by table; runs.csv has one for each factor of its paper besides, whose levels are text."""
NEEDED_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "runs.csv": of_runs(()),
    **{name: TABLES[name] for name in ("floors.csv", "unavailable.csv", "left.csv", "scale.csv", "asked.csv")},
}
"""Columns of the tables that are judged and compared."""
_FILLED: Mapping[str, tuple[str, ...]] = {
    "runs.csv": declared.FILLED,
    "floors.csv": ("block", "floor", "number", "valid"),
    "unavailable.csv": ("run_id", "experiment", "cell", "reason"),
    "left.csv": ("run_id", "experiment", "cell", "reason", "why_code"),
    "scale.csv": ("experiment", "k", "data_fraction", "rung"),
    "asked.csv": ("block", "claim"),
}
"""Columns of them whose cells are never empty."""
_NO_NUMBER = ("", "nan", "NaN")
"""The mark for a missing number."""


def text_of(content: bytes, name: str) -> str:
    """Text of the file `name` with a table of at most _MOST_BYTES. Raises Torn."""
    try:
        unpacked = gunzip(content) if name.endswith(".gz") else content
        if len(unpacked) > _MOST_BYTES:
            raise Torn(f"found more than {_MOST_BYTES} bytes, expected fewer")
        return unpacked.decode()
    except UnicodeDecodeError as error:
        raise Torn(f"byte {error.start}: found bytes that are not UTF-8, expected text") from None
    except (OSError, EOFError, zlib.error) as error:
        raise Torn(f"found no whole archive ({error}), expected one of gzip") from None


def gunzip(content: bytes) -> bytes:
    """Content of a gzip archive, cut off after _MOST_BYTES. Raises OSError, EOFError, zlib.error."""
    with gzip.open(io.BytesIO(content)) as file:
        return file.read(_MOST_BYTES + 1)


def check_cells(content: bytes, name: str, columns: Collection[str]) -> None:
    """Raises Torn if a cell of a table is not of its column's kind. The table is read piece by piece.

    `columns`: the table's own columns; all others hold levels of factors.
    """
    with io.BytesIO(content) as raw, gzip.open(raw) if name.endswith(".gz") else raw as stream:
        reader = csv.reader(_lines(stream), strict=True)
        try:
            if stream.seek(MOST_UNPACKED + 1) > MOST_UNPACKED and stream.read(1):
                raise Torn(f"found more than {MOST_UNPACKED} bytes, expected fewer")
            stream.seek(0)
            names = next(reader, [])
            if twice := [column for column, count in Counter(names).items() if count > 1]:
                raise Torn(f"line 1: found the column {quoted(twice[0])} twice, expected it once")
            kinds = [kind_of_column(name, column) if column in columns else "line" for column in names]
            line, most = 2, max(_CHUNK // max(len(names), 1), 1)
            while chunk := list(itertools.islice(reader, most)):
                _check_chunk(chunk, names, kinds, line)
                line += len(chunk)
        except csv.Error as error:
            raise Torn(f"found a table that cannot be read ({error}), expected CSV") from None
        except UnicodeDecodeError:
            raise Torn("found bytes that are not UTF-8, expected text") from None
        except (OSError, EOFError, zlib.error) as error:
            raise Torn(f"found no whole archive ({error}), expected one of gzip") from None


def _lines(stream: gzip.GzipFile | io.BytesIO) -> Iterator[str]:
    """Raises Torn for one that is too long."""
    while line := stream.readline(MOST_LINE + 1):
        if len(line) > MOST_LINE:
            raise Torn(f"found a line of more than {MOST_LINE} bytes, expected none")
        yield line.decode()


def _check_chunk(chunk: list[list[str]], names: list[str], kind_of: list[str], first: int) -> None:
    """Raises Torn; `first` is the line of the chunk's first row."""
    other = next((at for at, row in enumerate(chunk) if len(row) != len(names)), None)
    if other is not None:
        raise Torn(f"line {first + other}: found {len(chunk[other])} cells, expected {len(names)}")
    for name, kind, cells in zip(names, kind_of, zip(*chunk, strict=True), strict=True):
        bad = {cell for cell in {*cells} if cell and kind and not is_of_kind(cell, kind)}
        if bad:
            at = next(number for number, cell in enumerate(cells) if cell in bad)
            expected = CELL_KINDS[kind]
            raise Torn(f"line {first + at}: {name}: found {quoted(cells[at])}, expected {expected}")


def rows(content: bytes, name: str) -> list[dict[str, str]]:
    """Rows of the tidy table `name`. Raises Torn where it is not as its readers need it."""
    return parse_table(text_of(content, name), NEEDED_COLUMNS.get(name, ()), _FILLED.get(name, ()), kinds(name))


def kinds(name: str) -> dict[str, str]:
    """Columns of the tidy table `name` that hold no text, and of which kind their cells are."""
    return {column: kind for column in OWN.get(name, ()) if (kind := kind_of_column(name, column)) in COLUMN_TYPES}


def frame(path: Path, numbers: Collection[str] = (), types: Mapping[str, type] | None = None) -> pd.DataFrame:
    """A table as data, with the `types` of some columns: an empty cell is missing, in columns of `numbers` also `nan`.

    Any other text is text: levels of a factor may be called `none`, `null` or `NA`. Raises ValueError, OSError.
    """
    columns = pd.read_csv(path, nrows=0).columns
    missing = {column: _NO_NUMBER if column in numbers else _NO_NUMBER[:1] for column in columns}
    return pd.read_csv(path, dtype=types, keep_default_na=False, na_values=missing, low_memory=False)


def short_of_processors(table: pd.DataFrame) -> list[bool]:
    """Whether the attempt of each row of runs.csv lacked processors."""
    return [reasons.short([] if pd.isna(codes) else codes.split()) for codes in table["why_code"]]
