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
from whitewire.analysis.calibration import CALIBRATION_FOLDER, rates_beside_ratios
from whitewire.paths import HOME

pytestmark = pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> tuple[str, Path]:
    """Text of the page in HTML, and the folder of reports."""
    results = tmp_path_factory.mktemp("calibration") / "results" / "emulated"
    rows = [row for name in ("osu-hibd", "jikelab-2016") for row in rows_of(name)]
    assumed = [{"paper": "osu-hibd", "half": "score", "what": "copies", "why": "three: Hadoop's own"}]
    reading = {"claim": "A-C01", "reading": "inbound over a link", "n": "3", "estimate": "0.9", "low": "0.8",
               "high": "1", "expected": "0.6", "reason": ""}  # fmt: skip
    checks = list(rates_beside_ratios(rows_of("osu-hibd"), [reading], "osu-hibd"))
    calibration._write(results / CALIBRATION_FOLDER / "analysis", rows, assumed, checks)
    program = str(Path(sys.executable).parent / "whitewire")
    reports = results / "reports"
    done = subprocess.run([program, "render", "--paper", "calibration", "--results", str(results)], cwd=HOME,
                          capture_output=True, text=True, timeout=400)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return (reports / "calibration.html").read_text(encoding="utf-8"), reports


def test_the_page_says_of_each_half_how_many_lie_inside(page):
    text = re.sub(r"<[^>]+>", "", page[0])
    assert "Of 5 of the 6 published ratios of real clusters, none used for tuning, 1 came out within tolerance" in text
    assert "Of 5 of the 6 published ratios of real clusters that may be used for tuning, 1 came out within" in text
    assert text.index("none used for tuning") < text.index("Every ratio that was measured")
    assert "no estimate: only 0.1 s beyond the startup overhead" in text
    assert re.search(r"inbound over a link\s*0\.6\s*0\.9 \(0\.8 to 1\)\s*3\s*1\.5", text)
    assert "effect where none is printed" in text
    assert "Show this part" not in text
    assert "three: Hadoop’s own" in text or "three: Hadoop's own" in text


def test_it_has_the_figure_its_data_and_a_pdf(page):
    _, reports = page
    assert (reports / "calibration.pdf").stat().st_size > 20_000
    assert list((reports / "figures" / "calibration").glob("*ratios*"))
    assert list((reports / "data" / "calibration").glob("ratios*"))
