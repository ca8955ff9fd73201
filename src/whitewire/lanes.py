"""Lanes: the clusters on which a campaign measures side by side on this machine, and how they share its processors.

During most runs processors are idle, because links and drives are slow on purpose. So several clusters are measured on
at once: those of several blocks, and, where no further block waits, several of one block. Each takes processors before
it uses them and gives them back afterwards; one that needs many waits until so many are free. What is taken is a share
of a lock file: it goes with the process, however that ends.
"""

from __future__ import annotations

import fcntl
import json
import os
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from whitewire.paths import boot_id

VARIABLE = "WHITEWIRE_LANES"
"""The environment variable with the lanes of a campaign, for its blocks."""
LANE_GIB, SPARE_GIB = 2.5, 1.0
"""Memory of a lane's cluster with its data, and what stays for the rest."""
NEVER_BEGUN = "never begun"
"""A block that does not exist: where a campaign names it, a lane that is free goes to no other block's rounds."""
PARTS = 20
"""Into so many parts each processor is divided."""
PAUSE_S = 0.05
"""Seconds between two looks at whether processors are free."""
SPARE = 1.25
"""Processors that lanes get for each that their runs use on average: the use is uneven."""


@dataclass(frozen=True)
class Lanes:
    """How many lanes a campaign on this machine has; `process`: the process that everything of it is started by;
    `folder`: where its lock files are; `processors`: how many all lanes share, 0 where each has hosts of its own;
    `blocks`: what it has to measure; `most`: how many lanes it may come to have where processors stay idle (0: no more
    than `count`)."""

    count: int
    process: int
    folder: str
    processors: int
    machine: str = ""
    blocks: Sequence[str] = ()
    most: int = 0

    @classmethod
    def of(cls, count: int, folder: Path, blocks: Sequence[str] = (), most: int = 0, on_a_site: bool = False) -> Lanes:
        """Those of a campaign that this process begins."""
        processors = 0 if on_a_site else len(os.sched_getaffinity(0))
        found = cls(count, os.getpid(), str(folder), processors, boot_id(), list(blocks), most)
        found.begun.unlink(missing_ok=True)  # of an earlier process with this number
        return found

    @property
    def begun(self) -> Path:
        """The file of the campaign's blocks that have a lane, or had one; a dry run beside it has its own."""
        return Path(self.folder, f"begun-{self.process}")

    @property
    def numbers(self) -> range:
        """The numbers of all lanes that there may be."""
        return range(1, max(self.count, self.most) + 1)

    def text(self) -> str:
        """For the environment variable."""
        return json.dumps(self.__dict__)

    @classmethod
    def read(cls) -> Lanes | None:
        """Those of the environment; None where there are none, or those of another machine."""
        text = os.environ.get(VARIABLE, "")
        found = cls(**json.loads(text)) if text else None
        return found if found and found.machine == boot_id() else None


def shared() -> Lanes | None:
    """Those that share processors; None where there are none, or each has hosts of its own."""
    found = Lanes.read()
    return found if found and found.processors else None


def campaign() -> int:
    """The process that everything of this campaign is started by: its load is no other program's."""
    lanes = Lanes.read()
    return lanes.process if lanes and Path(f"/proc/{lanes.process}").exists() else os.getpid()


def count() -> int:
    """How many lanes this campaign has."""
    lanes = Lanes.read()
    return lanes.count if lanes else 1


def most() -> int:
    """How many lanes this campaign may come to have."""
    lanes = Lanes.read()
    return len(lanes.numbers) if lanes else 1


@contextmanager
def lane(block: str = "") -> Iterator[int]:
    """Hold the first lane that is free, by its number from 1, which is 1 where there are none; `block` has it."""
    lanes = Lanes.read()
    if lanes is None:
        yield 1
        return
    with _opened(lanes, "lanes") as file:
        while not (number := _first_free(lanes, file)):
            time.sleep(PAUSE_S)
        with lanes.begun.open("a", encoding="utf-8") as begun:
            begun.write(f"{block}\n")
        yield number


@contextmanager
def further_lane() -> Iterator[int]:
    """Hold a lane for a block that has one already, by its number; 0 where none is free or a block may want it.

    On a site a block has the hosts of one lane only.
    """
    lanes = shared()
    if lanes is None or _expected(lanes):
        yield 0
        return
    with _opened(lanes, "lanes") as file:
        yield _first_free(lanes, file)


def free() -> int:
    """How many further lanes a block could have now."""
    lanes = shared()
    if lanes is None or _expected(lanes):
        return 0
    with _opened(lanes, "lanes") as file:
        return sum(locked(file, number) for number in lanes.numbers)


def held_by_memory() -> int:
    """How many lanes the memory that is free holds."""
    import psutil  # the command line knows of lanes where no package is installed yet

    return max(0, int((psutil.virtual_memory().available / 2**30 - SPARE_GIB) / LANE_GIB))


def carried(processors: int, busy: float, memory: int) -> int:
    """How many lanes a machine carries whose runs keep `busy` processors busy on average, with memory for so many."""
    return max(1, min(memory, int(processors / (SPARE * busy)) if busy else processors))


def room(idle: float, working: int) -> bool:
    """Whether one more lane fits beside so many `working` ones, which left this share of the processors idle."""
    return idle >= SPARE * (1 - idle) / working


def _expected(lanes: Lanes) -> bool:
    """Whether a block of the campaign has not had a lane yet, other than one that follows another of its paper: it
    waits until that one has ended.
    """
    begun = ""
    with suppress(FileNotFoundError):
        begun = lanes.begun.read_text(encoding="utf-8")
    return not {*map(_paper, lanes.blocks)} <= {*map(_paper, begun.splitlines())}


def _paper(block: str) -> str:
    return block.partition("/")[0]


def _first_free(lanes: Lanes, file: IO[bytes]) -> int:
    """Hold the first lane that is free; 0 where none is."""
    return next((number for number in lanes.numbers if locked(file, number)), 0)


@contextmanager
def after_others(path: Path) -> Iterator[None]:
    """Wait until no other lane holds this file: blocks of one paper choose their k one after the other.

    On a site k is given.
    """
    if shared() is None:
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
    lanes = shared()
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
                    if lacking and locked(file, part):
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
    while not locked(file, 0):
        time.sleep(PAUSE_S)


def locked(file: IO[bytes], place: int) -> bool:
    """Lock one byte of a file for as long as it is open, if nobody else has (fcntl(2), open file description locks)."""
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0))
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # a file system without locks
        return True
    return True
