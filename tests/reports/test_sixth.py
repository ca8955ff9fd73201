"""A sixth paper takes no code: the template's two files, copied under its name, and the workflow for it alone."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.reports.conftest import OFFLINE, ROOT, snakemake
from tests.support.limits import wide
from tests.support.nasty import text_of

NAME = "made-up-2026"
TEMPLATE = ROOT / "docs" / "template"
ADDED = {f"config/papers/{NAME}.yaml": "paper.yaml", f"paper/{NAME}.qmd": "paper.qmd"}
COPIED = ("config", "paper", "src")

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


def elements(path: Path) -> str:
    """A page without its scripts and styles."""
    return re.sub(r"(?s)<(script|style)\b.*?</\1>", "", path.read_text(encoding="utf-8"))


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
def page(reports: Path) -> str:
    return elements(reports / f"{NAME}.html")


def test_two_files_were_added_and_no_other_was_needed(sixth: Path) -> None:
    assert files(sixth) - files(ROOT) == set(ADDED)


def test_every_claim_has_a_verdict(sixth: Path, paper: dict) -> None:
    table = sixth / "results" / "emulated" / NAME / "analysis" / "verdicts.csv"
    rows = list(csv.DictReader(table.open()))
    assert [row["claim"] for row in rows] == [claim["id"] for claim in paper["claims"]]
    assert all(row["verdict"] and row["reason"] for row in rows)
    measured = next(row for row in rows if row["route"] == "emulated")
    assert 1 < float(measured["estimate"]) < 10  # a link ten times as fast, with drives behind it


def test_the_report_has_every_exhibit_and_every_claim_and_nothing_unresolved(page: str, paper: dict) -> None:
    for part in ("controls", *(exhibit["id"] for exhibit in paper["exhibits"])):
        assert re.search(rf'<h\d[^>]*\sid="sec-{part}"', page), part
    text = text_of(page.partition('<section id="sources"')[0])
    assert [claim["id"] for claim in paper["claims"] if claim["id"] not in text] == []
    assert "not measured at this effort" not in text.split("Which link would do it?")[0]
    assert not re.search(r"\?\?|\?@|@(?:fig|tbl|sec)-|\b(?:NA|NaN|NULL|Inf)\b", text)
    assert {*re.findall(r'<a\s[^>]*href="#([^"]+)"', page)} <= {*re.findall(r'\sid="([^"]+)"', page)}


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
    start = elements(reports / "index.html")
    table = sixth / "results" / "emulated" / NAME / "analysis" / "verdicts.csv"
    verdicts = {row["claim"]: row["verdict"] for row in csv.DictReader(table.open())}
    for link in (f"{NAME}.html", f"{NAME}.pdf", f"{NAME}.html#sec-verdicts"):
        assert f'href="{link}"' in start
    assert f'id="paper-{NAME}"' in start
    text = text_of(start)
    assert paper["title"] in text
    # Its named finding once that is decided: at smoke effort, on a busy machine, its few runs may not decide it.
    decided = verdicts[paper["finding"]] not in ("inconclusive", "not testable here")
    assert any(f"({claim})" in text for claim in ([paper["finding"]] if decided else verdicts))
