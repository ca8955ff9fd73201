"""How much longer runs take on this machine than planned: from finished blocks, else from the machine's speed.

Independent of what else runs at the moment.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from whitewire.records.checked import block_record

REFERENCE_S = 0.0185
"""CPU seconds of work() on the machine on which planned times are based (one processor of an AMD EPYC of 2023)."""
_TRIES, _LEAST, _MOST = 5, 0.25, 10.0
"""Number of tries, of which the best counts; bounds on the speed of a machine."""
_STEP = 0.5
"""Steps of a machine's speed, so that small differences between two calls change nothing."""
_MODEL, ONE_BLOCK = 0.4, 0.2
"""Relative errors of planned times: by the model alone (blocks of the reference took 0.8 to 1.3 of it on an idle
machine), and after a single finished block."""
FEW = 4
"""Least number of finished blocks for quartiles instead of extremes."""


def work() -> float:
    """CPU seconds of a fixed piece of work on one processor; wall-clock time would count other programs, too."""
    begin = time.thread_time()
    sum(number * number for number in range(400_000))
    return time.thread_time() - begin


def pace(results: Path) -> tuple[float, float, str]:
    """(least, most, basis) of the seconds that runs take per planned second. `results` is a testbed's folder."""
    records = filter(None, map(block_record, results.glob("*/raw/*/block.json")))
    found = sorted(pace for record in records if _LEAST <= (pace := record["pace"] or 0.0) <= _MOST)
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
