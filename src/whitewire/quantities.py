"""Units of what papers print: which there are, what each measures, and the one conversion between them. By pint.

MB is 10^6 bytes and MiB 2^20, b or bit is an eighth of B. Only units of this field are known, so that a misspelt one is
found; a paper declares further ones of its own. Bits are a dimension of their own, unlike in pint's own list, where
a size could not be told from a number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from whitewire.text import quoted, suggestion

PREFIXES = {
    "nano": "1e-9 = n-", "micro": "1e-6 = µ- = u-", "milli": "1e-3 = m-", "kilo": "1e3 = k- = K-", "mega": "1e6 = M-",
    "giga": "1e9 = G-", "tera": "1e12 = T-", "peta": "1e15 = P-", "exa": "1e18 = E-", "zetta": "1e21 = Z-",
    "kibi": "2**10 = Ki-", "mebi": "2**20 = Mi-", "gibi": "2**30 = Gi-", "tebi": "2**40 = Ti-", "pebi": "2**50 = Pi-",
}  # fmt: skip
UNITS = {
    "bit": "[information] = b", "byte": "8 bit = B", "second": "[time] = s = sec", "minute": "60 second = min",
    "hour": "60 minute = h", "day": "24 hour = d", "bits_per_second": "bit / second = bps",
    "bytes_per_second": "byte / second = Bps", "hertz": "1 / second = Hz", "rpm": "1 / minute", "USD": "[money]",
    "watt": "[power] = W", "watt_hour": "watt * hour = Wh",
    "count": "[]", "percent": "0.01 count",
    "transfer": "count = T",
}  # fmt: skip
COUNTED = (
    "x", "X", "times", "factor", "fraction", "block", "cable", "client", "copy", "copies", "core", "disk", "drive",
    "file", "host", "job", "lane", "map", "node", "object", "option", "port", "put", "rack", "reduce", "replica",
    "row", "server", "slave", "switch", "switches", "task", "thread", "worker",
)  # fmt: skip
"""What is only counted: numbers without a dimension."""
WORDS = {
    "[information] / [time]": "a rate", "[information]": "a size", "[time]": "a time", "1 / [time]": "a frequency",
    "[money]": "an amount of money", "[power]": "a power", "[power] * [time]": "an energy",
    "dimensionless": "a plain number", "[time] / [information]": "a time per size",
}  # fmt: skip
COMMON = (
    "B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "bit", "Mbit", "Gbit", "B/s", "MB/s", "GB/s",
    "MiB/s", "GiB/s", "Mbit/s", "Gbit/s", "Mbps", "Gbps", "MBps", "s", "ms", "min", "h", "percent", "USD", "GHz", "rpm",
    "1", "count", *COUNTED,
)  # fmt: skip
"""Names that a misspelt unit is compared with."""
AMOUNT = re.compile(r"([-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?)(\s*)(\D.*)")
UNIT = re.compile(r"(1|[A-Za-zµ]+)(\s?/\s?[A-Za-zµ]+)*")
REMARK = re.compile(r"\s*\([^()]*\)$")
MOST_UNIT = 100
"""Characters of a unit."""
PLAIN = "1"
"""The unit of a number without a dimension."""


class UnknownUnit(ValueError):
    """No such unit; the message says what was found and what is near."""


@cache
def _registry() -> Any:
    import pint

    registry: Any = pint.UnitRegistry(None, on_redefinition="raise")
    for name, size in PREFIXES.items():
        registry.define(f"{name}- = {size}")
    for name, size in UNITS.items():
        registry.define(f"{name} = {size}")
    for name in COUNTED:
        registry.define(f"{name} = count")
    return registry


@cache
def _parsed(unit: str) -> Any:
    import pint

    text = REMARK.sub("", unit).strip().replace("%", "percent")
    if len(text) > MOST_UNIT or not UNIT.fullmatch(text):
        raise UnknownUnit(f"found {quoted(unit)}, expected a unit such as MB/s{suggestion(text, COMMON)}")
    try:
        return _registry().Quantity(1, _registry().parse_units("" if text == PLAIN else text))
    except (pint.UndefinedUnitError, pint.DefinitionSyntaxError, ValueError, TypeError):
        raise UnknownUnit(f"found {quoted(unit)}, expected a unit such as MB/s{suggestion(text, COMMON)}") from None


def one(unit: str, own: Mapping[str, str] | None = None) -> Any:
    """One of a unit, as a quantity of pint. A remark in brackets behind it is left out: `percent (about)`.

    `own` are a paper's units by name: each is so much of another, `4.7 GB`, or `count`. Raises UnknownUnit.
    """
    name = REMARK.sub("", unit).strip()
    if own and name in own:
        match = AMOUNT.fullmatch(own[name])
        return _number(match[1]) * _parsed(match[3]) if match else _parsed(own[name])
    return _parsed(unit)


def dimension(unit: str, own: Mapping[str, str] | None = None) -> Any:
    """What a unit measures, as pint's container, which can be multiplied and compared. Raises UnknownUnit."""
    return one(unit, own).dimensionality


def in_words(of: Any) -> str:
    """A dimension in words: `a rate`."""
    return WORDS.get(str(of), f"a quantity of {of}")


def factor(unit: str, to: str, own: Mapping[str, str] | None = None) -> float:
    """How many of `to` one of `unit` is. Raises UnknownUnit, also where the two measure different things."""
    a, b = one(unit, own), one(to, own)
    if a.dimensionality != b.dimensionality:
        wanted, found = in_words(b.dimensionality), in_words(a.dimensionality)
        raise UnknownUnit(f"expected {wanted} ({to}), found {found} ({unit})")
    return float(f"{(a / b).to('').magnitude:.15g}")


def amount(text: str) -> tuple[float, str] | None:
    """Number and unit of `118 MiB/s` or `1,200 MB`; None for text that does not begin with a number and a space.

    Without a space it is one only where the unit is known: `64MiB`, but not `2x40` or `3.2.x`.
    """
    match = AMOUNT.fullmatch(text.strip())
    if not match:
        return None
    if not match[2]:
        try:
            _parsed(match[3])
        except UnknownUnit:
            return None
    return _number(match[1]), match[3]


def converted(text: str, to: str, own: Mapping[str, str] | None = None) -> float | int:
    """An amount in another unit; whole numbers as such. Raises UnknownUnit, also for text that is no amount."""
    found = amount(text)
    if found is None:
        raise UnknownUnit(f"found {quoted(text)}, expected a number with its unit, such as 64 {to}")
    value = float(f"{found[0] * factor(found[1], to, own):.15g}")
    return int(value) if value.is_integer() else value


def _number(text: str) -> float:
    return float(text.replace(",", ""))
