"""From a clone to the reports, as an ordinary user who has just found the project."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.reports.conftest import snakemake
from tests.support import user

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

QUIET_S = 10
"""Longest time without a line."""


def test_there_are_reports_in_both_forms(first_hour):
    reports = first_hour.folder / "results" / "emulated" / "reports"
    assert (reports / "index.html").stat().st_size > 10_000
    assert (reports / "emulex-2012.html").stat().st_size > 100_000
    assert (reports / "emulex-2012.pdf").read_bytes().startswith(b"%PDF")


def test_there_is_a_line_at_least_every_few_seconds(first_hour):
    pairs = zip(first_hour.lines, first_hour.lines[1:], strict=False)
    silences = {f"{before[1]} -> {after[1]}": after[0] - before[0] for before, after in pairs}
    assert first_hour.lines[0][0] < QUIET_S
    assert not {lines: round(seconds, 1) for lines, seconds in silences.items() if seconds > QUIET_S}


def test_nothing_is_left_outside_the_clone(first_hour):
    assert not list(first_hour.home.iterdir())
    assert {path.name for path in first_hour.folder.parent.iterdir()} <= {"home", "passwd", first_hour.folder.name}
    assert not (first_hour.folder / "whitewire-tmp").exists()
    owner = (first_hour.folder / "Makefile").stat().st_uid
    if owner != os.getuid():  # else the tests' own files are this user's too
        assert not [path for path in Path("/tmp").iterdir() if path.lstat().st_uid == owner]


def test_the_doctor_finds_what_is_not_on_the_users_path(first_hour):
    done = subprocess.run(
        user.command(first_hour.home, ["make", "doctor", "EFFORT=smoke"]), cwd=first_hour.folder, capture_output=True,
        env=user.environment(first_hour.home, LC_ALL="xx_XX.UTF-8"), text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ip, tc, unshare" in done.stdout


@pytest.mark.parametrize("home", ["", None], ids=["empty", "unset"])
def test_a_user_without_a_home_can_plan(first_hour, home):
    environment = user.environment(first_hour.home)
    del environment["HOME"]
    if home is not None:
        environment["HOME"] = home
    done = subprocess.run(
        user.command(first_hour.home, ["make", "papers", "EFFORT=smoke", "PAPERS=emulex-2012", "DRY_RUN=1"]),
        cwd=first_hour.folder, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not list(first_hour.home.iterdir())


@pytest.mark.slow
def test_a_paper_that_fails_keeps_no_other_from_the_start_page(first_hour, tmp_path):
    """The start page is made again, and says why: one paper has no results yet, the other's are from before."""
    copy = tmp_path / "copy"
    names = ("workflow", "profiles", "envs", "src", "scripts", "config", "paper", "results")
    for name in names:
        source, target = first_hour.folder / name, copy / name
        copy.mkdir(exist_ok=True)
        (shutil.copy if source.is_file() else shutil.copytree)(source, target)
    testbed = copy / "config" / "testbeds" / "emulated.yaml"
    text, changed = re.subn(r"minimum_gib: \S+", "minimum_gib: 99999", testbed.read_text(), count=1)
    assert changed == 1
    testbed.write_text(text)
    results = copy / "results" / "emulated"
    for stage in ("raw", "tidy"):  # without tables, or Snakemake would not miss the measurements
        shutil.rmtree(results / "chelsio-iwarp" / stage)
    page = results / "reports" / "index.html"
    page.unlink()
    done = snakemake(copy, papers="emulex-2012 chelsio-iwarp qubole-2015")
    assert done.returncode == 1
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.read_text()))
    assert re.search(r"Its last run stopped \(memory: [^)]*\)?[^:]*: make papers PAPERS=qubole-2015", text)
    assert re.search(r"Its last run stopped \(memory: .{0,200}These results are of an earlier run", text)
    assert "42 claims" in text
