"""What `make claim` says before it measures: a claim that needs no runs is answered, what others take is printed."""

import re
import shutil
from types import SimpleNamespace

import pytest

from tests.support import kept, trusted
from whitewire.analysis.one_claim import rows_of_claim
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design.rows import make_design
from whitewire.workflow import ahead, missing, one_claim, plan
from whitewire.workflow.one_claim import run_claim

TESTBED = load_testbed("emulated")
PAPER = load_paper(project.paper_path("emulex-2012"), fabric_names(TESTBED))


@pytest.fixture
def said(monkeypatch, tmp_path, capsys):
    """What is printed for a claim, and the files that Snakemake makes for it, where nothing is measured yet."""
    for module in (ahead, missing, one_claim, plan):
        monkeypatch.setattr(module, "root", lambda: tmp_path)
    monkeypatch.setattr(one_claim, "preflight", lambda testbed: None)
    for name in ("PAPERS", "TESTBED", "EFFORT", "BUDGET", "AGAIN"):
        monkeypatch.delenv(name, raising=False)

    def said(claim, **environ):
        for name, value in {"WHITEWIRE_CLAIM": claim, **environ}.items():
            monkeypatch.setenv(name, value)
        made = []
        monkeypatch.setattr(one_claim, "run_workflow", lambda options, again: made.append((options, again)) or 3)
        assert run_claim(["--cores", "2"]) == (3 if made else 0)
        assert all(options == ["claim", "--cores", "2"] for options, _ in made)
        return SimpleNamespace(out=capsys.readouterr().out, files=[file for _, again in made for file in again])

    return said


@pytest.mark.parametrize("claim, verdict", [
    ("E-C03", "consistent"), ("E-C37", "not testable here"), ("E-C02", None), ("E-C01", None),
])  # fmt: skip
def test_only_claims_that_runs_judge_need_runs(claim, verdict):
    row = one_claim.without_runs(PAPER, TESTBED, "quick", claim)
    assert (row and row["verdict"]) == verdict


def test_a_claim_that_needs_no_runs_is_answered_at_once(said):
    output = said("E-C03")
    assert output.files == [] and output.out.startswith("E-C03: no run judges it here: consistent: recomputed ")
    assert said("E-C37").out.startswith("E-C37: no run judges it here: not testable here: ")


def test_what_a_claim_takes_is_reported_with_the_files_that_snakemake_makes(said):
    output = said("E-C02", BUDGET="20m")
    assert output.files == ["results/emulated/emulex-2012/raw/quick-1/block.json"]
    assert output.out.startswith("E-C02 of emulex-2012: at most ") and "; verdict after about " in output.out


def test_the_paper_of_a_claim_is_found_among_all(said):
    assert said("U-C01").out.partition(":")[0].split()[0] == "U-C01"


def test_an_effort_that_makes_none_of_it_names_one_that_does(said):
    made = {claim["id"]: one_claim.one_claim.made_at(PAPER, claim["id"]) for claim in PAPER.claims}
    emulated = (claim["id"] for claim in PAPER.claims if "emulated" in claim["routes"])
    few = next(claim for claim in emulated if made[claim][:1] == ["quick"])
    output = said(few, EFFORT="smoke")
    assert output.files == [] and output.out == f"{few}: effort smoke does not make all its cells; EFFORT=quick does\n"


@pytest.fixture
def measured(said, monkeypatch, tmp_path):
    """A finished block at quick effort, on whose links of 10 Gbit/s runs take a tenth of the time; a verdicts.csv of an
    earlier start that says six."""
    folder = kept.project(tmp_path)
    path = folder / "config" / "papers" / f"{kept.PAPER}.yaml"
    path.write_text(path.read_text().replace("k: 30", "k: 20"))  # that of the run which the block's are made from
    own = kept.results(folder) / kept.PAPER
    paper = load_paper(path, fabric_names(TESTBED))
    rows = make_design(paper, TESTBED, "quick", 7)
    own_rows = rows_of_claim(paper, "N-C01", rows)
    monkeypatch.chdir(folder)

    def make(left=()):
        shutil.rmtree(own / "raw")
        trusted.block(own / "raw" / "quick-1", paper, rows, left=left)

    def changed(old="", new=""):
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
        return said("N-C01")

    make()
    changed.make, changed.rows, changed.own = make, own_rows, own
    return changed


NARROW, WIDE = "relative: 0.1\n    no_effect", "relative: 0.8\n    no_effect"


@pytest.mark.parametrize("tolerance, verdict", [(NARROW, "more than claimed"), (WIDE, "reproduced")])
def test_a_claim_that_is_decided_is_judged_as_its_paper_is_now(measured, tolerance, verdict):
    output = measured(NARROW, tolerance)
    found = re.match(r"N-C01: claimed 6 times; here ([\d.]+) \(.*\), 6 runs a cell: (.*)\n", output.out)
    assert output.files == [] and found and (float(found[1]), found[2]) == (pytest.approx(10, rel=0.02), verdict)


def test_a_claim_whose_runs_became_others_is_measured(measured):
    assert measured("puts_per_client: 4", "puts_per_client: 3").files[-1].endswith("raw/quick-1/block.json")


def test_an_open_verdict_of_another_effort_or_tolerance_keeps_no_claim_open(measured):
    """One run of the claim is left to make; the others decide it."""
    measured.make(left=[measured.rows[-1]["run_id"]])
    path = measured.own / "analysis" / "verdicts.csv"
    path.write_text(path.read_text().replace(",reproduced,", ",inconclusive,"))
    assert measured().files == []


OPEN = "relative: 0.6667\n    no_effect"  # up to 10.0002, which the interval overlaps


@pytest.mark.parametrize("of, files", [("N-K", 0), ("ingest", 1)])
def test_an_open_claim_is_measured_where_its_next_interim_analysis_keeps_runs(measured, of, files):
    """Controls that held need none of their last runs."""
    last = [row["run_id"] for row in measured.rows if row["replicate"] == 6]
    measured.make(left=[run_id for run_id in last if run_id.startswith(of)])
    measured("replicates:\n", "looks: { quick: [3, 6] }\nreplicates:\n")
    output = measured(NARROW, OPEN)
    assert len(output.files) == files and output.out.startswith("N-C01 of " if files else "N-C01: claimed 6 times; ")
    assert files or ": inconclusive\nwhy: " in output.out
