"""Lanes: the clusters on which a campaign measures side by side on this machine, and how they share its processors.

During most runs processors are idle, because links and drives are slow on purpose. So several clusters run at once:
those of several blocks and, if no further block waits, several of one block. Each lane takes processors before it uses
them and gives them back afterwards; a lane that needs many waits until enough are free. Processors are taken by locks
on parts of a file, which end with the process, however that ends.
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

from whitewire.errors import UserError
from whitewire.paths import boot_id

LANES_VARIABLE = "WHITEWIRE_LANES"
"""The environment variable with the lanes of a campaign, for its blocks."""
LANE_GIB, SPARE_GIB = 2.5, 1.0
"""GiB of memory for a lane's cluster with its data, and GiB kept for everything else."""
NEVER_BEGUN = "never begun"
"""Name of a block that never begins: while a campaign expects it, no block gets further lanes for its rounds."""
_PARTS = 20
"""Number of parts into which each processor is divided."""
_PAUSE_S = 0.05
"""Seconds between two tries to lock a lane or processors."""
SPARE = 1.25
"""Processors that lanes need per processor that their runs use on average, because the use is uneven."""


@dataclass(frozen=True)
class Lanes:
    """The lanes of a campaign on this machine.

    `count`: how many there are; `process`: the process that starts everything of the campaign; `folder`: where its lock
    files are; `processors`: how many all lanes share, 0 if each lane has hosts of its own; `blocks`: the blocks to
    measure; `most`: how many lanes there may be while processors are idle (0: no more than `count`).
    """

    count: int
    process: int
    folder: str
    processors: int
    machine: str = ""
    blocks: Sequence[str] = ()
    most: int = 0

    @classmethod
    def of(cls, count: int, folder: Path, blocks: Sequence[str] = (), most: int = 0, on_a_site: bool = False) -> Lanes:
        """The lanes of a campaign that this process begins."""
        processors = 0 if on_a_site else len(os.sched_getaffinity(0))
        found = cls(count, os.getpid(), str(folder), processors, boot_id(), list(blocks), most)
        found.begun.unlink(missing_ok=True)  # of an earlier process with this number
        return found

    @property
    def begun(self) -> Path:
        """The file that lists the campaign's blocks that have had a lane; a dry run beside it has its own."""
        return Path(self.folder, f"begun-{self.process}")

    @property
    def numbers(self) -> range:
        """Numbers of all possible lanes, from 1."""
        return range(1, max(self.count, self.most) + 1)

    def text(self) -> str:
        """The lanes as text for the environment variable."""
        return json.dumps(self.__dict__)

    @classmethod
    def read(cls) -> Lanes | None:
        """The lanes of the environment variable; None if it is empty or from another machine."""
        text = os.environ.get(LANES_VARIABLE, "")
        found = cls(**json.loads(text)) if text else None
        return found if found and found.machine == boot_id() else None


def shared() -> Lanes | None:
    """The lanes if they share processors; None without lanes, or if each has hosts of its own."""
    found = Lanes.read()
    return found if found and found.processors else None


def campaign() -> int:
    """The process that starts everything of this campaign, whose load is not that of other programs."""
    lanes = Lanes.read()
    return lanes.process if lanes and Path(f"/proc/{lanes.process}").exists() else os.getpid()


def count() -> int:
    """Number of lanes of this campaign."""
    lanes = Lanes.read()
    return lanes.count if lanes else 1


def most() -> int:
    """Number of lanes that this campaign may have at most."""
    lanes = Lanes.read()
    return len(lanes.numbers) if lanes else 1


@contextmanager
def lane(block: str = "") -> Iterator[int]:
    """Wait for a free lane and hold it for `block`; yields its number, from 1 (1 if the campaign has no lanes).

    Raises UserError.
    """
    lanes = Lanes.read()
    if lanes is None:
        yield 1
        return
    with _opened(lanes, "lanes") as file:
        while not (number := _first_free(lanes, file)):
            time.sleep(_PAUSE_S)
        with lanes.begun.open("a", encoding="utf-8") as begun:
            begun.write(f"{block}\n")
        yield number


@contextmanager
def further_lane() -> Iterator[int]:
    """Hold a further lane for a block; yields its number, or 0 if none is free or another block may need it.

    On a site a block has the hosts of one lane only.
    """
    lanes = shared()
    if lanes is None or _expected(lanes):
        yield 0
        return
    with _opened(lanes, "lanes") as file:
        yield _first_free(lanes, file)


def free() -> int:
    """Number of further lanes that a block could have now."""
    lanes = shared()
    if lanes is None or _expected(lanes):
        return 0
    with _opened(lanes, "lanes") as file:
        return sum(locked(file, number) for number in lanes.numbers)


def held_by_memory() -> int:
    """Number of lanes that fit into the free memory."""
    import psutil  # here, because the command line imports lanes before packages are installed

    return max(0, int((psutil.virtual_memory().available / 2**30 - SPARE_GIB) / LANE_GIB))


def carried(processors: int, busy: float, memory: int) -> int:
    """Number of lanes that a machine holds if each keeps `busy` processors busy on average; memory allows `memory`."""
    return max(1, min(memory, int(processors / (SPARE * busy)) if busy else processors))


def room(idle: float, working: int) -> bool:
    """Whether one more lane fits beside `working` ones that leave the share `idle` of the processors idle."""
    return idle >= SPARE * (1 - idle) / working


def _expected(lanes: Lanes) -> bool:
    """Whether a paper of the campaign has not had a lane yet.

    Further blocks of a paper do not count: each begins when the one before it has ended (Plan.in_turn).
    """
    begun = ""
    with suppress(FileNotFoundError):
        begun = lanes.begun.read_text(encoding="utf-8")
    return not {*map(_paper, lanes.blocks)} <= {*map(_paper, begun.splitlines())}


def _paper(block: str) -> str:
    return block.partition("/")[0]


def _first_free(lanes: Lanes, file: IO[bytes]) -> int:
    """Lock the first free lane and return its number; 0 if none is free.

    Raises UserError on a file system without locks where two blocks would get the same hosts.
    """
    try:
        return next((number for number in lanes.numbers if _lock(file, number)), 0)
    except OSError as error:
        if lanes.processors:  # lanes of this machine have hosts of their own, whatever their number
            return 1
        raise UserError(
            f"{file.name}: found a file system without locks ({error.strerror}), where two blocks could use the same "
            "hosts: write `lanes: 1` into the testbed's file, or move the repository to a file system with locks"
        ) from None


@contextmanager
def processors(wanted: float) -> Iterator[None]:
    """Hold `wanted` of the processors that lanes share, or all of them if there are fewer; without lanes, none.

    Requests are served in order, so that a large one is not overtaken by small ones.
    """
    lanes = shared()
    if lanes is None:
        yield
        return
    parts = lanes.processors * _PARTS
    lacking = max(1, round(min(wanted, lanes.processors) * _PARTS))
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
                    time.sleep(_PAUSE_S)
        yield


def _opened(lanes: Lanes, name: str) -> IO[bytes]:
    path = Path(lanes.folder, f"{name}.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path.open("r+b")


def _wait_for(file: IO[bytes]) -> None:
    """Wait for the lock on an open file, which lasts as long as it is open."""
    while not locked(file, 0):
        time.sleep(_PAUSE_S)


def locked(file: IO[bytes], place: int) -> bool:
    """Lock one byte of an open file; False if another process has locked it.

    True on a file system without locks: lanes of this machine then run short of processors, and such runs do not count.
    """
    try:
        return _lock(file, place)
    except OSError:
        return True


def _lock(file: IO[bytes], place: int) -> bool:
    """Like locked(), but raises OSError without locks (fcntl(2), open file description locks)."""
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0))
    except (BlockingIOError, PermissionError):
        return False
    return True
