"""An estimand is one class and a line in the table: a new one is taken by every stage, and nothing else is changed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.papers import TESTBED, edited, paper, runs
from whitewire import statistics
from whitewire.analysis import analyse, claims
from whitewire.analysis.runs import Runs
from whitewire.description.checks import load_paper
from whitewire.design import shapes
from whitewire.design.rows import claimed_cells, make_design
from whitewire.errors import UserError
from whitewire.estimands import ESTIMANDS, estimand_of
from whitewire.estimands.base import COMPARES, METRIC_KEY, cell_in_words, cell_key, cell_of_test
from whitewire.estimands.cells import OfCells
from whitewire.estimands.evidence import Evidence

SIDES = ("whole", "part")


class Difference(OfCells):
    """The median of one cell less that of another, in the metric's unit."""

    name = "difference"
    meaning = "Median of a metric in one cell less its median in another"
    keys = {"metric": METRIC_KEY, "whole": cell_key("A cell."), "part": cell_key("A cell.")}
    optional = {"compares": COMPARES}
    routes = ("emulated",)

    def problems(self, paper, fabrics):
        if self.test["whole"] == self.test["part"]:
            yield ".part", self.test["part"]["experiment"], "another cell than whole", ()

    def cells(self):
        return [cell_of_test(self.test[side]) for side in SIDES]

    def describe(self):
        return f"{self.test['metric']}: {' - '.join(cell_in_words(self.test[side]) for side in SIDES)}"

    def found(self, samples, runs):
        def statistic(a, b, axis=-1):
            return np.median(a, axis=axis) - np.median(b, axis=axis)

        values = [sample.values for sample in samples]
        interval = statistics.bootstrap_interval(values, statistic, runs.seed) or (None, None)
        return Evidence("runs", float(statistic(*values)), *interval, unit=samples[0].unit, fewest=statistics.MINIMUM)


def cell(fabric: str) -> dict:
    return {"experiment": "put-grid", "where": {"fabric": fabric, "clients": 3, "puts_per_client": 6}}


TEST = {"estimand": "difference", "metric": "throughput", "whole": cell("10gbe"), "part": cell("1gbe"),
        "relation": "above", "expected": 500}  # fmt: skip


def asking(**changes):
    """A change of the paper's file, so that its one claim rests on the toy."""

    def change(data):
        claim = next(c for c in data["claims"] if c["id"] == "E-C06")
        data["finding"] = claim["id"]
        data.pop("amendments")  # of claims that are not there then
        data["claims"] = [claim | {"test": TEST | changes, "routes": ["emulated"], "readings": []}]

    return change


def read(tmp_path, **changes):
    return load_paper(edited(tmp_path, asking(**changes)), TESTBED["fabrics"])


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setitem(ESTIMANDS, Difference.name, Difference)


def test_what_no_table_lists_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"claims\[0\]\.test"):
        read(tmp_path)


def test_it_is_checked(toy, tmp_path):
    assert read(tmp_path).claims[0]["test"] == TEST
    for changes, said in (
        ({"prat": 1}, r"test\.prat: found an unknown key, .*did you mean \"part\""),
        ({"part": cell("10gbe")}, r"test\.part: found \"put-grid\", expected another cell than whole"),
        ({"part": cell("11gbe")}, r"test\.where\.fabric: found \"11gbe\""),
        ({"relation": "increasing"}, r"test\.relation: found \"increasing\", expected one of within"),
    ):
        with pytest.raises(UserError, match=said):
            read(tmp_path, **changes)


def test_its_cells_are_claimed_and_compared(toy, tmp_path):
    loaded = read(tmp_path)
    assert len(claimed_cells(loaded)) == 2
    ((claim, *cells, compared),) = shapes.compared_in(loaded)
    assert claim == "E-C06" and cells[::-1] == estimand_of(TEST).cells() and not compared
    assert {row["fabric"] for row in make_design(loaded, TESTBED, "quick", 1)} >= {"1gbe", "10gbe"}


def test_it_is_described_evaluated_and_judged(toy, tmp_path):
    loaded, made = read(tmp_path), runs(paper())
    table, _ = analyse._verdicts(loaded, Runs(made, loaded), Runs(made[:0], loaded), "emulated")
    (row,) = table.to_dict("records")
    assert row["estimand"] == "throughput: put-grid 10gbe 3 6 - put-grid 1gbe 3 6"
    assert row["estimate"] == pytest.approx(350 + 82 * 6 - 216, rel=0.01)
    assert row["low"] <= row["estimate"] <= row["high"] and row["unit"] == "MB/s"
    assert row["verdict"] == claims.REPRODUCED
    assert analyse._verdicts(loaded, Runs(made[:0], loaded), Runs(made[:0], loaded), "emulated")[0][
        "reason"
    ].tolist() == ["no valid run of put-grid 10gbe 3 6"]
