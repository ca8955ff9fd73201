"""What each scheduler's module says: the hosts of a job, how a command starts on one, and how the job ends."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from whitewire.errors import UserError
from whitewire.testbed.site.inventory import Place
from whitewire.testbed.site.remote_host import Layout, RemoteHost
from whitewire.testbed.site.ssh import SshHost, configuration

PAGE = "docs/sites/schedulers.md"
ANSWER_S = 20.0
"""Longest time for a scheduler to answer."""
NAME = re.compile(r"[\w][\w.-]*")
CLOCK = re.compile(r"(?:(\d{1,6})-)?(?:(?:(\d{1,9}):)?(\d{1,9}):)?(\d{1,12})(?:\.\d*)?", re.ASCII)


class Scheduler(ABC):
    """One scheduler. `environ` is the environment of a process in a job of it, `config` the testbed's description."""

    name: str
    """What messages call it."""
    variable: str
    """What only the environment of a job of it has, often the path of its node file; empty: nothing."""
    signals: tuple[signal.Signals, ...]
    """What it sends to a job before it kills it."""

    def nodes(self, config: Mapping[str, Any], environ: Mapping[str, str]) -> list[str]:
        """Names of the job's hosts in the scheduler's order, with repeats: those of the file that `variable` names.

        Raises UserError outside of a job.
        """
        path = environ.get(self.variable, "")
        return first_words(node_file(self.name, self.variable, path), path)

    @abstractmethod
    def host(self, place: Place, layout: Layout, config: Mapping[str, Any], nodes: Sequence[str]) -> RemoteHost:
        """A host by its place; `nodes` are those of the job."""

    def seconds_left(self, environ: Mapping[str, str]) -> float:
        """Seconds until the job's time is up; infinite where the scheduler does not say. Raises UserError."""
        return math.inf


class ByCommand(Scheduler):
    """A scheduler with a command that starts others on the hosts of a job and carries their standard streams."""

    @abstractmethod
    def command_line(self, node: str, rank: int, command: str, environ: Mapping[str, str]) -> list[str]:
        """The local command that runs `command` (sh) on a node; `rank` is its position among the job's."""

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """What that command inherits."""
        return dict(environ)

    def host(self, place: Place, layout: Layout, config: Mapping[str, Any], nodes: Sequence[str]) -> RemoteHost:
        return JobHost(place, layout, self, nodes.index(place.target))


class JobHost(RemoteHost):
    """A host of a job that the scheduler's own command reaches."""

    def __init__(self, place: Place, layout: Layout, scheduler: ByCommand, rank: int) -> None:
        super().__init__(place, layout)
        self.scheduler, self.rank = scheduler, rank

    def carry(self, command: str) -> list[str]:
        return self.scheduler.command_line(self.target, self.rank, command, os.environ)

    def carrier_environment(self) -> dict[str, str]:
        return self.scheduler.environment(os.environ)


class BySsh(Scheduler):
    """A scheduler whose hosts are reached by ssh."""

    def host(self, place: Place, layout: Layout, config: Mapping[str, Any], nodes: Sequence[str]) -> RemoteHost:
        return SshHost(place, layout, configuration(config))


def node_file(scheduler: str, key: str, path: str) -> str:
    """The text of a file of hosts; `key` is where its path stands, for messages. Raises UserError."""
    if not path:
        expected = "expected the file with the hosts of a job: start this in one"
        raise UserError(f"{scheduler}: {key}: found nothing, {expected}; see {PAGE}")
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"{scheduler}: {key}: {path}: {error.strerror}, expected the file with the hosts") from None


def first_words(text: str, source: str) -> list[str]:
    """The first word of each line of a node file, which is a host's name; empty lines and comments (#) do not count.

    Raises UserError that names the line.
    """
    lines = [(number, line.partition("#")[0].split()) for number, line in enumerate(text.splitlines(), start=1)]
    return [name_of(words[0], f"{source}: line {number}") for number, words in lines if words]


def name_of(text: str, where: str) -> str:
    """A host's name or address. Raises UserError for a text that cannot be one."""
    if not NAME.fullmatch(text):
        raise UserError(f"{where}: found {text[:60]!r}, expected the name of a host")
    return text


def in_a_job(scheduler: str, variable: str, environ: Mapping[str, str], how: str) -> str:
    """The value of a variable that only a job has. Raises UserError, which says how to get one."""
    value = environ.get(variable, "")
    if not value:
        raise UserError(f"{scheduler}: {variable}: found nothing, expected the environment of a job: {how}")
    return value


def answer(scheduler: str, argv: Sequence[str], environ: Mapping[str, str]) -> str:
    """What a scheduler's command prints. Raises UserError."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=ANSWER_S,
                              stdin=subprocess.DEVNULL, env=dict(environ))  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(f"{scheduler}: {' '.join(argv)}: {error}") from None
    if done.returncode != 0:
        raise UserError(f"{scheduler}: {' '.join(argv)}: {(done.stderr or done.stdout).strip()[:300]}")
    return done.stdout


def seconds_of(clock: str) -> float:
    """Seconds of `[days-][[hours:]minutes:]seconds`; infinite for any other text, such as UNLIMITED."""
    match = CLOCK.fullmatch(clock.strip())
    if match is None:
        return math.inf
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
