"""The analysis of whole tables: every claim judged, with runs and without."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy

from tests.support import kept
from tests.support.blocks import code_of
from tests.support.papers import TESTBED, paper, runs, same_of
from whitewire import statistics
from whitewire.analysis import analyse, claims, controls, interim, inverse, judging, run_lanes, similitude, sweeps
from whitewire.analysis.analyse import write_analysis
from whitewire.analysis.asked import AGAIN, BEFORE, Noted
from whitewire.analysis.runs import Runs, at
from whitewire.description.checks import load_paper
from whitewire.description.paper import cells_of
from whitewire.description.project import paper_names, paper_path
from whitewire.description.testbed import load_testbed
from whitewire.design.rows import FIRST, levels_of, make_design
from whitewire.design.scale import scale_of
from whitewire.errors import UserError
from whitewire.estimands import estimand_of
from whitewire.estimands.curve_fit import aic_difference
from whitewire.estimands.evidence import Sample
from whitewire.estimands.maximum_ratio import MaximumRatio
from whitewire.factors import FACTORS
from whitewire.levels import cell_id, level_text
from whitewire.paths import HOME
from whitewire.text import canonical
from whitewire.tidy import columns, tables

LOADED = paper()
EMULATED = load_testbed("emulated")


@pytest.fixture(scope="module")
def modelled():
    return analyse.model_runs(
        LOADED, {"1gbe": {}, "10gbe": {}}, lambda name, levels: scale_of(LOADED, name, "quick", levels)
    )


@pytest.fixture(scope="module")
def complete():
    return runs(LOADED)


@pytest.fixture(scope="module")
def judged(complete, modelled):
    return analyse._verdicts(LOADED, Runs(complete, LOADED), Runs(modelled, LOADED), "emulated")


def left_of(rows):
    """tidy/left.csv of some (run, experiment, cell, reason)."""
    names = ["run_id", "experiment", "cell", "reason", "why_code"]
    return pd.DataFrame([(*row, code_of(row[-1])) for row in rows], columns=names)


def keep(table, folder):
    """Write tidy/runs.csv with all columns that it has."""
    table.reindex(columns=columns.of_runs(LOADED.factors)).to_csv(folder / "tidy" / "runs.csv", index=False)


def _claim(table: pd.DataFrame, claim: str) -> pd.Series:
    return table.set_index("claim").loc[claim]


def test_a_complete_table_gives_every_claim_a_verdict(judged):
    verdicts, _ = judged
    assert list(verdicts.columns) == analyse._VERDICT_COLUMNS
    assert list(verdicts["claim"]) == [c["id"] for c in LOADED.claims]
    judged_by = {claims.REPRODUCED, claims.DIRECTION, claims.NOT_REPRODUCED, claims.INCONCLUSIVE}
    assert set(verdicts["verdict"]) <= judged_by | {claims.NOT_TESTABLE, claims.CONSISTENT, claims.INCONSISTENT}
    assert verdicts["reason"].str.len().min() > 10
    open_ = verdicts[verdicts["verdict"] == claims.INCONCLUSIVE]
    assert list(open_["claim"]) == []


def test_verdicts_on_a_cluster_that_behaves_as_printed(judged):
    verdicts, _ = judged
    expected = {
        "E-C01": claims.REPRODUCED,
        "E-C03": claims.CONSISTENT,
        "E-C06": claims.REPRODUCED,
        "E-C08": claims.REPRODUCED,
        "E-C09": claims.INCONSISTENT,
        "E-C11": claims.REPRODUCED,
        "E-C12": claims.REPRODUCED,
        "E-C13": claims.REPRODUCED,
        "E-C14": claims.REPRODUCED,
        "E-C16": claims.NOT_TESTABLE,
        "E-C19": claims.NOT_TESTABLE,
        "E-C20": claims.NOT_TESTABLE,
        "E-C24": claims.NOT_REPRODUCED,
        "E-C27": claims.CONSISTENT,
        "E-C28": claims.NOT_TESTABLE,
        "E-C29": claims.NOT_TESTABLE,
        "E-C30": claims.REPRODUCED,
        "E-C31": claims.REPRODUCED,
        "E-C35": claims.INCONSISTENT,
        "E-C36": claims.INCONSISTENT,
        "E-C40": claims.NOT_TESTABLE,
        "E-C42": claims.REPRODUCED,
    }
    found = verdicts.set_index("claim")["verdict"]
    assert {claim: found[claim] for claim in expected} == expected
    assert _claim(verdicts, "E-C06")["estimate"] == pytest.approx((350 + 82 * 6) / 216, rel=0.01)
    assert _claim(verdicts, "E-C06")["n"] == 6
    assert _claim(verdicts, "E-C06")["p_value"] < 1e-6
    assert _claim(verdicts, "E-C06")["p_holm"] >= _claim(verdicts, "E-C06")["p_value"]


def test_further_readings_stand_beside_the_verdict(judged):
    verdicts, readings = judged
    assert list(readings.columns) == analyse.READING_COLUMNS
    of = readings[readings["claim"] == "E-C06"].set_index("reading")
    assert set(of.index) == {"throughput_sum", analyse._MODEL, "without the DataNodes' memory in front of their drives"}
    assert of.loc["throughput_sum", "estimate"] == pytest.approx(_claim(verdicts, "E-C06")["estimate"])
    assert of.loc["throughput_sum", "expected"] == _claim(verdicts, "E-C06")["expected"] == 3.85
    assert of.loc[analyse._MODEL, "verdict"] in (claims.CONSISTENT, claims.INCONSISTENT)
    assert "throughput_sum" in _claim(verdicts, "E-C06")["further_readings"]
    assert (readings["claim"] == "E-C27").sum() == 1
    assert (readings["claim"] == "E-C29").sum() == 1  # a claim that is not testable may still have a reading
    assert claims.NOT_TESTABLE not in set(readings["route"])  # each says where its numbers come from, also of those


@pytest.mark.parametrize("status", ["emulated", "measured"])
def test_a_reading_of_runs_is_of_the_testbed_that_made_them(complete, status):
    """Whatever the paper's YAML says: on real hosts the emulation's error widens no interval."""
    loaded = replace(LOADED, raw={**LOADED.raw, "claims": [claim for claim in LOADED.claims if claim["id"] == "E-C16"]})
    own = next(each for each in loaded.claims[0]["readings"] if each["route"] == "emulated")
    _, readings = analyse._verdicts(loaded, Runs(complete, loaded), Runs(complete[:0], loaded), status)
    row = readings.set_index("reading").loc[own["title"]]
    assert row["route"] == status
    assert ("the emulation's own error" in row["reason"]) == (status == "emulated")


def test_a_verdict_that_rests_on_a_sign_needs_significance_after_correction():
    args = {"reason": "1.2 (1.1 to 1.3)", "target": {"relation": "above", "expected": 1, "no_effect": 1}}
    assert claims.corrected(claims.REPRODUCED, p_holm=0.01, **args)[0] == claims.REPRODUCED
    verdict, reason = claims.corrected(claims.REPRODUCED, p_holm=0.2, **args)
    assert verdict == claims.INCONCLUSIVE
    assert "p = 0.2" in reason
    # Whatever its sign, the size is excluded: less evidence of the sign must not give the better verdict.
    assert claims.corrected(claims.DIRECTION, p_holm=0.01, **args)[0] == claims.DIRECTION
    verdict, reason = claims.corrected(claims.DIRECTION, p_holm=0.2, **args)
    assert verdict == claims.NOT_REPRODUCED and "p = 0.2" in reason
    assert claims.corrected(claims.DIRECTION, p_holm=None, **args)[0] == claims.NOT_REPRODUCED
    assert claims.corrected(claims.REPRODUCED, p_holm=None, **args)[0] == claims.INCONCLUSIVE
    for other in ({"relation": "within"}, {"expected": 3}):
        more = args | {"target": args["target"] | other}
        assert claims.corrected(claims.REPRODUCED, p_holm=0.2, **more)[0] == claims.REPRODUCED
    sizeless = args | {"target": {"relation": "below", "expected": 1, "no_effect": None}}
    assert claims.corrected(claims.REPRODUCED, p_holm=None, **sizeless)[0] == claims.REPRODUCED


def test_smoke_decides_the_headline_and_shows_estimates_of_others(modelled):
    smoke = Runs(runs(LOADED, "smoke"), LOADED)
    table, _ = analyse._verdicts(LOADED, smoke, Runs(modelled, LOADED), "emulated")
    headline, other = _claim(table, LOADED.raw["headline"]), _claim(table, "E-C42")
    assert (headline["verdict"], headline["n"]) == (claims.REPRODUCED, 6)
    assert headline["estimate"] == pytest.approx(3.9, rel=0.02)
    assert table[table["n"] == 1]["verdict"].eq(claims.INCONCLUSIVE).all() and other["n"] == 6


def test_invalid_runs_never_count_and_are_reported(complete):
    table = complete.copy()
    cell = (table["experiment"] == "put-grid") & (table["fabric"] == "1gbe")
    cell &= (table["clients"] == 3) & (table["puts_per_client"] == 6) & (table["replicate"] == 1)
    table.loc[cell, "valid"] = False
    table.loc[cell, "value"] = 1e9
    table.loc[cell, "full_scale_value"] = 1e9
    found = Runs(table, LOADED)
    test = next(c["test"] for c in LOADED.claims if c["id"] == "E-C06")
    evidence = estimand_of(test).evaluate(found, LOADED)
    assert (evidence.n, evidence.n_invalid) == (5, 1)
    assert evidence.estimate == pytest.approx(3.9, rel=0.02)
    assert evidence.low < 3.9 < evidence.high
    estimates = analyse._estimates(LOADED, found, "emulated")
    row = estimates[(estimates["n_invalid"] == 1) & (estimates["metric"] == "throughput")].iloc[0]
    assert row["n"] == 5 and row["full_scale_median"] < 1000 and np.isnan(row["low"])


def test_three_runs_a_cell_are_judged_and_two_are_not(complete, modelled):
    few = complete[complete["replicate"] <= 3]
    row = _claim(analyse._verdicts(LOADED, Runs(few, LOADED), Runs(modelled, LOADED), "emulated")[0], "E-C06")
    assert row["verdict"] == claims.REPRODUCED and row["n"] == 3
    assert row["low"] < row["estimate"] < row["high"]
    assert "3 runs a cell)" in row["reason"]
    two = complete[complete["replicate"] <= 2]
    row = _claim(analyse._verdicts(LOADED, Runs(two, LOADED), Runs(modelled, LOADED), "emulated")[0], "E-C06")
    assert row["verdict"] == claims.INCONCLUSIVE and np.isnan(row["low"])


def test_a_claim_says_where_it_compares_runs_of_several_starts(complete, modelled):
    found, _ = analyse._verdicts(LOADED, Runs(complete, LOADED), Runs(modelled, LOADED), "emulated",
                                 noted=Noted(alone=["E-C02"]))  # fmt: skip
    caution = "; caution: compares runs of several starts, as E-C02 was measured by itself"
    assert caution in _claim(found, "E-C01")["reason"]
    assert caution not in _claim(found, "E-C02")["reason"] + _claim(found, "E-C03")["reason"]
    as_always, _ = analyse._verdicts(LOADED, Runs(complete, LOADED), Runs(modelled, LOADED), "emulated")
    assert list(found["verdict"]) == list(as_always["verdict"])
    assert "several starts" not in "".join(as_always["reason"])


def test_a_claim_that_was_judged_with_fewer_runs_says_with_how_many(complete, modelled):
    noted = Noted({"E-C06": BEFORE, "E-C08": BEFORE}, {"E-C06": 4})
    found, _ = analyse._verdicts(LOADED, Runs(complete, LOADED), Runs(modelled, LOADED), "emulated", noted=noted)
    again, before = _claim(found, "E-C06"), _claim(found, "E-C08")
    assert again["n"] == 6 and again["asked"] == AGAIN
    assert "; judged before with 4 runs of each cell" in again["reason"]
    assert before["asked"] == BEFORE and "judged before" not in before["reason"]
    as_always, _ = analyse._verdicts(LOADED, Runs(complete, LOADED), Runs(modelled, LOADED), "emulated")
    assert list(found["verdict"]) == list(as_always["verdict"])


def test_the_order_of_the_rows_does_not_matter(complete, modelled, judged):
    mixed = complete.sample(frac=1, random_state=3)
    table, _ = analyse._verdicts(LOADED, Runs(mixed, LOADED), Runs(modelled, LOADED), "emulated")
    assert list(table["verdict"]) == list(judged[0]["verdict"])
    assert table["estimate"].to_numpy(dtype=float) == pytest.approx(
        judged[0]["estimate"].to_numpy(dtype=float), nan_ok=True
    )


def test_on_real_hardware_the_route_is_measured(complete, modelled):
    table, _ = analyse._verdicts(LOADED, Runs(complete, LOADED), Runs(modelled, LOADED), "measured")
    assert set(table["route"]) == {"measured", "modelled", "arithmetic", claims.NOT_TESTABLE}


def test_estimates_by_hand(complete):
    table = analyse._estimates(LOADED, Runs(complete, LOADED), "emulated")
    one = table[(table["experiment"] == "put-tuned") & (table["settings"] == "default")]
    row = one[one["metric"] == "throughput"].iloc[0]
    raw = complete[(complete["settings"] == "default") & (complete["metric"] == "throughput")]["value"]
    assert row["n"] == 6
    assert (row["low"], row["high"]) == (raw.min(), raw.max())
    assert row["median"] == pytest.approx(raw.median())
    assert row["full_scale_median"] == pytest.approx(20 * raw.median())
    assert row["mean"] == pytest.approx(6 / (1 / raw).sum())
    times = one[one["metric"] == "completion_time"].iloc[0]
    assert times["mean"] >= times["low"]
    other = table[(table["metric"] == "throughput") & (table["clients"] == "2")]
    assert other["low"].isna().all() and other["median"].notna().all()


def test_three_runs_have_the_interval_of_their_own_scatter(complete):
    three = complete[complete["replicate"] <= 3]
    table = analyse._estimates(LOADED, Runs(three, LOADED), "emulated")
    row = table[(table["settings"] == "default") & (table["metric"] == "throughput")].iloc[0]
    values = np.log(three[(three["settings"] == "default") & (three["metric"] == "throughput")]["full_scale_value"])
    half = scipy.stats.t.isf(0.025, 2) * values.std(ddof=1) / math.sqrt(3)
    ends = [math.exp(values.mean() - half), math.exp(values.mean() + half)]
    assert [row["few_low"], row["few_high"]] == pytest.approx(ends) and pd.isna(row["low"])
    shares = table[table["unit"] == "1"]
    assert shares["few_low"].isna().all(), "a share may not exceed 1"
    for most in (2, 6):
        some = complete[complete["replicate"] <= most]
        other = analyse._estimates(LOADED, Runs(some, LOADED), "emulated")
        rows = other[(other["settings"] == "default") & (other["metric"] == "throughput")]
        assert rows["few_low"].isna().all()


def test_the_mean_of_rates_is_that_over_equal_volumes():
    assert analyse._mean(np.array([1.0, 3.0]), "MB/s") == pytest.approx(1.5)
    assert analyse._mean(np.array([0.0, 3.0]), "MB/s") == 1.5
    assert analyse._mean(np.array([1.0, 3.0]), "s") == 2
    assert analyse._mean(np.array([]), "s") is None


def test_audit_recomputes_every_entry():
    table = analyse.audit(LOADED)
    assert list(table.columns) == analyse.AUDIT_COLUMNS
    assert set(table["audit"]) == {a["id"] for a in LOADED.audit}
    first = table[table["audit"] == "E-A1"]
    assert list(first["recomputed"][:2]) == pytest.approx([97848, 95565])
    assert list(first["relative_difference"][:4]) == pytest.approx([0.0872, 0.0618, 0.0125, -0.0111], abs=1e-4)
    assert list(first["holds"][:4]) == [False, False, True, True]
    assert table[table["audit"] == "E-A11"]["holds"].all()
    assert not table[table["audit"] == "E-A9"]["holds"].any()
    model = table[table["expression"].astype(str).str.startswith("maxmin")].iloc[0]
    assert model["recomputed"] == pytest.approx(308, rel=0.08) and not model["holds"]


def test_curve_fit_separates_a_line_from_an_exponential():
    x = np.repeat([2.0, 4, 6, 8], 6)
    noise = np.random.default_rng(1).normal(0, 0.01, len(x))
    line, growth = 1 + 3 * x + noise, 2 * np.exp(0.4 * x) + noise
    assert aic_difference(x, line)[0] < -2
    assert aic_difference(x, growth)[0] > 2
    assert aic_difference(x, np.stack([line, growth])).shape == (2,)


def test_levels_read_from_csv_match_those_of_the_paper():
    assert [level_text(v) for v in (3, 3.0, "3", "3.0", "0.5gbe", None, float("nan"))] == [
        "3", "3", "3", "3", "0.5gbe", "", "",
    ]  # fmt: skip


def test_every_estimand_is_described():
    for claim in LOADED.claims:
        if claim["test"]["estimand"] != "none":
            assert estimand_of(claim["test"]).describe()


@pytest.fixture
def few_simulations(monkeypatch):
    """The model in brief, for tests of tables and not of what it predicts."""
    monkeypatch.setattr(analyse, "CURVE", np.array([1.0, 10.0]))
    monkeypatch.setattr(analyse, "_DRAWS", 1)


def test_the_stage_writes_every_table_of_the_contract(few_simulations, tmp_path, complete):
    with pytest.raises(UserError, match="no such file"):
        write_analysis(LOADED, TESTBED, tmp_path, 1)
    (tmp_path / "tidy").mkdir()
    keep(complete, tmp_path)
    scale = pd.DataFrame({"experiment": list(LOADED.experiments), "testbed": "emulated", "kind": "emulated"})
    scale.assign(k=20, data_fraction=0.0268, rung=0).to_csv(tmp_path / "tidy" / "scale.csv", index=False)
    kept.empty_tables(tmp_path / "tidy")
    emulated = load_testbed("emulated")
    write_analysis(LOADED, TESTBED | {name: emulated[name] for name in ("switch", "tcp")}, tmp_path, 1)
    folder = tmp_path / "analysis"
    read = {p.stem: pd.read_csv(p) for p in folder.glob("*.csv")}
    tables = {"estimates", "verdicts", "readings", "model", "model_as_run", "audit", "inverse", "sweeps", "similitude"}
    assert set(read) == tables | {"controls"}
    assert len(read["verdicts"]) == 42
    assert set(read["estimates"]["status"]) == {"emulated"}
    model = read["model"]
    assert set(model["model"]) == {"max-min flow"}
    grid = model[(model["experiment"] == "put-grid") & (model["metric"] == "throughput")]
    assert len(grid) == 30
    curve = model[(model["experiment"] == "response-curve") & model["fabric"].isna()]
    assert set(curve["link_gbit_per_s"]) == {1.0, 10.0}


def pairs(best, count, seed=1, scatter=0.05, n=6):
    """Samples of `count` pairs of cells, by turns; each pair's true ratio is `best`."""
    rng = np.random.default_rng(seed)

    def sample(centre):
        values = centre * np.exp(scatter * rng.standard_normal(n))
        return Sample(values, 0, "1", f"cell of {centre}", statistics.scatter(values), n - 1)

    return [sample(centre) for _ in range(count) for centre in (best, 1.0)]


def test_the_luckiest_of_several_pairs_is_no_evidence():
    # Five cells whose ratio is exactly 3.5 do not show that the largest is above 3.5.
    target, verdicts = claims.Target("above", 3.5, 3.5, None), []
    runs_of = Runs(pd.DataFrame(columns=["experiment", "metric", "value", "full_scale_value", "full_scale_unit", "unit",
                                         "valid", "run_id"]), LOADED)  # fmt: skip
    for seed in range(40):
        found = MaximumRatio({"cells": [{}] * 5}).found(pairs(3.5, 5, seed), runs_of)
        assert found.low <= found.estimate <= found.high
        verdicts.append(claims.decide(target, found).verdict)
    assert verdicts.count(claims.REPRODUCED) <= 2
    clear = MaximumRatio({"cells": [{}] * 5}).found(pairs(4.5, 5), runs_of)
    assert claims.decide(target, clear).verdict == claims.REPRODUCED


def net_times(cells, sd=0.6, n=4):
    rng = np.random.default_rng(3)
    rows = [
        {"run_id": f"{fabric}{i}", "attempt": 1, "experiment": "e", "fabric": fabric, "metric": metric, "value": value,
         "unit": "s", "full_scale_value": None, "full_scale_unit": "", "valid": True}
        for fabric, seconds in cells.items()
        for i in range(n)
        for metric, value in (("completion_time_net", seconds + sd * rng.standard_normal()), ("job_floor", 10.0))
    ]  # fmt: skip
    return pd.DataFrame(rows)


class OneFactor:
    factors = ("fabric",)

    @staticmethod
    def parameters(experiment, levels):
        return {"maps": 1}

    @staticmethod
    def family(experiment):
        return [experiment]


def test_what_is_left_of_an_overhead_scatters_by_the_seconds_of_the_whole_time():
    found = Runs(net_times({"a": 60.0, "b": 40.0, "c": 25.0, "d": 5.0}), OneFactor())
    long, short = (found.sample("e", {"fabric": fabric}, "completion_time_net") for fabric in "ad")
    assert short.spread > 0.04 > long.spread > 0.005  # 0.6 s is 12 % of 5 s, and 1 % of 60 s
    assert short.freedom == 3  # its own


def test_a_run_that_failed_outright_is_counted_as_left_out():
    table = net_times({"a": 60.0, "b": 40.0})
    failed = {"run_id": "a9", "experiment": "e", "fabric": "a", "metric": np.nan, "valid": False, "unit": ""}
    table = pd.concat([table, pd.DataFrame([failed | {"attempt": 1}, failed | {"attempt": 2}])])
    found = Runs(table, OneFactor())
    assert found.sample("e", {"fabric": "a"}, "completion_time_net").n_invalid == 2
    assert found.sample("e", {"fabric": "b"}, "completion_time_net").n_invalid == 0


def test_a_census_needs_every_cell_that_it_names(complete):
    claim = next(claim for claim in LOADED.claims if claim["id"] == "E-C31")
    part = complete[complete["experiment"] == claim["test"]["cells"][0]["experiment"]]
    whole, lacking = (estimand_of(claim["test"]).evaluate(Runs(rows, LOADED), LOADED) for rows in (complete, part))
    assert whole.estimate == 3
    assert lacking.estimate is None and "no valid run of" in lacking.missing


CENSUS = {
    "estimand": "count", "metric": "replicas_distinct_min", "statistic": "minimum", "relation": "equal", "expected": 3,
    "cells": [{"experiment": "put-grid", "where": {}}],
}  # fmt: skip


def test_a_census_needs_every_cell_that_its_names_match(complete):
    """`where: {}` names all thirty cells of the grid, not any of them."""
    cell = {"fabric": "10gbe", "clients": "3", "puts_per_client": "6"}
    one = (complete["experiment"] == "put-grid") & (complete[list(cell)].astype(str) == list(cell.values())).all(axis=1)
    but_one, alone = (Runs(complete[rows], LOADED) for rows in (~one, one))
    lacking = estimand_of(CENSUS).evaluate(but_one, LOADED)
    assert lacking.estimate is None and lacking.missing == "no valid run of put-grid 10gbe 3 6"
    assert len(interim.cells_of_test(but_one, CENSUS)) == 30
    assert estimand_of(CENSUS).evaluate(alone, LOADED).missing.endswith("; nor of 26 more cells")
    whole = estimand_of(CENSUS).evaluate(Runs(complete, LOADED), LOADED)
    assert (whole.estimate, whole.note) == (3, "")
    other_unit = {**CENSUS, "metric": "completion_time"}
    assert (
        estimand_of(other_unit).evaluate(Runs(complete, LOADED), LOADED).unit == estimand_of(other_unit).unit() == "s"
    )


def test_a_census_asks_for_what_its_effort_makes_and_says_what_it_leaves_out():
    smoke = runs(LOADED, "smoke")
    grid = smoke[smoke["experiment"] == "put-grid"]
    made = len(grid[["fabric", "clients", "puts_per_client"]].drop_duplicates())
    found = estimand_of(CENSUS).evaluate(Runs(smoke, LOADED), LOADED)
    count = len(cells_of(LOADED.experiments["put-grid"]))
    assert found.estimate == 3 and 0 < made < count
    assert found.note == f"{count - made} of the {count} cells are not made at this effort or on this testbed"


def test_an_experiment_of_another_effort_is_distinct_from_runs_that_failed(complete):
    other = load_paper(paper_path("xyratex-lustre-2011"), EMULATED["fabrics"])
    tests = {claim["id"]: claim["test"] for claim in other.claims}
    none = Runs(complete, other)  # another paper's runs, at effort quick
    assert (
        estimand_of(tests["X-C07"])
        .evaluate(none, other)
        .missing.endswith("that experiment is made at effort full only")
    )
    assert estimand_of(tests["X-C20"]).evaluate(none, other).missing.startswith("no valid run of testdfsio ")


def test_the_largest_of_several_ratios_has_an_interval_where_a_cell_has_few_runs():
    rng = np.random.default_rng(2)
    runs_of = Runs(pd.DataFrame(columns=["experiment", "metric", "value", "full_scale_value", "full_scale_unit", "unit",
                                         "valid", "run_id"]), LOADED)  # fmt: skip

    def cell(median, n):
        return Sample(median * np.exp(rng.normal(0, 0.02, n)), 0, "MB/s", f"c{median}", spread=0.02, freedom=20)

    few = [cell(4, 3), cell(1, 6), cell(7, 6), cell(1, 6)]
    found = MaximumRatio({"cells": [{}] * 2}).found(few, runs_of)
    assert found.low < 7 < found.high
    assert found.high / found.low < 1.2
    none = MaximumRatio({"cells": [{}] * 2}).found([cell(4, 2), *few[1:]], runs_of)
    assert none.low is None


def test_all_tables_are_there_where_no_run_was_made(few_simulations, tmp_path):
    """A budget may end before a paper's first run: its claims are open, and its report can be made."""
    (tmp_path / "tidy").mkdir()
    left_of([("put-grid-r1", "put-grid", "{}", "the budget ended")]).to_csv(tmp_path / "tidy" / "left.csv", index=False)
    (tmp_path / "tidy" / "asked.csv").write_text(
        "block,claim,digest,asked_since,first_run\nsmoke-1,E-C06,d,2026-11-01T00:00:00Z,\n"
    )
    kept.empty_tables(tmp_path / "tidy", LOADED.factors)
    write_analysis(LOADED, EMULATED, tmp_path, 1)
    rule = (Path(__file__).parents[3] / "workflow" / "rules" / "analysis.smk").read_text()
    wanted = set(re.findall(r'^    "(\w+\.csv)",$', rule, re.MULTILINE))
    assert len(wanted) == 10
    assert wanted <= {path.name for path in (tmp_path / "analysis").iterdir()}
    judged = pd.read_csv(tmp_path / "analysis" / "verdicts.csv").set_index("claim")
    verdicts = judged["verdict"]
    assert verdicts["E-C06"] == "inconclusive"
    open_ = judged.loc["E-C06"]
    assert open_["minutes"] > 0 and open_["command"].endswith("make papers PAPERS=emulex-2012 EFFORT=smoke")


def test_a_table_of_what_cannot_be_made_has_its_cells(tmp_path):
    rows = make_design(LOADED, EMULATED, "smoke", 1)
    lost = [row for row in rows if row["experiment"] == "put-grid"][:2]
    blocks = {"smoke-1": SimpleNamespace(finished={"unavailable": {row["run_id"]: "no mount" for row in lost}})}
    made = list(tables._unavailable(LOADED, blocks, rows))
    path = tmp_path / "unavailable.csv"
    path.write_bytes(tables.as_csv(tables.TABLES[path.name], made, path.name))
    cells = {cell_id(row["experiment"], levels_of(LOADED, row)): "no mount" for row in lost}
    assert analyse._unavailable(path) == cells
    path.write_bytes(tables.as_csv(tables.TABLES[path.name], [], path.name))
    assert analyse._unavailable(path) == {}


BROKEN = {
    "left.csv": ("run_id,experiment,reason\na,b,c\n", "line 1: found no column cell, expected one"),
    "unavailable.csv": ("run_id,experiment,cell\na,b,c\n", "line 1: found no column reason, expected one"),
    "floors.csv": ("block,floor,workload,job,number,attempt,time,seconds,wire_bytes,outside,valid,why_invalid\n"
                   "b,f,w,j,1,1,0,soon,,,true,\n", 'line 2: seconds: found "soon", expected a number'),
    "scale.csv": ("experiment,testbed,kind,k,data_fraction,rung\nput-grid,emulated,emulated,40,0.1,\n",
                  "line 2: rung: found an empty cell, expected a value"),
    "runs.csv": ("run_id,attempt,metric\na,1,b\n", "line 1: found no column block, expected one"),
}  # fmt: skip
BLOCKS = {block: f'block: found "{block}", expected a block of an effort (' for block in ("7", "other-1")}


@pytest.mark.parametrize("block", BLOCKS)
def test_runs_of_no_effort_are_one_line(block, tmp_path):
    path = tmp_path / "tidy" / "runs.csv"
    path.parent.mkdir()
    keep(pd.DataFrame([{"run_id": "r", "block": block, "experiment": "put-grid", "valid": True}]), tmp_path)
    kept.empty_tables(path.parent)
    with pytest.raises(UserError) as raised:
        write_analysis(LOADED, EMULATED, tmp_path, 1)
    assert f"{path}: {BLOCKS[block]}" in str(raised.value)


@pytest.mark.parametrize("name", [*BROKEN, "one k"])
def test_a_tidy_table_that_cannot_be_read_is_one_line(name, tmp_path, complete):
    (tmp_path / "tidy").mkdir()
    keep(complete, tmp_path)
    kept.empty_tables(tmp_path / "tidy")
    text, said = BROKEN.get(
        name, (BROKEN["scale.csv"][0].replace(",\n", ",9\n"), "rung: found 9, expected one from 0 to ")
    )
    path = tmp_path / "tidy" / (name if name in BROKEN else "scale.csv")
    path.write_text(text)
    with pytest.raises(UserError) as raised:
        write_analysis(LOADED, EMULATED, tmp_path, 1)
    assert f"{path}: {said}" in str(raised.value)
    assert "make it anew with `.venv/bin/whitewire tidy`" in str(raised.value)
    assert not (tmp_path / "analysis").exists()


def test_a_reason_says_where_no_budget_makes_enough_runs(complete):
    other = load_paper(paper_path("xyratex-lustre-2011"), EMULATED["fabrics"])
    other.experiments["testdfsio-one-client"]["replicates"] = {"smoke": 0, "quick": 1, "full": 10}
    claim = next(claim for claim in other.claims if claim["id"] == "X-C06")
    open_ = {"decided_after": None, "verdict": claims.INCONCLUSIVE, "runs_help": True, "runs_needed": 2}
    left = left_of([])
    lines = list(analyse._course(other, claim, open_, Runs(complete, other), left))
    assert lines == ["testdfsio-one-client has no more at effort quick, EFFORT=full makes 10"]
    guarded = list(analyse._course(other, claim, open_ | {"runs_help": False}, Runs(complete, other), left))
    assert guarded == ["not decidable here by more runs"], "whatever another effort makes"


def test_a_row_of_estimates_has_the_levels_of_the_paper_not_their_texts():
    other = load_paper(paper_path("xyratex-lustre-2011"), EMULATED["fabrics"])
    found = ((name, spec["factors"]) for name, spec in other.experiments.items())
    name, factors = next(each for each in found if any(isinstance(level, int) for level in sum(each[1].values(), [])))
    levels = {factor: found[-1] for factor, found in factors.items()}
    row = {"experiment": name} | {factor: level_text(level) for factor, level in levels.items()}
    assert analyse._levels(SimpleNamespace(paper=other), row) == levels


@pytest.mark.parametrize(("estimand", "quick", "said"), [
    ("count", 1, []), ("curve_fit", 5, ["response-curve has no more at effort quick, EFFORT=full makes 10"]),
    ("curve_fit", 6, []), ("ratio", 2, ["response-curve has no more at effort quick, EFFORT=full makes 10"]),
    ("ratio", 3, []),
])  # fmt: skip
def test_each_estimand_has_its_own_fewest_runs(complete, estimand, quick, said):
    other = paper()
    other.experiments["response-curve"]["replicates"] = {"quick": quick, "full": 10}
    cell = {"experiment": "response-curve", "where": {}}
    tests = {"count": {"cells": [cell]}, "curve_fit": {"cell": cell, "factor": "fabric", "levels": ["1gbe", "10gbe"]},
             "ratio": {"numerator": {**cell, "where": {"fabric": "1gbe"}},
                       "denominator": {**cell, "where": {"fabric": "10gbe"}}}}  # fmt: skip
    claim = {"test": {"estimand": estimand, "metric": "throughput", **tests[estimand]}}
    open_ = {"decided_after": None, "verdict": claims.INCONCLUSIVE, "runs_help": True}
    left = left_of([("r", "response-curve", canonical({"fabric": "1gbe"}), "the budget ended")])
    found = list(analyse._course(other, claim, open_, Runs(complete, other), left))
    assert found == [*said, "the budget ended before 1 more runs of its cells"]


def test_a_reason_says_when_it_was_decided_and_what_is_lacking_and_further_readings_are_apart(complete, modelled):
    claim = next(claim for claim in LOADED.claims if claim["id"] == "E-C06")
    cells = [(name, canonical(levels)) for name, levels in estimand_of(claim["test"]).cells()]
    left = left_of([("r", *cell, "the budget ended") for cell in cells for _ in range(2)])

    def reason(most):
        some = Runs(complete[complete["replicate"] <= most], LOADED, analyses=(3, 4, 6))
        table, _ = analyse._verdicts(LOADED, some, Runs(modelled, LOADED), "emulated", left=left)
        row = table.set_index("claim").loc["E-C06"]
        return row["decided_after"], row["reason"], row["further_readings"]

    after, decided, further = reason(6)
    assert after in (3, 4, 6)
    assert decided.endswith(f"; decided after {after} runs of each cell") and further
    after, lacking, further = reason(1)
    assert pd.isna(after)
    needed = "2 further runs of each cell would give an interval"
    assert lacking.endswith(f"; the budget ended before {len(left)} more runs of its cells; {needed}") and further


def test_what_no_model_predicts_is_not_testable_and_asks_for_no_runs(modelled):
    tuned, default = ({"experiment": "put-tuned", "where": {"settings": each}} for each in ("tuned", "default"))
    test = {"estimand": "ratio", "metric": "throughput", "numerator": tuned, "denominator": default,
            "relation": "above", "expected": 1, "no_effect": 1}  # fmt: skip
    row = judging.judged(LOADED, test, "modelled", Runs(modelled, LOADED), [])
    assert (row["verdict"], row["estimate"], row["runs_needed"]) == (claims.NOT_TESTABLE, None, None)
    assert row["reason"] == "no model predicts it: no valid run of put-tuned tuned"
    other = paper()
    other.raw["claims"] = [
        next(each for each in other.claims if each["id"] == "E-C06") | {"test": test, "routes": ["modelled"]}
    ]
    (row,) = judging.claims_judged(other, Runs(modelled, other), "emulated", (), Runs(modelled, other))
    assert (row["verdict"], row["open"]) == (claims.NOT_TESTABLE, False)


NEEDED = {
    "an effort makes them": ({"runs_needed": 5, "low": 1.0}, "5 further runs of each cell would decide"),
    "no interval yet": ({"runs_needed": 1, "low": None}, "1 further run of each cell would give an interval"),
    "no effort makes them": (
        {"runs_needed": 1000, "low": 1.0, "beyond": (10, 480)},
        "not decidable here: 1000 or more further runs of each cell would decide, in about 480 min, and no effort "
        "makes more than 10",
    ),
}


@pytest.mark.parametrize("name", NEEDED)
def test_a_reason_says_how_many_runs_would_decide(complete, name):
    row, said = NEEDED[name]
    claim = next(claim for claim in LOADED.claims if claim["id"] == "E-C06")
    row = {"decided_after": None, "verdict": claims.INCONCLUSIVE, "runs_help": True, **row}
    cells = [(each, canonical(levels)) for each, levels in estimand_of(claim["test"]).cells()]
    left = left_of([("r", *cells[0], "the budget ended"), ("s", *cells[0], "decided")])
    lines = list(analyse._course(LOADED, claim, row, Runs(complete, LOADED), left))
    assert lines == ["the budget ended before 1 more runs of its cells", said]
    hopeless = analyse._course(LOADED, claim, row | {"runs_help": False}, Runs(complete, LOADED), left)
    assert list(hopeless) == ["not decidable here by more runs"]


def test_runs_that_other_programs_disturbed_have_a_command_that_makes_them(complete, modelled):
    claim = next(claim for claim in LOADED.claims if claim["id"] == "E-C06")
    cells = [(each, canonical(levels)) for each, levels in estimand_of(claim["test"]).cells()]
    left = left_of([("r", *cell, "other programs used the processors") for cell in cells])
    seen = []
    some = Runs(complete[complete["replicate"] <= 1], LOADED)
    table, _ = analyse._verdicts(LOADED, some, Runs(modelled, LOADED), "emulated", left=left,
                                 outlook=lambda claim, row: seen.append((claim["id"], row["busy"])) or {})  # fmt: skip
    effort = min(some.efforts)
    said = (f"other programs used the processors before {len(cells)} more runs of its cells: stop them, and AGAIN=busy "
            f"make papers PAPERS=emulex-2012 EFFORT={effort} makes them")  # fmt: skip
    assert said in table.set_index("claim").loc["E-C06"]["reason"]
    assert dict(seen)["E-C06"] is True


@pytest.mark.parametrize(("first", "any_budget"), [("its cluster failed: no answer from datanode3", True),
                                                   ("measuring ended with claim E-C02", True),
                                                   ("decided after 3 runs of each cell", True),
                                                   ("the budget ended", False)])  # fmt: skip
def test_runs_of_a_failed_cluster_need_its_cause_put_right_and_no_other_budget(complete, modelled, first, any_budget):
    claim = next(claim for claim in LOADED.claims if claim["id"] == "E-C06")
    cells = [(each, canonical(levels)) for each, levels in estimand_of(claim["test"]).cells()]
    why = [first, *["its cluster failed: no answer from datanode3"] * (len(cells) - 1)]
    left = left_of([("r", *cell, reason) for cell, reason in zip(cells, why, strict=True)])
    seen = []
    some = Runs(complete[complete["replicate"] <= 1], LOADED)
    table, _ = analyse._verdicts(LOADED, some, Runs(modelled, LOADED), "emulated", left=left,
                                 outlook=lambda claim, row: seen.append((claim["id"], row["any_budget"])) or {}
                                 )  # fmt: skip
    said = (f"its cluster failed: no answer from datanode3 before {why.count(why[-1])} more runs of its cells: put "
            "that right (make doctor shows what is missing), and make papers PAPERS=emulex-2012 "
            f"EFFORT={min(some.efforts)} makes them")  # fmt: skip
    assert said in table.set_index("claim").loc["E-C06"]["reason"]
    assert dict(seen)["E-C06"] is any_budget


def test_runs_that_lacked_processors_to_the_end_have_the_same_command(complete):
    claim = next(claim for claim in LOADED.claims if claim["id"] == "E-C06")
    name, levels = estimand_of(claim["test"]).cells()[0]
    known, table = Runs(complete, LOADED).table, complete.copy()
    ids = known.loc[(known["experiment"] == name) & at(known, levels), "run_id"].unique()
    for run_id, codes in zip(ids, ("clock woke_late", "unlike"), strict=False):
        table.loc[table["run_id"] == run_id, ["valid", "why_code"]] = False, codes
    row = {"decided_after": None, "verdict": claims.INCONCLUSIVE, "runs_help": True}
    some = Runs(table, LOADED)
    left = left_of([])
    effort = min(some.efforts)
    assert list(analyse._course(LOADED, claim, row, some, left)) == [
        "1 more lacked processors: stop other programs, and AGAIN=busy make papers PAPERS=emulex-2012 "
        f"EFFORT={effort} makes them"
    ]


@pytest.mark.parametrize("name", paper_names())
def test_no_factor_of_a_paper_is_in_the_way_of_its_analysis(name):
    """A factor is a column of the table of runs, beside our own; one called `count` ended the analysis of a paper."""
    loaded = load_paper(paper_path(name), EMULATED["fabrics"])
    design = pd.DataFrame(make_design(loaded, EMULATED, "quick", 1))
    known = Runs(same_of(loaded, design), loaded)
    emulated = {claim["id"] for claim in loaded.claims if claim["routes"][0] == "emulated"}
    judged = {row["claim"]: row for row in judging.claims_judged(loaded, known, "emulated")}
    with_runs = [judged[each]["claim"] for each in emulated if "no valid run" not in judged[each]["reason"]]
    assert with_runs and len(with_runs) >= len(emulated) / 2
    assert controls.HELD in {control.row["outcome"] for control in controls.judge(loaded, known)}
    medians = analyse._estimates(loaded, known, "emulated")
    assert set(medians["n"]) >= {int(max(design["replicate"]))} and (medians["median"].dropna() > 0).all()


def test_no_factor_has_the_name_of_a_column_of_ours():
    ours = {*columns.of_runs((), lanes=True), *FIRST, "best", "best_unit", "full", "plain", "seed"}
    assert not ours & set(FACTORS)


@pytest.mark.parametrize("names", [
    analyse._VERDICT_COLUMNS, analyse.READING_COLUMNS, analyse.AUDIT_COLUMNS, controls._COLUMNS, inverse._COLUMNS,
    run_lanes.LANE_COLUMNS, similitude.SIMILITUDE_COLUMNS, [*sweeps._COLUMNS, "<one column a varied argument>"],
])  # fmt: skip
def test_the_page_of_tables_lists_the_columns_of_each_table_of_the_analysis(names):
    listed = f"`{', '.join(names)}`"
    page = (HOME / "docs" / "inside" / "tables.md").read_text(encoding="utf-8")
    assert listed in page, f"docs/inside/tables.md: expected {listed}"
