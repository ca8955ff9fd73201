"""The rendered reports and a browser. `WHITEWIRE_REPORTS` names the folder; else it is the newest one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def reports_dir() -> Path:
    """A folder of rendered reports; the tests are left out where none was rendered."""
    asked = os.environ.get("WHITEWIRE_REPORTS")
    if asked:
        return Path(asked).resolve()
    found = sorted(ROOT.glob("results/*/reports/index.html"), key=lambda path: path.stat().st_mtime)
    if not found:
        pytest.skip("no report was rendered: `make papers` makes one")
    return found[-1].parent


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
