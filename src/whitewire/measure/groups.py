"""Which runs of a block share a cluster, and which of those a scale. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from whitewire.cluster.yarn import Memory
from whitewire.description import transports
from whitewire.description.capabilities import capabilities_of
from whitewire.description.paper import Paper, cells_of
from whitewire.description.transports import transport_of
from whitewire.design.drive import Drive
from whitewire.errors import UserError
from whitewire.factors import parameter
from whitewire.measure.cross_traffic import ROLE
from whitewire.measure.run import Run
from whitewire.paths import shown
from whitewire.text import quoted
from whitewire.workloads import workload_of


def clusters(paper: Paper, runs: Sequence[Run], testbed: Mapping[str, Any]) -> dict[str, list[Run]]:
    """Runs by the services that they need, as JSON: hosts, network and k, drives per host, slots, racks, transport and,
    where there are some, settings of daemons.

    Runs that share them keep their order.

    Scale and drive model may change between runs of one cluster, and a run without modelled drives may use any. Racks,
    transport (empty: TCP) and settings of daemons may not, because services are started with them. A cluster has hosts
    for cross traffic if any of its runs has some.
    """
    can = capabilities_of(testbed)
    crossed = {_racks(run, testbed) for run in runs if run.parameters.get("cross_traffic")}

    def key(run: Run, drives: int) -> str:
        roles = paper.roles(run.row["experiment"], run.levels if run.workers is None else {})
        # If each fabric has addresses of its own, services on one cannot be used on another.
        place = [run.parameters["fabric"], run.scale.k] if can.addresses_by_fabric else []
        racks = _racks(run, testbed) if can.shapes_links else 0
        transport = transport_of(testbed, run.parameters).name
        if racks and racks in crossed:
            roles = roles | {ROLE: racks}
        other = transport if transport != transports.TCP else ""
        settings = [dict(sorted(run.daemon_settings.items()))] if run.daemon_settings else []
        return json.dumps([roles, place, drives, slots(run, roles), racks, other, *settings])

    counts = sorted({run.drive.count for run in runs if run.drive.limits}) or [1]
    modelled = {key(run, run.drive.count) for run in runs if run.drive.limits}
    found: dict[str, list[Run]] = {}
    for run in runs:
        own = key(run, run.drive.count)
        others = [] if run.drive.limits else [key(run, count) for count in counts]
        found.setdefault(next((other for other in others if other in modelled), own), []).append(run)
    return found


def _racks(run: Run, testbed: Mapping[str, Any]) -> int:
    """Number of racks of a run's network; 0: none."""
    return testbed["fabrics"].get(run.parameters["fabric"], {}).get("racks", {}).get("count", 0)


def by_scale(runs: Sequence[Run]) -> dict[tuple[float, Drive], list[Run]]:
    """Runs by the k of links and the model of drives alone: memory in front of them and writers change neither."""
    found: dict[tuple[float, Drive], list[Run]] = {}
    for run in runs:
        found.setdefault((run.scale.k, run.drive.alone), []).append(run)
    return found


def slots(run: Run, roles: Mapping[str, int]) -> int | None:
    """Tasks that a worker may run at once: `tasks_per_worker`, or its even share of the job's, which is one wave.

    None for puts, and for jobs that set the number themselves.

    The papers' jobs had hundreds of tasks per node, which spread evenly by their number. The few tasks that represent
    them here do not: a worker with two of five maps takes twice as long as the others, and all wait for it.
    """
    if not run.workload.native:
        return None
    return run.parameters.get("tasks_per_worker") or even_share(run.parameters, roles)


def even_share(parameters: Mapping[str, Any], roles: Mapping[str, int]) -> int:
    """A worker's even share of a job's map or reduce tasks, whichever are more."""
    return math.ceil(_tasks(parameters) / max(1, roles.get("datanode", 0)))


def _tasks(parameters: Mapping[str, Any]) -> int:
    """A job's map or reduce tasks, whichever are more."""
    return int(max(parameter(parameters, "maps"), parameter(parameters, "reduces")))


def _workers(paper: Paper, experiment: str, levels: Mapping[str, Any], parameters: Mapping[str, Any]) -> int:
    """Number of workers that run a cell's tasks."""
    return int(parameters.get("task_workers", paper.roles(experiment, levels)["datanode"]))


def check_slots(paper: Paper, testbed: Mapping[str, Any]) -> None:
    """Raise UserError if `tasks_per_worker` is more than a job's tasks, or a worker's memory, allow."""
    memory = Memory.of(testbed)
    for name, experiment in paper.experiments.items():
        for levels in cells_of(experiment):
            parameters = paper.parameters(name, levels)
            wanted = parameters.get("tasks_per_worker")
            if wanted is None:
                continue
            share = even_share(parameters, {"datanode": _workers(paper, name, levels, parameters)})
            where = f"{shown(paper.path)}: experiment {name}: tasks_per_worker: found {quoted(wanted)}, expected"
            if not isinstance(wanted, int) or isinstance(wanted, bool) or not 1 <= wanted <= share:
                raise UserError(f"{where} a whole number from 1 to {share}, a worker's even share of the tasks")
            if wanted > memory.most_slots:
                most = f"at most {memory.most_slots}, which a worker's memory holds (yarn of the testbed)"
                raise UserError(f"{where} {most}")


def unasked_waves(paper: Paper, experiment: str, testbed: Mapping[str, Any]) -> list[str]:
    """Jobs of an experiment without `tasks_per_worker` that run in waves all the same, because a worker's memory does
    not hold its even share of the tasks; a line each."""
    spec, most, found = paper.experiments[experiment], Memory.of(testbed).most_slots, []
    if not workload_of(spec["workload"]).native or "cluster" in testbed:
        return []
    for levels in cells_of(spec):
        parameters = paper.parameters(experiment, levels)
        tasks, workers = _tasks(parameters), _workers(paper, experiment, levels, parameters)
        waves = math.ceil(tasks / (workers * most))
        if waves > 1 and "tasks_per_worker" not in parameters:
            found.append(
                f"{tasks} tasks on {workers} workers, each with memory for {most} at once (yarn of the testbed), run "
                f"in {waves} waves, the last of {tasks - (waves - 1) * workers * most}; set tasks_per_worker where "
                "waves are meant"
            )
    return list(dict.fromkeys(found))
