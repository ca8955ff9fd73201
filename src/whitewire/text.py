"""Words of messages: lists, quoted values, the nearest name; and data as text. Pure."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

MOST_NEAR = 200
"""Longest text, in characters, for which a near name is searched: the search takes the square of it."""

_MOST_DIGITS = 7
"""Most significant digits of a number: those that differ only beyond them are written alike."""

TYPE_WORDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}
"""JSON Schema's types in words."""
JSON_TYPES = {
    dict: "object",
    list: "array",
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
"""JSON Schema's types by those of Python."""


def suggestion(found: object, names: Iterable[str]) -> str:
    """`; did you mean "x"?` when a valid name is near, else nothing."""
    names = [str(name) for name in names]
    text = str(found)
    if len(text) > MOST_NEAR:
        return ""
    near = difflib.get_close_matches(text, names, n=1, cutoff=0.55)
    if not near:
        lower = {name.lower(): name for name in names}
        near = [lower[m] for m in difflib.get_close_matches(text.lower(), lower, n=1, cutoff=0.55)]
    return f'; did you mean "{near[0]}"?' if near else ""


def one_of(names: Iterable[Any], most: int = 12) -> str:
    """`one of a, b, …`, or the only name."""
    names = [str(name) for name in names]
    if len(names) == 1:
        return names[0]
    more = [f"… ({len(names)} in all)"] if len(names) > most else []
    return "one of " + ", ".join(names[:most] + more)


def by_value(values: Mapping[str, str]) -> str:
    """`a on host1, host2; b on host3`, from the value of each host."""
    groups: dict[str, list[str]] = {}
    for name, value in values.items():
        groups.setdefault(value, []).append(name)
    return "; ".join(f"{value} on {', '.join(names)}" for value, names in groups.items())


def quoted(value: Any, most: int = 60) -> str:
    """A value as JSON, cut short after some 60 characters, or `most`."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= most else text[: most - 3] + "…"


def canonical(data: Any) -> str:
    """Data as JSON that is the same text for equal data."""
    return json.dumps(data, sort_keys=True, default=str)


def dotted(path: Iterable[Any]) -> str:
    """`claims[3].value` from a path of keys and positions."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def numbers(values: Sequence[float], least: int = 4) -> list[str]:
    """Numbers of one message, each with `least` significant digits, or more so that different ones look different.

    No exponents; thousands are grouped; a whole number keeps its digits: `51,000`, `1.0004`, `0.00002`. Reports follow
    the same rule: paper/R/text/format.R.
    """
    different = len({_rounded(value, _MOST_DIGITS) for value in values})
    for digits in range(least, _MOST_DIGITS):
        texts = [_rounded(value, digits) for value in values]
        if len(set(texts)) == different:
            return texts
    return [_rounded(value, _MOST_DIGITS) for value in values]


def _rounded(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return f"{value:g}"
    whole = float(value).is_integer() and abs(value) < 1e15
    return f"{Decimal(int(value)) if whole else Decimal(f'{value:.{digits}g}').normalize():,f}"
