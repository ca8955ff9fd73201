"""Cautions about an emulated testbed's factors that interact with an assumption, or with a size that k does not divide.

`whitewire plan` prints them before measuring, and the reason of a verdict that depends on such a factor ends with them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from whitewire.description.paper import Paper, cells_of, hardware_of
from whitewire.design.scale import scale_of
from whitewire.estimands import estimand_of
from whitewire.levels import level_in_words

BUFFERS = "switch_buffer_kib"


def cautions_of_experiment(paper: Paper, experiment: str, factors: Collection[str] | None = None) -> list[str]:
    """Cautions, a line each, about the factors of an emulated experiment, or only about `factors`."""
    spec = paper.experiments[experiment]
    varied = set(spec["factors"]) if factors is None else set(factors) & set(spec["factors"])
    found = list(_drive_cache(paper, experiment)) if "block_size_bytes" in varied else []
    if BUFFERS in varied:
        k = scale_of(paper, experiment, next(iter(paper.raw["replicates"])), cells_of(spec)[0]).k
        least = min(spec["factors"][BUFFERS])
        found.append(
            f"ports' buffers are not divided by k: {least} KiB last as long here as {least * k / 1024:.3g} MiB at full "
            "scale"
        )
    return found


def cautions_of_test(paper: Paper, test: Mapping[str, Any]) -> list[str]:
    """Cautions about the factors in which the cells that a test compares differ."""
    found = []
    for one, other in estimand_of(test).pairs():
        if one[0] == other[0]:
            found += cautions_of_experiment(
                paper, one[0], {name for name, level in one[1].items() if other[1].get(name) != level}
            )
    return list(dict.fromkeys(found))


def _drive_cache(paper: Paper, experiment: str) -> Iterator[str]:
    """A caution if only some block sizes fit into a drive's cache: then the assumed cache affects the result."""
    spec = paper.experiments[experiment]
    drives = [hardware_of(spec, levels) for levels in cells_of(spec)]
    blocks = sorted(set(spec["factors"]["block_size_bytes"]))
    for cache in sorted({drive["cache_bytes"] for drive in drives if drive}):
        if blocks[0] <= cache < blocks[-1]:
            fit = max(block for block in blocks if block <= cache)
            small, large = (level_in_words("block_size_bytes", block) for block in (fit, blocks[-1]))
            yield (
                f"blocks of {small} fit a drive's cache ({level_in_words('cache_bytes', cache)}) whole, "
                f"those of {large} do not: vary cache_bytes to see what hangs on it"
            )
