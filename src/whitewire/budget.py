"""How long measuring may take: a budget for a whole start, and the share of it that a block gets.

Blocks are measured one after the other. Where the budget is enough for all, each gets what is left in proportion to
what it and those after it should take; where it is not, the first ones get what they should take, so that some papers
are decided rather than none. What one does not need goes to the next ones.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

VARIABLE = "WHITEWIRE_BUDGET"
"""The environment variable that carries a start's budget to its blocks."""
NONE = "none"
"""The word for a budget without an end."""
UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
PART = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)\s*(s|min|m|h)\s*", re.ASCII)
TIME = re.compile(rf"\s*(?:{PART.pattern})+", re.ASCII)
MOST_S = 366 * 86400.0
EXPECTED = f"a time such as 30m or 1h30m, or {NONE}"


def seconds_of(text: str) -> float:
    """Seconds of a time such as `30m`, `90 s` or `1h30m`, infinite for `none`. Raises ValueError at any other text."""
    if text.strip() == NONE:
        return math.inf
    if not TIME.fullmatch(text):
        raise ValueError(EXPECTED)
    found = sum(float(number) * UNITS[unit] for number, unit in PART.findall(text))
    if not 1 <= found <= MOST_S:
        raise ValueError(EXPECTED)
    return found


def words(seconds: float) -> str:
    """A time in words: `12 min`, `1 h 30 min`, under two minutes in seconds."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


@dataclass(frozen=True)
class Budget:
    """Until when a start may measure, and what it still has to measure, in turn: `<paper>/<block>` to seconds.

    `ends` is a moment of the monotonic clock, which all processes of a machine share, which no step of the wall clock
    moves, and which stands still while the machine sleeps.
    """

    ends: float
    expected: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, seconds: float, expected: Mapping[str, float]) -> Budget:
        """One that begins now."""
        return cls(time.monotonic() + seconds, expected)

    def text(self) -> str:
        """For the environment variable."""
        return json.dumps({"ends": self.ends if math.isfinite(self.ends) else None, "expected": dict(self.expected)})

    @classmethod
    def read(cls, text: str) -> Budget:
        """From the environment variable; without an end where it is empty."""
        told = json.loads(text) if text else {"ends": None, "expected": {}}
        return cls(math.inf if told["ends"] is None else told["ends"], told["expected"])

    def share(self, paper: str, block: str, now: float | None = None) -> float:
        """Seconds that a block has from now on; infinite without an end."""
        if math.isinf(self.ends):
            return math.inf
        left = max(0.0, self.ends - (time.monotonic() if now is None else now))
        names = list(self.expected)
        own = f"{paper}/{block}"
        if own not in names:
            return left
        waiting = sum(self.expected[name] for name in names[names.index(own) + 1 :])
        whole = self.expected[own] + waiting
        if left < whole:
            return min(left, self.expected[own])
        return left * self.expected[own] / whole if whole else left
