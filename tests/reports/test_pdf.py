"""The PDF reports, page by page."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(shutil.which("pdftoppm") is None, reason="needs pdftoppm (poppler-utils)")


def ink_of(page: Path) -> float:
    """The share of pixels of a binary PGM image that are not white."""
    data = page.read_bytes()
    header = re.match(rb"P5\s+\d+\s+\d+\s+\d+\s", data)
    pixels = data[header.end() :]
    return sum(count for value, count in enumerate(map(pixels.count, range256())) if value < 250) / len(pixels)


def range256():
    return (bytes([value]) for value in range(256))


def test_no_page_is_blank(papers: list[Path], tmp_path: Path) -> None:
    for paper in papers:
        pdf = paper.with_suffix(".pdf")
        subprocess.run(["pdftoppm", "-gray", "-r", "30", str(pdf), str(tmp_path / paper.stem)], check=True, timeout=120)
        pages = sorted(tmp_path.glob(f"{paper.stem}-*.pgm"))
        assert len(pages) > 5
        blank = [page.name for page in pages if ink_of(page) < 0.003]
        assert blank == []


@pytest.mark.skipif(shutil.which("pdfinfo") is None, reason="needs pdfinfo (poppler-utils)")
def test_each_has_its_title(papers: list[Path]) -> None:
    for paper in papers:
        info = subprocess.run(["pdfinfo", paper.with_suffix(".pdf")], capture_output=True, text=True, check=True).stdout
        title = re.search(r"^Title: +(.+)$", info, re.MULTILINE)
        assert title, paper.stem
        heading = html.unescape(re.search(r"<h1>(.+?)</h1>", paper.read_text(encoding="utf-8"), re.DOTALL)[1])
        assert " ".join(title[1].split()) == " ".join(heading.replace("\u2019", "'").split())


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="needs pdftotext (poppler-utils)")
def test_references_resolve_in_the_pdf(papers: list[Path]) -> None:
    for paper in papers:
        pdf = paper.with_suffix(".pdf")
        text = subprocess.run(["pdftotext", str(pdf), "-"], capture_output=True, text=True, check=True).stdout
        assert not re.search(r"\?\?|@(?:fig|tbl|sec)-", text)
        assert "Figure\u00a01" in text or "Figure 1" in text


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="needs pdftotext (poppler-utils)")
def test_each_figure_says_what_drew_it(papers: list[Path]) -> None:
    for paper in papers:
        pdf = paper.with_suffix(".pdf")
        said = subprocess.run(["pdftotext", str(pdf), "-"], capture_output=True, text=True, check=True).stdout
        page = paper.read_text(encoding="utf-8")
        figures = page.count("<figcaption") - page.count('id="fig-idle"')  # that is on the page alone
        joined = "".join(said.split())
        assert len(re.findall(r"Drawnby\w+inpaper/R/", joined)) == figures > 0, paper.stem
        assert "Drawn by" not in page


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="needs pdftotext (poppler-utils)")
def test_no_heading_or_caption_is_left_alone_at_the_end_of_a_page(papers: list[Path]) -> None:
    for paper in papers:
        pdf = paper.with_suffix(".pdf")
        text = subprocess.run(["pdftotext", "-layout", pdf, "-"], capture_output=True, text=True, check=True).stdout
        titles = re.findall(r"^ *(\d+ .+?)(?: \.){3,}", text.split("\f")[0], re.MULTILINE)
        assert len(titles) > 5
        for number, page in enumerate(text.split("\f")[:-1], start=1):
            *lines, footer = [line.strip() for line in page.splitlines() if line.strip()]
            assert re.search(rf"{number} / \d+$", footer)
            assert lines[-1] not in titles, f"{paper.stem}, page {number}"
            # A table has a head and a row at least.
            assert not any(re.match(r"Table\s\d+:", line) for line in lines[-2:]), f"{paper.stem}, page {number}"


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="needs pdftotext (poppler-utils)")
def test_a_brief_has_the_answer_the_verdicts_and_what_is_not_testable_on_few_pages(papers: list[Path]) -> None:
    for paper in papers:
        pdf = paper.with_suffix(".brief.pdf")
        info = subprocess.run(["pdfinfo", str(pdf)], capture_output=True, text=True, check=True).stdout
        assert int(re.search(r"^Pages: +(\d+)$", info, re.MULTILINE)[1]) <= 4, paper.stem
        text = subprocess.run(["pdftotext", str(pdf), "-"], capture_output=True, text=True, check=True).stdout
        description = yaml.safe_load((ROOT / "config" / "papers" / f"{paper.stem}.yaml").read_text())
        assert "In brief" in text and description["headline"] in text
        ids = "".join(text.split())  # a line may end after an id's hyphen
        assert {claim["id"] for claim in description["claims"] if claim["id"] not in ids} == set()
        assert not re.search(r"\?\?|@(?:fig|tbl|sec)-|^data: ", text, re.MULTILINE)
