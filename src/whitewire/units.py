"""Rates of links from the names of fabrics, and their bytes; multiples of a byte."""

from __future__ import annotations

import re

from whitewire.errors import UserError
from whitewire.text import quoted

KIB, MIB, GIB = 2**10, 2**20, 2**30
MB_PER_GBIT = 125.0


def gbit_per_s(fabric: str) -> float:
    """Rate in the name of a fabric, in Gbit/s: `10gbe` is 10, `0.5gbe` is 0.5. Raises UserError."""
    match = re.match(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)g", str(fabric))
    if not match:
        raise UserError(f"fabric: found {quoted(fabric)}, expected a name that starts with its rate, such as 10gbe")
    return float(match[1])
