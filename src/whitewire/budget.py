"""How long measuring may take: a budget for a whole start, and what of it a block gets.

Blocks are measured in turn, as many at once as there are lanes. Until its first interim analysis a block gets what it
should take, and three times as much if need be, because without it all its time would be lost; but no more than it
should take where others have disturbed every attempt by then, and the first block half as much again, because the first
report waits for it. After it a block gets a part of what the blocks after it do not need for theirs: in proportion to
the claims of it and them that runs judge, and nothing where nothing is left over. Runs that hardly decide a claim get
only what is left even if the blocks after it make all of theirs. So a budget that is too small for all decides some
papers rather than none, and no paper has many runs of a cell while a later one has none. What one does not need goes to
the next ones.
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

VARIABLE = "WHITEWIRE_BUDGET"
"""The environment variable that carries a start's budget to its blocks."""
NONE = "none"
"""The word for a budget without an end."""
UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
PART = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)\s*(s|min|m|h)\s*", re.ASCII)
TIME = re.compile(rf"\s*(?:{PART.pattern})+", re.ASCII)
MOST_S = 366 * 86400.0
OVERRUN = 3.0
"""How much of its planned time a block may take until its first interim analysis: beside other programs it takes it.

With 1.5, on two processors of which others used one and more, no block but two came to its first one in 85 minutes."""
OVERRUN_OF_FIRST = 1.5
"""The same of the first block, which the first report waits for. With 1 it missed its first analysis in two campaigns
on an idle machine, where its runs took 1.24 times as long as planned, and had measured for nothing."""
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


def _without_end() -> float:
    return math.inf


@dataclass(frozen=True)
class Allowance:
    """What one block may take, in seconds.

    first, further: until its first interim analysis, and after that, from the moment of asking; spare: after it, for
    runs that hardly decide a claim; own: what it should take until its first interim analysis; start: what all blocks
    of the start may take together; began: when it began, by the wall clock; earlier: what the block took in it before;
    spent: what of that went into what.
    """

    first: Callable[[], float] = _without_end
    further: Callable[[], float] = _without_end
    spare: Callable[[], float] = _without_end
    own: float = math.inf
    start: float = math.inf
    began: float = field(default_factory=time.time)
    earlier: float = 0.0
    spent: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Budget:
    """Until when a start may measure, and what it still has to measure, in turn: `<paper>/<block>` to seconds until its
    first interim analysis, and to how many claims its runs judge.

    `ends` is a moment of the monotonic clock, which all processes of a machine share, which no step of the wall clock
    moves, and which stands still while the machine sleeps. Another machine (a node of a Slurm job) reads the moment of
    the wall clock that it is.
    """

    ends: float
    expected: Mapping[str, float] = field(default_factory=dict)
    claims: Mapping[str, float] = field(default_factory=dict)
    seconds: float = math.inf
    """How long the start may measure in all, as it was asked to; it decides nothing."""
    lanes: int = 1
    """How many blocks are measured side by side: those after one take so many times less of the time that is left."""
    whole: Mapping[str, float] = field(default_factory=dict)
    """Seconds that all runs of a block should take."""
    earlier: Mapping[str, float] = field(default_factory=dict)
    """Seconds that blocks took earlier in this start."""
    spent: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """What of that went into what (runs, start, warm-up)."""
    began: float = field(default_factory=time.time, compare=False)
    """When the start began, by the wall clock, with which records say when they were made."""

    @classmethod
    def of(cls, seconds: float, expected: Mapping[str, float], claims: Mapping[str, float], lanes: int = 1,
           whole: Mapping[str, float] | None = None) -> Budget:  # fmt: skip
        """One that begins now."""
        return cls(time.monotonic() + seconds, expected, claims, seconds, lanes, whole or {})

    def text(self) -> str:
        """For the environment variable."""
        ends, seconds = (each if math.isfinite(each) else None for each in (self.ends, self.seconds))
        until = None if ends is None else time.time() + ends - time.monotonic()
        return json.dumps({"ends": ends, "until": until, "machine": boot_id(), "seconds": seconds, "lanes": self.lanes,
                           "expected": dict(self.expected), "claims": dict(self.claims),
                           "whole": dict(self.whole), "earlier": dict(self.earlier), "spent": dict(self.spent),
                           "began": self.began})  # fmt: skip

    @classmethod
    def read(cls, text: str) -> Budget:
        """From the environment variable; without an end where it is empty."""
        if not text:
            return cls(math.inf)
        stored = json.loads(text)
        ends, seconds = (math.inf if stored[name] is None else stored[name] for name in ("ends", "seconds"))
        if math.isfinite(ends) and stored["machine"] != boot_id():
            ends = time.monotonic() + stored["until"] - time.time()
        return cls(ends, stored["expected"], stored["claims"], seconds, stored["lanes"], stored["whole"],
                   stored["earlier"], stored["spent"], stored["began"])  # fmt: skip

    def first(self, block: str, now: float | None = None) -> float:
        """Seconds from now on within which a block (`<paper>/<block>`) may begin what its first analysis needs."""
        left, own, later = self._left(block, now)
        if not own:
            return left
        overrun = OVERRUN_OF_FIRST if block == next(iter(self.expected)) else OVERRUN
        return min(left, max(overrun * own, left * own / (own + later)))

    def allowance(self, block: str) -> Allowance:
        """What a block (`<paper>/<block>`) gets of it."""
        return Allowance(
            partial(self.first, block), partial(self.further, block), partial(self.spare, block), self.own(block),
            self.seconds, self.began, self.earlier.get(block, 0.0), self.spent.get(block, {}),
        )  # fmt: skip

    def own(self, block: str) -> float:
        """Seconds that a block should take until its first interim analysis; infinite without an end, or after it."""
        return self.expected.get(block) or math.inf if math.isfinite(self.ends) else math.inf

    def further(self, block: str, now: float | None = None) -> float:
        """Seconds from now on within which a block may begin more: its part of what later ones do not need."""
        left, _, later = self._left(block, now)
        mine = self.claims.get(block, 1.0)
        others = sum(self.claims.get(name, 1.0) for name in self._after(block)) / self.lanes
        return max(0.0, left - later) * (mine / (mine + others) if others else 1.0)

    def spare(self, block: str, now: float | None = None) -> float:
        """Seconds from now on that are left even if the blocks after one make all of their runs."""
        left, _, _ = self._left(block, now)
        return max(0.0, left - sum(self.whole.get(name, 0.0) for name in self._after(block)) / self.lanes)

    def _left(self, block: str, now: float | None) -> tuple[float, float, float]:
        """Seconds that are left, that the block should take, and that those after it should."""
        if math.isinf(self.ends):
            return math.inf, 0.0, 0.0
        left = max(0.0, self.ends - (time.monotonic() if now is None else now))
        return left, self.expected.get(block, 0.0), sum(self.expected[name] for name in self._after(block)) / self.lanes

    def _after(self, block: str) -> list[str]:
        """The blocks after one; none of one that nobody expects."""
        names = list(self.expected)
        return names[names.index(block) + 1 :] if block in names else []
