"""Waits for idle processors before a run, so that other programs do not distort it.

The use by others is all work of this machine's processors, less that of the testbed's hosts and of this process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from whitewire.records.samples import TICKS
from whitewire.testbed.samples import Waited, processor_ticks

IDLE = 0.25
"""Processors that other programs may use while a run begins."""
_GLANCE_S, _LOOK_S = 0.25, 0.75
"""Seconds over which others' use is measured before every run, and again if it is above IDLE: the kernel counts in
hundredths of a second."""
_MOST_S, SHARE = 45.0, 0.15
"""Most seconds to wait before one run, and largest share of a block's time so far that may be spent waiting (but at
least NEVER_S). A load that comes and goes is waited out; a lasting one is not."""
NEVER_S = 60.0
"""Seconds that a block may wait in any case, however short it is."""


class IdleWait:
    """The waits of one block. `say` prints a line; `read`, in the methods, gets readings from the testbed."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self.waited, self._begin, self._in_vain = 0.0, time.monotonic(), 0

    def outside(self, read: Callable[[], Waited], seconds: float = _LOOK_S) -> float:
        """Processors that other programs use, measured over the next `seconds`."""
        before, (all_before, idle_before) = read(), processor_ticks()
        time.sleep(seconds)
        after, (all_after, idle_after) = read(), processor_ticks()
        busy = ((all_after - all_before) - (idle_after - idle_before)) / TICKS
        here = (after.ran - before.ran) + (after.own - before.own)
        return max(0.0, busy - here) / max(after.time - before.time, 1e-3)

    def before_a_run(self, read: Callable[[], Waited], until: float) -> float:
        """Wait until other programs are idle, within the bounds above; returns the processors that they then use.

        `until`: the time of the monotonic clock at which the block's own time is up.
        """
        if (used := self.outside(read, _GLANCE_S)) <= IDLE:
            self._in_vain = 0
            return used
        begin, said = time.monotonic(), False
        while (used := self.outside(read)) > IDLE:
            now = time.monotonic()
            allowed = max(NEVER_S, SHARE * (now - self._begin))
            patience = _MOST_S / 2**self._in_vain
            if now - begin >= patience or self.waited + now - begin >= allowed or now >= until:
                self._in_vain += 1
                break
            if not said:
                self.say(f"waiting: other programs use {used:.1f} of {os.cpu_count() or 1} processors")
                said = True
        else:
            self._in_vain = 0
        self.waited += time.monotonic() - begin
        return used
