"""Levels of factors, and cells of such levels, as text. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from whitewire.text import canonical

_SIZES = {"TB": 1e12, "GB": 1e9, "MB": 1e6, "kB": 1e3, "TiB": 2**40, "GiB": 2**30, "MiB": 2**20, "KiB": 2**10}
"""Bytes of the units that sizes are written in."""

Cell = tuple[str, Mapping[str, Any]]
"""(experiment, its levels by factor)."""
CellId = tuple[str, str]
"""A cell for sets and tables: (experiment, its levels as canonical JSON)."""


def cell_id(experiment: str, levels: Mapping[str, Any]) -> CellId:
    """A cell as one element of a set."""
    return experiment, canonical(levels)


def cell_ids(cells: Iterable[Cell]) -> set[CellId]:
    """Cells as a set."""
    return {cell_id(*cell) for cell in cells}


def level_text(level: Any) -> str:
    """A level as text: `3`, `10gbe`, empty for a factor that does not apply."""
    if level is None or (isinstance(level, float) and math.isnan(level)) or level is pd.NA:
        return ""
    if isinstance(level, float | np.floating) and float(level).is_integer():
        return str(int(level))
    found = str(level)
    return found[:-2] if found.endswith(".0") and found[:-2].isdigit() else found


def level_in_words(factor: str, level: Any) -> str:
    """A level as text for people; sizes with a unit: `1 TB`, `64 MiB`."""
    if not factor.endswith("_bytes") or isinstance(level, str | bool) or not level_text(level):
        return level_text(level)
    exact = [(level / size, unit) for unit, size in _SIZES.items() if level >= size]
    found = [f"{number:g} {unit}" for number, unit in exact if float(f"{number:g}") == number]
    return min(found, key=len, default=level_text(level))


def cell_name(experiment: str, levels: Mapping[str, Any]) -> str:
    """A cell in words: `put-grid 10gbe 3 6`."""
    return " ".join([experiment, *(level_in_words(factor, level) for factor, level in levels.items())])
