"""Which runs of a block share a cluster, and which of those a scale. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from whitewire.description.paper import Paper
from whitewire.design.drive import Drive
from whitewire.measure.cross_traffic import ROLE
from whitewire.measure.run import Run


def clusters(paper: Paper, runs: Sequence[Run], testbed: Mapping[str, Any]) -> dict[str, list[Run]]:
    """Runs by the services that they need (hosts, drives per host, slots); runs that share them keep their order.

    The scale and the drives' model change between runs of one cluster, and a run without drives may use any. Racks do
    not: services are told of them when they start. Hosts for cross traffic are there where any run has some.
    """
    emulated = testbed["kind"] == "emulated"
    crossed = {_racks(run, testbed) for run in runs if run.parameters.get("cross_traffic")}

    def key(run: Run, drives: int) -> str:
        roles = paper.roles(run.row["experiment"], run.levels if run.workers is None else {})
        # Where a fabric has addresses of its own, the services of one are not those of another.
        place = [] if emulated else [run.parameters["fabric"], run.scale.k]
        racks = _racks(run, testbed) if emulated else 0
        if racks and racks in crossed:
            roles = roles | {ROLE: racks}
        return json.dumps([roles, place, drives, slots(run, roles), *([racks] if racks else [])])

    counts = sorted({run.drive.count for run in runs if run.drive.limits}) or [1]
    modelled = {key(run, run.drive.count) for run in runs if run.drive.limits}
    found: dict[str, list[Run]] = {}
    for run in runs:
        own = key(run, run.drive.count)
        others = [] if run.drive.limits else [key(run, count) for count in counts]
        found.setdefault(next((other for other in others if other in modelled), own), []).append(run)
    return found


def _racks(run: Run, testbed: Mapping[str, Any]) -> int:
    """Into how many racks a run's network divides the hosts; 0: none."""
    return testbed["fabrics"].get(run.parameters["fabric"], {}).get("racks", {}).get("count", 0)


def by_scale(runs: Sequence[Run]) -> dict[tuple[float, Drive], list[Run]]:
    """Runs by what links and drives are slowed down to."""
    found: dict[tuple[float, Drive], list[Run]] = {}
    for run in runs:
        found.setdefault((run.scale.k, run.drive), []).append(run)
    return found


def slots(run: Run, roles: Mapping[str, int]) -> int | None:
    """Tasks that a worker may run at once: its even share of the job's. None for puts, and jobs that set their number.

    The papers' jobs had hundreds of tasks per node, which spread evenly by their number. The few that stand for them
    here do not: a worker with two of five maps takes twice as long as the others, and all wait for it.
    """
    if not run.workload.native:
        return None
    tasks = max(run.parameters.get("maps", 1), run.parameters.get("reduces", 1))
    return math.ceil(tasks / max(1, roles.get("datanode", 0)))
