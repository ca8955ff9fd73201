"""Flux: the hosts of the instance that `flux batch` and `flux alloc` start; `flux exec` starts commands by rank.

Sources: flux-hostlist(1) (the instance's hosts in the order of their ranks), flux-exec(1), flux-job(1) timeleft,
flux-config-exec(5): SIGTERM, or SIGALRM when the time is up, SIGKILL 5 s later; flux-batch(1) --signal for more.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any

from whitewire.testbed.site.schedulers.scheduler import (
    SCHEDULERS_PAGE,
    ByCommand,
    answer,
    checked_host_name,
    in_a_job,
    seconds_of_clock,
)


class Flux(ByCommand):
    name = "Flux"
    variable = "FLUX_URI"
    signals = (signal.SIGTERM, signal.SIGALRM, signal.SIGUSR1)

    def nodes(self, config: Mapping[str, Any], environ: Mapping[str, str]) -> list[str]:
        in_a_job(self.name, self.variable, environ, f"start this with flux batch or flux alloc; see {SCHEDULERS_PAGE}")
        names = answer(self.name, ["flux", "hostlist", "--expand", "instance"], environ).split()
        return [checked_host_name(name, "flux hostlist") for name in names]

    def command_line(self, node: str, rank: int, command: str, environ: Mapping[str, str]) -> list[str]:
        return ["flux", "exec", f"--rank={rank}", "--dir=/", "sh", "-c", command]

    def seconds_left(self, environ: Mapping[str, str]) -> float:
        return seconds_of_clock(answer(self.name, ["flux", "job", "timeleft"], environ))
