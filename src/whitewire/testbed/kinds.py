"""The kinds of testbed by name, and what each brings with it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from whitewire.budget import words
from whitewire.description.testbed import lane_count
from whitewire.testbed.base import Testbed
from whitewire.testbed.emulated import software
from whitewire.testbed.emulated.sandbox import EmulatedTestbed
from whitewire.testbed.installation import Installation
from whitewire.testbed.site import job
from whitewire.testbed.site.inventory import in_words
from whitewire.testbed.site.job import JobTestbed
from whitewire.testbed.site.remote import RemoteTestbed
from whitewire.testbed.site.schedulers import TABLE
from whitewire.testbed.site.ssh import SshTestbed

SITES: dict[str, type[SshTestbed] | type[JobTestbed]] = {"ssh": SshTestbed, **dict.fromkeys(TABLE, JobTestbed)}


def open_testbed(config: Mapping[str, Any], roles: Mapping[str, int], k: float, source: str = "testbed",
                 lane: int = 1) -> Testbed:  # fmt: skip
    """The testbed that a description asks for, to be used as a context manager; messages call that `source`.

    `lane`: whose hosts of a site it has.
    """
    kind = config["kind"]
    if kind == "emulated":
        return EmulatedTestbed(config, roles, k, software.binds())
    return SITES[kind](config, roles, config.get("scale", 1), source, lane)


def open_bare(config: Mapping[str, Any], roles: Mapping[str, int], k: float, source: str = "testbed") -> Testbed:
    """All hosts of a testbed for measuring links and drives alone: neither Java nor Hadoop has to be there.

    `roles` and `k` are those of emulated hosts; a site has the hosts that its description or its job gives it.
    """
    if config["kind"] == "emulated":
        return EmulatedTestbed(config, roles, k, software.libraries())
    return SITES[config["kind"]].whole(config, source)


def keep_names(testbed: Testbed, known: Mapping[str, str]) -> None:
    """Names of hosts as they were before, by their targets: only another job has other nodes."""
    if isinstance(testbed, JobTestbed):
        testbed.keep_names(known)


def look_at(config: Mapping[str, Any], source: str) -> int:
    """Print a table of all hosts of a site. Raises UserError, naming them, when some cannot be used."""
    if config["kind"] == "ssh":
        for line in in_words(config):
            print(line)
    else:
        left = job.seconds_left(config)
        within = f", {words(left)} left" if math.isfinite(left) else ""
        print(f"{TABLE[config['kind']].name}: {len(job.nodes_of(config))} nodes{within}")
        if (count := lane_count(config)) > 1:
            print(f"lanes: {count} blocks of runs are measured at once, as jobs or each on a part of one job's nodes")
    SITES[config["kind"]].whole(config, source).preflight()
    return 0


def installation(testbed: Testbed) -> Installation:
    """Where the testbed's hosts find Java and Hadoop."""
    return testbed.installation() if isinstance(testbed, RemoteTestbed) else software.installation()
