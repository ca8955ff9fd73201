"""The whole workflow at smoke effort: what a user gets, and what happens when it is started again."""

import csv
import json
import resource

import pytest

from tests.reports.conftest import snakemake
from tests.support import quick_yaml

pytestmark = pytest.mark.cluster


def jobs_run(done) -> set[str]:
    return {line.split("Rule: ")[1].rstrip(")") for line in done.stderr.splitlines() if "Finished jobid" in line}


def results(project):
    return project / "results" / "emulated" / "emulex-2012"


def test_every_run_was_made_and_every_claim_has_a_verdict(project):
    design = list(csv.DictReader((results(project) / "design.csv").open()))
    runs = {path.parent.name for path in results(project).glob("raw/*/runs/*/run.json")}
    assert runs == {row["run_id"] for row in design}
    paper = quick_yaml.load((project / "config" / "papers" / "emulex-2012.yaml").read_text())
    verdicts = list(csv.DictReader((results(project) / "analysis" / "verdicts.csv").open()))
    assert [row["claim"] for row in verdicts] == [claim["id"] for claim in paper["claims"]]
    assert len(verdicts) == 42
    assert all(row["verdict"] and row["reason"] for row in verdicts)


def test_measured_rates_obey_the_links(project):
    rows = list(csv.DictReader((results(project) / "tidy" / "runs.csv").open()))
    shares = {
        (row["fabric"], row["clients"], row["puts_per_client"]): float(row["value"])
        for row in rows
        if row["metric"] == "link_share" and row["valid"] == "true"
    }
    assert all(0 < share < 1 for share in shares.values())
    assert shares["10gbe", "1", "8"] < shares["1gbe", "1", "8"]


def test_a_second_start_does_nothing_and_is_quick(project):
    before = {path: path.stat().st_mtime_ns for path in (project / "results").rglob("*") if path.is_file()}
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = snakemake(project)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Of the processors, since tests share them; it takes as long on an idle machine, some 5 s.
    assert (end.ru_utime + end.ru_stime) - (begin.ru_utime + begin.ru_stime) < 10
    assert done.returncode == 0
    assert jobs_run(done) == set()
    after = {path: path.stat().st_mtime_ns for path in (project / "results").rglob("*") if path.is_file()}
    assert {path: stamp for path, stamp in after.items() if path in before} == before


@pytest.mark.slow  # what would run is in tests/integration/test_workflow.py
def test_a_changed_document_renders_only_itself(project):
    path = project / "paper" / "emulex-2012.qmd"
    path.write_text(path.read_text() + "\nThe end.\n")
    done = snakemake(project)
    assert done.returncode == 0, done.stderr[-2000:]
    assert jobs_run(done) == {"paper", "all"}


@pytest.mark.slow  # likewise, and verdicts by other rules: test_reference.py
def test_a_changed_claim_judges_again_and_measures_nothing(project):
    path = project / "config" / "papers" / "emulex-2012.yaml"
    path.write_text(path.read_text().replace("up to four times faster than 1GbE", "up to 4 times faster than 1GbE", 1))
    before = {path: path.stat().st_mtime_ns for path in results(project).glob("raw/*/runs/*/*")}
    done = snakemake(project)
    assert done.returncode == 0, done.stderr[-2000:]
    assert {"analysis", "paper"} <= jobs_run(done)
    assert "measure" not in jobs_run(done)
    assert {path: path.stat().st_mtime_ns for path in results(project).glob("raw/*/runs/*/*")} == before


def test_the_snakemake_report_holds_verdicts_and_figures(project):
    done = snakemake(project, "--report", "report.html")
    assert done.returncode == 0, done.stderr[-2000:]
    text = (project / "report.html").read_text()
    assert "verdicts.csv" in text
    assert "response.png" in text


def test_the_run_records_say_what_made_them(project):
    paper = quick_yaml.load((project / "config" / "papers" / "emulex-2012.yaml").read_text())
    for path in results(project).glob("raw/*/runs/*/run.json"):
        record = json.loads(path.read_text())
        assert len(record["commit"]) == 40 or record["commit"] == "unknown"
        assert record["scale"]["k"] in paper["scale"]["k"]
