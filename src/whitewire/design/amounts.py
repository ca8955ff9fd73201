"""Checks the amounts of data of a paper's runs: whole blocks, and no more than in the paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whitewire.description.experiment_checks import CHECKSUM
from whitewire.description.faults import fault
from whitewire.description.paper import Paper, cells_of
from whitewire.design.scale import scale_of
from whitewire.text import canonical
from whitewire.workloads import workload_of

_ROUNDING = 1e-6
"""Share by which bytes times k may exceed the paper's size, since the size of a scaled file is rounded to bytes."""


def check_amounts(paper: Paper, testbed: Mapping[str, Any]) -> None:
    """Raise UserError for the first cell with blocks or files that no run could have."""
    if not paper.experiments:
        return
    granule = paper.raw["scale"]["block_granule_bytes"]
    if granule % CHECKSUM:
        raise fault(paper, "scale.block_granule_bytes", granule, f"a multiple of {CHECKSUM}: HDFS's blocks are")
    for index, experiment in enumerate(paper.raw["experiments"]):
        for effort in experiment.get("efforts", paper.raw["replicates"]):
            seen = set()
            for levels in cells_of(experiment):
                shape = canonical([paper.parameters(experiment["id"], levels), levels.get("k"), levels.get("splits")])
                if shape not in seen:
                    seen.add(shape)
                    _check_cell(paper, f"experiments[{index}]", experiment, effort, levels, testbed)


def _check_cell(paper: Paper, key: str, experiment: Mapping[str, Any], effort: str, levels: Mapping[str, Any],
                testbed: Mapping[str, Any]) -> None:  # fmt: skip
    name = experiment["id"]
    parameters, workload = paper.parameters(name, levels), workload_of(experiment["workload"])
    whole = workload.whole_bytes(parameters)
    if not whole:
        return
    scale = scale_of(paper, name, effort, levels, testbed)
    cell = " ".join([name, *map(str, levels.values())])
    if scale.block_bytes < 1:
        block = parameters["block_size_bytes"]
        expected = f"at least k times scale.block_granule_bytes, {scale.k * paper.raw['scale']['block_granule_bytes']}"
        raise fault(paper, f"{key}.parameters.block_size_bytes", block, f"{expected} for a block of {cell}")
    if scale.data_fraction <= 1 + _ROUNDING or workload.of_suite:  # a suite's program has its own minimum size
        return
    own, size = "scale" in experiment, workload.size
    most = whole / scale.k
    if own:
        expected = f"at most {most:.0f} for {cell}: times k, {scale.k}, it is more than {size}, {whole:.0f}"
        raise fault(paper, f"{key}.scale.bytes.{effort}", experiment["scale"]["bytes"][effort], expected)
    blocks = scale.file_bytes // scale.block_bytes
    place = (
        f"{key}.parameters.file_blocks" if "file_blocks" in experiment["parameters"]
        else f"{key}.factors.file_blocks" if "file_blocks" in levels
        else f"{key}.file_blocks.{effort}" if "file_blocks" in experiment
        else f"scale.file_blocks.{effort}"
    )  # fmt: skip
    expected = f"at most {most // scale.block_bytes:.0f} for {cell}: the number of whole blocks of {size}, {whole:.0f}"
    raise fault(paper, place, blocks, expected)
