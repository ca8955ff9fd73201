"""Reads the configuration and says in one line what is wrong with it.

Every file is YAML and is checked against a closed JSON Schema in `workflow/schemas/`.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from whitewire.errors import UserError

HOME = Path(__file__).resolve().parents[2]  # the repository: schemas, caches and programs live here
HIBENCH = Path(os.environ.get("WHITEWIRE_HIBENCH") or HOME / ".cache" / "hibench")
"""The prepared copy of HiBench (`make hibench`): its tree, and prepared.json, which describes it."""
SCHEMAS = HOME / "workflow" / "schemas"
EFFORTS = ("smoke", "quick", "full")
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where a machine's own programs are. Debian's ordinary users have only half of it on their PATH, without tc."""

_TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}
_DISCRIMINATORS = {"kind", "type", "estimand", "relation", "route", "workload"}


def root() -> Path:
    """The folder whose `config/` and `results/` are used: the current one if it has a `config/`."""
    here = Path.cwd()
    return here if (here / "config" / "config.yaml").is_file() else HOME


def settle_environment() -> None:
    """Have all that this process starts find system programs, after those of the user's own PATH, and write UTF-8.

    The Makefile does the same for what it starts. Java and R misread paths where the user's locale is not there.
    """
    own = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    os.environ["PATH"] = os.pathsep.join(dict.fromkeys([*own, *SYSTEM_PATH.split(os.pathsep)]))
    os.environ["LC_ALL"] = "C.UTF-8"


def temporary() -> Path:
    """For folders that live as long as a command: scripts/alone clears it, should a killed one have left any.

    Not below .cache: Quarto ignores documents in hidden folders.
    """
    folder = HOME / "whitewire-tmp"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def shown(path: Path | str) -> str:
    """A path as the user would type it."""
    try:
        return str(Path(path).resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


# --- YAML -------------------------------------------------------------------------------------------


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
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
        found = "an empty file" if data is None else f"{_name(data)} ({_short(data)})"
        raise UserError(f"{shown(path)}: found {found}, expected YAML with keys")
    return data


# --- schemas ----------------------------------------------------------------------------------------


@cache
def schema(name: str) -> dict[str, Any]:
    """A JSON Schema of `workflow/schemas/`."""
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))


def validate(data: Any, schema_name: str, path: Path | str) -> None:
    """Raise a UserError that names the most telling fault of `data`, if it has one."""
    validator = jsonschema.Draft202012Validator(schema(schema_name))
    errors = [_branch(error) for error in validator.iter_errors(data)]
    if errors:
        raise UserError(f"{shown(path)}: {_line(min(errors, key=_rank))}")


def suggestion(found: object, names: Iterable[str]) -> str:
    """`; did you mean "x"?` when a valid name is near, else nothing."""
    names = [str(name) for name in names]
    text = str(found)
    near = difflib.get_close_matches(text, names, n=1, cutoff=0.55)
    if not near:
        lower = {name.lower(): name for name in names}
        near = [lower[m] for m in difflib.get_close_matches(text.lower(), lower, n=1, cutoff=0.55)]
    return f'; did you mean "{near[0]}"?' if near else ""


def _branch(error: jsonschema.ValidationError) -> jsonschema.ValidationError:
    """Of an `anyOf` or `oneOf`, the fault in the alternative that was meant."""
    while error.context:
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


def _rank(error: jsonschema.ValidationError) -> tuple:
    """Misspelt keys first, since they explain missing ones; then in the order of the file."""
    first = {"additionalProperties": 0, "unevaluatedProperties": 0, "propertyNames": 0, "required": 2}
    return (first.get(error.validator, 1), len(error.absolute_path), [str(p) for p in error.absolute_path])


def _line(error: jsonschema.ValidationError) -> str:
    """One fault as `key: found …, expected …; did you mean …`."""
    key = dotted(error.absolute_path)
    value, rule, wanted = error.instance, error.validator, error.validator_value
    if rule in ("additionalProperties", "unevaluatedProperties"):
        known = sorted(error.schema.get("properties", {}))
        patterns = error.schema.get("patternProperties", {})
        unknown = [k for k in value if k not in known and not _matches(k, patterns)]
        near = [(suggestion(k, known), k) for k in unknown]
        hint, name = max(near, key=lambda pair: bool(pair[0]), default=("", "?"))
        full = f"{key}.{name}" if key else str(name)
        return f"{full}: found an unknown key, expected {_list(known)}{hint}"
    if rule == "required":
        missing = next(k for k in wanted if k not in value)
        full = f"{key}.{missing}" if key else missing
        what = error.schema.get("properties", {}).get(missing, {})
        return f"{full}: found nothing, expected {_expected(what)}{suggestion(missing, map(str, value))}"
    prefix = f"{key}: " if key else ""
    if rule == "enum":
        return f"{prefix}found {_short(value)}, expected {_list(wanted)}{suggestion(value, wanted)}"
    if rule == "const":
        return f"{prefix}found {_short(value)}, expected {_short(wanted)}"
    if rule == "type":
        return f"{prefix}found {_short(value)} ({_name(value)}), expected {_expected(error.schema)}"
    if rule in ("oneOf", "anyOf"):
        kinds = " or ".join(dict.fromkeys(_expected(s) for s in wanted))
        return f"{prefix}found {_short(value)}, expected {kinds}"
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
        return f"{prefix}found {_short(value)}, expected {limits[rule].format(wanted)}"
    if rule == "uniqueItems":
        return f"{prefix}found {_short(value)}, expected every item only once"
    return f"{prefix}found {_short(value)}: {error.message}"


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
        return _list(part["enum"])
    if "const" in part:
        return _short(part["const"])
    kinds = part.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds or []
    return " or ".join(_TYPES[k] for k in kinds) or "a value"


def _list(names: Iterable[Any], most: int = 12) -> str:
    names = [str(name) for name in names]
    if len(names) == 1:
        return names[0]
    more = [f"… ({len(names)} in all)"] if len(names) > most else []
    return "one of " + ", ".join(names[:most] + more)


def _name(value: Any) -> str:
    kinds = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    return _TYPES[kinds.get(type(value), "null")]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "…"


# --- the files --------------------------------------------------------------------------------------


def load_config(environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """`config/config.yaml` with PAPERS, TESTBED and EFFORT of the environment put over it."""
    environ = os.environ if environ is None else environ
    path = root() / "config" / "config.yaml"
    config = load_yaml(path)
    validate(config, "config", path)
    for name in ("testbed", "effort"):
        if environ.get(name.upper()):
            config[name] = environ[name.upper()]
            validate(config, "config", f"{name.upper()}={config[name]}")
    if environ.get("PAPERS"):
        config["papers"] = environ["PAPERS"].replace(",", " ").split()
        validate(config, "config", f"PAPERS={environ['PAPERS']}")
    source = f"PAPERS={environ['PAPERS']}" if environ.get("PAPERS") else shown(path)
    for index, paper in enumerate(config["papers"]):
        _known(paper, papers(), f"{source}: papers[{index}]", "papers")
    source = f"TESTBED={environ['TESTBED']}" if environ.get("TESTBED") else shown(path)
    _known(config["testbed"], testbeds(), f"{source}: testbed", "testbeds")
    return config


def _known(name: str, names: list[str], where: str, folder: str) -> None:
    if name not in names:
        raise UserError(
            f"{where}: found {_short(name)}, expected {_list(names) if names else 'a file'} "
            f"of config/{folder}{suggestion(name, names)}"
        )


def papers() -> list[str]:
    """The names of all papers that have a file."""
    return _stems("papers")


def testbeds() -> list[str]:
    """The names of all testbeds that have a file."""
    return _stems("testbeds")


def _stems(folder: str) -> list[str]:
    found = (path.stem for path in (root() / "config" / folder).glob("*.yaml"))
    return sorted(name for name in found if not name.endswith(".example"))


def is_paper(name: str) -> bool:
    """Whether a paper of that name has a file."""
    return name in papers()


def paper_path(name: str) -> Path:
    """The file of a paper."""
    _known(name, papers(), "paper", "papers")
    return root() / "config" / "papers" / f"{name}.yaml"


def testbed_path(name: str) -> Path:
    """The file of a testbed."""
    _known(name, testbeds(), "testbed", "testbeds")
    return root() / "config" / "testbeds" / f"{name}.yaml"


def is_emulated(testbed: Mapping) -> bool:
    """Whether rates on a testbed stand for larger ones: hosts of one machine, or a site whose links are slowed down."""
    return testbed.get("kind", "emulated") == "emulated" or testbed.get("scale", 1) != 1


def fabric_names(testbed: Mapping) -> list[str]:
    """Networks that a paper may name: the testbed's, and on a site the emulated testbed's, whose runs it leaves out."""
    names = list(testbed["fabrics"])
    if testbed["kind"] != "emulated" and testbed_path("emulated").is_file():
        names += load_testbed("emulated")["fabrics"]
    return list(dict.fromkeys(names))


def load_testbed(name: str) -> dict[str, Any]:
    """A testbed's description, valid in form. An emulated one uses the prepared HiBench where it names no other."""
    path = testbed_path(name)
    testbed = load_yaml(path)
    validate(testbed, "testbed", path)
    if testbed["kind"] == "emulated" and (HIBENCH / "tree").is_dir():
        testbed.setdefault("hibench", {"home": str(HIBENCH / "tree")})
    return testbed
