"""What `whitewire plan` says of an experiment: what a run moves and how long, and whether the processors keep up."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from whitewire import workloads
from whitewire.analysis.guards import NET_SHARE
from whitewire.description.capabilities import capabilities_of
from whitewire.description.paper import Paper
from whitewire.design import cautions
from whitewire.design.durations import busy_cores, expected_seconds, floor_seconds
from whitewire.design.rows import levels_of
from whitewire.design.scale import scale_of
from whitewire.factors import parameter
from whitewire.levels import said
from whitewire.records.run import DesignRow
from whitewire.units import gbit_per_s

MOST_BUSY = 0.65
"""Share of the processors beyond which runs lack them (`limits.cpu_late_ms`)."""


def lines(
    paper: Paper, rows: Sequence[DesignRow], testbed: Mapping[str, Any], cores: int | None = None
) -> Iterator[str]:
    """For each experiment what its runs move, and its slowest and fastest cell. Controls are like their origins."""
    of: dict[str, dict[str, DesignRow]] = {}
    for row in rows:
        if paper.origin(row["experiment"]) == row["experiment"]:
            of.setdefault(row["experiment"], {}).setdefault(_levels(levels_of(paper, row)), row)
    for name, cells in of.items():
        seconds = {cell: expected_seconds(paper, row, testbed) for cell, row in cells.items()}
        slowest, fastest = max(seconds, key=seconds.__getitem__), min(seconds, key=seconds.__getitem__)
        yield f"  {name}: {_moves(paper, cells[fastest], testbed)}"
        for cell in dict.fromkeys([slowest, fastest]):
            yield f"    {cell or 'its only cell'}: {_pace(paper, cells[cell], testbed, seconds[cell], cores)}"
        if capabilities_of(testbed).scales_rates:
            yield from (f"    caution: {words}" for words in cautions.of(paper, name))


def _moves(paper: Paper, row: DesignRow, testbed: Mapping[str, Any]) -> str:
    scale, files = _scaled(paper, row, testbed)
    if not scale.file_bytes:
        return f"{row['workload']}, moves no data"
    blocks = max(1, math.ceil(scale.file_bytes / scale.block_bytes))
    plural = "s" if files > 1 else ""
    return (
        f"{row['workload']}, k {scale.k}; a run moves {files} file{plural} of {_mb(scale.file_bytes)} in {blocks} "
        f"block{'s' if blocks > 1 else ''} of {_mb(scale.block_bytes)}, data fraction {scale.data_fraction:.3g}"
    )


def _pace(paper: Paper, row: DesignRow, testbed: Mapping[str, Any], seconds: float, cores: int | None) -> str:
    levels, (scale, files) = levels_of(paper, row), _scaled(paper, row, testbed)
    parameters = paper.parameters(row["experiment"], levels)
    workload = workloads.of(row["workload"])
    size = files * scale.file_bytes
    copies, outputs = parameter(parameters, "replication"), parameter(parameters, "output_replication")
    workers = paper.roles(row["experiment"], levels).get("datanode", 1)
    traffic = workload.stands_for(parameters)
    crossings = traffic.crossings(1 - 1 / workers, copies, outputs, workers) if workload.on_yarn else copies
    if paper.store(row["experiment"], levels)["kind"] == "cephfs":
        crossings = traffic.crossings_of_mount
    link = gbit_per_s(parameters["fabric"]) * 125 / scale.k
    said = (
        f"about {seconds:.0f} s a run; {size * crossings / seconds / 1e6:.3g} MB/s on all links of {link:.3g} MB/s each"
    )
    if not capabilities_of(testbed).shares_processors:
        return said
    cores = cores or os.cpu_count() or 1
    busy = busy_cores(workload.on_yarn, size, seconds)
    said += f"; about {busy:.1f} of {cores} processors busy"
    if busy > MOST_BUSY * cores and paper.experiments[row["experiment"]].get("cpu") != "report":
        said += ": too many, take a larger k" if not workload.on_yarn else ": too many, take a larger k or fewer bytes"
    floor = floor_seconds(row)
    if workload.has_floor and size and seconds - floor < NET_SHARE * floor:
        beyond = f"only {seconds - floor:.1f} s beyond the jobs' floor of about {floor:.0f} s"
        said += f"; {beyond}: take more bytes or a larger k"
    return said


def _scaled(paper: Paper, row: DesignRow, testbed: Mapping[str, Any]) -> tuple[Any, int]:
    """A run's scale, and how many files of that size it moves."""
    levels, effort = levels_of(paper, row), row["effort"]
    parameters = paper.parameters(row["experiment"], levels)
    files = workloads.of(row["workload"]).files(parameters)
    return scale_of(paper, row["experiment"], effort, levels, testbed), files


def _levels(levels: Mapping[str, Any]) -> str:
    return ", ".join(f"{factor} {said(factor, level)}" for factor, level in levels.items())


def _mb(size: float) -> str:
    return f"{size / 1e6:.3g} MB"
