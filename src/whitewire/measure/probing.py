"""What a block measures of links and drives before its runs: calibration, and curves of a site's drives and RDMA."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whitewire.description.testbed import is_emulated
from whitewire.design.drive import Drive
from whitewire.measure import drives as storage
from whitewire.measure import links, rdma
from whitewire.measure.run import Run
from whitewire.progress import Progress
from whitewire.testbed.base import Testbed

PROBE_SECONDS_SMOKE = 0.3


def unused(folder: Path, name: str, suffix: str = "") -> Path:
    """A path in a block's folder that no earlier cluster of this block has used: name, name-2, …"""
    path, number = folder / f"{name}{suffix}", 1
    while path.exists():
        number += 1
        path = folder / f"{name}-{number}{suffix}"
    return path


@dataclass(frozen=True)
class Probing:
    """The probes of one block, whose results go to `folder`; messages call the testbed's description `source`."""

    config: Mapping[str, Any]
    effort: str
    folder: Path
    source: str

    def calibrate(self, testbed: Testbed, drive: Drive, runs: Sequence[Run], fresh: bool) -> None:
        """Probe links and drives of a cluster that is up; `fresh`: as thoroughly as before the first runs of a block.

        Raises UserError for a link or drive beyond its bound.
        """
        probes, limits = self.config["probes"], self.config["limits"]
        folder = unused(self.folder, "probes")
        used = {run.parameters["fabric"]: None for run in sorted(runs, key=lambda run: run.row["run_id"])}
        # Fabrics that the grid compares are probed over every pair, those of the response curve over one per client.
        grid = [name for name in used if any("clients" in r.levels and r.parameters["fabric"] == name for r in runs)]
        thorough = self.effort != "smoke" and fresh
        seconds = probes["seconds"] if thorough else PROBE_SECONDS_SMOKE
        common = {"seconds": seconds, "bound": limits["link_error"], "folder": folder}
        rows = links.probe_drives(testbed, drive, limits["drive_error"], folder) if drive.limits else []
        rows += links.probe_links(testbed, grid, streams=probes["streams"], every_pair=thorough, **common)
        others = [name for name in used if name not in grid]
        ring = any(run.workload.on_yarn for run in runs)
        first = probes["streams"][:1]
        rows += links.probe_links(testbed, others, streams=first, every_pair=False, ring=ring, **common)
        links.write(folder, rows)

    def site(self, testbed: Testbed, progress: Progress, place: str) -> None:
        """What real hardware can do besides: curves of its drives and mounts, and of RDMA where there is any."""
        if not list(self.folder.glob("drives*/drives.json")):
            progress.say("probing drives")
            storage.measure(
                storage.places_of(testbed.by_role("datanode"), self.config, self.source),
                self.effort,
                unused(self.folder, "drives"),
                at_once=self._at_once(testbed),
            )
        folder = unused(self.folder, "probes-rdma")
        if self.effort != "smoke":
            progress.say("probing RDMA")
            folder.mkdir(parents=True)
            found = rdma.probe(testbed, [place], folder)
            rdma.write(folder, found)
            if why := rdma.unavailable(found):
                progress.say(f"RDMA: {why}")

    def _at_once(self, testbed: Testbed) -> int:
        """Hosts whose drives are measured together; slowed-down hosts may share one machine's."""
        return 1 if is_emulated(self.config) else len(testbed.hosts)
