"""Measures drives and mounts with fio: bandwidth, rate and latency over block sizes and queue depths.

Files go into a folder of their own below each data folder and are removed, also after a failure: a keeper on the host
does it when this process has died. A block device is measured only where the inventory says `raw: true`, and then only
while it holds nothing.
"""

from __future__ import annotations

import json
import random
import stat
import subprocess
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from whitewire import atomic
from whitewire.errors import UserError
from whitewire.measure.engine import why_failed
from whitewire.testbed.base import CommandFailed, Completed, Host
from whitewire.tools import Unreadable, fio
from whitewire.tools.fio import FIO_OPERATIONS, FioResult
from whitewire.units import GIB, KIB, MIB

PREFIX = "whitewire-fio."
BEYOND = 10
"""Least calls beyond a percentile for it to be reported: with fewer it is chance."""
KEEPER = """
trap 'kill $! 2>/dev/null; rm -rf -- "$1"; exit' TERM HUP INT
trap '' PIPE
while [ -d "$1" ] && echo .; do sleep 2 & wait $!; done 2>/dev/null
rm -rf -- "$1"
"""
"""Script on a host that removes the folder $1 when it is asked to end, or when nobody reads its output any more. Its
environment is empty, so it survives when all processes with the run's environment are ended."""
SWEEP_DAYS = "+0"
"""Age (find -mtime: older than a day) at which a later measurement removes folders that a crashed host has left."""
_SPARE = 2
"""Free space that a folder must have, as a multiple of the test file."""
START_SECONDS = 60
"""Most seconds that fio may take beyond the requested time, to start, to flush and to report."""
_LEAST_BYTES = 2 * MIB
"""Least bytes of a file that a curve is measured on."""
FLUSH_RATE = 10**6
"""Rate of the slowest drive, bytes/s, which bounds the wait for a flush of the laid-out file."""
Curves = dict[str, list[dict[str, Any]]]
"""Content of drives.json: `rows` of links/tables/drives.csv, and a description of each of the `places`."""
_FAILURES = (CommandFailed, subprocess.TimeoutExpired, ValueError, OSError)
"""Errors that end the measurement of one place but not of the others (Unreadable is a ValueError)."""


@dataclass(frozen=True)
class DriveEffort:
    """Extent of a measurement: bytes of the file, seconds per point and of the layout, block sizes, queue depths."""

    file_bytes: int
    seconds: float
    layout_seconds: float
    blocks: tuple[int, ...]
    depths: tuple[int, ...]


EFFORTS = {
    "full": DriveEffort(GIB, 1, 10, (4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB), (1, 4, 16, 64)),
    "quick": DriveEffort(512 * MIB, 0.5, 8, (4 * KIB, 64 * KIB, MIB), (1, 4, 16)),
    "smoke": DriveEffort(64 * MIB, 0.3, 3, (4 * KIB, 64 * KIB, MIB), (1, 16)),
    "least": DriveEffort(16 * MIB, 0.1, 1, (4 * KIB, MIB), (1,)),
}
"""Efforts, the richest first; the first that fits the time is taken."""
POINT_OVERHEAD_S = 0.5
"""Seconds per point besides the measurement itself."""


def curve_seconds(plan: DriveEffort) -> float:
    """Most seconds that a place takes."""
    points = len(plan.blocks) * len(plan.depths) * len(FIO_OPERATIONS)
    return plan.layout_seconds + points * (plan.seconds + POINT_OVERHEAD_S)


def effort_for(seconds: float, turns: int) -> str:
    """The richest effort at which `turns` places, one after another, take at most `seconds`; else the least."""
    fits = (name for name, plan in EFFORTS.items() if turns * curve_seconds(plan) <= seconds)
    return next(fits, list(EFFORTS)[-1])


@dataclass(frozen=True)
class DrivePlace:
    """A folder of a host to measure; `kind`: drive or mount; `raw`: it is a block device whose content may be lost.

    `where` names the entry of the inventory, for messages. `inside` is a folder of the run's own on the same drive, if
    there is one: the files then go there and are removed with it.
    """

    host: Host
    folder: str
    kind: str = "drive"
    raw: bool = False
    where: str = ""
    inside: str = ""

    @property
    def path(self) -> str:
        return self.inside or self.folder


def path_of(folder: str, raw: bool, where: str) -> str:
    """A normalised path. Raises UserError when it is not absolute, or below /dev and not raw."""
    if not folder.startswith("/") or ".." in PurePosixPath(folder).parts:
        raise UserError(f"{where}: found {folder!r}, expected an absolute path without ..")
    plain = "/" + "/".join(part for part in PurePosixPath(folder).parts if part.strip("/"))
    if not raw and (plain == "/dev" or plain.startswith("/dev/")):
        raise UserError(f"{where}: found {folder!r}, expected a data folder: {_RAW}")
    return plain


_RAW = "a device is measured only with raw: true beside it, which destroys what it holds"


def places_of(hosts: Sequence[Host], config: Mapping[str, Any], source: str) -> list[DrivePlace]:
    """All drives and mounts of these hosts in a site's description, whose name in messages is `source`.

    Raises UserError for a path that is not absolute, or below /dev without raw.
    """
    found = []
    for host in hosts:
        for number, folder in enumerate(config["data"]):
            where = f"{source}: data[{number}]"
            own = host.drive(number + 1)
            found.append(DrivePlace(host, path_of(folder, False, where), where=where, inside=own))
        for number, device in enumerate(config.get("devices", [])):
            where, raw = f"{source}: devices[{number}]", device["raw"]
            found.append(DrivePlace(host, path_of(device["path"], raw, where), raw=raw, where=where))
        if "mount" in config:
            where = f"{source}: mount.path"
            found.append(DrivePlace(host, path_of(config["mount"]["path"], False, where), "mount", where=where))
    return found


def measure_drives(targets: Sequence[DrivePlace], effort: str, folder: Path, at_once: int = 1) -> Curves:
    """Measure the curve of every place. Drives of `at_once` hosts are measured at the same time, those of one host one
    after the other; mounts, which hosts may share, one after the other at the end.

    Raw output goes to `folder`, with drives.json last, whose content is returned. Raises UserError, before anything is
    written to any host, for a place that may not be measured: no folder, a device without raw, one in use, too little
    space, no fio. A place that fails later has a row that says why; the others go on.
    """
    plan, stop = EFFORTS[effort], threading.Event()
    found = [_Site(place, number, plan, folder, stop) for number, place in enumerate(targets, start=1)]
    folder.mkdir(parents=True, exist_ok=True)
    groups: dict[str, list[_Site]] = {}
    for site in found:
        site.check()
        if site.place.kind == "drive":
            groups.setdefault(site.place.host.name, []).append(site)

    def all_of(sites: Iterable[_Site]) -> None:
        for site in sites:
            site.measure()

    with ThreadPoolExecutor(max(1, at_once)) as pool:
        done = [pool.submit(all_of, sites) for sites in groups.values()]
        try:
            for one in done:
                one.result()
        except BaseException:
            stop.set()  # the pool waits for its threads, which remove their files first
            raise
    all_of(site for site in found if site.place.kind == "mount")
    curves = {"rows": [row for site in found for row in site.rows], "places": [site.described() for site in found]}
    atomic.write(folder / "drives.json", atomic.as_json(curves))
    return curves


def _points(plan: DriveEffort) -> list[tuple[str, int, int]]:
    return [(op, block, depth) for op in FIO_OPERATIONS for block in plan.blocks for depth in plan.depths]


def _rows_of(result: FioResult) -> list[tuple[str, float, str]]:
    """(metric, value, unit) of one point; percentiles only if enough calls lie beyond them."""
    rows = [
        ("bandwidth", result.bandwidth, "MB/s"),
        ("iops", result.iops, "1/s"),
        ("ios", result.ios, "1"),
        ("latency_mean", result.latency, "us"),
    ]
    for percent, value in sorted(result.percentiles.items()):
        if result.ios * (1 - percent / 100) >= BEYOND - 1e-9:
            rows.append((f"latency_p{percent:g}", value, "us"))
    return rows


class _Site:
    """One place while it is measured."""

    def __init__(self, place: DrivePlace, number: int, plan: DriveEffort, folder: Path, stop: threading.Event) -> None:
        self.place, self.number, self.plan, self.folder, self.stop = place, number, plan, folder, stop
        self.rows: list[dict[str, Any]] = []
        self.mode = fio.MODES[0]
        self.file_bytes, self.free_bytes, self.file_system, self.problem = plan.file_bytes, 0, "", ""

    def described(self) -> dict[str, Any]:
        place = self.place
        return {
            "host": place.host.name, "folder": place.folder, "kind": self.kind, "mode": self.mode,
            "file_system": self.file_system, "free_bytes": self.free_bytes, "file_bytes": self.file_bytes,
            "problem": self.problem,
        }  # fmt: skip

    @property
    def kind(self) -> str:
        return "device" if self.place.raw else self.place.kind

    def _run(self, *argv: str, timeout: float = START_SECONDS) -> Completed:
        host = self.place.host
        run = host.run if argv[0] == "fio" else host.run_outside  # an image shows neither mounts nor partitions
        return run(argv, timeout=timeout)

    def _refuse(self, found: str, expected: str) -> None:
        place = self.place
        raise UserError(f"{place.where or 'drives'}: {place.host.name}: {place.folder}: found {found}, "
                        f"expected {expected}")  # fmt: skip

    # -- before anything is written ------------------------------------------------------------------------

    def check(self) -> None:
        """Raise UserError unless the place may be measured; changes nothing on the host."""
        try:
            self._check()
        except _FAILURES as fault:
            self._refuse(_line(fault), "a host that answers")

    def _check(self) -> None:
        place = self.place
        if self._run("fio", "--version").status != 0:
            self._refuse("no fio", "the program fio on the host")
        resolved = self._run("readlink", "-f", "--", place.path).stdout.decode(errors="replace").strip()
        looked = self._run("stat", "-L", "-c", "%f", "--", place.path)
        if looked.status != 0 or not resolved:
            self._refuse("nothing", "a block device" if place.raw else "a folder that is there")
        mode = int(looked.stdout, 16)
        if place.raw:
            if not stat.S_ISBLK(mode):
                self._refuse("something else", "a block device where the inventory says raw: true")
            self._check_device()
            return
        if stat.S_ISBLK(mode) or resolved == "/dev" or resolved.startswith("/dev/"):
            self._refuse(f"a device ({resolved})" if resolved != place.path else "a device", f"a data folder: {_RAW}")
        if not stat.S_ISDIR(mode):
            self._refuse("a file", "a folder")
        if self._run("test", "-w", place.path).status != 0:
            self._refuse("a folder that may not be written", "one that may")
        # %a: blocks that are free to ordinary users; %S: bytes of such a block; %T: the type in words.
        blocks, size, *words = self._run("stat", "-f", "-c", "%a %S %T", "--", place.path).check().stdout.split()
        self.free_bytes, self.file_system = int(blocks) * int(size), b" ".join(words).decode(errors="replace")
        if self.free_bytes < _SPARE * self.plan.file_bytes:
            free, wanted = self.free_bytes / GIB, _SPARE * self.plan.file_bytes / GIB
            self._refuse(f"{free:.2f} GiB free", f"{wanted:.2f} GiB or more, for a file of half of that")

    def _check_device(self) -> None:
        """Refuse a device that holds a file system, partitions or anything mounted, also with `raw`."""
        shown = self._run("lsblk", "--json", "--bytes", "-o", "NAME,SIZE,FSTYPE,MOUNTPOINT", self.place.folder).check()
        try:
            device = json.loads(shown.stdout)["blockdevices"][0]
            self.free_bytes = int(device["size"])
        except (ValueError, KeyError, IndexError, TypeError):
            raise CommandFailed("lsblk: no device in its output") from None
        held = device.get("mountpoint") or device.get("fstype") or ("partitions" if device.get("children") else "")
        if held:
            self._refuse(f"a device in use ({held})", "one that holds nothing")
        self.file_bytes = min(self.plan.file_bytes, self.free_bytes)

    # -- the measurement -------------------------------------------------------------------------------------

    def measure(self) -> None:
        """Measure all points; if that fails, add a row with the reason."""
        if self.stop.is_set():
            return
        try:
            if self.place.raw:
                self._curve(self.place.folder)
            else:
                self._in_own_folder()
        except _FAILURES as fault:
            self.problem = _line(fault)
            self.rows.append(self._row("", "", "", "failed", "", ""))

    def _in_own_folder(self) -> None:
        top = self.place.path
        self._run("find", top, "-mindepth", "1", "-maxdepth", "1", "-type", "d", "-name", f"{PREFIX}*",
                  "-mtime", SWEEP_DAYS, "-exec", "rm", "-rf", "--", "{}", "+")  # fmt: skip
        made = self._run("mktemp", "-d", f"{top.rstrip('/')}/{PREFIX}XXXXXXXX").check().stdout.decode().strip()
        if not made.startswith(f"{top.rstrip('/')}/{PREFIX}"):
            raise CommandFailed(f"mktemp made {made!r}")
        log = self.folder / f"keeper-{self.place.host.name}-{self.number}.log"
        alone = ["env", "-i", "PATH=/usr/bin:/bin", "sh", "-c", KEEPER, "keeper", made]
        keeper = self.place.host.start_outside(alone, log, name=f"keeper of {made}")
        try:
            self._curve(f"{made}/data")
        finally:
            try:
                self._run("rm", "-rf", "--", made)
            finally:
                keeper.stop()

    def _curve(self, path: str) -> None:
        self._layout(path)
        points = _points(self.plan)
        # In an order that does not follow the axes but is the same each time.
        random.Random(f"{self.place.host.name} {self.place.folder}").shuffle(points)
        results = {}
        try:
            for operation, block, depth in points:
                if self.stop.is_set():
                    return
                if 2 * block * depth > self.file_bytes:
                    continue  # more than half of the file would be under way at once
                argv = fio.point(path, operation, self.mode, block, depth, self.file_bytes, self.plan.seconds)
                name = f"{operation}-{block}-{depth}"
                results[operation, block, depth] = self._fio(argv, operation, name, self.plan.seconds)
        finally:
            for point in _points(self.plan):
                if point in results:
                    self.rows += [self._row(*point, *metric) for metric in _rows_of(results[point])]

    def _layout(self, path: str) -> None:
        """Write the test file, as long as the effort wants it or as the drive can write in the time.

        Bypasses the page cache if the file system can (O_DIRECT). Any other error is raised, and does not lead to
        measuring memory instead.
        """
        size, seconds = self.file_bytes, self.plan.layout_seconds
        for mode in fio.MODES:
            self.mode = mode
            argv = fio.layout(path, mode, size, seconds)
            try:
                written = self._fio(argv, "write", f"layout-{mode}", seconds + size / FLUSH_RATE).bytes
                break
            except (CommandFailed, Unreadable) as fault:
                if mode == fio.MODES[-1] or self.place.raw or not fio.NO_DIRECT.search(str(fault)):
                    raise
        self.file_bytes = written // fio.LAYOUT_BLOCK * fio.LAYOUT_BLOCK
        if self.file_bytes < _LEAST_BYTES:
            raise CommandFailed(f"only {written} bytes written in {seconds:.0f} s, too few to measure on")

    def _fio(self, argv: Sequence[str], operation: str, name: str, seconds: float) -> FioResult:
        done = self._run(*argv, timeout=seconds + START_SECONDS)
        atomic.write(self.folder / f"fio-{self.place.host.name}-{self.number}-{name}.json", done.stdout)
        if fio.NO_ENGINE.encode() in done.stdout + done.stderr:
            raise Unreadable(f"{name}: fio has no engine {fio.ENGINE}: install fio-engine-{fio.ENGINE}")
        try:
            result = fio.measurement(done.stdout, operation)
        except Unreadable as fault:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise Unreadable(f"{name}: {said[-1]}" if done.status and said else f"{name}: {fault}") from None
        done.check()
        return result

    def _row(self, operation: str, block: int | str, depth: int | str, metric: str, value: Any, unit: str) -> dict:
        return {
            "host": self.place.host.name, "folder": self.place.folder, "kind": self.kind, "mode": self.mode,
            "operation": operation, "block_bytes": block, "queue_depth": depth, "metric": metric, "value": value,
            "unit": unit, "problem": self.problem,
        }  # fmt: skip


def _line(fault: Exception) -> str:
    if isinstance(fault, subprocess.TimeoutExpired):
        return f"a command did not end in {fault.timeout:.0f} s"
    return why_failed(fault)
