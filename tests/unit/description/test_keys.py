"""The generated pages, which `make docs` writes: complete, and every example of a key is a valid one."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest

from whitewire.analysis.trust import OF_TRUST
from whitewire.cli import main
from whitewire.description import files, keys
from whitewire.description.names import paper_names
from whitewire.factors import FACTORS
from whitewire.paths import HOME
from whitewire.records.checked import PACKAGE
from whitewire.records.reasons import INVALID, NOT_MADE
from whitewire.report.generated import PAGES
from whitewire.tidy.form import OWN
from whitewire.tidy.tables import LINKS_COLUMNS
from whitewire.workloads import METRICS

ALL = [(name, key) for name in keys._SCHEMAS for table in keys.tables(files.schema(name)) for key in table.keys]
IDS = [f"{name}: {key.place}.{key.name}" for name, key in ALL]


def test_make_docs_writes_an_entry_for_each_key_factor_metric_and_paper(monkeypatch, tmp_path):
    index = (HOME / "docs" / "README.md").read_text(encoding="utf-8")
    assert [made.PAGE.name for made in PAGES if f"`{made.PAGE.name}`" not in index] == []
    for made in PAGES:
        monkeypatch.setattr(made, "PAGE", tmp_path / made.PAGE.name)
    assert main(["docs"]) == 0
    text = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert set(text) == {f"{made.PAGE.stem}.{end}" for made in PAGES for end in ("md", "html")}
    assert [key.name for _, key in ALL if f"\n| `{key.name}`" not in text["keys.md"]] == []
    own = [factor.name for factor in FACTORS.values() if not factor.part_of]
    assert [name for name in own if f"\n| `{name}` |" not in text["factors.md"]] == []
    tables = [*OWN.values(), *LINKS_COLUMNS.values(), *OF_TRUST.values()]
    listed = [*METRICS, *NOT_MADE, *INVALID, *(column for names in tables for column in names)]
    assert [name for name in listed if f"\n| `{name}` |" not in text["catalogue.md"]] == []
    packages = [json.loads(path.read_bytes()) for path in (HOME / "results" / "reference").rglob(PACKAGE)]
    written = {each["path"].removesuffix(".gz") for package in packages for each in package["resources"]}
    assert written and [name for name in written if f"\n### {name}" not in text["catalogue.md"]] == []
    assert [name for name in paper_names() if f"\n## {name}\n" not in text["similitude.md"]] == []
    for page in ("keys", "similitude"):
        led = re.findall(r"\]\(#([^)]+)\)", text[f"{page}.md"])
        assert led and [name for name in led if f'id="{name}"' not in text[f"{page}.html"]] == []


@pytest.mark.parametrize(("name", "key"), ALL, ids=IDS)
def test_a_key_says_what_it_does_and_has_a_valid_example(name, key):
    schema = files.schema(name)
    assert keys.meaning(schema, key.part).endswith((".", "?", ":")), "no description"
    validator = jsonschema.Draft202012Validator(schema)
    for value in [keys.example(schema, key.part), *key.part.get("examples", [])]:
        errors = [error.message for error in validator.evolve(schema=key.part).iter_errors(value)]
        assert not errors, (value, errors)


def properties(part, of=()):
    """Every key of a schema, wherever it is."""
    if isinstance(part, dict):
        for name, inner in part.get("properties", {}).items() if isinstance(part.get("properties"), dict) else ():
            if isinstance(inner, dict) and {"description", "type", "$ref", "enum", "const"} & set(inner):
                yield (*of, name)
        for name, inner in part.items():
            yield from properties(inner, (*of, name))
    elif isinstance(part, list):
        for index, inner in enumerate(part):
            yield from properties(inner, (*of, index))


def test_no_key_of_a_schema_is_left_out():
    for name in keys._SCHEMAS:
        schema = files.schema(name)
        documented = {key.name for of, key in ALL if of == name}
        there = {place[-1] for place in properties(schema) if "if" not in place}
        assert there <= documented, there - documented
        below = [place for place in properties(schema) if "oneOf" not in place and "if" not in place]
        assert sum(of == name and not key.place.startswith("test") for of, key in ALL) == len(below)
