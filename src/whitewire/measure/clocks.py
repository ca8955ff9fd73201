"""Detects whether the time of day was set, here or on a host, or the machine slept, during a run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from whitewire.records.run import Clock


@dataclass(frozen=True)
class Clocks:
    """Clocks at one moment: time of day; time without steps (CLOCK_MONOTONIC); the same with sleep (CLOCK_BOOTTIME)."""

    day: float
    steady: float
    with_sleep: float

    @classmethod
    def now(cls) -> Clocks:
        return cls(time.time(), time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME))

    def since(self, now: Clocks | None = None, hosts: Mapping[str, float] | None = None) -> Clock:
        """Steps and sleep since this reading, in seconds; `hosts`: how far hosts' clocks moved ahead of this machine's.

        A step of this machine's clock changes `hosts` by the opposite amount, so it is added to them.
        """
        now = now or Clocks.now()
        steady, with_sleep = now.steady - self.steady, now.with_sleep - self.with_sleep
        slept = with_sleep - steady
        stepped = now.day - self.day - with_sleep
        found: Clock = {"stepped": round(stepped, 3), "slept": round(slept, 3)}
        if hosts:
            found["hosts"] = {name: round(ahead + stepped, 3) for name, ahead in hosts.items()}
        return found
