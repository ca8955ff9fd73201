"""The floors of jobs: before which runs of a cluster they are measured, what they come to, when more are needed.

A floor is what a job takes on almost no data. Pure functions, and the list of one cluster's floors.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence

from whitewire.measure.run import FloorKey
from whitewire.records.floor import seconds_of, standard_error, typical
from whitewire.records.run import RunRecord

FLOOR_RUNS, FURTHER, UNJUDGED = 4, 4, 2
"""Floors of each kind of job on a cluster, and how many more there may be at its end; so many of a kind on whose net
times no verdict rests, and one at smoke effort."""
EARLY = 3
"""Floors of a judged kind before the first interim analysis, which needs at least two to know how they scatter."""
SCATTER_SHARE = 0.1
"""Largest standard error of a floor's median, as a share of the shortest runs' net time, that needs no more floors."""


def positions(first: int, runs: int, have: int, count: int, look: int | None = None) -> list[int]:
    """Before which of `runs` runs (from 0; `runs` is after the last) floors are due, `have` of `count` being there.

    `look` is the first run after the first interim analysis. EARLY floors are spread from the first run that needs the
    floor (`first`) to the last one before `look`, the others from there to the end; without `look`, all evenly.
    """
    if look is None or not first < look <= runs or count <= EARLY:
        early, look = 1, first
    else:
        early = EARLY
    before = [first + round((look - 1 - first) * place / (early - 1)) for place in range(1, early)]
    after = [look + round((runs - look) * place / (count - early)) for place in range(1, count - early + 1)]
    return [first, *before, *after][have:]


def too_wide(floors: Sequence[RunRecord], runs: Sequence[RunRecord]) -> bool:
    """Whether floors scatter too much for what is left of the shortest of their runs, job by job."""
    if not floors:
        return False
    known = typical(floors)
    for job in seconds_of(floors[0]):
        cells: dict[str, list[float]] = {}
        for run in runs:
            if job in (seconds := seconds_of(run)):
                cell = json.dumps([run["experiment"], run["factors"]], sort_keys=True, default=str)
                cells.setdefault(cell, []).append(seconds[job] - known[job])
        if cells:
            shortest = min(statistics.median(net) for net in cells.values())
            if standard_error([seconds_of(floor)[job] for floor in floors]) > SCATTER_SHARE * max(0.0, shortest):
                return True
    return False


class Floors:
    """Those of one cluster, by kind of job: `known` are the valid ones, `names` their text.

    `first` says which run (from 0) of `runs` is the first of each kind, `counts` how many floors the kind gets, `look`
    which run is the first after the first interim analysis. `known` may have some of an interrupted measurement.
    """

    def __init__(self, first: Mapping[FloorKey, int], names: Mapping[FloorKey, str], runs: int,
                 counts: Mapping[FloorKey, int], known: Mapping[str, Sequence[RunRecord]], look: int | None = None,
                 ) -> None:  # fmt: skip
        self.names, self.counts = dict(names), dict(counts)
        self.known: dict[FloorKey, list[RunRecord]] = {key: list(known.get(names[key], ())) for key in first}
        self._asked, self._runs, self._look = dict(counts), runs, look
        self.lacking: dict[FloorKey, str] = {}
        """Kinds of which no floor could be made so far, and why."""
        self._due = {key: positions(at, runs, len(self.known[key]), counts[key], look)
                     for key, at in first.items()}  # fmt: skip

    def further(self, key: FloorKey) -> int:
        """How many more there may be of a kind, where those there are scatter too much."""
        most = FLOOR_RUNS + FURTHER if self._asked[key] == FLOOR_RUNS else 0
        return max(0, most - len(self.known[key]))

    def divide(self, lanes: int, begun: int, leads: bool = True) -> None:
        """From now on, `begun` runs being made, each of so many lanes makes its part of the runs and of the floors.

        The lane that `leads` has all of its floors where the first interim analysis is ahead: it may be the only one.
        """
        ends = begun + math.ceil((self._runs - begun) / lanes)
        look = math.ceil((self._look - begun) / lanes) if leads and self._look and self._look > begun else None
        for key, asked in self._asked.items():
            self.counts[key] = asked if look else math.ceil(asked / lanes)
            have = len(self.known[key])
            self._due[key] = [begun + place for place in positions(0, ends - begun, have, self.counts[key], look)]

    def pool(self, known: Mapping[str, Sequence[RunRecord]]) -> None:
        """Take the floors of all lanes for those of this cluster."""
        self.known = {key: list(known.get(self.names[key], ())) for key in self.known}

    def add(self, key: FloorKey, record: RunRecord) -> None:
        self.known[key].append(record)
        self.lacking.pop(key, None)

    def name(self, key: FloorKey) -> str:
        """Empty for a run without a floor."""
        return self.names.get(key, "")

    def due(self, run: int) -> list[FloorKey]:
        """Kinds whose floor is due now, before a run (from 0), as often as it is; they are due no more."""
        found = [key for key, places in self._due.items() for place in places if place <= run]
        self._due = {key: [place for place in places if place > run] for key, places in self._due.items()}
        return found

    def ahead(self, run: int) -> list[FloorKey]:
        """Kinds whose floor falls due right before a run (from 0), which stay due."""
        return [key for key, places in self._due.items() for place in places if place == run]

    def has(self, key: FloorKey) -> bool:
        """Whether a floor of this kind is there or was made ahead of its turn."""
        return bool(self.known[key])

    def skip(self, key: FloorKey) -> None:
        """One that was due first is there already."""
        self._due[key] = self._due[key][1:]
