"""How far two results agree: kappa, which side decides, what chance explains, and what the start page gets."""

import json
import math
import shutil

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support import kept
from tests.support.compared import claim, run, write
from whitewire.cli import main
from whitewire.errors import UserError
from whitewire.report import agreement, bundle, comparison, rebuild, reference
from whitewire.report.agreement import AGREEMENT_RECORD, AGREEMENT_TABLE, agreement_of, is_of_bundle
from whitewire.report.bundle import BUNDLE_FILE, TESTBED_FILE
from whitewire.report.comparison import load_results
from whitewire.report.rebuild import opened_folder
from whitewire.report.reference import read_reference

VERDICTS = ["reproduced", "direction only", "not reproduced", "inconclusive", "not testable here"]
PAIRS = st.lists(st.tuples(st.sampled_from(VERDICTS), st.sampled_from(VERDICTS)), min_size=1, max_size=60)


def by_the_table(pairs):
    """Cohen's kappa from the table of both raters' counts, as textbooks write it."""
    table = pd.crosstab(pd.Series([a for a, _ in pairs]), pd.Series([b for _, b in pairs]))
    table = table.reindex(index=VERDICTS, columns=VERDICTS, fill_value=0).to_numpy() / len(pairs)
    expected = float(np.sum(table.sum(axis=0) * table.sum(axis=1)))
    return (float(np.trace(table)) - expected) / (1 - expected)


def test_kappa_of_the_textbook():
    """Two raters of 50 proposals: 20 both for, 15 both against, 5 and 10 apart."""
    pairs = [("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15
    assert agreement.kappa(pairs) == pytest.approx(0.4)


@given(PAIRS)
def test_kappa_is_that_of_the_table(pairs):
    found = agreement.kappa(pairs)
    if len({verdict for pair in pairs for verdict in pair}) == 1:
        assert found is None  # chance alone would agree
    else:
        assert found == pytest.approx(by_the_table(pairs), abs=1e-12)
        assert -1 <= found <= 1
        assert (found == 1) == all(a == b for a, b in pairs)


@given(PAIRS, st.permutations(VERDICTS))
def test_kappa_knows_neither_sides_nor_names_nor_order(pairs, others):
    found = agreement.kappa(pairs)
    assume(found is not None)
    renamed = dict(zip(VERDICTS, others, strict=True))
    assert agreement.kappa([(b, a) for a, b in pairs]) == pytest.approx(found)
    assert agreement.kappa([(renamed[a], renamed[b]) for a, b in pairs[::-1]]) == pytest.approx(found)


RATINGS = st.lists(st.sampled_from(VERDICTS), min_size=1, max_size=8)


@given(RATINGS, RATINGS)
def test_kappa_of_independent_raters_is_nought(one, two):
    assume(len({*one, *two}) > 1)
    assert agreement.kappa([(a, b) for a in one for b in two]) == pytest.approx(0, abs=1e-12)


def test_kappa_of_nothing():
    assert agreement.kappa([]) is None


# -- verdicts


@pytest.mark.parametrize(
    "a, b, expected",
    [
        ("reproduced", "reproduced", "same"),
        ("inconclusive", "inconclusive", "same"),
        ("reproduced", "not reproduced", "other"),
        ("reproduced", "direction only", "other"),
        ("reproduced", "inconclusive", "only A decided"),
        ("not testable here", "consistent", "only B decided"),
        ("inconclusive", "not testable here", "neither decided"),
    ],
)
def test_how_two_verdicts_stand_to_each_other(a, b, expected):
    assert comparison.stands(a, b) == expected


@pytest.mark.parametrize(
    "a, b, expected",
    [
        ((1, 0.9, 1.1), (1.2, 1.1, 1.3), "yes"),
        ((1, 0.9, 1.1), (1.2, 1.11, 1.3), "no"),
        ((1, 0.5, 1.5), (1, 0.9, 1.1), "yes"),
        ((1, None, None), (1, 0.9, 1.1), ""),
    ],
)
def test_whether_intervals_overlap(a, b, expected):
    assert comparison.overlap(a, b) == comparison.overlap(b, a) == expected


ENDS = st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)).map(sorted)


@given(ENDS, ENDS)
def test_intervals_without_a_common_value_differ(a, b):
    """The interval of the ratio is never wider than one end over the other."""
    one, two = ((math.sqrt(low * high), low, high) for low, high in (a, b))
    if comparison.overlap(one, two) == "no":
        assert comparison._against(one, two)["differs"] == "yes"


def compared(tmp_path, one, two):
    a, b = (load_results(write(tmp_path / side, claims=rows)) for side, rows in (("a", one), ("b", two)))
    return agreement_of(comparison.verdicts(a, b))


def test_counts_of_all_claims_and_of_those_that_runs_judge(tmp_path):
    arithmetic = {"route": "arithmetic", "n": None, "verdict": "consistent"}
    found = compared(
        tmp_path,
        [claim("C1", 4.0, 3.8, 4.2), claim("C2", 2.0, 1.9, 2.1), claim("C3", 3.0, 2.9, 3.1),
         claim("C4", 1, **arithmetic), claim("C5", 1.0)],
        [claim("C1", 4.1, 3.9, 4.3), claim("C2", 2.2, 1.5, 2.9, verdict="inconclusive"),
         claim("C3", 1.0, 0.9, 1.1, verdict="not reproduced"), claim("C4", 1, **arithmetic), claim("C6", 1.0)],
    )  # fmt: skip
    assert found["all"] == {"claims": 4, "same": 2, "other": 1, "only_a": 1, "only_b": 0, "neither": 0, "share": 0.5,
                            "kappa": pytest.approx(1 / 3)}  # fmt: skip
    assert found["runs"]["claims"] == 3 and found["runs"]["same"] == 1
    assert found["papers"] == {"made-up-2026": found["runs"]}
    assert found["estimates"] == {"compared": 3, "differ": 1, "by_chance": 1, "apart": 1}
    assert not found["agrees"]


def test_the_same_results_agree(tmp_path):
    rows = [claim("C1", 4.0, 3.8, 4.2), claim("C2", 2.0, 1.9, 2.1, verdict="not reproduced")]
    found = compared(tmp_path, rows, rows)
    assert found["agrees"] and found["all"]["share"] == found["all"]["kappa"] == 1


def test_a_verdict_that_only_one_reached_is_no_contradiction(tmp_path):
    found = compared(tmp_path, [claim("C1", 4.0, 3.8, 4.2)], [claim("C1", 4.0, 2.0, 8.0, verdict="inconclusive")])
    assert found["agrees"] and found["all"]["only_a"] == 1


def test_more_estimates_that_differ_than_chance_explains_are_no_agreement(tmp_path):
    """Of 20 estimates of the same thing one differs on average, and three at most in 95 of 100 comparisons."""

    def rows(other):
        return [claim(f"C{n}", 5.0 if n < other else 4.0, 4.9 if n < other else 3.9, 5.1 if n < other else 4.1)
                for n in range(20)]  # fmt: skip

    for differ, agrees in ((3, True), (4, False)):
        found = compared(tmp_path / str(differ), rows(0), rows(differ))
        assert found["estimates"] == {"compared": 20, "differ": differ, "by_chance": 3, "apart": differ}
        assert found["agrees"] is agrees


def test_runs_that_decide_nothing_on_both_sides_are_no_agreement(tmp_path):
    """Two beginnings without a verdict have the same one, which says nothing; arithmetic says nothing of runs."""
    arithmetic = claim("C4", 1, route="arithmetic", n=None, verdict="consistent")
    open_still = claim("C1", 4.0, verdict="inconclusive")
    assert compared(tmp_path / "open", [open_still, arithmetic], [open_still, arithmetic])["agrees"] is None
    another = arithmetic | {"verdict": "inconsistent"}
    assert compared(tmp_path / "other", [open_still, arithmetic], [open_still, another])["agrees"] is False
    decided = claim("C1", 4.0, 3.8, 4.2)
    assert compared(tmp_path / "decided", [decided], [decided])["agrees"] is True


# -- the start page


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with results and a reference made of them."""
    folder = kept.project(tmp_path / "project")
    kept.results(folder)
    monkeypatch.chdir(folder)
    for name in rebuild._OVERRIDES:
        monkeypatch.delenv(name, raising=False)
    assert main(["reference"]) == 0
    return folder


def beside(results, folder):
    return json.loads((agreement.beside_reference(results, folder) / AGREEMENT_RECORD).read_text())


def test_another_run_beside_the_reference(project, tmp_path):
    kept.results(project, seed=2, name="again")
    found = beside(project / "results" / "again", tmp_path / "beside")
    assert found["state"] == "compared" and found["agrees"] and found["messages"] == []
    assert found["all"]["claims"] == 4 and found["all"]["share"] == 1
    assert found["reference"]["commits"] == [kept.COMMIT]
    assert len(pd.read_csv(tmp_path / "beside" / AGREEMENT_TABLE)) == 4


def test_a_run_that_found_something_else(project, tmp_path):
    kept.results(project, effort="full", gain=2, name="again")
    found = beside(project / "results" / "again", tmp_path / "beside")
    assert not found["agrees"] and found["runs"]["other"] == 1
    assert found["estimates"]["differ"] == found["estimates"]["apart"] == 1
    messages = [line["message"] for line in found["messages"]]
    assert "the effort is quick in the reference, full in this run: runs differ in number, and may in bytes" in messages


def test_a_run_of_other_papers_has_nothing_in_common(project, tmp_path):
    write(project / "results" / "site", "another-2026", [claim("C1")], design=[run()])
    found = beside(project / "results" / "site", tmp_path / "beside")
    assert found["all"]["claims"] == 0 and found["messages"] == []


def test_the_reference_itself_is_not_compared(project, tmp_path):
    record, files = read_reference()
    results = bundle.unpack(opened_folder("reference"), record, files.items())
    assert beside(results, tmp_path / "beside")["state"] == "itself"


def test_a_run_of_equal_numbers_and_other_tables_is_another_run(project, tmp_path):
    """results.json of both has the same bytes."""
    record, files = read_reference()
    other = load_results(kept.results(project, seed=2, name="again"))
    opened = opened_folder("reference")
    results = bundle.unpack(opened, record, files.items())
    again = project / "results" / "again" / kept.PAPER
    shutil.rmtree(results / kept.PAPER)
    shutil.copytree(again, results / kept.PAPER)
    assert (opened / BUNDLE_FILE).read_bytes() == files[BUNDLE_FILE]
    found = beside(results, tmp_path / "beside")
    assert found["state"] == "compared" and found["all"]["claims"] == len(other[kept.PAPER].verdicts)
    assert not is_of_bundle(results, files)


@pytest.mark.parametrize("name", [TESTBED_FILE, f"{kept.PAPER}/design.csv", f"{kept.PAPER}/raw/quick-1/block.json",
                                  f"{kept.PAPER}/tidy/runs.csv"])  # fmt: skip
def test_a_bundle_of_another_file_is_another_one(project, tmp_path, name):
    record, files = read_reference()
    results = bundle.unpack(tmp_path / "opened", record, files.items())
    assert is_of_bundle(results, files)
    assert not is_of_bundle(results, files | {name: files[name] + b"\n"})
    judged = {each: b"" if "/analysis/" in each else content for each, content in files.items()}
    assert is_of_bundle(results, judged)  # which is judged anew


def test_a_fault_of_the_run_is_none_of_the_reference(project, tmp_path):
    results = kept.results(project, seed=2, name="again")
    (results / kept.PAPER / "analysis" / "verdicts.csv").write_text("claim\n")
    with pytest.raises(UserError, match=r"again/made-up-2026/analysis/verdicts\.csv: found 6 bytes"):
        agreement.beside_reference(results, tmp_path / "beside")
    found, damaged = comparison.sound(results)
    assert found == {} and list(damaged) == [kept.PAPER]
    record = agreement.beside_reference(results, tmp_path / "beside", found) / AGREEMENT_RECORD
    assert json.loads(record.read_text())["all"]["claims"] == 0


def test_a_broken_reference_disturbs_no_start_page(project, tmp_path):
    kept.results(project, seed=2, name="again")
    (project / "results" / "reference" / "results.json").write_text("{")
    found = beside(project / "results" / "again", tmp_path / "beside")
    assert found["state"] == "unusable" and "results.json" in found["why"]


def test_without_a_reference(project, tmp_path, monkeypatch):
    monkeypatch.setattr(reference, "reference_folder", lambda: tmp_path / "nowhere")
    assert beside(project / "results" / "emulated", tmp_path / "beside") == {"state": "none"}


def test_a_reference_of_another_design_is_not_compared(project, capsys):
    kept.results(project, seed=2, name="again")
    path = project / "config" / "papers" / f"{kept.PAPER}.yaml"
    path.write_text(path.read_text().replace("k: 30", "k: 60"))
    capsys.readouterr()
    for name in ("reference", "results/reference"):
        assert main(["compare", name, "again"]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1 and "design.csv: found run" in err
    assert not (project / "results" / "compare").exists()
