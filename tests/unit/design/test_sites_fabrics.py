"""A site without a paper's networks still makes the runs of those that it has."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from whitewire.analysis.runs import on_testbed
from whitewire.description import capabilities, checks, paper
from whitewire.description.capabilities import CAPABILITIES
from whitewire.description.project import paper_path
from whitewire.description.reading import load_yaml
from whitewire.description.testbed import fabric_names
from whitewire.design.rows import levels_of, make_design
from whitewire.errors import UserError
from whitewire.estimands import estimand_of
from whitewire.paths import HOME
from whitewire.workflow.checked_paper import checked_paper

PAPERS = ("emulex-2012", "mellanox-mapr", "chelsio-iwarp", "xyratex-lustre-2011", "qubole-2015", "hibench",
          "cisco-ucs-2015")  # fmt: skip
NO_RUNS = pd.DataFrame(
    columns=["experiment", "metric", "valid", "value", "unit", "full_scale_value", "full_scale_unit"]
)
SITE = load_yaml(HOME / "config" / "testbeds" / "ssh.example.yaml")


@pytest.mark.parametrize("effort", ["smoke", "quick", "full"])
@pytest.mark.parametrize("name", PAPERS)
def test_every_paper_runs_on_the_networks_of_the_example(name, effort):
    loaded = checks.load_paper(paper_path(name), fabric_names(SITE))
    rows = make_design(loaded, SITE, effort, 1)
    assert rows
    for row in rows:
        levels = levels_of(loaded, row)
        assert loaded.parameters(row["experiment"], levels)["fabric"] in SITE["fabrics"]
        # What only an emulated testbed can set.
        assert not {"switch_buffer_kib", "offloads", "rate_mb_per_s"} & set(levels)


def test_a_factor_is_varied_where_the_kind_of_testbed_can_set_it(monkeypatch):
    def varied():
        return {factor for row in make_design(loaded, SITE, "full", 1) for factor in levels_of(loaded, row)}

    loaded = checks.load_paper(paper_path("emulex-2012"), fabric_names(SITE))
    before = varied()
    monkeypatch.setitem(CAPABILITIES, "ssh", replace(capabilities.INVENTORY, shapes_links=True))
    assert varied() - before == {"switch_buffer_kib"}


def test_a_claim_on_a_network_that_the_site_lacks_is_not_testable_there():
    loaded = checks.load_paper(paper_path("mellanox-mapr"), fabric_names(SITE))
    test = next(
        test for claim in loaded.claims for test in paper.tests_of(claim)
        if any(levels.get("fabric") == "40gbe" for _, levels in estimand_of(test).cells())
    )  # fmt: skip
    assert on_testbed(loaded, SITE, "", NO_RUNS).here.why_missing(test) == "this testbed has no network 40gbe"


def test_a_claim_on_a_factor_that_a_site_cannot_set_is_not_testable_there():
    with_40gbe = {**SITE, "fabrics": {**SITE["fabrics"], "40gbe": {"rate_mbit_per_s": 40000, "interface": "ens2"}}}
    loaded = checks.load_paper(paper_path("mellanox-mapr"), fabric_names(with_40gbe))
    here = on_testbed(loaded, with_40gbe, "", NO_RUNS).here
    why = {claim["id"]: here.why_missing(claim["test"]) for claim in loaded.claims}
    assert why["M-C12"] == "this testbed cannot set offloads" and not why["M-C02"]


def test_a_network_that_no_testbed_has_is_a_mistake(tmp_path):
    text = paper_path("mellanox-mapr").read_text(encoding="utf-8")
    path = tmp_path / "mellanox-mapr.yaml"
    path.write_text(text.replace("fabric: [5gbe, 10gbe,", "fabric: [5gbee, 10gbe,", 1), encoding="utf-8")
    with pytest.raises(UserError, match='found "5gbee", expected a fabric of the testbed'):
        checks.load_paper(path, fabric_names(SITE))


def test_a_site_without_a_papers_networks_has_a_plan(tmp_path):
    text = (HOME / "docs" / "template" / "paper.yaml").read_text(encoding="utf-8")
    (tmp_path / "made-up-2026.yaml").write_text(text, encoding="utf-8")
    found = checked_paper(tmp_path / "made-up-2026.yaml", SITE)  # it has levels of fabric that the site lacks
    assert {row["fabric"] for row in make_design(found, SITE, "quick", 1)} <= set(SITE["fabrics"])
