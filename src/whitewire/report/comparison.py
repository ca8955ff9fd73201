"""Two result folders side by side: verdicts, estimates and environments of both, and where they differ.

Reads analysis tables and records of environments, measures nothing and judges nothing again.
"""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from whitewire import paths
from whitewire.analysis.claims import INCONCLUSIVE, NOT_TESTABLE
from whitewire.design.rows import FIRST
from whitewire.errors import Faults, UserError
from whitewire.levels import level_text
from whitewire.records import checked, schema
from whitewire.records.checked import parse_table, table_faults
from whitewire.records.manifest import manifest_faults
from whitewire.records.run import DesignRow
from whitewire.records.samples import Torn
from whitewire.records.schema import load_json
from whitewire.tidy import form
from whitewire.tidy.form import NEEDED_COLUMNS

YES, NO, _UNKNOWN = "yes", "no", "cannot tell"
_ONLY = {"a": "only in A", "b": "only in B"}
SIDES = ("a", "b")
ESTIMATE_COLUMNS = ("estimate", "low", "high", "n")
RATIO_COLUMNS = (
    "ratio",
    "ratio_low",
    "ratio_high",
    "difference",
    "difference_low",
    "difference_high",
    "differs",
    "note",
)
_TARGET = ("relation", "expected_low", "expected_high")
ASKED = ("expected", *_TARGET)
_SCALES = {"kind": "kind of testbed", "k": "k", "data_fraction": "data fraction"}
"""Columns of an experiment's scale, in words."""
COMPARED_COLUMNS = (
    "paper", "claim", "statement", "verdict_a", "verdict_b", "agree", "stands", "route_a", "route_b", "unit", *ASKED,
    *(f"{name}_{side}" for side in SIDES for name in ESTIMATE_COLUMNS), "overlap", *RATIO_COLUMNS,
)  # fmt: skip
UNDECIDED = (INCONCLUSIVE, NOT_TESTABLE)
"""Verdicts that decide nothing."""
SAME_VERDICT, OTHER_VERDICT, ONLY_A, ONLY_B, NEITHER = (
    "same",
    "other",
    "only A decided",
    "only B decided",
    "neither decided",
)
_NAMES = ("A", "B")
"""Names of the two results in messages."""
ESTIMATES = ("paper", "experiment", "cell", "metric", "unit",
             *(f"{name}_{side}" for side in SIDES for name in ESTIMATE_COLUMNS), *RATIO_COLUMNS)  # fmt: skip
_ENVIRONMENT = ("paper", "entry", "a", "b", "agree")
_MEASURED = ("machine / load_average", "cluster / hdfs_seconds", "cluster / start_seconds", "cluster / services",
             "cluster / memory_mib")  # fmt: skip
"""Entries of an environment's record that are measured values rather than facts."""
JUDGED_COLUMNS = ("claim", "statement", "verdict", "route", "estimate", "error", "unit", "asked", "control_failed")
"""Columns without which a table of verdicts is none."""
ESTIMATED = ("experiment", "metric", "unit", "n", "median")
"""Columns without which a table of estimates is none."""
_LINE = re.compile(r"\s*([^:]+):\s*(.*)")
EQUAL = 1e-9


@dataclass(frozen=True)
class Results:
    """Results of one paper in a folder: tables, environment records, and the design if there is one."""

    verdicts: pd.DataFrame
    estimates: pd.DataFrame
    environments: Sequence[Mapping[str, Any]] = ()
    design: pd.DataFrame = field(default_factory=pd.DataFrame)
    scale: pd.DataFrame = field(default_factory=pd.DataFrame)


# -- what differs: pure functions --------------------------------------------------------------------------


Bounded = tuple[float | None, float | None, float | None]
"""An estimate and the ends of its interval; None if missing."""


def _against(a: Bounded, b: Bounded) -> dict[str, Any]:
    """B against A, each as (estimate, low, high): ratio and difference with 95 % intervals, and whether they differ:
    `yes`, `no`, or `cannot tell` if one has no interval.

    Intervals are combined by the method of variance estimates recovery (Zou and Donner, Statistics in Medicine 27,
    2008), for the ratio in logarithms, assuming independent results. A ratio needs estimates above 0.
    """
    one, two = a[0], b[0]
    if one is None or two is None or not (math.isfinite(one) and math.isfinite(two)):
        return dict.fromkeys(RATIO_COLUMNS, None) | {"differs": "", "note": ""}
    difference, logs = _spread(a, b), _spread(_logarithms(a), _logarithms(b))
    ratio = tuple(None if value is None else math.exp(value) for value in logs)
    if abs(two - one) <= EQUAL * max(abs(one), abs(two)):
        differs = NO
    else:
        _, low, high = logs if logs[1] is not None else difference
        differs = _UNKNOWN if low is None or high is None else NO if low <= 0 <= high else YES
    return dict(zip(RATIO_COLUMNS, (*ratio, *difference, differs, ""), strict=True))


def overlap(a: Bounded, b: Bounded) -> str:
    """Whether two intervals overlap; empty where one is missing."""
    (_, a_low, a_high), (_, b_low, b_high) = a, b
    if a_low is None or a_high is None or b_low is None or b_high is None:
        return ""
    return YES if a_low <= b_high and b_low <= a_high else NO


def stands(a: str, b: str) -> str:
    """Relation of two verdicts on a claim: equal, different although both decide, or the only side that decides."""
    if a == b:
        return SAME_VERDICT
    if a in UNDECIDED:
        return NEITHER if b in UNDECIDED else ONLY_B
    return ONLY_A if b in UNDECIDED else OTHER_VERDICT


def _bounded(row: Mapping[str, Any], side: str) -> Bounded:
    return row[f"estimate_{side}"], row[f"low_{side}"], row[f"high_{side}"]


def _logarithms(side: Bounded) -> Bounded:
    estimate, low, high = side
    if estimate is None or estimate <= 0:
        return None, None, None
    if low is None or high is None or low <= 0:
        return math.log(estimate), None, None
    return math.log(estimate), math.log(low), math.log(high)


def _spread(a: Bounded, b: Bounded) -> Bounded:
    """b − a and its interval; None where there is none."""
    (one, one_low, one_high), (two, two_low, two_high) = a, b
    if one is None or two is None:
        return None, None, None
    point = two - one
    if one_low is None or one_high is None or two_low is None or two_high is None:
        return point, None, None
    low = point - math.hypot(two - two_low, one_high - one)
    high = point + math.hypot(two_high - two, one - one_low)
    return point, low, high


def verdicts(a: Mapping[str, Results], b: Mapping[str, Results]) -> pd.DataFrame:
    """One row per claim of the papers in both: both verdicts, and estimate B against estimate A."""
    rows = []
    for paper in both(a, b):
        tables = {side: _keyed(found[paper].verdicts, ["claim"]) for side, found in zip(SIDES, (a, b), strict=True)}
        for (claim,), one, two in _pairs(tables["a"], tables["b"]):
            row = {"paper": paper, "claim": claim, "statement": (one or two or {})["statement"]}
            for side, found in zip(SIDES, (one, two), strict=True):
                row |= {f"verdict_{side}": found and found["verdict"], f"route_{side}": found and found["route"]}
            row["agree"] = _agree(one and one["verdict"], two and two["verdict"])
            row["stands"] = stands(one["verdict"], two["verdict"]) if one and two else ""
            rows.append(row | _asked(one, two) | _estimates(one, two, "estimate", "low", "high", "unit"))
    return pd.DataFrame(rows, columns=COMPARED_COLUMNS)


def _asked(one: Mapping[str, Any] | None, two: Mapping[str, Any] | None) -> dict[str, Any]:
    """Target of a claim; None where the two have different ones."""
    found = one or two or {}
    alike = not (one and two) or _target(one) == _target(two)
    return {name: found.get(name) if alike else None for name in ASKED}


def estimates(a: Mapping[str, Results], b: Mapping[str, Results]) -> pd.DataFrame:
    """One row per cell and metric of the papers that both have: medians, at full scale where both have it.

    Cells that only one folder has are left out; messages() names them.
    """
    rows = []
    for paper in both(a, b):
        factors = [name for side in (a, b) for name in _factors(side[paper].estimates)]
        keys = ["experiment", *dict.fromkeys(factors), "metric"]
        one_by, two_by = (_keyed(side[paper].estimates, keys) for side in (a, b))
        for key, one, two in _pairs(one_by, two_by):
            if one is None or two is None or not (one["n"] or two["n"]):
                continue
            levels = " ".join(f"{name}={level}" for name, level in zip(keys[1:-1], key[1:-1], strict=True) if level)
            row = {"paper": paper, "experiment": key[0], "cell": levels, "metric": key[-1]}
            whole = all(cell_number(found.get("full_scale_median")) is not None for found in (one, two))
            prefix = "full_scale_" if whole else ""
            names = (f"{prefix}{name}" for name in ("median", "low", "high", "unit"))
            rows.append(row | _estimates(one, two, *names))
    return pd.DataFrame(rows, columns=ESTIMATES)


def compare_environments(a: Mapping[str, Results], b: Mapping[str, Results]) -> pd.DataFrame:
    """One row per paper and fact of its environment, as either folder recorded it."""
    rows = []
    for paper in both(a, b):
        found = [facts(side[paper].environments) for side in (a, b)]
        if not all(found):
            continue
        for entry in sorted(found[0].keys() | found[1].keys()):
            one, two = (side.get(entry) for side in found)
            rows.append({"paper": paper, "entry": entry, "a": one, "b": two, "agree": _agree(one, two)})
    return pd.DataFrame(rows, columns=_ENVIRONMENT)


def facts(records: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Recorded facts of one paper's blocks, flat: `machine / kernel` → its value, or all its values.

    Hosts are counted by role; a fact of hosts is the list of its distinct values.
    """
    found: dict[str, set[str]] = {}
    for record in records:
        names = {host["name"] for host in record["hosts"]}
        roles = Counter(host["role"] for host in record["hosts"])
        rest = {key: value for key, value in record.items() if key != "hosts"}
        for entry, value in [*_flat(rest, names), *((f"hosts / {role}", str(n)) for role, n in roles.items())]:
            if value and not any(entry == name or entry.startswith(f"{name} /") for name in _MEASURED):
                found.setdefault(entry, set()).add(value)
    return {entry: "; ".join(sorted(values)) for entry, values in found.items()}


def _flat(value: Any, hosts: set, prefix: str = "") -> Iterable[tuple[str, str]]:
    if isinstance(value, str) and (lines := _lines(value)):
        value = lines
    if isinstance(value, Mapping):
        for key, inner in value.items():
            name = "each host" if key in hosts else " ".join(str(key).split())
            yield from _flat(inner, hosts, f"{prefix} / {name}" if prefix else name)
    elif isinstance(value, list) and any(isinstance(item, Mapping | list) for item in value):
        for number, inner in enumerate(value):
            yield from _flat(inner, hosts, f"{prefix} / {number}")
    elif isinstance(value, list):
        yield prefix, " ".join(", ".join(map(str, value)).split())
    elif value is not None:
        yield prefix, f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())


def _lines(value: str) -> dict[str, str]:
    """Entries of a text with lines `name: value`, such as ethtool's; empty for other text."""
    lines = [line for line in value.splitlines() if line.strip()]
    matched = [match for line in lines if (match := _LINE.fullmatch(line))]
    if len(lines) < 3 or len(matched) < len(lines):
        return {}
    return {match[1].strip(): match[2].strip() for match in matched}


def messages(
    a: Mapping[str, Results], b: Mapping[str, Results], names: tuple[str, str] = _NAMES
) -> list[dict[str, str]]:
    """Differences that make the folders hard to compare, each as {paper, message}. `names`: those of the folders."""
    found = []
    for side, mine, other in ((names[0], a, b), (names[1], b, a)):
        found += [(paper, f"only in {side}, so not compared") for paper in sorted(mine.keys() - other.keys())]
    for paper in both(a, b):
        found += [(paper, line) for line in differences(a[paper], b[paper], names)]
    return [{"paper": paper, "message": message} for paper, message in found]


def differences(one: Results, two: Results, names: tuple[str, str]) -> Iterator[str]:
    """What makes two results of a paper hard to compare, a line each."""
    yield from _designs(one, two, names)
    yield from _scales(one.scale, two.scale, names)
    yield from _claims(one.verdicts, two.verdicts, names)
    for name, held in zip(names, (one, two), strict=True):
        if not held.environments:
            yield f"no environment was recorded in {name}"


def compared_content(results: Results) -> tuple[Hashable, ...]:
    """What differences() compares of a paper's results, as one value; None in it for a table that is not there."""
    design, scale = results.design, results.scale
    return (
        None if design.empty else (*efforts_in(design), frozenset(Counter(_cells(design)).items())),
        None if scale.empty else frozenset(scale[["experiment", *_SCALES]].map(level_text).itertuples(index=False)),
        frozenset((claim, _target(row)) for (claim,), row in _keyed(results.verdicts, ["claim"]).items()),
        bool(results.environments),
    )


def _designs(a: Results, b: Results, names: tuple[str, str]) -> Iterable[str]:
    empty = [side for side, paper in zip(names, (a, b), strict=True) if paper.design.empty]
    if empty:
        yield f"no design in {' and '.join(empty)}, so efforts and cells cannot be compared"
        return
    efforts = [listed(efforts_in(paper.design)) for paper in (a, b)]
    if efforts[0] != efforts[1]:
        yield f"the effort is {_in_each(efforts, names)}: runs differ in number, and may in bytes"
    runs = [Counter(_cells(paper.design)) for paper in (a, b)]
    for side, mine, other in ((names[0], *runs), (names[1], *runs[::-1])):
        if lost := [cell for cell in mine if cell not in other]:
            yield f"{_count(lost, 'cell')} of the design only in {side}: {listed(lost, most=6)}"
    each = [listed(sorted({str(runs[side][cell]) for cell in runs[0].keys() & runs[1].keys()})) for side in (0, 1)]
    if each[0] != each[1]:
        yield f"runs per cell: {_in_each(each, names)}"


def _in_each(values: Sequence[str], names: tuple[str, str]) -> str:
    return f"{values[0]} in {names[0]}, {values[1]} in {names[1]}"


def efforts_in(design: pd.DataFrame) -> list[str]:
    """The efforts of a design that has runs."""
    return sorted(set(design["effort"]))


def _cells(design: pd.DataFrame) -> Iterable[str]:
    """Experiment and levels of each run of a design."""
    levels = [name for name in design if name == "experiment" or name not in (*FIRST, "seed")]
    for row in design[levels].itertuples(index=False):
        yield " ".join(level for level in map(level_text, row) if level)


def _scales(a: pd.DataFrame, b: pd.DataFrame, names: tuple[str, str]) -> Iterable[str]:
    if a.empty or b.empty:
        return
    for column, words in _SCALES.items():
        one, two = (side.groupby("experiment")[column].agg(lambda values: sorted(set(values))) for side in (a, b))
        for experiment in one.index.intersection(two.index):
            levels = [listed([level_text(v) for v in side[experiment]]) for side in (one, two)]
            if levels[0] != levels[1]:
                yield f"{experiment}: {words} {_in_each(levels, names)}"


def _claims(a: pd.DataFrame, b: pd.DataFrame, names: tuple[str, str]) -> Iterable[str]:
    one, two = (_keyed(table, ["claim"]) for table in (a, b))
    for side, mine, other in ((names[0], one, two), (names[1], two, one)):
        if lost := [claim for (claim,) in mine if (claim,) not in other]:
            yield f"{_count(lost, 'claim')} only in {side}: {listed(lost, most=6)}"
    changed = [claim for (claim,) in one if (claim,) in two and _target(one[claim,]) != _target(two[claim,])]
    if changed:
        yield f"claims that ask for something else in {names[0]} than in {names[1]}: {listed(changed, most=6)}"


def _target(row: Mapping[str, Any]) -> tuple:
    return tuple(level_text(row.get(name)) for name in _TARGET)


# -- tables ------------------------------------------------------------------------------------------------


def both(a: Mapping[str, Results], b: Mapping[str, Results]) -> list[str]:
    """Papers that both have."""
    return sorted(a.keys() & b.keys())


def _factors(table: pd.DataFrame) -> list[str]:
    columns = [str(column) for column in table]
    return columns[columns.index("experiment") + 1 : columns.index("metric")]


def _keyed(table: pd.DataFrame, keys: Sequence[str]) -> dict[tuple[str, ...], dict[str, Any]]:
    """Rows by their key; a key's column that the table lacks is empty."""
    return {tuple(level_text(row.get(name)) for name in keys): row for row in _records(table)}


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(column): cell for column, cell in row.items()} for row in table.to_dict("records")]


def _pairs(a: Mapping[tuple, dict], b: Mapping[tuple, dict]) -> Iterable[tuple[tuple, dict | None, dict | None]]:
    for key in dict.fromkeys([*a, *b]):
        yield key, a.get(key), b.get(key)


def _agree(one: Any, two: Any) -> str:
    if one is None or two is None:
        return _ONLY["b" if one is None else "a"]
    return YES if one == two else NO


def _estimates(one: Mapping | None, two: Mapping | None, value: str, low: str, high: str, unit: str) -> dict[str, Any]:
    """The columns of both estimates and of B against A."""
    row: dict[str, Any] = {}
    for side, found in zip(SIDES, (one, two), strict=True):
        values = [cell_number(found.get(name)) if found else None for name in (value, low, high, "n")]
        row |= dict(zip((f"{name}_{side}" for name in ESTIMATE_COLUMNS), values, strict=True))
    units = [level_text(found.get(unit)) for found in (one, two) if found]
    row["unit"] = units[0] if len(set(units)) == 1 else " or ".join(units)
    row["overlap"] = overlap(_bounded(row, "a"), _bounded(row, "b")) if len(set(units)) == 1 else ""
    row |= _against(_bounded(row, "a"), _bounded(row, "b"))
    routes = [found.get("route") for found in (one, two) if found]
    if row["differs"]:
        if len(set(units)) > 1:
            row |= dict.fromkeys(RATIO_COLUMNS[:6]) | {
                "differs": _UNKNOWN,
                "note": f"units differ: {' and '.join(units)}",
            }
        elif len(set(routes)) > 1:
            row["note"] = f"routes differ: {' and '.join(map(level_text, routes))}"
        elif row["differs"] == _UNKNOWN and row["n_a"] is None and row["n_b"] is None:
            row["differs"] = YES  # arithmetic and models have no interval: they are what they are
        elif row["differs"] == _UNKNOWN:
            row["note"] = "no interval: too few runs"
    return row


def cell_number(value: Any) -> float | None:
    """A cell of a table as a number; None where it is none."""
    number = pd.to_numeric(value, errors="coerce")
    return None if pd.isna(number) else float(number)


def _count(names: Sequence[str], one: str) -> str:
    return f"{len(names)} {one}{'' if len(names) == 1 else 's'}"


def listed(names: Sequence[str], most: int = 12) -> str:
    """`a, b, … (14 in all)`."""
    more = [f"… ({len(names)} in all)"] if len(names) > most else []
    return ", ".join([*names[:most], *more])


# -- files -------------------------------------------------------------------------------------------------


def load_results(folder: Path) -> dict[str, Results]:
    """Every paper of a result folder that has verdicts. Raises UserError for an incomplete file, and for a table that
    has changed since it was written."""
    listed_here = manifest_faults(folder)  # of the reference results, whose tables are packed
    if listed_here:
        raise Faults([f"{paths.shown(path)}: {why}" for path, why in listed_here])
    found, damaged = sound(folder, as_written=listed_here is None)
    if damaged:
        raise Faults([fault for faults in damaged.values() for fault in faults])
    return found


def sound(folder: Path, as_written: bool = True) -> tuple[dict[str, Results], dict[str, list[str]]]:
    """The papers of a result folder with verdicts: the sound ones, and the faults of the others.

    `as_written`: whether tables must agree with the digests beside them.
    """
    found: dict[str, Results] = {}
    damaged: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*/analysis/verdicts.csv")):
        own = path.parent.parent
        faults: list[str] = []
        if as_written:
            faults = [*(table_faults(own / "tidy") or ()), *(checked.analysis(own / "analysis") or ())]
        try:
            if not faults:
                found[own.name] = _load_paper(own)
        except UserError as error:
            faults = list(error.lines)
        if faults:
            damaged[own.name] = faults
    return found, damaged


def _load_paper(folder: Path) -> Results:
    return Results(
        read_table(folder / "analysis" / "verdicts.csv", JUDGED_COLUMNS),
        read_table(folder / "analysis" / "estimates.csv", ESTIMATED),
        [read_environment(path) for path in sorted(folder.glob("raw/*/environment*.json"))],
        read_table(folder / "design.csv", list(DesignRow.__annotations__), needed=False),
        read_table(folder / "tidy" / "scale.csv", NEEDED_COLUMNS["scale.csv"], needed=False),
    )


def read_table(path: Path, columns: Sequence[str], needed: bool = True) -> pd.DataFrame:
    """A table of results as text, packed or not; a missing table is empty unless `needed`. Raises UserError for a table
    that cannot be read or lacks a column."""
    if not path.is_file() and path.with_name(f"{path.name}.gz").is_file():
        path = path.with_name(f"{path.name}.gz")  # a large table of the reference results
    if not needed and not path.is_file():
        return pd.DataFrame(columns=list(columns))
    try:
        text = form.text_of(path.read_bytes(), path.name)
        parse_table(text, columns)
    except OSError as error:
        raise UserError(f"{paths.shown(path)}: cannot be read: {error.strerror}") from None
    except Torn as torn:
        raise UserError(f"{paths.shown(path)}: {torn}") from None
    return pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)


def read_environment(path: Path) -> Mapping[str, Any]:
    """The record of an environment. Raises UserError for one that is not whole."""
    try:
        return load_json(path, checked.EnvironmentRecord)
    except schema.Broken as broken:
        raise UserError(f"{paths.shown(path)}: {broken}") from None
