"""Startup overheads: before which runs of a cluster they are measured, and when more overhead runs are needed.

A startup overhead is a job's time on almost no data. Pure functions, and the list of one cluster's overhead runs.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence

from whitewire.measure.run import OverheadKey
from whitewire.records.overhead import job_seconds, overhead_error, typical
from whitewire.records.run import RunRecord

OVERHEAD_RUNS, FURTHER, UNJUDGED = 4, 4, 2
"""Overhead runs per kind of job on a cluster, most further ones at its end, and overhead runs of a kind whose net times
no verdict uses. At smoke effort there is one."""
EARLY = 3
"""Overhead runs of a judged kind before the first interim analysis, which needs at least two for their scatter."""
SCATTER_SHARE = 0.1
"""Standard error of an overhead's median, over the shortest runs' net time, above which further runs are made."""


def positions(first: int, runs: int, have: int, count: int, interim: int | None = None) -> list[int]:
    """Indices of runs (0 to `runs`: after the last) before which overhead runs are due; `have` of `count` exist.

    `interim` is the first run after the first interim analysis. EARLY overhead runs are spread from the first run that
    needs the overhead (`first`) to the last one before `interim`, the others from there to the end; without `interim`,
    all evenly.
    """
    if interim is None or not first < interim <= runs or count <= EARLY:
        early, interim = 1, first
    else:
        early = EARLY
    before = [first + round((interim - 1 - first) * place / (early - 1)) for place in range(1, early)]
    after = [interim + round((runs - interim) * place / (count - early)) for place in range(1, count - early + 1)]
    return [first, *before, *after][have:]


def too_wide(overheads: Sequence[RunRecord], runs: Sequence[RunRecord]) -> bool:
    """Whether overhead runs scatter too much for the net time of their shortest runs, in any of the jobs."""
    if not overheads:
        return False
    known = typical(overheads)
    for job in job_seconds(overheads[0]):
        cells: dict[str, list[float]] = {}
        for run in runs:
            if job in (seconds := job_seconds(run)):
                cell = json.dumps([run["experiment"], run["factors"]], sort_keys=True, default=str)
                cells.setdefault(cell, []).append(seconds[job] - known[job])
        if cells:
            shortest = min(statistics.median(net) for net in cells.values())
            error = overhead_error([job_seconds(each)[job] for each in overheads])
            if error > SCATTER_SHARE * max(0.0, shortest):
                return True
    return False


class Overheads:
    """The overhead runs of one cluster, by kind of job: `known` are the valid ones, `names` the names of the kinds.

    `first`: for each kind, index (from 0) of the first of the `runs` runs that needs it; `counts`: planned overhead
    runs per kind; `interim`: index of the first run after the first interim analysis. `known` may include overhead runs
    of an interrupted measurement.
    """

    def __init__(self, first: Mapping[OverheadKey, int], names: Mapping[OverheadKey, str], runs: int,
                 counts: Mapping[OverheadKey, int], known: Mapping[str, Sequence[RunRecord]],
                 interim: int | None = None) -> None:  # fmt: skip
        self.names, self.counts = dict(names), dict(counts)
        self.known: dict[OverheadKey, list[RunRecord]] = {key: list(known.get(names[key], ())) for key in first}
        self._asked, self._runs, self._interim = dict(counts), runs, interim
        self.lacking: dict[OverheadKey, str] = {}
        """Kinds of which no overhead run could be made so far, and why."""
        self._due = {key: positions(at, runs, len(self.known[key]), counts[key], interim)
                     for key, at in first.items()}  # fmt: skip

    def further(self, key: OverheadKey) -> int:
        """Most further overhead runs of a kind, if the existing ones scatter too much."""
        most = OVERHEAD_RUNS + FURTHER if self._asked[key] == OVERHEAD_RUNS else 0
        return max(0, most - len(self.known[key]))

    def divide(self, lanes: int, begun: int, leads: bool = True) -> None:
        """Divide the runs and overhead runs that are left among `lanes` lanes; `begun` runs have begun.

        The lane that `leads` keeps all of its overhead runs while the first interim analysis is ahead: it may be alone.
        """
        ends = begun + math.ceil((self._runs - begun) / lanes)
        first = self._interim if leads else None
        interim = math.ceil((first - begun) / lanes) if first and first > begun else None
        for key, asked in self._asked.items():
            self.counts[key] = asked if interim else math.ceil(asked / lanes)
            have = len(self.known[key])
            self._due[key] = [begun + place for place in positions(0, ends - begun, have, self.counts[key], interim)]

    def pool(self, known: Mapping[str, Sequence[RunRecord]]) -> None:
        """Use the overhead runs of all lanes as those of this cluster."""
        self.known = {key: list(known.get(self.names[key], ())) for key in self.known}

    def add(self, key: OverheadKey, record: RunRecord) -> None:
        self.known[key].append(record)
        self.lacking.pop(key, None)

    def name(self, key: OverheadKey) -> str:
        """The name of a kind; empty for one without a startup overhead."""
        return self.names.get(key, "")

    def due(self, run: int) -> list[OverheadKey]:
        """Kinds whose overhead runs are due before a run (from 0), once per overhead run; removed from the schedule."""
        found = [key for key, places in self._due.items() for place in places if place <= run]
        self._due = {key: [place for place in places if place > run] for key, places in self._due.items()}
        return found

    def ahead(self, run: int) -> list[OverheadKey]:
        """Kinds whose overhead run falls due right before a run (from 0); they stay in the schedule."""
        return [key for key, places in self._due.items() for place in places if place == run]

    def has(self, key: OverheadKey) -> bool:
        """Whether a valid overhead run of this kind exists."""
        return bool(self.known[key])

    def skip(self, key: OverheadKey) -> None:
        """Remove a kind's first overhead run from the schedule, because it exists already."""
        self._due[key] = self._due[key][1:]
