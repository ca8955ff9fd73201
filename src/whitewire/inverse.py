"""The inverse question: which link rate would have the effect that a paper lays to something else?

A claim's key `inverse` names a measured curve of a metric against link rate. The curve is read backwards: where is the
metric `effect` times what it is at the starting fabric?
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from whitewire.estimands import Runs
from whitewire.paper import Paper
from whitewire.statistics import LEAST_FREEDOM, pooled_log_sd

COLUMNS = [
    *("paper", "claim", "experiment", "metric", "from", "effect", "link_ratio", "link_ratio_low", "link_ratio_high"),
    *("reached", "largest_effect", "plausible_low", "plausible_high", "plausible", "plausible_basis", "n"),
]
DRAWS = 2000


def table(paper: Paper, runs: Runs, fabrics: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """analysis/inverse.csv: one row a claim that asks. `fabrics` are the testbed's, with their rates."""
    rows = [
        {"paper": paper.id, "claim": claim["id"], **answer(paper, runs, claim["inverse"], fabrics)}
        for claim in paper.claims
        if "inverse" in claim
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def answer(paper: Paper, runs: Runs, inverse: Mapping[str, Any], fabrics: Mapping[str, Mapping[str, float]]) -> dict:
    """The link-rate ratio that has the effect, with its 95 % interval; none where no measured rate has it."""
    experiment, factor = inverse["experiment"], inverse["factor"]
    effect = paper.evaluate(inverse["effect"])
    low, high = (paper.evaluate(value) for value in inverse["plausible"])
    row: dict[str, Any] = {
        "experiment": experiment, "metric": inverse["metric"], "from": inverse["from"], "effect": effect,
        "plausible_low": low, "plausible_high": high, "plausible_basis": inverse["plausible_basis"],
        "reached": False, "plausible": "cannot say", "n": 0,
    }  # fmt: skip
    samples = {}
    for name in paper.experiments[experiment]["factors"][factor]:
        found = runs.sample(experiment, {**inverse.get("where", {}), factor: name}, inverse["metric"]).values
        if len(found) and name in fabrics:
            samples[fabrics[name]["rate_mbit_per_s"]] = found
    start = fabrics.get(inverse["from"], {}).get("rate_mbit_per_s")
    if start not in samples or len(samples) < 3:
        return row
    rates = np.array(sorted(samples), dtype=float)
    base = list(rates).index(start)
    medians = np.array([np.median(samples[rate]) for rate in rates])
    ratio = needed(rates, medians, base, effect)
    rng = np.random.Generator(np.random.PCG64(runs.seed))
    spread, freedom = pooled_log_sd(list(samples.values()))
    counts = np.array([len(samples[rate]) for rate in rates])
    noise = np.exp(spread / np.sqrt(counts) * rng.standard_normal((DRAWS, len(rates))))
    drawn = np.array([needed(rates, medians * factors, base, effect) for factors in noise])
    effects = medians / medians[base]
    row["largest_effect"] = float(effects.max() if effect >= 1 else effects.min())
    row["n"] = int(min(len(values) for values in samples.values()))
    row["reached"] = bool(np.isfinite(ratio))
    if row["reached"]:
        row["link_ratio"] = float(ratio)
    if freedom < LEAST_FREEDOM:
        return row  # too few runs to say how far they scatter
    if row["reached"]:
        inside = drawn[np.isfinite(drawn)]
        row["link_ratio_low"], row["link_ratio_high"] = (float(v) for v in np.quantile(inside, [0.025, 0.975]))
        if row["link_ratio_low"] > high or row["link_ratio_high"] < low:
            row["plausible"] = "no"
        elif row["link_ratio_low"] >= low and row["link_ratio_high"] <= high:
            row["plausible"] = "yes"
    elif np.mean(np.isfinite(drawn)) < 0.025:
        # Not even the fastest (or slowest) link measured has it.
        row["plausible"] = "no"
    return row


def needed(rates: np.ndarray, values: np.ndarray, base: int, effect: float) -> float:
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
