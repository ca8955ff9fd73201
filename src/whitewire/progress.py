"""The progress line: run i of N, what runs, whether the last run was valid, time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

Clock = Callable[[], float]


class Progress:
    """`expected` are the seconds that each run should take, in the order of running, on so many `clusters`."""

    def __init__(
        self, block: str, expected: Sequence[float], clusters: int = 1, out=None, clock: Clock = time.monotonic
    ) -> None:
        self.block, self.expected, self.clusters = block, list(expected), clusters
        self.out, self.clock = out or sys.stderr, clock
        self.total, self.begun, self.last = len(self.expected), 0, ""
        self.spent, self.starts = 0.0, []
        self._run_began: float | None = None
        self._start_began: float | None = None

    def say(self, text: str) -> None:
        print(f"{self.block}: {text}", file=self.out, flush=True)

    def cluster(self) -> None:
        """The next cluster is started."""
        now = self.clock()
        if self._run_began is not None:
            self.spent += now - self._run_began
        self._run_began, self._start_began = None, now

    def run(self, number: int, what: str) -> None:
        """Say that run `number` (from 1) begins."""
        now = self.clock()
        self.begun += 1
        if self._start_began is not None:
            self.starts.append(now - self._start_began)
        elif self._run_began is not None:
            self.spent += now - self._run_began
        self._run_began, self._start_began = now, None
        left = f", about {self._left():.0f} s left" if self.begun > 1 else ""
        self.say(f"run {number} of {self.total}: {what}{f' | last run {self.last}' if self.last else ''}{left}")

    def done(self, why_invalid: str) -> None:
        self.last = f"invalid: {why_invalid}" if why_invalid else "valid"

    def again(self, expected: float) -> None:
        """A run of so many expected seconds is to be made once more."""
        self.expected.append(expected)

    def _left(self) -> float:
        # The model's seconds, corrected by how the runs so far compare with it, and the starts of further clusters.
        planned = sum(self.expected[: self.begun - 1])
        runs = sum(self.expected[self.begun - 1 :]) * (self.spent / planned if planned else 1.0)
        ahead = self.clusters - len(self.starts)
        return runs + (ahead * sum(self.starts) / len(self.starts) if self.starts else 0.0)
