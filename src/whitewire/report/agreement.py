"""How far two results agree: share of equal verdicts and Cohen's kappa, which side decides where only one does, and
whether more estimates differ than chance explains."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

import pandas as pd
import scipy

from whitewire.analysis.claims import MEASURED
from whitewire.errors import UserError
from whitewire.report import comparison, reference
from whitewire.report.bundle import BUNDLE_FILE, TESTBED_FILE
from whitewire.report.comparison import OTHER_VERDICT, SAME_VERDICT, UNDECIDED, load_results
from whitewire.report.reference import read_reference

FALSE = 0.05
"""Expected share of estimates of the same quantity whose ratio's 95 % interval excludes 1."""
_SURE = 0.95
_NAMES = ("the reference", "this run")
AGREEMENT_TABLE, AGREEMENT_RECORD = "verdicts.csv", "agreement.json"


class Scope(TypedDict):
    """Counts of claims that were judged on both sides, and how far the verdicts agree."""

    claims: int
    same: int
    other: int
    """Both decide, and not the same."""
    only_a: int
    only_b: int
    neither: int
    share: float | None
    """Share of `same` among `claims`."""
    kappa: float | None
    """None if each side has only one verdict, because chance alone would agree."""


class Estimates(TypedDict):
    """Estimates from runs with intervals on both sides."""

    compared: int
    differ: int
    by_chance: int
    """Number of differing estimates that chance exceeds in 5 of 100 comparisons."""
    apart: int
    """Intervals without a value in common."""


class Agreement(TypedDict):
    """Agreement of two results: over `all` claims, over those that `runs` judge, and over the latter by paper."""

    agrees: bool | None
    """None if runs decide nothing on both sides: neither a verdict nor an estimate with an interval."""
    all: Scope
    runs: Scope
    papers: dict[str, Scope]
    estimates: Estimates


def kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's kappa of two raters' categories (Educational and Psychological Measurement 20, 1960).

    The share of equal pairs above chance, over its largest possible value. None without pairs, and if chance gives only
    equal pairs.
    """
    n = len(pairs)
    one, two = (Counter(side) for side in zip(*pairs, strict=True)) if pairs else (Counter[str](), Counter[str]())
    chance = sum(one[category] * two[category] for category in one)  # times n squared
    if chance == n * n:
        return None
    return (n * sum(a == b for a, b in pairs) - chance) / (n * n - chance)


def by_chance(estimates: int) -> int:
    """Largest number of `estimates` estimates that differ by chance alone, in 95 of 100 comparisons."""
    return int(scipy.stats.binom.ppf(_SURE, estimates, FALSE)) if estimates else 0


def agreement_of(table: pd.DataFrame) -> Agreement:
    """Agreement from the table of comparison.verdicts.

    Two results agree if no claim that both decide has different verdicts, and no more estimates differ than chance
    explains. None if runs decide nothing on both sides.
    """
    judged = table[table["stands"] != ""]
    by_runs = judged[judged["route_a"].isin(MEASURED) | judged["route_b"].isin(MEASURED)]
    bounded = by_runs[by_runs["differs"].isin([comparison.YES, comparison.NO]) & (by_runs["overlap"] != "")]
    estimates: Estimates = {
        "compared": len(bounded),
        "differ": int((bounded["differs"] == comparison.YES).sum()),
        "by_chance": by_chance(len(bounded)),
        "apart": int((bounded["overlap"] == comparison.NO).sum()),
    }
    whole, runs = _scope(judged), _scope(by_runs)
    alike = whole["other"] == 0 and estimates["differ"] <= estimates["by_chance"]
    decided = ~by_runs["verdict_a"].isin(UNDECIDED) & ~by_runs["verdict_b"].isin(UNDECIDED)
    silent = not decided.any() and not estimates["compared"]
    return {
        "agrees": None if alike and silent else alike,
        "all": whole,
        "runs": runs,
        "papers": {str(paper): _scope(rows) for paper, rows in by_runs.groupby("paper", sort=False)},
        "estimates": estimates,
    }


def _scope(rows: pd.DataFrame) -> Scope:
    stands, n = Counter(rows["stands"]), len(rows)
    return {
        "claims": n, "same": stands[SAME_VERDICT], "other": stands[OTHER_VERDICT],
        "only_a": stands[comparison.ONLY_A], "only_b": stands[comparison.ONLY_B], "neither": stands[comparison.NEITHER],
        "share": stands[SAME_VERDICT] / n if n else None,
        "kappa": kappa(list(zip(rows["verdict_a"], rows["verdict_b"], strict=True))),
    }  # fmt: skip


def beside_reference(results: Path, folder: Path, own: Mapping[str, comparison.Results] | None = None) -> Path:
    """Write to `folder` how a testbed's results agree with the reference, for documents; return the folder.

    agreement.json has `state`: `compared`, with Agreement, messages and the reference's description; `itself` for the
    opened reference; `none` without a reference; `unusable`, with the reason. verdicts.csv is that of sides.verdicts.
    `own`: the papers to compare (None: all; UserError if one is damaged).
    """
    loaded = load_results(results) if own is None else own
    folder.mkdir(parents=True, exist_ok=True)
    (folder / AGREEMENT_RECORD).write_text(json.dumps(_beside(results, loaded, folder)), encoding="utf-8")
    return folder


def _beside(results: Path, own: Mapping[str, comparison.Results], folder: Path) -> dict[str, Any]:
    kept = reference.reference_folder()
    if not (kept / BUNDLE_FILE).is_file():
        return {"state": "none"}
    try:
        record, files = read_reference(own)
        other = load_results(kept)
    except UserError as error:
        return {"state": "unusable", "why": str(error)}
    if is_of_bundle(results, files):
        return {"state": "itself", "reference": record}
    table = comparison.verdicts(other, own)
    messages = [
        line for line in comparison.messages(other, own, _NAMES) if line["paper"] in comparison.both(other, own)
    ]
    table.to_csv(folder / AGREEMENT_TABLE, index=False, lineterminator="\n")
    return {"state": "compared", "reference": record, "messages": messages, **agreement_of(table)}


def is_of_bundle(results: Path, files: Mapping[str, bytes]) -> bool:
    """Whether an opened project's `results/<testbed>` are those of a bundle, except for what is judged anew."""
    project = results.resolve().parent.parent
    description = project / "config" / "testbeds" / f"{results.name}.yaml"
    places = {BUNDLE_FILE: project / BUNDLE_FILE, TESTBED_FILE: description}
    for name, content in files.items():
        path = places.get(name, results / name)
        if "/analysis/" not in name and not (path.is_file() and path.read_bytes() == content):
            return False
    return True
