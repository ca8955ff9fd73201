"""Clients that put files into HDFS: those of a run, and those of a warm-up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whitewire.cluster import hdfs
from whitewire.cluster.hadoop import CommandOutcome, Resident
from whitewire.cluster.hdfs import Hdfs
from whitewire.cluster.stack import Stack
from whitewire.design import scaling
from whitewire.design.scale import PACKET
from whitewire.errors import RunFailed
from whitewire.factors import parameter
from whitewire.factors.seen import PACKET_SIZE
from whitewire.measure import file_systems
from whitewire.measure.client import client_hosts, source_files, watch
from whitewire.measure.file_systems import HdfsFiles, settled_fsck
from whitewire.measure.run import Run
from whitewire.records import evidence
from whitewire.records.run import PlacedBlock, RunRecord
from whitewire.tools import namenode
from whitewire.tools.namenode import fsck_blocks
from whitewire.workloads import rereplicate
from whitewire.workloads.base import DATA
from whitewire.workloads.hdfs_put import put_arguments

_WARM_FILES, _WARM_BYTES = 60, 131072
"""Files of each client in a warm-up, and bytes of each."""


@dataclass(frozen=True)
class StackPuts:
    """The clients of a run that put files into HDFS."""

    stack: Stack
    run: Run
    files: HdfsFiles

    @property
    def clients(self) -> list[Resident]:
        """The JVMs that put: the first ones on the hosts of the run's clients."""
        hosts = client_hosts(self.stack.testbed, self.run.parameters)
        return [client for client in self.stack.clients if client.host in hosts][: self.run.parameters["clients"]]

    def names(self) -> list[str]:
        return [client.name for client in self.clients]

    def source_files(self) -> list[str]:
        hosts = [client.host for client in self.clients]
        return source_files(hosts, self.run.scale.file_bytes, self.run.parameters["puts_per_client"])

    def empty(self) -> None:
        empty(self.stack, len(self.clients))
        self.files.code(DATA)

    def put(self, files: list[str], settings: Mapping[str, Any]) -> list[CommandOutcome]:
        """All clients put all files, started together, with the run's blocks and packets, and `settings`."""
        scale = self.run.scale
        options = {"dfs.blocksize": scale.block_bytes} | scaling.retry_settings(scale.data_fraction)
        if scale.packet_bytes != PACKET:
            options[PACKET_SIZE] = scale.packet_bytes
        options |= {"dfs.replication": parameter(self.run.parameters, "replication")} | dict(settings)
        return put_together(self.stack, self.clients, files, options, self.run.timeout)

    def packets(self) -> int | None:
        asked = "packet_bytes" in self.run.levels or PACKET_SIZE in self.run.settings
        return self.stack.hdfs.packets() if asked and isinstance(self.stack.hdfs, Hdfs) else None

    def operations(self, audit: str) -> list[namenode.Operation]:
        return self.stack.hdfs.operations(audit, _folders(len(self.clients)))

    def placement(self, settled: bool = False) -> tuple[list[PlacedBlock], str]:
        names = {host.address: host.name for host in self.stack.testbed.hosts}
        text = settled_fsck(self.stack, DATA) if settled else self.stack.hdfs.blocks(DATA)
        found: list[PlacedBlock] = [
            {"file": block.path, "block_index": block.index, "bytes": block.length,
             "datanodes": [names.get(address, address) for address in block.addresses]}
            for block in fsck_blocks(text, bool(self.files.coding))
        ]  # fmt: skip
        return found, text

    def wait_for_placement(self, complete: Callable[[list[PlacedBlock]], bool]) -> None:
        watch(self.stack, lambda: complete(self.placement()[0]), self.run.timeout)

    def raise_replication(self, replication: int) -> CommandOutcome:
        return self.stack.hdfs.shell(*rereplicate.raise_replication(DATA, replication))

    def stored(self, fsck: str) -> RunRecord:
        seen = evidence.of_fsck(fsck, bool(self.files.coding))
        asked, found = self.files.store(DATA, seen)
        return {
            **file_systems.coded(self.files.coding),
            "asked": {"store": asked},
            "evidence": {"files": {"output": seen}, "store": found},
        }


def warm_up_puts(stack: Stack) -> None:
    """Every client puts many one-block files: a JVM compiles what it has done some hundred times."""
    paths = source_files([client.host for client in stack.clients], _WARM_BYTES, _WARM_FILES)
    empty(stack, len(stack.clients))
    put_together(stack, stack.clients, paths, {"dfs.blocksize": _WARM_BYTES}, timeout=120)


def empty(stack: Stack, clients: int) -> None:
    """Make an empty folder for each client. Raises RunFailed."""
    stack.hdfs.remove(DATA)
    if stack.hdfs.shell("-mkdir", "-p", *_folders(clients)).status != 0:
        raise RunFailed("the folders of the run could not be made in HDFS")


def _folders(clients: int) -> list[str]:
    """The clients' folders in HDFS."""
    return [f"{DATA}/client{number}" for number in range(1, clients + 1)]


def put_together(stack: Stack, clients: Sequence[Resident], files: list[str], options: Mapping[str, Any],
                 timeout: float) -> list[CommandOutcome]:  # fmt: skip
    """The clients put all files at one signal; returns the outcomes of their commands."""
    for number, client in enumerate(clients, start=1):
        client.begin(hdfs.FS_SHELL, put_arguments(files, f"{DATA}/client{number}", options))
    watch(stack, lambda: all(client.done() for client in clients), timeout)
    return [client.result(timeout=1) for client in clients]
