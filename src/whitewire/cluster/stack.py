"""All services of one measurement together: HDFS and, if an experiment needs them, YARN and a mounted file system."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from whitewire.atomic import check_space
from whitewire.cluster.cephfs import CephFs
from whitewire.cluster.existing import Existing
from whitewire.cluster.hadoop import Resident, reported_by_daemon
from whitewire.cluster.hdfs import Hdfs
from whitewire.cluster.hibench import HiBench
from whitewire.cluster.posix import Posix
from whitewire.cluster.service import Service
from whitewire.cluster.yarn import Yarn
from whitewire.description.hadoop import daemons_that_read
from whitewire.design.drive import Drive
from whitewire.records.evidence import merged_settings
from whitewire.testbed.base import Host, Process, Testbed
from whitewire.testbed.drives import put_drives
from whitewire.testbed.each import on_each


class Stack:
    """The services by name; `yarn` and `mounted` (CephFS, or a site's file system) are None if no run needs them.

    `hibench`: the testbed's HiBench, if it has one and runs want it.
    `made`: the input that is at each place for inputs that runs share; `overheads`: startup overheads by kind of job:
    seconds by job, and under `wire` the bytes into all workers.
    """

    def __init__(
        self, hdfs: Hdfs | Existing, yarn: Yarn | Existing | None = None, mounted: CephFs | Posix | None = None,
        hibench: HiBench | None = None,
    ) -> None:  # fmt: skip
        self.hdfs, self.yarn, self.mounted, self.hibench = hdfs, yarn, mounted, hibench
        self.made: dict[Any, Any] = {}
        self.overheads: dict[Any, dict[str, float]] = {}
        self.drive = hdfs.drive
        self.slow_drives = 1.0
        """Rate of the slow worker's drives, as a share of the others'."""
        self.set_on_drives: tuple[Drive, bool, float, int] | None = None
        self.epoch = 0
        """Number of the drive model's present run: each new number empties memory and begins new counts."""
        self.at_work: tuple[int, int] | None = None

    @property
    def testbed(self) -> Testbed:
        return self.hdfs.testbed

    @property
    def logs(self) -> Path:
        return self.hdfs.logs

    @property
    def clients(self) -> list[Resident]:
        return self.hdfs.clients

    @property
    def reuses_jvms(self) -> bool:
        """Whether tasks run in JVMs that stay from one task to the next, and get faster over them."""
        return isinstance(self.yarn, Yarn) and self.yarn.reuses_jvms

    @property
    def _services(self) -> list[Service]:
        found = (self.hdfs, self.yarn, self.mounted)
        return [service for service in dict.fromkeys(found) if service is not None]

    @property
    def start_seconds(self) -> dict[str, float]:
        return {type(service).__name__.lower(): service.start_seconds for service in self._services}

    @property
    def first_failure(self) -> str:
        """Why the first start of our own mounted file system failed; empty if it did not."""
        return self.mounted.first_failure if isinstance(self.mounted, CephFs) else ""

    def start(self) -> None:
        """Start one service after the other; the first that fails ends it (ProcessDied, TimeoutError, UserError)."""
        self.made.clear()
        self.set_on_drives, self.at_work, self.epoch = (self.hdfs.drive, False, 1.0, 0), None, 0
        for service in self._services:
            service.start()

    def settle(self) -> None:
        """Wait for what services left to come up beside the warm-up (ProcessDied, TimeoutError)."""
        for service in self._services:
            service.settle()

    def stop(self) -> None:
        for service in reversed(self._services):
            service.stop()

    def ease(self, ease: bool, fresh: bool = False) -> None:
        """Unthrottle the modelled drives of workers and clients (`ease`), or throttle them as `drive` says.

        `fresh`: empty the workers' memory in front of their drives: nothing in it is dirty or can be read. Counts of
        writers, and of bytes to drives for intermediate data, begin anew.
        """
        self.epoch += fresh and (self.drive.cached or self.drive.writer > 0 or self.drive.intermediate is not None)
        wanted = self.drive, ease, self.slow_drives, self.epoch
        if self.hdfs.drive.limits and wanted != self.set_on_drives:
            slow = self.drive.slowed(self.slow_drives)

            def put(host: Host) -> None:
                put_drives(slow if host is self.slow_worker else self.drive, host, ease, self.epoch)

            on_each([*self.testbed.by_role("datanode"), *self.testbed.by_role("client")], put)
            self.set_on_drives = wanted

    @property
    def slow_worker(self) -> Host:
        """The worker that is slower than the others if a run wants one: the last one that runs tasks."""
        workers = self.testbed.by_role("datanode")
        return workers[: self.at_work[0]][-1] if self.at_work else workers[-1]

    def scale(self, k: float, drive: Drive, slow_drives: float = 1.0) -> None:
        """From now on slow links down by k, and model the drives of workers and object servers by `drive`.

        `slow_drives`: rate of one worker's drives, as a share of the others'.
        """
        self.testbed.k, self.drive, self.slow_drives = k, drive, slow_drives
        if isinstance(self.mounted, CephFs) and drive.limits:
            self.mounted.drives.set_rate(drive.rate)

    def work_on(self, at_work: tuple[int, int] | None) -> None:
        """Let tasks run on the first workers only: (number of workers, tasks at once on each). None: on all again."""
        if at_work != self.at_work:
            if not isinstance(self.yarn, Yarn):
                raise RuntimeError("only a YARN of our own can choose which workers run tasks")
            self.yarn.work_on(at_work)
            self.at_work = at_work

    def check(self) -> None:
        """Raise ProcessDied, with the name and the end of the log, when any daemon or client has ended.

        Raises OSError when there is no space left for their logs.
        """
        for service in self._services:
            service.check()
        check_space(self.logs)

    def settings_of_daemons(self, names: Iterable[str]) -> dict[str, str]:
        """Settings as the daemons that read them report them; all their values, if these differ. Raises Unreadable."""
        readers = {name: daemons_that_read(name) or () for name in names}
        asked = [
            (host, server, own)
            for service in self._services
            for kind, servers in service.web_servers.items()
            if (own := [name for name, kinds in readers.items() if kind in kinds])
            for host, server in servers
        ]
        around = self.hdfs.installation.environment()
        return merged_settings(on_each(asked, lambda each: reported_by_daemon(*each, around)), readers)

    def dead(self) -> list[str]:
        return [name for service in self._services for name in service.dead()]

    def processes(self) -> dict[str, Process]:
        return {name: process for service in self._services for name, process in service.processes().items()}
