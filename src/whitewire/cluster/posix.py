"""A file system that a site has mounted on all hosts at the same path: Lustre, NFS, GPFS or another of POSIX."""

from __future__ import annotations

import os
import time
import uuid

from whitewire.cluster.service import Service
from whitewire.errors import UserError
from whitewire.testbed.base import Process, Testbed, last_line


class Posix(Service):
    """A folder of our own below `path`, made at the start and removed at the end; nothing else is touched.

    After the start `kind` is the file system's type as the first host's `stat` names it, `layouts` what was set for
    each folder (empty where there are no stripes).
    """

    def __init__(self, testbed: Testbed, path: str) -> None:
        if not os.path.isabs(path):
            raise UserError(f"posix: {path} is not an absolute path")
        self.testbed, self.base = testbed, os.path.normpath(path)
        self.hosts = list(testbed.hosts)
        self.mount = f"{self.base}/whitewire-{uuid.uuid4().hex[:12]}"
        self.kind = ""
        self.layouts: dict[str, str] = {}
        self.cold: bool | None = None
        """Whether the last remount() could empty the hosts' caches."""
        self.started = False

    # -- life ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Make the folder and see that all hosts share it. Raises UserError, naming the host, when they don't."""
        begin, first = time.monotonic(), self.hosts[0]
        made = first.run(["mkdir", self.mount])
        if made.status != 0:
            raise UserError(f"posix: {first.name} cannot make a folder in {self.base}: {last_line(made.stderr)}")
        self.started = True
        try:
            self._see_each_other()
            self.kind = first.run(["stat", "-f", "-c", "%T", self.mount]).check().stdout.decode().strip()
        except BaseException:
            self.stop()
            raise
        self.start_seconds = time.monotonic() - begin

    def _see_each_other(self) -> None:
        """Each host writes a file that every other one reads."""
        for writer in self.hosts:
            name, content = f"{self.mount}/.seen-by-{writer.name}", uuid.uuid4().hex.encode()
            done = writer.run(["dd", f"of={name}", "status=none", "conv=fsync"], stdin=content)
            if done.status != 0:
                raise UserError(f"posix: {writer.name} cannot write to {self.mount}: {last_line(done.stderr)}")
            for reader in self.hosts:
                if reader.run(["cat", name]).stdout != content:
                    raise UserError(
                        f"posix: {reader.name} does not see what {writer.name} wrote to {self.base}; "
                        "mount one shared file system there on all hosts"
                    )
            writer.run(["rm", name]).check()

    def stop(self) -> None:
        """Remove the folder and all that is in it."""
        if self.started:
            self.hosts[0].run(["rm", "-rf", "--one-file-system", self.mount]).check()
            self.started = False

    def check(self) -> None:
        """Raise UserError when the folder is gone from a host: no daemon of ours stands behind it."""
        for host in self.hosts:
            if host.run(["test", "-d", self.mount]).status != 0:
                raise UserError(f"posix: {self.mount} is gone from {host.name}")

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
        """Make a folder and, on Lustre, set the stripes of files that will be made in it; what was set, in words."""
        full, first = self.path(path), self.hosts[0]
        first.run(["mkdir", "-p", full]).check()
        words = ""
        if self.kind == "lustre" and first.run(["lfs", "--version"]).status == 0:
            argv = ["lfs", "setstripe", "--stripe-count", str(stripe_count), "--stripe-size", str(stripe_size), full]
            first.run(argv).check()
            words = " ".join(argv[1:-1])
        self.layouts[full] = words
        return words

    def asked(self, path: str) -> dict[str, object]:
        """What was set last of a folder."""
        return {"kind": self.kind, "layout": self.layouts[self.path(path)]}

    def told(self, path: str) -> dict[str, object]:
        """The file system's type as the first host sees it now and, on Lustre, the folder's stripes."""
        full, first = self.path(path), self.hosts[0]
        kind = first.run(["stat", "-f", "-c", "%T", full]).check().stdout.decode().strip()
        words = ""
        if self.layouts[full]:
            count, size = (
                first.run(["lfs", "getstripe", "--directory", which, full]).check().stdout.decode().strip()
                for which in ("--stripe-count", "--stripe-size")
            )
            words = f"setstripe --stripe-count {count} --stripe-size {size}"
        return {"kind": kind, "layout": words}

    def remount(self, max_dirty: int | None = None, readahead: int | None = None) -> None:
        """Empty the hosts' caches where that is allowed (it takes root); a site's mount itself is never touched.

        What a client may hold is the site's own setting: `max_dirty` and `readahead` (bytes) change nothing here.
        """
        done = [host.run(["sh", "-c", "sync; echo 3 >/proc/sys/vm/drop_caches"]) for host in self.hosts]
        self.cold = all(each.status == 0 for each in done)

    def remove(self, path: str) -> None:
        """Delete a path and all below it."""
        full = self.path(path)
        if full == self.mount:
            raise UserError("posix: the folder itself is removed by stop()")
        self.hosts[0].run(["rm", "-rf", "--one-file-system", full]).check()

    def free(self) -> int:
        """Bytes that an ordinary user may still write."""
        shown = self.hosts[0].run(["stat", "-f", "-c", "%a %S", self.mount]).check().stdout.split()
        return int(shown[0]) * int(shown[1])

    def need(self, size: int) -> None:
        """Raise UserError when less than `size` bytes are free."""
        free = self.free()
        if free < size:
            raise UserError(f"posix: {free / 1e9:.1f} GB free on {self.base}, {size / 1e9:.1f} GB are needed")
