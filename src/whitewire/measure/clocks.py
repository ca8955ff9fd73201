"""Whether the time of day was set, or the machine slept, while a run went on."""

from __future__ import annotations

import time
from dataclasses import dataclass

from whitewire.records.run import Clock


@dataclass(frozen=True)
class Clocks:
    """At one moment: time of day; time that no step moves (CLOCK_MONOTONIC); the same with sleep (CLOCK_BOOTTIME)."""

    day: float
    steady: float
    with_sleep: float

    @classmethod
    def now(cls) -> Clocks:
        return cls(time.time(), time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME))

    def since(self, now: Clocks | None = None) -> Clock:
        """What happened to the clocks since then, in seconds."""
        now = now or Clocks.now()
        steady, with_sleep = now.steady - self.steady, now.with_sleep - self.with_sleep
        slept = with_sleep - steady
        return {"stepped": round(now.day - self.day - with_sleep, 3), "slept": round(slept, 3)}
