"""Several sites pooled: which claims are, with what, and what is said of the others."""

import itertools
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.support.compared import SCALE, claim, run, write
from whitewire.estimands.maximum_ratio import MaximumRatio
from whitewire.estimands.trend import Trend
from whitewire.report.comparison import load_results
from whitewire.report.pooling import (
    POOLED_COLUMNS,
    SITE_COLUMNS,
    estimates_of_sites,
    facts_of_sites,
    messages_of_sites,
    pooled_claims,
)
from whitewire.report.sites import ComparedSite
from whitewire.statistics import random_effects

NAMES = ("alpha", "beta", "gamma", "delta")


@pytest.fixture
def sites(tmp_path):
    """Sites from the claims of each, or from all arguments of `write`."""
    numbers = itertools.count()

    def made(*each):
        folder = tmp_path / str(next(numbers))
        found = []
        for name, own in zip(NAMES, each, strict=False):
            own = own if isinstance(own, dict) else {"claims": own}
            found.append(ComparedSite(name, folder / name, load_results(write(folder / name, **own))))
        return found

    return made


def pooled(found):
    claims, _ = pooled_claims(estimates_of_sites(found))
    assert tuple(claims.columns) == POOLED_COLUMNS
    return claims


def only(table, name, route="measured"):
    table = table[(table["claim"] == name) & (table["route"] == route)]
    assert len(table) == 1, table
    return table.iloc[0]


def test_the_mean_is_that_of_logarithms_with_the_errors_of_the_table(sites):
    values, errors = [4.0, 4.4, 3.7], [0.02, 0.04, 0.03]
    found = sites(*([claim("C1", value, value * 0.7, value * 1.5, error=error)]
                    for value, error in zip(values, errors, strict=True)))  # fmt: skip
    row, expected = only(pooled(found), "C1"), random_effects(np.log(values), errors)
    assert row["sites"] == 3 and row["note"] == ""
    assert row["estimate"] == pytest.approx(math.exp(expected.mean))
    assert [row["low"], row["high"]] == pytest.approx(np.exp(expected.interval))
    assert [row["prediction_low"], row["prediction_high"]] == pytest.approx(np.exp(expected.prediction))
    assert (row["tau2"], row["i2"]) == pytest.approx((expected.tau2, expected.i2))
    _, own = pooled_claims(estimates_of_sites(found))
    assert tuple(own.columns) == SITE_COLUMNS
    assert list(own["weight"]) == pytest.approx(expected.weights) and list(own["site"]) == ["alpha", "beta", "gamma"]


def test_emulated_and_measured_sites_are_never_pooled_together(sites):
    def of(route, value=4.0):
        return [claim("C1", value, value * 0.95, value * 1.05, route=route)]

    table = pooled(sites(of("emulated"), of("measured"), of("emulated"), of("measured")))
    assert list(table["route"]) == ["emulated", "measured"]
    assert set(table["note"]) == {"two sites, pooled from three on"} and table["estimate"].isna().all()
    table = pooled(sites(of("emulated", 3.0), of("measured", 9.0), of("emulated", 3.0), of("emulated", 3.0)))
    assert only(table, "C1", "emulated")["estimate"] == pytest.approx(3)
    assert only(table, "C1")["says"] == "Not pooled: one site, pooled from three on."


@pytest.mark.parametrize(
    "changed, note",
    [
        ({"estimate": None, "low": None, "high": None}, "two sites with an interval, pooled from three on"),
        ({"low": None, "high": None}, "two sites with an interval, pooled from three on"),
        ({"high": math.inf}, "two sites with an interval, pooled from three on"),
        ({"unit": "MB/s"}, "units differ: 1 and MB/s"),
        ({"estimand": "another"}, "estimands differ: a ratio and another"),
        ({"estimate": -3.0, "low": -4.0, "high": -2.0}, "the interval of gamma reaches 0, which has no logarithm"),
        ({"low": 0.0}, "the interval of gamma reaches 0, which has no logarithm"),
        ({"route": "arithmetic"}, "two sites, pooled from three on"),
        ({"control_failed": "K1 K2"}, "two sites, pooled from three on; left out: gamma (failed control: K1 K2)"),
    ],
)
def test_why_a_claim_is_not_pooled(sites, changed, note):
    usual = claim("C1", 4.0, 3.8, 4.2, estimand="a ratio")
    table = pooled(sites([usual], [usual], [usual | changed]))
    assert list(table["note"]) == [note] and list(table["says"]) == [f"Not pooled: {note}."]
    assert table["estimate"].isna().all()


@pytest.mark.parametrize(
    "estimand", ["rate: largest of put 10gbe / put 1gbe over 3 cells", "rate: smallest step over clients, put"]
)
def test_extremes_of_several_ratios_are_not_pooled(sites, estimand):
    extreme = claim("C1", 5.0, 4.0, 6.0, estimand=estimand)
    (note,) = pooled(sites([extreme], [extreme], [extreme]))["note"]
    assert note == "the largest or smallest of several ratios has a bias that does not average out over sites"


def test_words_of_extremes_are_those_of_the_estimands():
    cell = {"experiment": "put", "where": {}}
    largest = {"metric": "throughput", "numerator": cell, "denominator": cell, "cells": [{"clients": 1}]}
    smallest = {"metric": "throughput", "cell": cell, "factor": "clients", "levels": [1, 2]}
    for estimand in (MaximumRatio(largest), Trend(smallest)):
        assert f": {estimand.says} " in estimand.describe()


@pytest.mark.parametrize("over", ["80", "1 x 1gbe link", "3 x 10gbe link"])
def test_a_value_that_is_no_ratio_of_cells_is_pooled_at_one_scale_alone(sites, over):
    share = {"claims": [claim("C1", 4.0, 3.8, 4.2, estimand=f"throughput: put-grid 1gbe / {over}")]}
    ratio = {"claims": [claim("C1", 4.0, 3.8, 4.2, estimand="throughput: put-grid 10gbe / put-grid 1gbe")]}
    for changed, note in (({"k": 20}, "values of k differ: 1 and 20"),
                          ({"data_fraction": 0.1}, "data fractions differ: 1 and 0.1"),
                          ({"experiment": "another", "k": 20}, "values of k differ: 1 and not known")):  # fmt: skip
        scale = {"scale": [SCALE | changed]}
        assert list(pooled(sites(share, share, share | scale))["note"]) == [note]
        assert list(pooled(sites(ratio, ratio, ratio | scale))["note"]) == [""]
    assert list(pooled(sites(share, share, share))["note"]) == [""]
    other = {"scale": [SCALE, SCALE | {"experiment": "another", "k": 20}]}
    assert list(pooled(sites(share, share, share | other))["note"]) == [""]


def test_a_site_whose_control_failed_is_left_out_and_named(sites):
    usual = claim("C1", 4.0, 3.8, 4.2, error=0.02)
    wrong = claim("C1", 9.0, 8.8, 9.2, error=0.02, verdict="inconclusive", control_failed="K1")
    found = sites([usual], [wrong], [usual], [usual])
    claims, own = pooled_claims(estimates_of_sites(found))
    row = only(claims, "C1")
    assert row["sites"] == 3 and row["estimate"] == pytest.approx(4)
    assert row["says"].endswith(" Verdicts: 3 reproduced, 1 inconclusive. Left out: beta (failed control: K1).")
    assert list(own["weight"].isna()) == [False, True, False, False]


def test_how_much_better_a_curve_fits_is_not_pooled(sites):
    fit = claim("C1", 5.0, 4.0, 6.0, unit="AIC difference")
    (note,) = pooled(sites([fit], [fit], [fit]))["note"]
    assert note == "how much better a curve fits grows with the number of runs"


def test_a_claim_is_said_in_plain_words(sites):
    same = [claim("C1", 4.0, 3.8, 4.2, error=0.02, unit="MB/s", verdict=verdict)
            for verdict in ("reproduced", "inconclusive", "reproduced")]  # fmt: skip
    says = only(pooled(sites(*([each] for each in same))), "C1")["says"]
    assert says == (
        "3 measured sites: 4 MB/s on average (95 % interval 3.81 to 4.2); the claim asks for 3.5 to 4.5. The "
        "interval for one more such site is 3.45 to 4.63 MB/s. No difference between sites is shown (p = 1). Verdicts: "
        "2 reproduced, 1 inconclusive."
    )
    apart = [claim("C1", value, value * 0.99, value * 1.01, error=0.01) for value in (2.0, 4.0, 8.0)]
    says = only(pooled(sites(*([each] for each in apart))), "C1")["says"]
    assert re.search(r"more than their own errors explain \(p < 0\.001\): by a factor of 2 \(one standard deviation "
                     r"between sites\), 100 % of the variation\.", says)  # fmt: skip
    assert " sites: 4 on average" in says


def test_sites_differ_only_if_the_test_says_so(sites):
    """Q is 2.8 with two degrees of freedom, above their number."""
    found = sites(*([claim("C1", value, value * 0.9, value * 1.1, error=0.05)] for value in (4.0, 4.2, 4.5)))
    row = only(pooled(found), "C1")
    assert row["tau2"] > 0 and row["p_value"] == pytest.approx(0.28, abs=0.03)
    assert f"No difference between sites is shown (p = {row['p_value']:.2g})." in row["says"]
    for n, says in ((3, "No difference"), (30, "The sites differ by more than")):  # errors rest on so many runs
        apart = [[claim("C1", value, value * 0.8, value * 1.2, error=0.02, n=n)] for value in (4.0, 4.1, 4.4)]
        assert says in only(pooled(sites(*apart)), "C1")["says"]


def test_an_interval_that_says_nothing_is_not_printed(sites):
    found = sites(*([claim("C1", value, value * 0.9, value * 1.1, error=0.05)] for value in (0.01, 1.0, 100.0)))
    row = only(pooled(found), "C1")
    assert row["prediction_high"] > 1000 * row["estimate"]
    assert "The interval for one more such site is not known." in row["says"]
    assert not re.search(r"\d,\d{3},\d{3}|0\.0000", row["says"])


def test_known_errors_of_the_emulation_are_said_to_be_in_no_interval(sites):
    says = {route: only(pooled(sites(*[[claim("C1", 4.0, 3.8, 4.2, route=route)]] * 3)), "C1", route)["says"]
            for route in ("emulated", "measured")}  # fmt: skip
    lacks = "Neither interval holds the known errors of the emulation, which all these sites share."
    assert lacks in says["emulated"] and lacks not in says["measured"]


def test_of_claims_that_ask_for_different_things_no_target_is_said(sites):
    each = [[claim("C1", 4.0, 3.8, 4.2, expected_low=low)] for low in (3.5, 3.5, 3.0)]
    found = sites(*each)
    row = only(pooled(found), "C1")
    assert pd.isna(row["relation"]) and pd.isna(row["expected"]) and "asks" not in row["says"]
    assert list(messages_of_sites(found)) == [
        {"paper": "made-up-2026", "message": "claims that ask for something else in alpha than in gamma: C1"}
    ]


def test_messages_are_of_sites_that_are_pooled(sites):
    other = {"claims": [claim("C1", 4.0, 3.8, 4.2, route="emulated")], "scale": [SCALE | {"k": 9}]}
    usual = {"claims": [claim("C1", 4.0, 3.8, 4.2)]}
    assert list(messages_of_sites(sites(usual, usual, usual, other))) == []
    smaller = usual | {"design": [run(block="smoke-1")]}
    said = [line["message"] for line in messages_of_sites(sites(usual, usual, smaller))]
    assert said == ["the effort is quick in alpha, smoke in gamma: runs differ in number, and may in bytes"]
    assert list(messages_of_sites(sites(usual, smaller))) == []


def test_messages_are_against_the_site_that_differs_from_fewest(sites):
    usual, other = {"claims": [claim("C1", 4.0)]}, {"claims": [claim("C1", 4.0)], "scale": [SCALE | {"k": 9}]}
    said = [line["message"] for line in messages_of_sites(sites(other, usual, usual, usual))]
    assert said == ["put-grid: k 1 in beta, 9 in alpha"]


def test_other_sites_are_not_beside_one_without_a_design(sites):
    usual, lacks = {"claims": [claim("C1", 4.0)]}, {"claims": [claim("C1", 4.0)], "design": ()}
    other = usual | {"scale": [SCALE | {"k": 9}]}
    said = [line["message"] for line in messages_of_sites(sites(lacks, lacks, usual, other))]
    assert said == ["no design in alpha, so efforts and cells cannot be compared",
                    "no design in beta, so efforts and cells cannot be compared",
                    "put-grid: k 1 in gamma, 9 in delta"]  # fmt: skip


def test_messages_say_what_is_not_known_of_a_site(sites):
    usual = [claim("C1", 4.0)]
    one, two, three = sites(usual, usual, usual)
    three = replace(three, unchecked=("made-up-2026",))
    assert [line["message"] for line in messages_of_sites([one, two, three])] == [
        "no valid run in tidy/runs.csv of gamma: the same runs may be in another site too",
    ]


def test_facts_of_sites(sites):
    one, two, three = sites([claim("C1", 4.0)], {"claims": [claim("C1", 4.0, route="emulated")], "design": ()},
                            [claim("C1", route="arithmetic")])  # fmt: skip
    usual = {"label": "not said", "note": "", "papers": ["made-up-2026"]}
    assert facts_of_sites([one, two, three]) == [
        usual | {"name": "alpha", "kinds": ["measured"], "efforts": ["quick"]},
        usual | {"name": "beta", "kinds": ["emulated"], "efforts": []},
        usual | {"name": "gamma", "kinds": [], "efforts": ["quick"]},
    ]


def test_sites_without_claims_by_runs_make_empty_tables(sites):
    found = sites(*[[claim("C1", route="arithmetic")]] * 3)
    claims, own = pooled_claims(estimates_of_sites(found))
    assert claims.empty and own.empty
