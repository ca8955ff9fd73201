"""Lanes: the blocks that a campaign measures side by side on this machine, and how they share its processors.

During most runs processors are idle, because links and drives are slow on purpose. So several blocks, each with a
cluster of its own, are measured at once. Each takes processors before it uses them and gives them back afterwards; one
that needs many waits until so many are free. What is taken is a share of a lock file: it goes with the process, however
that ends.
"""

from __future__ import annotations

import fcntl
import json
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from whitewire.paths import boot_id

VARIABLE = "WHITEWIRE_LANES"
"""The environment variable that tells the blocks of a campaign of their lanes."""
LANE_GIB, SPARE_GIB = 2.5, 1.0
"""Memory of a lane's cluster with its data, and what stays for the rest."""
PARTS = 20
"""Into so many parts each processor is divided."""
PAUSE_S = 0.05
"""Seconds between two looks at whether processors are free."""


@dataclass(frozen=True)
class Lanes:
    """How many lanes a campaign on this machine has; `process`: the process that everything of it is started by;
    `folder`: where its lock files are; `processors`: how many all lanes share."""

    count: int
    process: int
    folder: str
    processors: int
    machine: str = ""

    @classmethod
    def of(cls, count: int, folder: Path) -> Lanes:
        """Those of a campaign that this process begins."""
        return cls(count, os.getpid(), str(folder), len(os.sched_getaffinity(0)), boot_id())

    def text(self) -> str:
        """For the environment variable."""
        return json.dumps(self.__dict__)

    @classmethod
    def read(cls) -> Lanes | None:
        """Those that the environment tells of; None where there are none, or those of another machine."""
        text = os.environ.get(VARIABLE, "")
        found = cls(**json.loads(text)) if text else None
        return found if found and found.machine == boot_id() else None


def campaign() -> int:
    """The process that everything of this campaign is started by: its load is no other program's."""
    lanes = Lanes.read()
    return lanes.process if lanes and Path(f"/proc/{lanes.process}").exists() else os.getpid()


def count() -> int:
    """How many lanes this campaign has."""
    lanes = Lanes.read()
    return lanes.count if lanes else 1


@contextmanager
def lane() -> Iterator[int]:
    """Hold the first lane that is free, by its number from 1, which is 1 where there are none."""
    lanes = Lanes.read()
    if lanes is None:
        yield 1
        return
    with _opened(lanes, "lanes") as file:
        while True:
            for number in range(1, lanes.count + 1):
                if _locked(file, number):
                    yield number
                    return
            time.sleep(PAUSE_S)


@contextmanager
def after_others(path: Path) -> Iterator[None]:
    """Wait until no other lane holds this file: blocks of one paper choose their k one after the other."""
    if Lanes.read() is None:
        yield
        return
    with path.open("a+b") as file:
        _wait_for(file)
        yield


@contextmanager
def processors(wanted: float) -> Iterator[None]:
    """Hold so many of the processors that lanes share, or all of them where it is more; without lanes, none.

    Who asked first is served first, so that one which needs many is not passed by those that need few.
    """
    lanes = Lanes.read()
    if lanes is None:
        yield
        return
    parts = lanes.processors * PARTS
    lacking = max(1, round(min(wanted, lanes.processors) * PARTS))
    with _opened(lanes, "processors") as file:
        with _opened(lanes, "queue") as queue:
            _wait_for(queue)
            free = set(range(parts))
            while lacking:
                for part in sorted(free):
                    if lacking and _locked(file, part):
                        free.discard(part)
                        lacking -= 1
                if lacking:
                    time.sleep(PAUSE_S)
        yield


def _opened(lanes: Lanes, name: str) -> IO[bytes]:
    path = Path(lanes.folder, f"{name}.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path.open("r+b")


def _wait_for(file: IO[bytes]) -> None:
    """Wait until an open file is ours, for as long as it is open."""
    while not _locked(file, 0):
        time.sleep(PAUSE_S)


def _locked(file: IO[bytes], place: int) -> bool:
    """Lock one byte of a file for as long as it is open, if nobody else has (fcntl(2), open file description locks)."""
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0))
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # a file system without locks
        return True
    return True
