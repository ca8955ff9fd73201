"""The services of a block's cluster: which ones its runs need, their start, and runs that the testbed cannot make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from whitewire import atomic
from whitewire.cluster import cephfs
from whitewire.cluster.cephfs import CephFs, cephfs_unavailable
from whitewire.cluster.existing import Existing
from whitewire.cluster.hdfs import Hdfs, hdfs_settings, rack_settings
from whitewire.cluster.hibench import HiBench, hibench_of
from whitewire.cluster.posix import Posix
from whitewire.cluster.stack import Stack
from whitewire.cluster.yarn import Yarn, application_master_settings, yarn_settings
from whitewire.description import transports
from whitewire.description.capabilities import capabilities_of
from whitewire.description.transports import Transport, transport_of
from whitewire.errors import CannotMake
from whitewire.factors import on_datanodes, parameter
from whitewire.measure import environment
from whitewire.measure.execution import given_up, memory_mib
from whitewire.measure.probing import unused
from whitewire.measure.run import FAILURES, Run
from whitewire.testbed.base import Testbed
from whitewire.testbed.emulated.segment import segment_unavailable
from whitewire.testbed.emulated.software import NAMENODE_IMAGE
from whitewire.tools import Unreadable
from whitewire.tools.rdma_counters import Moved
from whitewire.workloads.hibench_copy import tree_description


def stack_of(testbed: Testbed, config: Mapping[str, Any], runs: Sequence[Run], logs: Path, slots: int | None,
             racks: int, suite: HiBench | None) -> Stack:  # fmt: skip
    """All services that runs need on a testbed that is up, not yet started.

    `config`: the testbed's description; `slots`: tasks that a worker runs at once; `racks`: number of racks of the
    network, 0 for none. Runs without modelled drives may share a cluster with runs that have them.
    """
    drive = next((run.drive for run in runs if run.drive.limits), runs[0].drive)
    jobs = any(run.workload.on_yarn for run in runs)
    transport = transport_of(config, runs[0].parameters)
    check_ports(testbed, transport)
    installation = replace(testbed.installation(), options=tuple(transport.java), variables=transport.variables)
    above: CephFs | Posix | None = None
    if any(run.store["kind"] == "cephfs" for run in runs):
        own = testbed.capabilities.starts_file_system
        above = CephFs(testbed, drive.rate, logs) if own else Posix(testbed, config["mount"]["path"])
    if "cluster" in config:
        site = config["cluster"]
        there = Existing(testbed, installation, site["configuration"], site["folder"], logs, jobs)
        return Stack(there, there if jobs else None, above, suite)
    values = _hdfs_settings(testbed, runs)
    if jobs:
        place = above.mount if above else cephfs.MOUNT
        values |= yarn_settings(testbed, installation.configuration, place, slots, transport.environment)
    if racks:
        values |= rack_settings(testbed, installation.configuration, racks)
        values |= application_master_settings(testbed, racks)
    values |= {**transport.settings, **runs[0].daemon_settings}
    putting = max((run.parameters["clients"] for run in runs if on_datanodes(run.parameters)), default=0)
    below = Hdfs(testbed, installation, values, drive, logs, NAMENODE_IMAGE, putting)
    return Stack(below, Yarn(below) if jobs else None, above, suite)


def _hdfs_settings(testbed: Testbed, runs: Sequence[Run]) -> dict[str, Any]:
    packet = max(run.scale.packet_bytes for run in runs)  # for work outside runs: puts set their own
    copies = parameter(runs[0].parameters, "replication")
    values = hdfs_settings(testbed, runs[0].scale.block_bytes, copies, packet)
    if any("erasure_coding" in run.store for run in runs):
        # A block group needs as many DataNodes as it has blocks, which may be all, also the busiest.
        values |= {"dfs.namenode.redundancy.considerLoad": False}
    return values


THEIR_DAEMONS = "the daemons of the site's own cluster run over TCP; a transport needs daemons that are started here"
THEIR_SETTINGS = "the daemons of the site's own cluster have its settings; others need daemons that are started here"
THEIR_TASKS = "the scheduler of the site's own cluster places tasks; chosen workers need daemons that are started here"
THEIR_DATANODES = "the DataNodes of the site's own cluster have no clients; these need DataNodes that are started here"
THEIR_SCRIPTS = "HiBench's own scripts run over TCP; a transport needs programs that are started here"


def check_ports(testbed: Testbed, transport: Transport) -> None:
    """Raise CannotMake if a transport needs RDMA ports that hosts lack on the network in use, or that count nothing."""
    if transport.kind != transports.RDMA:
        return
    try:
        ports = testbed.rdma_ports()
    except Unreadable as fault:
        raise CannotMake(f"transport {transport.name}: {fault}") from None
    blind = [name for name, port in ports.items() if not port.name or port.sent == Moved()]
    if blind:
        raise CannotMake(
            f"transport {transport.name}: on this network no RDMA port that counts what it sends on {', '.join(blind)}"
        )


Lacking = list[tuple[list[str], str]]
"""Ids of runs that the testbed cannot make, each list with the reason."""


def suite(testbed: Testbed, config: Mapping[str, Any], runs: Sequence[Run], logs: Path
          ) -> tuple[HiBench | None, Lacking]:  # fmt: skip
    """The testbed's HiBench, checked for the programs of the runs, and the runs whose programs it lacks.

    None if the testbed has no HiBench or no run wants it. Raises UserError for what would stop a run; see also
    workflow/checked_paper.py.
    """
    own = [run for run in runs if run.workload.of_suite]
    if not own or not config.get("hibench"):
        return None, []
    wanted = [(run.parameters["program"], run.parameters["profile"]) for run in own]
    found = hibench_of(testbed, config["hibench"], wanted, logs)
    lost = {program: why for program, _ in wanted if (why := found.tree.lacks(program))}
    return found, [([run.row["run_id"] for run in own if run.parameters["program"] == program], why)
                   for program, why in lost.items()]  # fmt: skip


def start(stack: Stack) -> None:
    """Start all services; tries again once, because one start in some dozens fails.

    If that fails too, raises CannotMake, or NotKept if the disk is full.
    """
    try:
        stack.start()
    except FAILURES:
        stack.stop()
        try:
            stack.start()
        except FAILURES as failure:
            raise given_up("the services do not start", failure, stack) from None


def started(stack: Stack) -> str:
    """How long each service took to start, in words."""
    times = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in stack.start_seconds.items())
    return times + (f" (started twice: {stack.first_failure.splitlines()[0]})" if stack.first_failure else "")


def record_environment(testbed: Testbed, stack: Stack, config: Mapping[str, Any], folder: Path) -> None:
    """Write a description of services and hosts to an environment.json in a block's folder."""
    cluster = stack.hdfs
    record = environment.capture(testbed, cluster.installation.version) | {
        "cluster": {
            "configuration": cluster.values,
            "drive": stack.drive.record,
            "hdfs_seconds": cluster.hdfs_seconds,
            "start_seconds": cluster.start_seconds,
            "services": stack.start_seconds,
            "parallel_file_system": stack.mounted.kind if stack.mounted else None,
            "memory_mib": memory_mib(stack),
        },
        "limits": config["limits"],
        "switch": config.get("switch", {}),
        **({"hibench": tree_description(config["hibench"]["home"])} if stack.hibench else {}),
    }
    path = unused(folder, "environment", ".json")
    atomic.write(path, atomic.as_json(record, default=str))


def unavailable_runs(config: Mapping[str, Any], runs: Sequence[Run]) -> Lacking:
    """Runs whose file system, network, transport, place of tasks or clients, or settings of daemons the testbed cannot
    provide."""
    mounted = [run.row["run_id"] for run in runs if run.store["kind"] == "cephfs"]
    fabrics = config["fabrics"]
    on_a_segment = [run.row["run_id"] for run in runs if fabrics[run.parameters["fabric"]].get("shared")]
    moved = [run for run in runs if transport_of(config, run.parameters).name != transports.TCP]
    by_suite = [run.row["run_id"] for run in moved if run.workload.of_suite]
    placed = [run.row["run_id"] for run in runs if "task_workers" in run.parameters]
    local = [run.row["run_id"] for run in runs if on_datanodes(run.parameters)]
    of_daemons = [run.row["run_id"] for run in runs if run.daemon_settings]
    reasons: list[tuple[list[str], Callable[[], str]]] = [
        (mounted, lambda: no_mount(config)),
        (on_a_segment, segment_unavailable),
        ([run.row["run_id"] for run in moved], lambda: THEIR_DAEMONS if "cluster" in config else ""),
        (by_suite, lambda: THEIR_SCRIPTS if config.get("hibench") else ""),
        (placed, lambda: THEIR_TASKS if "cluster" in config else ""),
        (local, lambda: THEIR_DATANODES if "cluster" in config else ""),
        (of_daemons, lambda: THEIR_SETTINGS if "cluster" in config else ""),
    ]
    return [(lost, why) for lost, reason in reasons if lost and (why := reason())]


def no_mount(config: Mapping[str, Any]) -> str:
    """Why there is no parallel file system on this testbed; empty where there is one."""
    if capabilities_of(config).starts_file_system:
        why = cephfs_unavailable()
        return f"CephFS: {why}" if why else ""
    return "" if "mount" in config else "no parallel file system; a site names its own under `mount`"
