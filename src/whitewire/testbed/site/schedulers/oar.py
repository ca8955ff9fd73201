"""OAR: a line of $OAR_NODEFILE for each core; `oarsh` is ssh into the job's cpuset on a node.

oarsh accepts neither ssh's options for connections nor the user's configuration.
Its first program changes the user, so we may not signal it (opening.end_here).
Sources: oarsh(1), oarsub(1): --checkpoint SECONDS before the walltime OAR sends --signal (default SIGUSR2) to the job's
first process only; OAR_JOB_WALLTIME_SECONDS counts from the modification time of the node file.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Mapping
from pathlib import Path

from whitewire.testbed.site.schedulers.scheduler import ByCommand, seconds_of_clock
from whitewire.testbed.site.ssh import for_any_login_shell


class Oar(ByCommand):
    name = "OAR"
    variable = "OAR_NODEFILE"
    signals = (signal.SIGUSR2, signal.SIGTERM)

    def command_line(self, node: str, rank: int, command: str, environ: Mapping[str, str]) -> list[str]:
        return ["oarsh", "-T", node, for_any_login_shell(command)]

    def seconds_left(self, environ: Mapping[str, str]) -> float:
        walltime = seconds_of_clock(environ.get("OAR_JOB_WALLTIME_SECONDS", ""))
        if math.isinf(walltime) or self.variable not in environ:
            return math.inf
        return Path(environ[self.variable]).stat().st_mtime + walltime - time.time()
