"""Pages of every document whose tables have no, one or two rows, or whose optional columns are empty."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import kept, testbed_page
from whitewire.analysis.analyse import write_analysis
from whitewire.description.checks import load_paper
from whitewire.description.testbed import read_testbed
from whitewire.paths import HOME
from whitewire.records.checked import PACKAGE
from whitewire.report import bundle
from whitewire.report.reference import read_reference
from whitewire.report.render import _PAPER, TESTBED

pytestmark = pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")
KNIT = HOME / "tests" / "support" / "knit_each.R"
Rows = list[list[str]]
IDENTITY = {"fabric", "host", "source", "destination", "streams", "kind", "part", "paper", "role", "asked", "rate"}
"""Columns that say of what a row is; each other one may be empty in a table of a testbed."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory) -> Path:
    """`results/emulated` of the reference, opened."""
    record, files = read_reference()
    return bundle.unpack(tmp_path_factory.mktemp("opened"), record, files.items())


def tables(page: str) -> list[str]:
    return ["links/tables", "trust/tables"] if page == TESTBED else [f"{page}/tidy"]


def cut(path: Path, change: Callable[[list[str], Rows], Rows]) -> None:
    with path.open(newline="") as file:
        head, *rows = csv.reader(file)
    path.unlink()  # which is a link to the reference's
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *change(head, rows)])


def variants(opened: Path, page: str, top: Path) -> Iterator[tuple[Path, list[Path]]]:
    """Results with fewer rows or empty columns, and the tables that were changed: all with no, one and two rows, each
    alone with none, and each alone with nothing but what its rows are of."""
    names = [path.relative_to(opened) for folder in tables(page) for path in sorted((opened / folder).glob("*.csv"))]

    def changed(name: str, own: list[Path], change: Callable[[list[str], Rows], Rows]) -> tuple[Path, list[Path]]:
        folder = top / name
        for each in {Path(table).parts[0] for table in tables(page)}:
            shutil.copytree(opened / each, folder / each, copy_function=os.link)
        for package in folder.rglob(PACKAGE):
            package.unlink()
        for path in own:
            cut(folder / path, change)
        return folder, own

    for count in (0, 1, 2):
        yield changed(f"all-{count}-rows", names, lambda _, rows, count=count: rows[:count])
    for path in names:
        name = str(path).replace("/", "-")
        yield changed(f"{name}-0-rows", [path], lambda _, rows: [])
        if page == TESTBED:
            yield changed(f"{name}-empty", [path], emptied)


def emptied(head: list[str], rows: Rows) -> Rows:
    return [[cell if column in IDENTITY else "" for column, cell in zip(head, row, strict=True)] for row in rows]


def failures(page: str, folders: list[Path]) -> str:
    """What R says of a document with each of these results: a line per fault."""
    done = subprocess.run(
        ["Rscript", "--vanilla", str(KNIT), f"{page}.qmd", *map(str, folders)],
        cwd=_PAPER, env={**os.environ, "WHITEWIRE_PAPER": page}, capture_output=True, text=True, timeout=1800,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_testbed_without_pairs_networks_or_links_has_its_page(tmp_path) -> None:
    """What a survey leaves whose time was up before the first pair, or before the first host answered."""
    hosts = [{"host": name, "role": "datanode"} for name in "ab"]
    left = {"reason": "1gbe: time was up"}
    found = {"nothing": {}, "hosts": {"hosts": hosts, "left_out": [left]}, "one": {"hosts": hosts[:1]}}
    for name, rows in found.items():
        testbed_page.write(tmp_path / name, "links", testbed_page.links_record(), rows)
    assert failures(TESTBED, [tmp_path / name for name in found]) == ""


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(path.stem for path in (HOME / "config" / "papers").glob("*.yaml")))
def test_a_paper_without_a_run_has_its_report(tmp_path, page: str) -> None:
    assert failures(page, [kept.unmeasured(page, tmp_path).parent]) == ""


@pytest.mark.slow
def test_the_testbeds_page_with_few_rows_and_empty_columns(opened, tmp_path) -> None:
    folders = [folder for folder, _ in variants(opened, TESTBED, tmp_path)]
    assert len(folders) > 30
    assert failures(TESTBED, folders) == ""


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(path.parent.name for path in (HOME / "results" / "reference").glob("*/tidy")))
def test_a_papers_report_with_few_rows(opened, tmp_path, page: str) -> None:
    """Judged anew where runs are left out, as the workflow would."""
    testbed = read_testbed(HOME / "config" / "testbeds" / "emulated.yaml")
    paper = load_paper(HOME / "config" / "papers" / f"{page}.yaml", testbed["fabrics"])
    folders = []
    for folder, changed in variants(opened, page, tmp_path):
        if any(path.name == "runs.csv" for path in changed):
            shutil.rmtree(folder / page / "analysis")
            write_analysis(paper, testbed, folder / page, 7)
        folders.append(folder)
    assert failures(page, folders) == ""
