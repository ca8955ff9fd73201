"""The sentence on one claim at the end of `make claim`: what is claimed, what the reference found, what was found
here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from whitewire.analysis import claims
from whitewire.analysis.claims import verdict_in_words
from whitewire.analysis.one_claim import claim_of
from whitewire.description.paper import Paper
from whitewire.report import comparison, reference
from whitewire.text import numbers

_NUMBERS = ("estimate", "low", "high", "n", "expected", "expected_low", "expected_high", "minutes", "chance")
_COLUMNS = ("claim", "route", "verdict", "reason", "relation", "asks", "unit", "estimand", "claim_command",
            *_NUMBERS)  # fmt: skip
_DIVIDED, BY_NUMBER = " / ", re.compile(r" / [\d.e+]+$")
_OF_TIME, BY_LINK = re.compile(r"(mean )?[a-z_]*time[a-z_]*: "), re.compile(r" x \S+ link$")
"""Patterns of a claim's estimand: a ratio, a value over a plain number, a ratio of times, a ratio to a link's rate."""
_TIMES = " times"


def row_of(results: Path, name: str, claim: str, columns: Sequence[str] = _COLUMNS) -> dict[str, Any] | None:
    """A claim's row of a paper's verdicts.csv, with numbers converted (None if missing); None without a row.

    Raises UserError for a table that cannot be read.
    """
    rows = verdict_rows(results / name / "analysis" / "verdicts.csv", columns)
    return next((row for row in rows if row["claim"] == claim), None)


def verdict_rows(table: Path, columns: Sequence[str] = _COLUMNS) -> Iterator[dict[str, Any]]:
    """Rows of all claims of a verdicts.csv."""
    yield from map(known_numbers, comparison.read_table(table, columns, needed=False).to_dict("records"))


def known_numbers(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A row with its numbers converted, None for missing ones."""
    return {**row, **{name: comparison.cell_number(row.get(name)) for name in _NUMBERS}}


def verdict_lines(paper: Paper, claim: str, row: Mapping[str, Any]) -> Iterator[str]:
    """A claim's verdict in one sentence; for an open claim also the reason, and the command that may decide it."""
    test = claim_of(paper, claim)["test"]
    if row["route"] not in claims.MEASURED or row["verdict"] == claims.NOT_TESTABLE:
        yield f"{claim}: no run judges it here: {row['verdict']}: {row['reason']}"
        return
    theirs = row_of(reference.reference_folder(), paper.id, claim, ("claim", "route", "estimate"))
    yield f"{claim}: {sentence(row, theirs, float(test.get('no_effect', 1)))}"
    if row["verdict"] != claims.INCONCLUSIVE:
        return
    yield f"why: {row['reason']}"
    if row["minutes"] and (command := row["claim_command"]):
        yield f"about {row['minutes']:.0f} more minutes may decide it: {command}"


def sentence(row: Mapping[str, Any], theirs: Mapping[str, Any] | None, no_effect: float) -> str:
    """`claimed 3.85 times; reference 5.45; here 5.4 (4.9 to 6), 6 runs a cell: more than claimed`; `theirs`: the
    reference's row of the claim."""
    compared = theirs if theirs and theirs["route"] in claims.MEASURED and theirs["estimate"] is not None else None
    values = [row[name] for name in ("expected", "estimate", "low", "high", "expected_low", "expected_high")]
    values += [compared["estimate"]] if compared else []
    present = [value for value in values if value is not None]
    words = dict(zip(present, numbers(present, 3), strict=True))
    parts = [_claimed(row, words)]
    if compared:
        parts.append(f"reference {words[compared['estimate']]}")
    parts.append(_here(row, words))
    return f"{'; '.join(filter(None, parts))}: {verdict_in_words(row, no_effect)}"


def _claimed(row: Mapping[str, Any], words: Mapping[float, str]) -> str:
    if row["relation"] == "increasing":
        return "claimed to rise from step to step"
    if row["expected"] is None:
        return ""
    if row["asks"] == claims.EQUIVALENCE:
        return f"claimed to be the same ({words[row['expected_low']]} to {words[row['expected_high']]}{_unit(row)})"
    number, unit = words[row["expected"]], _unit(row)
    if row["relation"] not in ("above", "below"):
        return f"claimed {number}{unit}"
    number = f"{row['relation']} {number}"
    return f"claimed a ratio {number}" if unit == _TIMES else f"claimed {number}{unit}"


def _here(row: Mapping[str, Any], words: Mapping[float, str]) -> str:
    if row["estimate"] is None:
        return "here no number yet"
    interval = "" if row["low"] is None or row["high"] is None else f" ({words[row['low']]} to {words[row['high']]})"
    runs = int(row["n"] or 0)
    return f"here {words[row['estimate']]}{interval}, {runs} run{'' if runs == 1 else 's'} a cell"


def _unit(row: Mapping[str, Any]) -> str:
    """The words after a number: `times` for a ratio of runs, else the unit."""
    if row["unit"] not in ("1", "", "x", "\u00d7"):
        return f" {row['unit']}"
    divided = _DIVIDED in row["estimand"] and not BY_NUMBER.search(row["estimand"])
    if not divided and row["unit"] in ("1", ""):
        return ""
    if _OF_TIME.match(row["estimand"]) and not (row["expected"] or 0) > 1:  # else the slower side is so many times
        return f"{_TIMES} the time"
    return " of the links' rate" if BY_LINK.search(row["estimand"]) else _TIMES
