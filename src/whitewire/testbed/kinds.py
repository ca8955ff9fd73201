"""The kinds of testbed by name, and what each brings with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whitewire.testbed.base import Testbed
from whitewire.testbed.emulated import software
from whitewire.testbed.emulated.sandbox import EmulatedTestbed
from whitewire.testbed.installation import Installation
from whitewire.testbed.site.remote import RemoteTestbed
from whitewire.testbed.site.slurm import SlurmTestbed
from whitewire.testbed.site.ssh import SshTestbed

SITES: dict[str, type[SshTestbed] | type[SlurmTestbed]] = {"ssh": SshTestbed, "slurm": SlurmTestbed}


def open_testbed(config: Mapping[str, Any], roles: Mapping[str, int], k: float, source: str = "testbed") -> Testbed:
    """The testbed that a description asks for, to be used as a context manager; messages call that `source`."""
    kind = config["kind"]
    if kind == "emulated":
        return EmulatedTestbed(config, roles, k, software.binds())
    return SITES[kind](config, roles, config.get("scale", 1), source)


def open_bare(config: Mapping[str, Any], roles: Mapping[str, int], k: float, source: str = "testbed") -> Testbed:
    """All hosts of a testbed for measuring links and drives alone: neither Java nor Hadoop has to be there.

    `roles` and `k` are those of emulated hosts; a site has the hosts that its description or its job gives it.
    """
    if config["kind"] == "emulated":
        return EmulatedTestbed(config, roles, k, software.libraries())
    return SITES[config["kind"]].whole(config, source)


def look_at(config: Mapping[str, Any], source: str) -> int:
    """Print a table of all hosts of a site. Raises UserError, naming them, when some cannot be used."""
    SITES[config["kind"]].whole(config, source).preflight()
    return 0


def installation(testbed: Testbed) -> Installation:
    """Where the testbed's hosts find Java and Hadoop."""
    return testbed.installation() if isinstance(testbed, RemoteTestbed) else software.installation()
