"""Levels of factors, and the cells that they make, in words. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

Cell = tuple[str, Mapping[str, Any]]
"""(experiment, its levels by factor)."""


def text(level: Any) -> str:
    """A level as text: `3`, `10gbe`, empty for a factor that does not apply."""
    if level is None or (isinstance(level, float) and math.isnan(level)) or level is pd.NA:
        return ""
    if isinstance(level, float | np.floating) and float(level).is_integer():
        return str(int(level))
    found = str(level)
    return found[:-2] if found.endswith(".0") and found[:-2].isdigit() else found


def cell_name(experiment: str, levels: Mapping[str, Any]) -> str:
    """A cell in words: `put-grid 10gbe 3 6`."""
    return " ".join([experiment, *map(text, levels.values())])
