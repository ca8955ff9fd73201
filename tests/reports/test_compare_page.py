"""The documents that compare two sites and pool several, from small made-up results, opened in a browser."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.support.compared import ENVIRONMENT, SCALE, cell, claim, run, write

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.browser, pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")]

CLAIMS = {
    "a": [claim("C1", 4.0, 3.8, 4.2), claim("C2", 4.0, 3.9, 4.1), claim("C3", 2.0, n=3, verdict="inconclusive"),
          claim("C4", -3.0, route="arithmetic", n=None, verdict="consistent"), claim("C5", 1.0, 0.9, 1.1)],
    "b": [claim("C1", 4.1, 3.9, 4.3), claim("C2", 2.0, 1.9, 2.1, verdict="not reproduced"),
          claim("C3", 3.0, n=3, verdict="inconclusive"),
          claim("C4", -3.0, route="arithmetic", n=None, verdict="consistent"), claim("C6", 1.0, 0.9, 1.1)],
}  # fmt: skip
CELLS = {
    "a": [cell("throughput", 100, 90, 110), cell("throughput", 10, 9, 11, "1gbe"), cell("time", 5, n=1, unit="s")],
    "b": [cell("throughput", 200, 190, 210), cell("throughput", 10.5, 9.5, 11.5, "1gbe"),
          cell("time", 6, n=1, unit="s")],
}  # fmt: skip


def compared(top: Path) -> Path:
    """The folder of a comparison, made by the command in a project of its own."""
    shutil.copytree(ROOT / "config", top / "config")
    for paper in ("one-2026", "two-2026"):
        write(top / "results" / "alpha", paper, CLAIMS["a"], CELLS["a"])
    kernel = ENVIRONMENT["machine"] | {"kernel": "6.6_x*y"}
    for paper in ("one-2026", "two-2026"):
        write(top / "results" / "beta", paper, CLAIMS["b"], CELLS["b"], ENVIRONMENT | {"machine": kernel},
              [run(block="full-1")], [SCALE | {"k": 20}])  # fmt: skip
    write(top / "results" / "beta", "three-2026", CLAIMS["b"])
    program = str(Path(sys.executable).parent / "whitewire")
    done = subprocess.run([program, "compare", "alpha", "beta"], cwd=top, capture_output=True, text=True, timeout=120,
                          env=dict(os.environ))  # fmt: skip
    assert done.returncode == 0, done
    assert all(line.startswith("compare: ") for line in done.stderr.splitlines()), done  # nothing but progress
    assert "three-2026: only in B, so not compared" in done.stdout
    assert done.stdout.splitlines()[-1].endswith("results/compare/alpha-beta/compare.html")
    return top / "results" / "compare" / "alpha-beta"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    return compared(tmp_path_factory.mktemp("compared"))


@pytest.fixture(params=[(1280, 900), (390, 844)], ids=["desktop", "phone"])
def page(made: Path, browser, request):
    width, height = request.param
    context = browser.new_context(viewport={"width": width, "height": height}, offline=True)
    page = context.new_page()
    page.troubles = []
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    page.on("console", lambda message: page.troubles.append(message.text) if message.type == "error" else None)
    page.on("requestfailed", lambda request: page.troubles.append(request.url[:100]))
    page.goto((made / "compare.html").as_uri())
    yield page
    assert page.troubles == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def rows(page, table: str) -> list[str]:
    return [" ".join(row.split()) for row in page.locator(f"#{table} tbody tr").all_inner_texts()]


def test_it_is_whole(page) -> None:
    text = page.inner_text("main")
    assert not re.search(r"\?\?|@(?:fig|tbl|sec)-|\bNA\b|\bNaN\b|\bNULL\b|\bInf\b", text)
    assert page.locator("figure svg[role=img][aria-label]").count() == page.locator("figure").count() == 2
    assert page.locator("a.data-link").count() == 5


def test_verdicts_that_differ_and_the_count_of_the_others(page) -> None:
    assert "Of 8 claims judged in both, 6 have the same verdict and 2 another." in page.inner_text("main")
    shown = rows(page, "tbl-verdicts")
    assert [re.search(r"C\d", row)[0] for row in shown] == ["C2", "C5", "C6"] * 2
    assert "reproduced not reproduced 4 (3.9 to 4.1) 2 (1.9 to 2.1)" in shown[0]
    assert shown[0].endswith("2 (1.9 to 2.1) no")  # whether the intervals overlap
    assert shown[1].endswith("1 (0.9 to 1.1) – –")


def test_how_far_they_agree_by_rule(page) -> None:
    text = page.inner_text("main")
    assert "They do not agree: they decide 2 claims differently; of 4 estimates with intervals" in text
    assert rows(page, "tbl-agreement")[0].startswith("All claims 8 6 75 % 0.6")


def test_estimates_that_differ(page) -> None:
    text = page.inner_text("main")
    assert "Of 8 estimates in both, 4 agree, 2 differ, and of 2 that is unknown." in text
    assert "Of 6 medians in both, 2 agree, 2 differ, and of 2 that is unknown." in text
    for row in rows(page, "tbl-claims"):
        assert "C2" in row and re.search(r"0\.5 \(0\.472 to 0\.528\)", row)
    cells = rows(page, "tbl-cells")
    assert len(cells) == 2
    assert all(re.search(r"fabric=10gbe clients=3 throughput 100 .* 200 .* MB/s 2 \(", row) for row in cells)


def test_the_environment_that_differs_is_reported_once(page) -> None:
    assert rows(page, "tbl-environment") == ["machine / kernel 6.1.0 6.6_x*y all"]


def test_what_makes_them_hard_to_compare(page) -> None:
    notice = page.inner_text(".notice")
    assert "three-2026: only in B, so not compared" in notice
    assert "one-2026: the effort is quick in A, full in B" in notice
    assert "one-2026: put-grid: k 1 in A, 20 in B" in notice
    assert "claim only in A: C5" in notice


def test_data_is_beside_the_document(made: Path) -> None:
    table = pd.read_csv(made / "data" / "compare" / "verdicts.csv")
    assert len(table) == len(pd.read_csv(made / "verdicts.csv")) == 12


def test_two_that_are_alike_say_so(tmp_path: Path, browser) -> None:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    for name in ("alpha", "beta"):
        write(tmp_path / "results" / name, claims=[claim("C4", -3.0, route="arithmetic", n=None)], environment=None)
    program = str(Path(sys.executable).parent / "whitewire")
    done = subprocess.run([program, "compare", "alpha", "beta"], cwd=tmp_path, capture_output=True, text=True,
                          timeout=120)  # fmt: skip
    assert done.returncode == 0, done
    assert all(line.startswith("compare: ") for line in done.stderr.splitlines()), done  # nothing but progress
    page = browser.new_page()
    page.goto((tmp_path / "results" / "compare" / "alpha-beta" / "compare.html").as_uri())
    text = page.inner_text("main")
    for line in ("No verdict differs.", "No estimate of a claim is known to differ.", "No cell is known to differ.",
                 "No environment was recorded in both.", "no environment was recorded in A"):  # fmt: skip
        assert line in text
    page.close()


def test_several_sites_have_a_page_with_forest_plots(browser, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    routes = {"alpha": "measured", "beta": "measured", "gamma": "measured", "delta": "emulated"}
    for number, (name, route) in enumerate(routes.items()):
        value = 4.0 + 0.1 * number
        claims = [claim(f"C{n}", value, value * 0.95, value * 1.05, route=route) for n in range(12)]
        claims += [claim("C20", value, route=route), claim("C21", -3.0, route="arithmetic", n=None)]
        for paper in ("one-2026", "two_2026*"):
            write(tmp_path / "results" / name, paper, claims)
    program = str(Path(sys.executable).parent / "whitewire")
    done = subprocess.run([program, "compare", *routes], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                          env=dict(os.environ))  # fmt: skip
    assert done.returncode == 0, done
    folder = tmp_path / "results" / "compare" / "-".join(routes)
    assert done.stdout.splitlines()[-1].endswith("results/compare/alpha-beta-gamma-delta/pooled.html")
    page = browser.new_context(viewport={"width": 390, "height": 844}, offline=True).new_page()
    page.goto((folder / "pooled.html").as_uri())
    text = page.inner_text("main")
    assert not re.search(r"\?\?|@(?:fig|tbl|sec)-|\bNA\b|\bNaN\b|\bNULL\b|\bInf\b", text)
    assert "4 sites together. Pooled: 24 of 26 claims of measured sites and 0 of 26 claims of emulated sites." in text
    assert page.locator("figure svg[role=img][aria-label]").count() == page.locator("figure").count() == 4
    assert len(rows(page, "tbl-sites")) == 4 and len(rows(page, "tbl-words")) == 24
    assert "3 measured sites: 4.1 on average" in rows(page, "tbl-words")[0]
    shown = rows(page, "tbl-not-pooled")
    assert "one-2026 measured C20 no site with an interval, pooled from three on" in shown
    assert any("emulated C0, C1," in row and row.endswith("one site, pooled from three on") for row in shown)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.context.close()
    assert (folder / "pooled.pdf").read_bytes().startswith(b"%PDF")
    assert {path.name for path in (folder / "data" / "pooled").iterdir()} >= {"pooled.csv", "sites.csv"}
