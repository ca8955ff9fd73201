"""Words of messages: lists, quoted values, the nearest name; and data as text. Pure."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from typing import Any

MOST_NEAR = 200
"""Characters of a name to which a near one is looked for: that takes the square of it."""


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


def quoted(value: Any, most: int = 60) -> str:
    """A value as JSON, cut short after some 60 characters, or `most`."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= most else text[: most - 3] + "…"


def canonical(data: Any) -> str:
    """Data as JSON that is the same text for equal data."""
    return json.dumps(data, sort_keys=True, default=str)
