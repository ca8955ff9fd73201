"""Slurm: commands run on the job's nodes as steps (`srun --overlap`).

Sources: srun(1), scontrol(1), squeue(1) %A and %L, slurm.conf(5) KillWait: SIGTERM, SIGKILL 30 s later.
"""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Mapping
from typing import Any

from whitewire.errors import UserError
from whitewire.testbed.site.schedulers.scheduler import ByCommand, answer, in_a_job, seconds_of_clock

_KEPT = ("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS")
"""Slurm's variables that locate it, which srun inherits. The others hold the job's request, which srun would apply to
each step, although some of them exclude each other."""

_STATE = re.compile(r"\sJobState=(\S+) Reason=")
NODES = re.compile(r"\sNodeList=(?!\(null\))(\S+) (?:(?!NodeList)\w+=\S* ){0,3}?(?:BatchHost|NumNodes)=")
"""The nodes, recognized by the fields after them, because a job's name and comments may contain `NodeList=` too."""


class Slurm(ByCommand):
    name = "Slurm"
    variable = "SLURM_JOB_ID"
    signals = (signal.SIGTERM,)

    def nodes(self, config: Mapping[str, Any], environ: Mapping[str, str]) -> list[str]:
        job = job_id(environ)
        state, nodes = job_of(self._said(environ, "scontrol", "show", "job", "--oneliner", job), job)
        if state != "RUNNING":
            raise UserError(f"Slurm: job {job}: found state {state}, expected RUNNING")
        return self._said(environ, "scontrol", "show", "hostnames", nodes).split()

    def command_line(self, node: str, rank: int, command: str, environ: Mapping[str, str]) -> list[str]:
        """A step on one node of the job, concurrent with other steps and with the job's whole share of the node.

        Its output is a pipe. With --unbuffered it would be a terminal, which Apptainer would replace by the console.
        """
        return [
            "srun", f"--jobid={environ['SLURM_JOB_ID']}", "--overlap", "--nodes=1", "--ntasks=1", f"--nodelist={node}",
            "--mem=0", "--cpu-bind=none", "--mpi=none", "--job-name=whitewire", "sh", "-c", command,
        ]  # fmt: skip

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The environment without the variables of the job's request."""
        return {name: value for name, value in environ.items()
                if not name.startswith(("SLURM_", "SRUN_")) or name in _KEPT}  # fmt: skip

    def seconds_left(self, environ: Mapping[str, str]) -> float:
        job = job_id(environ)
        said = self._said(environ, "squeue", "--noheader", f"--jobs={job}", "--format=%A %L")
        left = dict(re.findall(r"^(\d+) (\S+)", said, re.MULTILINE))  # an array's leader has the number of the array
        return seconds_of_clock(left.get(job, ""))

    def _said(self, environ: Mapping[str, str], *argv: str) -> str:
        return answer(self.name, argv, self.environment(environ))


def job_id(environ: Mapping[str, str]) -> str:
    """The number of the current job. Raises UserError outside of one."""
    if shutil.which("srun") is None:
        raise UserError("Slurm: found no srun, expected Slurm's commands; see docs/sites/slurm.md")
    how = "use the profile (make papers ARGS='--profile profiles/slurm') or salloc; see docs/sites/slurm.md"
    return in_a_job(Slurm.name, Slurm.variable, environ, how)


def job_of(said: str, job: str) -> tuple[str, str]:
    """(state, list of nodes in Slurm's short form) from `scontrol show job --oneliner`, which has one line per job.

    Slurm shows all parts of an array or a heterogeneous job; ours is the one with this number. Raises UserError.
    """
    text = "\n".join({line for line in said.splitlines() if line.startswith(f"JobId={job} ")})
    states, nodes = _STATE.findall(text), NODES.findall(text)
    if (len(states), len(nodes)) != (1, 1):
        shown = " ".join((text or said).split())[:200] or "nothing"
        raise UserError(f"Slurm: job {job}: found {shown!r}, expected its nodes and its state, once")
    return states[0], nodes[0]
