"""The nodes of a Slurm allocation; commands reach them as steps of the job (`srun --overlap`).

This process runs inside the job, usually on its first node. Where the job ends, Slurm ends all of it as well.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace

from whitewire import lanes
from whitewire.errors import UserError
from whitewire.testbed.site.inventory import WHOLE, Place, named, of_lane, of_nodes
from whitewire.testbed.site.remote import RemoteTestbed
from whitewire.testbed.site.remote_host import Layout, RemoteHost

ANSWER_S = 20.0
"""Longest time for Slurm's controller to answer."""
KEPT = ("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS")
"""Of Slurm's variables, those that say where it is. The others say what the job asked for, which srun would take for
what a step asks for: some exclude each other."""

STATE = re.compile(r"\sJobState=(\S+) Reason=")
NODES = re.compile(r"\sNodeList=(?!\(null\))(\S+) (?:(?!NodeList)\w+=\S* ){0,3}?(?:BatchHost|NumNodes)=")
"""Told by what Slurm puts behind them: a job's name and comments may hold `NodeList=` as well."""


def command_line(job: str, node: str, command: str) -> list[str]:
    """srun's arguments to run a command (sh) on one node of a job, beside other steps, with all of its share."""
    return [
        "srun", f"--jobid={job}", "--overlap", "--nodes=1", "--ntasks=1", f"--nodelist={node}", "--mem=0",
        "--cpu-bind=none", "--mpi=none", "--unbuffered", "--job-name=whitewire", "sh", "-c", command,
    ]  # fmt: skip


def carrier_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What srun inherits: nothing of the job's own wishes."""
    return {name: value for name, value in environ.items() if not name.startswith(("SLURM_", "SRUN_")) or name in KEPT}


class SlurmHost(RemoteHost):
    """A node of an allocation."""

    def __init__(self, place: Place, layout: Layout, job: str) -> None:
        super().__init__(place, layout)
        self.job = job

    def carry(self, command: str) -> list[str]:
        return command_line(self.job, self.target, command)

    def carrier_environment(self) -> dict[str, str]:
        return carrier_environment(os.environ)


class SlurmTestbed(RemoteTestbed):
    """The nodes of a lane of the job that this process runs in, dealt out to `roles` in order; see RemoteTestbed."""

    def __init__(self, config: Mapping, roles: Mapping[str, int], k: float, source: str = "testbed",
                 lane: int = 1) -> None:  # fmt: skip
        layout, job = Layout.of(config), job_id(os.environ)
        places = of_nodes(config, roles, of_lane(nodes_of(job), lane, lanes.count()), source)
        super().__init__(config, [SlurmHost(place, layout, job) for place in places], layout, k, source)

    @classmethod
    def whole(cls, config: Mapping, source: str = "testbed") -> SlurmTestbed:
        """All nodes of the job, whatever their roles will be."""
        return cls(config, {"datanode": len(nodes_of(job_id(os.environ)))}, config.get("scale", 1), source, WHOLE)

    def keep_names(self, known: Mapping[str, str]) -> None:
        """Call nodes as in an earlier job (node → name), and others otherwise than any of these."""
        names = named([host.target for host in self.hosts], known) if known else [host.name for host in self.hosts]
        for host, name in zip(self.hosts, names, strict=True):
            host.name, host.place = name, replace(host.place, name=name)


def job_id(environ: Mapping[str, str]) -> str:
    """The job that we are in. Raises UserError outside of one."""
    if shutil.which("srun") is None:
        raise UserError("Slurm: found no srun, expected Slurm's commands; see docs/sites/slurm.md")
    job = environ.get("SLURM_JOB_ID", "")
    if not job:
        raise UserError(
            "Slurm: SLURM_JOB_ID: found nothing, expected the number of the job that we run in: "
            "use the profile (make papers ARGS='--profile profiles/slurm') or salloc; see docs/sites/slurm.md"
        )
    return job


def nodes_of(job: str) -> list[str]:
    """Names of a running job's nodes, in Slurm's order. Raises UserError when it does not run or Slurm is silent."""
    state, nodes = job_of(_scontrol("show", "job", "--oneliner", job), job)
    if state != "RUNNING":
        raise UserError(f"Slurm: job {job}: found state {state}, expected RUNNING")
    return _scontrol("show", "hostnames", nodes).split()


def job_of(said: str, job: str) -> tuple[str, str]:
    """(state, list of nodes in Slurm's short form) from `scontrol show job --oneliner`, which has one line per job.

    Of an array and of a heterogeneous job Slurm shows all parts; ours is the one with this number. Raises UserError.
    """
    text = "\n".join({line for line in said.splitlines() if line.startswith(f"JobId={job} ")})
    states, nodes = STATE.findall(text), NODES.findall(text)
    if (len(states), len(nodes)) != (1, 1):
        shown = " ".join((text or said).split())[:200] or "nothing"
        raise UserError(f"Slurm: job {job}: found {shown!r}, expected its nodes and its state, once")
    return states[0], nodes[0]


def _scontrol(*arguments: str) -> str:
    argv: Sequence[str] = ["scontrol", *arguments]
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=ANSWER_S, stdin=subprocess.DEVNULL,
            env=carrier_environment(os.environ),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(f"Slurm: {' '.join(argv)}: {error}") from None
    if done.returncode != 0:
        raise UserError(f"Slurm: {' '.join(argv)}: {(done.stderr or done.stdout).strip()[:300]}")
    return done.stdout
