"""How much longer runs take on this machine than planned: from blocks that it has finished, else from its speed.

Nothing here depends on what else runs at the moment.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from whitewire.records.checked import block_record

REFERENCE_S = 0.0185
"""CPU seconds of work() on the machine from which planned times come (an AMD EPYC of 2023, one of its processors)."""
_TRIES, _LEAST, _MOST = 5, 0.25, 10.0
"""Tries of which the best counts, and the bounds of what is taken for a machine's speed."""
_STEP = 0.5
"""Steps of a machine's speed, so that small differences between two calls change nothing."""
_MODEL, ONE_BLOCK = 0.4, 0.2
"""Errors of planned times: of the model alone (blocks of the reference took 0.8 to 1.3 of it on an idle machine), and
from a single finished block."""
FEW = 4
"""Finished blocks from which on quartiles take the place of the extremes."""


def work() -> float:
    """CPU seconds of a fixed piece of work on one processor; wall-clock time would count other programs, too."""
    begin = time.thread_time()
    sum(number * number for number in range(400_000))
    return time.thread_time() - begin


def pace(results: Path) -> tuple[float, float, str]:
    """Seconds that runs take for each planned second, least and most, and what that rests on.

    `results` is a testbed's folder.
    """
    records = filter(None, map(block_record, results.glob("*/raw/*/block.json")))
    found = sorted(pace for record in records if _LEAST <= (pace := record.get("pace") or 0.0) <= _MOST)
    if not found:
        slower = _STEP * round(min(work() for _ in range(_TRIES)) / REFERENCE_S / _STEP)
        low, high = _within(min(_MOST, max(1.0, slower)), _MODEL)
        return low, high, f"by the model alone, ±{_MODEL:.0%}"
    if len(found) == 1:
        low, high = _within(found[0], ONE_BLOCK)
    elif len(found) < FEW:
        low, high = found[0], found[-1]
    else:
        low, _, high = statistics.quantiles(found, n=4, method="inclusive")
    return low, high, f"from {len(found)} finished block{'s' if len(found) > 1 else ''} on this machine"


def _within(value: float, share: float) -> tuple[float, float]:
    return value * (1 - share), value * (1 + share)
