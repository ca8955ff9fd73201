"""Reports that the whole workflow made at smoke effort, and a browser.

`WHITEWIRE_REPORTS` names a folder of reports to look at instead.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAPERS = "emulex-2012 chelsio-iwarp"
"""One paper of puts and one of jobs; WHITEWIRE_PAPERS names others (`make test-all`: all five)."""


OFFLINE = ("unshare", "--user", "--map-root-user", "--net", "--")
"""Before a command that shall have no network: not even a loopback device that is up."""


def snakemake(project: Path, *argv: str, before: Sequence[str] = ()) -> subprocess.CompletedProcess:
    """The workflow at smoke effort, as a user would start it."""
    program = str(Path(sys.executable).parent / "snakemake")
    environment = {**os.environ, "EFFORT": "smoke", "PAPERS": os.environ.get("WHITEWIRE_PAPERS", PAPERS)}
    return subprocess.run(
        [*before, program, *argv], cwd=project, env=environment, capture_output=True, text=True, timeout=900
    )  # fmt: skip


WIDE = {
    "cpu_idle_floor": "0.0",
    "link_error": "0.2",
    "drive_error": "0.3",
    "compute_share": "1.0",
    "job_wire_low": "-1.0",
    "job_wire_high": "3.0",
}
"""Bounds that depend on how busy this machine is."""


@pytest.fixture(scope="session")
def project(tmp_path_factory) -> Path:
    """A smoke run of the default workflow, from design to report, with results of its own.

    The bounds that depend on how busy this machine is are wide: here it matters that all of it works, not the numbers.
    """
    top = tmp_path_factory.mktemp("whole") / "white wire"
    top.mkdir()
    for name in ("Snakefile", "workflow", "profiles", "envs", "src", "scripts"):
        os.symlink(ROOT / name, top / name)
    for name in ("config", "paper"):
        shutil.copytree(ROOT / name, top / name)
    testbed = top / "config" / "testbeds" / "emulated.yaml"
    text = testbed.read_text()
    for bound, wide in WIDE.items():
        text, changed = re.subn(rf"(\b{bound}:) \S+", rf"\1 {wide}", text)
        assert changed == 1
    testbed.write_text(text)
    done = snakemake(top)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return top


@pytest.fixture(scope="session")
def reports_dir(request) -> Path:
    """A folder of rendered reports."""
    asked = os.environ.get("WHITEWIRE_REPORTS")
    if asked:
        return Path(asked).resolve()
    return request.getfixturevalue("project") / "results" / "emulated" / "reports"


@pytest.fixture(scope="session")
def papers(reports_dir: Path) -> list[Path]:
    return [path for path in sorted(reports_dir.glob("*.html")) if path.stem != "index"]


@pytest.fixture(scope="session")
def browser() -> Iterator:
    playwright = pytest.importorskip("playwright.sync_api")
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("needs Chromium")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(
            executable_path=program,
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        )
        yield chromium
        chromium.close()
