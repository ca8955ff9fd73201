"""Net times and what is made of them, with the scatter of the floors taken off (docs/use/verdict-rules.md)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from whitewire import propagation, statistics
from whitewire.statistics import FEWEST_POOLED

KINDS = {"throughput_net": "rate", "compute_share": "share", "shuffle_share": "share"}
"""How a metric goes with its net time, where it is not that time itself; see propagation.of_net."""
JOBS = {"write_time_net": "write", "read_time_net": "read"}
"""The one job whose floor a metric is less of; of others it is all jobs of the run."""
OWN_FREEDOM = 5
"""Degrees of freedom from which on floors scatter as they themselves say: as many as six floors have."""
MOSTLY_FLOOR = 0.5
"""Share of the floor in the time, above which an interval is no narrower than it would be without the floor's."""


def flags(column: Iterable[Any]) -> list[bool]:
    """Truth values of a table's column, however pandas read them."""
    return [str(value).strip().lower() in ("true", "1", "1.0") for value in column]


class FloorErrors:
    """The table tidy/floors.csv: how far the median of each floor may be off, in so many draws from a seed."""

    def __init__(self, table: pd.DataFrame | None, seed: int, draws: int = propagation.DRAWS) -> None:
        self.seed, self.draws = seed, draws
        self._seconds: dict[str, dict[tuple[str, str], np.ndarray]] = {}
        self._workload: dict[tuple[str, str], str] = {}
        self._drawn: dict[tuple[str, str, str], np.ndarray | None] = {}
        self._lacking: dict[tuple[str, str], str] = {}
        if table is None or not len(table):
            return
        for (block, floor), rows in table.groupby(["block", "floor"], sort=False):
            if "why_invalid" in rows and not any(flags(rows["valid"])):
                self._lacking[str(block), str(floor)] = str(rows["why_invalid"].iloc[-1])
        table = table[flags(table["valid"])].assign(seconds=pd.to_numeric(table["seconds"], errors="coerce"))
        table = table[table["seconds"].notna()]
        for (block, floor), rows in table.groupby(["block", "floor"], sort=False):
            key = (str(block), str(floor))
            self._workload[key] = str(rows["workload"].iloc[0])
            whole = rows.groupby("number", sort=False)["seconds"].sum()
            self._seconds.setdefault("", {})[key] = whole.to_numpy(dtype=float)
            for job, own in rows.groupby("job", sort=False):
                self._seconds.setdefault(str(job), {})[key] = own["seconds"].to_numpy(dtype=float)

    def knows(self, block: str, floor: str) -> bool:
        return (block, floor) in self._workload

    def lacking(self, block: str, floor: str) -> str:
        """Why the last of the floors of a kind was not valid where none was; else empty."""
        return self._lacking.get((block, floor), "")

    def scatter(self, block: str, floor: str, job: str = "") -> tuple[float, int]:
        """Standard deviation of one floor in seconds and its degrees of freedom, pooled where it has few itself.

        Pooled over floors of the same workload, or over all where those are few too.
        """
        every = self._seconds.get(job, {})
        alike = [values for key, values in every.items() if self._workload[key] == self._workload[block, floor]]
        pooled = propagation.robust_sd(alike)
        if pooled[1] < OWN_FREEDOM:
            pooled = propagation.robust_sd(list(every.values()))
        return propagation.floor_scatter(every[block, floor], pooled, OWN_FREEDOM)

    def error(self, block: str, floor: str, job: str = "") -> np.ndarray | None:
        """Draws of how far the floor's median is off, in seconds: the same whoever asks. None where nobody can say."""
        key = (block, floor, job)
        if key not in self._drawn:
            self._drawn[key] = self._draw(*key)
        return self._drawn[key]

    def _draw(self, block: str, floor: str, job: str) -> np.ndarray | None:
        if job not in self._seconds or (block, floor) not in self._seconds[job]:
            return None
        sd, freedom = self.scatter(block, floor, job)
        if not freedom:
            return None
        rng = propagation.generator(self.seed, "floor", block, floor, job)
        error = sd * statistics.median_error(len(self._seconds[job][block, floor]))
        return error * rng.standard_t(freedom, self.draws)


@dataclass(frozen=True)
class Cell:
    """Medians of one cell as measured, and what is known of their scatter.

    `median` is that of the metric; `net` and `share` are its net time in seconds and the share of the floor in the
    whole time, `weights` the shares of its runs by (block, floor). NaN and empty for a metric without a floor. `spread`
    and `freedom` are those of evidence.Sample.
    """

    name: str
    metric: str
    base: str
    median: float
    n: int
    spread: float
    freedom: float
    net: float = math.nan
    share: float = math.nan
    weights: Mapping[tuple[str, str], float] | None = None


@dataclass(frozen=True)
class Drawn:
    """Draws of a cell's median; `lost` is the share of them without a net time, `problem` why there are none."""

    cell: Cell
    values: np.ndarray
    lost: float = 0.0
    problem: str = ""

    @property
    def mostly_floor(self) -> bool:
        """Whether the floor is so large a part of the time that it must not narrow an interval."""
        return self.cell.share > MOSTLY_FLOOR


def draw(cell: Cell, floors: FloorErrors, fewest: int = FEWEST_POOLED, settled: bool = False) -> Drawn:
    """A cell's median as a distribution: the scatter of its runs, at least `fewest`, and of its floors if it has any.

    `settled`: of its floors alone.

    A floor that several cells share has the same error in all of them.
    """
    none = np.array([])
    if cell.n < fewest or not cell.freedom > 0 or not math.isfinite(cell.spread):
        return Drawn(cell, none, problem="too few for an interval")
    width = propagation.widths(
        propagation.generator(floors.seed, "width", cell.name, cell.base), cell.freedom, floors.draws
    )
    rng = propagation.generator(floors.seed, "cell", cell.name, cell.base)
    error = statistics.median_error(cell.n) * width * rng.standard_normal(floors.draws) * (not settled)
    if not cell.weights:
        return Drawn(cell, cell.median * np.exp(cell.spread * error))
    off = np.zeros(floors.draws)
    for (block, floor), weight in cell.weights.items():
        drawn = floors.error(block, floor, JOBS.get(cell.metric, ""))
        if drawn is None:
            return Drawn(cell, none, problem=f"a single floor of {cell.name}, whose scatter nobody knows")
        off += weight * drawn
    kind = KINDS.get(cell.metric, "time")
    runs_part = 0.0 if kind == "share" else cell.spread
    gone = float(np.mean(propagation.lost(cell.net, runs_part, error, off)))
    return Drawn(cell, propagation.of_net(cell.median, cell.spread, cell.net, error, off, kind), gone)


def floor_error(weights: Mapping[tuple[str, str], float], floors: FloorErrors) -> np.ndarray | None:
    """Draws of how far the floor of a cell is off, in seconds."""
    off = np.zeros(floors.draws)
    for key, weight in weights.items():
        drawn = floors.error(*key)
        if drawn is None:
            return None
        off += weight * drawn
    return off if weights else None
