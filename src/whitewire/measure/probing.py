"""Probes of links and modelled drives before a block's runs: they check that these have not changed.

All pairs, a site's drives and its RDMA ports are measured once, before any paper (measure/survey.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from whitewire import atomic
from whitewire.design.drive import Drive
from whitewire.measure import links
from whitewire.measure.limits_exceeded import Carried
from whitewire.measure.run import Run
from whitewire.testbed.base import Testbed

SHORT_S, SHORT_OF_SITES_S = 0.3, 1.0
"""Most seconds of a test of a shaped link, and of a real one, which slow start fills only after some time."""


def unused(folder: Path, name: str, suffix: str = "") -> Path:
    """A path in a block's folder that no earlier cluster of this block has used: name, name-2, …"""
    path, number = folder / f"{name}{suffix}", 1
    while path.exists():
        number += 1
        path = folder / f"{name}-{number}{suffix}"
    return path


def probe_cluster(testbed: Testbed, drive: Drive, runs: Sequence[Run], config: Mapping[str, Any], block: Path,
                  carried: Carried) -> None:  # fmt: skip
    """Probe links and modelled drives of a cluster that is up: from each client to a DataNode and, for jobs and on a
    site, also between neighbouring DataNodes.

    `config`: the testbed's description; results go into a folder below `block`; `carried`: earlier Mbit/s of a site's
    pairs. Raises CannotMake for a link or drive beyond its bound.
    """
    probes, limits = config["probes"], config["limits"]
    folder = unused(block, "probes")
    used = {run.parameters["fabric"]: None for run in sorted(runs, key=lambda run: run.row["run_id"])}
    # Fabrics that the grid compares are probed with each number of streams, those of the response curve with one.
    grid = [name for name in used if any("clients" in r.levels and r.parameters["fabric"] == name for r in runs)]
    seconds = min(probes["seconds"], SHORT_S if testbed.capabilities.shapes_links else SHORT_OF_SITES_S)
    common = {"seconds": seconds, "bound": limits["link_error"], "folder": folder, "carried": carried}
    rows = links.probe_drives(testbed, drive, limits["drive_error"], folder) if drive.limits else []
    ring = not testbed.capabilities.shapes_links or any(run.workload.on_yarn for run in runs)
    rows += links.probe_links(testbed, grid, streams=probes["streams"], ring=ring, **common)
    others = [name for name in used if name not in grid]
    rows += links.probe_links(testbed, others, streams=probes["streams"][:1], ring=ring, **common)
    atomic.write(folder / "probes.json", atomic.as_json(rows))
