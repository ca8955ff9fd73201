"""What a program and all that it started have on this machine, apart from what others run beside it.

The program lives in a user namespace of its own. Whatever it starts is in that one or one below, which nothing can
leave: so its processes and namespaces are known exactly, whoever their parents are by now.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil

NS_GET_PARENT = 0xB702
"""ioctl_ns(2)"""
NAMESPACES = ("user", "net", "mnt", "pid", "uts", "ipc")
OWN_NAMESPACES = "WHITEWIRE_OWN_NAMESPACES"
"""Variable with the user namespace of a program that alone() started again. It is not that of the lock."""


def alone() -> None:
    """Start this program again in user and mount namespaces of its own, unless it is in them already."""
    if os.environ.get(OWN_NAMESPACES) != _number("/proc/self/ns/user"):
        unshare = ["unshare", "--user", "--map-root-user", "--mount", "--propagation", "private", "--"]
        with_its_own = 'export "$1=$(stat -L -c %i /proc/self/ns/user)"; shift; exec "$@"'
        argv = [*unshare, "sh", "-c", with_its_own, "sh", OWN_NAMESPACES, sys.executable, *sys.argv]
        sys.stdout.flush()
        os.execvp(argv[0], argv)


def _number(namespace: str) -> str:
    return str(os.stat(namespace).st_ino)


def _below(path: str, mine: int) -> bool:
    """Whether a user namespace is `mine` or one below it."""
    with contextlib.ExitStack() as opened:
        descriptor = os.open(path, os.O_RDONLY)
        opened.callback(os.close, descriptor)
        while os.fstat(descriptor).st_ino != mine:
            try:
                descriptor = fcntl.ioctl(descriptor, NS_GET_PARENT)
            except OSError:  # it is one above
                return False
            opened.callback(os.close, descriptor)
        return True


def processes() -> Iterator[psutil.Process]:
    """All of this program's namespace and those below, but for itself and those that have ended."""
    mine, known = os.stat("/proc/self/ns/user").st_ino, {}
    for pid in psutil.pids():
        path = f"/proc/{pid}/ns/user"
        with contextlib.suppress(OSError, psutil.Error):
            number = os.stat(path).st_ino
            if number not in known:
                known[number] = _below(path, mine)
            if known[number] and pid != os.getpid():
                process = psutil.Process(pid)
                if process.status() != psutil.STATUS_ZOMBIE:
                    yield process


def namespaces(of: Iterator[psutil.Process] | list[psutil.Process]) -> set[str]:
    """Namespaces that processes are in."""
    found = set()
    for process in of:
        for kind in NAMESPACES:
            with contextlib.suppress(OSError):
                found.add(os.readlink(f"/proc/{process.pid}/ns/{kind}"))
    return found


def mounts() -> set[str]:
    """Mounts that this program sees, by number and place."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return {" ".join(line.split()[i] for i in (0, 4)) for line in lines}
