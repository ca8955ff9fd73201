"""One-line faults of a paper, and the cells and levels that they name."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from whitewire.description.paper import Paper, cells_of
from whitewire.errors import UserError
from whitewire.paths import shown
from whitewire.text import canonical, quoted, suggestion

MOST_SHOWN = 300
"""Characters of what was found."""


def fault(paper: Paper, key: str, found: object, expected: str, names: Iterable[str] = ()) -> UserError:
    """The error of one fault: file, key, what was found, what was expected, and the nearest of the valid `names`."""
    shown_found = quoted(found, MOST_SHOWN)
    return fault_in_words(paper, key, shown_found, f"{expected}{suggestion(found, [str(n) for n in names])}")


def fault_in_words(paper: Paper, key: str, found: str, expected: str) -> UserError:
    """The same error, with the value found in words instead of JSON."""
    return UserError(f"{shown(paper.path)}: {key}: found {found}, expected {expected}")


def check_levels(paper: Paper, key: str, experiment: Mapping[str, Any], levels: Mapping[str, Any], whole: bool) -> None:
    """UserError unless all `levels` are of the experiment and some cell has them; `whole`: one of every factor."""
    factors = experiment["factors"]
    for factor, level in levels.items():
        if factor not in factors:
            raise fault(paper, key, factor, f"a factor of experiment {experiment['id']}", factors)
        if canonical(level) in map(canonical, factors[factor]):
            continue
        for known in factors[factor]:
            # Rows of the design and of a claim are matched as they are written.
            if _text(known).lower() == _text(level).lower():
                raise fault_in_words(paper, f"{key}.{factor}", _typed(level), _typed(known))
        raise fault(paper, f"{key}.{factor}", level, f"a level of {factor}", map(str, factors[factor]))
    lacking = [f for f in factors if f not in levels]
    if whole and lacking:
        raise fault(paper, key, levels, f"a level of {lacking[0]} too")
    cells = cells_of(experiment)
    if not any(levels.items() <= cell.items() for cell in cells):
        texts = [canonical(cell) for cell in cells]
        near = difflib.get_close_matches(canonical(levels), texts, n=1, cutoff=0)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise fault(paper, key, levels, f"a cell of {experiment['id']} that its `only` lets be made{hint}")


def _text(level: object) -> str:
    if isinstance(level, float) and level.is_integer():
        return str(int(level))
    return str(level)


def _typed(value: object) -> str:
    """`text "1"`, `the number 1`: where two values differ in nothing but their type."""
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return text
    return f"text {text}" if isinstance(value, str) else f"the number {text}"
