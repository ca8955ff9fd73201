"""Capabilities of each kind of testbed.

Code asks for a capability, never for the name of a kind. A further kind is a line in CAPABILITIES and a line in the
table of testbed/kinds.py, which opens it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Capabilities:
    """Capabilities of a kind of testbed, and properties that its hosts share."""

    form: str
    """The form of its description, below `$defs` of workflow/schemas/testbed.schema.yaml."""

    local: bool = False
    """Hosts are part of the machine that runs Whitewire; others are reached by ssh or a scheduler."""
    makes_hosts: bool = False
    """As many hosts of each role as a run needs; other testbeds have a fixed number."""
    shares_processors: bool = False
    """All hosts share the processors of one machine."""
    shapes_links: bool = False
    """Links have any rate, buffer, MTU, offloads and racks that a run asks for."""
    scales_rates: bool = False
    """Rates and sizes are those of the paper divided by its k."""
    models_drives: bool = False
    """Drives are the paper's, as models; other testbeds have drives of their own."""
    starts_file_system: bool = False
    """Starts a parallel file system (CephFS); other testbeds may have one mounted (`mount`)."""
    has_rdma: bool = False
    """Links may have RDMA ports."""
    addresses_by_fabric: bool = False
    """Hosts have another address on each fabric, so that a cluster has to be started for each."""
    lists_hosts: bool = False
    """The description lists the hosts with their roles (`hosts`); they may be divided into lanes."""
    runs_in_job: bool = False
    """Hosts are the nodes of a scheduler's job."""
    reads_host_file: bool = False
    """Hosts are those of a file (`host_file`)."""

    def has(self, capability: str) -> bool:
        """Whether it has a capability by name; the empty name is always there."""
        return not capability or getattr(self, capability)


_EMULATED = Capabilities(
    "emulated", local=True, makes_hosts=True, shares_processors=True, shapes_links=True, scales_rates=True,
    models_drives=True, starts_file_system=True,
)  # fmt: skip
INVENTORY = Capabilities("ssh", has_rdma=True, addresses_by_fabric=True, lists_hosts=True)
JOB = Capabilities("job", has_rdma=True, addresses_by_fabric=True, runs_in_job=True)
HOST_FILE = Capabilities("job", has_rdma=True, addresses_by_fabric=True, reads_host_file=True)

CAPABILITIES: dict[str, Capabilities] = {
    "emulated": _EMULATED,
    "ssh": INVENTORY,
    "slurm": JOB,
    "pbs": JOB,
    "gridengine": JOB,
    "lsf": JOB,
    "flux": JOB,
    "oar": JOB,
    "hostfile": HOST_FILE,
}


def capabilities_of(testbed: Mapping[str, Any]) -> Capabilities:
    """Capabilities of a testbed by its description; one without a kind is emulated."""
    return CAPABILITIES[testbed.get("kind", "emulated")]
