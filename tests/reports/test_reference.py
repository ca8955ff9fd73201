"""Results that were measured elsewhere: reports made from a small reference and from a crate, and a run beside it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import compared, forked, kept
from tests.support.kept import COMMIT, PAPER
from whitewire.cli import main
from whitewire.records.manifest import manifest_faults
from whitewire.report import rebuild

pytestmark = pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")


MISSING = ("java", "javac", "mvn", "unshare", "nsenter", "ceph-mon", "ceph-fuse", "iperf3", "fio")
"""What reports of results from elsewhere do without: Java, user namespaces, Ceph, what measures."""


def run(project: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """A command of whitewire in a project, where nothing calls what a machine for reports lacks.

    Each of these is a stand-in that fails and leaves a mark: a PATH without them would not do, since the command adds
    the system's own folders, where R is too.
    """
    fakes, mark = project / "missing", project / "called"
    fakes.mkdir(exist_ok=True)
    for name in MISSING:
        (fakes / name).write_text(f'#!/bin/sh\necho "{name} $*" >>{mark}\nexit 127\n')
        (fakes / name).chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name not in (*rebuild._OVERRIDES, "JAVA_HOME")}
    environment["PATH"] = f"{fakes}{os.pathsep}{environment['PATH']}"
    assert shutil.which("java", path=environment["PATH"]) == str(fakes / "java")
    done = forked.run([str(Path(sys.executable).parent / "whitewire"), *argv], project, environment)
    assert not mark.exists(), mark.read_text()
    return done


def words(page: Path) -> str:
    """The text of a page of HTML."""
    text = re.sub(r"<(script|style)[\s\S]*?</\1>", " ", page.read_text(encoding="utf-8"))
    return " ".join(re.sub(r"<[^>]+>", " ", text).replace("&nbsp;", " ").replace("\u2019", "'").split())


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A project with a reference, all reports of it, and a further run that found something else."""
    folder = kept.project(tmp_path_factory.mktemp("project"))
    kept.links(kept.results(folder))
    done = run(folder, "reference")
    assert (done.returncode, done.stdout) == (0, "results/reference\n"), done
    done = run(folder, "report")
    assert done.returncode == 0, done
    assert done.stdout == "results/opened/reference/reports/index.html\n"
    return folder


def test_every_report_is_there_and_the_reference_as_it_was(project) -> None:
    reports = project / "results" / "opened" / "reference" / "reports"
    made = {path.name for path in reports.iterdir() if path.is_file()}
    assert made == {"index.html", f"{PAPER}.html", f"{PAPER}.pdf", f"{PAPER}.brief.pdf", "testbed.html", "testbed.pdf"}
    assert "(testbed.html)" not in words(reports / f"{PAPER}.html")
    assert 'href="testbed.html"' in (reports / f"{PAPER}.html").read_text(encoding="utf-8")
    assert list((reports / "figures" / PAPER).glob("*.png")) and list((reports / "data" / PAPER).glob("*.csv"))
    assert manifest_faults(project / "results" / "reference") == []


def test_verdicts_and_tables_are_the_same_byte_for_byte(project) -> None:
    opened = project / "results" / "opened" / "reference" / "results" / "emulated" / PAPER
    own = project / "results" / "emulated" / PAPER
    names = [path.relative_to(own) for stage in ("tidy", "analysis") for path in (own / stage).iterdir()]
    assert len(names) > 20
    for name in names:
        assert (opened / name).read_bytes() == (own / name).read_bytes(), name


def test_the_start_page_says_where_the_results_are_from(project) -> None:
    text = words(project / "results" / "opened" / "reference" / "reports" / "index.html")
    assert f"These are the reference results, measured on emulated at quick effort by commit {COMMIT[:12]}" in text
    assert f"{PAPER}.html" in (project / "results" / "opened" / "reference" / "reports" / "index.html").read_text()


@pytest.mark.parametrize("gain", [1.0, 2.0])
def test_the_start_page_of_another_run_says_how_it_agrees(project, gain) -> None:
    results = kept.results(project, seed=2, gain=gain, name=f"again-{gain:.0f}")
    done = run(project, "render", "--results", str(results), "--paper", "index")
    assert done.returncode == 0, done
    text = words(results / "reports" / "index.html")
    if gain == 1:
        assert "Of the claims judged in both 4 of 4 have the same verdict (100 %, Cohen's κ 1.00)" in text
        assert "They agree : no claim that both decide has another verdict; of 1 estimate with intervals" in text
        assert "No verdict is another one, and no estimate is known to differ." in text
    else:
        assert "Of the claims judged in both 3 of 4 have the same verdict (75 %, Cohen's κ" in text
        assert "They do not agree : they decide 1 claim differently; of 1 estimate with intervals" in text
        assert "Claims that are not alike:" in text
        row = text.partition("Intervals overlap N-C01 ")[2]
        assert row.startswith("Ingest on 10GbE is six times as fast as on 1GbE reproduced more than claimed 6 ("), row
    assert "In detail: make compare A=reference B=again-" in text
    section = text.partition("Beside the reference")[2].partition("Every verdict")[0]
    assert not re.search(r"\bNA\b|\bNULL\b|\bNaN\b", section)


def damage(results: Path, paper: str) -> None:
    """Have verdicts that runs did not give."""
    verdicts = results / paper / "analysis" / "verdicts.csv"
    verdicts.write_text(verdicts.read_text().replace(",reproduced,", ",not reproduced,"))


def test_the_start_page_shows_no_verdict_that_was_edited(project) -> None:
    results = kept.results(project, seed=3, name="edited")
    damage(results, PAPER)
    compared.write(results, "another-2026", [compared.claim("C1", 4.0, 3.8, 4.2, reason="made up")])
    done = run(project, "render", "--results", str(results), "--paper", "index")
    assert done.returncode == 2 and done.stderr.count("whitewire: error: ") == 1, done
    assert f"edited/{PAPER}/analysis/verdicts.csv: found " in done.stderr
    text = words(results / "reports" / "index.html")
    assert "1 paper, 1 claim, each with a verdict by rule" in text
    assert "Left out because its tables are damaged:" in text and "Left out because their tables are damaged:" in text
    assert f"{PAPER}/analysis/verdicts.csv: found " in text
    assert "N-C01" not in text and "The reference results cannot be compared with" not in text
    assert not re.search(r"\bNA\b|\bNULL\b|\bNaN\b", text.partition("Code and rules")[0])


def test_a_start_page_of_damaged_papers_alone_says_so(project) -> None:
    results = kept.results(project, seed=3, name="all-edited")
    damage(results, PAPER)
    done = run(project, "render", "--results", str(results), "--paper", "index")
    assert done.returncode == 2 and done.stderr.count("whitewire: error: ") == 1, done
    text = words(results / "reports" / "index.html")
    assert "0 papers, 0 claims" in text and "Left out because its tables are damaged:" in text


def test_compare_takes_the_reference_by_its_name(project) -> None:
    kept.results(project, seed=6, name="site")
    done = run(project, "compare", "reference", "site")
    assert done.returncode == 0, done
    text = words(project / "results" / "compare" / "reference-site" / "compare.html")
    assert "They agree : no claim that both decide has another verdict" in text
    assert "All claims 4 4 100 % 1.00 0 0 0 0" in text


@pytest.fixture
def without_pages(monkeypatch) -> None:
    """`report` judges and makes no pages, which the tests above make by the same command."""
    stage = rebuild._said

    def said(top: Path, argv: list[str]) -> list[str]:
        if argv[0] != "render":
            return stage(top, argv)
        page = top / rebuild.REPORTS / f"{argv[2]}.html"
        page.parent.mkdir(exist_ok=True)
        page.touch()
        return []

    monkeypatch.setattr(rebuild, "_said", said)


def test_a_crate_opened_elsewhere_makes_the_same_tables(project, tmp_path, monkeypatch, without_pages, capsys) -> None:
    done = run(project, "crate")
    assert (done.returncode, done.stdout) == (0, "results/crates/emulated.zip\n"), done
    other = kept.project(tmp_path / "other")
    shutil.copy(project / "results" / "crates" / "emulated.zip", other / "sent.zip")
    monkeypatch.chdir(other)
    assert main(["report", "--crate", "sent.zip"]) == 0
    assert capsys.readouterr().out == "results/opened/sent/reports/index.html\n"
    opened, own = other / "results" / "opened" / "sent" / "results" / "emulated", project / "results" / "emulated"
    for path in (own / PAPER / "analysis").iterdir():
        assert (opened / PAPER / "analysis" / path.name).read_bytes() == path.read_bytes(), path.name


def test_rules_that_changed_since_are_reported(project, tmp_path, monkeypatch, without_pages, capsys) -> None:
    """The paper asks for more now: nothing is measured again, and verdicts that differ are named."""
    other = kept.project(tmp_path / "other")
    shutil.copytree(project / "results" / "reference", other / "results" / "reference")
    paper = other / "config" / "papers" / f"{PAPER}.yaml"
    text = paper.read_text()
    assert text.count("    relative: 0.1\n") == 1
    paper.write_text(text.replace("    relative: 0.1\n", "    relative: 0.0001\n"))
    monkeypatch.chdir(other)
    assert main(["report", "--testbed", "reference"]) == 0
    line = rf"^verdicts that differ from the recorded ones: {PAPER} N-C01 \(\w[\w ]+, not reproduced\)$"
    assert re.search(line, capsys.readouterr().out, re.MULTILINE)
