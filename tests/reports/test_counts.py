"""All shipped papers: how much there is, that every exhibit has its section, and that every claim gets a verdict."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from whitewire.analysis import analyse, claims
from whitewire.analysis.runs import Runs
from whitewire.description import project, testbed
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "docs" / "template" / "paper.yaml"
SHIPPED = project.load_config({})["papers"]
FURTHER = ["accumulo-ec-2019", "cisco-ucs-2015"]
"""Added by data alone, and not in the default list."""
COLUMNS = ["run_id", "experiment", "metric", "value", "unit", "full_scale_value", "full_scale_unit", "valid"]
DECIDED = {
    "emulated": {claims.INCONCLUSIVE, claims.NOT_TESTABLE},
    "modelled": {claims.CONSISTENT, claims.INCONSISTENT, claims.INCONCLUSIVE},
    "arithmetic": {claims.CONSISTENT, claims.INCONSISTENT},
    claims.NOT_TESTABLE: {claims.NOT_TESTABLE},
}
"""Verdicts that a claim can have by its route while there are no runs."""


def loaded(name: str) -> Paper:
    path = TEMPLATE if name == "template" else ROOT / "config" / "papers" / f"{name}.yaml"
    return load_paper(path, testbed.load_testbed("emulated")["fabrics"])


def document(name: str) -> str:
    path = TEMPLATE.with_suffix(".qmd") if name == "template" else ROOT / "paper" / f"{name}.qmd"
    return path.read_text(encoding="utf-8")


def sections(text: str) -> dict[str, str]:
    """The text below each heading that has an id, down to the next heading of its level or above."""
    headings = list(re.finditer(r"^(#+) .*\{#(sec-[\w-]+)[^}]*\}$", text, re.MULTILINE))
    found = {}
    for heading in headings:
        after = [h.start() for h in headings if h.start() > heading.start() and len(h[1]) <= len(heading[1])]
        assert heading[2] not in found, f"{heading[2]} is there twice"
        found[heading[2]] = text[heading.end() : min(after, default=len(text))]
    return found


def test_all_papers_and_nothing_less() -> None:
    papers = [loaded(name) for name in SHIPPED]
    assert len(papers) == 6
    assert sum(len(paper.raw["exhibits"]) for paper in papers) == 51
    assert sum(len(paper.claims) for paper in papers) == 209


def test_further_papers_are_described_and_not_in_the_default_list() -> None:
    described = {path.stem for path in (ROOT / "config" / "papers").glob("*.yaml")}
    assert described == {*SHIPPED, *FURTHER}
    papers = [loaded(name) for name in FURTHER]
    assert [len(paper.raw["exhibits"]) for paper in papers] == [8, 5]
    assert [len(paper.raw["values"]) for paper in papers] == [81, 102]
    assert [len(paper.claims) for paper in papers] == [15, 14]


def test_further_papers_have_the_numbers_that_their_claims_recompute() -> None:
    """Against the verdicts on their arithmetic, which needs no run."""
    found = {}
    for name in FURTHER:
        paper = loaded(name)
        none = Runs(pd.DataFrame(columns=COLUMNS), paper)
        verdicts, _ = analyse._verdicts(paper, none, none, "emulated")
        found |= {row.claim: row.verdict for row in verdicts.itertuples() if row.route == "arithmetic"}
    assert {claim for claim, verdict in found.items() if verdict == claims.INCONSISTENT} == {"A-C09", "A-C12", "U-C13"}
    assert len(found) == 10


@pytest.mark.parametrize("name", [*SHIPPED, *FURTHER, "template"])
def test_every_exhibit_has_a_section_with_a_figure_or_table(name: str) -> None:
    found = sections(document(name))
    for exhibit in loaded(name).raw["exhibits"]:
        body = found.get(f"sec-{exhibit['id']}")
        assert body is not None, f"{name}: no section for {exhibit['id']}"
        assert re.search(r"^#\| label: (?:fig|tbl)-\S+$", body, re.MULTILINE), f"{name}: {exhibit['id']} shows nothing"


@pytest.mark.parametrize("name", [*SHIPPED, *FURTHER, "template"])
def test_every_claim_has_one_verdict_even_without_runs(name: str) -> None:
    paper = loaded(name)
    none = Runs(pd.DataFrame(columns=COLUMNS), paper)
    verdicts, _ = analyse._verdicts(paper, none, none, "emulated")
    assert list(verdicts["claim"]) == [claim["id"] for claim in paper.claims]
    for row in verdicts.itertuples():
        assert row.verdict in DECIDED[row.route], f"{row.claim}: {row.verdict} by {row.route}"
        assert row.reason.strip(), row.claim
