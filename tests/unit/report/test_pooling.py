"""Several sites pooled: which claims are, with what, and what is said of the others."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from tests.support.compared import SCALE, claim, run, write
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


def test_without_an_error_the_interval_is_taken_for_a_normal_one(sites):
    half = 1.96 * 0.05
    values = [4.0, 4.4, 3.7]
    bounded = [(value, value * math.exp(-half), value * math.exp(half)) for value in values]
    of_intervals = only(pooled(sites(*([claim("C1", *each)] for each in bounded))), "C1")
    of_errors = only(pooled(sites(*([claim("C1", *each, error=0.05)] for each in bounded))), "C1")
    assert of_intervals["low"] == pytest.approx(of_errors["low"])
    assert of_intervals["tau2"] == pytest.approx(of_errors["tau2"])


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
    ],
)
def test_why_a_claim_is_not_pooled(sites, changed, note):
    usual = claim("C1", 4.0, 3.8, 4.2, estimand="a ratio")
    table = pooled(sites([usual], [usual], [usual | changed]))
    assert list(table["note"]) == [note] and list(table["says"]) == [f"Not pooled: {note}."]
    assert table["estimate"].isna().all()


def test_how_much_better_a_curve_fits_is_not_pooled(sites):
    fit = claim("C1", 5.0, 4.0, 6.0, unit="AIC difference")
    (note,) = pooled(sites([fit], [fit], [fit]))["note"]
    assert note == "how much better a curve fits grows with the number of runs"


def test_a_claim_is_said_in_plain_words(sites):
    same = [claim("C1", 4.0, 3.8, 4.2, error=0.02, unit="MB/s", verdict=verdict)
            for verdict in ("reproduced", "inconclusive", "reproduced")]  # fmt: skip
    says = only(pooled(sites(*([each] for each in same))), "C1")["says"]
    assert says == (
        "3 measured sites: 4 MB/s on average (95 % interval 3.81 to 4.2); the claim asks for 3.5 to 4.5. At one more "
        "such site it would be 3.45 to 4.63 MB/s. The sites differ by no more than their own errors explain. Verdicts: "
        "2 reproduced, 1 inconclusive."
    )
    apart = [claim("C1", value, value * 0.99, value * 1.01, error=0.01) for value in (2.0, 4.0, 8.0)]
    says = only(pooled(sites(*([each] for each in apart))), "C1")["says"]
    assert ("The sites differ by more than their own errors explain: by a factor of 2 (one standard deviation between "
            "sites), 100 % of the variation.") in says  # fmt: skip
    assert " sites: 4 on average" in says


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
