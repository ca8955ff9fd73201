"""Reads YAML text, within bounds that are checked before any data are built.

The C parser calls itself once per level and aliases stand for copies, so a short text could end the process or fill the
memory. Therefore its events are counted first.
"""

from __future__ import annotations

import math
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from whitewire.errors import UserError
from whitewire.paths import shown
from whitewire.text import JSON_TYPES, TYPE_WORDS, quoted, suggestion

_MOST_BYTES = 1_000_000
"""Most bytes of one file."""
_MOST_LEVELS = 30
"""Most lists and mappings inside each other."""
_MOST_VALUES = 60_000
"""Most values of one file, each alias counted as a copy."""
MOST_KEY = 200
"""Characters of a key."""
GREATEST, _LEAST = 10**18, 1e-18
"""Largest and smallest size of a number other than 0. All whole numbers up to there fit into 64 bits."""
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that no text may have: control characters except tab and line end, characters that change the direction of
text and so hide its content, and halves of characters."""
WHOLE = re.compile(r"[-+]?(0|[1-9][0-9_]*)")


if TYPE_CHECKING:
    _Fastest = yaml.SafeLoader
else:
    _Fastest = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Fastest):
    """The safe loader, except that a key given twice, a tag and a number in another notation are errors."""


def _fault(node: Any, problem: str) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def _mapping(loader: _Loader, node: yaml.MappingNode, deep: bool = False) -> dict:
    seen = set()
    for key_node, _ in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise _fault(key_node, "a key is a list or a mapping")
        key = key_node.value
        if key in seen and key != "<<":
            raise _fault(key_node, f"the key {key!r} is given twice")
        if len(key) > MOST_KEY:
            raise _fault(key_node, f"a key has {len(key)} characters, expected at most {MOST_KEY}")
        if CONTROL.search(key) or "\n" in key:
            raise _fault(key_node, f"the key {quoted(key)} has control characters")
        seen.add(key)
    loader.flatten_mapping(node)
    made = {loader.construct_object(k, deep=True): loader.construct_object(v, deep=True) for k, v in node.value}
    for name in made:
        if not isinstance(name, str):
            raise _fault(node, f"the key {name} is no text; write it in quotes")
    return made


def _whole(loader: _Loader, node: yaml.ScalarNode) -> int:
    if not WHOLE.fullmatch(node.value):
        raise _fault(node, f"found {quoted(node.value)}, expected a whole number in decimal digits, or text in quotes")
    if len(node.value) > len(str(GREATEST)) * 2:
        raise _fault(node, f"found a number of {len(node.value)} digits, expected at most {GREATEST:.0e}")
    return int(node.value.replace("_", ""))


def _number(loader: _Loader, node: yaml.ScalarNode) -> float:
    if ":" in node.value:
        raise _fault(node, f"found {quoted(node.value)}, expected a number, or text in quotes")
    return loader.construct_yaml_float(node)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)
_Loader.add_constructor("tag:yaml.org,2002:int", _whole)
_Loader.add_constructor("tag:yaml.org,2002:float", _number)
# A day is text, as it is written.
_Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda _, node: node.value)


def load_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file, with finite numbers and printable texts only.

    UserError with one line for a file that cannot be read, is no mapping in YAML or exceeds the bounds above.
    """
    return parse_yaml(_text(path), shown(path))


def parse_yaml(text: str, source: str) -> dict[str, Any]:
    """The data of a YAML text; `source` names its origin in messages."""
    try:
        _bounded(yaml.parse(text, Loader=_Loader))
        data = yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        raise UserError(f"{source}: {where}not valid YAML: {problem}") from None
    if not isinstance(data, dict):
        found = "an empty file" if data is None else f"{kind_of(data)} ({quoted(data)})"
        raise UserError(f"{source}: found {found}, expected YAML with keys")
    for key, value, expected in _unusable(data, ""):
        raise UserError(f"{source}: {key}: found {value}, expected {expected}")
    return data


def _text(path: Path) -> str:
    """Content of a file, up to a number of bytes."""
    try:
        if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
            raise UserError(f"{shown(path)}: found no plain file, expected YAML text")
        with path.open("rb") as file:
            found = file.read(_MOST_BYTES + 1)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        near = suggestion(path.name, (p.name for p in path.parent.glob("*.y*ml")))
        raise UserError(f"{shown(path)}: no such file{near}") from None
    except OSError as error:
        raise UserError(f"{shown(path)}: cannot be read: {error.strerror}") from None
    return decoded(found, path, _MOST_BYTES, "YAML text")


def decoded(content: bytes, path: Path, most: int, expected: str) -> str:
    """Text of a file, up to a number of bytes. Raises UserError that says what was expected."""
    if len(content) > most:
        raise UserError(f"{shown(path)}: found more than {most} bytes, expected fewer")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"byte {error.start}: found bytes that are not UTF-8"
        raise UserError(f"{shown(path)}: {found}, expected {expected}") from None


def _bounded(events: Iterator[Any]) -> None:
    """Raises a YAMLError for a tag, too many levels, or aliases that expand a short text too much."""
    sizes: dict[str, int] = {}
    parts: list[tuple[str | None, int]] = [(None, 0)]
    for event in events:
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = parts.pop()
            _counted(event, parts, anchor, size, sizes)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in {anchor for anchor, _ in parts}:
                raise _fault(event, f"the alias *{event.anchor} is inside what it stands for")
            _counted(event, parts, None, sizes.get(event.anchor or "", 1), sizes)
        elif isinstance(event, yaml.NodeEvent):
            tag = getattr(event, "tag", None)
            if tag is not None:
                raise _fault(event, f"found the tag {quoted(tag)}, expected a value without a tag")
            if isinstance(event, yaml.CollectionStartEvent):
                parts.append((event.anchor, 1))
                if len(parts) > _MOST_LEVELS + 1:
                    raise _fault(event, f"found more than {_MOST_LEVELS} levels of lists and mappings")
            else:
                _counted(event, parts, event.anchor, 1, sizes)


def _counted(event: Any, parts: list[tuple[str | None, int]], anchor: str | None, size: int,
             sizes: dict[str, int]) -> None:  # fmt: skip
    """Add a finished part to the part around it."""
    if anchor is not None:
        sizes[anchor] = size
    outer, before = parts[-1]
    parts[-1] = (outer, before + size)
    if before + size > _MOST_VALUES:
        raise _fault(event, f"found more than {_MOST_VALUES} values, aliases among them, expected fewer")


def _unusable(part: Any, key: str) -> Iterator[tuple[str, str, str]]:
    """(key, found, expected) of every number outside the allowed range, and of every text that cannot be printed."""
    if isinstance(part, dict):
        for name, value in part.items():
            yield from _unusable(value, f"{key}.{name}" if key else name)
    elif isinstance(part, list):
        for index, value in enumerate(part):
            yield from _unusable(value, f"{key}[{index}]")
    elif isinstance(part, str):
        if CONTROL.search(part):
            yield key, quoted(part), "text without control characters"
    elif isinstance(part, int | float) and (why := fault_of_number(part)):
        yield key, str(part), why


def yaml_line(value: Any) -> str:
    """A value as YAML in one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10**6, sort_keys=False, allow_unicode=True)
    return text.strip().removesuffix("...").strip()


def kind_of(value: Any) -> str:
    """The type of a YAML value, in words."""
    return TYPE_WORDS[JSON_TYPES.get(type(value), "null")]


def fault_of_number(number: float) -> str:
    """Fault of a number that is not finite, too large or too near to 0; empty for any other value."""
    if not math.isfinite(number):
        return "a finite number"
    if abs(number) > GREATEST:
        return f"a number of at most {GREATEST:.0e}"
    if number and abs(number) < _LEAST:
        return f"0, or a number of at least {_LEAST:.0e}"
    return ""
