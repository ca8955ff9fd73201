"""The file system of a run: HDFS with replicas or erasure coding, or a mounted one (CephFS, a site's own)."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Protocol

from whitewire.cluster import yarn
from whitewire.cluster.cephfs import CephFs
from whitewire.cluster.hdfs import Hdfs
from whitewire.cluster.posix import Posix
from whitewire.cluster.stack import Stack
from whitewire.design import scaling
from whitewire.errors import RunFailed
from whitewire.measure.client import StackClient, viewed
from whitewire.measure.run import Run
from whitewire.records import evidence
from whitewire.records.run import EvidenceRecord, FilesSeen, RunRecord
from whitewire.tools import namenode
from whitewire.tools.erasure_coding import Policy
from whitewire.workloads.base import OUTPUT
from whitewire.workloads.bench import Files

INPUT = "/input"
"""Folder of the inputs that runs share."""
SETTLE_S = 1.0
"""Longest wait for DataNodes to report replicas that they have."""

Store = dict[str, object]


class FileSystem(Files, Protocol):
    """Differences between the file systems of runs, including those that workloads need not know."""

    @property
    def inputs(self) -> str:
        """The folder of inputs that runs share."""

    @property
    def identity(self) -> str:
        """What distinguishes an input from others besides its path."""

    def begin_input(self, place: str) -> None:
        """Remove an input in `inputs` before it is made again."""

    def seen(self, path: str) -> FilesSeen:
        """A folder as the file system reports it."""

    def store(self, path: str, files: FilesSeen) -> tuple[Store, Store]:
        """Requested and reported settings of the file system for a path with these files."""

    def record(self, output_copies: int) -> RunRecord:
        """The file system's part of a job run's record; `output_copies`: replicas that HDFS would make."""

    def caches(self) -> EvidenceRecord:
        """Evidence of files in hosts' memory when the run wanted it empty."""


def file_system(stack: Stack, run: Run) -> FileSystem:
    """The file system of a run. Raises RunFailed where the cluster lacks it."""
    if run.store["kind"] != "cephfs":
        return HdfsFiles(stack, run)
    if stack.mounted is None:
        raise RunFailed("the cluster has no mounted file system")
    return MountedFiles(stack.mounted, run, StackClient(stack, run))


@dataclass(frozen=True)
class HdfsFiles:
    """HDFS, whose files are kept as replicas or, by the run's store, erasure-coded."""

    stack: Stack
    run: Run

    @property
    def coding(self) -> Policy | None:
        """The erasure coding of the run's files, in cells that are scaled like blocks; None: replicas."""
        name, block = self.run.store.get("erasure_coding"), self.run.scale.block_bytes
        policy = Policy.of(name) if name else None
        return policy and policy.of_block(block, block / self.run.parameters["block_size_bytes"])

    def path(self, path: str) -> str:
        return path

    def output(self, name: str) -> str:
        return f"{OUTPUT}/{name}"

    def begin(self, folder: str = OUTPUT) -> None:
        self.stack.hdfs.remove(folder)
        self.code(folder)

    def code(self, folder: str) -> None:
        """Erasure-code files below a folder if the run's files are coded; else they are kept as replicas."""
        if self.coding:
            if not isinstance(self.stack.hdfs, Hdfs):
                raise RunFailed("erasure coding: only an HDFS of our own can code files")
            self.stack.hdfs.code(folder, self.coding)

    def make_output(self) -> None:
        self.stack.hdfs.shell("-mkdir", "-p", OUTPUT)

    def drop_caches(self) -> None:
        """HDFS's clients have no cache."""

    @property
    def inputs(self) -> str:
        return f"{INPUT}-{self.coding.name}" if self.coding else INPUT

    @property
    def identity(self) -> str:
        return ""

    def begin_input(self, place: str) -> None:
        self.stack.hdfs.remove(place)
        self.code(self.inputs)

    def seen(self, path: str) -> FilesSeen:
        return evidence.of_fsck(settled_fsck(self.stack, path), bool(self.coding))

    def store(self, path: str, files: FilesSeen) -> tuple[Store, Store]:
        asked = {"erasure_coding": self.coding.name} if self.coding else {}
        found = {"erasure_coding": name} if (name := evidence.coding(files)) else {}
        return {"kind": "hdfs", **asked}, {"kind": "hdfs" if files["files"] else "no files in HDFS", **found}

    def record(self, output_copies: int) -> RunRecord:
        return {"mounted": False, "output_replication": output_copies, **coded(self.coding)}

    def caches(self) -> EvidenceRecord:
        return {}


def settled_fsck(stack: Stack, path: str) -> str:
    """Output of fsck for a folder, after a wait for all DataNodes to report their replicas.

    A file is complete as soon as one replica of each block, or the data of each block group, is reported.
    """
    deadline = time.monotonic() + SETTLE_S
    while namenode.lacks_replicas(text := stack.hdfs.blocks(path)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return text


def coded(coding: Policy | None) -> RunRecord:
    """The record's part on erasure coding; nothing for replicas."""
    return {"coding": coding.name} if coding else {}


@dataclass(frozen=True)
class MountedFiles:
    """A mounted file system with the run's layout and clients' caches, scaled."""

    mount: CephFs | Posix
    run: Run
    client: StackClient

    def path(self, path: str) -> str:
        return f"{yarn.MOUNTED}{path}"

    def output(self, name: str) -> str:
        return self.path(f"{OUTPUT}/{name}")

    def begin(self, folder: str = OUTPUT) -> None:
        store, scale = self.run.store, self.run.scale
        # Remount first: before a removal the metadata server asks all clients that have the file open or cached.
        self.mount.remount(
            max_dirty=scaling.client_cache(store["max_dirty_bytes"], scale.k, scale.data_fraction),
            readahead=scaling.client_cache(store["readahead_bytes"], scale.k, scale.data_fraction),
        )
        self.begin_input(folder)
        for name in (INPUT, folder):
            unit = scaling.stripe_unit(store["stripe_size_bytes"], scale.k)
            self.mount.layout(name.lstrip("/"), store["stripe_count"], unit)

    def make_output(self) -> None:
        """The layout has made it."""

    def drop_caches(self) -> None:
        self.mount.remount()

    @property
    def inputs(self) -> str:
        return INPUT

    @property
    def identity(self) -> str:
        return json.dumps(self.run.store, sort_keys=True)

    def begin_input(self, place: str) -> None:
        self.mount.remove(place.lstrip("/"))

    def seen(self, path: str) -> FilesSeen:
        if isinstance(self.mount, CephFs) and path.startswith(self.path(OUTPUT)):
            # Else clients that have just written files are asked for their sizes, about a second per file.
            self.mount.remount()
        return evidence.of_count(self.client.shell(["-count", viewed(path)], "what was written").output)

    def store(self, path: str, files: FilesSeen) -> tuple[Store, Store]:
        folder = path.removeprefix(yarn.MOUNTED).lstrip("/").split("/")[0]
        return self.mount.asked(folder), self.mount.reported(folder)

    def record(self, output_copies: int) -> RunRecord:
        return {"mounted": True, "output_replication": 1}

    def caches(self) -> EvidenceRecord:
        """For a site's own file system, why hosts' memory may have held files; else nothing."""
        parameters = self.run.parameters
        cold = not parameters.get("keep_caches") and parameters.get("operation") != "write"
        return {"warm": self.mount.warm} if isinstance(self.mount, Posix) and cold else {}
