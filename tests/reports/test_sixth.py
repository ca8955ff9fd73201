"""A sixth paper takes no code: the template's two files, copied under its name, and the workflow for it alone."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

from tests.reports.conftest import OFFLINE, ROOT, snakemake
from tests.support.limits import wide

NAME = "made-up-2026"
TEMPLATE = ROOT / "docs" / "template"
ADDED = {f"config/papers/{NAME}.yaml": "paper.yaml", f"paper/{NAME}.qmd": "paper.qmd"}
COPIED = ("config", "paper", "src")

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


class Page(HTMLParser):
    """What a test asks of a report: headings and other ids, where its links lead, and its text but for the sources."""

    def __init__(self, path: Path):
        super().__init__()
        self.ids: dict[str, str] = {}
        self.links: set[str] = set()
        self.text = ""
        self.skipping = False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if found.get("id"):
            self.ids[found["id"]] = tag
        if tag == "a" and found.get("href"):
            self.links.add(found["href"])
        begins = tag in ("script", "style") or found.get("id") == "sources"
        self.skipping = begins or (self.skipping and tag != "body")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style", "section"):
            self.skipping = False

    def handle_data(self, data: str) -> None:
        if not self.skipping:
            self.text += data


def files(top: Path) -> set[str]:
    found = (path for folder in COPIED for path in (top / folder).rglob("*") if path.is_file())
    return {str(path.relative_to(top)) for path in found if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def sixth(tmp_path_factory) -> Iterator[Path]:
    """A copy of the repository with the two files added, after a smoke run of the sixth paper alone, without a network.

    The package is copied, not linked: it finds schemas and documents from where it lies. As in `project`, the bounds
    that depend on how busy this machine is are wide.
    """
    top = tmp_path_factory.mktemp("sixth") / "white wire"
    top.mkdir()
    for name in ("workflow", "profiles", "envs", "scripts", ".cache"):
        os.symlink(ROOT / name, top / name)
    for name in COPIED:
        shutil.copytree(ROOT / name, top / name, ignore=shutil.ignore_patterns("__pycache__"))
    testbed = top / "config" / "testbeds" / "emulated.yaml"
    description = yaml.safe_load(testbed.read_text())
    description["limits"] = wide(description["limits"])
    description["memory"]["storage_gib"] = 2
    testbed.write_text(yaml.safe_dump(description))
    for target, source in ADDED.items():
        shutil.copy(TEMPLATE / source, top / target)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("WHITEWIRE_PAPERS", NAME)
        environment.setenv("PYTHONPATH", str(top / "src"))
        done = snakemake(top, before=OFFLINE)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    yield top


@pytest.fixture(scope="module")
def paper(sixth: Path) -> dict:
    return yaml.safe_load((sixth / "config" / "papers" / f"{NAME}.yaml").read_text())


@pytest.fixture(scope="module")
def reports(sixth: Path) -> Path:
    return sixth / "results" / "emulated" / "reports"


@pytest.fixture(scope="module")
def page(reports: Path) -> Page:
    return Page(reports / f"{NAME}.html")


def test_two_files_were_added_and_no_other_was_needed(sixth: Path) -> None:
    assert files(sixth) - files(ROOT) == set(ADDED)


def test_every_claim_has_a_verdict(sixth: Path, paper: dict) -> None:
    table = sixth / "results" / "emulated" / NAME / "analysis" / "verdicts.csv"
    rows = list(csv.DictReader(table.open()))
    assert [row["claim"] for row in rows] == [claim["id"] for claim in paper["claims"]]
    assert all(row["verdict"] and row["reason"] for row in rows)
    measured = next(row for row in rows if row["route"] == "emulated")
    assert 1 < float(measured["estimate"]) < 10  # a link ten times as fast, with drives behind it


def test_the_report_has_every_exhibit_and_every_claim(page: Page, paper: dict) -> None:
    for exhibit in paper["exhibits"]:
        assert page.ids.get(f"sec-{exhibit['id']}", "").startswith("h"), exhibit["id"]
    assert page.ids.get("sec-controls", "").startswith("h")
    for claim in paper["claims"]:
        assert claim["id"] in page.text
    assert "not measured at this effort" not in page.text.split("Which link would do it?")[0]


def test_nothing_is_unresolved(page: Page) -> None:
    assert not re.search(r"\?\?|\?@|@(?:fig|tbl|sec)-", page.text)
    assert not re.search(r"\b(?:NA|NaN|NULL|Inf)\b", page.text)
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)


def test_figures_and_their_data_are_there(reports: Path) -> None:
    for name in ("verdicts", "throughput", "curve"):
        assert (reports / "figures" / NAME / f"{name}.png").stat().st_size > 5000
    for name in ("verdicts", "throughput", "cluster", "curve"):
        assert (reports / "data" / NAME / f"{name}.csv").stat().st_size > 0


def test_the_pdf_is_whole(reports: Path, paper: dict) -> None:
    pdf = reports / f"{NAME}.pdf"
    assert pdf.read_bytes().startswith(b"%PDF")
    if shutil.which("pdftotext") is None:
        pytest.skip("needs pdftotext (poppler-utils)")
    text = subprocess.run(["pdftotext", str(pdf), "-"], capture_output=True, text=True, check=True).stdout
    assert not re.search(r"\?\?|@(?:fig|tbl|sec)-", text)
    assert all(claim["id"] in text for claim in paper["claims"])
    assert re.search(r"Figure\s1: ingest throughput", text)


def test_the_start_page_lists_it(sixth: Path, reports: Path, paper: dict) -> None:
    start = Page(reports / "index.html")
    table = sixth / "results" / "emulated" / NAME / "analysis" / "verdicts.csv"
    verdicts = {row["claim"]: row["verdict"] for row in csv.DictReader(table.open())}
    assert {f"{NAME}.html", f"{NAME}.pdf"} <= start.links
    assert f"paper-{NAME}" in start.ids
    assert paper["title"] in start.text
    # Its named finding once that is decided: at smoke effort, on a busy machine, its few runs may not decide it.
    decided = verdicts[paper["finding"]] not in ("inconclusive", "not testable here")
    assert any(f"({claim})" in start.text for claim in ([paper["finding"]] if decided else verdicts))
    assert f"{NAME}.html#sec-verdicts" in start.links
