"""Which runs of a block share a cluster, and which of those a scale. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

from whitewire.description.paper import Paper
from whitewire.design.drive import Drive
from whitewire.measure.run import Run


def clusters(paper: Paper, runs: Sequence[Run], emulated: bool) -> dict[str, list[Run]]:
    """Runs by the services that they need (hosts, drives per host, slots); runs that share them keep their order.

    The scale and the drives' model change between runs of one cluster, and a run without drives may use any.
    """

    def key(run: Run, drives: int) -> str:
        roles = paper.roles(run.row["experiment"], run.levels if run.workers is None else {})
        # Where a fabric has addresses of its own, the services of one are not those of another.
        place = [] if emulated else [run.parameters["fabric"], run.scale.k]
        return json.dumps([roles, place, drives, slots(run, roles)])

    counts = sorted({run.drive.count for run in runs if run.drive.limits}) or [1]
    modelled = {key(run, run.drive.count) for run in runs if run.drive.limits}
    found: dict[str, list[Run]] = {}
    for run in runs:
        own = key(run, run.drive.count)
        others = [] if run.drive.limits else [key(run, count) for count in counts]
        found.setdefault(next((other for other in others if other in modelled), own), []).append(run)
    return found


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
