"""Files of records made wrong: cut at a byte, without a key, with another type, with what is no number."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st


def cut(content: bytes, data: st.DataObject) -> bytes:
    """Up to any byte."""
    return content[: data.draw(st.integers(0, len(content) - 1), label="cut at")]


def without_a_key(content: bytes, data: st.DataObject) -> bytes:
    """A record in JSON without one key or element, at any depth."""
    return _changed(content, data, lambda holder, key, _: holder.pop(key))


def another_type(content: bytes, data: st.DataObject) -> bytes:
    """One value of another type."""

    def change(holder: Any, key: Any, value: Any) -> None:
        kinds: list[Any] = ["text", 7, 1.5, True, None, [], {}]
        others = [other for other in kinds if type(other) is not type(value)]
        holder[key] = data.draw(st.sampled_from(others), label="value")

    return _changed(content, data, change)


def no_number(content: bytes, data: st.DataObject) -> bytes:
    """NaN, Infinity or what is read as such in place of one value."""

    def change(holder: Any, key: Any, _: Any) -> None:
        holder[key] = MARK

    word = data.draw(st.sampled_from(["NaN", "Infinity", "-Infinity", "1e999"]), label="written")
    return _changed(content, data, change).replace(json.dumps(MARK).encode(), word.encode())


MARK = "no number here"
DAMAGES: dict[str, Callable[[bytes, st.DataObject], bytes]] = {
    "cut": cut, "without a key": without_a_key, "another type": another_type, "no number": no_number,
}  # fmt: skip


def json_of(content: bytes) -> object:
    """What it says, where it is JSON; else the bytes."""
    try:
        return json.loads(content)
    except ValueError:
        return content


def _changed(content: bytes, data: st.DataObject, change: Callable[[Any, Any, Any], object]) -> bytes:
    value = json_of(content)
    places = list(_places(value))
    if not places:  # a table, or nothing in it: cut it
        return cut(content, data) if content else content
    holder, key = data.draw(st.sampled_from(places), label="place")
    change(holder, key, holder[key])
    return json.dumps(value, indent=1).encode()


def _places(value: object) -> Iterator[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield value, key
        yield from _places(inner)
