"""Units that papers print: their names, their dimensions, and the conversion between them, by pint.

MB is 10^6 bytes and MiB 2^20, b or bit is an eighth of B. Only units of this field are known, so that a misspelt one is
found; a paper declares further ones of its own. Bits are a dimension of their own, unlike in pint's own list, where
a size could not be distinguished from a number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from whitewire import printed
from whitewire.printed import Unread, leading_number
from whitewire.text import quoted, suggestion

PREFIXES = {
    "nano": "1e-9 = n-", "micro": "1e-6 = µ- = u-", "milli": "1e-3 = m-", "kilo": "1e3 = k- = K-", "mega": "1e6 = M-",
    "giga": "1e9 = G-", "tera": "1e12 = T-", "peta": "1e15 = P-", "exa": "1e18 = E-", "zetta": "1e21 = Z-",
    "kibi": "2**10 = Ki-", "mebi": "2**20 = Mi-", "gibi": "2**30 = Gi-", "tebi": "2**40 = Ti-", "pebi": "2**50 = Pi-",
}  # fmt: skip
_UNITS = {
    "bit": "[information] = b = Bit", "byte": "8 bit = B = Byte", "second": "[time] = s = sec",
    "minute": "60 second = min", "hour": "60 minute = h = hr", "day": "24 hour = d",
    "bits_per_second": "bit / second = bps", "bytes_per_second": "byte / second = Bps", "hertz": "1 / second = Hz",
    "IOPS": "1 / second", "packets_per_second": "1 / second = pps", "rpm": "1 / minute", "USD": "[money]",
    "watt": "[power] = W", "watt_hour": "watt * hour = Wh",
    "count": "[]", "percent": "0.01 count",
    "transfer": "count = T",
}  # fmt: skip
_COUNTED = (
    "x", "X", "times", "factor", "fraction", "block", "cable", "client", "copy", "copies", "core", "disk", "drive",
    "file", "host", "job", "lane", "map", "node", "object", "option", "port", "put", "rack", "reduce", "replica",
    "row", "server", "slave", "switch", "switches", "task", "thread", "worker",
)  # fmt: skip
"""Names of counted things: units without a dimension."""
_WORDS = {
    "[information] / [time]": "a rate", "[information]": "a size", "[time]": "a time", "1 / [time]": "a frequency",
    "[money]": "an amount of money", "[power]": "a power", "[power] * [time]": "an energy",
    "dimensionless": "a plain number", "[time] / [information]": "a time per size",
}  # fmt: skip
COMMON = (
    "B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "bit", "Mbit", "Gbit", "B/s", "MB/s", "GB/s",
    "MiB/s", "GiB/s", "Mbit/s", "Gbit/s", "Mbps", "Gbps", "MBps", "s", "ms", "min", "h", "percent", "USD", "GHz", "rpm",
    "1", "count", *_COUNTED,
)  # fmt: skip
"""Names that a misspelt unit is compared with."""
TAIL = re.compile(r"\d(?:[.,](?=\s))?\s*(\D*)$")
"""What follows the last digit of a text."""
_UNIT = re.compile(r"(1|[A-Za-zµ]+)(\s?/\s?[A-Za-zµ]+)*")
_REMARK = re.compile(r"\s*\([^()]*\)$")
_SMALL, _DIVIDED = ("nano", "micro", "milli"), ("second", "watt", "watt_hour")
"""Prefixes below 1, and the units that may have them: there is no tenth of a bit."""
MOST_UNIT = 100
"""Most characters of a unit."""
PLAIN = "1"
"""The unit of a number without a dimension."""


class UnknownUnit(Unread):
    """No such unit; the message says what was found and what is near."""


class UnsureUnit(UnknownUnit):
    """A unit whose spelling is often meant for another one: `mb` is a millibit."""


@cache
def _registry() -> Any:
    import pint

    registry: Any = pint.UnitRegistry(None, on_redefinition="raise")
    for name, size in PREFIXES.items():
        registry.define(f"{name}- = {size}")
    for name, size in _UNITS.items():
        registry.define(f"{name} = {size}")
    for name in _COUNTED:
        registry.define(f"{name} = count")
    return registry


@cache
def _parsed(unit: str) -> Any:
    import pint

    text = printed.plain(_REMARK.sub("", unit)).replace("%", "percent").replace("per cent", "percent")
    text = re.sub(r"\s?\bper\b\s?", "/", text)
    if sign := printed.strange(text):
        raise UnknownUnit(f"found {sign} in {quoted(unit)}, expected Latin letters as in MB/s")
    unknown = UnknownUnit(f"found {quoted(unit)}, expected a unit such as MB/s{_near(text)}")
    if len(text) > MOST_UNIT or not _UNIT.fullmatch(text):
        raise unknown
    try:
        found = _registry().Quantity(1, _registry().parse_units("" if text == PLAIN else text))
    except (pint.UndefinedUnitError, pint.DefinitionSyntaxError, ValueError, TypeError):
        raise unknown from None
    for name in re.split(r"\s?/\s?", text):
        _check_letters(name, text)
    return found


def _near(text: str) -> str:
    if re.fullmatch(r"(GbE|GigE|[kmg]bps)", text, re.ASCII | re.IGNORECASE):
        return f'; did you mean "{text[0].upper()}bit/s"?'
    return suggestion(text, COMMON)


def _check_letters(name: str, text: str) -> None:
    """Raise UnsureUnit if a letter's case makes it another unit than most texts with this spelling mean."""
    if name == PLAIN:
        return
    prefix, base, _ = _registry().parse_unit_name(name)[0]
    if prefix in _SMALL and base not in _DIVIDED:
        meant = {"b": "MB or Mb", "bps": "MBps or Mbps"}.get(name[1:], f"M{name[1:]}")
        near = f"; did you mean {meant}?" if name.startswith("m") else ", which is none"
        raise UnsureUnit(f'found {quoted(text)}: "{name}" is a {prefix}{base}{near}')
    if base == "bit" and prefix and name.endswith("b") and ("/" not in text or name == "kb"):
        near = f"{name[:-1]}B or {name[:-1]}bit"
        raise UnsureUnit(f'found {quoted(text)}, expected {near}: "{name}" is written for both')


def one(unit: str, own: Mapping[str, str] | None = None) -> Any:
    """One of a unit, as a quantity of pint. A remark in brackets after the unit is ignored: `percent (about)`.

    `own`: a paper's units by name, each an amount of another unit (`4.7 GB`) or `count`. Raises UnknownUnit.
    """
    name = _REMARK.sub("", unit).strip()
    if own and name in own:
        try:
            value, size = amount(own[name]) or (1, own[name])
        except Unread as error:
            raise UnknownUnit(str(error)) from None
        return value * _parsed(size)
    return _parsed(unit)


def dimension(unit: str, own: Mapping[str, str] | None = None) -> Any:
    """Dimension of a unit, as pint's container, which can be multiplied and compared. Raises UnknownUnit."""
    return one(unit, own).dimensionality


def dimension_in_words(of: Any) -> str:
    """A dimension in words: `a rate`."""
    return _WORDS.get(str(of), f"a quantity of {of}")


def factor(unit: str, to: str, own: Mapping[str, str] | None = None) -> float:
    """The number of `to` in one `unit`. Raises UnknownUnit, also for units of different dimensions."""
    a, b = one(unit, own), one(to, own)
    if a.dimensionality != b.dimensionality:
        wanted, found = dimension_in_words(b.dimensionality), dimension_in_words(a.dimensionality)
        raise UnknownUnit(f"expected {wanted} ({to}), found {found} ({unit})")
    return float(f"{(a / b).to('').magnitude:.15g}")


def amount(text: str, own: Mapping[str, str] | None = None) -> tuple[float, str] | None:
    """Number and unit of `118 MiB/s` or `1,200 MB`; None for text that does not begin with a number and a space.

    Text without the space counts only if the unit is known: `64MiB`, but not `2x40` or `3.2.x`. Raises Unread for a
    number without a sure reading before a known unit: `1,5 GB/s`.
    """
    found = leading_number(printed.plain(text))
    if found is None:
        return None
    value, digits, rest = found
    tail = TAIL.search(digits + rest)
    last = tail[1] if tail else ""
    if why := printed.goes_on(text, digits, rest, f" {last}"):
        if _known(last, own) or (last and "," in f"{digits}{rest}".split(" ")[0]):
            raise why
        return None
    if rest.startswith(" ") or _known(rest, own):
        return value, rest.strip()
    if _known(re.sub("^[KMG] ", "", last), own) or printed.strange(rest):
        raise Unread(f"found {quoted(text)}, expected one number with its unit, such as 64 MB")
    return None


def _known(unit: str, own: Mapping[str, str] | None) -> bool:
    try:
        one(unit, own)
    except UnsureUnit:
        return True
    except UnknownUnit:
        return False
    return True


def converted(text: str, to: str, own: Mapping[str, str] | None = None) -> float | int:
    """An amount in another unit, as an int if it is whole. Raises UnknownUnit, also for text that is no amount."""
    found = amount(text, own)
    if found is None:
        raise UnknownUnit(f"found {quoted(text)}, expected a number with its unit, such as 64 {to}")
    value = float(f"{found[0] * factor(found[1], to, own):.15g}")
    return int(value) if value.is_integer() else value
