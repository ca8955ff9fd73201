"""What variables of make name is checked before the set-up, without any package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import quick_yaml
from whitewire.description import names
from whitewire.description.files import schema
from whitewire.description.names import check_variables, paper_names, unfit_name
from whitewire.errors import UserError

HOME = Path(__file__).resolve().parents[3]
WRONG = {
    "PAPERS=nope": 'PAPERS=nope: papers[0]: found "nope", expected one of accumulo-ec-2019, ',
    "PAPERS=hibench emulex-2013": "did you mean \"emulex-2012\"?",
    "TESTBED=emulatd": 'TESTBED=emulatd: testbed: found "emulatd", expected emulated of config/testbeds',
    "EFFORT=quik": 'EFFORT=quik: effort: found "quik", expected one of smoke, quick, full; did you mean "quick"?',
    "BUDGET=soon": 'BUDGET=soon: found "soon", expected a time such as 30m or 1h30m, or none',
    "AGAIN=bsy": 'AGAIN=bsy: again: found "bsy", expected busy; did you mean "busy"?',
    "OUTLIERS=foo": 'OUTLIERS=foo: outliers: found "foo", expected one of stop, mark',
    "LANES=two": 'LANES=two: lanes: found "two", expected 1 to 64, or auto',
    "LANES=0": 'LANES=0: lanes: found "0", expected 1 to 64, or auto',
    "PAPERS=hibench hibench": "papers: found \"hibench hibench\", expected names of papers, each once",
    "PAPERS=,": 'PAPERS=,: papers: found ",", expected names of papers, each once',
    "ARGS=--config budget=30m": "ARGS: found --config, expected a variable of make in its place, such as OUTLIERS=mark",
    "WHITEWIRE_CLAIM=E_C02": "expected the id of a claim of a paper in config/papers, as its page prints it; "
    'did you mean "E-C02"?',
    "WHITEWIRE_CLAIM=": 'CLAIM=: found "", expected the id of a claim of a paper in config/papers',
}  # fmt: skip


def asked(**given):
    """The check by a Python without site-packages."""
    plain = {name: value for name, value in os.environ.items() if name not in ("PAPERS", "TESTBED", "EFFORT")}
    argv = [sys.executable, "-I", "-S", "scripts/asked"]
    return subprocess.run(argv, cwd=HOME, env={**plain, **given}, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_name_is_one_line(text):
    name, _, value = text.partition("=")
    done = asked(**{name: value})
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1
    assert done.stderr.startswith("whitewire: error: ") and WRONG[text] in done.stderr


def test_right_names_and_none_pass_in_silence():
    right = {"PAPERS": "hibench,emulex-2012", "TESTBED": "emulated", "EFFORT": "full", "BUDGET": "2h", "AGAIN": "busy",
             "OUTLIERS": "mark", "LANES": "2"}  # fmt: skip
    for given in (right, dict.fromkeys(right, ""), {}, {"WHITEWIRE_CLAIM": "E-C02"}, {"LANES": "auto"}):
        done = asked(**given)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("paper", paper_names())
def test_claims_are_those_that_yaml_reads(paper):
    described = quick_yaml.load((HOME / "config" / "papers" / f"{paper}.yaml").read_text())
    assert names.claims(paper) == [claim["id"] for claim in described["claims"]]


def test_a_claim_belongs_to_one_paper(tmp_path, monkeypatch):
    assert names.paper_of("E-C02") == names.paper_of("E-C02", ["hibench", "emulex-2012"]) == "emulex-2012"
    with pytest.raises(UserError, match="expected the id of a claim of hibench, as its page prints it"):
        names.paper_of("E-C02", ["hibench"])
    (tmp_path / "config" / "papers").mkdir(parents=True)
    for paper in "ab":
        (tmp_path / "config" / "papers" / f"{paper}.yaml").write_text("claims:\n- {id: 'A-C1'}\naudit: []\n")
    monkeypatch.setattr(names, "root", lambda: tmp_path)
    with pytest.raises(UserError, match='CLAIM=A-C1: found "A-C1", expected PAPERS=a or PAPERS=b beside it'):
        names.paper_of("A-C1")
    assert names.paper_of("A-C1", ["b"]) == "b"


def test_words_and_lanes_are_those_of_the_schema():
    known = schema("config")["properties"]
    assert list(names._EFFORTS) == known["effort"]["enum"]
    assert list(names._WORDS["OUTLIERS"]) == known["outliers"]["enum"]
    assert (known["lanes"]["minimum"], known["lanes"]["maximum"]) == (1, names._MOST_LANES)


@pytest.mark.parametrize("target", ["papers", "claim", "calibrate", "testbed", "trust", "lab"])
def test_nothing_is_set_up_for_a_wrong_name(tmp_path, target):
    for name in ("src", "config", "paper", "scripts"):
        shutil.copytree(HOME / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(HOME / "Makefile", tmp_path)
    (tmp_path / "scripts" / "setup").write_text("#!/bin/sh\ntouch set-up\nexit 1\n")
    environ = {**os.environ, "PATH": f"{Path(sys.executable).resolve().parent}:/usr/bin:/bin", "PAPERS": "nope"}
    argv = ["make", target, "DRY_RUN=1"]
    done = subprocess.run(argv, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and 'found "nope", expected one of' in done.stderr
    assert not (tmp_path / "set-up").exists()


@pytest.mark.parametrize("folder, name", [("testbeds", "compare"), ("testbeds", "lab.v2"), ("papers", "links")])
def test_a_name_that_cannot_name_a_folder_of_results_is_refused(tmp_path, monkeypatch, folder, name):
    """`make clean` and the survey of links remove what lies there."""
    (tmp_path / "config" / folder).mkdir(parents=True)
    (tmp_path / "config" / folder / f"{name}.yaml").touch()
    monkeypatch.setattr(names, "root", lambda: tmp_path)
    with pytest.raises(UserError, match=rf'found "{name}", expected .*: rename config/{folder}/{name}\.yaml'):
        check_variables({"papers": {"PAPERS": name}, "testbeds": {"TESTBED": name}}[folder])


def test_no_paper_or_testbed_of_the_repository_bears_a_name_of_its_own():
    described = [*((each, "papers") for each in paper_names()), *((each, "testbeds") for each in names.testbeds())]
    described += [(path.stem, "papers") for path in (HOME / "config" / "calibration").glob("*.yaml")]
    assert {unfit_name(*each) for each in described} == {""}
