"""The kinds of testbed by name, and how each is opened."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from whitewire.budget import time_in_words
from whitewire.description.capabilities import capabilities_of
from whitewire.description.testbed import lane_count
from whitewire.testbed.base import Testbed
from whitewire.testbed.emulated import software
from whitewire.testbed.emulated.sandbox import EmulatedTestbed
from whitewire.testbed.site import job
from whitewire.testbed.site.inventory import lanes_in_words
from whitewire.testbed.site.job import JobTestbed
from whitewire.testbed.site.schedulers import SCHEDULERS
from whitewire.testbed.site.ssh import SshTestbed


@dataclass(frozen=True)
class Backend:
    """How testbeds of a kind are opened: for runs, and for links and drives alone."""

    open: Callable[[Mapping[str, Any], Mapping[str, int], float, str, int], Testbed]
    open_bare: Callable[[Mapping[str, Any], Mapping[str, int], float, str], Testbed]


def _site(hosts: type[SshTestbed] | type[JobTestbed]) -> Backend:
    return Backend(
        lambda config, roles, k, source, lane: hosts(config, roles, source, lane),
        lambda config, roles, k, source: hosts.whole(config, source),
    )


TESTBEDS = {
    "emulated": Backend(
        lambda config, roles, k, source, lane: EmulatedTestbed(config, roles, k, software.binds()),
        lambda config, roles, k, source: EmulatedTestbed(config, roles, k, software.libraries()),
    ),
    "ssh": _site(SshTestbed),
    **dict.fromkeys(SCHEDULERS, _site(JobTestbed)),
}


def open_testbed(config: Mapping[str, Any], roles: Mapping[str, int], k: float, source: str, lane: int) -> Testbed:
    """The testbed of a description, to be used as a context manager; messages call the description `source`.

    `k` divides the rates of emulated links; `lane`: the lane whose hosts of a site it uses.
    """
    return TESTBEDS[config["kind"]].open(config, roles, k, source, lane)


def open_bare(config: Mapping[str, Any], roles: Mapping[str, int], k: float, source: str) -> Testbed:
    """All hosts of a testbed, for measuring links and drives only: they need neither Java nor Hadoop.

    `roles` and `k` apply to emulated hosts; the hosts of a site come from its description or its job.
    """
    return TESTBEDS[config["kind"]].open_bare(config, roles, k, source)


def look_at(config: Mapping[str, Any], source: str) -> int:
    """Print a table of all hosts of a site. Raises a UserError that names unusable hosts."""
    if capabilities_of(config).lists_hosts:
        for line in lanes_in_words(config):
            print(line)
    else:
        left = job.seconds_left(config)
        within = f", {time_in_words(left)} left" if math.isfinite(left) else ""
        print(f"{SCHEDULERS[config['kind']].name}: {len(job.nodes_of(config))} nodes{within}")
        if (count := lane_count(config)) > 1:
            print(f"lanes: {count} blocks of runs are measured at once, as jobs or each on a part of one job's nodes")
    open_bare(config, {}, 1, source).preflight()
    return 0
