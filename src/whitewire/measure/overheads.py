"""Startup overheads: before which runs of a cluster they are measured, what they come to, when more are needed.

A startup overhead is what a job takes on almost no data. Pure functions, and the list of one cluster's overhead runs.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence

from whitewire.measure.run import OverheadKey
from whitewire.records.overhead import seconds_of, standard_error, typical
from whitewire.records.run import RunRecord

OVERHEAD_RUNS, FURTHER, UNJUDGED = 4, 4, 2
"""Overhead runs of each kind of job on a cluster, how many more there may be at its end, and how many there are of a
kind on whose net times no verdict rests. At smoke effort there is one."""
EARLY = 3
"""Overhead runs of a judged kind before the first interim analysis, which needs two at least to know their scatter."""
SCATTER_SHARE = 0.1
"""Largest standard error of an overhead's median, as a share of the shortest runs' net time, without further runs."""


def positions(first: int, runs: int, have: int, count: int, interim: int | None = None) -> list[int]:
    """Before which of `runs` runs (from 0; `runs`: after the last) overhead runs are due; `have` of `count` are there.

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
    """Whether overhead runs scatter too much for what is left of the shortest of their runs, job by job."""
    if not overheads:
        return False
    known = typical(overheads)
    for job in seconds_of(overheads[0]):
        cells: dict[str, list[float]] = {}
        for run in runs:
            if job in (seconds := seconds_of(run)):
                cell = json.dumps([run["experiment"], run["factors"]], sort_keys=True, default=str)
                cells.setdefault(cell, []).append(seconds[job] - known[job])
        if cells:
            shortest = min(statistics.median(net) for net in cells.values())
            error = standard_error([seconds_of(each)[job] for each in overheads])
            if error > SCATTER_SHARE * max(0.0, shortest):
                return True
    return False


class Overheads:
    """Those of one cluster, by kind of job: `known` are the valid ones, `names` their text.

    `first` says which run (from 0) of `runs` is the first of each kind, `counts` how many overhead runs the kind gets,
    `interim` which run is the first after the first interim analysis. `known` may have some of an interrupted
    measurement.
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
        """How many more there may be of a kind, where those there are scatter too much."""
        most = OVERHEAD_RUNS + FURTHER if self._asked[key] == OVERHEAD_RUNS else 0
        return max(0, most - len(self.known[key]))

    def divide(self, lanes: int, begun: int, leads: bool = True) -> None:
        """From now on, `begun` runs being made, each of so many lanes makes its part of the runs and overhead runs.

        The lane that `leads` has all of its overhead runs where the first interim analysis is ahead: it may be alone.
        """
        ends = begun + math.ceil((self._runs - begun) / lanes)
        first = self._interim if leads else None
        interim = math.ceil((first - begun) / lanes) if first and first > begun else None
        for key, asked in self._asked.items():
            self.counts[key] = asked if interim else math.ceil(asked / lanes)
            have = len(self.known[key])
            self._due[key] = [begun + place for place in positions(0, ends - begun, have, self.counts[key], interim)]

    def pool(self, known: Mapping[str, Sequence[RunRecord]]) -> None:
        """Take the overhead runs of all lanes for those of this cluster."""
        self.known = {key: list(known.get(self.names[key], ())) for key in self.known}

    def add(self, key: OverheadKey, record: RunRecord) -> None:
        self.known[key].append(record)
        self.lacking.pop(key, None)

    def name(self, key: OverheadKey) -> str:
        """Empty for a run without a startup overhead."""
        return self.names.get(key, "")

    def due(self, run: int) -> list[OverheadKey]:
        """Kinds whose overhead run is due now, before a run (from 0), as often as it is; they are due no more."""
        found = [key for key, places in self._due.items() for place in places if place <= run]
        self._due = {key: [place for place in places if place > run] for key, places in self._due.items()}
        return found

    def ahead(self, run: int) -> list[OverheadKey]:
        """Kinds whose overhead run falls due right before a run (from 0), which stay due."""
        return [key for key, places in self._due.items() for place in places if place == run]

    def has(self, key: OverheadKey) -> bool:
        """Whether an overhead run of this kind is there or was made ahead of its turn."""
        return bool(self.known[key])

    def skip(self, key: OverheadKey) -> None:
        """One that was due first is there already."""
        self._due[key] = self._due[key][1:]
