"""A new paper: two files from a few answers, valid and rendered as they are; nothing is written over."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.kept import empty_tables
from whitewire import cli
from whitewire.description.checks import load_paper
from whitewire.description.drafts import open_to_dos
from whitewire.description.files import schema
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.errors import UserError
from whitewire.workflow import new_paper
from whitewire.workflow.new_paper import FIRST_EXPERIMENTS, write_paper
from whitewire.workflow.outlook import outlook_lines
from whitewire.workflow.plan import Plan

HOME = Path(__file__).resolve().parents[3]
PUTS = {"workload": "hdfs_put", "metric": "throughput"}
NASTY = r"""Faster *Ingest* & `r stop("no")` with Acme: [x](y) "A" <b> $x$ @fig-x"""


def answers(**more):
    return {
        "id": "acme-2019", "title": NASTY, "publisher": "Acme Networks", "year": 2019,
        "source": {"authors": ["Doe, Jane"], "url": "https://example.com/paper.pdf", "accessed": "2026-11-26"},
        "exhibits": [{"id": "fig1", "caption": NASTY}, {"id": "table1", "caption": "The cluster"}],
        "claims": [
            {"statement": NASTY, "exhibit": "fig1", "form": "ratio", "printed": "6x", "fabric": "40gbe",
             "over": "1gbe", **PUTS},
            {"statement": "Fast", "form": "value", "printed": "118 MiB/s", "fabric": "1gbe", "exhibit": "table1",
             **PUTS},
            {"statement": "Soon", "form": "value", "printed": "22 s", "fabric": "1gbe", "workload": "hdfs_put",
             "metric": "completion_time"},
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
    output = capsys.readouterr().out
    assert "made config/papers/acme-2019.yaml and paper/acme-2019.qmd" in output
    assert output.splitlines()[:3] == [
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
        assert f"{kept}: exists and is not overwritten" in capsys.readouterr().err
        assert (project / kept).read_text() == "mine" and not (other and (project / other).exists())
        (project / kept).unlink()
        (project / "paper" / "acme-2019.qmd").touch()


def claim(**more):
    return {
        "claims": [
            {"statement": "S", "form": "ratio", "printed": "6x", "fabric": "10gbe", "over": "1gbe", **PUTS, **more}
        ]
    }


FAULTS = {
    "an unknown key": ({"titel": "T"}, 'titel: found an unknown key, expected one of'),
    "an id that is no name": ({"id": "Acme 2019"}, 'id: found "Acme 2019", expected text like'),
    "an id that results use": ({"id": "links"}, 'id: found "links", expected another name than calibration, '),
    "an unknown network": (claim(fabric="10gb"), 'claims[0].fabric: found "10gb", expected one of'),
    "an unknown exhibit": (claim(exhibit="fig2"), 'claims[0].exhibit: found "fig2", expected one of fig1, table1'),
    "no number": (claim(printed="fast"), 'claims[0].printed: found "fast", expected text that begins with a'),
    "several readings": (
        claim(printed="60%"),
        'claims[0].printed: found "60%", expected `reads_as` beside it, which says "1.6 times" or "0.6 '
        'times" or "0.4 times"',
    ),
    "a reading that it has not": (
        claim(printed="60%", reads_as="1.5 times"),
        'claims[0].printed: found reads_as "1.5 times", expected one of 1.6 times, 0.6 times, 0.4 times; did you mean',
    ),
    "a ratio beyond what is usual": (
        claim(printed="60x"), 'printed: "60x" reads as 60 times, beyond 20: if that is so, say `reads_as: 60 times`',
    ),
    "a ratio far below it": (claim(printed="97 % lower"), "reads as 0.03 times, beyond 20"),
    "a comma that groups, or does not": (claim(printed="2,500x"), "reads as 2,500 times, beyond 20"),
    "no workload": (
        {"claims": [{"statement": "S", "form": "ratio", "printed": "6x", "fabric": "10gbe", "over": "1gbe"}]},
        "claims[0].workload: found nothing, expected it for form ratio",
    ),
    "a workload that new-paper cannot begin": (
        claim(workload="terasrt"), 'claims[0].workload: found "terasrt", expected one of hdfs_put, testdfsio, teragen',
    ),
    "a metric of another workload": (
        claim(metric="write_throughput"),
        'claims[0].metric: found "write_throughput", expected one of throughput, completion_time of hdfs_put',
    ),
    "another metric": (
        claim(printed="half the time"),
        'claims[0].printed: found "half the time", expected a factor of throughput, not of completion_time',
    ),
    "a time for a rate": (
        claim(form="value", printed="22 s"), "claims[0].printed: expected a rate (MB/s), found a time (s)",
    ),
    "a ratio of one network": (
        {"claims": [{"statement": "S", "form": "ratio", "printed": "6x", "fabric": "10gbe", **PUTS}]},
        "claims[0].over: found nothing, expected it for form ratio",
    ),
    "two names of the same links": (
        claim(fabric="10g-ipoib", over="10gbe"),
        'claims[0].over: found "10gbe", whose links are those of 10g-ipoib in a claim on hdfs_put too; expected one',
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
    output = capsys.readouterr().err
    assert said in output and output.count("\n") == 1
    assert not list((project / "config" / "papers").iterdir()) and not list((project / "paper").iterdir())


PRINTED = {
    "50 % faster": ("throughput", {"relation": "within", "relative": 0.1}, 1.5),
    "+60%": ("throughput", {"relation": "within", "relative": 0.1}, 1.6),
    "half the time": ("completion_time", {"relation": "within", "relative": 0.1}, 0.5),
    "2,5x": ("throughput", {"relation": "within", "relative": 0.1}, 2.5),
    "3-5x": ("throughput", {"relation": "within", "lower": 3.0, "upper": 5.0}, 4),
    "4X": ("throughput", {"relation": "within", "relative": 0.1}, 4),
    "up to 3 times": ("throughput", {"relation": "within", "relative": 0.1}, 3),
    "more than 2x faster": ("throughput", {"relation": "above"}, 2),
    "at least 40 % less time": ("completion_time", {"relation": "below"}, 0.6),
}


@pytest.mark.parametrize("text", PRINTED)
def test_what_a_vendor_prints_becomes_a_test_of_that_number(project, text):
    metric, asks, expected = PRINTED[text]
    assert made(project, answers(**claim(printed=text, metric=metric))) == 0
    paper = load_paper(project / "config" / "papers" / "acme-2019.yaml", fabric_names(load_testbed("emulated")))
    (made_claim,) = paper.claims
    assert asks.items() <= made_claim["test"].items()
    assert paper.evaluate(made_claim["test"]["expected"]) == pytest.approx(expected)
    assert ("maximum_ratio" in made_claim["why"]) == text.startswith("up to")


@pytest.mark.parametrize("workload", FIRST_EXPERIMENTS)
def test_each_workload_has_an_experiment_of_its_own(project, monkeypatch, workload):
    begun = FIRST_EXPERIMENTS[workload]
    claims = [claim(workload=workload, metric=metric, printed=f"2x the {'time' if 'time' in metric else 'throughput'}")
              for metric in begun.metrics]  # fmt: skip
    assert made(project, answers(claims=[each for one in claims for each in one["claims"]])) == 0
    monkeypatch.setenv("PAPERS", "acme-2019")
    plan = Plan.load()
    rows = plan.designs["acme-2019"]
    paper = plan.described["acme-2019"]
    assert {row["workload"] for row in rows} == {workload}
    assert {claim["test"]["numerator"]["experiment"] for claim in paper.claims} == {begun.id}
    assert [claim["test"]["metric"] for claim in paper.claims] == [names[0] for names in begun.metrics.values()]
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    text = "".join(outlook_lines(paper, rows, load_testbed("emulated")))
    assert "too many" not in text and "beyond the jobs' startup overhead" not in text


def test_a_network_of_another_name_takes_the_place_of_the_templates(project):
    assert made(project, answers(**claim(fabric="10g-ipoib", over="1gbe-shared"))) == 0
    paper = yaml.safe_load((project / "config" / "papers" / "acme-2019.yaml").read_text())
    assert paper["experiments"][0]["factors"]["fabric"] == ["1gbe", "1gbe-shared", "2gbe", "5gbe", "10g-ipoib", "20gbe"]


def test_claims_on_two_workloads_make_two_experiments_with_controls(project):
    both = claim()["claims"] + claim(workload="terasort", metric="completion_time", printed="1/2 the time",
                                     fabric="40gbe", over="10gbe")["claims"]  # fmt: skip
    assert made(project, answers(claims=both)) == 0
    paper = yaml.safe_load((project / "config" / "papers" / "acme-2019.yaml").read_text())
    assert [each["id"] for each in paper["experiments"]] == ["ingest", "terasort"]
    assert [(each["id"], each["cell"]["where"]["fabric"], each["really"]["fabric"]) for each in paper["controls"]] == [
        ("A-K01", "1gbe", "10gbe"), ("A-K02", "10gbe", "1gbe"),
        ("A-K03", "10gbe", "40gbe"), ("A-K04", "40gbe", "10gbe"),
    ]  # fmt: skip
    assert paper["experiments"][1]["smoke_cells"] == [{"fabric": "10gbe"}, {"fabric": "40gbe"}]


def test_the_schema_names_the_workloads_and_their_metrics():
    claims = schema("new-paper")["properties"]["claims"]["items"]["properties"]
    assert claims["workload"]["enum"] == list(FIRST_EXPERIMENTS)
    metrics = {metric for begun in FIRST_EXPERIMENTS.values() for metric in begun.metrics}
    assert set(claims["metric"]["enum"]) == metrics


def test_validate_lists_what_is_still_to_be_done(project, monkeypatch, capsys):
    made(project, answers(title="Faster Ingest", **claim(printed="up to 3 times")))
    path = project / "config" / "papers" / "acme-2019.yaml"
    to_dos = [what for _, what in open_to_dos(path)]
    assert {"the paper's hosts", "the paper's files, blocks and copies"} <= set(to_dos)
    assert "k and bytes, where `whitewire plan` proposes others" in to_dos
    assert [what for what in to_dos if what.startswith("say why 10% is the tolerance")]
    capsys.readouterr()
    monkeypatch.setenv("PAPERS", "acme-2019")
    monkeypatch.setattr("whitewire.install.doctor.preflight", lambda testbed: None)
    assert cli.main(["validate"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert len([line for line in said if ": to do: " in line]) == len(to_dos)
    place, _ = open_to_dos(path)[0]
    assert f"config/papers/acme-2019.yaml: line {place}: to do: {to_dos[0]}" in said


def test_it_asks(project, monkeypatch, capsys):
    said = iter([
        "Acme", "acme-2019", "Faster", "Acme Networks", "2019", "Doe, Jane; Acme", "https://example.com/p", "",
        "2026-11-26",
        "fig1", "Ingest", "",
        "Six times as fast", "ratoi", "ratio", "fig1", "hdfs_put", "fast", "", "6x", "", "no", "6x", "", "yes", "", "",
        "TeraSort takes half the time", "ratio", "", "terasort", "half the time", "", "", "", "",
        "60 percent", "ratio", "", "hdfs_put", "60%", "", "1", "", "",
        "Sixty times", "ratio", "", "hdfs_put", "60x", "", "no", "60x", "", "1", "", "",
        "Less load", "not_testable", "", "the adapter", "",
    ])  # fmt: skip
    asked = []
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or next(said))
    answers = new_paper.ask()
    write_paper(answers, "new-paper")
    output = capsys.readouterr().out
    assert 'found "ratoi", expected ratio, value, not_testable; did you mean "ratio"?' in output
    assert 'found "fast", expected text that begins with a number' in output
    assert '  "6x" reads as 6 times, right? [yes]: ' in asked
    assert '  "half the time" reads as 0.5 times, right? [yes]: ' in asked
    assert "  Of what: completion_time, throughput [completion_time]: " in asked
    assert '  "60%" may read as 1: 1.6 times, 2: 0.6 times, 3: 0.4 times; which, or no?: ' in asked
    assert '  "60x" may read as 1: 60 times; which, or no?: ' in asked
    assert answers["source"] == {
        "authors": ["Doe, Jane", "Acme"],
        "url": "https://example.com/p",
        "accessed": "2026-11-26",
    }
    found = [claim.get("workload") for claim in answers["claims"]]
    assert found == ["hdfs_put", "terasort", "hdfs_put", "hdfs_put", None]
    assert [claim.get("reads_as") for claim in answers["claims"]] == [None, None, "1.6 times", "60 times", None]
    assert answers["claims"][0]["fabric"] == "10gbe" and answers["claims"][4]["missing"] == "the adapter"


def test_answers_that_are_wrong_are_not_lost(project, monkeypatch, capsys):
    monkeypatch.setattr(new_paper, "ask", lambda: answers(source={"url": "no address"}))
    assert cli.main(["new-paper"]) == 2
    printed = capsys.readouterr()
    assert 'your answers: source.url: found "no address"' in printed.err
    assert yaml.safe_load(printed.out)["claims"] == answers()["claims"]


def test_answers_that_end_are_reported(project, monkeypatch):
    def ended(question):
        raise EOFError

    monkeypatch.setattr("builtins.input", ended)
    with pytest.raises(UserError, match="the answers ended before the last question"):
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
    empty_tables(results / "tidy", ["fabric"])
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
    for text in ("DRAFT.", "blocks and copies", 'id="fig-experiment-ingest"'):
        assert (text in page) == runs, text
