"""Progress lines: run i of N, what runs, whether the last run was valid, time left; and signs of life in long steps."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

_Clock = Callable[[], float]

PULSE_S = 6.0
"""Seconds without a line after which a new line names the step that still goes on."""


class Pulse:
    """Prints lines and, within `going`, a sign of life whenever `every` seconds pass without a line."""

    def __init__(self, name: str, out: TextIO | None = None, every: float = PULSE_S) -> None:
        self.name, self.out, self.every = name, out or sys.stderr, every
        self._said, self._step, self._begin = threading.Event(), "", time.monotonic()

    def say(self, text: str) -> None:
        """Print a line; the step that it names goes on until the next line."""
        self._step, self._begin = text.split(" | ", 1)[0], time.monotonic()
        self._print(text)
        self._said.set()

    def doing(self, text: str) -> None:
        """Set the step that goes on from here, without a line unless it takes long."""
        self._step, self._begin = text, time.monotonic()
        self._said.set()

    def _print(self, text: str) -> None:
        self.out.write(f"{self.name}: {text}\n")  # in one piece, because two threads write
        self.out.flush()

    @contextlib.contextmanager
    def going(self) -> Iterator[Pulse]:
        ended = threading.Event()

        def beat() -> None:
            while not ended.is_set():
                if self._said.wait(self.every):
                    self._said.clear()
                elif self._step:
                    self._print(f"… {self._step}, {time.monotonic() - self._begin:.0f} s")

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            ended.set()
            self._said.set()
            thread.join()


class Progress(Pulse):
    """Progress of a block. `expected`: planned seconds of each run, in running order; `clusters`: how many it needs."""

    def __init__(
        self,
        block: str,
        expected: Sequence[float],
        clusters: int = 1,
        out: TextIO | None = None,
        clock: _Clock = time.monotonic,
    ) -> None:
        super().__init__(block, out)
        self.expected, self.clusters, self.clock = list(expected), clusters, clock
        self.total, self.begun, self.last = len(self.expected), 0, ""
        self.spent, self.lanes = 0.0, 1
        self.starts: list[float] = []
        self._run_began: float | None = None
        self._start_began: float | None = None

    def cluster(self) -> None:
        """Note that the start of the next cluster begins."""
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
        """Note that a run of `expected` planned seconds is to be made once more."""
        self.expected.append(expected)

    def left(self, expected: Sequence[float]) -> None:
        """Replace the runs that are still to begin; `expected`: planned seconds of each."""
        self.expected = [*self.expected[: self.begun], *expected]

    @property
    def pace(self) -> float:
        """Seconds that runs took per planned second; 1 before the first has ended."""
        planned = sum(self.expected[: self.begun - 1]) if self.begun > 1 else 0.0
        return self.spent / planned if planned and self.spent else 1.0

    def _left(self) -> float:
        # Planned seconds, corrected by the pace of the runs so far, and the starts of further clusters.
        runs = sum(self.expected[self.begun - 1 :]) * self.pace / self.lanes
        ahead = self.clusters - len(self.starts)
        return runs + (ahead * sum(self.starts) / len(self.starts) if self.starts else 0.0)
