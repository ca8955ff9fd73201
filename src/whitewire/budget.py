"""How long measuring may take: a budget for a whole start, and each block's share of it.

Blocks are measured in turn, as many at once as there are lanes. Until its first interim analysis a block gets up to
three times its planned time, because without the analysis all its time would be lost; the first block gets up to one
and a half times, because the first report waits for it. A block gets no more than its planned time if other programs
have disturbed every attempt by then. After its first interim analysis a block gets a share of the time that the later
blocks do not need for theirs, in proportion to the claims that runs judge, and nothing if no time is left. Runs that
hardly decide a claim get only the time that is left even if the later blocks make all of their runs. So a budget that
is too small for all decides some papers rather than none, and no paper has many runs of a cell while a later one has
none. Time that a block does not need goes to the next ones.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from whitewire.paths import boot_id

BUDGET_VARIABLE = "WHITEWIRE_BUDGET"
"""The environment variable that carries a start's budget to its blocks."""
NONE = "none"
"""The word for an unlimited budget."""
_UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)\s*(s|min|m|h)\s*", re.ASCII)
_TIME = re.compile(rf"\s*(?:{_PART.pattern})+", re.ASCII)
_MOST_S = 366 * 86400.0
_OVERRUN = 3.0
"""Most time until a block's first interim analysis, as a multiple of its planned time: other programs slow it down.

With 1.5, on two processors of which others used one or more, only two blocks reached it within 85 minutes."""
OVERRUN_OF_FIRST = 1.5
"""The same for the first block, which the first report waits for. With 1 it missed its first analysis in two campaigns
on an idle machine, where its runs took 1.24 times as long as planned, and all its time was lost."""
_EXPECTED = f"a time such as 30m or 1h30m, or {NONE}"


def seconds_of(text: str) -> float:
    """Seconds of a time such as `30m`, `90 s` or `1h30m`, infinite for `none`. Raises ValueError at any other text."""
    if text.strip() == NONE:
        return math.inf
    if not _TIME.fullmatch(text):
        raise ValueError(_EXPECTED)
    found = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    if not 1 <= found <= _MOST_S:
        raise ValueError(_EXPECTED)
    return found


def time_in_words(seconds: float) -> str:
    """A time in words: `12 min`, `1 h 30 min`, under two minutes in seconds."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def _without_end() -> float:
    return math.inf


@dataclass(frozen=True)
class Allowance:
    """Times of one block, in seconds.

    first, further: time left now until its first interim analysis, and after it; spare: time after it for runs that
    hardly decide a claim; own: planned time until its first interim analysis; start: budget of the whole start;
    earlier: time of the block earlier in this start; spent: that time by activity.
    """

    first: Callable[[], float] = _without_end
    further: Callable[[], float] = _without_end
    spare: Callable[[], float] = _without_end
    own: float = math.inf
    start: float = math.inf
    earlier: float = 0.0
    spent: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Budget:
    """The end of a start's measuring time, and the blocks that it still has to measure, in turn.

    `expected` and `claims` map `<paper>/<block>` to the planned seconds until its first interim analysis, and to the
    number of claims that its runs judge. `ends` is a time of the monotonic clock, which all processes of a machine
    share, which no step of the wall clock moves, and which stops while the machine sleeps. Another machine (a node of a
    Slurm job) computes its own from the same moment of the wall clock.
    """

    ends: float
    expected: Mapping[str, float] = field(default_factory=dict)
    claims: Mapping[str, float] = field(default_factory=dict)
    seconds: float = math.inf
    """The time that was asked for, in seconds; for the record only."""
    lanes: int = 1
    """Number of blocks measured side by side; the time that later blocks need is divided by it."""
    whole: Mapping[str, float] = field(default_factory=dict)
    """Planned seconds of all runs, by block."""
    earlier: Mapping[str, float] = field(default_factory=dict)
    """Seconds that each block took earlier in this start."""
    spent: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Seconds of each block in this start, by activity (runs, start, warm-up)."""

    @classmethod
    def of(cls, seconds: float, expected: Mapping[str, float], claims: Mapping[str, float], lanes: int = 1,
           whole: Mapping[str, float] | None = None) -> Budget:  # fmt: skip
        """A budget that begins now."""
        return cls(time.monotonic() + seconds, expected, claims, seconds, lanes, whole or {})

    def text(self) -> str:
        """The budget as text for the environment variable."""
        ends, seconds = (each if math.isfinite(each) else None for each in (self.ends, self.seconds))
        until = None if ends is None else time.time() + ends - time.monotonic()
        return json.dumps({"ends": ends, "until": until, "machine": boot_id(), "seconds": seconds, "lanes": self.lanes,
                           "expected": dict(self.expected), "claims": dict(self.claims),
                           "whole": dict(self.whole), "earlier": dict(self.earlier),
                           "spent": dict(self.spent)})  # fmt: skip

    @classmethod
    def read(cls, text: str) -> Budget:
        """The budget from the environment variable's text; unlimited if that is empty."""
        if not text:
            return cls(math.inf)
        stored = json.loads(text)
        ends, seconds = (math.inf if stored[name] is None else stored[name] for name in ("ends", "seconds"))
        if math.isfinite(ends) and stored["machine"] != boot_id():
            ends = time.monotonic() + stored["until"] - time.time()
        return cls(ends, stored["expected"], stored["claims"], seconds, stored["lanes"], stored["whole"],
                   stored["earlier"], stored["spent"])  # fmt: skip

    def first(self, block: str, now: float | None = None) -> float:
        """Seconds from now within which a block (`<paper>/<block>`) may begin runs that its first analysis needs."""
        left, own, later = self._left(block, now)
        if not own:
            return left
        overrun = OVERRUN_OF_FIRST if block == next(iter(self.expected)) else _OVERRUN
        return min(left, max(overrun * own, left * own / (own + later)))

    def allowance(self, block: str) -> Allowance:
        """The part of the budget that a block (`<paper>/<block>`) gets."""
        return Allowance(
            partial(self.first, block), partial(self.further, block), partial(self.spare, block), self.own(block),
            self.seconds, self.earlier.get(block, 0.0), self.spent.get(block, {}),
        )  # fmt: skip

    def own(self, block: str) -> float:
        """Planned seconds of a block until its first interim analysis; infinite in an unlimited budget, or after it."""
        return self.expected.get(block) or math.inf if math.isfinite(self.ends) else math.inf

    def further(self, block: str, now: float | None = None) -> float:
        """Seconds from now within which a block may begin further runs: its share of what later blocks do not need."""
        left, _, later = self._left(block, now)
        mine = self.claims.get(block, 1.0)
        others = sum(self.claims.get(name, 1.0) for name in self._after(block)) / self.lanes
        return max(0.0, left - later) * (mine / (mine + others) if others else 1.0)

    def spare(self, block: str, now: float | None = None) -> float:
        """Seconds from now that are left even if all later blocks make all of their runs."""
        left, _, _ = self._left(block, now)
        return max(0.0, left - sum(self.whole.get(name, 0.0) for name in self._after(block)) / self.lanes)

    def _left(self, block: str, now: float | None) -> tuple[float, float, float]:
        """Seconds left, planned seconds of the block, and planned seconds of the blocks after it."""
        if math.isinf(self.ends):
            return math.inf, 0.0, 0.0
        left = max(0.0, self.ends - (time.monotonic() if now is None else now))
        return left, self.expected.get(block, 0.0), sum(self.expected[name] for name in self._after(block)) / self.lanes

    def _after(self, block: str) -> list[str]:
        """The blocks after this one; none if it is not among the expected ones."""
        names = list(self.expected)
        return names[names.index(block) + 1 :] if block in names else []
