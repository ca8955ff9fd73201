"""Outlook of an experiment in `whitewire plan`: bytes and time of a run, and whether the processors keep up."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from whitewire.analysis.guards import NET_SHARE
from whitewire.description.capabilities import capabilities_of
from whitewire.description.paper import Paper
from whitewire.design.cautions import cautions_of_experiment
from whitewire.design.durations import busy_cores, expected_seconds, overhead_seconds
from whitewire.design.rows import levels_of
from whitewire.design.scale import scale_of
from whitewire.factors import on_datanodes, parameter
from whitewire.levels import level_in_words
from whitewire.measure.groups import unasked_waves
from whitewire.records.run import DesignRow
from whitewire.units import gbit_per_s
from whitewire.workloads import workload_of

MOST_BUSY = 0.65
"""Share of the processors beyond which runs lack them (`limits.cpu_late_ms`)."""
STEPS_OF_K = (2, 3, 5, 10, 15, 20, 30, 40, 60, 80, 100, 150, 200, 300, 400, 600, 800, 1000, 1500, 2000, 3000)
TIMES_THE_BYTES, MOST_STEPS = (1, 2, 4, 8), 6
"""Multiples of the bytes, and number of larger k, that a proposal tries."""


def outlook_lines(paper: Paper, rows: Sequence[DesignRow], testbed: Mapping[str, Any]) -> Iterator[str]:
    """For each experiment, the bytes that its runs move, and its slowest and fastest cell. Controls are like their
    origins."""
    of: dict[str, dict[str, DesignRow]] = {}
    for row in rows:
        if paper.origin(row["experiment"]) == row["experiment"]:
            of.setdefault(row["experiment"], {}).setdefault(_levels(levels_of(paper, row)), row)
    for name, cells in of.items():
        seconds = {cell: expected_seconds(paper, row, testbed) for cell, row in cells.items()}
        slowest, fastest = max(seconds, key=seconds.__getitem__), min(seconds, key=seconds.__getitem__)
        yield f"  {name}: {_moves(paper, cells[fastest], testbed)}"
        for cell in dict.fromkeys([slowest, fastest]):
            yield f"    {cell or 'its only cell'}: {_pace(paper, cells[cell], testbed, seconds[cell])}"
        if capabilities_of(testbed).scales_rates:
            yield from _proposal(paper, [cells[slowest], cells[fastest]], testbed)
            yield from (f"    caution: {words}" for words in cautions_of_experiment(paper, name))
        yield from (f"    caution: {words}" for words in unasked_waves(paper, name, testbed))


def _proposal(paper: Paper, rows: Sequence[DesignRow], testbed: Mapping[str, Any]) -> Iterator[str]:
    """Proposals for an experiment whose slowest or fastest cell has an unsuitable k or too few bytes: the nearest
    values that suit."""
    experiment, effort = rows[0]["experiment"], rows[0]["effort"]
    spec = paper.experiments[experiment]
    if "k" in spec["factors"] or all(_does(paper, row, testbed) for row in rows):
        return
    own = spec.get("scale", paper.raw["scale"])
    larger = [k for k in STEPS_OF_K if k > own["k"]][:MOST_STEPS]
    for k, times in itertools.product((own["k"], *larger), TIMES_THE_BYTES):  # a small k is most like the paper
        other = _at_scale(paper, experiment, k, times)
        if all(_does(other, row, testbed) for row in rows):
            size = _mb(_scaled(other, rows[0], testbed)[0].file_bytes)
            longest = max(expected_seconds(other, row, testbed) for row in rows)
            yield f"    proposal: k {k} and {size} of each file at {effort} effort, at most {longest:.0f} s a run"
            return


def _does(paper: Paper, row: DesignRow, testbed: Mapping[str, Any]) -> bool:
    """Whether a run uses few enough processors, and has enough time beyond its jobs' startup overhead."""
    seconds, (scale, files) = expected_seconds(paper, row, testbed), _scaled(paper, row, testbed)
    workload, size = workload_of(row["workload"]), files * scale.file_bytes
    busy = busy_cores(workload.on_yarn, size, seconds)
    if _too_busy(paper, row, busy):
        return False
    overhead = overhead_seconds(row)
    return not (workload.has_overhead and size and seconds - overhead < NET_SHARE * overhead)


def _too_busy(paper: Paper, row: DesignRow, busy: float) -> bool:
    """Whether a run that keeps `busy` processors busy would be invalid."""
    return busy > MOST_BUSY * (os.cpu_count() or 1) and paper.experiments[row["experiment"]].get("cpu") != "report"


def _at_scale(paper: Paper, experiment: str, k: int, times: int) -> Paper:
    """The paper with another k for an experiment, and a multiple of its bytes."""

    def scaled(part: Mapping[str, Any]) -> dict[str, Any]:
        own = part["scale"]
        more = {key: {effort: times * size for effort, size in own[key].items()}
                for key in ("bytes", "file_blocks") if key in own}  # fmt: skip
        return {**part, "scale": {**own, "k": k, **more}}

    if "scale" not in paper.experiments[experiment]:
        return type(paper)(scaled(paper.raw), paper.path)
    listed = [scaled(each) if each["id"] == experiment else each for each in paper.raw["experiments"]]
    return type(paper)({**paper.raw, "experiments": listed}, paper.path)


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


def _pace(paper: Paper, row: DesignRow, testbed: Mapping[str, Any], seconds: float) -> str:
    levels, (scale, files) = levels_of(paper, row), _scaled(paper, row, testbed)
    parameters = paper.parameters(row["experiment"], levels)
    workload = workload_of(row["workload"])
    size = files * scale.file_bytes
    copies, outputs = parameter(parameters, "replication"), parameter(parameters, "output_replication")
    workers = paper.roles(row["experiment"], levels).get("datanode", 1)
    traffic = workload.stands_for(parameters)
    crossings = traffic.crossings(1 - 1 / workers, copies, outputs, workers) if workload.on_yarn else copies
    crossings -= on_datanodes(parameters)
    if paper.store(row["experiment"], levels)["kind"] == "cephfs":
        crossings = traffic.crossings_of_mount
    link = gbit_per_s(parameters["fabric"]) * 125 / scale.k
    said = (
        f"about {seconds:.0f} s a run; {size * crossings / seconds / 1e6:.3g} MB/s on all links of {link:.3g} MB/s each"
    )
    if not capabilities_of(testbed).shares_processors:
        return said
    busy = busy_cores(workload.on_yarn, size, seconds)
    said += f"; about {busy:.1f} of {os.cpu_count()} processors busy"
    if _too_busy(paper, row, busy):
        said += ": too many, take a larger k" if not workload.on_yarn else ": too many, take a larger k or fewer bytes"
    overhead = overhead_seconds(row)
    if workload.has_overhead and size and seconds - overhead < NET_SHARE * overhead:
        beyond = f"only {seconds - overhead:.1f} s beyond the jobs' startup overhead of about {overhead:.0f} s"
        said += f"; {beyond}: take more bytes or a larger k"
    return said


def _scaled(paper: Paper, row: DesignRow, testbed: Mapping[str, Any]) -> tuple[Any, int]:
    """A run's scale, and how many files of that size it moves."""
    levels, effort = levels_of(paper, row), row["effort"]
    parameters = paper.parameters(row["experiment"], levels)
    files = workload_of(row["workload"]).files(parameters)
    return scale_of(paper, row["experiment"], effort, levels, testbed), files


def _levels(levels: Mapping[str, Any]) -> str:
    return ", ".join(f"{factor} {level_in_words(factor, level)}" for factor, level in levels.items())


def _mb(size: float) -> str:
    return f"{size / 1e6:.3g} MB"
