"""What the doctor says, on this machine and on machines that lack something."""

import os
from pathlib import Path

import pytest

from whitewire import config, doctor
from whitewire.errors import UserError


@pytest.fixture
def testbed():
    return config.load_testbed("emulated")


def fake(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def path_with(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return lambda name, text: fake(tmp_path, name, text)


def test_this_machine_passes(testbed):
    doctor.preflight(testbed)


def test_table_ends_with_the_judgement(capsys):
    status = doctor.doctor()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["CAPABILITY", "STATE", "REMEDY"]
    assert lines[-1].startswith("The default run is possible here." if status == 0 else "The default run is not")
    for name in (
        "user namespaces",
        "qdisc htb",
        "FUSE",
        "Java",
        "R",
        "renderer",
        "conda",
        "Apptainer",
        "Slurm",
        "RDMA",
    ):
        assert any(line.startswith(name) for line in lines), name


def test_qdiscs_agree_with_tc():
    found = {finding.name: finding.ok for finding in doctor.qdiscs()}
    assert found["qdisc htb"] and found["qdisc bfifo"]


def test_every_lack_has_a_remedy(testbed):
    for finding in doctor.findings(testbed):
        assert finding.ok or finding.remedy, finding


def test_no_user_namespaces(path_with, testbed):
    path_with("unshare", 'echo "unshare: unshare failed: Operation not permitted" >&2; exit 1')
    with pytest.raises(UserError, match="user namespaces: refused: .*not permitted; as root: sysctl") as raised:
        doctor.preflight(testbed)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 1", "Java: absent; install openjdk"),
        ("echo 'openjdk version \"11.0.2\" 2019-01-15' >&2", "Java: version 11, 17 is needed"),
        ("echo 'java version \"1.8.0_292\"' >&2", "Java: version 1, 17 is needed"),
    ],
)
def test_java(path_with, testbed, script, said):
    path_with("java", script)
    with pytest.raises(UserError, match=said):
        doctor.preflight(testbed)


def test_memory_too_small(testbed):
    testbed["memory"]["minimum_gib"] = 100000
    with pytest.raises(UserError, match=r"memory: [\d.]+ GiB \(100000 needed\); use a machine"):
        doctor.preflight(testbed)


def test_no_disk_space(monkeypatch, testbed):
    monkeypatch.setattr(doctor, "DISK_GIB", 1e9)
    with pytest.raises(UserError, match="disk space: .*; free"):
        doctor.preflight(testbed)


def test_missing_program(monkeypatch, testbed):
    real = doctor.shutil.which
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None if name == "iperf3" else real(name))
    with pytest.raises(UserError, match="network tools: missing: iperf3; install iperf3"):
        doctor.preflight(testbed)


def test_busy_machine_is_a_warning_only(monkeypatch):
    monkeypatch.setattr(doctor.os, "getloadavg", lambda: (99.0, 99.0, 99.0))
    finding = doctor.processors()
    assert not finding.ok and not finding.needed
    assert "stop other work" in finding.remedy
