"""Published ratios of real clusters against the same ratios of emulated ones: a row per claim, shares, assumptions.

The papers are those of config/calibration (`make calibrate`). The functions but `tables` know no files.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from whitewire import atomic, statistics
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.errors import UserError
from whitewire.paths import shown
from whitewire.records import checked, manifest, schema
from whitewire.records.samples import Torn
from whitewire.records.schema import Broken
from whitewire.tidy.tables import Cells, as_csv, flag

FOLDER = "calibration"
"""Below a testbed's results; no paper has this name."""
TUNE, SCORE, BOTH = "tune", "score", "both"
"""Halves of the sets: those that the model may be tuned to, and those that it is scored on (docs/decisions/0017)."""
OPERATION, ABSOLUTE = "operation", "absolute"
KINDS = {
    "fabric": "network", "replication": "copies", "nodes": "nodes", "count": "drives", "drive": "drives",
    "block_size_bytes": "block size", "store": "coding",
}  # fmt: skip
"""Kind of a ratio, by the factor in which its two cells differ."""
LARGE, SMALL, OTHER, NONE = "effect too large", "effect too small", "other direction", "effect where none is printed"
HIGH, LOW = "too high", "too low"
ASSUMED = "assumption: "
RATIOS = (
    "paper", "claim", "half", "kind", "statement", "published", "published_low", "published_high", "n", "estimate",
    "low", "high", "inside", "published_inside", "off", "miss", "verdict", "reason",
)  # fmt: skip
SUMMARY = (
    "half", "by", "name", "of", "measured", "inside", "share", "low", "high", "without_effect", "published_inside",
    "median_off", "large", "small", "other",
)  # fmt: skip
ASSUMPTIONS = ("paper", "half", "what", "why")
VERDICTS = ("claim", "n", "estimate", "low", "high", "expected", "expected_low", "expected_high", "verdict", "reason")
NUMBERS = dict.fromkeys(VERDICTS[2:8], "number")
COUNTED = {LARGE: "large", HIGH: "large", SMALL: "small", LOW: "small", OTHER: "other", NONE: "large"}


def half_of(name: str) -> str:
    """The half of a set, by the first hexadecimal digit of its id's SHA-256, which depends on no result."""
    return TUNE if hashlib.sha256(name.encode()).hexdigest()[0] < "8" else SCORE


def kind_of(test: Mapping[str, Any]) -> str:
    """Kind of a claim's ratio: `network`, `network and drives`; `absolute` without a second cell."""
    if "numerator" not in test:
        return ABSOLUTE
    one, other = test["numerator"]["where"], test["denominator"]["where"]
    varied = [KINDS.get(factor, factor) for factor in one if one[factor] != other.get(factor)]
    return " and ".join(dict.fromkeys(varied)) or OPERATION


def miss_of(test: Mapping[str, Any], estimate: float, published: float, low: float, high: float) -> str:
    """How an estimate misses the range low..high of a claim, as an effect against none; empty where it is inside.

    Claims of no effect have bounds of their own (`lower`, `upper`) in place of a relative tolerance.
    """
    if low <= estimate <= high:
        return ""
    if kind_of(test) == ABSOLUTE:
        return HIGH if estimate > high else LOW
    if "lower" in test:
        return NONE
    found, printed = math.log(estimate), math.log(published)
    if found * printed < 0:
        return OTHER
    return LARGE if abs(found) > abs(printed) else SMALL


def ratios(paper: str, claims: Iterable[Mapping[str, Any]], verdicts: Mapping[str, Mapping[str, str]]) -> list[Cells]:
    """A row for each claim with its verdict's; whether it is inside is empty where there is no estimate."""
    return [_ratio(paper, claim, verdicts[claim["id"]]) for claim in claims]


def _ratio(paper: str, claim: Mapping[str, Any], verdict: Mapping[str, str]) -> Cells:
    row: dict[str, object] = {
        "paper": paper, "claim": claim["id"], "half": half_of(paper), "kind": kind_of(claim["test"]),
        "statement": claim["statement"], "published": verdict["expected"], "published_low": verdict["expected_low"],
        "published_high": verdict["expected_high"], "inside": "", "published_inside": "", "off": "", "miss": "",
    } | {name: verdict[name] for name in ("n", "estimate", "low", "high", "verdict", "reason")}  # fmt: skip
    if not verdict["estimate"]:
        return row
    estimate, published = float(verdict["estimate"]), float(verdict["expected"])
    limits = float(verdict["expected_low"]), float(verdict["expected_high"])
    miss = miss_of(claim["test"], estimate, published, *limits)
    row |= {"inside": flag(not miss), "off": f"{math.exp(abs(math.log(estimate / published))):.4g}", "miss": miss}
    if verdict["low"]:
        row["published_inside"] = flag(float(verdict["low"]) <= published <= float(verdict["high"]))
    return row


def summary(rows: Sequence[Cells]) -> Iterator[Cells]:
    """Shares inside with exact intervals, the median distance and the misses: of each half, by kind and by set."""
    for half in (SCORE, TUNE, BOTH):
        own = [row for row in rows if half in (BOTH, row["half"])]
        yield _shares(half, "all", "", own)
        for by, column in (("kind", "kind"), ("set", "paper")):
            for name in dict.fromkeys(str(row[column]) for row in own):
                yield _shares(half, by, name, [row for row in own if row[column] == name])


def _shares(half: str, by: str, name: str, rows: Sequence[Cells]) -> Cells:
    measured = [row for row in rows if row["inside"]]
    inside = sum(row["inside"] == flag(True) for row in measured)
    limits = statistics.share_interval(inside, len(measured))
    off = sorted(math.log(float(str(row["off"]))) for row in measured)
    misses = [COUNTED[str(row["miss"])] for row in measured if row["miss"]]
    return {
        "half": half, "by": by, "name": name, "of": len(rows), "measured": len(measured), "inside": inside,
        "share": f"{inside / len(measured):.4g}" if measured else "",
        "low": f"{limits[0]:.4g}" if limits else "", "high": f"{limits[1]:.4g}" if limits else "",
        "without_effect": sum(
            float(str(row["published_low"])) <= 1 <= float(str(row["published_high"])) for row in measured
        ),
        "published_inside": sum(row["published_inside"] == flag(True) for row in measured),
        "median_off": f"{math.exp((off[(len(off) - 1) // 2] + off[len(off) // 2]) / 2):.4g}" if off else "",
    } | {word: misses.count(word) for word in ("large", "small", "other")}  # fmt: skip


def assumptions(paper: str, raw: Mapping[str, Any]) -> Iterator[Cells]:
    """Assumptions of a set: its set-up (`testbed.assumed`), its drives, and what its source leaves out."""
    found: dict[str, str] = dict(raw["testbed"].get("assumed", {}))
    for experiment in raw["experiments"]:
        hardware = experiment.get("hardware", {})
        named = {name: drive["sources"] for name, drive in hardware.get("drives", {}).items()}
        for drive, sources in {"drive": hardware.get("sources", {}), **named}.items():
            for name, source in sources.items():
                if source.startswith(ASSUMED):
                    found.setdefault(f"{experiment['id']}: {drive}: {name}", source.removeprefix(ASSUMED))
    for name in raw["testbed"].get("not_stated", []):
        found.setdefault(name, "not stated by the source")
    yield from ({"paper": paper, "half": half_of(paper), "what": what, "why": why} for what, why in found.items())


def tables(results: Path) -> None:
    """Read the verdicts of the sets of config.yaml in `results`, write `results`/calibration/analysis.

    Raises UserError for a table that is damaged.
    """
    config = project.load_config()
    fabrics = fabric_names(load_testbed(config["testbed"]))
    rows: list[Cells] = []
    assumed: list[Cells] = []
    for name in config["papers"]:
        paper = load_paper(project.paper_path(name), fabrics)
        assumed += assumptions(name, paper.raw)
        rows += ratios(name, paper.claims, _verdicts(results / name / "analysis" / "verdicts.csv"))
    write(results / FOLDER / "analysis", rows, assumed)


def write(folder: Path, rows: Sequence[Cells], assumed: Sequence[Cells]) -> None:
    """Write the three tables and their manifest."""
    made = {
        "calibration.csv": as_csv(RATIOS, rows, "calibration.csv"),
        "summary.csv": as_csv(SUMMARY, summary(rows), "summary.csv"),
        "assumptions.csv": as_csv(ASSUMPTIONS, assumed, "assumptions.csv"),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in made.items():
        atomic.write(folder / name, content)
    atomic.write(folder / manifest.NAME, atomic.as_json(manifest.of(made)))


def _verdicts(path: Path) -> dict[str, Mapping[str, str]]:
    """Rows of a table of verdicts by claim. Raises UserError."""
    try:
        found = checked.table(schema.read(path), VERDICTS, ("claim",), NUMBERS)
    except (Broken, Torn) as why:
        raise UserError(f"{shown(path)}: {why}; make it anew with `.venv/bin/whitewire analyse`") from None
    return {row["claim"]: row for row in found}
