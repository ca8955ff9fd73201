"""When a machine cannot make a block's runs: nearly all of the last attempts were short of processors."""

from __future__ import annotations

from collections import deque

LAST, TOO_MANY, LEAST_RUNS = 20, 18, 10
"""Attempts that are looked at, how many of them may not be short of processors, and of how many runs they must be at
least: a single run that a machine cannot make is no sign that it can make none."""


class Shortage:
    """The last attempts at a block's runs that no other programs disturbed, and in which way they lacked processors."""

    def __init__(self) -> None:
        self._last: deque[tuple[str, str]] = deque(maxlen=LAST)

    def note(self, run_id: str, short: str) -> None:
        """An attempt has ended; in which way it was short of processors (empty: it was not)."""
        self._last.append((run_id, short))

    def __str__(self) -> str:
        """What is wrong, with the last attempt that was short; empty as long as going on makes sense."""
        short = [why for _, why in self._last if why]
        if len(short) < TOO_MANY or len({run_id for run_id, _ in self._last}) < LEAST_RUNS:
            return ""
        return f"{len(short)} of the last {len(self._last)} attempts had too little of the processors ({short[-1]})"
