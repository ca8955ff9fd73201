"""The interface of all testbeds: hosts by role, commands on them, fabrics between them.

A testbed is used as a context manager. No process, namespace, mount or folder is left after its end, whether by
leaving the context, an exception, or SIGTERM or SIGKILL of this process.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import psutil

from whitewire.atomic import check_space
from whitewire.description.capabilities import Capabilities, capabilities_of
from whitewire.description.transports import Transport
from whitewire.errors import UserError
from whitewire.records.samples import ETHERNET, HEADERS, MTU
from whitewire.testbed.each import on_each
from whitewire.testbed.installation import Installation
from whitewire.testbed.samples import Sampler, Sampling, WaitMeter
from whitewire.tools.link import Link
from whitewire.tools.rdma_counters import PortCounters

Argv = Sequence[str]

_PATIENCE = 180.0
"""Longest wait for a daemon to be ready, in seconds: many times what a whole cluster takes on an average machine."""


FRAME_SHARE = (MTU - HEADERS) / (MTU + ETHERNET)
"""Share of TCP payload in a full Ethernet frame (counted without checksum, as shapers and interfaces do)."""


class ProcessDied(RuntimeError):
    """A daemon ended unexpectedly; the message closes with the last lines of its log."""


class CommandFailed(RuntimeError):
    """A command on a host ended with a status other than 0."""


def last_line(said: bytes | str) -> str:
    """The last non-empty line of an output, at most 300 characters."""
    text = said if isinstance(said, str) else said.decode(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no message"


def piped(stream: IO[bytes] | None) -> IO[bytes]:
    """The given standard stream, which the process must have been started with a pipe for."""
    assert stream is not None, "the process was started without a pipe for this stream"
    return stream


def read_line(stream: IO[bytes], deadline: float) -> bytes:
    """The next line of an unbuffered stream; a partial one at the end of the stream or at the (monotonic) deadline."""
    line = b""
    poll = select.poll()
    poll.register(stream, select.POLLIN)
    while not line.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            break
        byte = os.read(stream.fileno(), 1)
        if not byte:
            break
        line += byte
    return line


@dataclass(frozen=True)
class Completed:
    """Result of a finished command: exit status and verbatim output (bytes)."""

    argv: tuple[str, ...]
    status: int
    stdout: bytes
    stderr: bytes

    def check(self) -> Completed:
        """Return self, or raise CommandFailed with the end of the command's output."""
        if self.status != 0:
            said = (self.stderr.strip() or self.stdout.strip()).decode(errors="replace")[-500:]
            raise CommandFailed(f"{' '.join(self.argv)}: exit status {self.status}: {said}")
        return self


@dataclass
class Process:
    """A daemon on a host. Its output goes to `log`; `stop` ends it and waits until it has ended."""

    name: str
    popen: subprocess.Popen[bytes]
    log: Path
    position: int = 0
    """Byte offset of its output in the log, which may begin with that of an earlier process."""
    _main: psutil.Process | None = field(default=None, init=False, repr=False)

    @property
    def alive(self) -> bool:
        return self.popen.poll() is None

    def log_end(self, lines: int = 12) -> str:
        return "\n".join(self.said().splitlines()[-lines:])

    def said(self, since: int | None = None) -> str:
        """The daemon's output so far: all of it, or that from a byte of its log on."""
        with self.log.open("rb") as log:
            log.seek(self.position if since is None else since)
            return log.read().decode(errors="replace")

    def check(self) -> None:
        """Raise ProcessDied when the daemon has ended."""
        if not self.alive:
            raise ProcessDied(f"{self.name} ended with status {self.popen.returncode}; its log ends:\n{self.log_end()}")

    def wait_ready(
        self,
        pattern: str,
        count: int = 1,
        timeout: float = _PATIENCE,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> list[re.Match]:
        """Wait until the log holds `count` distinct matches of `pattern`, and return them.

        `meanwhile` is called repeatedly during the wait, and may raise. Raises ProcessDied when the daemon ends first,
        TimeoutError with the log's end after `timeout` seconds, OSError when there is no space left for the log.
        """
        compiled, deadline = re.compile(pattern), time.monotonic() + timeout
        while True:
            found = {match.group(0): match for match in compiled.finditer(self.said())}
            if len(found) >= count:
                return list(found.values())
            self.check()
            check_space(self.log)
            meanwhile()
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"{self.name}: {len(found)} of {count} times /{pattern}/ after {timeout:.0f} s; "
                    f"its log ends:\n{self.log_end()}"
                )
            time.sleep(0.05)

    def stood_still(self) -> bool:
        """Whether a signal (SIGSTOP) stopped the daemon since the last call, even if it runs again by now.

        The local command that carries the daemon stops with it, and the kernel reports that to the parent.
        """
        still = False
        with contextlib.suppress(ChildProcessError):  # it has ended
            while os.waitid(os.P_PID, self.popen.pid, os.WSTOPPED | os.WCONTINUED | os.WNOHANG):
                still = True
        return still

    def main_process(self) -> psutil.Process | None:
        """The daemon itself, below the command that carries it to its host; None when it has ended."""
        if self._main is None:  # search once only: a search reads every process of the machine
            with contextlib.suppress(psutil.Error):
                self._main = next(iter(psutil.Process(self.popen.pid).children()), None)
        return self._main if self._main is not None and self._main.is_running() else None

    def cpu_seconds(self) -> float:
        """CPU time used so far, user and system, in seconds (0 when it has ended)."""
        main = self.main_process()
        if main is None:
            return 0.0
        try:
            times = main.cpu_times()
        except psutil.Error:
            return 0.0
        return times.user + times.system

    def kill(self) -> None:
        """End the daemon at once (SIGKILL), as a crash would."""
        main = self.main_process()
        if main is not None:
            with contextlib.suppress(psutil.NoSuchProcess):
                main.kill()
            # nsenter stops when its child is stopped, and would then never notice the child's end.
            self.popen.send_signal(signal.SIGCONT)
        elif self.alive:  # the daemon itself has not started yet
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


def cpu_seconds(processes: Mapping[str, Process]) -> dict[str, float]:
    """CPU seconds used so far by each host's process."""
    found = on_each(list(processes.values()), lambda process: process.cpu_seconds())
    return dict(zip(processes, found, strict=True))


class Host(ABC):
    """One machine of a testbed."""

    name: str
    role: str
    address: str
    """Its IP address on the fabric in use."""
    interface: str = "eth0"
    """The network interface with that address."""
    folder: str
    """The folder for the files of the host's daemons."""
    scratch: str = "/tmp"
    """A folder for files of this run that is private to the host."""

    @property
    def endpoint(self) -> str:
        """The host's name or address in configuration files and on command lines."""
        return self.name

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
    def start(self, argv: Argv, log: Path, env: Mapping[str, str] | None = None, name: str = "",
              stdin: int = subprocess.DEVNULL) -> Process:  # fmt: skip
        """Start a daemon whose output goes to the file `log`; `stdin` as for subprocess.Popen."""

    def run_outside(self, argv: Argv, stdin: bytes | None = None, timeout: float | None = None) -> Completed:
        """Like run(), but on the machine itself even if the host's commands run in a container image."""
        return self.run(argv, stdin=stdin, timeout=timeout)

    def start_outside(self, argv: Argv, log: Path, name: str) -> Process:
        """Like start(), but on the machine itself even if the host's commands run in a container image."""
        return self.start(argv, log, name=name)

    @abstractmethod
    def put(self, content: bytes, path: str) -> None:
        """Write a file on the host."""

    @abstractmethod
    def get(self, path: str) -> bytes:
        """Read a file of the host."""

    def clear_drives(self) -> None:
        """Remove everything that a cluster wrote to the host's drives."""
        self.run(["rm", "-rf", self.drive_root]).check()

    @property
    @abstractmethod
    def drive_root(self) -> str:
        """The folder that holds the host's drives, one folder per drive."""

    @abstractmethod
    def drive(self, number: int) -> str:
        """The folder of one of the host's drives (1, 2, …)."""


@dataclass(frozen=True)
class Fabric:
    """A network between the hosts: its name and the rate of each host's link.

    `rate` is set on this testbed and represents `full_scale_rate`, both in Mbit/s. `shared`: all hosts share that
    rate, both directions together, as on one segment without a switch. `burst`: bytes that a shaped link passes at
    once after a pause, which matters for short transfers; 0 on a real link. `mtu`: largest IP packet in bytes; 0: the
    site's own.
    `racks`: number of racks (0: all hosts are on one switch), `uplink`: rate of each rack's uplink on this testbed, in
    Mbit/s. `unlike`: hosts whose link differs from `rate`, each with its share of it.
    """

    name: str
    rate: float
    full_scale_rate: float
    shared: bool = False
    burst: int = 0
    mtu: int = MTU
    racks: int = 0
    uplink: float = 0.0
    unlike: tuple[tuple[str, float], ...] = ()


def host_names(roles: Mapping[str, int]) -> list[tuple[str, str]]:
    """(name, role) of every host, in the order of the roles: `client`, or `client1`, `client2`, …"""
    return [
        (role if count == 1 else f"{role}{number}", role)
        for role, count in roles.items()
        for number in range(1, count + 1)
    ]


class Testbed(ABC):
    """Hosts that live as long as the `with` block."""

    hosts: Sequence[Host]
    config: Mapping[str, Any]
    """The testbed's description, as config/testbeds/<name>.yaml gives it."""
    k: float = 1
    """The divisor of its links' rates (scale factor); 1 on real hardware."""
    shared: str | None = None
    """A folder shared by all hosts; None where there is none."""
    congestion_control: str = ""

    @property
    def capabilities(self) -> Capabilities:
        return capabilities_of(self.config)

    def preflight(self, bare: bool = False, transport: Transport | None = None) -> str:
        """Check all hosts before anything is started; returns the SHA-256 of their container image (empty: none).

        Does nothing where the testbed makes its own hosts. `bare`: check only what measurements of links and drives
        need, without Java and Hadoop. `transport`: the only one whose needs are checked; None: all of the testbed.
        Raises a UserError that names unusable hosts.
        """
        return ""

    @abstractmethod
    def fabric(self, name: str, port_buffer: int | None = None, mtu: int | None = None,
               slow: Mapping[str, float] | None = None) -> Fabric:  # fmt: skip
        """Put the hosts on the named fabric and verify that they are on it.

        `port_buffer`: queue of a switch port in bytes; `mtu`: largest IP packet in bytes; `slow`: by name, hosts whose
        links are slower, each with its share of the rate. Raises UserError where the testbed cannot set one of these,
        and for a fabric that it does not have.
        """

    def fastest(self) -> str:
        """The fabric for work that is not measured: the fastest one that running services can use."""
        fabrics = self.config["fabrics"]
        plain = [name for name in fabrics if not fabrics[name].get("racks")] or list(fabrics)
        return max(plain, key=lambda name: fabrics[name]["rate_mbit_per_s"])

    @abstractmethod
    def share(self, path: str, content: bytes) -> None:
        """Write a file at the same path on every host."""

    @abstractmethod
    def counters(self) -> dict[str, dict[str, int]]:
        """Bytes sent (`egress`) and received (`ingress`) by each host's link since it came up, by host name."""

    @abstractmethod
    def cpu_seconds(self) -> dict[str, float]:
        """CPU seconds (user and system) used so far, by host name."""

    @abstractmethod
    def installation(self) -> Installation:
        """Locations of Java and Hadoop on the hosts; copies the software there first if the site has none."""

    def waiting(self) -> WaitMeter | None:
        """A meter of the hosts' waits for processors; None where each host has processors of its own."""
        return None

    @abstractmethod
    def tcp_retransmits(self) -> dict[str, int]:
        """TCP segments sent again so far because they were lost, by host name; see tools.tcp."""

    @abstractmethod
    def queue_drops(self) -> int:
        """Packets that the links of all hosts have dropped so far."""

    def carrier_changes(self) -> dict[str, int]:
        """How often each host's link has come up or gone down so far, by name; only hosts that count it."""
        return {}

    @abstractmethod
    def offloads(self, on: bool) -> None:
        """Switch the segmentation offloads of all links. Raises UserError where the testbed cannot."""

    @abstractmethod
    def links(self) -> dict[str, Link]:
        """Current state of each host's link as tc, ip and ethtool report it, by host name; see tools.link.Link.

        On a site, values that no tool reports are missing: the queue of a switch port and the rate at which it sends.
        """

    def uplinks(self) -> dict[str, Link]:
        """Current rates of each rack's uplink, by rack; empty where the testbed makes no racks."""
        return {}

    def racks(self, count: int) -> dict[str, str]:
        """The rack of each host that is in one, by host name, on a fabric with `count` racks."""
        return {}

    def segments(self) -> dict[str, tuple[int, int]]:
        """(TCP segments sent so far (RFC 1213 tcpOutSegs), those with data among them), by host name.

        Empty on testbeds that do not read them.
        """
        return {}

    def rdma_ports(self) -> dict[str, PortCounters]:
        """Traffic so far of each host's RDMA port on the fabric in use and of its kernel's TCP, by host name.

        Empty on testbeds whose hosts can have no such port.
        """
        return {}

    def clocks(self) -> dict[str, float]:
        """Seconds that each host's clock is ahead of this machine's, by name; only hosts with a clock of their own."""
        return {}

    def describe(self) -> dict[str, dict[str, Any]]:
        """Hardware and software of each host, by name; empty where hosts are not separate machines."""
        return {}

    def now(self) -> float:
        """Seconds since 1970 by the clock that stamps the NameNode's log."""
        return time.time()

    def sampler(self, by_host: bool = False) -> Sampling:
        """`with testbed.sampler() as sampler:` samples links and processors until the block ends."""
        return Sampler(self, by_host)

    def warm_memory(self, gib: float) -> None:  # noqa: B027 - most testbeds have memory of their own
        """Touch `gib` of memory once, where the first touch is slow."""

    def __enter__(self) -> Testbed:
        return self

    def keep_names(self, known: Mapping[str, str]) -> None:  # noqa: B027 - most testbeds have the same hosts each time
        """Keep the names that hosts had in an earlier job (target → name), because another job gets other nodes."""

    @abstractmethod
    def __exit__(self, *exception: object) -> None: ...

    def by_role(self, role: str) -> list[Host]:
        return [host for host in self.hosts if host.role == role]

    def host(self, name: str) -> Host:
        for host in self.hosts:
            if host.name == name:
                return host
        raise UserError(f"testbed: no host {name}, expected one of {', '.join(h.name for h in self.hosts)}")
