"""Amounts with units in a paper: converted once, when the paper is read, and compared by dimension."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import simpleeval

from whitewire import quantities
from whitewire.description.paper import Paper
from whitewire.description.reading import fault_of_number, load_yaml
from whitewire.errors import UserError
from whitewire.estimands import estimand_of
from whitewire.paths import shown
from whitewire.printed import Unread
from whitewire.quantities import PLAIN, UnknownUnit, dimension_in_words
from whitewire.text import dotted, quoted

ENDINGS = {"_bytes": "B", "_mb_per_s": "MB/s", "_ms": "ms", "_kib": "KiB"}
"""Suffixes of keys whose numbers may have a unit, and the unit that they are converted to."""
ARGUMENTS = {
    "_gbit_per_s": "Gbit/s", "_mb_per_s": "MB/s", "_usd_per_tb": "USD/TB", "_usd": "USD", "_bytes": "B", "_ms": "ms",
    "_mb": "MB", "_gb": "GB", "_tb": "TB", "_s": "s", "_h": "h",
}  # fmt: skip
"""Suffixes of a model's arguments, the longest first, and the unit of each."""
EXPRESSIONS = ("arguments", "vary", "values", "constants", "testbed", "sources")
"""Parts of a paper in which text is an expression or stands as it is."""
_Place = tuple[str | int, ...]
"""Keys and positions that lead to a part of a paper."""


def read_converted(path: Path) -> dict[str, Any]:
    """A paper's YAML with all amounts converted. Raises UserError for one that cannot be."""
    data = load_yaml(path)
    convert(data, path)
    return data


def convert(data: dict[str, Any], path: Path) -> None:
    """Replace `64 MiB` by its number, below keys of `ENDINGS` and in `values`; other parts stay as they are."""
    try:
        units = data.get("units")
        own = {name: size for name, size in units.items() if isinstance(size, str)} if isinstance(units, dict) else {}
        _sizes(data, ())
        values = data.get("values")
        for index, value in enumerate(values if isinstance(values, list) else []):
            if isinstance(value, dict) and isinstance(value.get("unit"), str) and "value" in value:
                value["value"] = _value(value["value"], value["unit"], own, ("values", index, "value"))
    except _Fault as fault:
        raise UserError(f"{shown(path)}: {dotted(fault.place)}: {fault}") from None


class _Fault(Exception):
    def __init__(self, place: _Place, why: object) -> None:
        super().__init__(str(why))
        self.place = place


def _value(value: Any, unit: str, own: Any, place: _Place) -> Any:
    if isinstance(value, list):
        return [_value(item, unit, own, (*place, index)) for index, item in enumerate(value)]
    if not isinstance(value, str):
        return value
    try:
        is_text = quantities.amount(value, own) is None
    except Unread as error:
        raise _Fault(place, error) from None
    return value if is_text else _converted(value, unit, own, place)


def _sizes(part: Any, place: _Place) -> None:
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


def _size(value: Any, unit: str, place: _Place) -> Any:
    if isinstance(value, list):
        return [_size(item, unit, (*place, index)) for index, item in enumerate(value)]
    if isinstance(value, dict):
        return {key: _size(item, unit, (*place, key)) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    return _converted(value, unit, None, place)


def _converted(value: str, unit: str, own: Any, place: _Place) -> float | int:
    try:
        found = quantities.converted(value, unit, own)
    except Unread as error:
        raise _Fault(place, error) from None
    if why := fault_of_number(found):
        raise _Fault(place, f"found {quoted(value)}, expected {why} ({unit})")
    return found


# --- what expressions measure -----------------------------------------------------------------------


SAME_SCALE = 1e-9
"""Relative difference of two scales that products of units may leave."""


class _Measured:
    """Dimension of a part of an expression, and its size in base units.

    `scale` is None if literal numbers multiply the part, because they may convert it, as in `1000 * N_V01`. A literal
    number by itself is `literal`, and may be added to anything.
    """

    def __init__(self, dimension: Any, scale: float | None = None, literal: bool = False) -> None:
        self.dimension, self.scale, self.literal = dimension, scale, literal

    def __getitem__(self, _: object) -> _Measured:
        return self


def _of(value: Any) -> _Measured:
    return value if isinstance(value, _Measured) else _Measured(quantities.dimension(PLAIN), literal=True)


def _named(unit: str, own: Mapping[str, str], converts: bool) -> _Measured:
    one = quantities.one(unit, own)
    scale = float(f"{one.to_root_units().magnitude:.12g}")
    # A constant that is a plain number may convert, as one that is written out: percent, 100.
    return _Measured(one.dimensionality, None if converts and one.dimensionless and scale == 1 else scale)


def _alike(*values: Any) -> _Measured:
    found = [_of(value) for value in values]
    named = [each for each in found if not each.literal] or found
    for each in named[1:]:
        if each.dimension != named[0].dimension:
            one, other = (dimension_in_words(part.dimension) for part in (named[0], each))
            raise UnknownUnit(f"found {one} compared with {other}, expected two of one kind")
    known = sorted(each.scale for each in named if each.scale is not None)
    if known and not math.isclose(known[0], known[-1], rel_tol=SAME_SCALE):
        raise UnknownUnit(
            f"found two units of {dimension_in_words(named[0].dimension)} compared, one {known[-1] / known[0]:g} times "
            "the other, expected one unit"
        )
    return _Measured(named[0].dimension, known[0] if known and len(known) == len(named) else None, named[0].literal)


def _power(base: Any, exponent: Any) -> _Measured:
    part = _of(base)
    if isinstance(exponent, _Measured):
        return _Measured(part.dimension, literal=part.literal)
    return _Measured(part.dimension**exponent, None if part.scale is None else part.scale**exponent, part.literal)


def _product(a: Any, b: Any, sign: int) -> _Measured:
    one, other = _of(a), _of(b)
    dimension = one.dimension * other.dimension if sign > 0 else one.dimension / other.dimension
    if one.scale is None or other.scale is None:
        return _Measured(dimension, literal=one.literal and other.literal)
    return _Measured(dimension, one.scale * other.scale**sign)


def _over(a: Any, b: Any) -> _Measured:
    if a == 1 and isinstance(b, _Measured):
        a = _Measured(quantities.dimension(PLAIN), 1.0)  # the reciprocal converts nothing
    return _product(a, b, -1)


_OPERATORS = {
    ast.Add: _alike, ast.Sub: _alike,
    ast.Mult: lambda a, b: _product(a, b, 1), ast.Div: _over,
    ast.Pow: _power, ast.USub: _of, ast.UAdd: _of,
}  # fmt: skip
_FUNCTIONS = {"max": _alike, "min": _alike, "abs": _of, "round": lambda value, *_: _of(value)}


def _measured(paper: Paper, expression: float | str, extra: Mapping[str, str] | None = None) -> _Measured | None:
    """Dimension of an expression, whose names may include `extra` ones with their units; None if unknown.

    Raises UnknownUnit for a sum of unlike things.
    """
    if not isinstance(expression, str):
        return _of(expression)
    names = {v["id"].replace("-", "_"): (v["unit"], False) for v in paper.raw["values"]}
    names |= {name: (unit, False) for name, unit in (extra or {}).items()}
    names |= {name: (constant["unit"], True) for name, constant in paper.raw.get("constants", {}).items()}
    units = {
        name: _named(unit, paper.units, converts) for name, (unit, converts) in names.items() if name in expression
    }
    try:
        return _of(simpleeval.SimpleEval(operators=_OPERATORS, functions=_FUNCTIONS, names=units).eval(expression))
    except UnknownUnit:
        raise
    except Exception:
        return None  # what has no value is reported where it is computed


def problems_of_units(paper: Paper) -> Iterator[tuple[str, str]]:
    """(key, fault) of unknown units, and of expressions that are compared in a unit of another dimension."""
    yield from _unknown(paper)
    for key, expression, unit, extra in _compared(paper):
        if why := _unlike(paper, expression, unit, extra):
            yield key, why


def _compared(paper: Paper) -> Iterator[tuple[str, Any, str, Mapping[str, str]]]:
    """(key, expression, the unit that it is compared in, units of further names) of all that a paper compares."""
    for index, claim in enumerate(paper.claims):
        place = f"claims[{index}] ({claim['id']})"
        tests = [("test", claim["test"])]
        tests += [(f"readings[{n}].test", reading["test"]) for n, reading in enumerate(claim.get("readings", []))]
        for key, test in tests:
            for name in ("expected", "expression"):
                yield f"{place}.{key}.{name}", test.get(name), estimand_of(test).unit(), {}
            yield from _arguments(f"{place}.{key}.arguments", test.get("arguments", {}), {})
        if inverse := claim.get("inverse"):
            yield f"{place}.inverse.effect", inverse["effect"], PLAIN, {}
            for end in inverse["plausible"]:
                yield f"{place}.inverse.plausible", end, PLAIN, {}
    for index, entry in enumerate(paper.audit):
        units: dict[str, str] = {}
        for number, check in enumerate(entry.get("checks", [])):
            key = f"audit[{index}] ({entry['id']}).checks[{number}]"
            for name in ("expression", "printed"):
                yield f"{key}.{name}", check.get(name), check["unit"], dict(units)
            yield from _arguments(f"{key}.arguments", check.get("arguments", {}), units)
            if "model" in check:
                units[f"model_{len(units) + 1}"] = check["unit"]
    for index, sweep in enumerate(paper.raw.get("sweeps", [])):
        key = f"sweeps[{index}] ({sweep['id']})"
        yield from _arguments(f"{key}.arguments", sweep.get("arguments", {}), {})
        for name, levels in sweep["vary"].items():
            for level in levels:
                yield from _arguments(f"{key}.vary", {name: level}, {})


def _arguments(key: str, given: Mapping[str, Any], extra: Mapping[str, str]) -> Iterator[tuple[str, Any, str, Any]]:
    """Arguments of a model whose names end in a unit."""
    for name, value in given.items():
        if ending := next((end for end in ARGUMENTS if name.endswith(end)), ""):
            yield f"{key}.{name}", value, ARGUMENTS[ending], extra


def _unknown(paper: Paper) -> Iterator[tuple[str, str]]:
    for key, unit in _units_of(paper.raw):
        try:
            quantities.one(unit, paper.units)
        except UnknownUnit as error:
            yield key, f"{error}, or one that the paper declares under `units`"


def _units_of(raw: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from ((f"units.{name}", name) for name in raw.get("units", {}))
    for index, value in enumerate(raw["values"]):
        if not isinstance(value["value"], str):
            yield f"values[{index}] ({value['id']}).unit", value["unit"]
    for name, constant in raw.get("constants", {}).items():
        yield f"constants.{name}.unit", constant["unit"]
    for index, claim in enumerate(raw["claims"]):
        if unit := estimand_of(claim["test"]).unit():
            yield f"claims[{index}] ({claim['id']}).test.unit", unit
    for index, entry in enumerate(raw.get("audit", [])):
        for number, check in enumerate(entry.get("checks", [])):
            yield f"audit[{index}] ({entry['id']}).checks[{number}].unit", check["unit"]


def _unlike(paper: Paper, expression: Any, unit: str, extra: Mapping[str, str]) -> str:
    """Fault of an expression that is compared in a unit; empty without one, or where its unit is unknown."""
    if not unit or not isinstance(expression, str):
        return ""
    try:
        found, wanted = _measured(paper, expression, extra), quantities.one(unit, paper.units)
    except UnknownUnit as error:
        return str(error)
    if found is None or found.literal:
        return ""
    bare = _unit_of(paper, expression)
    if found.dimension != wanted.dimensionality:
        if found.dimension == quantities.dimension(PLAIN) and found.scale is None:
            return ""  # a number that is written out may be of anything
        seen = f"{dimension_in_words(found.dimension)}{f' ({bare})' if bare else ''}"
        return f"expected {dimension_in_words(wanted.dimensionality)} ({unit}), found {seen}: {expression}"
    if found.scale is None or math.isclose(times := found.scale / wanted.to_root_units().magnitude, 1, rel_tol=1e-9):
        return ""
    if bare:
        return (
            f"found {expression} in {bare}, expected {unit}, of which one {bare} is {times:g}; write the value with "
            f"its unit (`value: 5 {bare}`) and `unit: {unit}`"
        )
    return f"found {expression} in units of {times:g} {unit}, expected it in {unit}"


def _unit_of(paper: Paper, expression: float | str) -> str:
    """The unit of an expression that is one value or constant; empty for any other."""
    units = {v["id"].replace("-", "_"): v["unit"] for v in paper.raw["values"]}
    units |= {name: constant["unit"] for name, constant in paper.raw.get("constants", {}).items()}
    return units.get(str(expression).strip(), "")
