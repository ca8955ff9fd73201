"""One run as the runner sees it: its row, levels, parameters, scale; and the startup overhead of jobs of its kind."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from subprocess import TimeoutExpired
from typing import Any

from whitewire.design.drive import Drive
from whitewire.design.durations import overhead_kind
from whitewire.design.scale import Scale
from whitewire.errors import OF_VALUES, RunFailed
from whitewire.levels import level_in_words
from whitewire.records.run import DesignRow, RunRecord
from whitewire.testbed.base import CommandFailed, ProcessDied
from whitewire.workloads import workload_of
from whitewire.workloads.base import Workload
from whitewire.workloads.terasort import ROW_BYTES

TINY_ROWS = 50
"""Rows per map task of a job that is run for its startup overhead."""

OF_HOSTS = (ProcessDied, CommandFailed, TimeoutExpired, OSError)
"""Errors of hosts and their services (TimeoutError is an OSError)."""
FAILURES = (*OF_HOSTS, RunFailed, RuntimeError, *OF_VALUES)
"""Errors that make a run invalid but do not end the block (Unreadable is a ValueError)."""

OverheadKey = tuple[Hashable, ...]
"""What jobs of the same startup overhead have in common; see overhead_key()."""


@dataclass(frozen=True)
class Run:
    """The parts of a run: its design row, the levels with their types, parameters at full scale, its scale."""

    row: DesignRow
    levels: Mapping[str, Any]
    parameters: Mapping[str, Any]
    settings: Mapping[str, Any]
    """Settings of its clients and jobs."""
    scale: Scale
    expected_seconds: float
    store: Mapping[str, Any] = field(default_factory=lambda: {"kind": "hdfs"})
    cpu: str = "limit"
    """What follows if processors limit the run: it is invalid ("limit"), or it is only reported ("report")."""
    drive: Drive = field(default_factory=Drive.none)
    daemon_settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the daemons, which start with them."""
    workers: int | None = None
    """How many workers of a larger cluster take part; None: all."""

    @property
    def workload(self) -> Workload:
        return workload_of(self.row["workload"])

    @property
    def scaled(self) -> bool:
        """Whether the run is smaller than at full scale."""
        return self.scale.k != 1 or self.scale.data_fraction != 1

    @property
    def at_work(self) -> int | None:
        """How many of the cluster's workers run its tasks; None: all."""
        return self.parameters.get("task_workers", self.workers)

    @property
    def timeout(self) -> float:
        return 60 + 8 * self.expected_seconds

    @property
    def record(self) -> RunRecord:
        """The record's part from the design's row."""
        row = self.row
        return {
            "run_id": row["run_id"],
            "block": row["block"],
            "order": row["order"],
            "experiment": row["experiment"],
            "workload": row["workload"],
            "replicate": row["replicate"],
            "seed": row["seed"],
            "factors": dict(self.levels),
        }

    @property
    def title(self) -> str:
        levels = " ".join(f"{name}={level_in_words(name, level)}" for name, level in self.levels.items())
        return f"{self.row['experiment']} {levels} (replicate {self.row['replicate']})"


def overhead_key(run: Run) -> OverheadKey:
    """The kind of a run's startup overhead."""
    return overhead_kind(run.workload, run.parameters, run.store, run.scale, run.workers)


def tiny(run: Run) -> Run:
    """The same run on almost no data: what remains of its time is its startup overhead."""
    blocks = math.ceil(run.scale.file_bytes / run.scale.block_bytes)
    block = ROW_BYTES * TINY_ROWS // 512 * 512 + 512
    return replace(run, scale=replace(run.scale, block_bytes=block, file_bytes=block * blocks))
