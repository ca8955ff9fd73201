"""The page of all keys (build/docs/keys.md), made from the schemas: meaning, form and an example of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from whitewire.description import files
from whitewire.description.reading import yaml_line
from whitewire.estimands import ESTIMANDS
from whitewire.estimands.base import NO_EFFECT, RANGE
from whitewire.paths import GENERATED
from whitewire.text import TYPE_WORDS

PAGE = GENERATED / "keys.md"
_SCHEMAS = {
    "paper": ("config/papers/<paper>.yaml", "A paper."),
    "testbed": ("config/testbeds/<testbed>.yaml", "Where runs are made. Which keys there are depends on `kind`."),
    "config": ("config/config.yaml", "What `make papers` does."),
    "new-paper": ("Answers for `whitewire new-paper` in a file", "Enough to begin a paper with."),
    "gallery": ("gallery.yaml in a folder of crates", "Who measured them; `whitewire compare` shows it."),
}
_HEAD = """\
# All keys

*For whoever adds a paper, writes a testbed's file, or keeps a folder of crates.*

Every key of every file, from the schemas in `workflow/schemas`; `make docs` writes this page. A star marks a key that
must be there. A key whose name ends in `_bytes`, `_mb_per_s`, `_ms` or `_kib` takes a number, or in a paper text with
its unit, `64 MiB` or `5 GB`, which is converted once, when the file is read. `docs/use/add-a-paper.md` says in which
order to write them.
"""
_JUDGED = RANGE | NO_EFFECT
"""Keys that most estimands' tests have in common."""
_LONG = 150
"""An example that is made of parts and has more signs than that is shown as the parts'."""
_Part = Mapping[str, Any]


@dataclass(frozen=True)
class Key:
    """A key: where it is, its part of the schema, and whether it must be there."""

    place: str
    name: str
    part: _Part
    needed: bool


@dataclass(frozen=True)
class Table:
    """The keys of one mapping."""

    place: str
    meaning: str
    keys: list[Key]


def page() -> str:
    """The text of the page."""
    parts = [_HEAD]
    for name, (file, meaning) in _SCHEMAS.items():
        schema = files.schema(name)
        parts.append(f"\n## {file}\n\n{meaning}\n")
        for table in tables(schema):
            parts.append("" if not table.place else f"\n### {table.place}\n\n{table.meaning}\n")
            rows = [_row(schema, key) for key in table.keys]
            parts.append("\n| key | form | what it does | example |\n|---|---|---|---|\n" + "\n".join(rows) + "\n")
    return "".join(parts)


def tables(schema: _Part) -> Iterator[Table]:
    """Every mapping of a schema with keys of its own: the file's, then each below it, then the shared ones."""
    yield from _tables(schema, "")
    for name, part in schema.get("$defs", {}).items():
        if name == "test":
            yield from _tests()
        else:
            yield from _tables(part, _words(name))


def _tables(part: _Part, place: str) -> Iterator[Table]:
    if "properties" in part:
        yield _table(place, part)
    for name, inner in part.get("properties", {}).items():
        below = f"{place}: {name}" if place else name
        yield from _tables(inner, below)
        for kind in ("items", "additionalProperties"):
            if isinstance(inner.get(kind), Mapping):
                yield from _tables(inner[kind], f"{below}, each")


def _table(place: str, part: _Part, known: Mapping[str, Any] | None = None) -> Table:
    needed = part.get("required", [])
    keys = [
        Key(place, name, inner, name in needed)
        for name, inner in part["properties"].items()
        if known is None or known.get(name) != inner
    ]
    return Table(place, part.get("description", ""), keys)


def _tests() -> Iterator[Table]:
    """The keys that tests share, then of each estimand its own."""
    shared = {
        "properties": _JUDGED,
        "description": "Keys that tests of most estimands have, beside those of their own.",
    }
    yield _table("test", shared)
    for estimand in ESTIMANDS.values():
        schema = {**estimand.schema(), "description": estimand.meaning}
        own = _table(f"test: {estimand.name}", schema, _JUDGED)
        yield own
        for key in own.keys:
            yield from _tables(key.part, f"{own.place}: {key.name}")


def _row(schema: _Part, key: Key) -> str:
    star = " \\*" if key.needed else ""
    shown = _cell(f"`{key.name}: {yaml_line(example(schema, key.part))}`")
    below = key.part.get("items", key.part)
    if len(shown) > _LONG and "examples" not in key.part:
        name = below["$ref"].rsplit("/", 1)[1] if "$ref" in below else f"{key.place}: {key.name}".strip(": ")
        shown = f"its keys: [{_words(name)}](#{_anchor(_words(name))})"
    return f"| `{key.name}`{star} | {_cell(_form(schema, key.part))} | {_cell(meaning(schema, key.part))} | {shown} |"


def meaning(schema: _Part, part: _Part) -> str:
    """Description of a key: its own, else that of the schema it refers to."""
    return part.get("description") or _referred(schema, part).get("description", "")


def example(schema: _Part, part: _Part) -> Any:
    """An example of a key: its own, else that of its reference, else one made of its parts' examples. KeyError without
    any."""
    if "examples" in part:
        return part["examples"][0]
    if "$ref" in part:
        return example(schema, _referred(schema, part))
    if "const" in part:
        return part["const"]
    if "enum" in part:
        return part["enum"][0]
    if part.get("type") == "boolean":
        return True
    if "oneOf" in part:
        return example(schema, part["oneOf"][0])
    if "properties" in part:
        names = part.get("required") or list(part["properties"])[:1]
        return {name: example(schema, part["properties"][name]) for name in names}
    if "items" in part:
        return [example(schema, part["items"])]
    raise KeyError("examples")


def _form(schema: _Part, part: _Part) -> str:
    part = {**_referred(schema, part), **{k: v for k, v in part.items() if k != "$ref"}}
    if "enum" in part:
        names = [f"`{name}`" for name in part["enum"]]
        return ", ".join(names) if len(names) <= 12 else f"one of {len(names)} names"
    if "const" in part:
        return f"`{part['const']}`"
    if "anyOf" in part:
        return " or ".join(_form(schema, each) for each in part["anyOf"])
    kinds = part.get("type", "object")
    words = [TYPE_WORDS[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    bounds = {
        "minimum": "at least {}",
        "exclusiveMinimum": "above {}",
        "maximum": "at most {}",
        "minItems": "{} or more",
    }
    return "; ".join([" or ".join(words), *(text.format(part[b]) for b, text in bounds.items() if b in part)])


def _referred(schema: _Part, part: _Part) -> _Part:
    if "$ref" not in part:
        return {}
    found = schema
    for name in part["$ref"].removeprefix("#/").split("/"):
        found = found[name]
    return found


def _words(name: str) -> str:
    return name.replace("_", " ")


def _anchor(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-")


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().replace("|", "\\|")
