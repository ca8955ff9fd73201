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

VARIABLE = "WHITEWIRE_TETHER"
"""Names the file to a command. Without it a command is on its own."""

_held: list[int] = []


def hold(folder: Path) -> Path:
    """Hold a lock in `folder` for as long as this process lives; return its file.

    Files of workflows that have ended are removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            old = os.open(path, os.O_RDWR)
            try:
                fcntl.flock(old, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            finally:
                os.close(old)
    path = folder / f"{os.uname().nodename}-{os.getpid()}"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    _held.append(descriptor)  # open until this process ends
    return path


def follow() -> None:
    """Have this process killed when the workflow named in the environment has ended; what it started ends with it."""
    path = os.environ.get(VARIABLE)
    if not path:
        return
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return

    def wait() -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        except OSError:  # a file system without locks
            return
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()
