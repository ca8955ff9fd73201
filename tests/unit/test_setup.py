"""The set-up's scripts and lists."""

import re
import subprocess
import time
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[2]
SCRIPTS = ["scripts/steps", "scripts/setup", "scripts/lint", "scripts/alone", "scripts/software", ".ci/run"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_shellcheck(name):
    done = subprocess.run(["shellcheck", "--external-sources", name], cwd=HOME, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", SCRIPTS[1:])
def test_scripts_can_be_run(name):
    assert (HOME / name).stat().st_mode & 0o111


def test_python_requirements_are_locked_with_hashes():
    text = (HOME / "envs" / "requirements.txt").read_text()
    locked = re.findall(r"^([a-z0-9._-]+)==\S+ \\\n    --hash=sha256:", text, re.MULTILINE)
    wanted = re.findall(r"^([a-z][\w.-]*)", (HOME / "envs" / "requirements.in").read_text(), re.MULTILINE)
    normal = {re.sub(r"[-_.]+", "-", name).lower() for name in locked}
    assert {re.sub(r"[-_.]+", "-", name).lower() for name in wanted} <= normal
    assert len(locked) == len(re.findall(r"^[a-z0-9].*==", text, re.MULTILINE)), "a package without a hash"
    assert not re.search(r"^--|https?://", text, re.MULTILINE), "a host or an option in the lock file"


def test_hadoop_is_pinned():
    text = (HOME / "envs" / "hadoop" / "pom.xml").read_text()
    versions = re.findall(r"<[\w.]*version>([^<]+)</", text)
    assert "3.5.0" in versions
    assert not [v for v in versions if any(c in v for c in "[](),") or v in ("LATEST", "RELEASE")]


def test_second_setup_is_quick_and_silent():
    """Runs in the repository itself, where `make test` has set everything up."""
    subprocess.run([str(HOME / "scripts" / "setup")], cwd="/", capture_output=True, timeout=280)
    start = time.monotonic()
    done = subprocess.run([str(HOME / "scripts" / "setup")], cwd="/", capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == done.stdout == ""
    assert time.monotonic() - start < 2


def test_missing_packages_are_named_at_once(tmp_path):
    """Neither root nor sudo nor conda: one message with everything that is missing."""
    for name in ("scripts", "envs"):
        subprocess.run(["cp", "-r", str(HOME / name), str(tmp_path)], check=True)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "cat", "grep", "awk", "cut", "sed", "sha256sum", "mkdir", "dirname", "flock", "tr", "env"):
        (tools / name).symlink_to(Path("/usr/bin") / name)
    (tools / "dpkg-query").write_text("#!/bin/sh\necho 'git installed'\n")
    (tools / "id").write_text("#!/bin/sh\necho 1000\n")
    for name in ("dpkg-query", "id"):
        (tools / name).chmod(0o755)
    done = subprocess.run(
        [str(tmp_path / "scripts" / "setup")], env={"PATH": str(tools)}, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 2, done
    lines = done.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("setup: error: missing: iproute2 ")
    assert "chromium" in lines[0] and "conda" in lines[0] and "apt-get install" in lines[0]
    assert " git " not in lines[0]
