"""Amounts with units in a paper: each is converted once, when the paper is read, and compared by what it measures."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import simpleeval

from whitewire import estimands, quantities
from whitewire.description.files import dotted
from whitewire.description.reading import fault_of_number, load_yaml
from whitewire.errors import UserError
from whitewire.paths import shown
from whitewire.printed import Unread
from whitewire.quantities import PLAIN, UnknownUnit
from whitewire.text import quoted

if TYPE_CHECKING:
    from pathlib import Path

    from whitewire.description.paper import Paper

ENDINGS = {"_bytes": "B", "_mb_per_s": "MB/s", "_ms": "ms", "_kib": "KiB"}
"""How the name of a key ends whose number may be written with a unit, and the unit that it is converted to."""
EXPRESSIONS = ("arguments", "vary", "values", "constants", "testbed", "sources")
"""Parts of a paper in which text is an expression or stands as it is."""
NUMBER = re.compile(r"(?<![\w.])\d")
Place = tuple[str | int, ...]
"""Keys and positions that lead to a part of a paper."""


def read(path: Path) -> dict[str, Any]:
    """A paper's YAML with all amounts converted. Raises UserError for one that cannot be."""
    data = load_yaml(path)
    convert(data, path)
    return data


def convert(data: dict[str, Any], path: Path) -> None:
    """Replace `64 MiB` by its number, below keys of `ENDINGS` and in `values`; other parts stay as they are."""
    try:
        own = data.get("units") if isinstance(data.get("units"), dict) else {}
        _sizes(data, ())
        values = data.get("values")
        for index, value in enumerate(values if isinstance(values, list) else []):
            if isinstance(value, dict) and isinstance(value.get("unit"), str) and "value" in value:
                value["value"] = _value(value["value"], value["unit"], own, ("values", index, "value"))
    except _Fault as fault:
        raise UserError(f"{shown(path)}: {dotted(fault.place)}: {fault}") from None


class _Fault(Exception):
    def __init__(self, place: Place, why: object) -> None:
        super().__init__(str(why))
        self.place = place


def _value(value: Any, unit: str, own: Any, place: Place) -> Any:
    if isinstance(value, list):
        return [_value(item, unit, own, (*place, index)) for index, item in enumerate(value)]
    if not isinstance(value, str):
        return value
    try:
        is_text = quantities.amount(value, own) is None
    except Unread as error:
        raise _Fault(place, error) from None
    return value if is_text else _converted(value, unit, own, place)


def _sizes(part: Any, place: Place) -> None:
    if isinstance(part, list):
        for index, item in enumerate(part):
            _sizes(item, (*place, index))
        return
    if not isinstance(part, dict):
        return
    # The levels of a test and the bytes of a scale are sizes by the key beside or above them.
    inside = {"levels": str(part.get("factor", "")), "bytes": "_bytes"}
    for key, value in part.items():
        if key in EXPRESSIONS or not isinstance(key, str):
            continue
        unit = next((ENDINGS[end] for end in ENDINGS if inside.get(key, key).endswith(end)), None)
        if unit is None:
            _sizes(value, (*place, key))
        else:
            part[key] = _size(value, unit, (*place, key))


def _size(value: Any, unit: str, place: Place) -> Any:
    if isinstance(value, list):
        return [_size(item, unit, (*place, index)) for index, item in enumerate(value)]
    if isinstance(value, dict):
        return {key: _size(item, unit, (*place, key)) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    return _converted(value, unit, None, place)


def _converted(value: str, unit: str, own: Any, place: Place) -> float | int:
    try:
        found = quantities.converted(value, unit, own)
    except Unread as error:
        raise _Fault(place, error) from None
    if why := fault_of_number(found):
        raise _Fault(place, f"found {quoted(value)}, expected {why} ({unit})")
    return found


# --- what expressions measure -----------------------------------------------------------------------


class _Measured:
    """What a part of an expression measures; numbers that it writes out go with anything they are added to."""

    def __init__(self, dimension: Any, literal: bool = False) -> None:
        self.dimension, self.literal = dimension, literal

    def __getitem__(self, _: object) -> _Measured:
        return self


def _of(value: Any) -> _Measured:
    return value if isinstance(value, _Measured) else _Measured(quantities.dimension(PLAIN), literal=True)


def _alike(*values: Any) -> _Measured:
    found = [_of(value) for value in values]
    named = [each for each in found if not each.literal] or found
    for each in named[1:]:
        if each.dimension != named[0].dimension:
            one, other = (quantities.in_words(part.dimension) for part in (named[0], each))
            raise UnknownUnit(f"found {one} and {other} set against each other, expected like with like")
    return named[0]


def _power(base: Any, exponent: Any) -> _Measured:
    if isinstance(exponent, _Measured):
        return _of(base)
    return _Measured(_of(base).dimension ** exponent, _of(base).literal)


def _product(a: Any, b: Any, sign: int) -> _Measured:
    one, other = _of(a), _of(b)
    made = one.dimension * other.dimension if sign > 0 else one.dimension / other.dimension
    return _Measured(made, one.literal and other.literal)


OPERATORS = {
    ast.Add: _alike, ast.Sub: _alike,
    ast.Mult: lambda a, b: _product(a, b, 1), ast.Div: lambda a, b: _product(a, b, -1),
    ast.Pow: _power, ast.USub: _of, ast.UAdd: _of,
}  # fmt: skip
FUNCTIONS = {"max": _alike, "min": _alike, "abs": _of, "round": lambda value, *_: _of(value)}


def measured(paper: Paper, expression: float | str) -> _Measured | None:
    """What an expression measures; None where that cannot be told. Raises UnknownUnit for unlike things added."""
    if not isinstance(expression, str):
        return _of(expression)
    names = {v["id"].replace("-", "_"): v["unit"] for v in paper.raw["values"]}
    names |= {name: constant["unit"] for name, constant in paper.raw.get("constants", {}).items()}
    units = {
        name: _Measured(quantities.dimension(unit, paper.units)) for name, unit in names.items() if name in expression
    }
    try:
        return _of(simpleeval.SimpleEval(operators=OPERATORS, functions=FUNCTIONS, names=units).eval(expression))
    except UnknownUnit:
        raise
    except Exception:
        return None  # what has no value is told where it is computed


def problems(paper: Paper) -> Iterator[tuple[str, str]]:
    """(key, what is wrong) of units that are unknown, and of what is expected in another unit than the estimate's."""
    yield from _unknown(paper)
    for index, claim in enumerate(paper.claims):
        tests = [("test", claim["test"])]
        tests += [(f"readings[{n}].test", reading["test"]) for n, reading in enumerate(claim.get("readings", []))]
        for key, test in tests:
            if why := _unlike(paper, test):
                yield f"claims[{index}] ({claim['id']}).{key}.expected", why


def _unknown(paper: Paper) -> Iterator[tuple[str, str]]:
    for key, unit in _units_of(paper.raw):
        try:
            quantities.one(unit, paper.units)
        except UnknownUnit as error:
            yield key, f"{error}, or one that the paper declares under `units`"


def _units_of(raw: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, size in raw.get("units", {}).items():
        yield f"units.{name}", (quantities.amount(size) or (1, size))[1]
    for index, value in enumerate(raw["values"]):
        if not isinstance(value["value"], str):
            yield f"values[{index}] ({value['id']}).unit", value["unit"]
    for name, constant in raw.get("constants", {}).items():
        yield f"constants.{name}.unit", constant["unit"]
    for index, claim in enumerate(raw["claims"]):
        if unit := estimands.of(claim["test"]).unit():
            yield f"claims[{index}] ({claim['id']}).test.unit", unit


def _unlike(paper: Paper, test: Mapping[str, Any]) -> str:
    """What is wrong with what a test expects; empty if nothing is, or it cannot be told."""
    unit, expected = estimands.of(test).unit(), test.get("expected")
    if not unit or not isinstance(expected, str):
        return ""
    own = paper.units
    try:
        found = measured(paper, expected)
        if found is None or found.literal:
            return ""
        wanted = quantities.dimension(unit, own)
        if found.dimension == quantities.dimension(PLAIN) and NUMBER.search(expected):
            return ""  # a number that is written out may be of anything
        if found.dimension != wanted:
            bare = paper.unit_of(expected)
            seen = f"{quantities.in_words(found.dimension)}{f' ({bare})' if bare else ''}"
            return f"expected {quantities.in_words(wanted)} ({unit}), found {seen}: {expected}"
        bare = paper.unit_of(expected)
        if bare and (times := quantities.factor(bare, unit, own)) != 1:
            return (
                f"found {expected} in {bare}, expected {unit}, of which one {bare} is {times:g}; write the value with "
                f"its unit (`value: 5 {bare}`) and `unit: {unit}`"
            )
    except UnknownUnit as error:
        return str(error)
    return ""
