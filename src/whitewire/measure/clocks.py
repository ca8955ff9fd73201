"""Whether the time of day was set, here or on a host, or the machine slept, while a run went on."""

from __future__ import annotations

import time
from collections.abc import Mapping
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

    def since(self, now: Clocks | None = None, hosts: Mapping[str, float] | None = None) -> Clock:
        """What happened to the clocks since then, in seconds; `hosts`: by how much others went ahead of this machine's.

        That is more where this one was set back meanwhile, so its own step is added.
        """
        now = now or Clocks.now()
        steady, with_sleep = now.steady - self.steady, now.with_sleep - self.with_sleep
        slept = with_sleep - steady
        stepped = now.day - self.day - with_sleep
        found: Clock = {"stepped": round(stepped, 3), "slept": round(slept, 3)}
        if hosts:
            found["hosts"] = {name: round(ahead + stepped, 3) for name, ahead in hosts.items()}
        return found
