"""Several sites pooled: of each claim a mean over the sites, by how much they differ, and what one more may find.

Estimates are pooled in logarithms, as their intervals are made, and emulated ones never with measured ones. Their
standard errors are the column `error` of verdicts.csv. Nothing is judged again.
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
from whitewire.estimands.maximum_ratio import MaximumRatio
from whitewire.estimands.trend import Trend
from whitewire.levels import level_text
from whitewire.report.comparison import Results, compared_content, differences, efforts_in, listed
from whitewire.report.one_claim import BY_LINK, BY_NUMBER
from whitewire.report.sites import ComparedSite
from whitewire.rule import ALPHA
from whitewire.text import numbers

FEWEST_SITES = 3
"""Fewest sites that are pooled: two leave no degree of freedom for a prediction interval."""
_COUNTS = ("no site", "one site", "two sites")
_BOUNDS = ("expected", "expected_low", "expected_high")
_ASKED = ("relation", *_BOUNDS)
_NUMBERS = ("estimate", "low", "high", "error", "n", *_BOUNDS)
_SCALES = ("k", "data_fraction")
_FAILED = "control_failed"
SITE_COLUMNS = ("paper", "claim", "statement", "route", "site", "label", "verdict", _FAILED, "estimand", "estimate",
                "low", "high", "error", "n", "unit", *_SCALES, *_ASKED, "weight")  # fmt: skip
_MEAN = ("estimate", "low", "high", "prediction_low", "prediction_high")
POOLED_COLUMNS = ("paper", "claim", "statement", "route", "sites", *_MEAN, "unit", "tau2", "i2", "p_value", *_ASKED,
                  "note", "says")  # fmt: skip
_LARGEST = 700.0
"""Largest logarithm of a number."""
_KNOWN = 1000
"""Factor from the mean beyond which the end of an interval says nothing."""
_SAME = {"unit": "units", "estimand": "estimands"}
_SAME_SCALE = {"k": "values of k", "data_fraction": "data fractions"}
"""Columns in which sites have to agree, in words; of the scale for what is no ratio of cells, where it cancels out."""


def estimates_of_sites(sites: Sequence[ComparedSite]) -> pd.DataFrame:
    """One row per claim and site whose runs are to judge it; columns SITE_COLUMNS, `weight` empty."""
    tables = []
    for paper in _papers_of(sites):
        for site in (each for each in sites if paper in each.papers):
            own = site.papers[paper].verdicts
            own = own[own["route"].isin(MEASURED)].reindex(columns=SITE_COLUMNS, fill_value="")
            scales = {name: [_scale(site.papers[paper], name, words) for words in own["estimand"]] for name in _SCALES}
            tables.append(own.assign(paper=paper, site=site.name, label=site.label, **scales))
    found = pd.concat(tables, ignore_index=True)
    for name in (*_NUMBERS, "weight"):
        found[name] = pd.to_numeric(found[name], errors="coerce").astype(float)
    return found


def _scale(results: Results, name: str, estimand: str) -> str:
    """`k` or `data_fraction` of the experiments that an estimand names."""
    own = results.scale[results.scale["experiment"].isin(estimand.split())]
    return ", ".join(sorted({*map(level_text, own[name])})) or "not known"


def pooled_claims(found: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """From the table of sites, one row per claim and route, with `note` why it is not pooled (columns POOLED_COLUMNS);
    and the table of sites with the weight of each in the mean."""
    rows, weights = [], found["weight"].copy()
    for (paper, claim, route), own in found.groupby(["paper", "claim", "route"], sort=False):
        sound, failed = own[own[_FAILED] == ""], own[own[_FAILED] != ""]
        bounded = sound[np.isfinite(sound[["estimate", "low", "high", "n"]].to_numpy()).all(axis=1)]
        left = ", ".join(f"{site} (failed control: {ids})" for site, ids in failed[["site", _FAILED]].to_numpy())
        note = _why_not(sound, bounded)
        over = own if note else bounded
        row: dict[str, Any] = {
            "paper": paper, "claim": claim, "route": route, "statement": own["statement"].iloc[0],
            "unit": " or ".join(over["unit"].unique()), "sites": len(bounded),
            "note": f"{note}; left out: {left}" if note and left else note,
        }  # fmt: skip
        if len(over[[*_ASKED]].drop_duplicates()) == 1:
            row |= {name: over[name].iloc[0] for name in _ASKED}
        if not row["note"]:
            estimates, errors = np.log(bounded["estimate"].to_numpy()), bounded["error"].to_numpy()
            mean = statistics.random_effects(estimates, errors)
            weights.loc[bounded.index] = mean.weights
            ends = (mean.mean, *mean.interval, *mean.prediction)
            row |= {name: math.exp(min(end, _LARGEST)) for name, end in zip(_MEAN, ends, strict=True)}
            # Ratios of two cells have up to twice these degrees of freedom: the test is on the safe side.
            p = statistics.difference_p(estimates, errors, bounded["n"].to_numpy() - 1)
            row |= {"tau2": mean.tau2, "i2": mean.i2, "p_value": p}
        rows.append(row | {"says": _in_words(row, own["verdict"], left)})
    return pd.DataFrame(rows, columns=POOLED_COLUMNS), found.assign(weight=weights)


def _why_not(own: pd.DataFrame, bounded: pd.DataFrame) -> str:
    """Why a claim is not pooled over its sites, of which those `bounded` have an interval; empty: it is."""
    if len(bounded) < FEWEST_SITES:
        which = "" if len(bounded) == len(own) else " with an interval"
        return f"{_COUNTS[len(bounded)]}{which}, pooled from three on"
    estimand = bounded["estimand"].iloc[0]
    absolute = BY_NUMBER.search(estimand) or BY_LINK.search(estimand)
    for name, words in (_SAME | _SAME_SCALE if absolute else _SAME).items():
        if bounded[name].nunique() > 1:
            return f"{words} differ: {' and '.join(bounded[name].unique())}"
    if any(f": {extreme.says} " in estimand for extreme in (MaximumRatio, Trend)):
        return "the largest or smallest of several ratios has a bias that does not average out over sites"
    if bounded["unit"].iloc[0] == AIC:
        return "how much better a curve fits grows with the number of runs"
    low = bounded.loc[bounded[["estimate", "low"]].min(axis=1) <= 0, "site"]
    return f"the interval of {low.iloc[0]} reaches 0, which has no logarithm" if len(low) else ""


def _in_words(row: Mapping[str, Any], verdicts: Iterable[str], left: str) -> str:
    """What the row of a claim says; `left`: the sites that are left out."""
    if row["note"]:
        return f"Not pooled: {row['note']}."
    ends, factor = [row[name] for name in _MEAN], math.exp(math.sqrt(row["tau2"]))
    bounds = {name: None if pd.isna(row.get(name)) else row[name] for name in _BOUNDS}
    known = [*(end for end in ends if 1 / _KNOWN <= end / ends[0] <= _KNOWN), factor,
             *(bound for bound in bounds.values() if bound is not None)]  # fmt: skip
    words: dict[float | None, str] = {None: "open", **dict(zip(known, numbers(known, 3), strict=True))}
    unit = "" if row["unit"] in ("1", "") else f" {row['unit']}"
    asked = ""
    if row.get("relation"):
        target = Target(row["relation"], bounds["expected"], bounds["expected_low"], bounds["expected_high"])
        asked = f"; the claim asks for {asked_words(target, words.__getitem__)}"
    mean, further = (f"{words[low]} to {words[high]}{of}" if low in words and high in words else "not known"
                     for low, high, of in ((ends[1], ends[2], ""), (ends[3], ends[4], unit)))  # fmt: skip
    shared = " Neither interval holds the known errors of the emulation, which all these sites share."
    p = f"p = {row['p_value']:.2g}" if row["p_value"] >= 0.001 else "p < 0.001"
    apart = f"No difference between sites is shown ({p})."
    if row["p_value"] < ALPHA:
        apart = (f"The sites differ by more than their own errors explain ({p}): by a factor of {words[factor]} (one "
                 f"standard deviation between sites), {100 * row['i2']:.0f} % of the variation.")  # fmt: skip
    judged = ", ".join(f"{count} {verdict}" for verdict, count in Counter(verdicts).most_common())
    return (f"{row['sites']} {row['route']} sites: {words[ends[0]]}{unit} on average (95 % interval {mean}){asked}. "
            f"The interval for one more such site is {further}.{shared if row['route'] == 'emulated' else ''} {apart} "
            f"Verdicts: {judged}.{f' Left out: {left}.' if left else ''}")  # fmt: skip


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
    """What makes sites that are pooled hard to compare, a {paper, message} each: a usual one beside each other one, and
    what is not known of each."""
    for paper in _papers_of(sites):
        said: dict[str, None] = {}
        for kind in MEASURED:
            own = [site for site in sites if paper in site.papers and _has(site.papers[paper], kind)]
            if len(own) < FEWEST_SITES:
                continue
            usual = _usual(own, paper)
            for other in own:
                if other is not usual:
                    said |= dict.fromkeys(_apart(usual, other, paper))
            said |= dict.fromkeys(_not_known(own, paper))
        yield from ({"paper": paper, "message": line} for line in said)


def _usual(sites: Sequence[ComparedSite], paper: str) -> ComparedSite:
    """The first of the most sites that are alike, among those with a design and its scale if there are any."""
    each = [compared_content(site.papers[paper]) for site in sites]
    alike = Counter(each)
    return sites[each.index(max(each, key=lambda own: (None not in own, alike[own])))]


def _apart(one: ComparedSite, other: ComparedSite, paper: str) -> Iterator[str]:
    """What makes two sites hard to compare, a line each."""
    return differences(one.papers[paper], other.papers[paper], (one.name, other.name))


def _not_known(sites: Sequence[ComparedSite], paper: str) -> Iterator[str]:
    """What tables of sites do not say, a line each."""
    if names := [site.name for site in sites if paper in site.unchecked]:
        yield f"no valid run in tidy/runs.csv of {listed(names)}: the same runs may be in another site too"


def _papers_of(sites: Sequence[ComparedSite]) -> list[str]:
    return sorted({paper for site in sites for paper in site.papers})


def _has(results: Results, kind: str) -> bool:
    """Whether runs of a kind, emulated or measured, are to judge some claim."""
    return bool((results.verdicts["route"] == kind).any())
