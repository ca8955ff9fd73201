"""Detects that a machine cannot make a block's runs: nearly all of the last attempts were short of processors."""

from __future__ import annotations

from collections import deque

_LAST, TOO_MANY, LEAST_RUNS = 20, 18, 10
"""Window of attempts, least number of them that were short of processors, least number of distinct runs among these.
One run that a machine cannot make does not show that it can make none."""


class Shortage:
    """The last attempts at a block's runs that no other programs disturbed, and how they were short of processors."""

    def __init__(self) -> None:
        self._last: deque[tuple[str, str]] = deque(maxlen=_LAST)

    def note(self, run_id: str, short: str) -> None:
        """Note the end of an attempt; `short`: how it was short of processors (empty: it was not)."""
        self._last.append((run_id, short))

    def __str__(self) -> str:
        """The shortage in words, with its last case; empty as long as going on makes sense."""
        short = [why for _, why in self._last if why]
        if len(short) < TOO_MANY or len({run_id for run_id, _ in self._last}) < LEAST_RUNS:
            return ""
        return f"{len(short)} of the last {len(self._last)} attempts had too little of the processors ({short[-1]})"
