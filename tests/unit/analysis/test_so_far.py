"""An interim analysis of a block judges at the k of its runs, and knows what the machine cannot make."""

import pandas as pd
import pytest

from tests.support.papers import TESTBED, edited, paper, runs, same_of
from whitewire.analysis import claims, interim, so_far
from whitewire.analysis.runs import Runs
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper
from whitewire.description.project import paper_path
from whitewire.description.testbed import load_testbed
from whitewire.design.rows import levels_of, make_design
from whitewire.levels import cell_id

CEPHFS = "CephFS: missing: ceph-mds"


@pytest.fixture
def seen(monkeypatch):
    """The tables of runs that interim analyses were given."""
    found = []
    whole = interim.judge_interim

    def judge(paper, of, *others):
        found.append(of)
        return whole(paper, of, *others)

    monkeypatch.setattr(interim, "judge_interim", judge)
    return found


def several_k(data):
    data["scale"]["k"] = [20, 40]
    for bias in data.get("biases", []):
        bias["lower"], bias["upper"] = 1, 1


def test_it_judges_at_the_k_of_the_runs(monkeypatch, tmp_path, seen):
    loaded = load_paper(edited(tmp_path, several_k), TESTBED["fabrics"])
    table = runs(loaded, most=1)
    monkeypatch.setattr(so_far, "as_read", lambda *_: (table, None))
    for candidate, k in enumerate([20, 40]):
        so_far.judge_so_far(
            loaded.on(candidate), TESTBED, tmp_path / "raw" / "quick-1", dict.fromkeys(table["run_id"], "quick-1"), {}
        )
        assert seen[-1].k == k and seen[-1].paper.candidate == candidate


@pytest.mark.parametrize("lost", ["put-grid", "rereplicate"])
def test_what_cannot_be_made_here_keeps_no_claim_open_and_no_other_closed(monkeypatch, tmp_path, lost):
    """As if the grid were on a mounted file system, which this machine has or not, and re-replication on a segment."""
    loaded = paper()
    monkeypatch.setattr(
        Paper, "store", lambda self, name, _: {"kind": "cephfs" if self.origin(name) == "put-grid" else "hdfs"}
    )
    rows = make_design(loaded, TESTBED, "quick", 1)
    missing = {cell_id(row["experiment"], levels_of(loaded, row)): CEPHFS
               for row in rows if loaded.origin(row["experiment"]) == lost}  # fmt: skip
    table = runs(loaded, most=3)
    table = table[~table["experiment"].isin([*loaded.family("put-grid"), "rereplicate"])]
    monkeypatch.setattr(so_far, "as_read", lambda *_: (table, None))
    found = so_far.judge_so_far(loaded, TESTBED, tmp_path / "raw" / "quick-1", {}, missing)
    of = {"put-grid": "E-C06", "rereplicate": "E-C41"}
    assert found.decided[of.pop(lost)] == claims.NOT_TESTABLE and lost not in {name for name, _ in found.cells}
    ((other, claim),) = of.items()
    assert claim in found.open and other in {name for name, _ in found.cells}


@pytest.mark.parametrize("lost", ["segment", "cephfs"])
def test_what_the_effort_does_not_make_is_not_testable_only_where_nothing_on_its_file_system_is(lost):
    testbed = load_testbed("emulated")
    loaded = load_paper(paper_path("xyratex-lustre-2011"), testbed["fabrics"])
    rows = make_design(loaded, testbed, "quick", 1)
    there = {"segment": lambda row: row["fabric"] == "1gbe-shared",
             "cephfs": lambda row: loaded.store(row["experiment"], row)["kind"] == "cephfs"}  # fmt: skip
    gone = [row for row in rows if there[lost](row)]
    missing = {cell_id(row["experiment"], levels_of(loaded, row)): lost for row in gone}
    assert missing
    made = same_of(loaded, pd.DataFrame(rows))
    seen = Runs(made[~made["run_id"].isin([row["run_id"] for row in gone])], loaded, unavailable=missing)
    assert "testdfsio-rest" not in {row["experiment"] for row in rows}  # made at full effort only
    test = next(claim["test"] for claim in loaded.claims if claim["id"] == "X-C07")
    assert seen.here.why_missing(test) == ("" if lost == "segment" else lost)


def test_an_interim_analysis_sees_the_runs_of_all_blocks_that_are_designed_at_its_k(monkeypatch, tmp_path):
    """A run that an earlier design had in another block, one of another k and one of no design are not seen."""
    asked = []
    monkeypatch.setattr(
        so_far.tables, "so_far", lambda paper, block, own, testbed: asked.append((block, own)) or ([], [])
    )
    raw = tmp_path / "raw"
    so_far.judge_so_far(paper(), TESTBED, raw / "quick-2", {"a": "quick-1", "b": "quick-2", "c": "quick-1"}, {})
    assert sorted(asked) == [(raw / "quick-1", {"a", "c"}), (raw / "quick-2", {"b"})]
