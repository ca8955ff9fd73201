"""The contract that every testbed keeps: hosts by role, commands on them, fabrics between them.

A testbed is used as a context manager. Leaving it, an exception, SIGTERM or SIGKILL of this process all
leave nothing behind: no process, namespace, mount or folder.
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
from whitewire.errors import UserError
from whitewire.records.samples import ETHERNET, HEADERS, MTU
from whitewire.testbed.each import on_each
from whitewire.testbed.installation import Installation
from whitewire.testbed.samples import Sampler, Sampling, WaitMeter
from whitewire.tools.link import Link
from whitewire.tools.rdma_counters import Port

Argv = Sequence[str]

PRELOAD = "LD_PRELOAD"
"""The variable that names the libraries which the loader puts before a program's others."""
PATIENCE = 180.0
"""Seconds until a daemon must be ready: many times what the whole cluster takes on a machine of usual speed."""


def frame_share(mtu: int = MTU) -> float:
    """TCP payload in a full Ethernet frame without its checksum, as a shaper and an interface count frames."""
    return (mtu - HEADERS) / (mtu + ETHERNET)


FRAME_SHARE = frame_share()


class ProcessDied(RuntimeError):
    """A daemon ended that should have gone on; the message ends with the end of its log."""


class CommandFailed(RuntimeError):
    """A command on a host ended with a status other than 0."""


def last_line(said: bytes | str) -> str:
    """The last line that is not empty, at most 300 characters."""
    text = said if isinstance(said, str) else said.decode(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no message"


def piped(stream: IO[bytes] | None) -> IO[bytes]:
    """A standard stream of a process that was started with a pipe for it."""
    assert stream is not None, "the process was started without a pipe for this stream"
    return stream


def read_line(stream: IO[bytes], deadline: float) -> bytes:
    """The next line of an unbuffered stream; what there is of it when the stream ends or time is up (monotonic)."""
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
    popen: subprocess.Popen[bytes]
    log: Path
    position: int = 0
    """Where its output begins in the log, which may hold that of an earlier process."""
    _main: psutil.Process | None = field(default=None, init=False, repr=False)

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

    def wait_ready(
        self,
        pattern: str,
        count: int = 1,
        timeout: float = PATIENCE,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> list[re.Match]:
        """Wait until the log holds `count` distinct matches of `pattern`, and return them.

        `meanwhile` is called as long as it waits, and may raise. Raises ProcessDied when the daemon ends first,
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
        """Whether a signal (SIGSTOP) stopped it since this was asked last, also when it goes on by now.

        What carries it to its host stops with it, and the kernel reports that to the parent.
        """
        still = False
        with contextlib.suppress(ChildProcessError):  # it has ended
            while os.waitid(os.P_PID, self.popen.pid, os.WSTOPPED | os.WCONTINUED | os.WNOHANG):
                still = True
        return still

    def main_process(self) -> psutil.Process | None:
        """The daemon itself, below the command that carries it to its host; None when it has ended."""
        if self._main is None:  # looked for once: it means looking at every process of the machine
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
            # nsenter stops when what it carries is stopped, and would never see it end.
            self.popen.send_signal(signal.SIGCONT)
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
    """The network interface that has it."""
    folder: str
    """Where its part of a cluster keeps its files."""
    scratch: str = "/tmp"
    """A folder for files of this run that no other host has."""
    variables: Mapping[str, str] = {}
    """What every command of run() and start() has in its environment besides its own."""

    def surrounded(self, own: Mapping[str, str] | None) -> dict[str, str]:
        """The environment of a command: libraries of both are preloaded, the command's own first."""
        found = {**self.variables, **(own or {})}
        if preloaded := [of[PRELOAD] for of in (own or {}, self.variables) if of.get(PRELOAD)]:
            found[PRELOAD] = ":".join(preloaded)
        return found

    @property
    def endpoint(self) -> str:
        """What configuration files and command lines call the host by."""
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

    def run_outside(self, argv: Argv, env: Mapping[str, str] | None = None, stdin: bytes | None = None,
                    timeout: float | None = None) -> Completed:  # fmt: skip
        """As run(), on the machine itself where commands run in a container image."""
        return self.run(argv, env, stdin, timeout)

    def start_outside(self, argv: Argv, log: Path, name: str = "") -> Process:
        """As start(), on the machine itself where commands run in a container image."""
        return self.start(argv, log, name=name)

    @abstractmethod
    def put(self, content: bytes, path: str) -> None:
        """Write a file on the host."""

    @abstractmethod
    def get(self, path: str) -> bytes:
        """Read a file of the host."""

    def clear_drives(self) -> None:
        """Remove all that a cluster wrote to the host's drives."""
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

    `rate` is what is set on this testbed, `full_scale_rate` what it stands for, both in Mbit/s. `shared`: all hosts
    share that rate, both directions together, as on one segment without a switch. `burst`: bytes that a shaped link
    passes at once after a pause, which a short transfer notices; 0 on a real one. `mtu`: bytes of an IP packet; 0: what
    the site has.
    `racks`: into how many the hosts are divided (0: all are at one switch), `uplink`: rate of the link of each, set on
    this testbed. `unlike`: hosts whose link has another rate than the others', each with its share of the rate.
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


class Testbed(ABC):
    """Hosts that live as long as the `with` block."""

    hosts: Sequence[Host]
    config: Mapping[str, Any]
    """The testbed's description, as config/testbeds/<name>.yaml gives it."""
    k: float = 1
    """What divides the rates of its links; 1 on real hardware."""
    shared: str | None = None
    """A folder that all hosts see, if there is one."""
    congestion_control: str = ""

    @property
    def capabilities(self) -> Capabilities:
        return capabilities_of(self.config)

    def preflight(self, bare: bool = False) -> None:  # noqa: B027 - not every testbed has to look
        """Look at all hosts before anything is started; nothing to look at where they are made by the testbed itself.

        `bare`: for links and drives alone, which need no Java and no Hadoop. Raises UserError, naming them, when some
        cannot be used.
        """

    @abstractmethod
    def fabric(self, name: str, port_buffer: int | None = None, mtu: int | None = None,
               slow: Mapping[str, float] | None = None) -> Fabric:  # fmt: skip
        """Put the hosts on the named fabric and verify that they are on it.

        `port_buffer` (bytes) is what a switch port queues, `mtu` the bytes of an IP packet, `slow` the share of the
        rate that some hosts' links have, by name; where these can be set. Raises UserError where they cannot, and for a
        fabric that the testbed does not have.
        """

    def fastest(self) -> str:
        """The fabric for what is not measured: the fastest that running services can use."""
        fabrics = self.config["fabrics"]
        plain = [name for name in fabrics if not fabrics[name].get("racks")] or list(fabrics)
        return max(plain, key=lambda name: fabrics[name]["rate_mbit_per_s"])

    @abstractmethod
    def share(self, path: str, content: bytes) -> None:
        """Write a file at the same path on every host."""

    @abstractmethod
    def counters(self) -> dict[str, dict[str, int]]:
        """For each host name: `egress` and `ingress` bytes of its link since it came up."""

    @abstractmethod
    def cpu_seconds(self) -> dict[str, float]:
        """For each host name, CPU seconds (user and system) used so far."""

    @abstractmethod
    def installation(self) -> Installation:
        """Where the hosts find Java and Hadoop; copied there first, if a site has none."""

    def waiting(self) -> WaitMeter | None:
        """The meter of whether the hosts get the processors that they need; None where each has its own."""
        return None

    @abstractmethod
    def tcp_retransmits(self) -> dict[str, int]:
        """For each host name, TCP segments sent again so far (RFC 1213 tcpRetransSegs)."""

    @abstractmethod
    def queue_drops(self) -> int:
        """Packets that the links of all hosts have dropped so far."""

    def carrier_changes(self) -> dict[str, int]:
        """For each host name, how often its link has come up or gone down so far; none where nothing counts it."""
        return {}

    @abstractmethod
    def offloads(self, on: bool) -> None:
        """Switch the segmentation offloads of all links; UserError where that cannot be."""

    @abstractmethod
    def links(self) -> dict[str, Link]:
        """For each host name, what its link really is now, as tc, ip and ethtool report it; see tools.link.Link.

        On a site a key is missing where nothing says it: what a switch queues, and what its port sends at.
        """

    def uplinks(self) -> dict[str, Link]:
        """For each rack, the rates of its uplink now; none where hosts are not in racks of the testbed's making."""
        return {}

    def racks(self, count: int) -> dict[str, str]:
        """The rack of each host that is in one, by its name, where a fabric has so many."""
        return {}

    def segments(self) -> dict[str, tuple[int, int]]:
        """For each host name, TCP segments sent so far (RFC 1213 tcpOutSegs), and those of them with data.

        None where nothing reads them.
        """
        return {}

    def rdma_ports(self) -> dict[str, Port]:
        """For each host name, what its RDMA port on the fabric in use and its kernel's TCP have moved so far.

        None where hosts can have no such port.
        """
        return {}

    def clocks(self) -> dict[str, float]:
        """For each host name, seconds that its clock is ahead of this machine's, where it has one of its own."""
        return {}

    def describe(self) -> dict[str, dict[str, Any]]:
        """What each host is, by name, where hosts are machines of their own."""
        return {}

    def now(self) -> float:
        """Seconds since 1970 by the clock that the NameNode's log has."""
        return time.time()

    def sampler(self, by_host: bool = False) -> Sampling:
        """`with testbed.sampler() as sampler:` samples links and processors until the block ends."""
        return Sampler(self, by_host)

    def warm_memory(self, gib: float) -> float:
        """Touch so much memory once, where the first touch is slow; seconds taken."""
        return 0.0

    def __enter__(self) -> Testbed:
        return self

    def keep_names(self, known: Mapping[str, str]) -> None:  # noqa: B027 - most testbeds have the same hosts each time
        """Call hosts as before, by their targets (target → name): another job has other nodes."""

    @abstractmethod
    def __exit__(self, *exception: object) -> None: ...

    def by_role(self, role: str) -> list[Host]:
        return [host for host in self.hosts if host.role == role]

    def host(self, name: str) -> Host:
        for host in self.hosts:
            if host.name == name:
                return host
        raise UserError(f"testbed: no host {name}, expected one of {', '.join(h.name for h in self.hosts)}")
