"""How much longer runs take on this machine than they should: from blocks that it has measured, else from its speed."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from whitewire.records.checked import block_record

REFERENCE_S = 0.0185
"""Seconds of work() on the machine from which expected times come (an AMD EPYC of 2023, one of its processors)."""
TRIES, LEAST, MOST = 5, 0.25, 10.0
"""Tries of which the best counts, and the bounds of what is taken for a machine's speed."""


def work() -> float:
    """Seconds of a fixed piece of work on one processor."""
    begin = time.perf_counter()
    sum(number * number for number in range(400_000))
    return time.perf_counter() - begin


def pace(results: Path) -> tuple[float, str]:
    """Seconds that runs take for each that they should, and where that is from; `results` is a testbed's folder."""
    told = filter(None, map(block_record, results.glob("*/raw/*/block.json")))
    found = [pace for record in told if LEAST <= (pace := record.get("pace", 0.0)) <= MOST]
    if found:
        return statistics.median(found), "by what it has measured so far"
    slower = min(work() for _ in range(TRIES)) / REFERENCE_S
    return min(MOST, max(1.0, slower)), "by the speed of its processors"
