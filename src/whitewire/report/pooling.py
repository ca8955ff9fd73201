"""Several sites pooled: of each claim a mean over the sites, by how much they differ, and what one more may find.

Estimates are pooled in logarithms, as their intervals are made, and emulated ones never with measured ones. Their
standard errors are the column `error` of verdicts.csv. Where that is empty (the largest of several ratios, trends,
tables of earlier versions), it is the width of the 95 % interval in logarithms over that of a normal one, 2 x 1.96.
Whatever else widened the interval, such as Student's t of few runs, an early analysis or the emulation's own error,
then counts as error: the site weighs less, and the differences between sites come out smaller. Nothing is judged again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from whitewire import statistics
from whitewire.analysis.claims import MEASURED, Target, asked_words
from whitewire.estimands.curve_fit import AIC
from whitewire.report.comparison import Results, differences, efforts_in
from whitewire.report.sites import ComparedSite
from whitewire.text import numbers

FEWEST_SITES = 3
"""Fewest sites that are pooled: two leave no degree of freedom for a prediction interval."""
_COUNTS = ("no site", "one site", "two sites")
_BOUNDS = ("expected", "expected_low", "expected_high")
_ASKED = ("relation", *_BOUNDS)
_NUMBERS = ("estimate", "low", "high", "error", "n", *_BOUNDS)
SITE_COLUMNS = ("paper", "claim", "statement", "route", "site", "label", "verdict", "estimand", "estimate", "low",
                "high", "error", "n", "unit", *_ASKED, "weight")  # fmt: skip
_MEAN = ("estimate", "low", "high", "prediction_low", "prediction_high")
POOLED_COLUMNS = ("paper", "claim", "statement", "route", "sites", *_MEAN, "unit", "tau2", "i2", *_ASKED, "note",
                  "says")  # fmt: skip
_LARGEST = 700.0
"""Largest logarithm of a number."""


def estimates_of_sites(sites: Sequence[ComparedSite]) -> pd.DataFrame:
    """One row per claim and site whose runs are to judge it; columns SITE_COLUMNS, `weight` empty."""
    tables = []
    for paper in _papers_of(sites):
        for site in (each for each in sites if paper in each.papers):
            own = site.papers[paper].verdicts
            own = own[own["route"].isin(MEASURED)].reindex(columns=SITE_COLUMNS, fill_value="")
            tables.append(own.assign(paper=paper, site=site.name, label=site.label))
    found = pd.concat(tables, ignore_index=True)
    for name in (*_NUMBERS, "weight"):
        found[name] = pd.to_numeric(found[name], errors="coerce").astype(float)
    return found


def pooled_claims(found: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """From the table of sites, one row per claim and route, with `note` why it is not pooled (columns POOLED_COLUMNS);
    and the table of sites with the weight of each in the mean."""
    rows, weights = [], found["weight"].copy()
    for (paper, claim, route), own in found.groupby(["paper", "claim", "route"], sort=False):
        bounded = own[np.isfinite(own[["estimate", "low", "high"]].to_numpy()).all(axis=1)]
        row: dict[str, Any] = {
            "paper": paper, "claim": claim, "route": route, "statement": own["statement"].iloc[0],
            "unit": " or ".join(own["unit"].unique()), "sites": len(bounded), "note": _why_not(own, bounded),
        }  # fmt: skip
        if len(own[[*_ASKED]].drop_duplicates()) == 1:
            row |= {name: own[name].iloc[0] for name in _ASKED}
        if not row["note"]:
            estimates, low, high = (np.log(bounded[name].to_numpy()) for name in ("estimate", "low", "high"))
            errors = bounded["error"].to_numpy()
            errors = np.where(errors >= 0, errors, (high - low) / (2 * statistics.normal(0.95)))
            mean = statistics.random_effects(estimates, errors)
            weights.loc[bounded.index] = mean.weights
            ends = (mean.mean, *mean.interval, *mean.prediction)
            row |= {name: math.exp(min(end, _LARGEST)) for name, end in zip(_MEAN, ends, strict=True)}
            row |= {"tau2": mean.tau2, "i2": mean.i2}
        rows.append(row | {"says": _in_words(row, own["verdict"])})
    return pd.DataFrame(rows, columns=POOLED_COLUMNS), found.assign(weight=weights)


def _why_not(own: pd.DataFrame, bounded: pd.DataFrame) -> str:
    """Why a claim is not pooled over its sites, of which those `bounded` have an interval; empty: it is."""
    if len(bounded) < FEWEST_SITES:
        which = "" if len(bounded) == len(own) else " with an interval"
        return f"{_COUNTS[len(bounded)]}{which}, pooled from three on"
    for name in ("unit", "estimand"):
        if bounded[name].nunique() > 1:
            return f"{name}s differ: {' and '.join(bounded[name].unique())}"
    if bounded["unit"].iloc[0] == AIC:
        return "how much better a curve fits grows with the number of runs"
    low = bounded.loc[bounded[["estimate", "low"]].min(axis=1) <= 0, "site"]
    return f"the interval of {low.iloc[0]} reaches 0, which has no logarithm" if len(low) else ""


def _in_words(row: Mapping[str, Any], verdicts: Iterable[str]) -> str:
    """What the row of a claim says."""
    if row["note"]:
        return f"Not pooled: {row['note']}."
    ends, factor = [row[name] for name in _MEAN], math.exp(math.sqrt(row["tau2"]))
    bounds = {name: None if pd.isna(row.get(name)) else row[name] for name in _BOUNDS}
    known = [*ends, factor, *(bound for bound in bounds.values() if bound is not None)]
    words: dict[float | None, str] = {None: "open", **dict(zip(known, numbers(known, 3), strict=True))}
    mean, low, high, least, most = (words[end] for end in ends)
    unit = "" if row["unit"] in ("1", "") else f" {row['unit']}"
    asked = ""
    if row.get("relation"):
        target = Target(row["relation"], bounds["expected"], bounds["expected_low"], bounds["expected_high"])
        asked = f"; the claim asks for {asked_words(target, words.__getitem__)}"
    apart = "The sites differ by no more than their own errors explain."
    if row["tau2"]:
        apart = (f"The sites differ by more than their own errors explain: by a factor of {words[factor]} (one "
                 f"standard deviation between sites), {100 * row['i2']:.0f} % of the variation.")  # fmt: skip
    judged = ", ".join(f"{count} {verdict}" for verdict, count in Counter(verdicts).most_common())
    return (f"{row['sites']} {row['route']} sites: {mean}{unit} on average (95 % interval {low} to {high}){asked}. "
            f"At one more such site it would be {least} to {most}{unit}. {apart} Verdicts: {judged}.")  # fmt: skip


def facts_of_sites(sites: Sequence[ComparedSite]) -> list[dict[str, Any]]:
    """Of each site its name, label and note, the kind of its runs, its papers and their efforts."""
    return [
        {
            "name": site.name, "label": site.label, "note": site.note,
            "kinds": [kind for kind in MEASURED if any(_has(paper, kind) for paper in site.papers.values())],
            "papers": sorted(site.papers),
            "efforts": sorted({each for paper in site.papers.values() if len(paper.design)
                               for each in efforts_in(paper.design)}),
        }
        for site in sites
    ]  # fmt: skip


def messages_of_sites(sites: Sequence[ComparedSite]) -> Iterator[dict[str, str]]:
    """What makes sites that are pooled hard to compare, a {paper, message} each: the first beside each other one."""
    for paper in _papers_of(sites):
        said: dict[str, None] = {}
        for kind in MEASURED:
            own = [site for site in sites if paper in site.papers and _has(site.papers[paper], kind)]
            for other in own[1:] if len(own) >= FEWEST_SITES else ():
                names = own[0].name, other.name
                said |= dict.fromkeys(differences(own[0].papers[paper], other.papers[paper], names))
        yield from ({"paper": paper, "message": line} for line in said)


def _papers_of(sites: Sequence[ComparedSite]) -> list[str]:
    return sorted({paper for site in sites for paper in site.papers})


def _has(results: Results, kind: str) -> bool:
    """Whether runs of a kind, emulated or measured, are to judge some claim."""
    return bool((results.verdicts["route"] == kind).any())
