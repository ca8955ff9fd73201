"""Every estimand of every paper's tests answers what stages ask of it."""

from __future__ import annotations

import pytest

from whitewire.description import paper as of_paper
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.paper import experiments_asked
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.estimands import ESTIMANDS, estimand_of
from whitewire.paths import HOME
from whitewire.records.jobs import NET


@pytest.fixture(scope="module")
def papers():
    fabrics = fabric_names(load_testbed("emulated"))
    return [load_paper(project.paper_path(name), fabrics) for name in project.load_config({})["papers"]]


def test_each_cell_has_a_metric_and_each_sign_a_cell(papers):
    used = set()
    for paper in papers:
        for estimand in (estimand_of(test) for claim in paper.claims for test in of_paper.tests_of(claim)):
            cells = estimand.cells()
            assert len(estimand.metrics()) == len(cells) and len(estimand.signs) in (0, len(cells))
            assert all(cell in cells for pair in estimand.pairs() for cell in pair)
            assert set(map(str, cells)) <= set(map(str, estimand.needed()))
            assert bool(estimand.describe()) != bool(estimand.untestable())
            used.add(estimand.name)
    assert used == set(ESTIMANDS), "a paper of config.yaml has to use each estimand"


@pytest.mark.parametrize(("page", "judged"), [("add-a-paper.md", False), ("verdict-rules.md", True)])
def test_pages_say_of_each_estimand_what_it_is_for(page, judged):
    text = (HOME / "docs" / "use" / page).read_text(encoding="utf-8")
    lacking = [name for name, kind in ESTIMANDS.items() if f"`{name}`" not in text and (kind.relations or not judged)]
    assert lacking == [], f"give each a row in the table of estimands in docs/use/{page}"


def test_experiments_are_asked_for_the_metrics_of_their_tests(papers):
    asked = {paper.id: experiments_asked(paper, NET) for paper in papers}
    assert "terasort-curve" in asked["mellanox-mapr"] and not asked["emulex-2012"]
