"""Parsers: raw tool output → values. Pure functions on bytes or text, one module per tool."""

import json
import re
import sys
from typing import Any


class Unreadable(ValueError):
    """Tool output that is cut off, in an unexpected format, or reports an error; the message is one line."""


def documents(text: str) -> list[dict[str, Any]]:
    """Every complete JSON object that begins a line or follows another one; other text is ignored."""
    found, decoder = [], json.JSONDecoder()
    while start := re.search(r"^\{", text, re.MULTILINE):
        try:
            document, end = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            end = start.end()
        else:
            found.append(document)
        text = text[end:].lstrip()
    return found


def is_number(value: Any) -> bool:
    """Whether a value of JSON is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def in_one_line(text: str, most: int = 100) -> str:
    """A text quoted for a message: in one line, at most `most` characters, 'nothing' if empty."""
    return repr(" ".join(text.split())[:most] or "nothing")
