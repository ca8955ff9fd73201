"""`whitewire lab` where it can open no shell: one line says why; and what it says to its shell's `fabric`."""

import os
import shutil
import subprocess
from types import SimpleNamespace

import pytest

from tests.support import quick_yaml
from whitewire.cli import main
from whitewire.errors import UserError
from whitewire.measure import lab
from whitewire.paths import HOME
from whitewire.testbed.base import CommandFailed


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with its own configuration; nothing is to start in it."""
    shutil.copytree(HOME / "config", tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PAPERS", "emulex-2012")
    monkeypatch.setattr("whitewire.measure.lab.preflight", lambda description: pytest.fail("it went on"))
    return tmp_path


def refused(capsys, *argv: str) -> str:
    assert main(["lab", *argv]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line.removeprefix("whitewire: error: ")


@pytest.mark.parametrize("kind", ["ssh", "slurm"])
def test_hosts_of_a_site_get_no_shell(project, capsys, kind):
    folder = project / "config" / "testbeds"
    shutil.copy(folder / f"{kind}.example.yaml", folder / "mycluster.yaml")
    expected = f'config/testbeds/mycluster.yaml: kind: found "{kind}", expected "emulated"'
    assert refused(capsys, "--testbed", "mycluster").startswith(expected)


def test_a_paper_without_experiments_has_no_cluster(project, capsys):
    path = project / "config" / "papers" / "emulex-2012.yaml"
    paper = quick_yaml.load(path.read_text())
    kept = ("id", "title", "publisher", "year", "testbed", "exhibits", "values", "units", "constants", "audit")
    claims = [claim for claim in paper["claims"] if claim["test"]["estimand"] in ("expression", "none")]
    claims = [{key: value for key, value in claim.items() if key not in ("readings", "inverse")} for claim in claims]
    path.write_text(quick_yaml.dump({key: paper[key] for key in kept} | {"claims": claims}))
    assert refused(capsys).startswith("config/papers/emulex-2012.yaml: experiments: found none, expected one")


def test_an_answer_that_nobody_waits_for_any_more_holds_nothing_up(tmp_path, monkeypatch):
    pipe = tmp_path / "answer"
    os.mkfifo(pipe)
    monkeypatch.setattr(lab, "_TRIES", 2)
    lab._answer(pipe, "lost")
    monkeypatch.setattr(lab, "_TRIES", 200)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        lab._answer(pipe, "all links at 50 Mbit/s\n")
        assert reader.communicate(timeout=10)[0] == b"all links at 50 Mbit/s\n"


@pytest.mark.parametrize("failure", [UserError("testbed: no fabric x"), CommandFailed("tc: exit status 1")])
def test_a_fabric_that_cannot_be_is_reported_to_the_shell(failure):
    asked = []

    def fabric(name):
        asked.append(name)
        raise failure

    assert lab._on_fabric(SimpleNamespace(fabric=fabric), b"1gb\xff\n") == f"{failure}\n"
    assert asked == ["1gb\ufffd"]
