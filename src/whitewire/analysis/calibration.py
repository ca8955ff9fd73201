"""Published ratios of real clusters against the same ratios of emulated ones: a row per claim, shares, rates,
assumptions.

The papers are those of config/calibration (`make calibrate`). Only write_calibration_tables() and its readers use
files.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from whitewire import statistics
from whitewire.analysis import claims
from whitewire.analysis.asked import ASKED_AFTER
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.names import paper_names
from whitewire.description.paper import Paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.errors import UserError
from whitewire.estimands import estimand_of
from whitewire.levels import cell_name
from whitewire.paths import shown
from whitewire.records.checked import parse_table
from whitewire.records.manifest import write_files
from whitewire.records.samples import Torn
from whitewire.records.schema import Broken, read_bounded
from whitewire.tidy.tables import Cells, as_csv, flag

CALIBRATION_FOLDER = "calibration"
"""Below a testbed's results; no paper has this name."""
TUNE, SCORE, BOTH = "tune", "score", "both"
"""Halves of the sets: those that the model may be tuned to, and those that it is scored on (docs/decisions/0017)."""
OPERATION, ABSOLUTE = "operation", "absolute"
_ESTIMANDS = ("ratio", "share")
_KINDS = {
    "fabric": "network", "replication": "copies", "nodes": "nodes", "count": "drives", "drive": "drives",
    "block_size_bytes": "block size", "store": "coding",
}  # fmt: skip
"""Kind of a ratio, by the factor in which its two cells differ."""
LARGE, _SMALL, _OTHER, _NONE = "effect too large", "effect too small", "other direction", "effect where none is printed"
HIGH, LOW = "too high", "too low"
ASSUMED = "assumption: "
_ANEW = "make it anew with `.venv/bin/whitewire analyse`"
_RATIOS = (
    "paper", "claim", "half", "kind", "statement", "above", "below", "published", "published_low", "published_high",
    "asked", "n", "estimate", "low", "high", "inside", "published_inside", "off", "miss", "verdict", "reason",
)  # fmt: skip
_SUMMARY = (
    "half", "by", "name", "of", "measured", "independent", "asked_before", "inside", "share", "low", "high",
    "without_effect", "published_inside", "median_off", "off_without_effect", "large", "small", "other", "says",
)  # fmt: skip
RATES_TABLE = ("paper", "claim", "half", "rate", "published", "n", "estimate", "low", "high", "off", "reason")
ASSUMPTIONS = ("paper", "half", "what", "why")
FOUND = ("n", "estimate", "low", "high", "expected", "verdict", "reason")
_VERDICTS = ("claim", "asked", "expected_low", "expected_high", *FOUND)
_READINGS = ("claim", "reading", *FOUND)
_NUMBERS = dict.fromkeys(("estimate", "low", "high", "expected", "expected_low", "expected_high"), "number")
USED = {TUNE: " that may be used for tuning", SCORE: ", none used for tuning", BOTH: ""}
NONE_YET = "no published ratio of a real cluster is compared yet"
DIRECTIONS = {"large": "too large", "small": "too small", "other": "in the other direction"}
_COUNTED = {LARGE: "large", HIGH: "large", _SMALL: "small", LOW: "small", _OTHER: "other", _NONE: "large"}


def half_of(name: str) -> str:
    """The half of a set, by the first hexadecimal digit of its id's SHA-256, which depends on no result."""
    return TUNE if hashlib.sha256(name.encode()).hexdigest()[0] < "8" else SCORE


def _kind_of(test: Mapping[str, Any]) -> str:
    """Kind of a claim's ratio: `network`, `network and drives`; `absolute` without a second cell."""
    if "numerator" not in test:
        return ABSOLUTE
    one, other = test["numerator"]["where"], test["denominator"]["where"]
    varied = [_KINDS.get(factor, factor) for factor in one if one[factor] != other.get(factor)]
    return " and ".join(dict.fromkeys(varied)) or OPERATION


def miss_of(test: Mapping[str, Any], estimate: float, published: float, low: float, high: float) -> str:
    """How an estimate misses the range low..high of a claim, seen as an effect; empty if it is inside.

    Claims of no effect have bounds of their own (`lower`, `upper`) in place of a relative tolerance.
    """
    if low <= estimate <= high:
        return ""
    if _kind_of(test) == ABSOLUTE:
        return HIGH if estimate > high else LOW
    if "lower" in test:
        return _NONE
    found, printed = math.log(estimate), math.log(published)
    if found * printed < 0:
        return _OTHER
    return LARGE if abs(found) > abs(printed) else _SMALL


def _ratios(paper: Paper, verdicts: Mapping[str, Mapping[str, str]]) -> list[Cells]:
    """One row per claim of a size, with its verdict; for a claim that is not measured, the published value alone.

    The column `inside` is empty without an estimate.
    """
    sized = [claim for claim in paper.claims
             if claim["test"]["estimand"] in _ESTIMANDS and claim["test"]["relation"] == "within"]  # fmt: skip
    return [_ratio(paper, claim, verdicts.get(claim["id"])) for claim in sized]


def _ratio(paper: Paper, claim: Mapping[str, Any], verdict: Mapping[str, str] | None) -> Cells:
    test = claim["test"]
    estimand, target = estimand_of(test), claims.resolve(paper, test)
    cells = [(name, {factor: levels[factor] for factor in paper.factors if factor in levels})
             for name, levels in estimand.cells()]  # fmt: skip
    sides = [f"{cell_name(*cell)} {metric}" for cell, metric in zip(cells, estimand.metrics(), strict=True)]
    row: dict[str, object] = dict.fromkeys(_RATIOS, "") | {
        "paper": paper.id, "claim": claim["id"], "half": half_of(paper.id), "kind": _kind_of(test),
        "statement": claim["statement"], **dict(zip(("above", "below"), sides, strict=False)),
        "published": target.expected, "published_low": target.lower, "published_high": target.upper,
    }  # fmt: skip
    if verdict is None:
        return row | {"reason": "not measured"}
    row |= {name: verdict[name] for name in ("asked", "n", "estimate", "low", "high", "verdict", "reason")}
    row |= {f"published{end}": verdict[f"expected{end}"] for end in ("", "_low", "_high")}
    if not verdict["estimate"]:
        return row
    estimate, published = float(verdict["estimate"]), float(verdict["expected"])
    limits = float(verdict["expected_low"]), float(verdict["expected_high"])
    miss = miss_of(test, estimate, published, *limits)
    row |= {"inside": flag(not miss), "off": _off(estimate, published), "miss": miss}
    if verdict["low"] and verdict["high"]:
        row["published_inside"] = flag(float(verdict["low"]) <= published <= float(verdict["high"]))
    return row


def _off(estimate: float, published: float) -> str:
    """The factor between two numbers, at least 1."""
    return f"{math.exp(abs(math.log(estimate / published))):.4g}"


def _summary(rows: Sequence[Cells]) -> Iterator[Cells]:
    """Shares inside with intervals, median distance and misses: for each half, by kind and by set. A half also has a
    sentence."""
    for half in (SCORE, TUNE, BOTH):
        own = [row for row in rows if half in (BOTH, row["half"])]
        whole = _shares(half, "all", "", own)
        yield {**whole, "says": calibration_sentence(whole)}
        for by, column in (("kind", "kind"), ("set", "paper")):
            for name in dict.fromkeys(str(row[column]) for row in own):
                yield _shares(half, by, name, [row for row in own if row[column] == name])


def _shares(half: str, by: str, name: str, rows: Sequence[Cells]) -> Cells:
    measured = [row for row in rows if row["inside"]]
    inside, fewer = sum(row["inside"] == flag(True) for row in measured), independent(measured)
    limits = statistics.share_interval_of(inside / len(measured), fewer) if measured else None
    misses = [_COUNTED[str(row["miss"])] for row in measured if row["miss"]]
    return {
        "half": half, "by": by, "name": name, "of": len(rows), "measured": len(measured), "independent": fewer,
        "asked_before": sum(row["asked"] not in ("", ASKED_AFTER) for row in measured), "inside": inside,
        "share": f"{inside / len(measured):.4g}" if measured else "",
        "low": f"{limits[0]:.4g}" if limits else "", "high": f"{limits[1]:.4g}" if limits else "",
        "without_effect": sum(
            float(str(row["published_low"])) <= 1 <= float(str(row["published_high"])) for row in measured
        ),
        "published_inside": sum(row["published_inside"] == flag(True) for row in measured),
        "median_off": _median([float(str(row["off"])) for row in measured]),
        "off_without_effect": _median([float(_off(1, float(str(row["published"])))) for row in measured]),
    } | {word: misses.count(word) for word in ("large", "small", "other")}  # fmt: skip


def _median(factors: Sequence[float]) -> str:
    """Median of factors, with the geometric mean of the two middle ones; empty without any."""
    return f"{math.exp(float(np.median(np.log(factors)))):.4g}" if factors else ""


def independent(rows: Sequence[Cells]) -> int:
    """Number of independent ratios: the rank of their logarithms as differences of cells.

    Two ratios of one pair of cells count once, three ratios among three cells twice.
    """
    sides = [[(row["paper"], row[side]) for side in ("above", "below") if row[side]] for row in rows]
    cells = {cell: number for number, cell in enumerate(dict.fromkeys(cell for pair in sides for cell in pair))}
    matrix = np.zeros((len(rows), len(cells)))
    for line, pair in zip(matrix, sides, strict=True):
        line[[cells[cell] for cell in pair]] = (1, -1)[: len(pair)]
    return int(np.linalg.matrix_rank(matrix)) if matrix.size else 0


def calibration_sentence(row: Mapping[str, Any]) -> str:
    """A row of summary.csv as a sentence without full stop, for README and the top of the page."""
    measured, of = row["measured"], row["of"]
    if not measured:
        return NONE_YET
    count, used = measured if measured == of else f"{measured} of the {of}", USED[row["half"]]
    share, low, high = (f"{100 * float(row[name]):.0f}" for name in ("share", "low", "high"))
    said = (
        f"of {count} published ratios of real clusters{used}, {row['inside']} came out within tolerance ({share} %, "
        f"95 % interval {low} to {high}); without any effect {row['without_effect']} would. The median is off by a "
        f"factor of {float(row['median_off']):.3g}"
    )
    misses = {words: row[name] for name, words in DIRECTIONS.items()}
    most = max(misses, key=misses.__getitem__)
    verb = "is" if misses[most] == 1 else "are"
    return f"{said}, and {misses[most]} of {sum(misses.values())} misses {verb} {most}" if misses[most] else said


def rates_beside_ratios(rows: Iterable[Cells], readings: Iterable[Mapping[str, str]], paper: str) -> Iterator[Cells]:
    """Absolute checks of a set: claims that do not compare two cells, and all readings."""
    found: list[dict[str, object]]
    found = [{**row, "rate": row["statement"]} for row in rows if row["kind"] == ABSOLUTE]
    found += [{**each, "rate": each["reading"], "published": each["expected"]} for each in readings]
    for each in found:
        off = _off(float(str(each["estimate"])), float(str(each["published"]))) if each["estimate"] else ""
        own = {"paper": paper, "half": half_of(paper), "off": off}
        yield own | {name: each[name] for name in RATES_TABLE if name not in own}


def assumptions(paper: str, raw: Mapping[str, Any]) -> Iterator[Cells]:
    """Assumptions of a set: its set-up (`testbed.assumed`), its drives and writers, and what its source leaves out.

    The same assumption in several experiments counts once.
    """
    found: dict[str, str] = dict(raw["testbed"].get("assumed", {}))
    alike: dict[tuple[str, str, str], list[str]] = {}
    for experiment in raw["experiments"]:
        hardware = experiment.get("hardware", {})
        named = {name: drive["sources"] for name, drive in hardware.get("drives", {}).items()}
        writer = {"writer": hardware["writer"]["sources"]} if "writer" in hardware else {}
        for part, sources in {"drive": hardware.get("sources", {}), **named, **writer}.items():
            for name, source in sources.items():
                if source.startswith(ASSUMED):
                    why = source.removeprefix(ASSUMED)
                    alike.setdefault((part, name, why), []).append(experiment["id"])
    found |= {f"{', '.join(names)}: {part}: {name}": why for (part, name, why), names in alike.items()}
    for name in raw["testbed"].get("not_stated", []):
        found.setdefault(name, "not stated by the source")
    yield from ({"paper": paper, "half": half_of(paper), "what": what, "why": why} for what, why in found.items())


def write_calibration_tables(results: Path) -> None:
    """Read the verdicts of all sets that are described in `results`, write `results`/calibration/analysis.

    A set without verdicts, such as one that this start leaves out, counts as not measured. Raises UserError for a table
    that is damaged, or of an earlier description of the set.
    """
    fabrics = fabric_names(load_testbed(project.load_config()["testbed"]))
    rows: list[Cells] = []
    checks: list[Cells] = []
    assumed: list[Cells] = []
    for name in paper_names():
        paper, folder = load_paper(project.paper_path(name), fabrics), results / name / "analysis"
        own = _ratios(paper, _verdicts(folder / "verdicts.csv", paper))
        rows += own
        checks += rates_beside_ratios(own, _table(folder / "readings.csv", _READINGS, ("claim", "reading")), name)
        assumed += assumptions(name, paper.raw)
    _write(results / CALIBRATION_FOLDER / "analysis", rows, assumed, checks)


def _write(folder: Path, rows: Sequence[Cells], assumed: Sequence[Cells], checks: Sequence[Cells]) -> None:
    """Write the four tables and their manifest."""
    made = {
        "calibration.csv": as_csv(_RATIOS, rows, "calibration.csv"),
        "summary.csv": as_csv(_SUMMARY, _summary(rows), "summary.csv"),
        "rates.csv": as_csv(RATES_TABLE, checks, "rates.csv"),
        "assumptions.csv": as_csv(ASSUMPTIONS, assumed, "assumptions.csv"),
    }
    write_files(folder, made)


def _verdicts(path: Path, paper: Paper) -> dict[str, Mapping[str, str]]:
    """Rows of a set's table of verdicts by claim, empty where there is no table. Raises UserError."""
    found: dict[str, Mapping[str, str]] = {row["claim"]: row for row in _table(path, _VERDICTS, ("claim",))}
    lacking = [claim["id"] for claim in paper.claims if claim["id"] not in found]
    if found and lacking:
        raise UserError(f"{shown(path)}: found no row of {lacking[0]}, expected one; {_ANEW}")
    return found


def _table(path: Path, columns: Sequence[str], filled: Sequence[str]) -> list[dict[str, str]]:
    """Rows of a set's table, none where it is not there. Raises UserError."""
    if not path.exists():
        return []
    try:
        return parse_table(read_bounded(path), columns, filled, _NUMBERS)
    except (Broken, Torn) as why:
        raise UserError(f"{shown(path)}: {why}; {_ANEW}") from None
