"""`whitewire site` before any host is asked: what is wrong is one line, and nothing is written."""

import shutil
from pathlib import Path

import pytest

from whitewire import cli
from whitewire.description.capabilities import CAPABILITIES
from whitewire.description.testbed import read_testbed
from whitewire.testbed.site.schedulers import SCHEDULERS, of_job

HOME = Path(__file__).resolve().parents[3]
JOBS = [kind for kind, can in CAPABILITIES.items() if can.runs_in_job]


@pytest.fixture
def project(tmp_path, monkeypatch):
    shutil.copytree(HOME / "config", tmp_path / "config", ignore=shutil.ignore_patterns("papers"))
    monkeypatch.chdir(tmp_path)
    for kind in JOBS:
        monkeypatch.delenv(SCHEDULERS[kind].variable, raising=False)
    return tmp_path


def refused(project, capsys, *argv):
    before = sorted(project.rglob("*"))
    assert cli.main(["site", *argv]) == 2
    assert sorted(project.rglob("*")) == before
    (line,) = capsys.readouterr().err.splitlines()
    return line.removeprefix("whitewire: error: ")


def test_without_a_list_and_outside_of_a_job(project, capsys):
    said = refused(project, capsys, "lab")
    assert said.startswith("site: found neither a list of hosts nor a job (SLURM_JOB_ID, PBS_NODEFILE, PE_HOSTFILE, ")
    assert "expected --from FILE with one of a CloudLab manifest (RSpec, XML), `tofu output -json`, hosts of" in said


@pytest.mark.parametrize("name", ["../lab", "", "-x", "a b", "lab.example", "lab.v2", "a" * 61, "ü"])
def test_a_name_that_is_none(project, capsys, name):
    (project / "hosts").write_text("node01\n")
    assert "expected at most 60 letters, digits, - and _" in refused(project, capsys, "--from", "hosts", "--", name)


def test_a_name_that_results_have_for_something_else(project, capsys):
    (project / "hosts").write_text("node01\n")
    said = refused(project, capsys, "--from", "hosts", "compare")
    assert said.startswith(
        'site: found the name "compare", expected another name than appendix, calibration, compare, '
    )


def test_a_file_that_is_there_is_not_written_over(project, capsys):
    said = refused(project, capsys, "emulated", "--from", "hosts")
    assert said == "config/testbeds/emulated.yaml: exists and is not overwritten; take another name"


@pytest.mark.parametrize("content, message", [
    (None, "hosts.txt: cannot be read: No such file or directory"),
    (b"", "hosts.txt: found an empty file, expected one of a CloudLab manifest"),
    (b"node\xff\n", "hosts.txt: byte 4: found bytes that are not UTF-8, expected text"),
    (b"x" * 10_000_001, "hosts.txt: found more than 10000000 bytes"),
    (b"$(reboot)\n", 'hosts.txt: taken for a host file (a host in each line): line 1: found "$(reboot)", expected'),
])  # fmt: skip
def test_a_list_that_cannot_be_used(project, capsys, content, message):
    if content is not None:
        (project / "hosts.txt").write_bytes(content)
    assert refused(project, capsys, "lab", "--from", "hosts.txt").startswith(message)


def test_hosts_that_do_not_answer_are_all_named(project, capsys):
    """By the real ssh, which finds no such names."""
    (project / "hosts.txt").write_text("node01.invalid\nnode02.invalid\nalice@node03.invalid\n")
    (project / "ssh").write_text("Host *\n  ProxyCommand false\n")
    said = refused(project, capsys, "lab", "--from", "hosts.txt", "--ssh-config", "ssh")
    assert said.startswith("hosts.txt (hosts): 3 of 3 hosts do not answer: line 1 (node01.invalid): ")
    assert "line 3 (alice@node03.invalid): " in said


def test_the_nodes_of_a_pbs_job(project, capsys, monkeypatch):
    """Each once, though the file has a line for each processor."""
    (project / "nodes").write_text("node01.invalid\n" * 4 + "node02.invalid\n" * 4)
    (project / "ssh").write_text("Host *\n  ProxyCommand false\n")
    monkeypatch.setenv("PBS_NODEFILE", "nodes")
    said = refused(project, capsys, "lab", "--ssh-config", "ssh")
    assert said.startswith("this job of PBS: 2 of 2 hosts do not answer: node 1 (node01.invalid): ")


@pytest.mark.parametrize("kind", JOBS)
def test_a_job_is_known_by_its_variable(kind):
    assert of_job({"HOME": "/", SCHEDULERS[kind].variable: "17"}) == kind
    assert of_job({"HOME": "/", SCHEDULERS[kind].variable: ""}) == ""
    assert of_job({"FLUX_URI": "local:///run/flux", SCHEDULERS[kind].variable: "17"}) == "flux", "inside of that job"


@pytest.mark.parametrize(("kind", "name"), [("ssh", "ssh"), ("slurm", "slurm"), ("pbs", "slurm")])
def test_the_example_has_what_is_taken_from_it(kind, name):
    from whitewire.workflow.new_site import _KEPT, _kept

    example = read_testbed(HOME / "config" / "testbeds" / f"{name}.example.yaml")
    kept = _kept(kind)
    assert all(f"\n{name}:" in f"\n{kept}" for name in _KEPT) and "hosts:" not in kept
    assert set(_KEPT) <= example.keys()
