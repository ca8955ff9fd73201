"""PBS Pro, OpenPBS and Torque: a line of $PBS_NODEFILE for each slot; hosts are reached by ssh.

pbsdsh starts commands as well, but without standard input and with their output in the job's files.
Sources: qsub(1B), pbsdsh(1B), qstat(1B) -f, qdel(1B): SIGTERM, SIGKILL after the queue's kill_delay (10 s).
"""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping

from whitewire.testbed.site.schedulers.scheduler import BySsh, answer, seconds_of_clock

WALLTIMES = re.compile(r"^\s*(Resource_List|resources_used)\.walltime = (\d+:\d\d:\d\d)$", re.MULTILINE)


class Pbs(BySsh):
    name = "PBS"
    variable = "PBS_NODEFILE"
    signals = (signal.SIGTERM,)

    def seconds_left(self, environ: Mapping[str, str]) -> float:
        return _left_of(answer(self.name, ["qstat", "-f", environ.get("PBS_JOBID", "")], environ))


def _left_of(said: str) -> float:
    """Seconds that a job has left, from the output of `qstat -f`; infinite if it has no limit."""
    times = dict(WALLTIMES.findall(said))
    return seconds_of_clock(times.get("Resource_List", "")) - seconds_of_clock(times.get("resources_used", "0"))
