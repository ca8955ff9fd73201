"""Opens all connections to hosts: few at a time, with retries, and with the reason when one fails."""

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

_AT_ONCE = 4
"""Most connections that are opened concurrently. From ten connections that have not logged in yet, a server refuses
some (sshd's MaxStartups, 10:30:100 by default), and a jump host receives those to all hosts."""
OPENING = threading.BoundedSemaphore(_AT_ONCE)
PAUSES_S = (0.5, 1.0, 2.0)
"""Pauses in seconds before each retry of a connection that was closed for no known cause. A pause keeps its slot of
_AT_ONCE, so fewer connections open concurrently where the server's limit is lower."""
LIMITED = "a server on the way may limit new connections (sshd's MaxStartups)"
_CLOSED = "the connection was closed before the host answered"
ALONE_S = 5.0
"""Longest wait in seconds for the end of a process that we may not signal."""


class NotReady(Exception):
    """The host did not print shell.READY; the message gives the reason."""


class Wordless(NotReady):
    """The connection was closed for no known cause; its output may be just a banner."""


def end_here(popen: subprocess.Popen[bytes]) -> None:
    """End a local process, which leads its own session, and its children.

    We may not signal a process of another user, such as oarsh. Its input is closed instead, which ends the reader on
    the host. A process that then goes on for ALONE_S is left to its host, which can find it by its marker.
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
    """Start a command that prints shell.READY, and return its process once it has done so. Raises NotReady.

    `start` starts it with the standard streams that it is given; `errors`: the file for standard error.
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
    """A connection that opened() opens within `patience` seconds. It ends with the block, or after `seconds`.

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
    """Read a process's output up to shell.READY, skipping that of start files and prologs. Raises NotReady."""
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
    raise Wordless(why or _CLOSED)


def offset_of(popen: subprocess.Popen[bytes], deadline: float) -> float:
    """Seconds that the clock of a host is ahead, by the fastest of several answers from shell.CLOCK, which is ready.

    Raises ValueError for an invalid answer.
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
