"""The campaign engine: the common parts of measuring blocks of papers, `links` and `trust`.

A campaign is a plan of units of work: a run, a test of some pairs of hosts, a round, a part. A unit whose result exists
and passes its checks is not made again. No unit begins after the deadline; it is left out, with the reason. The record
is written last, with the manifest of all files that belong to it.
"""

from __future__ import annotations

import math
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from whitewire import atomic, budget, lock, paths
from whitewire.errors import CannotMake, UserError
from whitewire.progress import Pulse
from whitewire.records.schema import Broken
from whitewire.testbed.base import CommandFailed, ProcessDied
from whitewire.tools import Unreadable

TIME_UP = "the time was up"
LOST = 3
"""Tests in a row without a result, after which a host, or a pair of hosts, is given up."""
TEST_FAILURES = (CommandFailed, ProcessDied, Unreadable, OSError)
"""Errors after which a test is made again (TimeoutError is an OSError). One that does not end is not."""


def why_failed(fault: Exception) -> str:
    """Why a test has no result, as a cell of its row, which is never empty."""
    return (" ".join(str(fault).split()) or type(fault).__name__)[:300]


@dataclass(frozen=True)
class Deadline:
    """The moment of the monotonic clock after which no unit begins."""

    ends: float = math.inf

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """A deadline `seconds` from now."""
        return cls(time.monotonic() + seconds)

    def left(self) -> float:
        """Seconds left until the deadline."""
        return max(0.0, self.ends - time.monotonic())

    def has(self, seconds: float) -> bool:
        """Whether work of `seconds` that begins now ends before the deadline."""
        return time.monotonic() + seconds <= self.ends

    def within(self, seconds: float) -> Deadline:
        """This deadline, but at most `seconds` from now."""
        return Deadline(min(self.ends, time.monotonic() + seconds))

    def earlier(self, seconds: float) -> Deadline:
        """A deadline `seconds` earlier."""
        return Deadline(self.ends - seconds)


NEVER = Deadline()


class Left(NamedTuple):
    """Work that is left out: its subject, the reason, and how much of it (empty: all)."""

    subject: str
    why: str
    amount: str = ""

    def __str__(self) -> str:
        return ": ".join(part for part in (self.subject, self.amount, self.why) if part)


@dataclass(frozen=True)
class Unit:
    """A piece of work that is whole or not made.

    `make` returns its record, which is written to `path` if that is set; `read` reads that file, and raises Broken if
    it is damaged; `size`: how many of the counted things (such as pairs of hosts) it covers.
    """

    make: Callable[[], Any]
    path: Path | None = None
    read: Callable[[Path], object] | None = None
    size: int = 1

    def is_made(self, say: Callable[[str], None]) -> bool:
        """True if the unit's result exists and passes its checks; reports a damaged one by `say`."""
        if self.path is None or not self.path.exists():
            return False
        try:
            return self.read is None or bool(self.read(self.path))
        except Broken as broken:
            say(f"{paths.shown(self.path)}: {broken}: measured again")
            return False


def make_units(units: Sequence[Unit], deadline: Deadline) -> Sequence[Unit]:
    """Make units in turn; returns those that were left when the time was up."""
    for place, unit in enumerate(units):
        if deadline.left() <= 0:
            return units[place:]
        made = unit.make()
        if unit.path is not None:
            unit.path.parent.mkdir(parents=True, exist_ok=True)
            atomic.write(unit.path, atomic.as_json(made))
    return ()


@contextmanager
def spending(spent: defaultdict[str, float], what: str) -> Iterator[None]:
    """Add the seconds that the `with` block takes to those of `what`."""
    began = time.monotonic()
    try:
        yield
    finally:
        spent[what] += time.monotonic() - began


class Attempts:
    """Counts attempts in a row without a result, by the name of what was tried, up to LOST."""

    def __init__(self) -> None:
        self._failed = Counter[str]()

    def failed(self, *names: str) -> None:
        self._failed.update(names)

    def succeeded(self, *names: str) -> None:
        for name in names:
            self._failed[name] = 0

    def exhausted(self, name: str) -> bool:
        """Whether a name has failed too often to be tried again."""
        return self._failed[name] >= LOST


class Work:
    """One start of a campaign: its deadline, its progress, the work that it leaves out, and its seconds by phase."""

    def __init__(self, name: str, seconds: float) -> None:
        self.progress, self.seconds, self.deadline = Pulse(name), seconds, Deadline.after(seconds)
        self.begun, self._start = time.time(), time.monotonic()
        self.left: list[Left] = []
        self.spent: defaultdict[str, float] = defaultdict(float)

    @property
    def took(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def leave_out(self, subject: str, why: str, amount: str = "") -> None:
        if (left := Left(subject, why, amount)) not in self.left:
            self.left.append(left)

    @contextmanager
    def leaving_out(self, subject: str) -> Iterator[None]:
        """Leave out `subject` if the `with` block cannot make it."""
        try:
            yield
        except CannotMake as fault:
            self.leave_out(subject, str(fault))
            self.progress.say(f"{subject}: left out: {fault}")

    def phase(self, name: str) -> AbstractContextManager[None]:
        """Count the seconds that a phase takes."""
        return spending(self.spent, name)


@contextmanager
def hold_measurement(folder: Path, what: str) -> Iterator[None]:
    """Lock a folder, which is made if missing; the error says that another process measures `what`.

    The lock ends with the process, however that ends. Raises UserError while another one holds it.
    """
    command = ["whitewire", *sys.argv[1:]]
    with lock.held(folder / ".lock", command, f"{paths.shown(folder)}: another process measures {what} now"):
        yield


def seconds_within(within: str) -> float:
    """Seconds of the option `--within`. Raises UserError."""
    try:
        return budget.seconds_of(within)
    except ValueError as error:
        raise UserError(f'--within: found "{within}", expected {error}') from None
