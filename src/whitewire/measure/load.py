"""Load from outside: other programs that use this machine's processors while a block's runs are made."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from whitewire.cluster.stack import Stack
from whitewire.description.paper import Paper
from whitewire.measure.block import Block
from whitewire.measure.floors import Floors
from whitewire.measure.run import Run
from whitewire.measure.turns import Outcome, Turns
from whitewire.paths import KILLED_WITH_THIS
from whitewire.progress import Progress
from whitewire.records.run import DesignRow
from whitewire.testbed.emulated.waiting import STRANGERS

TURN_S, SETTLED_S = 0.05, 0.5
"""A partial load runs and rests in turns of so long; a run begins so long after its load does."""
BURN = """
import time
while True:
    end = time.monotonic() + {busy}
    while time.monotonic() < end: pass
    time.sleep({rest})
"""


@contextlib.contextmanager
def burning(load: float, turn: float = TURN_S) -> Iterator[None]:
    """So many processors are busy with something else; a part of one runs and rests in turns of so many seconds."""
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


class Loaded(Block):
    """A block whose runs are made, once each, while something else uses the processors: `loads` of them by run id."""

    def __init__(
        self, paper: Paper, testbed: Mapping[str, Any], name: str, rows: Sequence[DesignRow], folder: Path,
        loads: Mapping[str, float],
    ) -> None:  # fmt: skip
        super().__init__(paper, testbed, name, rows, folder)
        self.loads, self.attempts = loads, 1

    def _attempt(self, stack: Stack, run: Run, floors: Floors) -> Outcome:
        with burning(self.loads[run.row["run_id"]]):
            time.sleep(SETTLED_S)
            outcome = self._under_load(stack, run, floors)
        return replace(outcome, spoiled=False)  # the load is meant: no reason to try again

    def _under_load(self, stack: Stack, run: Run, floors: Floors) -> Outcome:
        """One attempt, while the load is there."""
        return super()._attempt(stack, run, floors)

    def _check_processors(self, run: Run, turns: Turns, progress: Progress) -> None:
        """A load that is asked for is no reason to stop."""
