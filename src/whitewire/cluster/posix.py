"""A file system that a site has mounted on all hosts at the same path: Lustre, NFS, GPFS or another of POSIX."""

from __future__ import annotations

import math
import os
import time
import uuid

from whitewire.cluster.service import Service
from whitewire.errors import UserError
from whitewire.testbed.base import Completed, Host, Process, Testbed, last_line
from whitewire.testbed.each import on_each

_LOOK_S = 10.0
"""Least seconds between two checks of the folder: each uses the file system that is being measured."""
DROP_CACHES = "/proc/sys/vm/drop_caches"
_EMPTY = """
sync
if [ -z "$(find "$1" -type f | head -n 1)" ]; then exit; fi
if ! command -v fincore > /dev/null; then
    echo "no fincore, which shows what memory holds; install util-linux (on Debian util-linux-extra)" >&2
    exit 1
fi
{ echo 3 > "$2"; } 2> /dev/null ||
    find "$1" -type f -exec sh -c 'for f; do dd "if=$f" iflag=nocache count=0 status=none || exit; done' sh {} + ||
    exit
held=$(find "$1" -type f -exec fincore --bytes --noheadings --output RES {} +) || exit
echo "$held" | awk '{ held += $1 } END { print held + 0 }'
"""
"""Script that writes back dirty pages and empties the page cache: all of it (file $2), which takes root, or else of the
files below $1 (posix_fadvise(2), POSIX_FADV_DONTNEED); then prints how many bytes of these it holds (mincore(2))."""
OWN_MEMORY = ("gpfs", "zfs")
"""File systems, as `stat` names them, whose clients keep files in memory of their own beside the page cache."""


class Posix(Service):
    """A folder of our own below `path`, made at the start and removed at the end; nothing else is touched.

    After the start, `kind` is the file system's type as the first host's `stat` names it, and `layouts` the layout that
    was set for each folder (empty without stripes).
    """

    def __init__(self, testbed: Testbed, path: str) -> None:
        if not os.path.isabs(path):
            raise UserError(f"posix: {path} is not an absolute path")
        self.testbed, self.base = testbed, os.path.normpath(path)
        self.hosts = list(testbed.hosts)
        self.mount = f"{self.base}/whitewire-{uuid.uuid4().hex[:12]}"
        self.kind = ""
        self.layouts: dict[str, str] = {}
        self.warm: list[str] = []
        """Why hosts' memory may have held files after the last remount(), one line per host; empty: it held none."""
        self.started = False
        self.looked = -math.inf

    # -- life ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Make the folder and check that all hosts share it. Raises UserError, naming the host, when they don't."""
        begin, first = time.monotonic(), self.hosts[0]
        made = first.run_outside(["mkdir", self.mount])
        if made.status != 0:
            raise UserError(f"posix: {first.name} cannot make a folder in {self.base}: {last_line(made.stderr)}")
        self.started = True
        try:
            self._see_each_other()
            self.kind = first.run_outside(["stat", "-f", "-c", "%T", self.mount]).check().stdout.decode().strip()
        except BaseException:
            self.stop()
            raise
        self.start_seconds = time.monotonic() - begin

    def _see_each_other(self) -> None:
        """Each host writes a file that every other one reads."""
        for writer in self.hosts:
            name, content = f"{self.mount}/.seen-by-{writer.name}", uuid.uuid4().hex.encode()
            done = writer.run_outside(["dd", f"of={name}", "status=none", "conv=fsync"], stdin=content)
            if done.status != 0:
                raise UserError(f"posix: {writer.name} cannot write to {self.mount}: {last_line(done.stderr)}")
            for reader in self.hosts:
                if reader.run_outside(["cat", name]).stdout != content:
                    raise UserError(
                        f"posix: {reader.name} does not see what {writer.name} wrote to {self.base}; "
                        "mount one shared file system there on all hosts"
                    )
            writer.run_outside(["rm", name]).check()

    def stop(self) -> None:
        """Remove the folder and all that is in it."""
        if self.started:
            self.hosts[0].run_outside(["rm", "-rf", "--one-file-system", self.mount]).check()
            self.started = False

    def check(self) -> None:
        """Raise UserError when the folder is gone from a host: there is no daemon of ours to check.

        It checks at most every _LOOK_S seconds, however often it is called.
        """
        if time.monotonic() - self.looked < _LOOK_S:
            return
        for host in self.hosts:
            if host.run_outside(["test", "-d", self.mount]).status != 0:
                raise UserError(f"posix: {self.mount} is gone from {host.name}")
        self.looked = time.monotonic()

    def processes(self) -> dict[str, Process]:
        return {}

    # -- use ----------------------------------------------------------------------------------------------

    def path(self, path: str) -> str:
        """A path below our folder, given relative to it or in full. Raises UserError for one elsewhere."""
        full = os.path.normpath(os.path.join(self.mount, path))
        if full != self.mount and not full.startswith(f"{self.mount}/"):
            raise UserError(f"posix: {path} is not below {self.mount}")
        return full

    def layout(self, path: str, stripe_count: int, stripe_size: int) -> str:
        """Make a folder and, on Lustre, set the stripes of files that will be made in it; returns them as text."""
        full, first = self.path(path), self.hosts[0]
        first.run_outside(["mkdir", "-p", full]).check()
        words = ""
        if self.kind == "lustre" and first.run_outside(["lfs", "--version"]).status == 0:
            argv = ["lfs", "setstripe", "--stripe-count", str(stripe_count), "--stripe-size", str(stripe_size), full]
            first.run_outside(argv).check()
            words = " ".join(argv[1:-1])
        self.layouts[full] = words
        return words

    def asked(self, path: str) -> dict[str, object]:
        """The settings that were requested last for a folder."""
        return {"kind": self.kind, "layout": self.layouts[self.path(path)]}

    def reported(self, path: str) -> dict[str, object]:
        """The file system's type as the first host sees it now and, on Lustre, the folder's stripes."""
        full, first = self.path(path), self.hosts[0]
        kind = first.run_outside(["stat", "-f", "-c", "%T", full]).check().stdout.decode().strip()
        words = ""
        if self.layouts[full]:
            count, size = (
                first.run_outside(["lfs", "getstripe", "--directory", which, full]).check().stdout.decode().strip()
                for which in ("--stripe-count", "--stripe-size")
            )
            words = f"setstripe --stripe-count {count} --stripe-size {size}"
        return {"kind": kind, "layout": words}

    def remount(self, max_dirty: int | None = None, readahead: int | None = None) -> None:
        """Empty the hosts' memory of our files; `warm` has where that failed. The site's mount is never touched.

        What a client may hold is the site's own setting: `max_dirty` and `readahead` (bytes) change nothing here.
        """
        argv = ["sh", "-c", _EMPTY, "whitewire", self.mount, DROP_CACHES]
        done = on_each(self.hosts, lambda host: host.run_outside(argv))
        self.warm = [why for host, each in zip(self.hosts, done, strict=True) if (why := self._warm(host, each))]

    def _warm(self, host: Host, emptied: Completed) -> str:
        if self.kind in OWN_MEMORY:
            return f"{host.name}: {self.kind} has memory of its own, which no ordinary user can empty"
        if emptied.status != 0:
            return f"{host.name}: {last_line(emptied.stderr)}"
        held = int(emptied.stdout or 0)
        return f"{host.name}: {held} bytes of files stayed in memory" if held else ""

    def remove(self, path: str) -> None:
        """Delete a path and all below it."""
        full = self.path(path)
        if full == self.mount:
            raise UserError("posix: the folder itself is removed by stop()")
        self.hosts[0].run_outside(["rm", "-rf", "--one-file-system", full]).check()
