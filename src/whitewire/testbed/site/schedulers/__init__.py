"""The schedulers, by kind of testbed."""

from __future__ import annotations

from collections.abc import Mapping

from whitewire.testbed.site.schedulers.flux import Flux
from whitewire.testbed.site.schedulers.gridengine import GridEngine
from whitewire.testbed.site.schedulers.hostfile import Hostfile
from whitewire.testbed.site.schedulers.lsf import Lsf
from whitewire.testbed.site.schedulers.oar import Oar
from whitewire.testbed.site.schedulers.pbs import Pbs
from whitewire.testbed.site.schedulers.scheduler import Scheduler
from whitewire.testbed.site.schedulers.slurm import Slurm

SCHEDULERS: dict[str, Scheduler] = {
    "slurm": Slurm(),
    "pbs": Pbs(),
    "gridengine": GridEngine(),
    "lsf": Lsf(),
    "flux": Flux(),
    "oar": Oar(),
    "hostfile": Hostfile(),
}


def of_job(environ: Mapping[str, str]) -> str:
    """The kind of testbed to whose job this environment belongs; empty outside of jobs.

    An instance of Flux may run inside of another scheduler's job.
    """
    found = [kind for kind, scheduler in SCHEDULERS.items() if environ.get(scheduler.variable)]
    return "flux" if "flux" in found else next(iter(found), "")
