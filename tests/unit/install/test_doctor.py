"""What the doctor says, on this machine and on machines that lack something."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from whitewire.cli import main
from whitewire.description.testbed import load_testbed
from whitewire.errors import UserError
from whitewire.install import doctor
from whitewire.paths import HOME


@pytest.fixture
def testbed():
    return load_testbed("emulated")


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


def test_a_configured_site_is_looked_at_in_place_of_this_machine(monkeypatch):
    """So says `TESTBED=lab make doctor`, as all other stages do."""
    seen = []
    described = {"kind": "ssh"}
    monkeypatch.setattr("whitewire.description.project.load_config", lambda: {"testbed": "lab"})
    monkeypatch.setattr("whitewire.description.testbed.load_testbed", lambda name: described if name == "lab" else None)
    monkeypatch.setattr("whitewire.description.project.testbed_path", lambda name: Path(f"/x/{name}.yaml"))
    monkeypatch.setattr("whitewire.testbed.kinds.look_at", lambda *arguments: seen.append(arguments) or 0)
    assert main(["doctor"]) == 0
    assert seen == [(described, "/x/lab.yaml")]


def test_table_ends_with_the_judgement(capsys, testbed):
    status = doctor.examine_machine(testbed)
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


def test_a_bare_python_suffices_before_any_set_up(path_with):
    """Where the set-up fails, it says why: so nothing of the set-up is needed for it."""
    path_with("python3", f'exec {sys.executable} -S "$@"')
    argv = ["make", "--silent", "-C", str(HOME), "doctor"]
    assert "setup" not in subprocess.run([*argv, "--dry-run"], capture_output=True, text=True).stdout
    done = subprocess.run([str(HOME / "workflow" / "scripts" / "whitewire"), "doctor"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    (python,) = [line.split() for line in lines if line.startswith("Python ")]
    assert python[1] == "NO" and "packages missing: snakemake and 13 more" in " ".join(python)
    assert lines[-1].startswith("The default run is not possible here: ") and "Python" in lines[-1]
    assert any(line.startswith("user namespaces") for line in lines)


def test_a_python_package_that_is_missing_is_named(monkeypatch):
    real = doctor.metadata.distribution

    def without(name):
        if name == "pint":
            raise doctor.metadata.PackageNotFoundError(name)
        return real(name)

    assert doctor.packages().ok
    monkeypatch.setattr(doctor.metadata, "distribution", without)
    found = doctor.packages()
    assert found.state.endswith("packages missing: pint") and found.needed and found.remedy == "make setup"


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


def test_a_library_of_a_transport_that_is_not_there(testbed):
    """Without it every process would go on over TCP, and its runs would count as those of the transport."""
    testbed["transports"] = {"ucx": {"kind": "tcp", "preload": ["libc.so.6", "libnothing.so.9"]}}
    with pytest.raises(UserError, match=r"^transports: cannot be preloaded: libnothing\.so\.9; install them"):
        doctor.preflight(testbed)
    doctor.preflight(testbed, bare=True)
    testbed["transports"]["ucx"]["preload"] = ["libc.so.6"]
    doctor.preflight(testbed)
    assert [found.state for found in doctor.findings(testbed) if found.name == "transports"] == ["libc.so.6"]


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


def test_a_release_of_iperf3_that_is_unfit(path_with, testbed):
    path_with("iperf3", "echo 'iperf 3.15 (cJSON 1.7.15)'")
    with pytest.raises(UserError, match=r"network tools: iperf3 3\.15: .* is needed; install another release"):
        doctor.preflight(testbed)


@pytest.mark.parametrize("tool", ["ip", "tc"])
def test_tools_that_print_no_json(path_with, testbed, tool):
    """As iproute2 4.13 and tc 4.18 do: the first refuses the option, the second prints a queue's options as text."""
    words = {
        "ip": """case "$*" in *-j*) echo 'Option "-j" is unknown, try "ip -help".' >&2; exit 255 ;; esac""",
        "tc": """case "$*" in *-j*) echo '[{"kind":"bfifo",{limit 64Kb}}]'; exit ;; esac""",
    }
    path_with(tool, f'{words[tool]}\nexec /sbin/{tool} "$@"')
    with pytest.raises(UserError, match=r"network tools: no JSON as expected from ip utility, iproute2.*; install "
                                        r"iproute2 4\.19 or newer"):  # fmt: skip
        doctor.preflight(testbed)


def test_busy_machine_is_a_warning_only(monkeypatch):
    monkeypatch.setattr(doctor.os, "getloadavg", lambda: (99.0, 99.0, 99.0))
    finding = doctor._processors()
    assert not finding.ok and not finding.needed
    assert "stop other work" in finding.remedy


SLURM_SAYS = """Configuration data as of 2026-01-01T10:00:00
AccountingStorageBackupHost = (null)
AccountingStorageType   = {accounting}
MinJobAge               = {age}
SLURM_VERSION           = 23.11.4
"""


PROFILE = {"slurm-status-command": "squeue", "default-resources": {"runtime": 60}}


@pytest.mark.parametrize(
    ("age", "accounting", "sacct", "state", "remedy"),
    [
        ("300 sec", "accounting_storage/none", True, "squeue reports", ""),
        ("200", "(null)", False, "squeue reports", ""),
        ("1h", "(null)", False, "squeue reports", ""),
        ("60 sec", "accounting_storage/slurmdbd", True, "sacct reports", ""),
        # squeue is asked every 180 s in the end
        (
            "120 sec",
            "accounting_storage/slurmdbd",
            True,
            "MinJobAge is 120 s, 200 s",
            "slurm-status-command: sacct in p",
        ),
        ("120 sec", "accounting_storage/none", True, "no accounting for sacct", "MinJobAge=200 in slurm.conf"),
        ("60 sec", "accounting_storage/none", True, "no accounting for sacct", "MinJobAge=200 in slurm.conf"),
        ("60 sec", "accounting_storage/slurmdbd", False, "no accounting for sacct", "MinJobAge=200 in slurm.conf"),
        ("2 sec", "(null)", True, "no accounting for sacct", "one job for everything"),
        ("often", "accounting_storage/slurmdbd", True, "sacct reports", ""),
    ],
)
def test_whom_the_executor_asks_how_jobs_have_ended(age, accounting, sacct, state, remedy):
    found = doctor.slurm_profile(SLURM_SAYS.format(age=age, accounting=accounting), sacct, PROFILE)
    assert state in found[0]
    assert remedy in found[1] and bool(found[1]) == bool(remedy)
    assert found[2] == ""


def test_what_the_profile_says_counts():
    says = SLURM_SAYS.format(age="300 sec", accounting="accounting_storage/none")
    late = PROFILE | {"slurm-init-seconds-before-status-checks": 110}
    assert "330 s are needed for squeue" in doctor.slurm_profile(says, True, late)[0]
    by_sacct = PROFILE | {"slurm-status-command": "sacct"}
    assert doctor.slurm_profile(says, True, by_sacct)[1].startswith("slurm-status-command: squeue in")
    kept = says.replace("/none", "/slurmdbd")
    assert doctor.slurm_profile(kept, True, by_sacct) == ("sacct reports how jobs end", "", "")


def test_an_account_where_slurm_keeps_none():
    says = SLURM_SAYS.format(age="300 sec", accounting="accounting_storage/none")
    asked = PROFILE | {"default-resources": {"slurm_account": "project"}}
    assert doctor.slurm_profile(says, True, asked)[2].startswith("take slurm_account out of profiles/slurm/config.yaml")
    assert doctor.slurm_profile(says.replace("/none", "/slurmdbd"), True, asked)[2] == ""


def test_slurm_that_says_nothing_of_its_configuration():
    assert "MinJobAge=200 in slurm.conf" in doctor.slurm_profile("", False, PROFILE)[1]


def test_slurm_that_forgets_jobs_early(path_with):
    path_with("sinfo", "echo slurm 23.11.4")
    path_with("scontrol", "echo 'MinJobAge = 30 sec'")
    path_with("sacct", "exit 1")
    finding = doctor.slurm()
    assert not finding.ok and finding.state.startswith("slurm 23.11.4; MinJobAge is 30 s, 200 s are needed")
    path_with("scontrol", "echo 'MinJobAge = 300 sec'")
    assert doctor.slurm() == doctor.Finding("Slurm", True, "slurm 23.11.4; squeue reports how jobs end")
