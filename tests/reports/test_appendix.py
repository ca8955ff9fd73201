"""The artifact appendix, made by the command in a project of its own: HTML, PDF and Markdown say the same."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from tests.reports.test_reference import run, words
from tests.support import kept

SECTIONS = ("Overview", "Requirements", "Time and disk", "Steps", "Expected results", "What differs between reruns",
            "What cannot be run here")  # fmt: skip

pytestmark = pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A project with a reference, its appendix, and that of a further run."""
    folder = kept.project(tmp_path_factory.mktemp("project"))
    kept.results(folder)
    assert run(folder, "reference").returncode == 0
    kept.results(folder, seed=2, gain=2.0, name="again")
    for name in ("reference", "again"):
        done = run(folder, "appendix", "--testbed", name)
        assert done.returncode == 0, done
        made = [f"results/appendix/{name}/appendix.{kind}" for kind in ("html", "pdf", "md")]
        assert done.stdout.splitlines() == made
    return folder


def of(project: Path, name: str, kind: str) -> str:
    """The text of one document."""
    path = project / "results" / "appendix" / name / f"appendix.{kind}"
    if kind == "pdf":
        return subprocess.run(["pdftotext", "-layout", path, "-"], capture_output=True, text=True, check=True).stdout
    return words(path) if kind == "html" else path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["reference", "again"])
@pytest.mark.parametrize("kind", ["html", "pdf", "md"])
def test_every_section_is_there_and_resolved(project, name, kind) -> None:
    text = of(project, name, kind)
    found = " ".join(text.split())
    for number, section in enumerate(SECTIONS, start=1):
        assert f"{number} {section}" in found
    assert not re.search(r"\?\?|@(?:fig|tbl|sec)-|\bNA\b|\bNaN\b|\bNULL\b|\bInf\b", found)
    assert kept.COMMIT in found
    assert "N-C01" in found
    if kind != "pdf":  # where a cell's lines break
        assert "throughput: ingest 10gbe / ingest 1gbe" in found


def test_steps_name_the_code_and_the_budget(project) -> None:
    first, again = of(project, "reference", "md"), of(project, "again", "md")
    # The reference of this project is in no repository, so no commit holds it.
    assert f", with this run in results/reference; the run was measured by commit {kept.COMMIT[:12]}\n" in first
    assert "git checkout" not in first
    assert f"\ngit checkout {kept.COMMIT}\n" in again
    assert f'make papers EFFORT=quick BUDGET=none PAPERS="{kept.PAPER}"' in again
    assert "The run had no budget of time." in again


def test_markdown_is_plain(project) -> None:
    text = of(project, "again", "md")
    assert text.startswith("# Artifact appendix\n")
    assert not re.search(r"<(?!this repository>)[a-z/]|\{[#.]|^:::", text, re.MULTILINE)
    assert re.search(r"^\| \*\*N-C01\*\* .*\*\*(?:more|less) than claimed\*\* \|$", text, re.MULTILINE)


def test_what_is_expected_and_how_a_rerun_differs(project) -> None:
    first, again = of(project, "reference", "html"), of(project, "again", "html")
    assert "This run is itself the reference" in first
    assert "They do not agree : they decide 1 claim differently; of 1 estimate with intervals" in again
    assert "Claims that runs judge, in the reference and in this run" in again
    assert "Claims that runs judge, in the reference" not in first
    table = pd.read_csv(project / "results" / "appendix" / "again" / "claims.csv")
    verdicts = pd.read_csv(project / "results" / "again" / kept.PAPER / "analysis" / "verdicts.csv")
    assert list(table["claim"]) == list(verdicts["claim"])
    assert list(table["verdict"]) == list(verdicts["verdict"])


def test_what_has_no_results_is_one_line(project) -> None:
    done = run(project, "appendix", "--testbed", "agian")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        'whitewire: error: TESTBED: found \'agian\', expected a path or a folder of results (again, emulated, '
        'reference); did you mean "again"?'
    ]  # fmt: skip
