"""The interface of schedulers: a job's hosts, how a command starts on one, and how the job ends."""

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

SCHEDULERS_PAGE = "docs/sites/schedulers.md"
_ANSWER_S = 20.0
"""Longest time for a scheduler to answer, in seconds."""
_NAME = re.compile(r"[\w][\w.-]*")
_CLOCK = re.compile(r"(?:(\d{1,6})-)?(?:(?:(\d{1,9}):)?(\d{1,9}):)?(\d{1,12})(?:\.\d*)?", re.ASCII)


class Scheduler(ABC):
    """One scheduler. `environ`: environment of a process in one of its jobs, `config`: the testbed's description."""

    name: str
    """Its name in messages."""
    variable: str
    """An environment variable that only its jobs have, often with the path of the node file; empty: none."""
    signals: tuple[signal.Signals, ...]
    """The signals that it sends to a job before it kills it."""

    def nodes(self, config: Mapping[str, Any], environ: Mapping[str, str]) -> list[str]:
        """Names of the job's hosts in the scheduler's order, with repeats: those of the file that `variable` names.

        Raises UserError outside of a job.
        """
        path = environ.get(self.variable, "")
        return first_words(node_file(self.name, self.variable, path), path)

    @abstractmethod
    def host(self, place: Place, layout: Layout, config: Mapping[str, Any], nodes: Sequence[str]) -> RemoteHost:
        """The host of a place; `nodes`: all nodes of the job."""

    def seconds_left(self, environ: Mapping[str, str]) -> float:
        """Seconds until the job's time is up; infinite if the scheduler does not report it. Raises UserError."""
        return math.inf


class ByCommand(Scheduler):
    """A scheduler whose own command starts others on a job's hosts and connects their standard streams."""

    @abstractmethod
    def command_line(self, node: str, rank: int, command: str, environ: Mapping[str, str]) -> list[str]:
        """The local command that runs `command` (sh) on a node; `rank`: the node's position in the job's list."""

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The environment of that local command."""
        return dict(environ)

    def host(self, place: Place, layout: Layout, config: Mapping[str, Any], nodes: Sequence[str]) -> RemoteHost:
        return JobHost(place, layout, self, nodes.index(place.target))


class JobHost(RemoteHost):
    """A host of a job that the scheduler's own command reaches."""

    def __init__(self, place: Place, layout: Layout, scheduler: ByCommand, rank: int) -> None:
        super().__init__(place, layout)
        self.scheduler, self.rank = scheduler, rank

    def carry(self, command: str) -> list[str]:
        """The local command that runs `command` (sh) on the host."""
        return self.scheduler.command_line(self.target, self.rank, command, os.environ)

    def popen(self, command: str, **options: Any) -> subprocess.Popen[bytes]:
        return self._popen(self.carry(command), env=self.scheduler.environment(os.environ), **options)


class BySsh(Scheduler):
    """A scheduler whose hosts are reached by ssh."""

    def host(self, place: Place, layout: Layout, config: Mapping[str, Any], nodes: Sequence[str]) -> RemoteHost:
        return SshHost(place, layout, configuration(config))


def node_file(scheduler: str, key: str, path: str) -> str:
    """The text of a host file; `key`: the variable or key with its path, for messages. Raises UserError."""
    if not path:
        expected = "expected the file with the hosts of a job: start this in one"
        raise UserError(f"{scheduler}: {key}: found nothing, {expected}; see {SCHEDULERS_PAGE}")
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"{scheduler}: {key}: {path}: {error.strerror}, expected the file with the hosts") from None


def first_words(text: str, source: str) -> list[str]:
    """The hosts of a node file: the first word of each line, except for empty lines and comments (#).

    Raises a UserError that names an invalid line.
    """
    lines = [(number, line.partition("#")[0].split()) for number, line in enumerate(text.splitlines(), start=1)]
    return [checked_host_name(words[0], f"{source}: line {number}") for number, words in lines if words]


def checked_host_name(text: str, where: str) -> str:
    """The text itself if it can be a host's name or address. Raises UserError otherwise."""
    if not _NAME.fullmatch(text):
        raise UserError(f"{where}: found {text[:60]!r}, expected the name of a host")
    return text


def in_a_job(scheduler: str, variable: str, environ: Mapping[str, str], how: str) -> str:
    """The value of a variable that only jobs have. Raises UserError with `how`, the way to start a job."""
    value = environ.get(variable, "")
    if not value:
        raise UserError(f"{scheduler}: {variable}: found nothing, expected the environment of a job: {how}")
    return value


def answer(scheduler: str, argv: Sequence[str], environ: Mapping[str, str]) -> str:
    """The output of a scheduler's command. Raises UserError if it fails."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=_ANSWER_S,
                              stdin=subprocess.DEVNULL, env=dict(environ))  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(f"{scheduler}: {' '.join(argv)}: {error}") from None
    if done.returncode != 0:
        raise UserError(f"{scheduler}: {' '.join(argv)}: {(done.stderr or done.stdout).strip()[:300]}")
    return done.stdout


def seconds_of_clock(clock: str) -> float:
    """`[days-][[hours:]minutes:]seconds` in seconds; infinite for any other text, such as UNLIMITED."""
    match = _CLOCK.fullmatch(clock.strip())
    if match is None:
        return math.inf
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
