"""Reading the configuration: what is accepted, and the one line that says what is wrong."""

import os
from pathlib import Path

import jsonschema
import pytest
import yaml

from whitewire import paths
from whitewire.description import files, project, reading
from whitewire.description.files import validate_by_schema
from whitewire.description.testbed import load_testbed
from whitewire.errors import UserError

HOME = Path(__file__).resolve().parents[3]


def fault(data, name="testbed", path="x.yaml"):
    with pytest.raises(UserError) as raised:
        validate_by_schema(data, name, path)
    text = str(raised.value)
    assert "\n" not in text
    return text


@pytest.fixture
def testbed():
    return yaml.safe_load((HOME / "config/testbeds/emulated.yaml").read_text())


@pytest.mark.parametrize("name", sorted(p.name.split(".")[0] for p in (HOME / "workflow/schemas").glob("*.yaml")))
def test_schemas_are_schemas_and_closed(name):
    schema = files.schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)

    def objects(part):
        if isinstance(part, dict):
            if part.get("type") == "object" and "properties" in part:
                yield part
            for value in part.values():
                yield from objects(value)
        elif isinstance(part, list):
            for value in part:
                yield from objects(value)

    assert list(objects(schema))
    for part in objects(schema):
        assert "additionalProperties" in part or "unevaluatedProperties" in part, part


def parts(node):
    """Every mapping in a schema."""
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from parts(value)
    elif isinstance(node, list):
        for value in node:
            yield from parts(value)


@pytest.mark.parametrize("name", ["config", "paper", "testbed", "new-paper"])
def test_patterns_are_of_whole_texts_and_counts_have_an_end(name):
    for part in parts(files.schema(name)):
        if isinstance(pattern := part.get("pattern"), str):
            assert pattern.startswith("^") and pattern.endswith("$"), pattern
        if part.get("type") == "integer":
            assert {"maximum", "const"} & set(part), part


@pytest.mark.parametrize("more", ["\n", "\n\n", "\u2028", "\0", " ", "x y"])
def test_nothing_may_follow_what_a_pattern_matches(more):
    config = {"papers": [f"hibench{more}"], "testbed": "emulated", "effort": "smoke", "seed": 1}
    assert fault(config, "config").startswith("x.yaml: papers[0]: found ")


def test_shipped_files_are_valid():
    settings = project.load_config({})
    assert settings["papers"] == [
        "emulex-2012",
        "mellanox-mapr",
        "chelsio-iwarp",
        "xyratex-lustre-2011",
        "qubole-2015",
        "hibench",
    ]
    fabrics = load_testbed(settings["testbed"])["fabrics"]
    assert fabrics["10gbe"]["rate_mbit_per_s"] == 10000
    assert len(fabrics) >= 6


def test_environment_overrides_and_is_checked():
    assert project.load_config({"EFFORT": "smoke"})["effort"] == "smoke"
    assert project.load_config({"EFFORT": ""})["effort"] == "quick"
    claim = project.load_config({"WHITEWIRE_CLAIM": "E-C02", "LANES": "2", "OUTLIERS": "mark", "BUDGET": "9m"})
    assert (claim["claim"], claim["papers"], claim["lanes"], claim["budget"]) == ("E-C02", ["emulex-2012"], 2, "9m")
    with pytest.raises(UserError, match='found "smoek", expected one of smoke, quick, full; did you mean "smoke"'):
        project.load_config({"EFFORT": "smoek"})
    with pytest.raises(UserError, match=r'PAPERS=.*papers\[0\].*did you mean "emulex-2012"'):
        project.load_config({"PAPERS": "emulex-2021"})
    with pytest.raises(UserError, match="TESTBED=emulatd: testbed: .*emulated"):
        project.load_config({"TESTBED": "emulatd"})


def test_misspelt_key_is_named_with_its_neighbour(testbed):
    testbed["limits"]["link_eror"] = testbed["limits"].pop("link_error")
    said = fault(testbed)
    assert said.startswith("x.yaml: limits.link_eror: found an unknown key, expected one of attempts, ")
    assert said.endswith('; did you mean "link_error"?')


def test_missing_key(testbed):
    del testbed["tcp"]["congestion_control"]
    assert fault(testbed) == "x.yaml: tcp.congestion_control: found nothing, expected text"


@pytest.mark.parametrize(
    ("keys", "value", "said"),
    [
        (["fabrics", "1gbe", "rate_mbit_per_s"], 0, "fabrics.1gbe.rate_mbit_per_s: found 0, expected more than 0"),
        (
            ["fabrics", "1gbe", "rate_mbit_per_s"],
            "fast",
            'fabrics.1gbe.rate_mbit_per_s: found "fast" (text), expected a number',
        ),
        (["limits", "attempts"], 2.5, "limits.attempts: found 2.5 (a number), expected a whole number"),
        (["limits", "attempts"], True, "limits.attempts: found true (true or false), expected a whole number"),
        (["probes", "streams"], 4, "probes.streams: found 4 (a whole number), expected a list"),
        (["probes", "streams"], [1, 1], "probes.streams: found [1, 1], expected every item only once"),
        (
            ["kind"],
            "emulate",
            'kind: found "emulate", expected one of emulated, ssh, slurm, pbs, '
            'gridengine, lsf, flux, oar, hostfile; did you mean "emulated"?',
        ),
        (["fabrics"], {}, "fabrics: found {}, expected at least 1 keys"),
    ],
)
def test_wrong_values(testbed, keys, value, said):
    part = testbed
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    assert fault(testbed) == f"x.yaml: {said}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [1, 2", "not valid YAML"),
        ("a: 1\nb: 2\na: 3\n", "line 3, column 1: not valid YAML: the key 'a' is given twice"),
        ("just words", 'found text ("just words"), expected YAML with keys'),
        ("- 1\n- 2\n", "found a list ([1, 2]), expected YAML with keys"),
        ("? [a, b]\n: 1\n", "line 1, column 3: not valid YAML: a key is a list"),
    ],
)
def test_files_that_are_not_yaml(tmp_path, text, said):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as raised:
        reading.load_yaml(path)
    assert said in str(raised.value)
    assert "bad.yaml" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_bytes_that_are_not_text(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_bytes(b"a: \xff\xfe\n")
    with pytest.raises(UserError, match="byte 3: found bytes that are not UTF-8"):
        reading.load_yaml(path)


def test_missing_file_names_its_neighbour(tmp_path):
    (tmp_path / "emulex.yaml").write_text("a: 1\n")
    with pytest.raises(UserError, match='no such file; did you mean "emulex.yaml"'):
        reading.load_yaml(tmp_path / "emulx.yaml")


def test_anchors_and_merges_still_work(tmp_path):
    path = tmp_path / "good.yaml"
    path.write_text("base: &b {x: 1, y: 2}\nmore: {<<: *b, y: 3}\n")
    assert reading.load_yaml(path)["more"] == {"x": 1, "y": 3}


def test_system_programs_come_after_the_users_own(monkeypatch):
    monkeypatch.setenv("PATH", "/home/researcher/bin:/usr/bin")
    monkeypatch.setenv("LC_ALL", "xx_XX.UTF-8")
    paths.settle_environment()
    assert os.environ["PATH"].split(":") == [
        "/home/researcher/bin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/sbin", "/bin",
    ]  # fmt: skip
    assert os.environ["LC_ALL"] == "C.UTF-8"
