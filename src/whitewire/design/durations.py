"""Expected durations of runs, from the max-min model and startup overheads; for progress and time limits."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from whitewire.description.capabilities import capabilities_of
from whitewire.description.paper import OSTS_PER_OSS, Paper, hardware_of
from whitewire.description.transports import transport_of
from whitewire.design.drive import Drive
from whitewire.design.rows import levels_of
from whitewire.design.scale import Scale, scale_of
from whitewire.factors import on_datanodes, parameter
from whitewire.models import maxmin
from whitewire.models.maxmin import PutCell
from whitewire.records.run import DesignRow
from whitewire.text import canonical
from whitewire.units import gbit_per_s
from whitewire.workloads import workload_of
from whitewire.workloads.base import Workload

OVERHEAD_S = 0.8
"""Seconds that a run takes in addition to moving its data (start of clients, fsck)."""
_PUTS, _JOBS = (0.3, 80.0), (4.0, 45.0)
"""(CPU seconds of a run without data, CPU seconds per user gigabyte), for clients' puts and for jobs. From measured
runs, with which a test compares them."""
IDLE_CORES = 0.35
"""Cores that idle services use."""

SMALL_MEMORY = 0.05
"""Share of a DataNode's data below which memory is ignored."""


def busy_cores(on_yarn: bool, user_bytes: float, seconds: float) -> float:
    """Cores that a run keeps busy, on average, on an emulated testbed."""
    own, per_gb = _JOBS if on_yarn else _PUTS
    return IDLE_CORES + (own + per_gb * user_bytes / 1e9) / seconds


def model_cell(paper: Paper, experiment: str, levels: Mapping[str, Any], link: float, file_bytes: float,
               block_bytes: float | None = None) -> PutCell:  # fmt: skip
    """A run as a cell of the max-min model: link rate in Gbit/s, sizes of files and blocks in bytes at full scale.

    Without `block_bytes` blocks have the paper's size. For a part of the paper's file, memory has the same share.
    """
    parameters = paper.parameters(experiment, levels)
    spec = paper.experiments[experiment]
    drive = hardware_of(spec, levels)
    data_fraction = file_bytes / workload_of(spec["workload"]).whole_bytes(parameters)
    memory = Drive.scaled(drive, 1, "", data_fraction) if drive else Drive.none()
    return PutCell(
        link,
        int(parameter(parameters, "clients")),
        int(parameter(parameters, "puts_per_client")),
        float(file_bytes),
        float(block_bytes or parameters["block_size_bytes"]),
        int(parameters["replication"]),
        int(paper.roles(experiment, levels).get("datanode", 11)),
        int(drive.get("count", 0)),
        float(drive.get("rate_mb_per_s", 110)),
        float(drive.get("access_time_ms", 0)),
        float(drive.get("writeback_chunk_bytes", 1)),
        float(drive.get("cache_bytes", 0)),
        writer_mb_per_s=float(drive.get("writer_mb_per_s", maxmin.UNLIMITED)),
        local=on_datanodes(parameters),
        background_bytes=memory.background,
        limit_bytes=memory.limit,
    )


@lru_cache(maxsize=1024)
def _seconds(cell: PutCell) -> float:
    """Median completion time in seconds, without a small memory, which costs many events for little effect."""
    if cell.limit_bytes < SMALL_MEMORY * cell.node_bytes:
        cell = replace(cell, limit_bytes=0.0)
    return float(np.median(maxmin.simulate([cell], 3, 1)[0].completion_time))


def expected_seconds(paper: Paper, row: DesignRow, testbed: Mapping[str, Any]) -> float:
    """Expected seconds of a run; for progress, time left and time limits."""
    levels, effort = levels_of(paper, row), row["effort"]
    scale = scale_of(paper, row["experiment"], effort, levels, testbed)
    parameters = paper.parameters(row["experiment"], levels)
    workload = workload_of(row["workload"])
    if workload.on_yarn:
        return _job_seconds(paper, row, levels, scale, parameters, testbed)
    size = scale.file_bytes * scale.k
    link = gbit_per_s(parameters.get("load_fabric", parameters["fabric"]))
    put = _seconds(model_cell(paper, row["experiment"], levels, link, size, scale.block_bytes * scale.k))
    return put * _slowed(paper, row, levels, parameters, testbed) + OVERHEAD_S + workload.startup_s


def _job_seconds(paper: Paper, row: DesignRow, levels: Mapping[str, Any], scale: Scale,
                 parameters: Mapping[str, Any], testbed: Mapping[str, Any]) -> float:  # fmt: skip
    """Expected seconds of a job: startup overhead, and the longer of the times that a worker's link and drives need.

    On a shared segment, the time that the segment needs for all bytes counts for the link.
    """
    experiment = paper.experiments[row["experiment"]]
    workers = paper.roles(row["experiment"], levels).get("datanode", 1)
    copies, outputs = parameter(parameters, "replication"), parameter(parameters, "output_replication")
    own = workload_of(row["workload"])
    workload = own.stands_for(parameters)
    size = scale.file_bytes * own.files(parameters)
    crossings = workload.crossings(1 - 1 / workers, copies, outputs, workers)
    drives = workers
    if paper.store(row["experiment"], levels)["kind"] == "cephfs":
        workers, crossings = experiment["roles"].get("oss", 1), workload.crossings_of_mount
        drives = workers * OSTS_PER_OSS
    link = gbit_per_s(parameters["fabric"]) * 1e9 / 8 / scale.k
    shared = testbed.get("fabrics", {}).get(parameters["fabric"], {}).get("shared", False)
    seconds = size * (crossings if shared else on_busiest(crossings, 1, workers, parameters)) / link
    if drive := hardware_of(experiment, levels):
        slower = min(drive["rate_mb_per_s"], drive.get("read_rate_mb_per_s", math.inf))
        rate = drive["count"] * slower * 1e6 / scale.k
        passes = workload.passes + workload.outputs(copies, outputs, drives)
        seconds = max(seconds, size * on_busiest(passes, 1 + workload.passes, drives, parameters) / rate)
        if "writer_mb_per_s" in drive and own.written(parameters):
            files, at_work = own.files(parameters), parameters.get("task_workers", workers)
            waves = math.ceil(files / (at_work * parameters.get("tasks_per_worker", files)))
            seconds = max(seconds, waves * scale.file_bytes * scale.k / (drive["writer_mb_per_s"] * 1e6))
    return own.startup_s + OVERHEAD_S + seconds * _slowed(paper, row, levels, parameters, testbed)


def on_busiest(times: float, own: float, workers: int, parameters: Mapping[str, Any]) -> float:
    """Bytes that the busiest worker moves, per byte of a job that is moved `times` over.

    `own` of these times those workers do that run tasks or clients, which may be some alone: what tasks read, the first
    copy of what they write, and what they send on. The other times all do alike.
    """
    own = min(times, own)
    return own / (chosen_workers(parameters) or workers) + (times - own) / workers


def chosen_workers(parameters: Mapping[str, Any]) -> int | None:
    """Number of the workers that alone run tasks, or clients of their own; None: tasks run on all, and no clients."""
    return parameters["clients"] if on_datanodes(parameters) else parameters.get("task_workers")


def _slowed(paper: Paper, row: DesignRow, levels: Mapping[str, Any], parameters: Mapping[str, Any],
            testbed: Mapping[str, Any]) -> float:  # fmt: skip
    """Largest factor by which slow hosts, or its racks' over-subscribed uplinks, prolong a run."""
    fabric = testbed.get("fabrics", {}).get(parameters["fabric"], {})
    uplinks, racks = 1.0, fabric.get("racks")
    if racks:
        workers = math.ceil(paper.roles(row["experiment"], levels).get("datanode", 1) / racks["count"])
        uplinks = racks.get("oversubscription") or workers * fabric["rate_mbit_per_s"] / racks["uplink_mbit_per_s"]
        uplinks /= 1 - parameters.get("cross_traffic", 0)
    return max(1.0, uplinks, *(1 / parameters.get(name, 1) for name in ("slow_host", "slow_drives")))


def overhead_kind(workload: Workload, parameters: Mapping[str, Any], store: Mapping[str, Any], scale: Scale,
               workers: int | None) -> tuple[Hashable, ...]:  # fmt: skip
    """The key of jobs with the same startup overhead: kind, file system, tasks, k, number of workers that run tasks if
    not all.

    k is included because it slows links down, although little more than calls crosses them in an overhead run.
    """
    maps, reduces = parameter(parameters, "maps"), parameter(parameters, "reduces")
    workers = parameters.get("task_workers", workers)
    tasks = maps, math.ceil(scale.file_bytes / scale.block_bytes), reduces
    place = " ".join([store["kind"], *filter(None, [store.get("erasure_coding")])])
    return workload.kind(parameters), place, *tasks, f"k={scale.k:g}", *(() if workers is None else (workers,))


def overhead_seconds(row: DesignRow) -> float:
    """Expected startup overhead of a run's jobs, in seconds."""
    return workload_of(row["workload"]).startup_s + OVERHEAD_S


def all_overheads_seconds(paper: Paper, rows: Iterable[DesignRow], testbed: Mapping[str, Any], count: int) -> float:
    """Seconds for about `count` overhead runs (one at smoke effort) of each kind of job in each block.

    Experiments share the overhead runs of a kind, as controls share those of their cells. A site's fabrics and
    transports have separate services, and therefore separate overhead runs.
    """
    kinds: dict[str, float] = {}
    for row in rows:
        if workload_of(row["workload"]).has_overhead:
            levels, effort = levels_of(paper, row), row["effort"]
            parameters = paper.parameters(row["experiment"], levels)
            scale = scale_of(paper, row["experiment"], effort, levels, testbed)
            store = paper.store(row["experiment"], levels)
            fabric = parameters["fabric"] if capabilities_of(testbed).addresses_by_fabric else ""
            apart = (row["block"], fabric, transport_of(testbed, parameters).name)
            kind = overhead_kind(workload_of(row["workload"]), parameters, store, scale, levels.get("nodes"))
            kinds[canonical([*apart, *kind])] = (1 if effort == "smoke" else count) * overhead_seconds(row)
    return sum(kinds.values())
