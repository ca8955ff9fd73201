"""Configuration made wrong in every way: each place of a file that exists or could, and each kind of damage."""

from __future__ import annotations

import contextlib
import copy
import io
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from whitewire import cli
from whitewire.description import files
from whitewire.description.reading import load_yaml
from whitewire.errors import UserError
from whitewire.paths import HOME
from whitewire.workflow.ahead import print_plan
from whitewire.workflow.new_paper import write_paper
from whitewire.workflow.plan import Plan

MADE_UP = "made-up-2026"
MOST_SECONDS = {"refused": 2.0, "passed": 4.0}
"""Processor time after which an input counts as one that stops the command. The largest paper is planned in 1.2 s, and
beside other work in twice as much."""
Place = tuple[str | int, ...]


class Skipped(Exception):
    """This kind of damage cannot be done at this place."""


# --- what is damaged --------------------------------------------------------------------------------


def bases() -> dict[str, tuple[str, str]]:
    """Of every file that is damaged: (where it is put in a project, the name of its schema)."""
    papers = {f"paper {path.stem}": path for path in sorted((HOME / "config" / "papers").glob("*.yaml"))}
    papers["paper template"] = HOME / "docs" / "template" / "paper.yaml"
    found = {name: (str(path), "paper") for name, path in papers.items()}
    for path in sorted((HOME / "config" / "testbeds").glob("*.yaml")):
        found[f"testbed {path.name.split('.')[0]}"] = (str(path), "testbed")
    found["config"] = (str(HOME / "config" / "config.yaml"), "config")
    found["answers"] = ("", "new-paper")
    return found


ANSWERS = {
    "id": "acme-2019", "title": "Faster", "publisher": "Acme", "year": 2019, "letter": "A",
    "source": {"authors": ["Doe, Jane"], "url": "https://example.com/paper.pdf", "accessed": "2026-11-26"},
    "exhibits": [{"id": "fig1", "caption": "Ingest by network"}],
    "claims": [
        {"statement": "Six times", "exhibit": "fig1", "form": "ratio", "printed": "6x", "reads_as": "6 times",
         "workload": "hdfs_put", "metric": "throughput", "fabric": "10gbe", "over": "1gbe"},
        {"statement": "Fast", "form": "value", "printed": "118 MiB/s", "fabric": "1gbe", "metric": "throughput",
         "workload": "hdfs_put"},
        {"statement": "Less load", "form": "not_testable", "missing": "the adapter"},
    ],
}  # fmt: skip


def read(base: str) -> dict[str, Any]:
    """The data of a base, right as it is."""
    path, _ = bases()[base]
    if base == "config":
        return {"papers": [MADE_UP], "testbed": "emulated", "effort": "quick", "seed": 1}
    return yaml.safe_load(Path(path).read_text(encoding="utf-8")) if path else copy.deepcopy(ANSWERS)


def places(data: Any, here: Place = ()) -> Iterator[Place]:
    """Every key and every position."""
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in parts:
        yield (*here, key)
        yield from places(value, (*here, key))


def absent(
    data: Any, part: Mapping[str, Any], whole: Mapping[str, Any], here: Place = ()
) -> Iterator[tuple[Place, Any]]:
    """(place, example) of every key that a schema has beside those that are there."""
    while "$ref" in part:
        target: Any = whole
        for name in part["$ref"].removeprefix("#/").split("/"):
            target = target[name]
        part = target
    for rule in part.get("allOf", []):
        if data.get("kind") == rule["if"]["properties"]["kind"]["const"]:
            yield from absent(data, rule["then"], whole, here)
    for other in [*part.get("oneOf", []), *part.get("anyOf", [])]:
        meant = other.get("properties", {}).get("estimand", {}).get("const")
        if isinstance(data, dict) and (meant is None or meant == data.get("estimand")):
            yield from absent(data, other, whole, here)
    if isinstance(data, dict):
        known = part.get("properties", {})
        for key, own in known.items():
            if key not in data and own.get("examples"):
                yield (*here, key), own["examples"][0]
        for key, value in data.items():
            below = known.get(key, part.get("additionalProperties"))
            if isinstance(below, dict):
                yield from absent(value, below, whole, (*here, key))
    elif isinstance(data, list) and isinstance(part.get("items"), dict):
        for index, value in enumerate(data):
            yield from absent(value, part["items"], whole, (*here, index))


def all_places(base: str) -> list[tuple[Place, Any]]:
    """(place, None) of what is there, and (place, example) of what could be, for a base."""
    data, schema = read(base), files.schema(bases()[base][1])
    return [*((place, None) for place in places(data)), *absent(data, schema, schema)]


# --- the damage -------------------------------------------------------------------------------------


def _only(kind: type | tuple[type, ...], change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def made(value: Any) -> Any:
        if not isinstance(value, kind) or isinstance(value, bool):
            raise Skipped
        return change(value)

    return made


def _always(value: Any) -> Callable[[Any], Any]:
    return lambda _: copy.deepcopy(value)


def _nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


NUMBER = (int, float)
VALUES: dict[str, Callable[[Any], Any]] = {
    "null": _always(None), "true": _always(True), "text": _always("some text"), "number": _always(7),
    "fraction": _always(0.5), "list": _always([1, "a"]), "mapping": _always({"a": 1}),
    "empty text": _always(""), "empty list": _always([]), "empty mapping": _always({}),
    "nan": _always(float("nan")), "inf": _always(float("inf")), "-inf": _always(float("-inf")),
    "huge": _always(10**30), "largest": _always(10**18), "large": _always(1_000_000), "zero": _always(0),
    "minus one": _always(-1), "tiny": _always(1e-300), "smallest": _always(1e-18), "number as text": _only(NUMBER, str),
    "1.0 for 1": _only(int, float), "a half more": _only(NUMBER, lambda value: value + 0.5),
    "one more": _only(NUMBER, lambda value: value + 1), "negative": _only(NUMBER, lambda value: -value),
    "times a million": _only(NUMBER, lambda value: value * 1_000_000),
    "a millionth": _only(NUMBER, lambda value: value / 1_000_000),
    "1e999": _always("1e999"), "nan as text": _always("nan"), "amount": _always("64 MiB"),
    "huge amount": _always("1e300 TiB"), "odd amount": _always("5 furlongs"), "power tower": _always("9**9**9"),
    "statement": _always("a = 1"), "two expressions": _always("1;2"),
    "code": _always("__import__('os').system('false')"), "path": _always("../../x"),
    "absolute path": _always("/etc/passwd"),
    "line end": _only(str, lambda value: f"{value}\n"), "two lines": _only(str, lambda value: f"{value}\n{value}"),
    "nul": _only(str, lambda value: f"{value}\0"), "escape": _only(str, lambda value: f"\x1b[31m{value}"),
    "blank before": _only(str, lambda value: f" {value}"), "capitals": _only(str, str.upper),
    "another letter": _only(str, lambda value: f"{value[:-1]}q"), "long": _only(str, lambda value: value * 3000),
    "right to left": _only(str, lambda value: f"\u202e{value}"), "nested": lambda value: [[[[value]]]],
    "in a list": lambda value: [value],
    "deeply nested": lambda _: _nested(60), "in a mapping": lambda value: {"value": value},
    "emptied": _only((list, dict), lambda value: type(value)()),
    "twice": _only(list, lambda value: value * 2), "a thousand times": _only(list, lambda value: value * 1000),
    "backwards": _only(list, lambda value: value[::-1]), "first only": _only(list, lambda value: value[:1]),
    "thousand levels": _only(list, lambda value: list(range(1000))),
    "unknown key": _only(dict, lambda value: {**value, "nobody-knows": 1}),
    "key of a number": _only(dict, lambda value: {**value, 7: 1}),
    "key of two lines": _only(dict, lambda value: {**value, "a\nb": 1}),
    "a thousand keys": _only(dict, lambda value: value | {f"key{n}": 1 for n in range(1000)}),
    "the first value for all": _only(dict, lambda value: dict.fromkeys(value, next(iter(value.values()), 0))),
}  # fmt: skip
"""What takes the place of a value."""
TEXTS: dict[str, Callable[[str, int], str]] = {
    "cut": lambda text, at: text[: at % len(text)],
    "a letter lost": lambda text, at: text[: at % len(text)] + text[at % len(text) + 1 :],
    "a letter more": lambda text, at: (
        text[: at % len(text)] + "{[]}:-,&*#!|>'\"%@`\t\0"[at % 19] + text[at % len(text) :]
    ),
    "a line lost": lambda text, at: "".join(_without(text.splitlines(True), at)),
    "a line twice": lambda text, at: "".join(_doubled(text.splitlines(True), at)),
    "a tag": lambda text, at: "".join(_tagged(text.splitlines(True), at)),
}
"""What takes the place of a file's text."""


def _without(lines: list[str], at: int) -> list[str]:
    return lines[: at % len(lines)] + lines[at % len(lines) + 1 :]


def _doubled(lines: list[str], at: int) -> list[str]:
    return [*lines[: at % len(lines)], lines[at % len(lines)], *lines[at % len(lines) :]]


def _tagged(lines: list[str], at: int) -> list[str]:
    at %= len(lines)
    return [*lines[:at], lines[at].replace(": ", ": !!int ", 1), *lines[at + 1 :]]


KINDS = ("missing", "misspelt", *VALUES)
NOWHERE_RIGHT = (
    "nan", "inf", "-inf", "nul", "escape", "right to left", "nested", "deeply nested", "key of a number",
    "key of two lines", "a thousand keys", "unknown key",
)  # fmt: skip
"""Kinds that leave a value which no place of any file takes. Others may hit a free text, or a number's next one."""


def damaged(data: Any, place: Place, example: Any, kind: str) -> Any:
    """Data with one place made wrong. Raises Skipped where the kind does not apply, or changes nothing."""
    data = copy.deepcopy(data)
    part = data
    for key in place[:-1]:
        part = part[key]
    last: Any = place[-1]
    if example is not None:
        part[last] = copy.deepcopy(example)
    if kind == "missing":
        if example is not None:
            return data  # the example as it is
        del part[last]
    elif kind == "misspelt":
        if not isinstance(part, dict):
            raise Skipped
        part[f"{last}x"] = part.pop(last)
    else:
        before = part[last]
        part[last] = VALUES[kind](before)
        if part[last] == before and type(part[last]) is type(before):
            raise Skipped
    return data


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Writes no anchors: they have tests of their own."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def as_text(data: Any) -> str:
    """Data as YAML."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


# --- what comes of it -------------------------------------------------------------------------------


class Project:
    """A folder with a configuration of its own, in which one file after another is made wrong."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(HOME / "config" / "testbeds", folder / "config" / "testbeds")
        for path in (folder / "config" / "testbeds").glob("*.example.yaml"):
            path.rename(path.with_name(path.name.replace(".example", "")))
        (folder / "config" / "papers").mkdir()
        (folder / "paper").mkdir()
        for name, path in [(MADE_UP, HOME / "docs" / "template" / "paper.yaml"),
                           *((path.stem, path) for path in (HOME / "config" / "papers").glob("*.yaml"))]:  # fmt: skip
            shutil.copyfile(path, folder / "config" / "papers" / f"{name}.yaml")
            (folder / "paper" / f"{name}.qmd").touch()

    @contextlib.contextmanager
    def _given(self, base: str, text: str) -> Iterator[tuple[str, str, str]]:
        """A damaged file in its place, seen from within the project: its kind, its path, the name in messages of it."""
        kind, _, name = base.partition(" ")
        paper = {"template": MADE_UP}.get(name, name) if kind == "paper" else MADE_UP
        testbed = name if kind == "testbed" else "emulated"
        config = {"papers": [paper], "testbed": testbed, "effort": "quick", "seed": 1}
        (self.folder / "config" / "config.yaml").write_text(as_text(config))
        target = {
            "paper": f"config/papers/{paper}.yaml", "testbed": f"config/testbeds/{testbed}.yaml",
            "config": "config/config.yaml", "answers": "answers.yaml",
        }[kind]  # fmt: skip
        path = self.folder / target
        before = path.read_bytes() if path.is_file() else None
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        here, environ = Path.cwd(), dict(os.environ)
        os.chdir(self.folder)
        for variable in ("PAPERS", "TESTBED", "EFFORT"):
            os.environ.pop(variable, None)
        try:
            yield kind, target, paper if kind in ("paper", "config") else testbed
        finally:
            os.chdir(here)
            os.environ.clear()
            os.environ.update(environ)
            if before is not None:
                path.write_bytes(before)

    def outcome(self, base: str, text: str) -> str:
        """`passed`, or `refused: ` and the line. AssertionError for anything else: a traceback, two lines, too long."""
        taken, began = 0.0, time.process_time()
        with self._given(base, text) as (kind, target, stem):
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    if kind == "answers":
                        for made in write_paper(load_yaml(Path(target)), target):
                            made.unlink()
                    else:
                        Plan.load()
                        taken = time.process_time() - began
                        print_plan()
                said = "passed"
            except UserError as error:
                said = f"refused: {error}"
                assert "\n" not in said and "\x1b" not in said and len(said) < 3000, said
                others = {"answers": ["x.yaml"], "testbed": ["the testbed's file"]}.get(kind, [])
                assert any(part in said for part in (target, stem, *others)), said
        taken = taken or time.process_time() - began
        assert taken < MOST_SECONDS[said.split(":")[0]], f"{taken:.1f} s: {said}"
        return said

    def ended(self, base: str, text: str) -> tuple[int, list[str]]:
        """Exit status of the command that a user gives first, and what it says on the terminal.

        AssertionError where it leaves anything in the project.
        """
        said = io.StringIO()
        with self._given(base, text) as (kind, target, _):
            before = self._files()
            argv = ["new-paper", "--from", target] if kind == "answers" else ["validate"]
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                status = cli.main(argv)
            assert self._files() == before
        return status, said.getvalue().splitlines()

    def _files(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
