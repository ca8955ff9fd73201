"""The scale of a run: k, data fraction, bytes of files, blocks and packets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whitewire.description.capabilities import capabilities_of
from whitewire.description.hadoop import BANDWIDTHS
from whitewire.description.paper import Paper, cells_of
from whitewire.factors.seen import PACKET_SIZE
from whitewire.paths import shown
from whitewire.records import run
from whitewire.records.run import ScaleRecord
from whitewire.tools.erasure_coding import Policy
from whitewire.workloads import workload_of

PACKET = 65536
"""Bytes in a packet of HDFS's write pipeline (Hadoop's default)."""


_SIZES = ("size_bytes", "file_size_bytes", "block_size_bytes", "profile", "program", "store")
"""Factors that may determine the size of a file or block."""


@dataclass(frozen=True)
class Scale:
    """The scale of one run: `k` divides rates and sizes; `data_fraction`: share of the file that is written.

    `block_bytes`, `file_bytes` and `packet_bytes` (of HDFS's write pipeline) are those of the scaled run.
    """

    k: int
    data_fraction: float
    block_bytes: int
    file_bytes: int
    packet_bytes: int = PACKET

    def settings(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """An experiment's settings of services at this scale: the packet size shrinks like the default one, and rates
        are divided by k."""
        return {name: self._setting(name, value) for name, value in wanted.items()}

    def _setting(self, name: str, value: Any) -> Any:
        if name == PACKET_SIZE:
            return value * self.packet_bytes // PACKET
        if name in BANDWIDTHS and value > 0:  # for Hadoop, 0 and less are no rate but none at all
            return max(1, round(value / self.k))
        return value

    @property
    def record(self) -> ScaleRecord:
        """The scale for a run's record."""
        return {"k": self.k, "data_fraction": self.data_fraction, "block_bytes": self.block_bytes,
                "file_bytes": self.file_bytes, "packet_bytes": self.packet_bytes}  # fmt: skip


def k_of(paper: Paper, experiment: str, levels: Mapping[str, Any], testbed: Mapping[str, Any]) -> int:
    """The divisor of a run's rates and sizes; see scale_of()."""
    if slowed := testbed.get("scale"):
        return slowed
    own = paper.experiments[paper.origin(experiment)].get("scale", paper.raw["scale"])
    return levels.get("k", own["k"]) if capabilities_of(testbed).scales_rates else 1


def of_another_k(paper: Paper, testbed: Mapping[str, Any], runs: Iterable[tuple[Path, run.RunRecord]]) -> list[str]:
    """A line for each valid run (folder, record) whose k is not the paper's."""
    lines = []
    for folder, record in runs:
        expected = k_of(paper, record["experiment"], record["factors"], testbed)
        if record["valid"] and (k := record["scale"]["k"]) != expected:
            lines.append(
                f"{shown(folder / 'run.json')}: scale.k: found {k:g}, expected {expected:g}, "
                f"that of scale candidate {paper.candidate}"
            )
    return lines


def scale_of(paper: Paper, experiment: str, effort: str, levels: Mapping[str, Any],
             testbed: Mapping[str, Any] | None = None) -> Scale:  # fmt: skip
    """The scale of a run on a testbed with this description (None: an emulated one).

    `scale` in the description of a site with slowed-down links is the k of all experiments. On real hardware k is 1,
    blocks have the paper's size, and a file has the share of its bytes in the site's `data_fraction` for the effort.
    """
    testbed = testbed or {"kind": "emulated"}
    slowed, k = testbed.get("scale"), k_of(paper, experiment, levels, testbed)
    experiment = paper.origin(experiment)  # a control has the shape of the cell whose name it has
    scale, spec = paper.raw["scale"], paper.experiments[experiment]
    parameters = paper.parameters(experiment, levels)
    own = spec.get("scale", scale)
    whole = workload_of(spec["workload"]).whole_bytes(parameters)
    most, all_blocks = _largest(paper, experiment)
    if not whole:  # a workload that moves no data
        return Scale(k, 1.0, int(parameters["block_size_bytes"]), 0)
    if not capabilities_of(testbed).scales_rates and not slowed:
        return _of_a_site(whole, testbed.get("data_fraction", {}).get(effort, 1.0), parameters, all_blocks)
    splits, full = levels.get("splits", own.get("splits", 1)), whole / k
    share = own["bytes"][effort] / splits / parameters["block_size_bytes"] if "scale" in spec else 1 / k
    granule = _granule(spec, scale["block_granule_bytes"], share)
    packet = int(levels.get("packet_bytes", {**scale, **spec}.get("packet_bytes", PACKET)))
    if "scale" in spec:
        # The given size is that of the largest cell; others have bytes, and sizes of blocks, in proportion.
        size = int(own["bytes"][effort])
        block = math.ceil(size / splits / granule) * granule
        if all_blocks:
            block = round(block * parameters["block_size_bytes"] / all_blocks[0] / granule) * granule
        size = round(size * whole / most)
        return Scale(k, size / full, block, size, packet)
    least = min(all_blocks, default=parameters["block_size_bytes"])
    smallest = int(least / k // granule * granule)
    # Sizes that are multiples at full scale stay so.
    block = round(smallest * parameters["block_size_bytes"] / least / granule) * granule
    if spec.get("whole_file"):
        return Scale(k, 1.0, block, int(full), packet)
    blocks = parameters.get("file_blocks") or spec.get("file_blocks", scale["file_blocks"])[effort]
    size = round(int(blocks) * smallest * (whole / most))
    return Scale(k, size / full, block, size, packet)


def _of_a_site(whole: float, share: float, parameters: Mapping[str, Any], all_blocks: Sequence[float]) -> Scale:
    """The scale on a site: k is 1, and a file has a share of its bytes, rounded to whole blocks of the largest size."""
    block = int(parameters["block_size_bytes"])
    unit = int(max(all_blocks, default=block))
    size = int(whole) if share == 1 else min(int(whole), max(1, round(whole * share / unit)) * unit)
    return Scale(1, size / whole, block, size)


def _granule(spec: Mapping[str, Any], least: int, share: float) -> int:
    """Bytes that a block must be a multiple of; with erasure-coded stores, also a multiple of their cells."""
    named = (store.get("erasure_coding") for store in spec.get("stores", {}).values())
    policies = [policy for name in named if name and (policy := Policy.of(name))]
    return math.lcm(least, *(policy.scaled(share).cell for policy in policies))


def _largest(paper: Paper, experiment: str) -> tuple[float, Sequence[float]]:
    """(most bytes of a file in an experiment's cells at full scale, block sizes if they vary, sorted)."""
    if found := paper.memory.get(("largest", experiment)):
        return found
    spec = paper.experiments[experiment]
    # This is called for every run; if no factor changes sizes, one cell suffices.
    varied = [name for name in spec["factors"] if name in _SIZES]
    listed = cells_of(spec) if varied else cells_of(spec)[:1]
    cells = [paper.parameters(experiment, levels) for levels in listed]
    sizes = [workload_of(spec["workload"]).whole_bytes(cell) for cell in cells]
    blocks = {cell["block_size_bytes"] for cell in cells} if "block_size_bytes" in spec["factors"] else ()
    paper.memory["largest", experiment] = found = max(sizes, default=0), sorted(blocks)
    return found
