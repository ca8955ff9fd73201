"""Lines of progress: run i of N, what runs, whether the last run was valid, time left; and that a long step goes on."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

Clock = Callable[[], float]

PULSE_S = 6.0
"""After so many seconds without a line, one says what still goes on."""


class Pulse:
    """Prints lines, and while it is `going` one more whenever `every` seconds pass without any."""

    def __init__(self, name: str, out: TextIO | None = None, every: float = PULSE_S) -> None:
        self.name, self.out, self.every = name, out or sys.stderr, every
        self._said, self._step, self._begin = threading.Event(), "", time.monotonic()

    def say(self, text: str) -> None:
        """Print a line; what it says goes on until the next one."""
        self._step, self._begin = text.split(" | ", 1)[0], time.monotonic()
        self._print(text)
        self._said.set()

    def doing(self, text: str) -> None:
        """What goes on from here, said only if it takes long."""
        self._step, self._begin = text, time.monotonic()
        self._said.set()

    def _print(self, text: str) -> None:
        self.out.write(f"{self.name}: {text}\n")  # in one piece, as two threads do so
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
    """`expected` are the seconds that each run should take, in the order of running, on so many `clusters`."""

    def __init__(
        self,
        block: str,
        expected: Sequence[float],
        clusters: int = 1,
        out: TextIO | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        super().__init__(block, out)
        self.expected, self.clusters, self.clock = list(expected), clusters, clock
        self.total, self.begun, self.last = len(self.expected), 0, ""
        self.spent, self.lanes = 0.0, 1
        self.starts: list[float] = []
        self._run_began: float | None = None
        self._start_began: float | None = None

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

    def left(self, expected: Sequence[float]) -> None:
        """Of the runs that are still to begin these are left, of so many expected seconds each."""
        self.expected = [*self.expected[: self.begun], *expected]

    @property
    def pace(self) -> float:
        """Seconds that runs took for each that they should; 1 before the first has ended."""
        planned = sum(self.expected[: self.begun - 1]) if self.begun > 1 else 0.0
        return self.spent / planned if planned and self.spent else 1.0

    def _left(self) -> float:
        # The model's seconds, corrected by how the runs so far compare with it, and the starts of further clusters.
        runs = sum(self.expected[self.begun - 1 :]) * self.pace / self.lanes
        ahead = self.clusters - len(self.starts)
        return runs + (ahead * sum(self.starts) / len(self.starts) if self.starts else 0.0)
