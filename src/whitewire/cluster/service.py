"""The interface of a cluster's services: processes that are started, watched and stopped together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Self

from whitewire.testbed.base import Host, Process


class Service(ABC):
    """Daemons, mounts and clients that are started and stopped together."""

    start_seconds = 0.0

    @abstractmethod
    def start(self) -> None:
        """Bring everything up and wait until it can be used. Raises ProcessDied, TimeoutError or UserError."""

    def settle(self) -> None:  # noqa: B027 - most services leave nothing
        """Wait for parts that start() left to come up meanwhile, if any. Raises like start()."""

    @abstractmethod
    def stop(self) -> None:
        """End everything; also after a start that failed halfway."""

    @abstractmethod
    def processes(self) -> dict[str, Process]:
        """Every process, by a name that is unique in the service."""

    @property
    def web_servers(self) -> Mapping[str, Sequence[tuple[Host, str]]]:
        """Host and address (name:port) of the web server of each of its Hadoop daemons, by kind of daemon."""
        return {}

    def check(self) -> None:
        """Raise ProcessDied, with the name and the end of the log, when a process has ended."""
        for process in self.processes().values():
            process.check()

    def dead(self) -> list[str]:
        """Names of the processes that have ended."""
        return [process.name for process in self.processes().values() if not process.alive]

    def wait_for(self, process: Process, pattern: str, count: int = 1) -> None:
        """Wait until the process has printed `pattern` `count` times. Raises like check() if any process dies."""
        process.wait_ready(pattern, count, meanwhile=self.check)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()
