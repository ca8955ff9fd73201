"""Does a write through a DataNode's modelled memory take the time that arithmetic says?

    .venv/bin/python bench/page_cache.py [--drives 2] [--rate 10] [--limit 8] [--library libdrive.so]

A program writes files on modelled drives, at once as fast as it can, at three times the drives' rate and below it, and
notes when each of its calls came back; arithmetic (models/page_cache.py) says when it should have. Prints both as a
table. Ends with status 1 where they are further apart than 5 % and 50 ms.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from whitewire.design.drive import Drive
from whitewire.models import page_cache
from whitewire.testbed.emulated.software import LIBRARIES

CALL = 65536
"""Bytes a call: a packet of HDFS."""
BEFORE = 8
"""Bytes of the state file before the model."""
BOUND, LEAST_S = 0.05, 0.05
POINTS = (0.25, 0.5, 1, 1.5, 2, 3)
"""Where the curve is looked at: bytes over the limit of dirty ones."""
WRITER = """
import os, sys, time
folder, rate, (drives, calls, size) = sys.argv[1], float(sys.argv[2]), map(int, sys.argv[3:])
files = [os.open(f"{folder}/{n + 1}/file", os.O_CREAT | os.O_WRONLY) for n in range(drives)]
data, begin, seconds = bytes(size), time.monotonic(), []
for call in range(calls):
    if rate and (early := begin + call * size / rate - time.monotonic()) > 0:
        time.sleep(early)
    os.write(files[call % drives], data)
    seconds.append(time.monotonic() - begin)
print(*seconds)
"""


def drives(count: int, rate: float, limit: float, library: Path) -> Drive:
    """So many drives of `rate` MB/s together, without a way between files, and memory that lets `limit` MB be dirty."""
    hardware = {
        "count": count, "rate_mb_per_s": rate / count, "access_time_ms": 0, "writeback_chunk_bytes": CALL,
        "cache_bytes": 0, "memory_bytes": limit * 5e6, "dirty_ratio": 20, "dirty_background_ratio": 10,
    }  # fmt: skip
    return Drive.scaled(hardware, 1, str(library))


def written(drive: Drive, rate: float, size: float) -> Sequence[float]:
    """Seconds after which each call came back that wrote CALL bytes, at most at `rate` MB/s (0: as fast as it can)."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        for number in range(drive.count):
            (Path(folder) / str(number + 1)).mkdir()
        (Path(folder) / ".queue").write_bytes(bytes(BEFORE) + drive.state(epoch=1))
        calls = str(int(size * 1e6 / CALL) + 1)
        argv = [sys.executable, "-c", WRITER, folder, str(rate * 1e6), str(drive.count), calls, str(CALL)]
        done = subprocess.run(
            argv, env=os.environ | drive.environment(folder), capture_output=True, text=True, check=True
        )
    return [float(word) for word in done.stdout.split()]


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--drives", type=int, default=2)
    arguments.add_argument("--rate", type=float, default=10.0, help="MB/s of all drives together")
    arguments.add_argument("--limit", type=float, default=8.0, help="MB that may be dirty; half of it stays in memory")
    arguments.add_argument("--library", type=Path, default=LIBRARIES / "libdrive.so")
    given = arguments.parse_args()
    drive, wrong = drives(given.drives, given.rate, given.limit, given.library), 0
    taken = drive.cache * drive.count / 1e6  # a drive's cache holds a packet at least
    print("| writer | MB written | s measured | s expected | difference |\n|---|---|---|---|---|")
    for name, rate in (("as fast as it can", 0.0), ("3 x drives", 3 * given.rate), ("0.8 x drives", 0.8 * given.rate)):
        found = written(drive, rate, POINTS[-1] * given.limit)
        for point in POINTS:
            call = round(point * given.limit * 1e6 / CALL)
            size = (call + 1) * CALL / 1e6
            # A writer with a pace waits before a call, so that its first takes no time.
            limits = given.rate, drive.background / 1e6, drive.limit / 1e6 + taken
            expected = page_cache.write_time(size if not rate else size - CALL / 1e6, rate or 1e4, *limits)
            off = found[call] - expected
            wrong += abs(off) > max(BOUND * expected, LEAST_S)
            print(f"| {name} | {size:.2f} | {found[call]:.3f} | {expected:.3f} | {off:+.3f} |")
    print(f"{wrong} of {3 * len(POINTS)} beyond {BOUND:.0%} and {LEAST_S * 1e3:.0f} ms")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
