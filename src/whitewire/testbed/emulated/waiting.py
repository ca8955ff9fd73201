"""How long threads of the sandbox that are ready to run wait for a processor, and how much of the processors they use.

The kernel counts both for each thread, in nanoseconds (/proc/<process>/task/<thread>/schedstat: time that it ran, time
that it was ready and waited). No privilege is needed for one's own processes.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass

NS = 1e-9
"""Seconds in a nanosecond."""


@dataclass(frozen=True)
class Waited:
    """At one moment (seconds since 1970): seconds that threads ran, and that they were ready and waited, so far.

    Both are sums over all threads. `own` are the CPU seconds of the process that asks.
    """

    time: float
    ran: float
    waited: float
    own: float


class Waiting:
    """What the threads below a folder of processes (/proc, or a sandbox's own) ran and waited.

    A thread that ends between two readings counts with what the last one said of it.
    """

    def __init__(self, proc: str = "/proc") -> None:
        self.proc = proc
        self._last: dict[tuple[str, str], tuple[int, int]] = {}
        self._ended = [0, 0]

    def take(self) -> Waited:
        """Read all threads, a file each: some 10 ms for a cluster of a dozen hosts."""
        now: dict[tuple[str, str], tuple[int, int]] = {}
        for process in os.listdir(self.proc):
            if not process.isdigit():
                continue
            folder = f"{self.proc}/{process}/task"
            with contextlib.suppress(OSError):  # it has just ended
                for thread in os.listdir(folder):
                    with (
                        contextlib.suppress(OSError, ValueError, IndexError),
                        open(f"{folder}/{thread}/schedstat", "rb", buffering=0) as file,
                    ):
                        ran, waited, _ = file.read(64).split()
                        now[process, thread] = int(ran), int(waited)
        for key, (ran, waited) in self._last.items():
            if key not in now:
                self._ended[0] += ran
                self._ended[1] += waited
        self._last = now
        return Waited(
            time.time(),
            NS * (self._ended[0] + sum(ran for ran, _ in now.values())),
            NS * (self._ended[1] + sum(waited for _, waited in now.values())),
            time.process_time(),
        )
