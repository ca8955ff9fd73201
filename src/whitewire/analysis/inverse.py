"""The inverse question: which link rate would have the effect that a paper ascribes to something else?

A claim's key `inverse` names a measured curve of a metric against link rate. The curve is read backwards: at which rate
is the metric `effect` times its value on the starting fabric?
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from whitewire.analysis.runs import Runs
from whitewire.description.paper import Paper
from whitewire.estimands.evidence import Sample

_COLUMNS = [
    *("paper", "claim", "experiment", "metric", "from", "effect", "link_ratio", "link_ratio_low", "link_ratio_high"),
    *("reached", "largest_effect", "plausible_low", "plausible_high", "plausible", "plausible_basis", "n", "left_out"),
]
_DRAWS = 2000
_SURE = 0.975
"""Least share of the draws in which some rate has the effect, for a `yes`."""


def inverse_table(paper: Paper, runs: Runs, fabrics: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """analysis/inverse.csv: one row a claim that asks. `fabrics` are the testbed's, with their rates."""
    rows = [
        {"paper": paper.id, "claim": claim["id"], **_answer(paper, runs, claim["inverse"], fabrics)}
        for claim in paper.claims
        if "inverse" in claim
    ]
    return pd.DataFrame(rows, columns=_COLUMNS)


def _answer(paper: Paper, runs: Runs, inverse: Mapping[str, Any], fabrics: Mapping[str, Mapping[str, float]]) -> dict:
    """The link-rate ratio that has the effect, with its 95 % interval; none if no measured rate has it.

    A rate without a valid run, or with an unusable metric (hidden by the startup overhead, or tasks did not overlap),
    is no point of the curve. It is listed in `left_out`, because the effect may be there.
    """
    effect = paper.evaluate(inverse["effect"])
    low, high = (paper.evaluate(value) for value in inverse["plausible"])
    row: dict[str, Any] = {
        "experiment": inverse["experiment"], "metric": inverse["metric"], "from": inverse["from"], "effect": effect,
        "plausible_low": low, "plausible_high": high, "plausible_basis": inverse["plausible_basis"],
        "reached": False, "plausible": "cannot say", "n": 0, "left_out": "",
    }  # fmt: skip
    samples, left_out = _curve(paper, runs, inverse, fabrics)
    row["left_out"] = " ".join(left_out)
    start = fabrics.get(inverse["from"], {}).get("rate_mbit_per_s")
    if start not in samples or len(samples) < 3:
        return row
    rates = np.array(sorted(samples), dtype=float)
    base = list(rates).index(start)
    points = [samples[rate] for rate in rates]
    centres = np.array([point.centre for point in points])
    ratio = _needed(rates, centres, base, effect)
    effects = centres / centres[base]
    row["largest_effect"] = float(effects.max() if effect >= 1 else effects.min())
    row["n"] = min(len(point.values) for point in points)
    row["reached"] = bool(np.isfinite(ratio))
    if row["reached"]:
        row["link_ratio"] = float(ratio)
    if not min(point.freedom for point in points) > 0 or any(point.problem for point in points):
        return row  # too few runs or overhead runs to say how far they scatter
    curves = centres * _noise(points, runs.seed)
    drawn = np.array([_needed(rates, each, base, effect) for each in curves])
    inside = drawn[np.isfinite(drawn)]
    if row["reached"] and len(inside):
        row["link_ratio_low"], row["link_ratio_high"] = (float(v) for v in np.quantile(inside, [0.025, 0.975]))
        if row["link_ratio_low"] > high or row["link_ratio_high"] < low:
            row["plausible"] = "no"
        elif row["link_ratio_low"] >= low and row["link_ratio_high"] <= high and len(inside) >= _SURE * _DRAWS:
            row["plausible"] = "yes"
    elif not row["reached"] and not left_out and len(inside) < (1 - _SURE) * _DRAWS:
        # Not even the fastest (or slowest) link measured has it.
        row["plausible"] = "no"
    return row


def _curve(paper: Paper, runs: Runs, inverse: Mapping[str, Any], fabrics: Mapping[str, Mapping[str, float]]
           ) -> tuple[dict[float, Sample], list[str]]:  # fmt: skip
    """Runs by link rate in Mbit/s, and the fabrics that are no point of the curve."""
    experiment, factor, metric = inverse["experiment"], inverse["factor"], inverse["metric"]
    samples, left_out = {}, []
    for name in paper.experiments[experiment]["factors"][factor]:
        levels = {**inverse.get("where", {}), factor: name}
        if name not in fabrics:
            continue
        found = runs.sample(experiment, levels, metric)
        if not len(found.values) or runs.why_unusable(experiment, levels, metric):
            left_out.append(name)
        else:
            rate = fabrics[name]["rate_mbit_per_s"]
            samples[rate] = found
    return samples, left_out


def _noise(points: Sequence[Sample], seed: int) -> np.ndarray:
    """Factors on the centres (draws, rates): each source of error is a Student's t, the same for all rates."""
    rng = np.random.Generator(np.random.PCG64(seed))
    found = np.zeros((_DRAWS, len(points)))
    drawn: dict[Hashable, np.ndarray] = {}
    for column, point in enumerate(points):
        for source, (error, freedom) in point.errors().items():
            if source not in drawn:
                drawn[source] = rng.standard_t(freedom, _DRAWS)
            found[:, column] += error * drawn[source]
    return np.exp(found)


def _needed(rates: np.ndarray, values: np.ndarray, base: int, effect: float) -> float:
    """Ratio of link rate at which `values` reach `effect` times their value at `base`; NaN when they never do.

    The curve runs straight between neighbouring points over the logarithm of the rate; of several crossings the one
    nearest to the base counts.
    """
    x, y = np.log(rates / rates[base]), values / values[base] - effect
    crossings = []
    for i in range(len(x) - 1):
        if y[i] == 0 or y[i] * y[i + 1] < 0:
            part = 0.0 if y[i] == 0 else y[i] / (y[i] - y[i + 1])
            crossings.append(x[i] + part * (x[i + 1] - x[i]))
    if y[-1] == 0:
        crossings.append(x[-1])
    return float(np.exp(min(crossings, key=abs))) if crossings else float("nan")
