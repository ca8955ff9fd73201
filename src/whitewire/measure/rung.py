"""Which k of a paper's ladder a machine can hold: the heaviest cell is tried on one after the other, once per paper."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whitewire import whole
from whitewire.design.durations import busy_cores
from whitewire.measure.run import Run

FILE = "scale.json"
"""In raw/ of a paper's results: the rung, and what was tried."""
SPARE = 0.7
"""Share of the bound on waiting threads that the heaviest cell may use, so that the others have time to spare."""


class TooHeavy(Exception):
    """The runs want more of the processors than there is at this k; the message says what was seen."""


@dataclass(frozen=True)
class Tried:
    """The heaviest cell at one k: seconds that threads waited for each that they ran; whether these are few enough."""

    k: float
    cell: str
    cpu_waited: float
    enough: bool


def recorded(raw: Path) -> int | None:
    """The rung of a paper's results; None where none is chosen yet, or the record cannot be read."""
    try:
        rung = json.loads((raw / FILE).read_text())["rung"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return rung if isinstance(rung, int) and rung >= 0 else None


def keep(raw: Path, rung: int, tried: Sequence[Mapping[str, Any]]) -> None:
    """Write the choice down."""
    whole.write(raw / FILE, json.dumps({"rung": rung, "tried": list(tried)}, indent=1) + "\n")


def heaviest(runs: Sequence[Run]) -> Run | None:
    """The run that should keep the processors busiest, of those that they may not limit."""
    bound = [run for run in runs if run.cpu == "limit" and run.scale.file_bytes]
    return max(bound, key=load, default=None)


def load(run: Run) -> float:
    """Processors that a run should keep busy."""
    size = run.scale.file_bytes * run.workload.files(run.parameters)
    return busy_cores(run.workload.on_yarn, size, run.expected_seconds)
