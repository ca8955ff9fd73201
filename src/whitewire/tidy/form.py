"""Tidy tables as they are read: with the columns that readers need, and cells of the kinds that tables.py writes."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path

import pandas as pd

from whitewire.records import checked
from whitewire.records.samples import Torn
from whitewire.tidy.tables import BOOLEANS, INTEGERS, MEASURED, NUMBERS, RUN, TABLES

OWN = {"runs.csv": (*RUN, *MEASURED), **TABLES}
"""Columns by table; runs.csv has one for each factor of its paper besides, whose levels are text."""
NEEDED: Mapping[str, tuple[str, ...]] = {
    "runs.csv": ("run_id", "block", "experiment", "replicate", "metric", "value", "unit", "full_scale_value",
                 "full_scale_unit", "valid"),
    "floors.csv": ("block", "floor", "workload", "job", "number", "seconds", "valid"),
    "unavailable.csv": ("run_id", "reason"),
    "left.csv": ("experiment", "cell", "reason"),
    "scale.csv": ("experiment", "kind", "k", "data_fraction"),
}  # fmt: skip
"""Columns without which the tables that are judged and compared cannot be read; old ones may lack others."""
FILLED: Mapping[str, tuple[str, ...]] = {
    "runs.csv": ("run_id", "block", "experiment", "valid"),
    "floors.csv": ("block", "floor", "number", "valid"),
    "unavailable.csv": ("run_id", "reason"),
    "left.csv": ("experiment", "cell", "reason"),
    "scale.csv": ("experiment", "k", "data_fraction", "rung"),
}
"""Columns of them in which every row has a value."""
NO_NUMBER = ("", "nan", "NaN")
"""What a column of numbers has for none."""


def text_of(content: bytes, name: str) -> str:
    """Text of the file `name` with a table. Raises Torn."""
    try:
        return (gzip.decompress(content) if name.endswith(".gz") else content).decode()
    except UnicodeDecodeError as error:
        raise Torn(f"byte {error.start}: found bytes that are not UTF-8, expected text") from None
    except (OSError, EOFError, zlib.error) as error:
        raise Torn(f"found no whole archive ({error}), expected one of gzip") from None


def rows(content: bytes, name: str) -> list[dict[str, str]]:
    """Rows of the tidy table `name`. Raises Torn where it is not as its readers need it."""
    return checked.table(text_of(content, name), NEEDED.get(name, ()), FILLED.get(name, ()), kinds(name))


def kinds(name: str) -> dict[str, str]:
    """Columns of the tidy table `name` that hold no text, and of which kind their cells are."""
    every = {**dict.fromkeys(NUMBERS, "number"), **dict.fromkeys(INTEGERS, "integer"),
             **dict.fromkeys(BOOLEANS, "boolean")}  # fmt: skip
    return {column: kind for column, kind in every.items() if column in OWN.get(name, ())}


def frame(path: Path, numbers: Collection[str] = (), types: Mapping[str, type] | None = None) -> pd.DataFrame:
    """A table as data, with the `types` of some columns: an empty cell is missing, in columns of `numbers` also `nan`.

    Any other text is text: levels of a factor may be called `none`, `null` or `NA`. Raises ValueError, OSError.
    """
    columns = pd.read_csv(path, nrows=0).columns
    missing = {column: NO_NUMBER if column in numbers else NO_NUMBER[:1] for column in columns}
    return pd.read_csv(path, dtype=types, keep_default_na=False, na_values=missing, low_memory=False)
