"""Scripts, make and `whitewire` in an environment that is meant for a user's other programs."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.hostile import REMAIN, hostile
from tests.support.repository import environment, repository
from whitewire import paths
from whitewire.paths import HOME

SPIED = ("apt-get", "bash", "conda-lock", "git", "jar", "java", "javac", "make", "mvn", "mypy", "ruff", "snakemake")
"""Programs that scripts start. Each writes down its environment."""
SPY = '#!/bin/sh\nenv >"{said}"\n'
SCRIPTS = (
    "scripts/exclusive git status", "scripts/asked", "scripts/clean", "scripts/lint", "scripts/lock paper",
    "scripts/pages pages", "scripts/setup nothing", "scripts/software --parts made", "scripts/software --drive made",
    "workflow/scripts/whitewire --version", ".ci/run", ".ci/smoke pages", ".ci/prepare",
    ".ci/online quarto",
)  # fmt: skip
SOURCED = {"scripts/environment", "scripts/steps", "scripts/lint.R"}


@pytest.fixture
def home(tmp_path) -> Path:
    folder = repository(tmp_path / "wire")
    shutil.copytree(HOME / ".ci", folder / ".ci")
    page = folder / "results" / "emulated" / "reports" / "index.html"
    page.parent.mkdir(parents=True)
    page.touch()
    spies = folder / "spies"
    spies.mkdir()
    for name in SPIED:
        (spies / name).write_text(SPY.format(said=folder / f"said-{name}"))
        (spies / name).chmod(0o755)
    return folder


def foreign(home: Path, given: dict[str, str]) -> dict[str, set[str]]:
    """By program that was started: variables of the hostile environment that reached it."""
    found = {}
    for said in home.glob("said-*"):
        names = {line.partition("=")[0] for line in said.read_text().splitlines() if line in
                 {f"{name}={value}" for name, value in given.items()}}  # fmt: skip
        found[said.name.removeprefix("said-")] = {name for name in names - REMAIN if not name.startswith("XDG_")}
    return found


def run(home: Path, argv: list[str], mask: int, **environ: str) -> tuple[int, str, str]:
    path = f"{home}/spies:{os.environ['PATH']}"
    done = subprocess.run(
        argv, cwd=home, env=environment(**environ, PATH=path), capture_output=True, text=True, timeout=100, umask=mask
    )
    return done.returncode, *(
        re.sub(r"setup-\S+|\d+", "N", each.replace(str(home), "HOME")) for each in (done.stdout, done.stderr)
    )


def test_every_script_is_tried():
    folders = ("scripts", "workflow/scripts", ".ci")
    found = {str(path.relative_to(HOME)) for folder in folders for path in (HOME / folder).iterdir() if path.is_file()}
    assert found == {
        *(script.split()[0] for script in SCRIPTS),
        *SOURCED,
        "workflow/scripts/guard",
    }  # which a rule starts


@pytest.mark.parametrize("mask", [0o077, pytest.param(0o000, marks=pytest.mark.slow)], ids=oct)
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_does_as_in_an_empty_environment(home, tmp_path, script, mask):
    argv = script.split()
    plain = run(shutil.copytree(home, tmp_path / "plain" / "wire"), argv, 0o022)
    given = hostile(tmp_path / "foreign")
    assert run(home, argv, mask, **given) == plain
    if "ci/prepare" not in script:  # Debian's own programs, in a container
        assert not any(foreign(home, given).values()), foreign(home, given)


@pytest.mark.parametrize("target", ["papers", "report", "compare", "lint", "hibench", "test"])
def test_make_keeps_it_from_what_it_starts(home, tmp_path, target):
    (home / "spies" / "make").unlink()
    for name in ("scripts/setup", "scripts/lint", ".venv/bin/whitewire", ".venv/bin/python"):
        (home / name).write_text(SPY.format(said=home / f"said-{Path(name).name}"))
    given = hostile(tmp_path / "foreign")
    status, _, said = run(home, ["make", target], 0o077, **given)
    assert status == 0, said
    found = foreign(home, given)
    assert found and not any(found.values()), found
    own = {line for path in home.glob("said-*") for line in path.read_text().splitlines()}
    assert "LC_ALL=C.UTF-8" in own and f"XDG_CACHE_HOME={home}/.cache/xdg" in own


def test_whitewire_itself_reads_none_of_it(tmp_path):
    """By hand, where no Makefile is before it: what Python has read already, it reads anew."""
    given = hostile(tmp_path / "foreign")
    del given["PYTHONHOME"]  # with which no Python starts
    for module in ("sitecustomize", "usercustomize"):
        (tmp_path / "foreign" / f"{module}.py").unlink()
    (tmp_path / "foreign" / "json.py").write_text("")
    done = subprocess.run(
        [Path(sys.executable).parent / "whitewire", "plan"], cwd=HOME, capture_output=True, text=True, timeout=100,
        env=environment(**given, PAPERS="emulex-2012", EFFORT="smoke"),
    )  # fmt: skip
    assert done.returncode == 0 and "emulex-2012" in done.stdout and not done.stderr, done.stderr


def test_of_pythonpath_what_is_in_the_repository_stays():
    environ = {"PYTHONPATH": f"/usr/lib/other:{HOME}/src::{HOME}2", "R_LIBS": "/x", "R": "kept", "PYTHONUTF8": "0"}
    assert paths.ours(environ) == {"PYTHONPATH": f"{HOME}/src", "R": "kept"}
    assert paths.ours({"PYTHONPATH": "/usr/lib/other", "PATH": "/bin"}) == {"PATH": "/bin"}


def test_rules_of_a_snakemake_by_hand_get_none_of_it(home, tmp_path):
    """Its own profile is the user's to choose, and Python's variables have acted before the Snakefile is read."""
    given = {name: value for name, value in hostile(tmp_path / "foreign").items()
             if not name.startswith(("PYTHON", "SNAKEMAKE"))}  # fmt: skip
    (home / "paper").symlink_to(HOME / "paper")
    for name in ("snakemake", "bash"):
        (home / "spies" / name).unlink()
    (home / "workflow" / "scripts" / "whitewire").write_text(SPY.format(said=home / "said-whitewire"))
    argv = [str(Path(sys.executable).parent / "snakemake"), "results/emulated/emulex-2012/design.csv"]
    run(home, argv, 0o022, **given, PYTHONPATH=f"{home}/src", PAPERS="emulex-2012", TESTBED="emulated", EFFORT="smoke")
    assert foreign(home, given) == {"whitewire": set()}


def test_the_profile_of_a_user_is_left_out(home, tmp_path):
    """A profile of snakemake/snakemake#1398, which names an executor that is not here."""
    shutil.rmtree(home / "spies")
    (home / "paper").symlink_to(HOME / "paper")
    (home / "scripts" / "setup").write_text("#!/bin/sh\n")
    hostile(tmp_path / "foreign")
    status, said, errors = run(
        home, ["make", "testbed", "DRY_RUN=1"], 0o022, SNAKEMAKE_PROFILE=str(tmp_path / "foreign"),
        PYTHONPATH=f"{home}/src", PAPERS="emulex-2012", TESTBED="emulated", EFFORT="smoke",
    )  # fmt: skip
    assert status == 0 and "links_tables" in said + errors and "cluster-generic" not in said + errors, errors
