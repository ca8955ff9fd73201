"""The progress line: run i of N, what runs, whether the last run was valid, time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence


class Progress:
    """`expected` are the seconds that each run should take, in the order of running."""

    def __init__(self, block: str, expected: Sequence[float], out=None) -> None:
        self.block, self.expected, self.out = block, list(expected), out or sys.stderr
        self.began: float | None = None
        self.last = ""

    def say(self, text: str) -> None:
        print(f"{self.block}: {text}", file=self.out, flush=True)

    def run(self, number: int, what: str) -> None:
        """Say that run `number` (from 1) begins."""
        if self.began is None:
            self.began = time.monotonic()
        total = len(self.expected)
        left = f", about {self._left(number):.0f} s left" if number > 1 else ""
        self.say(f"run {number} of {total}: {what}{f' | last run {self.last}' if self.last else ''}{left}")

    def done(self, why_invalid: str) -> None:
        self.last = f"invalid: {why_invalid}" if why_invalid else "valid"

    def _left(self, number: int) -> float:
        # The model's seconds, corrected by how the runs so far compare with it.
        spent, planned = time.monotonic() - self.began, sum(self.expected[: number - 1])
        return sum(self.expected[number - 1 :]) * (spent / planned if planned else 1.0)
