"""Waits before a run until other programs leave the processors to it: measured is then what was asked for.

What others use is all that this machine's processors did, less what the testbed's hosts and this process did.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Protocol

from whitewire.records.samples import TICKS
from whitewire.testbed.samples import processor_ticks

IDLE = 0.25
"""Processors that other programs may use while a run begins."""
GLANCE_S, LOOK_S = 0.25, 0.75
"""Seconds over which others' use is read before every run, and again where it is above IDLE: the kernel counts
hundredths."""
MOST_S, SHARE = 45.0, 0.15
"""Longest wait before one run, and of a block's time until then that may have been waited altogether; the first wait
is free. A load that comes and goes is sat out; one that stays is met."""
NEVER_S = 60.0
"""What a block may wait at least, however short it is."""


class Readings(Protocol):
    """What a testbed says of its hosts' threads; see testbed.samples.Waited."""

    @property
    def time(self) -> float: ...
    @property
    def ran(self) -> float: ...
    @property
    def own(self) -> float: ...


class IdleWait:
    """The waits of one block. `read` asks the testbed, `say` prints a line."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic,
                 sleep: Callable[[float], None] = time.sleep,
                 ticks: Callable[[], tuple[int, int]] = processor_ticks) -> None:  # fmt: skip
        self.say, self.clock, self.sleep, self.ticks = say, clock, sleep, ticks
        self.waited, self._begin, self._in_vain = 0.0, clock(), 0

    def outside(self, read: Callable[[], Readings], seconds: float = LOOK_S) -> float:
        """Processors that other programs use, over so many seconds from now on."""
        before, (all_before, idle_before) = read(), self.ticks()
        self.sleep(seconds)
        after, (all_after, idle_after) = read(), self.ticks()
        busy = ((all_after - all_before) - (idle_after - idle_before)) / TICKS
        here = (after.ran - before.ran) + (after.own - before.own)
        return max(0.0, busy - here) / max(after.time - before.time, 1e-3)

    def before_a_run(self, read: Callable[[], Readings], until: float) -> float:
        """Wait until others are idle, or for as long as that makes sense; return what they then use, in processors.

        `until` is the moment at which the block's own time is up.
        """
        if (used := self.outside(read, GLANCE_S)) <= IDLE:
            self._in_vain = 0
            return used
        begin, said = self.clock(), False
        while (used := self.outside(read)) > IDLE:
            now = self.clock()
            allowed = max(NEVER_S, SHARE * (now - self._begin))
            patience = MOST_S / 2**self._in_vain
            if now - begin >= patience or self.waited + now - begin >= allowed or now >= until:
                self._in_vain += 1
                break
            if not said:
                self.say(f"waiting: other programs use {used:.1f} of {os.cpu_count() or 1} processors")
                said = True
        else:
            self._in_vain = 0
        self.waited += self.clock() - begin
        return used
