"""Text of a paper that would be code or markup somewhere is text in every output."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from tests.support.kept import empty_tables
from tests.support.nasty import FENCE, NASTY, marked, plain, text_of

HOME = Path(__file__).resolve().parents[3]
PAPER = "made-up-2026"
SHOWN = {
    "statement",
    "missing",
    "finding",
    "note",
    "title",
    "publisher",
    "fragment",
    "constant",
    "metric",
    "condition",
    "drive",
}

CITED = ("publisher", "author", "cited", "remark", "kind")
"""What the bibliography shows, whose style sets quotes and commas; a kind of publication has no braces."""

pytestmark = pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")


def nasty_paper() -> dict:
    paper = yaml.safe_load((HOME / "docs" / "template" / "paper.yaml").read_text(encoding="utf-8"))
    paper["title"], paper["publisher"] = marked("title"), marked("publisher")
    paper["source"] |= {"title": marked("cited"), "note": marked("remark"), "type": marked("kind")}
    paper["source"]["authors"] = [marked("author").replace(",", ";")]  # a comma parts the names of a person
    for exhibit in paper["exhibits"]:
        exhibit["caption"] = marked("caption")
    for value in paper["values"]:
        value |= {"metric": marked("metric"), "condition": marked("condition"), "printed": marked("printed")}
    for constant in paper["constants"].values():
        constant["source"] = marked("constant")
    for number, claim in enumerate(paper["claims"]):
        claim |= {"statement": marked("statement") if number else f"{FENCE}{NASTY}", "basis": marked("basis")}
        if claim["test"]["estimand"] == "none":
            claim["test"] |= {"missing": marked("missing"), "testbed": marked("fragment")}
    paper["audit"].append({"id": "N-A2", "finding_kind": "gap"})
    for entry in paper["audit"]:
        entry["finding"] = marked("finding")
        for check in entry.get("checks", []):
            check["note"] = marked("note")
    for control in paper.get("controls", []):
        control["title"] = marked("control")
    for sweep in paper.get("sweeps", []):
        sweep["title"] = marked("sweep")
    for experiment in paper["experiments"]:
        experiment["title"] = marked("experiment")
        for name in experiment.get("hardware", {}).get("sources", {}):
            experiment["hardware"]["sources"][name] = marked("drive")
    return paper


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Iterator[SimpleNamespace]:
    """The reports of a paper that is nasty throughout, and of the start page, made in a folder of its own."""
    folder = tmp_path_factory.mktemp("nasty")
    shutil.copytree(HOME / "config" / "testbeds", folder / "config" / "testbeds")
    (folder / "config" / "papers").mkdir()
    (folder / "paper").mkdir()
    config = {"papers": [PAPER], "testbed": "emulated", "effort": "quick", "seed": 1}
    (folder / "config" / "config.yaml").write_text(yaml.safe_dump(config))
    (folder / "config" / "papers" / f"{PAPER}.yaml").write_text(yaml.safe_dump(nasty_paper()))
    (folder / "config" / "papers" / "broken.yaml").write_text("year: '<script>alert(3)</script>'\nid: !!int abc\n")
    document = (HOME / "docs" / "template" / "paper.qmd").read_text(encoding="utf-8")
    calls = '```{r}\n#| results: asis\nconstants_table()\ndrive_model_table("ingest")\n```'
    table = '`r data_link("nasty", data.frame(text = c("=1+1", "+x", "@SUM(1)", "-cmd|x", "-1.5", "fine"), n = -1:4))`'
    (folder / "paper" / f"{PAPER}.qmd").write_text(f"{document}\n\n{table}\n\n{calls}\n", encoding="utf-8")
    results = folder / "results" / "emulated" / PAPER
    (results / "tidy").mkdir(parents=True)
    empty_tables(results / "tidy", ["fabric"])
    (results / "logs").mkdir()
    for command in (
        ["analyse", "--paper", PAPER, "--testbed", "emulated", "--results", str(results)],
        ["render", "--results", str(results.parent)],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "whitewire", *command],
            cwd=folder,
            env=dict(os.environ),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    reports = results.parent / "reports"
    yield SimpleNamespace(folder=folder, results=results, reports=reports)


def of_pages(made: SimpleNamespace) -> dict[str, str]:
    return {name: (made.reports / f"{name}.html").read_text(encoding="utf-8") for name in (PAPER, "index")}


def test_markup_is_text_on_every_page(made) -> None:
    shown = set()
    for page in of_pages(made).values():
        for name, found in re.findall(r"zz(\w+?)zz((?:(?!zz).)*)zzendzz", text_of(page)):
            signs = "\"'`,;{}\\" if name in CITED else ""
            one, other = ("".join(sign for sign in plain(text) if sign not in signs) for text in (found, NASTY))
            assert one == other, name
            shown.add(name)
    assert shown >= SHOWN, SHOWN - shown


def test_no_page_has_an_element_of_the_papers(made) -> None:
    for page in of_pages(made).values():
        assert not re.search(r"<script[^>]*>\s*alert", page)
        assert not re.search(r"<img[^>]*onerror", page)
        assert not re.search(r"""href=["']?javascript:""", page)
        assert "root:x:" not in page and "A heading</h1>" not in page


def test_inline_r_is_not_run(made) -> None:
    assert not list(made.folder.rglob("ran-r")) and not (HOME / "paper" / "ran-r").exists()


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="needs pdftotext (poppler-utils)")
def test_markup_is_text_in_the_pdf(made) -> None:
    argv = ["pdftotext", "-raw", str(made.reports / f"{PAPER}.pdf"), "-"]
    found = plain(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
    for part in ("#import", "#sys.version", "<script>alert(1)</script>", "{{<include/etc/passwd>}}", "&copy;"):
        assert part in found, part


def test_cells_of_published_data_are_no_formulas(made) -> None:
    with (made.reports / "data" / PAPER / "nasty.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["text"] for row in rows] == ["'=1+1", "'+x", "'@SUM(1)", "'-cmd|x", "-1.5", "fine"]
    assert [row["n"] for row in rows] == ["-1", "0", "1", "2", "3", "4"]


def test_a_paper_with_a_fault_is_named_and_nothing_of_it_read(made) -> None:
    page = of_pages(made)["index"]
    assert "make papers PAPERS=broken" in text_of(page) and "alert(3)" not in page
