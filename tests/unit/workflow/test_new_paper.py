"""A new paper: two files from a few answers, valid and rendered as they are; nothing is written over."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from whitewire import cli
from whitewire.errors import UserError
from whitewire.workflow import new_paper
from whitewire.workflow.plan import Plan

HOME = Path(__file__).resolve().parents[3]
NASTY = r"""Faster *Ingest* & `r stop("no")` with Acme: [x](y) "A" <b> $x$ @fig-x"""


def answers(**more):
    return {
        "id": "acme-2019", "title": NASTY, "publisher": "Acme Networks", "year": 2019,
        "source": {"authors": ["Doe, Jane"], "url": "https://example.com/paper.pdf", "accessed": "2026-11-26"},
        "exhibits": [{"id": "fig1", "caption": NASTY}, {"id": "table1", "caption": "The cluster"}],
        "claims": [
            {"statement": NASTY, "exhibit": "fig1", "form": "ratio", "printed": "6x", "fabric": "40gbe",
             "over": "1gbe"},
            {"statement": "Fast", "form": "value", "printed": "118 MiB/s", "fabric": "1gbe", "exhibit": "table1"},
            {"statement": "Soon", "form": "value", "printed": "22 s", "fabric": "1gbe", "metric": "completion_time"},
            {"statement": "Less load", "form": "not_testable", "missing": "the adapter"},
        ],
        **more,
    }  # fmt: skip


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project's folder with the testbeds and no paper."""
    shutil.copytree(HOME / "config", tmp_path / "config", ignore=shutil.ignore_patterns("papers"))
    (tmp_path / "config" / "papers").mkdir()
    (tmp_path / "paper").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in ("PAPERS", "TESTBED", "EFFORT"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def made(project, given):
    (project / "answers.yaml").write_text(yaml.safe_dump(given))
    return cli.main(["new-paper", "--from", "answers.yaml"])


def test_both_files_are_made_and_valid(project, monkeypatch, capsys):
    assert made(project, answers()) == 0
    told = capsys.readouterr().out
    assert "made config/papers/acme-2019.yaml and paper/acme-2019.qmd" in told
    assert told.splitlines()[:3] == [
        'claims[0].printed: "6x" reads as 6 times',
        'claims[1].printed: "118 MiB/s" reads as 123.7 MB/s',
        'claims[2].printed: "22 s" reads as 22 s',
    ]
    monkeypatch.setenv("PAPERS", "acme-2019")
    (cells,) = [{row["fabric"] for row in rows} for rows in Plan.load().designs.values()]
    assert cells == {"1gbe", "2gbe", "5gbe", "10gbe", "20gbe", "40gbe"}
    paper = yaml.safe_load((project / "config" / "papers" / "acme-2019.yaml").read_text())
    assert [claim["id"] for claim in paper["claims"]] == ["A-C01", "A-C02", "A-C03", "A-C04"]
    assert [(v["value"], v["unit"]) for v in paper["values"]] == [(6, "x"), ("118 MiB/s", "MB/s"), (22.0, "s")]
    assert [cell["fabric"] for cell in paper["experiments"][0]["smoke_cells"]] == ["1gbe", "40gbe"]
    assert paper["title"] == NASTY and "Made-up" not in str(paper) and "made-up" not in str(paper)
    assert "paper, Table 1" not in str(paper)
    document = (project / "paper" / "acme-2019.qmd").read_text()
    assert "`r stop" not in document and "N-V" not in document and "N-C" not in document


def test_nothing_is_written_over(project, capsys):
    made(project, answers())
    for kept, other in (("config/papers/acme-2019.yaml", "paper/acme-2019.qmd"), ("paper/acme-2019.qmd", None)):
        (project / kept).write_text("mine")
        if other:
            (project / other).unlink()
        assert made(project, answers()) == 2
        assert f"{kept}: is there already, and is not written over" in capsys.readouterr().err
        assert (project / kept).read_text() == "mine" and not (other and (project / other).exists())
        (project / kept).unlink()
        (project / "paper" / "acme-2019.qmd").touch()


def claim(**more):
    return {"claims": [{"statement": "S", "form": "ratio", "printed": "6x", "fabric": "10gbe", "over": "1gbe", **more}]}


FAULTS = {
    "an unknown key": ({"titel": "T"}, 'titel: found an unknown key, expected one of'),
    "an id that is no name": ({"id": "Acme 2019"}, 'id: found "Acme 2019", expected text like'),
    "an unknown network": (claim(fabric="10gb"), 'claims[0].fabric: found "10gb", expected one of'),
    "an unknown exhibit": (claim(exhibit="fig2"), 'claims[0].exhibit: found "fig2", expected one of fig1, table1'),
    "no number": (claim(printed="six times"), 'claims[0].printed: found "six times", expected text that begins with a'),
    "a factor with readings": (claim(printed="60%"), 'claims[0].printed: found "60%", expected "1.6x the throughput"'),
    "a range": (claim(printed="3-5x"), 'claims[0].printed: found "3-5x", expected one number; a test takes a range as'),
    "a bound": (claim(printed="up to 6x"), 'claims[0].printed: found "up to 6x", expected one number such as 6x'),
    "a decimal comma": (claim(printed="2,5x"), 'claims[0].printed: found "2,5x", expected 2.5x or 2,500x'),
    "a time for a rate": (
        claim(form="value", printed="22 s"), "claims[0].printed: expected a rate (MB/s), found a time (s)",
    ),
    "a ratio of one network": (
        {"claims": [{"statement": "S", "form": "ratio", "printed": "6x", "fabric": "10gbe"}]},
        "claims[0].over: found nothing, expected it for form ratio",
    ),
    "more claims than a paper has": (
        {"claims": [{"statement": "S", "form": "not_testable", "missing": "M"}] * 501}, "expected at most 500 items",
    ),
    "an address with a quote": ({"source": {"url": 'https://e.com/"x'}}, "source.url: found"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_wrong_answer_is_one_line_and_writes_nothing(project, capsys, name):
    more, said = FAULTS[name]
    assert made(project, answers(**more)) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1
    assert not list((project / "config" / "papers").iterdir()) and not list((project / "paper").iterdir())


def test_it_asks(project, monkeypatch, capsys):
    said = iter([
        "Acme", "acme-2019", "Faster", "Acme Networks", "2019", "Doe, Jane; Acme", "https://example.com/p", "",
        "2026-11-26",
        "fig1", "Ingest", "", "Six times as fast", "ratoi", "ratio", "fig1", "", "60%", "6x", "", "", "Less load",
        "not_testable", "", "the adapter", "",
    ])  # fmt: skip
    monkeypatch.setattr("builtins.input", lambda question: next(said))
    told = new_paper.ask()
    new_paper.new_paper(told, "new-paper")
    told_there = capsys.readouterr().out
    assert 'found "ratoi", expected ratio, value, not_testable; did you mean "ratio"?' in told_there
    assert 'found "60%", expected "1.6x the throughput" or' in told_there and '"6x" reads as 6 times' in told_there
    assert told["source"] == {
        "authors": ["Doe, Jane", "Acme"],
        "url": "https://example.com/p",
        "accessed": "2026-11-26",
    }
    assert told["claims"][0]["fabric"] == "10gbe" and told["claims"][1]["missing"] == "the adapter"


def test_answers_that_are_wrong_are_not_lost(project, monkeypatch, capsys):
    monkeypatch.setattr(new_paper, "ask", lambda: answers(source={"url": "no address"}))
    assert cli.main(["new-paper"]) == 2
    printed = capsys.readouterr()
    assert 'your answers: source.url: found "no address"' in printed.err
    assert yaml.safe_load(printed.out)["claims"] == answers()["claims"]


def test_answers_that_end_are_told(project, monkeypatch):
    def ended(question):
        raise EOFError

    monkeypatch.setattr("builtins.input", ended)
    with pytest.raises(UserError, match="the answers ended before all was asked"):
        new_paper.ask()


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")
@pytest.mark.parametrize("runs", [True, False], ids=["with runs", "without runs"])
def test_it_renders_at_once_without_results(tmp_path, runs):
    for name in ("src", "config", "paper", "docs", "workflow"):
        shutil.copytree(HOME / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    os.symlink(HOME / ".cache", tmp_path / ".cache")
    given = answers() if runs else answers(claims=answers()["claims"][-1:])
    (tmp_path / "answers.yaml").write_text(yaml.safe_dump(given))
    results = tmp_path / "results" / "emulated" / "acme-2019"
    (results / "tidy").mkdir(parents=True)
    head = "run_id,attempt,block,order,experiment,replicate,made_by,floor,fabric,metric,value,unit,full_scale_value"
    (results / "tidy" / "runs.csv").write_text(f"{head},full_scale_unit,valid,why_invalid\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}
    for command in (
        ["new-paper", "--from", "answers.yaml"],
        ["analyse", "--paper", "acme-2019", "--testbed", "emulated", "--results", str(results)],
        ["render", "--paper", "acme-2019", "--results", str(results.parent)],
    ):
        argv = [sys.executable, "-m", "whitewire", *command]
        done = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    page = (results.parent / "reports" / "acme-2019.html").read_text()
    assert 'id="sec-fig1"' in page and "Doe, Jane" in page and "Less load" in page
    assert "<b> $x$" not in page and "stop(" in page
