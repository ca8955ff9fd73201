"""Memory in front of modelled drives, with the compiled library and real programs: fio, dd, and several at once.

No cluster and no host of its own: the library takes any folder for a host's drives.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import reaches
from whitewire.design.drive import Drive, read_state
from whitewire.paths import HOME

HARDWARE = {
    "count": 2, "rate_mb_per_s": 10, "access_time_ms": 0, "writeback_chunk_bytes": 65536, "cache_bytes": 0,
    "memory_bytes": 40_000_000, "dirty_background_ratio": 10, "dirty_ratio": 20,
}  # fmt: skip
"""Drives of 10 MB/s; 4 MB may be dirty before they write, 8 MB before a writer waits. A drive's cache holds 64 KiB."""
MB = 1_000_000


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    made = tmp_path_factory.mktemp("library") / "libdrive.so"
    source = HOME / "src" / "drive" / "drive.c"
    argv = [
        "gcc",
        "-std=gnu11",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-shared",
        "-fPIC",
        "-pthread",
        "-o",
        made,
        source,
    ]
    subprocess.run([*argv, "-ldl"], check=True)
    return made


class Node:
    """A folder in memory with two modelled drives."""

    def __init__(self, folder: Path, drive: Drive) -> None:
        self.folder, self.drive, self.epoch = folder, drive, 0
        for number in range(1, drive.count + 1):
            (folder / str(number)).mkdir()
        (folder / ".queue").write_bytes(bytes(8))
        self.fresh()

    def fresh(self, drive: Drive | None = None) -> None:
        self.drive, self.epoch = drive or self.drive, self.epoch + 1
        with (self.folder / ".queue").open("r+b") as state:
            state.seek(8)
            state.write(self.drive.state(epoch=self.epoch))

    @property
    def counters(self) -> dict[str, float]:
        return read_state((self.folder / ".queue").read_bytes()[8:])

    def start(self, *argv: str) -> subprocess.Popen[bytes]:
        environment = os.environ | self.drive.environment(str(self.folder))
        return subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def seconds(self, *argv: str) -> float:
        begin = time.monotonic()
        running = self.start(*argv)
        _, said = running.communicate(timeout=60)
        assert running.returncode == 0, said.decode()
        return time.monotonic() - begin

    def python(self, script: str) -> float:
        """Seconds that a script says it took; FILE in it is a file on the first drive."""
        script = "import os, sys, time\nbegin = time.monotonic()\n" + script + "\nprint(time.monotonic() - begin)"
        running = self.start(sys.executable, "-c", script.replace("FILE", repr(str(self.folder / "1" / "file"))))
        out, said = running.communicate(timeout=60)
        assert running.returncode == 0, said.decode()
        return float(out)


@pytest.fixture
def node(library):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Node(Path(folder), Drive.scaled(HARDWARE, 1, str(library)))


WRITE = "f = os.open(FILE, os.O_CREAT | os.O_WRONLY{flags})\nfor _ in range({calls}): os.write(f, bytes(65536))"


def write(megabytes: float, flags: str = "") -> str:
    return WRITE.format(calls=round(megabytes * MB / 65536), flags=flags)


def test_bench_finds_the_curve_that_arithmetic_has(library):
    argv = [sys.executable, str(HOME / "bench" / "page_cache.py"), "--library", str(library)]
    for _ in range(3):  # a busy machine is late
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
        assert done.stdout.count("\n| ") == 18, done.stderr
        if done.returncode == 0:
            return
    pytest.fail(done.stdout)


def fio(node: Node, size: int) -> float:
    """MB/s of a buffered sequential write without fsync, in fresh memory."""
    node.fresh()
    argv = ["fio", "--name=x", f"--directory={node.folder}/1", "--rw=write", "--bs=65536", f"--size={size}",
            "--ioengine=psync", "--fallocate=none", "--invalidate=0", "--output-format=json"]  # fmt: skip
    out, said = node.start(*argv).communicate(timeout=60)
    assert out, said.decode()
    return json.loads(out)["jobs"][0]["write"]["bw_bytes"] / 1e6


@pytest.mark.skipif(not shutil.which("fio"), reason="no fio")
def test_fio_writes_a_small_file_at_the_rate_of_memory_and_of_a_large_one_the_rest_at_the_drives(node):
    reaches(60, 1e5, lambda: fio(node, 6 * MB))
    # Eight megabytes, and the drive's 64 KiB, take no time.
    expected = 32 / ((32 - 8.07) / 10)
    reaches(expected * 0.93, expected * 1.03, lambda: fio(node, 32 * MB))
    assert node.counters["taken"] == pytest.approx(32 * MB, rel=0.01)


def test_memory_is_one_for_all_programs_and_drives_of_a_node(node):
    assert node.python(write(8)) < 0.2
    second = write(4).replace("FILE", repr(str(node.folder / "2" / "other")))
    # Both drives empty it: 4 MB at 20 MB/s, less what they took while the second program started.
    assert 0.05 < node.python(second) < 0.35
    assert node.counters["taken"] == pytest.approx(12 * MB, rel=0.02)


def test_never_more_is_dirty_than_the_limit_when_writers_go_on(node):
    running = [node.start("dd", "if=/dev/zero", f"of={node.folder}/{n % 2 + 1}/{n}", "bs=64k", "count=100")
               for n in range(4)]  # fmt: skip
    for program in running:
        program.communicate(timeout=60)
    # A call of each of the others may be waiting.
    assert node.counters["most"] <= 8 * MB + 3 * 65536 + 1
    assert node.counters["most"] > 7.5 * MB
    assert node.counters["gone"] + node.counters["most"] <= node.counters["taken"] + 8 * MB


@pytest.mark.parametrize("flags", [" | os.O_DIRECT", " | os.O_SYNC", " | os.O_DSYNC"])
def test_who_asks_for_the_drive_waits_for_it(node, flags):
    reaches(0.27, 0.36, lambda: node.python(write(3, flags)))
    assert node.counters["taken"] == 0


def test_fsync_waits_for_its_file(node):
    reaches(0.28, 0.36, lambda: node.python(write(3) + "\nos.fsync(f)"))
    node.fresh()
    assert node.python(write(3)) < 0.2


def test_what_was_written_is_read_from_memory_and_after_it_went_from_the_drive(node):
    read = "f = os.open(FILE, os.O_RDONLY)\nwhile os.read(f, 65536): pass"
    node.python(write(4))
    assert node.python(read) < 0.2
    assert node.counters["read"] == pytest.approx(4 * MB, rel=0.02)
    node.fresh()
    reaches(0.38, 0.46, lambda: (node.fresh(), node.python(read))[1])
    assert node.python(read) < 0.2  # read once, and held since


@pytest.mark.parametrize("how", [
    "os.unlink(FILE)", "os.truncate(f, 0)", "os.open(FILE, os.O_WRONLY | os.O_TRUNC)",
    "os.rename(os.path.dirname(FILE) + '/new', FILE)",
])  # fmt: skip
def test_what_is_deleted_makes_room(node, how):
    (node.folder / "1" / "new").write_bytes(b"")
    node.python(write(8) + "\n" + how)
    assert node.counters["forgotten"] > 3 * MB
    assert node.python(write(4).replace("FILE", repr(str(node.folder / "1" / "other")))) < 0.2


def test_a_killed_writer_leaves_a_memory_that_goes_on(node):
    for _ in range(5):
        writer = node.start("dd", "if=/dev/zero", f"of={node.folder}/1/x", "bs=64k", "count=10000")
        time.sleep(0.15)
        writer.kill()
        writer.communicate()
    node.fresh()
    reaches(0.75, 0.9, lambda: (node.fresh(), node.python(write(16)))[1])


def test_without_memory_each_write_takes_its_drives_time(node):
    node.fresh(node.drive.alone)
    reaches(0.75, 0.9, lambda: node.python(write(8)))
    assert "taken" not in node.counters


def test_programs_that_run_meet_fresh_memory_from_the_moment_it_is_put(node):
    script = (
        write(8) + "\nsys.stdin.readline()\nbegin = time.monotonic()\nfor _ in range(100): os.write(f, bytes(65536))"
    )
    script = "import os, sys, time\n" + script + "\nprint(time.monotonic() - begin)"
    environment = os.environ | node.drive.environment(str(node.folder))
    argv = [sys.executable, "-c", script.replace("FILE", repr(str(node.folder / "1" / "file")))]
    with subprocess.Popen(argv, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        time.sleep(0.5)
        node.fresh(replace(node.drive, limit=10.0 * MB))
        out, _ = program.communicate(b"\n", timeout=60)
    assert float(out) < 0.2
