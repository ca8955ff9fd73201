"""One run on a cluster that is up: put the fabric, start the workload, sample, and collect what happened."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from subprocess import TimeoutExpired
from typing import Any

from whitewire.cluster import hdfs
from whitewire.cluster.stack import Stack
from whitewire.design import scaling
from whitewire.design.drive import Drive
from whitewire.design.scale import PACKET
from whitewire.errors import RunFailed
from whitewire.testbed.base import CommandFailed, Host, ProcessDied, Testbed
from whitewire.testbed.samples import cpu_seconds, host_cpu_to_csv, to_csv
from whitewire.tools import namenode
from whitewire.workloads import hdfs_put, rereplicate

DATA = "/data"
"""The only folder of HDFS that a run uses; emptied before each run."""


@dataclass(frozen=True)
class Run:
    """What a run is made of: its design row, the levels with their types, parameters at full scale, its scale."""

    row: Mapping[str, Any]
    levels: Mapping[str, Any]
    parameters: Mapping[str, Any]
    settings: Mapping[str, Any]
    scale: Any
    expected_seconds: float
    store: Mapping[str, Any] = field(default_factory=lambda: {"kind": "hdfs"})
    cpu: str = "limit"
    """Whether the processors may not limit the run ("limit"), or only a report says so ("report")."""
    drive: Drive = field(default_factory=Drive.none)
    workers: int | None = None
    """How many of the cluster's workers run its tasks; None: all."""

    @property
    def timeout(self) -> float:
        return 60 + 8 * self.expected_seconds

    def on_almost_nothing(self, block_bytes: int, file_bytes: int) -> Run:
        """The same run with other bytes."""
        return replace(self, scale=replace(self.scale, block_bytes=block_bytes, file_bytes=file_bytes))

    @property
    def title(self) -> str:
        levels = " ".join(f"{name}={level}" for name, level in self.levels.items())
        return f"{self.row['experiment']} {levels} (replicate {self.row['replicate']})"


@dataclass(frozen=True)
class Result:
    """What a run left: its record (run.json) and verbatim files by name."""

    record: dict[str, Any]
    files: dict[str, str]


def source_files(testbed: Testbed, size: int, count: int) -> list[str]:
    """`count` files of `size` random bytes on every client, as paths; made once and warm in memory from then on.

    They are names of one file: what a client reads is not what is measured.
    """
    clients = testbed.by_role("client")
    folder = f"{clients[0].scratch}/source/{size}"
    paths = [f"{folder}/put{number}" for number in range(1, count + 1)]

    def make(host: Host) -> None:
        if host.run(["test", "-e", paths[-1]]).status == 0:
            return
        host.run(["mkdir", "-p", folder]).check()
        if host.run(["test", "-e", paths[0]]).status != 0:
            host.run(["dd", "if=/dev/urandom", f"of={paths[0]}", "bs=1M", f"count={size}",
                      "iflag=fullblock,count_bytes", "status=none"]).check()  # fmt: skip
        for path in paths[1:]:
            host.run(["ln", "-f", paths[0], path]).check()

    with ThreadPoolExecutor(max_workers=8) as pool:
        list(pool.map(make, clients))
    return paths


def _empty(stack: Stack, clients: int) -> None:
    stack.hdfs.remove(DATA)
    folders = [f"{DATA}/client{number}" for number in range(1, clients + 1)]
    if stack.hdfs.shell("-mkdir", "-p", *folders).status != 0:
        raise RunFailed("the folders of the run could not be made in HDFS")


def _put_together(stack: Stack, clients: int, files: list[str], options: Mapping[str, Any], timeout: float) -> list:
    """The first `clients` clients put all files at one signal; returns the outcomes of their commands."""
    residents = stack.clients[:clients]
    for number, client in enumerate(residents, start=1):
        client.begin(hdfs.FS_SHELL, hdfs_put.put(files, f"{DATA}/client{number}", options))
    watch(stack, lambda: all(client.done() for client in residents), timeout)
    return [client.result(timeout=1) for client in residents]


def _run_files(stack: Stack, run: Run) -> list[str]:
    return source_files(stack.testbed, run.scale.file_bytes, run.parameters["puts_per_client"])


def _put_all(stack: Stack, run: Run, files: list[str], settings: Mapping[str, Any]) -> list:
    """The puts of a run, with its block size, its packets and the settings of its own."""
    options = {"dfs.blocksize": run.scale.block_bytes} | scaling.retry_settings(run.scale.data_fraction)
    if run.scale.packet_bytes != PACKET:
        options["dfs.client-write-packet-size"] = run.scale.packet_bytes
    options |= {"dfs.replication": run.parameters.get("replication", 3)} | dict(settings)
    return _put_together(stack, run.parameters["clients"], files, options, run.timeout)


def watch(stack: Stack, finished: Callable[[], bool], timeout: float) -> None:
    """Wait until `finished`; a daemon that ends meanwhile ends the run with its name."""
    deadline = time.monotonic() + timeout
    while not finished():
        stack.check()
        if time.monotonic() > deadline:
            raise RunFailed(f"no end after {timeout:.0f} s")
        time.sleep(0.02)
    stack.check()


def warm_up(stack: Stack, files: int = 60, size: int = 131072) -> None:
    """Every client puts many one-block files: a JVM compiles what it has done some hundred times."""
    paths = source_files(stack.testbed, size, files)
    _empty(stack, len(stack.clients))
    _put_together(stack, len(stack.clients), paths, {"dfs.blocksize": size}, timeout=120)


def observed(stack: Stack, run: Run, act: Callable[[], dict[str, Any]], by_host: bool = False) -> Result:
    """Do `act` between two readings of all counters, sampled; the record holds what they say."""
    testbed = stack.testbed
    stack.ease(False)
    fabric = testbed.fabric(run.parameters["fabric"], _port_buffer(run))
    testbed.offloads(run.levels.get("offloads", "on") == "on")
    position = stack.hdfs.log_position()
    again, drops = testbed.tcp_retransmits(), testbed.queue_drops()
    used, before = cpu_seconds(stack.processes()), testbed.counters()
    with testbed.sampler(by_host) as sampler:
        done = act()
    after, used_after = testbed.counters(), cpu_seconds(stack.processes())
    log = stack.hdfs.log_since(position)
    record = {
        **{name: run.row[name] for name in ("run_id", "block", "order", "experiment", "workload", "replicate", "seed")},
        "factors": dict(run.levels),
        "fabric": asdict(fabric),
        "scale": {"k": run.scale.k, "data_fraction": run.scale.data_fraction,
                  "block_bytes": run.scale.block_bytes, "file_bytes": run.scale.file_bytes,
                  "packet_bytes": run.scale.packet_bytes},
        "clients": run.parameters.get("clients", 0),
        "replication": run.parameters.get("replication", 0),
        "client_hosts": [host.name for host in testbed.by_role("client")],
        "datanode_hosts": [host.name for host in testbed.by_role("datanode")],
        "links_before": before,
        "links_after": after,
        "cpu_seconds": {name: used_after[name] - used[name] for name in used},
        "tcp_retransmits": sum(testbed.tcp_retransmits().values()) - sum(again.values()),
        "queue_drops": testbed.queue_drops() - drops,
        **done,
    }  # fmt: skip
    audit = "\n".join(line for line in log.splitlines() if "FSNamesystem.audit" in line)
    files = {"samples.csv": to_csv(sampler.samples), "namenode-audit.txt": audit + "\n"}
    if by_host:
        files["host-cpu.csv"] = host_cpu_to_csv(sampler.host_cpu)
    return Result(record, files)


def _port_buffer(run: Run) -> int | None:
    kib = run.levels.get("switch_buffer_kib")
    return int(kib * 1024) if kib else None


def _placement(stack: Stack) -> tuple[list[dict[str, Any]], str]:
    names = {host.address: host.name for host in stack.testbed.hosts}
    text = stack.hdfs.blocks(DATA)
    found = [
        {"file": block.path, "block_index": block.index, "bytes": block.length,
         "datanodes": [names.get(address, address) for address in block.addresses]}
        for block in namenode.blocks(text)
    ]  # fmt: skip
    return found, text


def run_hdfs_put(stack: Stack, run: Run) -> Result:
    """Clients × puts, started together. Raises RunFailed when a put failed, ProcessDied when a daemon died."""
    clients, puts = run.parameters["clients"], run.parameters["puts_per_client"]
    files = _run_files(stack, run)
    _empty(stack, clients)
    outcomes: list = []

    def act() -> dict[str, Any]:
        outcomes.extend(_put_all(stack, run, files, run.settings))
        return {"busy_clients": [client.host.name for client in stack.clients[:clients]]}

    result = observed(stack, run, act)
    kept = result.files | {f"client{n}.txt": o.output + "\n" for n, o in enumerate(outcomes, start=1)}
    placement, fsck = _placement(stack)
    kept["fsck.txt"] = fsck + "\n"
    folders = [f"{DATA}/client{number}" for number in range(1, clients + 1)]
    operations = stack.hdfs.operations(kept["namenode-audit.txt"], folders)
    # With several threads the shell ends with status 0 even when a copy failed: count what the NameNode completed.
    failed = next((outcome for outcome in outcomes if outcome.status != 0), None)
    if failed or len(operations) != clients * puts:
        said = next((line for o in outcomes for line in o.output.splitlines() if line.strip()), "no message")
        raise RunFailed(f"{len(operations)} of {clients * puts} puts completed: {said[:200]}")
    written = sum(block["bytes"] for block in placement)
    if written != clients * puts * run.scale.file_bytes:
        raise RunFailed(f"HDFS holds {written} bytes, expected {clients * puts * run.scale.file_bytes}")
    record = result.record | {
        "start": min(operation.start for operation in operations),
        "end": max(operation.end for operation in operations),
        "commands": [{"begin": outcome.begin, "end": outcome.end, "status": outcome.status} for outcome in outcomes],
        "operations": [
            {"client": o.path.split("/")[2], "operation": o.path.split("/")[3], "bytes": run.scale.file_bytes,
             "start": o.start, "end": o.end}
            for o in operations
        ],
        "placement": placement,
    }  # fmt: skip
    return Result(record, kept)


def _all_have(placement: list[dict[str, Any]], replication: int) -> bool:
    return bool(placement) and all(len(set(block["datanodes"])) >= replication for block in placement)


def run_rereplicate(stack: Stack, run: Run) -> Result:
    """Files with one replica get the full number: how long until every block has it?

    What HDFS does after losing replicas, without the minutes in which it only waits for a lost node to come back.
    """
    clients, replication = run.parameters["clients"], run.parameters["replication"]
    lost = run.parameters["lost_replicas"]
    _empty(stack, clients)
    if not stack.testbed.fabrics_move:
        stack.testbed.fabric(run.parameters["load_fabric"])
    stack.ease(True)  # replicas get lost long after they were written
    _put_all(stack, run, _run_files(stack, run), {"dfs.replication": replication - lost})
    placement, fsck = _placement(stack)
    expected = clients * run.parameters["puts_per_client"] * run.scale.file_bytes
    if sum(block["bytes"] for block in placement) != expected:
        raise RunFailed("the files to copy were not written whole")

    def act() -> dict[str, Any]:
        outcome = stack.hdfs.shell(*rereplicate.raise_replication(DATA, replication))
        if outcome.status != 0:
            raise RunFailed(f"hdfs dfs -setrep: status {outcome.status}: {outcome.output[:200]}")
        # Asked again and again; the NameNode's count of blocks in want leaves out those that are being copied.
        watch(stack, lambda: _all_have(_placement(stack)[0], replication), run.timeout)
        return {"start": outcome.begin, "end": stack.testbed.now(), "busy_clients": []}

    result = observed(stack, run, act)
    placement, after = _placement(stack)
    copied = {"bytes_copied": expected * lost, "blocks_copied": len(placement) * lost, "placement": placement}
    return Result(result.record | copied, result.files | {"fsck-before.txt": fsck + "\n", "fsck.txt": after + "\n"})


WORKLOADS = {"hdfs_put": run_hdfs_put, "rereplicate": run_rereplicate}

FAILURES = (RunFailed, ProcessDied, CommandFailed, TimeoutExpired, RuntimeError, ValueError, OSError)
"""What makes a run invalid and not the block (TimeoutError is an OSError, Unreadable a ValueError)."""
