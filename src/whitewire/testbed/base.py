"""The contract that every testbed keeps: hosts by role, commands on them, fabrics between them.

A testbed is used as a context manager. Leaving it, an exception, SIGTERM or SIGKILL of this process all
leave nothing behind: no process, namespace, mount or folder.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from whitewire.errors import UserError

Argv = Sequence[str]


class ProcessDied(RuntimeError):
    """A daemon ended that should have gone on; the message ends with the end of its log."""


class CommandFailed(RuntimeError):
    """A command on a host ended with a status other than 0."""


@dataclass(frozen=True)
class Completed:
    """What a finished command left: exit status and verbatim output (bytes)."""

    argv: tuple[str, ...]
    status: int
    stdout: bytes
    stderr: bytes

    def check(self) -> Completed:
        """Return self, or raise CommandFailed with the end of what the command said."""
        if self.status != 0:
            said = (self.stderr.strip() or self.stdout.strip()).decode(errors="replace")[-500:]
            raise CommandFailed(f"{' '.join(self.argv)}: exit status {self.status}: {said}")
        return self


@dataclass
class Process:
    """A daemon on a host. Its output goes to `log`; `stop` ends it and waits until it has ended."""

    name: str
    popen: subprocess.Popen
    log: Path
    position: int = 0
    """Where its output begins in the log, which may hold that of an earlier process."""

    @property
    def alive(self) -> bool:
        return self.popen.poll() is None

    def log_end(self, lines: int = 12) -> str:
        return "\n".join(self.said().splitlines()[-lines:])

    def said(self) -> str:
        """All of its output so far."""
        with self.log.open("rb") as log:
            log.seek(self.position)
            return log.read().decode(errors="replace")

    def check(self) -> None:
        """Raise ProcessDied when the daemon has ended."""
        if not self.alive:
            raise ProcessDied(f"{self.name} ended with status {self.popen.returncode}; its log ends:\n{self.log_end()}")

    def wait_ready(self, pattern: str, count: int = 1, timeout: float = 60.0) -> list[re.Match]:
        """Wait until the log holds `count` distinct matches of `pattern`, and return them.

        Raises ProcessDied when the daemon ends first, TimeoutError with the log's end after `timeout` seconds.
        """
        compiled, deadline = re.compile(pattern), time.monotonic() + timeout
        while True:
            found = {match.group(0): match for match in compiled.finditer(self.said())}
            if len(found) >= count:
                return list(found.values())
            self.check()
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"{self.name}: {len(found)} of {count} times /{pattern}/ after {timeout:.0f} s; "
                    f"its log ends:\n{self.log_end()}"
                )
            time.sleep(0.05)

    def main_process(self) -> psutil.Process | None:
        """The daemon itself, below the command that carries it to its host."""
        try:
            children = psutil.Process(self.popen.pid).children()
        except psutil.Error:
            return None
        return children[0] if children else None

    def cpu_seconds(self) -> float:
        """CPU time used so far, user and system, in seconds (0 when it has ended)."""
        try:
            times = self.main_process().cpu_times()
        except (psutil.Error, AttributeError):
            return 0.0
        return times.user + times.system

    def kill(self) -> None:
        """End the daemon at once (SIGKILL), as a crash would."""
        main = self.main_process()
        if main is not None:
            with contextlib.suppress(psutil.NoSuchProcess):
                main.kill()
        elif self.alive:  # it has not got so far as to start
            self.popen.kill()
        self.popen.wait(timeout=10)

    def stop(self, timeout: float = 5.0) -> None:
        """End the daemon: SIGTERM, then SIGKILL after `timeout` seconds."""
        main = self.main_process()
        if main is not None:
            try:
                main.terminate()
                self.popen.wait(timeout=timeout)
            except (psutil.Error, subprocess.TimeoutExpired):
                pass
        if self.alive:
            self.popen.kill()
        self.popen.wait(timeout=10)


class Host(ABC):
    """One machine of a testbed."""

    name: str
    role: str
    address: str

    @abstractmethod
    def run(
        self,
        argv: Argv,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
        timeout: float | None = None,
    ) -> Completed:
        """Run a command to its end. `argv` is a list, never a shell string."""

    @abstractmethod
    def start(self, argv: Argv, log: Path, env: Mapping[str, str] | None = None, name: str = "") -> Process:
        """Start a daemon whose output goes to the file `log`."""

    @abstractmethod
    def put(self, content: bytes, path: str) -> None:
        """Write a file on the host."""

    @abstractmethod
    def get(self, path: str) -> bytes:
        """Read a file of the host."""

    @property
    @abstractmethod
    def drive_root(self) -> str:
        """The folder that holds the host's drives, one folder a drive."""

    @abstractmethod
    def drive(self, number: int) -> str:
        """The folder of one of the host's drives (1, 2, …)."""


@dataclass(frozen=True)
class Fabric:
    """A network between the hosts: its name and the rate of each host's link.

    `rate` is what is set on this testbed, `full_scale_rate` what it stands for, both in Mbit/s.
    """

    name: str
    rate: float
    full_scale_rate: float


class Testbed(ABC):
    """Hosts that live as long as the `with` block."""

    hosts: list[Host]
    emulated: bool = False

    @abstractmethod
    def fabric(self, name: str) -> Fabric:
        """Put the hosts on the named fabric and verify that they are on it."""

    @abstractmethod
    def share(self, path: str, content: bytes) -> None:
        """Write a file at the same path on every host."""

    @abstractmethod
    def counters(self) -> dict[str, dict[str, int]]:
        """For each host name: `egress` and `ingress` bytes of its link since it came up."""

    def __enter__(self) -> Testbed:
        return self

    @abstractmethod
    def __exit__(self, *exception) -> None: ...

    def by_role(self, role: str) -> list[Host]:
        return [host for host in self.hosts if host.role == role]

    def host(self, name: str) -> Host:
        for host in self.hosts:
            if host.name == name:
                return host
        raise UserError(f"testbed: no host {name}, expected one of {', '.join(h.name for h in self.hosts)}")
