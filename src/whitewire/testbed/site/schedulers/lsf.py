"""LSF: a line of $LSB_DJOB_HOSTFILE for each slot; `blaunch` takes the place of ssh on the hosts of a job.

Sources: IBM Spectrum LSF 10.1 command reference: blaunch, bjobs -WL (`hours:minutes status`), bsub -W: SIGUSR2 at the
run limit, killed ten minutes later; bkill: SIGINT, SIGTERM, SIGKILL, 10 s apart (JOB_TERMINATE_INTERVAL).
"""

from __future__ import annotations

import math
import re
import signal
from collections.abc import Mapping

from whitewire.testbed.site.schedulers.scheduler import ByCommand, answer, seconds_of_clock
from whitewire.testbed.site.ssh import for_any_login_shell

LEFT = re.compile(r"(\d+:\d\d) [XLE]\s*$", re.ASCII | re.MULTILINE)


class Lsf(ByCommand):
    name = "LSF"
    variable = "LSB_DJOB_HOSTFILE"
    signals = (signal.SIGUSR2, signal.SIGINT, signal.SIGTERM)

    def command_line(self, node: str, rank: int, command: str, environ: Mapping[str, str]) -> list[str]:
        return ["blaunch", node, for_any_login_shell(command)]

    def seconds_left(self, environ: Mapping[str, str]) -> float:
        return _left_of(answer(self.name, ["bjobs", "-WL", environ.get("LSB_JOBID", "")], environ))


def _left_of(said: str) -> float:
    """Seconds that a job has left, from the output of `bjobs -WL`; infinite if it has no limit."""
    match = LEFT.search(said)
    return seconds_of_clock(f"{match[1]}:00") if match else math.inf
