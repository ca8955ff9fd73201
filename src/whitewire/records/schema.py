"""Schemas of JSON records, derived from their TypedDicts, and functions to read records. Pure except for reading.

mypy checks the writers against the same TypedDicts, so a record's format is defined in one place.
"""

from __future__ import annotations

import itertools
import json
import math
import types
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import jsonschema

from whitewire.text import JSON_TYPES, TYPE_WORDS, dotted, quoted, suggestion

MOST_BYTES, _MOST_VALUES = 1 << 26, 1_000_000
"""Limits for one JSON text: bytes, and commas and brackets, each of which implies a value in memory."""
_MOST = 1 << 63
"""Upper bound on whole numbers: no valid record has larger ones, and arithmetic with them may fail."""
MOST_FAULTS = 100
"""Most faults of one record that are kept in memory."""
_WORDS = TYPE_WORDS | {"boundless": TYPE_WORDS["number"]}


class MayBeInfinite(NamedTuple):
    """`Annotated[dict[str, float], MayBeInfinite(("rate",))]`: these keys may be infinite, all other numbers not."""

    keys: tuple[str, ...]


_Kind = TypeVar("_Kind")


def closed(kind: _Kind) -> _Kind:
    """Mark a TypedDict whose records may have no further keys, because its table has a column only for known ones."""
    kind.__closed__ = True  # type: ignore[attr-defined]
    return kind


class Broken(ValueError):
    """An invalid file; the message is the fault without the path: key, found, expected."""


def _of(kind: Any) -> dict[str, Any]:
    """JSON Schema of a type: a TypedDict, list, dict, tuple, union, literal or plain type. Further keys are allowed
    unless the TypedDict is `closed`."""
    if kind in JSON_TYPES:
        return {"type": JSON_TYPES[kind]}
    if kind in (Any, object):
        return {}
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        named = {key: {"type": "boundless"} for of_some in inner[1:] for key in of_some.keys}
        return {**_of(inner[0]), "properties": named}
    if is_typeddict(kind):
        return _of_keys(kind)
    if origin is NotRequired:
        return _of(inner[0])
    if origin in (Union, types.UnionType):
        return {"anyOf": [_of(each) for each in inner]}
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is list:
        return {"type": "array", "items": _of(inner[0])}
    if origin is tuple:
        parts = [_of(each) for each in inner]
        return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _of(inner[1])}
    raise TypeError(f"no schema of {kind}")


def _of_keys(kind: Any) -> dict[str, Any]:
    # Not __required_keys__, which does not see NotRequired in annotations that are strings.
    hints = get_type_hints(kind, include_extras=True)
    unless = NotRequired if kind.__total__ else None
    needed = [name for name, hint in hints.items() if unless and get_origin(hint) is not unless]
    found = {"type": "object", "properties": {name: _of(hint) for name, hint in hints.items()}, "required": needed}
    return found | ({"additionalProperties": False} if "__closed__" in vars(kind) else {})


def _is_integer(_: Any, value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _MOST


def _is_number(_: Any, value: Any) -> bool:
    return _is_integer(_, value) or (isinstance(value, float) and math.isfinite(value))


def _is_boundless(_: Any, value: Any) -> bool:
    return _is_integer(_, value) or isinstance(value, float)


_Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine_many(
        {"integer": _is_integer, "number": _is_number, "boundless": _is_boundless}
    ),
)


@cache
def validator(kind: Any) -> Any:
    """The validator of a type's schema."""
    return _Validator(_of(kind))


def fault_of_value(value: Any, kind: Any) -> str:
    """The first fault of a value in one line, as `key: found …, expected …`; empty if there is none."""
    found = itertools.islice(validator(kind).iter_errors(value), MOST_FAULTS)
    errors = sorted(found, key=lambda error: [str(part) for part in error.absolute_path])
    return _line(errors[0]) if errors else ""


def _line(error: Any) -> str:
    key = dotted(error.absolute_path)
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in error.instance)
        return missing_key(f"{key}.{missing}" if key else missing, error.instance)
    if error.validator == "additionalProperties":
        known = error.schema["properties"]
        further = next(name for name in error.instance if name not in known)
        return unknown(f"{key}.{further}" if key else further, further, known)
    if error.validator == "enum":
        words = list(map(str, error.validator_value))
        expected = f"one of {', '.join(words)}{suggestion(error.instance, words)}"
        return f"{key + ': ' if key else ''}found {quoted(error.instance)}, expected {expected}"
    wanted = error.schema.get("type") or [each.get("type") for each in error.schema.get("anyOf", [])]
    kinds = [wanted] if isinstance(wanted, str) else [each for each in wanted if each]
    expected = " or ".join(_WORDS[each] for each in kinds) or error.message
    if "number" in kinds and isinstance(error.instance, int | float) and not isinstance(error.instance, bool):
        expected = expected.replace("a number", "a finite number")
    return f"{key + ': ' if key else ''}found {quoted(error.instance)}, expected {expected}"


def missing_key(key: str, there: Mapping[str, Any]) -> str:
    """The message for a missing key."""
    return f"{key}: found no such key, expected one{suggestion(key.rpartition('.')[2], there)}"


def unknown(where: str, key: str, known: Iterable[str]) -> str:
    """The message for an unknown key."""
    names = list(known)
    return f"{where}: found an unknown key, expected one of {', '.join(names)}{suggestion(key, names)}"


def load_json(path: Path, kind: type[_Kind]) -> _Kind:
    """The value in a JSON file, checked against the type. Raises Broken."""
    return parse_record(read_bounded(path, MOST_BYTES), kind)


def parse_record(text: str, kind: type[_Kind]) -> _Kind:
    """The value of a JSON text, checked against the type. Raises Broken."""
    value: _Kind = parse_json(text)
    if why := fault_of_value(value, kind):
        raise Broken(why)
    return value


def read_bounded(path: Path, most: float = math.inf) -> str:
    """Text of a file of at most `most` bytes. Raises Broken."""
    if not path.is_file():  # a folder, or a pipe, on which reading could block for ever
        raise Broken("found no such file, expected one")
    try:
        if (size := path.stat().st_size) > most:
            raise Broken(too_large(size))
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise Broken(f"byte {error.start}: found bytes that are not UTF-8, expected text") from None
    except OSError as error:
        raise Broken(f"cannot be read: {error.strerror}") from None


def too_large(size: int) -> str:
    """The message for a record that is too large."""
    return f"found {size} bytes, expected at most {MOST_BYTES}"


def parse_json(text: str) -> Any:
    """The value of a JSON text. Raises Broken also for a repeated key, for NaN, and for a text beyond MOST_BYTES or
    _MOST_VALUES."""
    if len(text) > MOST_BYTES:
        raise Broken(too_large(len(text)))
    if (values := sum(map(text.count, ",[{"))) > _MOST_VALUES:
        raise Broken(f"found {values} commas and brackets, expected at most {_MOST_VALUES}")
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_constant)
    except Broken:
        raise
    except json.JSONDecodeError as error:
        what = f"found {quoted(text[error.pos : error.pos + 20])}" if error.pos < len(text.rstrip()) else "it ends"
        raise Broken(f"line {error.lineno}: {what}, expected whole JSON ({error.msg})") from None
    except (ValueError, RecursionError) as error:
        raise Broken(f"found no JSON that can be read, expected a record ({error})") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise Broken(f"{next(name for name in names if names.count(name) > 1)}: found the key twice, expected it once")
    return found


def _constant(name: str) -> float:
    if name == "NaN":
        raise Broken("found NaN, expected a number")
    return float(name)  # infinity, which some keys may have
