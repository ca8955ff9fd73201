"""Reports that the whole workflow made at smoke effort, and a browser.

`WHITEWIRE_REPORTS` names a folder of reports to look at instead.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from tests.support import user
from tests.support.limits import OF_OTHERS, wide

ROOT = Path(__file__).resolve().parents[2]
PAPERS = "emulex-2012 chelsio-iwarp"
"""One paper of puts and one of jobs; WHITEWIRE_PAPERS names others (`make test-all`: all that are described)."""


OFFLINE = ("unshare", "--user", "--map-root-user", "--net", "--")
"""Before a command that shall have no network: not even a loopback device that is up."""


def snakemake(
    project: Path, *argv: str, before: Sequence[str] = (), papers: str | None = None
) -> subprocess.CompletedProcess:
    """The workflow at smoke effort, as a user would start it."""
    program = str(Path(sys.executable).parent / "snakemake")
    environment = {**os.environ, "EFFORT": "smoke", "PAPERS": papers or os.environ.get("WHITEWIRE_PAPERS", PAPERS)}
    return subprocess.run(
        [*before, program, *argv], cwd=project, env=environment, capture_output=True, text=True, timeout=900
    )  # fmt: skip


CLONE = "wörk 'n wire"
"""Name of the first hour's clone."""


@pytest.fixture(scope="session")
def first_hour(tmp_path_factory) -> Iterator[SimpleNamespace]:
    """A smoke run as users begin: a clone, `make papers`, and an ordinary user with their own PATH, locale and umask.

    The bounds that depend on how busy this machine is are wide, and two clusters run side by side and beside other
    tests: here it matters that all of it works, not the numbers. Of two processes that run tests one makes it; the last
    to end removes it.
    `folder` is the clone, `home` the user's home, `lines` what was printed, each with the seconds since the start;
    `results` is a copy of the results, for tests that look at them while others start the clone again.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    record, results = shared / "first-hour.json", shared / "results"
    # Whoever makes or removes it holds one lock, whoever uses it the other: so no process waits for tests of another.
    with (shared / "first-hour.made").open("w") as made, (shared / "first-hour.used").open("w") as used:
        fcntl.flock(made, fcntl.LOCK_EX)
        if not record.exists():
            record.write_text(json.dumps(_make_papers(results)))
        fcntl.flock(used, fcntl.LOCK_SH)
        fcntl.flock(made, fcntl.LOCK_UN)
        top, status, lines = json.loads(record.read_text())
        try:
            assert status == 0, "\n".join(f"{seconds:6.1f} {line}" for seconds, line in lines[-60:])
            yield SimpleNamespace(folder=Path(top) / CLONE, home=Path(top) / "home", lines=lines, results=results)
        finally:
            fcntl.flock(made, fcntl.LOCK_EX)
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(used, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if status == 0:  # else the other process fails at once too
                    record.unlink()
                for folder in (top, results):
                    shutil.rmtree(folder, ignore_errors=True)


def _make_papers(kept: Path) -> tuple[str, int, list[tuple[float, str]]]:
    """Folder, status and lines of the first hour; a copy of its results goes to `kept`."""
    with contextlib.ExitStack() as undo:
        # Not below pytest's folders: those are open to nobody but who runs the tests.
        top = Path(tempfile.mkdtemp(prefix="whitewire-"))
        undo.callback(shutil.rmtree, top)
        top.chmod(0o755)
        home, folder = top / "home", top / CLONE
        home.mkdir()
        user.give(home)
        user.clone(folder)
        testbed = folder / "config" / "testbeds" / "emulated.yaml"
        described = yaml.safe_load(testbed.read_text())
        described["limits"] = wide(described["limits"])
        testbed.write_text(yaml.safe_dump(described, sort_keys=False))
        for module, name in OF_OTHERS:
            source = folder / "src" / f"{module.__name__.replace('.', '/')}.py"
            text, changed = re.subn(rf"^{name} = .*", f'{name} = float("inf")', source.read_text(), flags=re.MULTILINE)
            assert changed == 1
            source.write_text(text)
        papers = os.environ.get("WHITEWIRE_PAPERS", PAPERS)
        begin = time.monotonic()
        process = subprocess.Popen(
            user.command(home, ["sh", "-c", 'umask 077; exec make papers EFFORT=smoke LANES=2 "PAPERS=$0"', papers]),
            cwd=folder, env=user.environment(home, LC_ALL="xx_XX.UTF-8"), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
        lines = [(time.monotonic() - begin, line.rstrip("\n")) for line in process.stdout]
        status = process.wait(timeout=60)
        if status == 0:
            shutil.copytree(folder / "results", kept)
        undo.pop_all()
        return str(top), status, lines


@pytest.fixture(scope="session")
def project(first_hour) -> Path:
    """The clone of the first hour, with its results."""
    return first_hour.folder


@pytest.fixture(scope="session")
def reports_dir(request) -> Path:
    """A folder of rendered reports."""
    asked = os.environ.get("WHITEWIRE_REPORTS")
    if asked:
        return Path(asked).resolve()
    return request.getfixturevalue("first_hour").results / "emulated" / "reports"


@pytest.fixture(scope="session")
def papers(reports_dir: Path) -> list[Path]:
    return [path for path in sorted(reports_dir.glob("*.html")) if path.stem not in ("index", "testbed")]


@pytest.fixture(scope="session")
def browser() -> Iterator:
    from playwright import sync_api

    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("needs Chromium")
    with sync_api.sync_playwright() as started:
        chromium = started.chromium.launch(
            executable_path=program,
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        )
        yield chromium
        chromium.close()
