"""The one place where connections to hosts are opened: few at a time, again where a server refused one, or why not."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import IO

from whitewire.testbed.base import last_line, piped, read_line
from whitewire.testbed.site import shell
from whitewire.testbed.site.reason import cause, closing, reason

AT_ONCE = 4
"""Connections that are opened at the same time. A server refuses some of ten or more that have not logged in yet
(sshd's MaxStartups, 10:30:100 by default), and a jump host sees those of all hosts."""
OPENING = threading.BoundedSemaphore(AT_ONCE)
PAUSES_S = (0.5, 1.0, 2.0)
"""Pauses before a connection that was closed for no known cause is tried again. Each holds its place among those that
open: fewer are then open at a time, where the server's limit is below AT_ONCE."""
LIMITED = "a server on the way may limit new connections (sshd's MaxStartups)"
CLOSED = "the connection was closed before the host said a word"
ALONE_S = 5.0
"""Longest wait for the end of a process that takes no signal."""


class NotReady(Exception):
    """The host did not say shell.READY; the message says why."""


class Wordless(NotReady):
    """The connection was closed for no known cause: what was said before may be a banner's."""


def end_here(popen: subprocess.Popen[bytes]) -> None:
    """End a local process and what it started; it leads a session of its own.

    One that runs as another user, as oarsh does, takes no signal from us. Its input ends instead, which ends what reads
    it on the host; what does not end by that within ALONE_S is left alone: its host knows it by its marker.
    """
    longest = None
    if popen.poll() is None:
        try:
            os.killpg(popen.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        except PermissionError:
            longest = ALONE_S
            if popen.stdin is not None:
                popen.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        popen.wait(longest)


def opened(start: Callable[..., subprocess.Popen[bytes]], errors: IO[bytes], seconds: float) -> subprocess.Popen[bytes]:
    """Open a connection: the process of a command that says shell.READY, once it has said so. Raises NotReady.

    `start` starts it with the standard streams that it is given; `errors` is the file for standard error.
    """
    with OPENING:
        for pause in PAUSES_S:
            with contextlib.suppress(Wordless):
                return _opened_once(start, errors, seconds)
            time.sleep(pause)
        try:
            return _opened_once(start, errors, seconds)
        except Wordless as fault:
            raise NotReady(f"{fault}, {1 + len(PAUSES_S)} times: {LIMITED}") from None


@contextlib.contextmanager
def conversation(start: Callable[..., subprocess.Popen[bytes]], errors: IO[bytes], patience: float, seconds: float
                 ) -> Iterator[subprocess.Popen[bytes]]:  # fmt: skip
    """A connection that opened() opens within `patience` seconds. It ends with the block, or so many seconds later.

    Raises NotReady.
    """
    popen = opened(start, errors, patience)
    late = threading.Timer(seconds, end_here, [popen])
    late.start()
    try:
        yield popen
    finally:
        late.cancel()
        end_here(popen)
        for stream in (popen.stdin, popen.stdout):
            piped(stream).close()


def _opened_once(
    start: Callable[..., subprocess.Popen[bytes]], errors: IO[bytes], seconds: float
) -> subprocess.Popen[bytes]:
    errors.seek(0)
    errors.truncate()
    popen = start(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
    try:
        await_ready(popen, errors, seconds)
    except BaseException:
        end_here(popen)
        piped(popen.stdin).close()
        piped(popen.stdout).close()
        raise
    return popen


def await_ready(popen: subprocess.Popen[bytes], errors: IO[bytes], seconds: float) -> None:
    """Read what a process says up to shell.READY: words of start files and prologs. Raises NotReady."""
    deadline, said = time.monotonic() + seconds, b""
    while (line := read_line(piped(popen.stdout), deadline)).endswith(b"\n"):
        if line.strip() == shell.READY.encode():
            return
        said += line
    with contextlib.suppress(subprocess.TimeoutExpired):
        popen.wait(timeout=0.5)
    errors.seek(0)
    said += line + b"\n" + errors.read()
    why = reason(said)
    if popen.poll() is None:
        raise NotReady(f"no answer in {seconds:.0f} s" + (f": {why}" if why else ""))
    if cause(said) or (why and not closing(said)):
        raise NotReady(why)
    raise Wordless(why or CLOSED)


def offset_of(popen: subprocess.Popen[bytes], deadline: float) -> float:
    """Seconds that the clock of who runs shell.CLOCK is ahead, by the answer that came soonest; asked once it is ready.

    Raises ValueError at another answer.
    """
    answers = []
    for _ in range(shell.CLOCK_ASKS):
        sent = time.time()
        piped(popen.stdin).write(b"\n")
        line = read_line(piped(popen.stdout), deadline)
        received = time.time()
        try:
            answers.append((received - sent, float(line) - (sent + received) / 2))
        except ValueError:
            raise ValueError(f"clock: found {last_line(line)!r}, expected seconds since 1970") from None
    return min(answers)[1]
