"""A tiny `whitewire trust` on a small real cluster: what it measures, what its tables say, and that it goes on."""

import copy
from dataclasses import replace

import pandas as pd
import pytest

from tests.support.limits import wide
from whitewire.analysis.trust import write_trust_tables
from whitewire.design import synthetic
from whitewire.measure import trust, trust_links, trust_plan
from whitewire.records.checked import TESTBED_TABLES
from whitewire.records.trust import TRUST_FOLDER

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(900)]
PARTS = ("links", "ratio", "load", "order")


@pytest.fixture(scope="module")
def made(can_emulate, tmp_path_factory):
    """One group of two known ratios, two rounds of two rates, one repetition under load."""
    results = tmp_path_factory.mktemp("results") / "emulated"
    with pytest.MonkeyPatch.context() as patch:
        config = copy.deepcopy(trust.load_testbed("emulated"))
        config["limits"] = wide(config["limits"])
        config["memory"]["storage_gib"] = 2
        own, offers = synthetic.paper_of_ratios, trust.offers
        patch.setattr(synthetic, "paper_of_ratios", lambda groups: own(groups, (2.0, 4.0), (1,)))
        patch.setattr(trust_plan, "LOADS", (0.0, 1.0))
        for module in (trust_plan, trust_links):  # the plan, and the rounds
            patch.setattr(module, "RATES", (50.0, 200.0))
            patch.setattr(module, "AT_ONCE", (1, 2))

        def least(*arguments):
            return [replace(each, least=size, most=size) for each in offers(*arguments)
                    for size in [{"links": 2, "load": 2}.get(each.part, 1)]]  # fmt: skip

        patch.setattr(trust, "offers", least)
        started = trust.Trust("emulated", config, [], results / TRUST_FOLDER, PARTS, 900.0)
        started.make()
        write_trust_tables(results / TRUST_FOLDER, results)
        yield started, results / TRUST_FOLDER


def table(folder, name):
    return pd.read_csv(folder / TESTBED_TABLES / f"{name}.csv")


def test_both_meters_measure_what_links_carry(made):
    _, folder = made
    links = table(folder, "links")
    assert len(links) == 8 and (links["n"] == 2).all() and (links["missing"] == 0).all()
    assert links["error"].abs().max() < 0.05


def test_ratios_of_links_are_found_by_the_analysis_of_papers(made):
    _, folder = made
    ratio = table(folder, "ratio")
    assert ratio["expected"].tolist() == [2, 4] and (ratio["n"] == synthetic.RUNS).all()
    assert (ratio["estimate"] / ratio["expected"] - 1).abs().max() < 0.1
    assert (ratio["low"] < ratio["estimate"]).all() and (ratio["estimate"] < ratio["high"]).all()


def test_runs_under_load_are_set_against_those_without(made):
    _, folder = made
    load = table(folder, "load")
    assert load["load"].tolist() == [1] and load["made"].tolist() == [2] and load["n_calm"].tolist() == [2]
    assert load["ratio"].between(0.5, 1.5).all()


def test_each_question_is_answered_and_nothing_is_measured_twice(made):
    started, folder = made
    assert set(table(folder, "summary")["part"]) == set(PARTS)
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*/part.json")}
    again = trust.Trust("emulated", started.config, [], folder, PARTS, 900.0)
    assert not again.units and len(before) == len(PARTS)
