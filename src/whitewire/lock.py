"""A lock by which one process at a time writes into a folder; the error of a second one names the first."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from whitewire.errors import UserError
from whitewire.paths import HOME, shown

INSIDE = "WHITEWIRE_LOCKED"
"""Environment variable of processes that the lock's holder has started: they need no lock of their own."""


@contextlib.contextmanager
def held(path: Path, command: Sequence[str], taken: str) -> Iterator[TextIO]:
    """Hold the lock on a file until the block or this process ends; the file names the holder.

    Raises UserError (`taken` and the holder) while another process holds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{taken}: {_holder(lock)}; wait for it or stop it") from None
        except OSError:  # a file system without locks
            pass
        lock.truncate(0)
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        lock.write(f"`{shlex.join(command)}` (process {os.getpid()} on {os.uname().nodename}, since {since})\n")
        lock.flush()
        try:
            yield lock
        finally:
            lock.truncate(0)


def _holder(lock: TextIO) -> str:
    """The holder that a lock's file names; waits for a moment, as one that has just taken it has yet to write there."""
    for _ in range(20):
        lock.seek(0)
        if said := lock.read().strip():
            return said
        time.sleep(0.05)
    return "a command that began just now"


@contextlib.contextmanager
def exclusive(root: Path, command: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Be the only process that writes below `root`, the repository or a folder with a configuration of its own.

    Yields the descriptor that holds the lock (none in a process that the holder has started), for children that still
    write after this process has died. Temporary files of the block have a folder in `root`; the next holder removes
    those of a killed one. It is not below .cache, because Quarto ignores documents in hidden folders.

    Raises UserError, which names the other process, and OSError.
    """
    if os.environ.get(INSIDE):
        yield ()
        return
    place = "this repository" if root == HOME else shown(root)
    with held(root / "results" / ".lock", command, f"another run is under way in {place}") as lock:
        scratch, before = root / "whitewire-tmp", dict(os.environ)
        if scratch.is_symlink():
            scratch.unlink()
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        os.environ.update({INSIDE: str(os.getpid()), "TMPDIR": str(scratch)})
        tempfile.tempdir = None
        try:
            yield (lock.fileno(),)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
            for name in (INSIDE, "TMPDIR"):
                os.environ.pop(name)
                os.environ.update({name: before[name]} if name in before else {})
            tempfile.tempdir = None
