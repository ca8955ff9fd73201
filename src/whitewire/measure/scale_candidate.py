"""Choose the first scale candidate of a paper that this machine can hold, by trying its heaviest cell once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from whitewire import atomic
from whitewire.description.paper import Paper
from whitewire.design.durations import busy_cores
from whitewire.measure.run import Run
from whitewire.records.scale_candidate import SCALE_FILE, recorded

_SPARE = 0.85
"""Share of the bound on wake-up latency that the heaviest cell may use, so that the others have a margin."""


class TooHeavy(Exception):
    """The runs need more processors than there are at this k, and there is a larger k; the message has the evidence."""


class ScaleCandidates:
    """The scale candidate of a paper's results, recorded in `raw`; without `raises_k` the paper's own, and no record.

    Raises UserError if the record is broken.
    """

    def __init__(self, paper: Paper, raw: Path, raises_k: bool) -> None:
        known = recorded(raw, paper.candidate_count) if raises_k else None
        self.raw, self.raises_k = raw, raises_k
        self.paper = paper.on(known or 0) if raises_k else paper
        self.open = raises_k and known is None and paper.candidate_count > 1
        """Whether the heaviest cell is still to be tried."""
        self.tried: list[dict[str, Any]] = []

    def go_on(self, fits: Callable[[Paper], bool]) -> None:
        """If no k is recorded, take the first one that `fits` the earlier runs, so that runs of two k are not mixed."""
        if self.open:
            self.paper = next(filter(fits, map(self.paper.on, range(self.paper.candidate_count))), self.paper)

    @property
    def last(self) -> bool:
        """Whether there is no larger k."""
        return self.paper.candidate + 1 >= self.paper.candidate_count

    def judge(self, run: Run, latency: float, bound: float) -> str:
        """Settle on this k, with a message, or raise TooHeavy, by the mean wake-up latency of a trial in ms."""
        most, k = _SPARE * bound, f"k = {run.scale.k:g}"
        enough = latency <= most
        self.tried.append({"k": run.scale.k, "cell": run.title, "cpu_late": round(latency, 4), "enough": enough})
        said = f"mean wake-up latency {latency:.2f} ms, at most {most:.2g} ms leaves a margin"
        if not enough and not self.last:
            raise TooHeavy(f"{k} is too small for this machine ({said})")
        self._settle()
        if enough:
            return f"{k}: {said}"
        return (
            f"even {k} is too small for this machine ({said}): what it cannot make stays invalid, the rest is measured"
        )

    def keep(self, why: str) -> None:
        """Settle on this k, which could not be tried."""
        self.tried.append({"why": why})
        self._settle()

    def raise_k(self, why: str) -> None:
        """Take the next k."""
        self.paper = self.paper.on(self.paper.candidate + 1)
        if not self.open:  # it was settled before, and proved too small
            self.tried.append({"why": why})
            self._settle()

    def stay(self, candidate: int) -> None:
        """Keep to the k that another process has chosen and may change."""
        self.paper, self.open, self.raises_k = self.paper.on(candidate), False, False

    def _settle(self) -> None:
        self.open = False
        atomic.write(self.raw / SCALE_FILE, atomic.as_json({"rung": self.paper.candidate, "tried": self.tried}))


def heaviest(runs: Sequence[Run]) -> Run | None:
    """The run that should keep the processors busiest, of those that processors must not limit."""
    bound = [run for run in runs if run.cpu == "limit" and run.scale.file_bytes]
    return max(bound, key=busy_processors, default=None)


def busy_processors(run: Run) -> float:
    """Processors that a run should keep busy."""
    size = run.scale.file_bytes * run.workload.files(run.parameters)
    return busy_cores(run.workload.on_yarn, size, run.expected_seconds)
