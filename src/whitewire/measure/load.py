"""Load from outside: other programs that use this machine's processors while a block's runs are made."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from whitewire.cluster.stack import Stack
from whitewire.measure.campaign import Around
from whitewire.measure.turns import AttemptOutcome
from whitewire.paths import KILLED_WITH_THIS
from whitewire.testbed.emulated.waiting import STRANGERS

TURN_S, SETTLED_S = 0.05, 0.5
"""Seconds of a partial load's cycle of work and rest, and from the start of a load to that of its run."""
BURN = """
import time
while True:
    end = time.monotonic() + {busy}
    while time.monotonic() < end: pass
    time.sleep({rest})
"""


@contextlib.contextmanager
def burning(load: float, turn: float = TURN_S) -> Iterator[None]:
    """Keep `load` processors busy; a fraction of one works for that share of each cycle of `turn` seconds."""
    shares = [1.0] * int(load) + ([load % 1] if load % 1 else [])
    # Each in a session of its own: the kernel shares processors out by session first (sched_autogroup).
    burners = [
        subprocess.Popen(
            [*KILLED_WITH_THIS, sys.executable, "-c", BURN.format(busy=turn * share, rest=turn * (1 - share))],
            start_new_session=True,
        )
        for share in shares
    ]
    STRANGERS.update(burner.pid for burner in burners)
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
            STRANGERS.discard(burner.pid)


def under(loads: Mapping[str, float]) -> Around:
    """A function that makes each attempt under load from outside; `loads`: processors by run id."""

    def around(attempt: Callable[[], AttemptOutcome], stack: Stack, run_id: str) -> AttemptOutcome:
        with burning(loads[run_id]):
            time.sleep(SETTLED_S)
            outcome = attempt()
        return replace(outcome, disturbed=False)  # the load is intended: no reason to try again

    return around
