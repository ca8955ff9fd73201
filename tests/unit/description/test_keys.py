"""The page of keys: up to date, complete, and every example on it is a valid one."""

from __future__ import annotations

import jsonschema
import pytest

from whitewire.description import factor_page, files, keys

ALL = [(name, key) for name in keys.SCHEMAS for table in keys.tables(files.schema(name)) for key in table.keys]
IDS = [f"{name}: {key.place}.{key.name}" for name, key in ALL]


@pytest.mark.parametrize("of", [keys, factor_page], ids=["keys", "factors"])
def test_the_page_is_up_to_date(of):
    assert of.PAGE.read_text(encoding="utf-8") == of.page(), "write it anew with `whitewire keys`"


@pytest.mark.parametrize(("name", "key"), ALL, ids=IDS)
def test_a_key_says_what_it_does_and_has_a_valid_example(name, key):
    schema = files.schema(name)
    assert len(keys.meaning(schema, key.part)) > 4, "no description"
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
    for name in keys.SCHEMAS:
        schema = files.schema(name)
        documented = {key.name for of, key in ALL if of == name}
        there = {place[-1] for place in properties(schema) if "if" not in place}
        assert there <= documented, there - documented
        below = [place for place in properties(schema) if "oneOf" not in place and "if" not in place]
        assert sum(of == name and not key.place.startswith("test") for of, key in ALL) == len(below)


def test_a_key_without_an_example_is_reported():
    with pytest.raises(KeyError):
        keys.example({}, {"type": "integer", "description": "A number."})
    bad = jsonschema.Draft202012Validator({"type": "integer"})
    assert list(bad.iter_errors("a")), "an example is held against its key"
