"""Checks YAML files, and reports the first fault in one line.

Every file is checked against a closed JSON Schema in `workflow/schemas/`, which is YAML too. Names from the package's
tables (estimands, workloads and their metrics, models, kinds of testbed) are filled in from there.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from whitewire import models, workloads
from whitewire.description.capabilities import CAPABILITIES
from whitewire.description.reading import kind_of, load_yaml
from whitewire.errors import UserError
from whitewire.estimands import ESTIMANDS
from whitewire.paths import HOME, shown
from whitewire.text import TYPE_WORDS, canonical, dotted, one_of, quoted, suggestion

MOST_ERRORS = 200
"""Faults of a file among which the most specific one is looked for."""
_SCHEMAS = HOME / "workflow" / "schemas"

_DISCRIMINATORS = {"kind", "type", "estimand", "relation", "route", "workload"}


# --- schemas ----------------------------------------------------------------------------------------


def schema(name: str) -> dict[str, Any]:
    """A JSON Schema of `workflow/schemas/`, with the estimands, workloads, metrics, models and kinds of testbed."""
    stored = _stored(name)
    if name == "testbed":
        return _with_kinds(stored)
    return _with_names(stored) if name == "paper" else stored


@cache
def _stored(name: str) -> dict[str, Any]:
    return load_yaml(_SCHEMAS / f"{name}.schema.yaml")


def _with_names(stored: Mapping[str, Any]) -> dict[str, Any]:
    parts = stored["$defs"]
    keys = parts["experiment"]["properties"]
    workload = _one_of(keys["workload"], workloads.in_papers())
    filled = {
        "test": {**parts["test"], "oneOf": [estimand.schema() for estimand in ESTIMANDS.values()]},
        "metric": _one_of(parts["metric"], workloads.metric_names()),
        "model": _one_of(parts["model"], models.MODELS),
        "experiment": {**parts["experiment"], "properties": {**keys, "workload": workload}},
    }
    return {**stored, "$defs": {**parts, **filled}}


def _with_kinds(stored: Mapping[str, Any]) -> dict[str, Any]:
    """With the names of all kinds of testbed, and for each the form of its description."""
    kinds, own, parts = CAPABILITIES, stored["properties"], stored["$defs"]
    keys = parts["job"]["properties"]
    is_of = {kind: {"required": ["kind"], "properties": {"kind": {"const": kind}}} for kind in kinds}
    jobs = {**keys["kind"], "enum": [kind for kind, can in kinds.items() if can.form == "job"]}
    return {
        **stored,
        "properties": {**own, "kind": {**own["kind"], "enum": list(kinds)}},
        "allOf": [{"if": is_of[kind], "then": {"$ref": f"#/$defs/{can.form}"}} for kind, can in kinds.items()],
        "$defs": {**parts, "job": {**parts["job"], "properties": {**keys, "kind": jobs}}},
    }


def _one_of(part: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The schema of a key that holds one of some names."""
    return {"enum": list(names), "description": part["description"]}


def _pattern(_: Any, pattern: str, text: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
    """The whole text is as the pattern says: `$` alone lets a line end follow."""
    if isinstance(text, str) and not re.fullmatch(pattern, text):
        yield jsonschema.ValidationError(f"does not match {pattern}")


def _unique(_: Any, wanted: bool, items: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
    """No item is there twice. In one pass: the library's own takes the square of it for items of several types."""
    if wanted and isinstance(items, list):
        texts = [canonical(int(i) if isinstance(i, float) and i.is_integer() else i) for i in items]
        if len(set(texts)) < len(texts):
            yield jsonschema.ValidationError("has an item twice")


# To JSON Schema 10.0 is an integer; to what counts runs and hosts it is not.
_Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    validators={"pattern": _pattern, "uniqueItems": _unique},
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)


def validate_by_schema(data: Any, schema_name: str, path: Path | str) -> None:
    """Raise a UserError that names the most specific fault of `data`, if it has one, after its file or other source."""
    validator = _Validator(schema(schema_name))
    errors = [_branch(error) for error in itertools.islice(validator.iter_errors(data), MOST_ERRORS)]
    if errors:
        source = shown(path) if isinstance(path, Path) else path
        raise UserError(f"{source}: {_line(min(errors, key=_rank))}")


def _branch(error: jsonschema.ValidationError) -> jsonschema.ValidationError:
    """The fault in the alternative of an `anyOf` or `oneOf` that was meant."""
    while error.context:
        if fault := _undecided(error):
            return fault
        branches: dict[Any, list[jsonschema.ValidationError]] = {}
        for inner in error.context:
            branches.setdefault(inner.relative_schema_path[0], []).append(inner)

        def unlike(faults: list[jsonschema.ValidationError]) -> tuple[bool, bool, int]:
            wrong_kind = any(
                f.validator in ("const", "enum") and f.path and f.path[-1] in _DISCRIMINATORS for f in faults
            )
            wrong_type = any(f.validator == "type" and not f.relative_path for f in faults)
            return (wrong_type, wrong_kind, len(faults))

        meant = min(branches.values(), key=unlike)
        if all(unlike(faults)[0] for faults in branches.values()):
            return error
        error = min(meant, key=_rank)
    return error


def _undecided(error: jsonschema.ValidationError) -> jsonschema.ValidationError | None:
    """The fault if the key that selects an alternative is missing, misspelt, or names none of them."""
    wanted: Any = error.validator_value
    parts = [part.get("properties", {}) for part in wanted if isinstance(part, Mapping)]
    keys = [key for key in _DISCRIMINATORS if parts and all("const" in part.get(key, {}) for part in parts)]
    if not keys or not isinstance(error.instance, dict):
        return None
    key, found = keys[0], error.instance
    names = [part[key]["const"] for part in parts]
    if key in found:
        if found[key] in names:
            return None
        return _made(error, "enum", [key], found[key], names, {})
    unknown = [name for name in found if not any(name in part for part in parts)]
    known = {key: {"enum": names}}
    if any(suggestion(name, [key]) for name in unknown):
        near = {name: found[name] for name in unknown if suggestion(name, [key])}
        return _made(error, "additionalProperties", [], near, False, {"properties": known})
    return _made(error, "required", [], {}, [key], {"properties": known})


def _made(error: jsonschema.ValidationError, rule: str, below: list[Any], found: Any, wanted: Any,
          part: Mapping[str, Any]) -> jsonschema.ValidationError:  # fmt: skip
    path = [*error.absolute_path, *below]
    return jsonschema.ValidationError(
        "", validator=rule, path=path, instance=found, validator_value=wanted, schema=part
    )


def _rank(error: jsonschema.ValidationError) -> tuple:
    """Misspelt keys first, since they explain missing ones; then in the order of the file."""
    first = {"additionalProperties": 0, "unevaluatedProperties": 0, "propertyNames": 0, "required": 2}
    return (first.get(str(error.validator), 1), len(error.absolute_path), [str(p) for p in error.absolute_path])


def _line(error: jsonschema.ValidationError) -> str:
    """One fault as `key: found …, expected …; did you mean …`."""
    key = dotted(error.absolute_path)
    rule, part = str(error.validator), error.schema if isinstance(error.schema, Mapping) else {}
    value: Any = error.instance
    wanted: Any = error.validator_value
    if rule in ("additionalProperties", "unevaluatedProperties"):
        known = sorted(part.get("properties", {}))
        patterns = part.get("patternProperties", {})
        unknown = [k for k in value if k not in known and not _matches(k, patterns)]
        near = [(suggestion(k, known), k) for k in unknown]
        hint, name = max(near, key=lambda pair: bool(pair[0]), default=("", "?"))
        full = f"{key}.{name}" if key else str(name)
        return f"{full}: found an unknown key, expected {one_of(known)}{hint}"
    if rule == "required":
        missing = next(k for k in wanted if k not in value)
        full = f"{key}.{missing}" if key else missing
        what = part.get("properties", {}).get(missing, {})
        return f"{full}: found nothing, expected {_expected(what)}{suggestion(missing, map(str, value))}"
    prefix = f"{key}: " if key else ""
    if rule == "enum":
        return f"{prefix}found {quoted(value)}, expected {one_of(wanted)}{suggestion(value, wanted)}"
    if rule == "const":
        return f"{prefix}found {quoted(value)}, expected {quoted(wanted)}"
    if rule == "type":
        return f"{prefix}found {quoted(value)} ({kind_of(value)}), expected {_expected(part)}"
    if rule in ("oneOf", "anyOf"):
        kinds = " or ".join(dict.fromkeys(_expected(s) for s in wanted))
        return f"{prefix}found {quoted(value)}, expected {kinds}"
    limits = {
        "minimum": "at least {}",
        "maximum": "at most {}",
        "exclusiveMinimum": "more than {}",
        "exclusiveMaximum": "less than {}",
        "minItems": "at least {} items",
        "maxItems": "at most {} items",
        "maxProperties": "at most {} keys",
        "maxLength": "at most {} characters",
        "minProperties": "at least {} keys",
        "minLength": "at least {} characters",
        "pattern": "text like {}",
    }
    if rule in limits:
        return f"{prefix}found {quoted(value)}, expected {limits[rule].format(wanted)}"
    if rule == "uniqueItems":
        return f"{prefix}found {quoted(value)}, expected every item only once"
    return f"{prefix}found {quoted(value)}: {error.message}"


def _matches(key: object, patterns: Mapping[str, Any]) -> bool:
    return any(re.search(pattern, str(key)) for pattern in patterns)


def _expected(part: Mapping[str, Any]) -> str:
    if "enum" in part:
        return one_of(part["enum"])
    if "const" in part:
        return quoted(part["const"])
    kinds = part.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds or []
    return " or ".join(TYPE_WORDS[k] for k in kinds) or "a value"
