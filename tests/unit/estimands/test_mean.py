"""A test may take the mean of a cell's runs; the best of n is shown and never judged by."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.support.papers import TESTBED, edited
from whitewire import statistics
from whitewire.analysis import analyse
from whitewire.analysis.runs import Runs
from whitewire.description.checks import load_paper
from whitewire.errors import UserError
from whitewire.estimands.evidence import Sample
from whitewire.estimands.ratio import Ratio
from whitewire.estimands.share import Share

NONE = pd.DataFrame(columns=["experiment", "metric", "value", "full_scale_value", "full_scale_unit", "unit", "valid",
                             "run_id"])  # fmt: skip
SKEWED = np.array([10.0, 10, 10, 10, 10, 16])


def samples(*values):
    return [Sample(np.asarray(each, dtype=float), 0, "MB/s", f"cell {number}", statistics.scatter(each), len(each) - 1)
            for number, each in enumerate(values)]  # fmt: skip


@pytest.fixture
def none(tmp_path):
    return Runs(NONE, load_paper(edited(tmp_path, lambda data: None), TESTBED["fabrics"]))


def test_a_ratio_of_means(none):
    one = {"experiment": "put-grid", "where": {}}
    test = {"metric": "throughput", "numerator": one, "denominator": one}
    of_centre = Ratio(test).found(samples(SKEWED, [5] * 6), none)
    of_mean = Ratio({**test, "statistic": "mean"}).found(samples(SKEWED, [5] * 6), none)
    assert (of_centre.estimate, of_mean.estimate) == pytest.approx((2 * 1.6 ** (1 / 6), 2.2))
    assert of_mean.low < 2.2 < of_mean.high
    assert Ratio({**test, "statistic": "mean"}).describe().startswith("mean throughput")


def test_a_share_of_the_mean_has_the_same_interval(none):
    test = {"metric": "throughput", "statistic": "mean", "over": {"constant": 1, "unit": "MB/s"}}
    found = Share(test).found(samples(SKEWED), none)
    assert found.estimate == 11
    half = 2.5706 * statistics.scatter(SKEWED) / np.sqrt(6)  # Student's t of 5 degrees
    assert (found.low, found.high) == pytest.approx((11 * np.exp(-half), 11 * np.exp(half)), abs=1e-3)


def changed(tmp_path, **more):
    def change(data):
        claim = next(claim for claim in data["claims"] if claim["id"] == "E-C06")
        claim["test"].update(more)

    return load_paper(edited(tmp_path, change), TESTBED["fabrics"])


def test_a_mean_is_refused_where_overheads_count(tmp_path):
    with pytest.raises(UserError, match='statistic: found "mean", expected no statistic for completion_time_net'):
        changed(tmp_path, statistic="mean", metric="completion_time_net", also=[])
    with pytest.raises(UserError, match='found "best", expected'):
        changed(tmp_path, statistic="best")
    assert changed(tmp_path, statistic="mean")


def test_the_reason_says_what_the_papers_number_is(tmp_path):
    from tests.support.papers import runs

    def change(data):
        for value in data["values"]:
            if value["id"] == "E-V11":
                value["statistic"] = {"of": "best", "runs": 3}
        claim = next(claim for claim in data["claims"] if claim["id"] == "E-C06")
        claim["test"]["expected"] = "E_V11"

    loaded = load_paper(edited(tmp_path, change), TESTBED["fabrics"])
    table, _ = analyse._verdicts(loaded, Runs(runs(loaded), loaded), Runs(NONE, loaded), "emulated")
    reason = table.set_index("claim").loc["E-C06", "reason"]
    assert "the paper's number is its best of 3, ours a geometric mean" in reason
    assert table["reason"].str.contains("the paper's number is").sum() == 1
