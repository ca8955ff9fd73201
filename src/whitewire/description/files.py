"""Reads YAML files and says in one line what is wrong with one.

Every file is YAML and is checked against a closed JSON Schema in `workflow/schemas/`, which is YAML too.
What a table of the package lists
(estimands, workloads and their metrics, models) is filled in from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import yaml

from whitewire import estimands, models, workloads
from whitewire.errors import UserError
from whitewire.paths import HOME, shown
from whitewire.text import one_of, quoted, suggestion

SCHEMAS = HOME / "workflow" / "schemas"

TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}
"""JSON Schema's types in words."""
_DISCRIMINATORS = {"kind", "type", "estimand", "relation", "route", "workload"}


# --- YAML -------------------------------------------------------------------------------------------


if TYPE_CHECKING:
    _Fastest = yaml.SafeLoader
else:
    _Fastest = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Fastest):
    """The safe loader, except that a key given twice is an error."""


def _mapping(loader: _Loader, node: yaml.MappingNode, deep: bool = False) -> dict:
    seen = set()
    for key_node, _ in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise yaml.constructor.ConstructorError(None, None, "a key is a list or a mapping", key_node.start_mark)
        key = key_node.value
        if key in seen and key != "<<":
            raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} is given twice", key_node.start_mark)
        seen.add(key)
    loader.flatten_mapping(node)
    return {loader.construct_object(k, deep=True): loader.construct_object(v, deep=True) for k, v in node.value}


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)
# A day is text, as it is written.
_Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda _, node: node.value)


def load_yaml(path: Path | str) -> dict[str, Any]:
    """The mapping in a YAML file."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        near = suggestion(path.name, (p.name for p in path.parent.glob("*.y*ml")))
        raise UserError(f"{shown(path)}: no such file{near}") from None
    except UnicodeDecodeError as error:
        raise UserError(
            f"{shown(path)}: byte {error.start}: found bytes that are not UTF-8, expected YAML text"
        ) from None
    except OSError as error:
        raise UserError(f"{shown(path)}: cannot be read: {error.strerror}") from None
    try:
        data = yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        raise UserError(f"{shown(path)}: {where}not valid YAML: {problem}") from None
    if not isinstance(data, dict):
        found = "an empty file" if data is None else f"{_name(data)} ({quoted(data)})"
        raise UserError(f"{shown(path)}: found {found}, expected YAML with keys")
    return data


# --- schemas ----------------------------------------------------------------------------------------


def schema(name: str) -> dict[str, Any]:
    """A JSON Schema of `workflow/schemas/`, with the estimands, workloads, metrics and models that there are."""
    stored = _stored(name)
    return _with_names(stored) if name == "paper" else stored


@cache
def _stored(name: str) -> dict[str, Any]:
    return load_yaml(SCHEMAS / f"{name}.schema.yaml")


def _with_names(stored: Mapping[str, Any]) -> dict[str, Any]:
    parts = stored["$defs"]
    keys = parts["experiment"]["properties"]
    workload = _one_of(keys["workload"], workloads.in_papers())
    filled = {
        "test": {**parts["test"], "oneOf": [estimand.schema() for estimand in estimands.TABLE.values()]},
        "metric": _one_of(parts["metric"], workloads.told()),
        "model": _one_of(parts["model"], models.MODELS),
        "experiment": {**parts["experiment"], "properties": {**keys, "workload": workload}},
    }
    return {**stored, "$defs": {**parts, **filled}}


def _one_of(part: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The schema of a key that holds one of some names."""
    return {"enum": list(names), "description": part["description"]}


# To JSON Schema 10.0 is an integer; to what counts runs and hosts it is not.
_Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)


def validate(data: Any, schema_name: str, path: Path | str) -> None:
    """Raise a UserError that names the most telling fault of `data`, if it has one, after its file or other source."""
    validator = _Validator(schema(schema_name))
    errors = [_branch(error) for error in validator.iter_errors(data)]
    if errors:
        source = shown(path) if isinstance(path, Path) else path
        raise UserError(f"{source}: {_line(min(errors, key=_rank))}")


def _branch(error: jsonschema.ValidationError) -> jsonschema.ValidationError:
    """Of an `anyOf` or `oneOf`, the fault in the alternative that was meant."""
    while error.context:
        if told := _undecided(error):
            return told
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
    """The fault where the key that tells alternatives apart is lacking, misspelt, or names none of them."""
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
        return f"{prefix}found {quoted(value)} ({_name(value)}), expected {_expected(part)}"
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
        "minProperties": "at least {} keys",
        "minLength": "at least {} characters",
        "pattern": "text like {}",
    }
    if rule in limits:
        return f"{prefix}found {quoted(value)}, expected {limits[rule].format(wanted)}"
    if rule == "uniqueItems":
        return f"{prefix}found {quoted(value)}, expected every item only once"
    return f"{prefix}found {quoted(value)}: {error.message}"


def dotted(path: Iterable[Any]) -> str:
    """`claims[3].value` from a path of keys and positions."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _matches(key: object, patterns: Mapping[str, Any]) -> bool:
    return any(re.search(pattern, str(key)) for pattern in patterns)


def _expected(part: Mapping[str, Any]) -> str:
    if "enum" in part:
        return one_of(part["enum"])
    if "const" in part:
        return quoted(part["const"])
    kinds = part.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds or []
    return " or ".join(TYPES[k] for k in kinds) or "a value"


def _name(value: Any) -> str:
    kinds = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    return TYPES[kinds.get(type(value), "null")]
