"""Measures the wake-up latency of a process of the sandbox, and how long its threads run and wait for a processor.

A timer sleeps a few milliseconds and records its wake-up latency. It is delayed as the hosts' processes are, which also
sleep most of the time. The kernel counts in nanoseconds how long threads ran and waited
(/proc/<process>/task/<thread>/schedstat). Neither measurement needs privileges.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable

from whitewire import lanes
from whitewire.testbed.base import CommandFailed, piped
from whitewire.testbed.samples import Waited

NS = 1e-9
"""Seconds in a nanosecond."""
TIMER = """
import select, sys, time
nap, wakes, late = float(sys.argv[1]), 0, 0.0
while True:
    begin = time.perf_counter()
    time.sleep(nap)
    late += time.perf_counter() - begin - nap
    wakes += 1
    if select.select([sys.stdin], [], [], 0)[0]:
        if not sys.stdin.readline():
            break
        print(wakes, late, flush=True)
"""
"""Answers each input line with its number of wake-ups and their total latency in s; ends with its input."""
NAP_S = 0.002
"""The timer's sleep in seconds: the time that a shaped link's burst bridges."""


class Threads:
    """Running and waiting times of all threads in a proc file system (/proc, or a sandbox's own).

    A thread that ends between two readings counts with its values at the earlier one.
    """

    def __init__(self, proc: str) -> None:
        self.proc = proc
        self._last: dict[tuple[str, str], tuple[int, int]] = {}
        self._ended = [0, 0]

    def take(self) -> tuple[float, float]:
        """Total seconds that threads ran, and that they waited. Reads a file per thread: some 10 ms for 12 hosts."""
        now: dict[tuple[str, str], tuple[int, int]] = {}
        for process in os.listdir(self.proc):
            if not process.isdigit():
                continue
            folder = f"{self.proc}/{process}/task"
            with contextlib.suppress(OSError):  # the process has just ended
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
        ran = self._ended[0] + sum(ran for ran, _ in now.values())
        waited = self._ended[1] + sum(waited for _, waited in now.values())
        return NS * ran, NS * waited


STRANGERS: set[int] = set()
"""Child processes that do not count as the campaign's own: outside load that a study generates."""


def seconds_of_all_below(root: int) -> float:
    """CPU seconds of a process and of all its descendants, including ended ones (proc_pid_stat(5)).

    An ended process counts with the parent that waited for it. So nothing counts twice, and programs that end between
    two readings of Threads are not missed.
    """
    spent, below = dict[int, int](), dict[int, list[int]]()
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                # The process's name may contain anything, so fields are counted from its closing bracket.
                fields = file.read(1024).rpartition(b")")[2].split()
                spent[int(name)] = sum(map(int, fields[11:15]))
                below.setdefault(int(fields[1]), []).append(int(name))
    total, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        if process not in STRANGERS:
            total += spent.get(process, 0)
            waiting += below.get(process, [])
    return total / os.sysconf("SC_CLK_TCK")


class Timer:
    """The timer as a process. `start` starts it with pipes for input and output; it ends when these are closed."""

    def __init__(self, start: Callable[[list[str]], subprocess.Popen[bytes]]) -> None:
        self.process = start([sys.executable, "-I", "-S", "-c", TIMER, str(NAP_S)])

    def take(self) -> tuple[int, float]:
        """(number of wake-ups, their total latency in seconds). Raises CommandFailed when the timer has ended."""
        try:
            piped(self.process.stdin).write(b"\n")
            piped(self.process.stdin).flush()
            wakes, late = piped(self.process.stdout).readline().split()
        except (OSError, ValueError):
            raise CommandFailed("testbed emulated: the timer that measures wake-up latency has ended") from None
        return int(wakes), float(late)

    def close(self) -> None:
        """End the timer."""
        with contextlib.suppress(OSError):
            piped(self.process.stdin).close()
        self.process.kill()
        self.process.wait()
        piped(self.process.stdout).close()


class Meter:
    """Reads the threads' times, the campaign's CPU time and the timer together."""

    def __init__(self, threads: Threads, timer: Timer) -> None:
        self.threads, self.timer = threads, timer
        self._below = self._gone = 0.0

    def take(self) -> Waited:
        ran, waited = self.threads.take()
        # CPU time of another lane's sandbox leaves /proc with its end; `_gone` keeps it in the sum.
        below = seconds_of_all_below(lanes.campaign()) + self._gone
        self._gone += max(0.0, self._below - below)
        self._below = max(self._below, below)
        own = self._below - ran
        return Waited(time.time(), ran, waited, own, *self.timer.take())
