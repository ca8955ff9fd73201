"""Papers of known answers are papers like any other, and what is compared in them differs in nothing but one name."""

from collections import Counter

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper, ratio_of
from whitewire.description.testbed import load_testbed
from whitewire.design import synthetic
from whitewire.design.rows import levels_of, make_design
from whitewire.design.scale import scale_of
from whitewire.estimands import estimand_of
from whitewire.text import canonical

TESTBED = load_testbed("emulated")


@pytest.fixture
def paper(tmp_path):
    path = tmp_path / "known.yaml"
    path.write_text(yaml.safe_dump(synthetic.paper_of_ratios(2), sort_keys=False))
    return load_paper(path, TESTBED["fabrics"])


def test_it_passes_every_check_of_a_paper_and_each_claim_names_the_ratio_of_two_links(paper):
    fabrics = TESTBED["fabrics"]
    assert len(paper.claims) == len(synthetic._RATIOS) * len(synthetic._CLIENTS)
    for claim in paper.claims:
        sides = [claim["test"][side]["where"] for side in ("numerator", "denominator")]
        above, below = (fabrics[side["fabric"]]["rate_mbit_per_s"] for side in sides)
        assert above / below == pytest.approx(claim["test"]["expected"])
        assert sides[0]["clients"] == sides[1]["clients"]


def test_no_two_controls_are_set_against_one_cell_and_each_differs_from_it_in_the_name_alone(paper):
    against = Counter(canonical(estimand_of(ratio_of(each)).cells()[1]) for each in paper.controls)
    assert set(against.values()) == {1} and len(against) == (1 + len(synthetic._RATIOS)) * len(synthetic._CLIENTS)
    for control in paper.controls:
        (name, levels), (other, really) = estimand_of(ratio_of(control)).cells()
        assert levels["fabric"] != really["fabric"]
        assert paper.parameters(name, levels) == paper.parameters(other, really)
        assert scale_of(paper, name, "quick", levels) == scale_of(paper, other, "quick", really)


def test_each_group_has_as_many_runs_of_each_cell_as_the_first_interval_needs(paper):
    rows = make_design(paper, TESTBED, synthetic.EFFORT, synthetic.SEED)
    for first, last in synthetic.groups(2 * synthetic.RUNS):
        runs = [row for row in rows if first <= row["replicate"] <= last]
        counts = Counter((row["experiment"], canonical(levels_of(paper, row))) for row in runs)
        assert set(counts.values()) == {synthetic.RUNS}
        assert len(counts) == 2 * (1 + len(synthetic._RATIOS)) * len(synthetic._CLIENTS)


@given(st.integers(0, 200))
def test_groups_are_whole_and_share_no_run(replicates):
    found = [number for first, last in synthetic.groups(replicates) for number in range(first, last + 1)]
    assert found == list(range(1, replicates // synthetic.RUNS * synthetic.RUNS + 1))


def test_a_papers_pairs_are_made_with_as_many_runs_of_a_control_as_of_what_it_is_set_against():
    emulex = load_paper(project.paper_path("emulex-2012"), TESTBED["fabrics"])
    made = synthetic.same(emulex, 1)
    rows = synthetic.of_controls(made, TESTBED)
    counts = Counter((row["experiment"], canonical(levels_of(made, row))) for row in rows)
    assert len(made.controls) == 14 and set(counts.values()) == {synthetic.RUNS}
    assert [row["order"] for row in rows] == list(range(1, len(rows) + 1))
    assert made.analyses(synthetic.EFFORT) == (synthetic.RUNS,)  # one analysis, as of a study of its own
    assert len(emulex.controls) != len(made.controls)
    assert emulex.analyses(synthetic.EFFORT) != made.analyses(synthetic.EFFORT)


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0]), min_size=1, max_size=5, unique=True), st.integers(1, 5))
def test_every_run_is_made_once_at_each_load_and_each_load_is_first_in_its_turn(loads, repetitions):
    paper = Paper(synthetic.paper_of_ratios(2), None)
    rows = [
        row for row in make_design(paper, TESTBED, synthetic.EFFORT, synthetic.SEED) if row["replicate"] <= repetitions
    ]
    made, load_of = synthetic.loaded(rows[:24], loads)
    assert len({row["run_id"] for row in made}) == len(made) == len(rows[:24]) * len(loads)
    assert Counter(load_of.values()) == dict.fromkeys(loads, len(rows[:24]))
    replicates = sorted({row["replicate"] for row in made})
    firsts = [load_of[next(row["run_id"] for row in made if row["replicate"] == each)] for each in replicates]
    assert len(set(firsts)) == min(len(loads), len(replicates))


@pytest.mark.parametrize(("name", "cells"), [
    ("emulex-2012", {("hdfs_put", "10gbe", 3)}),
    ("mellanox-mapr", {("testdfsio", "40gbe", None), ("terasort", "40gbe", None)}),
    ("xyratex-lustre-2011", {("testdfsio", "32g-qdr", None)}),
])  # fmt: skip
def test_of_each_kind_the_cell_is_made_that_wants_most_of_the_processors(name, cells):
    loaded = load_paper(project.paper_path(name), TESTBED["fabrics"])
    rows = synthetic.of_kinds(loaded, TESTBED, 7)
    levels = [levels_of(loaded, row) for row in rows]
    found = Counter((row["workload"], of["fabric"], of.get("clients")) for row, of in zip(rows, levels, strict=True))
    assert found == dict.fromkeys(cells, 7)
    assert len({row["run_id"] for row in rows}) == len(rows)
    assert [row["order"] for row in rows] == list(range(1, len(rows) + 1))
