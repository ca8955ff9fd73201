"""The page of published and emulated ratios, rendered from a few given ones."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.analysis.test_calibration import rows_of
from whitewire.analysis import calibration
from whitewire.paths import HOME

pytestmark = pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> tuple[str, Path]:
    """Text of the page in HTML, and the folder of reports."""
    results = tmp_path_factory.mktemp("calibration") / "results" / "emulated"
    rows = [row for name in ("osu-hibd", "jikelab-2016") for row in rows_of(name)]
    assumed = [{"paper": "osu-hibd", "half": "score", "what": "copies", "why": "three: Hadoop's own"}]
    calibration.write(results / calibration.FOLDER / "analysis", rows, assumed)
    program = str(Path(sys.executable).parent / "whitewire")
    reports = results / "reports"
    done = subprocess.run([program, "render", "--paper", "calibration", "--results", str(results)], cwd=HOME,
                          capture_output=True, text=True, timeout=400)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return (reports / "calibration.html").read_text(encoding="utf-8"), reports


def test_the_page_says_of_each_half_how_many_lie_inside(page):
    text = re.sub(r"<[^>]+>", "", page[0])
    assert re.search(r"Of 5 published ratios that score, 1 came out within tolerance", text)
    assert re.search(r"Of 5 published ratios that tune, 1 came out within tolerance", text)
    assert "effect where none is printed" in text
    assert "Show this part" not in text
    assert "three: Hadoop’s own" in text or "three: Hadoop's own" in text


def test_it_has_the_figure_its_data_and_a_pdf(page):
    _, reports = page
    assert (reports / "calibration.pdf").stat().st_size > 20_000
    assert list((reports / "figures" / "calibration").glob("*ratios*"))
    assert list((reports / "data" / "calibration").glob("ratios*"))
