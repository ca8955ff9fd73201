"""A testbed of the nodes that a scheduler or a host file lists; the schedulers package has their differences."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from whitewire import lanes
from whitewire.errors import UserError
from whitewire.testbed.site import shell
from whitewire.testbed.site.inventory import ALL_LANES, machines, named, of_lane, of_nodes
from whitewire.testbed.site.remote import RemoteTestbed
from whitewire.testbed.site.remote_host import Layout
from whitewire.testbed.site.schedulers import SCHEDULERS

EARLY_S = 30.0
"""Seconds before the end of a job's time at which Whitewire stops, which leaves time to clean up all hosts."""
CLEAN_UP_S = 25.0
"""Longest time in seconds for that clean-up, which commands that still run on hosts hold up."""


class JobTestbed(RemoteTestbed):
    """The nodes of one lane of the job that this process runs in, assigned to `roles` in order; see RemoteTestbed."""

    def __init__(self, config: Mapping, roles: Mapping[str, int], source: str = "testbed", lane: int = 1) -> None:
        scheduler, layout = SCHEDULERS[config["kind"]], Layout.of(config)
        listed = scheduler.nodes(config, os.environ)
        nodes = of_lane(machines(listed, scheduler.name), lane, lanes.count())
        places = of_nodes(config, roles, nodes, source, scheduler.name)
        hosts = [scheduler.host(place, layout, config, listed) for place in places]
        super().__init__(config, hosts, layout, source)

    def keep_names(self, known: Mapping[str, str]) -> None:
        """Give nodes their names of an earlier job (node → name), and further nodes names not used there."""
        names = named([host.target for host in self.hosts], known) if known else [host.name for host in self.hosts]
        for host, name in zip(self.hosts, names, strict=True):
            host.name, host.place = name, replace(host.place, name=name)

    @classmethod
    def whole(cls, config: Mapping, source: str = "testbed") -> JobTestbed:
        """All nodes of the job, whatever their roles will be."""
        return cls(config, {"datanode": len(nodes_of(config))}, source, ALL_LANES)


def nodes_of(config: Mapping[str, Any]) -> list[str]:
    """Names of the current job's nodes, each machine once. Raises UserError."""
    scheduler = SCHEDULERS[config["kind"]]
    return machines(scheduler.nodes(config, os.environ), scheduler.name)


def seconds_left(config: Mapping[str, Any]) -> float:
    """Seconds until the current job's time is up; infinite if unknown."""
    with contextlib.suppress(UserError, OSError):
        return SCHEDULERS[config["kind"]].seconds_left(os.environ)
    return math.inf


@contextlib.contextmanager
def within_its_job(config: Mapping[str, Any]) -> Iterator[None]:
    """Exit cleanly when the scheduler signals the end of the current job, or EARLY_S before its time is up.

    No further run starts, the hosts are cleaned up, and the exit status shows that work is left. After CLEAN_UP_S the
    process ends at once, and leaves the rest to the hosts' watchers. On testbeds without a job this does nothing.
    """
    if config["kind"] not in SCHEDULERS:
        yield
        return
    signals = {*SCHEDULERS[config["kind"]].signals, signal.SIGALRM}
    late = threading.Timer(CLEAN_UP_S, _end_at_once)
    late.daemon = True

    def end(number: int, _: object) -> None:
        for each in signals:
            signal.signal(each, signal.SIG_IGN)  # later signals must not interrupt the clean-up
        late.start()
        why = f"the job ends ({signal.Signals(number).name})"
        _say(f"{why}: finished runs are kept; start it again in another job")
        sys.exit(128 + number)

    before = {number: signal.signal(number, end) for number in signals}
    left = seconds_left(config)
    if math.isfinite(left):
        signal.setitimer(signal.ITIMER_REAL, max(1.0, left - EARLY_S))
    try:
        yield
    finally:
        late.cancel()
        if math.isfinite(left):
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_at_once() -> None:
    rest = f"the hosts end them by themselves, within {shell.WATCH_PATIENCE_S} s"
    _say(f"stopping commands on hosts took longer than {CLEAN_UP_S:g} s: {rest}")
    os._exit(1)


def _say(line: str) -> None:
    """Print a line, unless the scheduler's signal has ended the program that reads it."""
    try:
        print(f"whitewire: {line}", file=sys.stderr, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())  # or Python's last flush changes the exit status
