"""A host that is another machine: the parts common to ssh and schedulers, whose modules carry commands to it."""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import tempfile
import time
import uuid
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

from whitewire.errors import UserError
from whitewire.paths import SYSTEM_PATH
from whitewire.records.samples import TICKS
from whitewire.testbed.base import Argv, CommandFailed, Completed, Host, Process, last_line, piped
from whitewire.testbed.site import shell
from whitewire.testbed.site.image import Image
from whitewire.testbed.site.inventory import Interface, Place, interfaces
from whitewire.testbed.site.opening import NotReady, await_ready, end_here, offset_of, opened
from whitewire.testbed.site.reason import reason
from whitewire.testbed.site.shell import HOST_QUESTIONS

OPEN_S, ASK_S = 20.0, 20.0
"""Longest times in seconds for a connection to open, and for an answer to a question."""


Answer = TypeVar("Answer")
_CARRIED = 3
"""Attempts at a command that may safely run twice, before its connection counts as broken. srun loses a command's
output and exit status about once in two thousand times, when its node resets the stream (Slurm 22.05)."""


class CutOff(CommandFailed):
    """The local command that carries another one ended before that one's exit status arrived."""


def _carried(act: Callable[[], Answer], cut_off: type[CommandFailed]) -> Answer:
    """Result of an action that may safely run twice; retried up to _CARRIED times. Raises `cut_off`."""
    for _ in range(_CARRIED - 1):
        with contextlib.suppress(cut_off):
            return act()
    return act()


@dataclass(frozen=True)
class Layout:
    """The paths of a run's files, which are the same on every host and local to each."""

    run: str
    work: str
    data: tuple[str, ...]
    path: str
    java: str

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Layout:
        path = ":".join([*config.get("path", []), SYSTEM_PATH])
        run = uuid.uuid4().hex[:12]
        return cls(run, config["work"].rstrip("/"), tuple(config["data"]), path, config.get("java", "java"))

    @property
    def folder(self) -> str:
        return f"{self.work}/whitewire-{self.run}"

    @property
    def drives(self) -> list[str]:
        names = enumerate(self.data, start=1)
        return [f"{folder.rstrip('/')}/whitewire-{self.run}-drive{number}" for number, folder in names]


@dataclass(kw_only=True)
class RemoteProcess(Process):
    """A daemon on a remote host, identified there by its marker; `popen`: the local command that carries it."""

    host: RemoteHost
    mark: str
    pid_file: str

    def main_process(self) -> None:
        """None, since the daemon is not a process of this machine."""
        return

    def stood_still(self) -> bool:
        """Whether samples have seen it stopped by a signal since the last call."""
        still = self.mark in self.host.stopped
        self.host.stopped.discard(self.mark)
        return still

    def cpu_seconds(self) -> float:
        if not self.alive:
            return 0.0
        try:
            said = self.host.run_again(shell.script(shell.STAT, self.pid_file, self.host.marker(self.mark))).stdout
        except CommandFailed:
            return 0.0
        # proc_pid_stat(5): the name may hold spaces; utime and stime are fields 14 and 15.
        fields = said.decode(errors="replace").rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / TICKS if fields else 0.0

    def kill(self) -> None:
        """End the daemon and its children at once (SIGKILL), as a crash would."""
        self._end(grace=0.0)

    def stop(self, timeout: float = 5.0) -> None:
        self._end(grace=timeout)

    def _end(self, grace: float) -> None:
        # A daemon that has ended may have left children behind.
        pid_file = self.pid_file if self.alive else ""
        with contextlib.suppress(CommandFailed, subprocess.TimeoutExpired):
            self.host.end(self.mark, pid_file, grace if self.alive else 0.0)
        try:
            self.popen.wait(timeout=2)
        except subprocess.TimeoutExpired:
            end_here(self.popen)


class RemoteHost(Host):
    """A remote machine. `watcher`: the connection whose end cleans it up."""

    def __init__(self, place: Place, layout: Layout) -> None:
        self.name, self.role, self.target = place.name, place.role, place.target
        self.place, self.layout = place, layout
        self.address, self.interface, self.congestion_control = "", "", ""
        self.folder, self.scratch = layout.folder, f"{layout.folder}/tmp"
        self.watcher: subprocess.Popen[bytes] | None = None
        self.errors: IO[bytes] | None = None
        self.boot_id = ""
        self.image: Image | None = None
        """The image that its commands run in; None: they run on the machine itself."""
        self.present: list[Interface] = []
        self.started: list[subprocess.Popen[bytes]] = []
        self.stopped: set[str] = set()
        """Marks of the daemons that samples have seen stopped by a signal."""
        self._numbers = itertools.count(1)

    # -- carrying -----------------------------------------------------------------------------------------

    @abstractmethod
    def popen(self, command: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start the local command that runs `command` (sh) on the host and connects its standard streams."""

    def _popen(self, argv: list[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start a local command, in a new session, so that a terminal's Ctrl-C does not reach it."""
        return subprocess.Popen(argv, start_new_session=True, bufsize=0, **options)

    def popen_watcher(self, command: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start the watcher; on hosts whose commands share a connection, it opens that connection."""
        return self.popen(command, **options)

    # -- life ---------------------------------------------------------------------------------------------

    def open(self, private: Path) -> None:
        """Start the watcher, which makes the host's folders. `private`: a local folder. Raises CommandFailed."""
        argv = shell.script(
            shell.WATCH, str(shell.WATCH_PATIENCE_S), self.marker(""), self.folder, self.drive_root, *self.layout.drives
        )
        self.errors = (private / f"{self.name}.said").open("w+b")
        command = f"exec {shell.environment(argv, {}, self.layout.path)}"
        try:
            self.watcher = opened(partial(self.popen_watcher, command), self.errors, OPEN_S)
        except NotReady as fault:
            raise CommandFailed(f"{self}: {fault}") from None

    def learn(self) -> None:
        """Ask the host for the properties that shell.HOST_QUESTIONS lists."""
        answers = self.ask(HOST_QUESTIONS)
        self.boot_id = answers["boot_id"]
        self.present = interfaces_of(self, answers["addresses"])
        self.congestion_control = answers["congestion_control"]

    def beat(self) -> None:
        """Signal to the watcher that the run continues."""
        watcher = self.watcher  # closed() may reset it meanwhile
        if watcher is not None:
            with contextlib.suppress(OSError, ValueError):
                piped(watcher.stdin).write(b".")

    def release(self) -> None:
        """Close the watcher's input, which makes it clean up."""
        if self.watcher is not None:
            with contextlib.suppress(OSError):
                piped(self.watcher.stdin).close()

    def closed(self, timeout: float) -> bool:
        """Wait until the watcher has cleaned up. Returns whether it did so within `timeout` seconds."""
        if self.watcher is None:
            return True
        try:
            clean = self.watcher.wait(timeout=max(0.0, timeout)) == 0
        except subprocess.TimeoutExpired:
            clean = False
        for carrier in [*self.started, self.watcher]:
            with contextlib.suppress(subprocess.TimeoutExpired):
                carrier.wait(timeout=2 if clean else 0)  # the command that it carried has ended
            end_here(carrier)
        piped(self.watcher.stdout).close()
        if self.errors is not None:
            self.errors.close()
        self.watcher, self.started = None, []
        return clean

    @property
    def connected(self) -> bool:
        return self.watcher is not None and self.watcher.poll() is None

    def _require(self) -> None:
        if not self.connected:
            raise CommandFailed(f"{self}: the connection is lost")

    def __str__(self) -> str:
        return f"{self.name} ({self.target})"

    # -- commands -----------------------------------------------------------------------------------------

    def marker(self, mark: str) -> str:
        """The marker, for shell.SWEEP, of one command, or with an empty `mark` of all commands on this host."""
        return shell.marked(mark or f"{self.layout.run}.{self.name}.")

    @property
    def pids(self) -> str:
        """The folder of the daemons' PID files."""
        return f"{self.folder}/pids"

    def _mark(self) -> str:
        return f"{self.layout.run}.{self.name}.{next(self._numbers)}."

    def run(
        self,
        argv: Argv,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
        timeout: float | None = None,
    ) -> Completed:
        return self._run(argv, self.image, env, stdin, timeout)

    def run_outside(self, argv: Argv, stdin: bytes | None = None, timeout: float | None = None) -> Completed:
        return self._run(argv, None, stdin=stdin, timeout=timeout)

    def _run(self, argv: Argv, image: Image | None, env: Mapping[str, str] | None = None, stdin: bytes | None = None,
             timeout: float | None = None) -> Completed:  # fmt: skip
        self._require()
        mark = self._mark()
        command = shell.environment(argv, env or {}, self.layout.path, mark)
        popen = self.popen(
            self._around(shell.to_its_end(command, self.scratch), mark, image),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        try:
            out, said = popen.communicate(stdin if stdin is not None else b"", timeout)
        except subprocess.TimeoutExpired:
            self._abandon(popen, mark)
            raise subprocess.TimeoutExpired(list(map(str, argv)), timeout or 0.0) from None
        except BaseException:
            end_here(popen)
            raise
        status, err = shell.status(said)
        if status is None:
            why = reason(said) or last_line(said)
            raise CutOff(f"{self}: {argv[0]}: {why} (connection: exit status {popen.returncode})")
        return Completed(tuple(map(str, argv)), status, shell.output(out), err)

    def _around(self, text: str, mark: str, image: Image | None) -> str:
        return image.around(text, self.layout.path, mark) if image else text

    def run_again(self, argv: Argv, stdin: bytes | None = None, timeout: float | None = None,
                  inside: bool = False) -> Completed:  # fmt: skip
        """Like run_outside() (with `inside` like run()), but retried when cut off: for commands that may run twice."""
        image = self.image if inside else None
        return _carried(lambda: self._run(argv, image, stdin=stdin, timeout=timeout), CutOff)

    def _abandon(self, popen: subprocess.Popen[bytes], mark: str) -> None:
        """End a command that takes too long, first on the host and then here, where it may have to unmount an image."""
        with contextlib.suppress(CommandFailed, subprocess.TimeoutExpired):
            self.end(mark)
        with contextlib.suppress(subprocess.TimeoutExpired):
            popen.wait(timeout=2)
        end_here(popen)
        for stream in (popen.stdin, popen.stdout, popen.stderr):
            piped(stream).close()

    def end(self, mark: str, pid_file: str = "", grace: float = 0.0) -> None:
        """End a command and its children; `grace`: seconds between SIGTERM and SIGKILL."""
        argv = shell.script(shell.END, self.marker(mark), pid_file, str(round(grace / 0.05)))
        self.run_again(argv, timeout=grace + ASK_S)

    def start(self, argv: Argv, log: Path, env: Mapping[str, str] | None = None, name: str = "",
              stdin: int = subprocess.DEVNULL) -> RemoteProcess:  # fmt: skip
        return self._start(argv, self.image, log, env, name, stdin)

    def start_outside(self, argv: Argv, log: Path, name: str) -> RemoteProcess:
        return self._start(argv, None, log, name=name)

    def _start(self, argv: Argv, image: Image | None, log: Path, env: Mapping[str, str] | None = None, name: str = "",
               stdin: int = subprocess.DEVNULL) -> RemoteProcess:  # fmt: skip
        self._require()
        mark = self._mark()
        pid_file = f"{self.pids}/{mark}"
        command = shell.environment(argv, env or {}, self.layout.path, mark)
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            position = output.tell()
            popen = self.popen(
                self._around(shell.as_daemon(command, self.scratch, pid_file), mark, image),
                stdin=stdin, stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip
        self.started = [one for one in self.started if one.poll() is None] + [popen]
        name = name or f"{argv[0]} on {self.name}"
        return RemoteProcess(name, popen, log, position, host=self, mark=mark, pid_file=pid_file)

    def ask(self, parts: Mapping[str, str], *arguments: str, inside: bool = False,
            timeout: float = ASK_S) -> dict[str, str]:  # fmt: skip
        """Answers to several questions (name → sh) from one command; `inside`: run it in the image, if there is one."""
        done = self.run_again(shell.script(shell.asking(parts), *arguments), timeout=timeout, inside=inside)
        return shell.answers(done.stdout.decode(errors="replace"))

    def put(self, content: bytes, path: str) -> None:
        self.run_again(shell.script(shell.PUT, path), stdin=content).check()

    def get(self, path: str) -> bytes:
        return self.run_again(["cat", path]).check().stdout

    # -- drives and clock ---------------------------------------------------------------------------------

    @property
    def endpoint(self) -> str:
        return self.address

    @property
    def drive_root(self) -> str:
        """A folder of links to the host's drives."""
        return f"{self.folder}/drives"

    def drive(self, number: int) -> str:
        """The run's folder on one of the host's drives (1, 2, …): the folder itself, not the link to it."""
        drives = self.layout.drives
        if not 1 <= number <= len(drives):
            raise UserError(f"testbed: data: found {len(drives)} folders, expected at least {number}")
        return drives[number - 1]

    def clear_drives(self) -> None:
        self.run_again(["find", *self.layout.drives, "-mindepth", "1", "-delete"]).check()

    def clock_offset(self) -> float:
        """Seconds that the host's clock is ahead of this machine's, with an error of at most half the round trip.

        Retried when the answer is cut off.
        """
        return _carried(self._clock_offset, CommandFailed)

    def _clock_offset(self) -> float:
        command = shell.environment(shell.script(shell.CLOCK), {}, self.layout.path)
        with tempfile.TemporaryFile() as errors:
            popen = self.popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
            try:
                await_ready(popen, errors, ASK_S)
                return offset_of(popen, time.monotonic() + ASK_S)
            except (NotReady, ValueError) as error:
                raise CommandFailed(f"{self}: {error}") from None
            finally:
                piped(popen.stdin).close()
                piped(popen.stdout).close()
                end_here(popen)


def interfaces_of(host: RemoteHost, said: str) -> list[Interface]:
    """A host's interfaces, from the output of ip(8). Raises UserError."""
    try:
        return interfaces(json.loads(said))
    except ValueError:
        raise UserError(f"{host}: ip -json address show: found no JSON, expected iproute2 4.14 or newer") from None


class RemoteHosts(Protocol):
    """All hosts of a site, as preflight, deployment and samples use them; see remote.RemoteTestbed."""

    config: Mapping[str, Any]
    source: str
    """The description's name for messages."""
    layout: Layout
    image: Image | None
    hosts: list[RemoteHost]
    private: Path

    @property
    def reference(self) -> RemoteHost:
        """The host whose clock times a run."""

    def on_all(self, action: Callable[[RemoteHost], Answer]) -> list[Answer]:
        """Results of an action on all hosts, run concurrently."""

    def by_name(self, action: Callable[[RemoteHost], Answer]) -> dict[str, Answer]:
        """The same results by host name."""

    def clocks(self) -> dict[str, float]:
        """Seconds that each host's clock is ahead of this machine's, by host name."""

    def next_number(self) -> int:
        """A number for names of local files."""
