"""Ends a stage's command when the workflow that started it ends, also in a container.

A container's runtime stands between the two, and a death signal does not pass it. So the workflow holds a lock on a
file that containers see, and the command waits for that lock: it gets it when the workflow is gone, however it went.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import threading
from pathlib import Path

from whitewire.errors import UserError

PARENT_VARIABLE = "WHITEWIRE_PARENT"
"""Names the file to a command. Without it a command is on its own."""

_held: dict[Path, int] = {}


def hold(folder: Path) -> Path | None:
    """Hold a lock in `folder` for as long as this process lives; return its file. None: there are no locks there.

    Files of workflows of this machine that have ended are removed.
    """
    if held := next((path for path in _held if path.parent == folder), None):
        return held
    folder.mkdir(parents=True, exist_ok=True)
    machine = os.uname().nodename
    path = folder / f"{machine}-{os.getpid()}"
    try:
        for old in folder.glob(f"{machine}-*"):
            _remove(old)
        while not (descriptor := _locked(path)):
            continue
    except OSError:
        return None
    _held[path] = descriptor  # open until this process ends
    return path


def _remove(path: Path) -> None:
    """Unless somebody holds it."""
    with contextlib.suppress(BlockingIOError, FileNotFoundError):
        descriptor = os.open(path, os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
        finally:
            os.close(descriptor)


def _locked(path: Path) -> int:
    """A descriptor with the lock on the file at `path`; 0 when another process has removed the file meanwhile."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    with contextlib.suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            return descriptor
    os.close(descriptor)
    return 0


def follow() -> None:
    """Have this process killed when the workflow named in the environment has ended; what it started ends with it."""
    path = os.environ.get(PARENT_VARIABLE)
    if not path:
        return
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        raise UserError(f"{path}: the workflow that started this command has ended") from None

    def wait() -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        except OSError:  # a file system without locks
            return
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()
