"""A shell on a running emulated cluster, to poke at it by hand."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from whitewire import paths
from whitewire.cluster import hdfs
from whitewire.cluster.hdfs import Hdfs, hdfs_settings
from whitewire.description import project
from whitewire.description.capabilities import capabilities_of
from whitewire.description.checks import load_paper
from whitewire.description.paper import cells_of, hardware_of, without_servers
from whitewire.description.testbed import load_testbed
from whitewire.design.drive import Drive
from whitewire.design.scale import scale_of
from whitewire.errors import UserError
from whitewire.factors import parameter
from whitewire.install.doctor import preflight
from whitewire.lock import INSIDE
from whitewire.paths import shown
from whitewire.testbed.base import CommandFailed
from whitewire.testbed.emulated import software
from whitewire.testbed.emulated.sandbox import EmulatedTestbed
from whitewire.testbed.emulated.software import NAMENODE_IMAGE
from whitewire.testbed.installation import Installation
from whitewire.text import quoted

_WORDS = """\
The cluster runs until you leave this shell.
  on HOST COMMAND…     run a command on a host:  on {worker} ip -brief address
  hdfs ARGUMENTS…      the hdfs command, on {client}:  hdfs dfs -ls /
  fabric NAME          put all links on another fabric:  fabric 1gbe
  hosts                the hosts and their addresses
"""

MOST_ASKED = 200
"""Most bytes of a request through the pipe."""
_TRIES, _PAUSE_S = 20, 0.05
"""Number of tries to write an answer, and seconds between tries."""


def open_lab(testbed: str | None) -> int:
    """Start HDFS as in the first cell of the first configured paper and open a shell; returns its exit status.

    Raises UserError for a site, whose hosts are not on this machine, and for a paper without experiments.
    """
    settings = project.load_config()
    name = testbed or settings["testbed"]
    description = load_testbed(name)
    if not capabilities_of(description).local:
        raise UserError(
            f"{shown(project.testbed_path(name))}: kind: found {quoted(description['kind'])}, expected "
            f"{quoted('emulated')}: the shell is for hosts on this machine; "
            f"`.venv/bin/whitewire doctor --testbed {name}` looks at those of a site"
        )
    paper = load_paper(project.paper_path(settings["papers"][0]), description["fabrics"])
    if not paper.experiments:
        raise UserError(
            f"{shown(paper.path)}: experiments: found none, expected one, whose cluster the shell is for; "
            "name another paper with PAPERS="
        )
    experiment = next(iter(paper.experiments.values()))
    levels = cells_of(experiment)[0]
    scale = scale_of(paper, experiment["id"], settings["effort"], levels, description)
    hardware = hardware_of(experiment, levels)
    drive = Drive.scaled(hardware, scale.k, software.DRIVE_LIBRARY, scale.data_fraction) if hardware else Drive.none()
    replication = parameter(paper.parameters(experiment["id"], levels), "replication")
    roles = without_servers(paper.roles(experiment["id"], levels))
    preflight(description)
    with (
        tempfile.TemporaryDirectory(prefix="lab-", dir=paths.temporary()) as folder,
        EmulatedTestbed(description, roles, scale.k, software.binds()) as cluster_hosts,
    ):
        cluster_hosts.fabric("10gbe" if "10gbe" in description["fabrics"] else next(iter(description["fabrics"])))
        values = hdfs_settings(cluster_hosts, scale.block_bytes, replication, scale.packet_bytes)
        installation = software.installation()
        with Hdfs(cluster_hosts, installation, values, drive, Path(folder) / "logs", NAMENODE_IMAGE) as cluster:
            client, worker = (cluster_hosts.by_role(role)[0].name for role in ("client", "datanode"))
            words = _WORDS.format(client=client, worker=worker)
            print(f"HDFS ready in {cluster.hdfs_seconds:.1f} s; logs in {folder}/logs\n{words}", file=sys.stderr)
            return _shell(cluster_hosts, installation, Path(folder))


def _shell(testbed: EmulatedTestbed, installation: Installation, folder: Path) -> int:
    lines = [
        "[ -f ~/.bashrc ] && . ~/.bashrc",
        'PS1="(lab) $PS1"',
        "on() { local host=$1; shift; case $host in",
    ]
    lines += [f'{host.name}) {shlex.join(host.argv([]))} "$@" ;;' for host in testbed.hosts]
    lines += ['*) echo "no host $host" >&2; return 2 ;; esac; }']
    tools = {"dfs": hdfs.FS_SHELL, "dfsadmin": hdfs.DFS_ADMIN, "fsck": hdfs.FSCK}
    client = testbed.by_role("client")[0].name
    lines += ["hdfs() { local tool=$1; shift; case $tool in"]
    lines += [
        f'{tool}) on {client} {shlex.join(installation.argv(main, 256, {}))} "$@" ;;' for tool, main in tools.items()
    ]
    lines += [f'*) echo "hdfs: expected one of {", ".join(tools)}" >&2; return 2 ;; esac; }}']
    lines += [f"hosts() {{ cat <<'END'\n{_table(testbed)}\nEND\n}}"]
    # Only this process can shape links: the shell asks it through a pipe.
    request, answer = folder / "fabric", folder / "answer"
    os.mkfifo(request)
    os.mkfifo(answer)
    lines += [f'fabric() {{ echo "$1" > {shlex.quote(str(request))}; cat {shlex.quote(str(answer))}; }}']
    start = folder / "bashrc"
    start.write_text("\n".join(lines) + "\n")
    environment = {name: value for name, value in os.environ.items() if name != INSIDE}  # starts there take a lock
    shell = subprocess.Popen([*paths.KILLED_WITH_THIS, "bash", "--rcfile", str(start), "-i"], env=environment)
    pipe = os.open(request, os.O_RDWR | os.O_NONBLOCK)
    try:
        while shell.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                shell.wait(timeout=0.2)
            with contextlib.suppress(BlockingIOError):
                _answer(answer, _on_fabric(testbed, os.read(pipe, MOST_ASKED)))
    finally:
        os.close(pipe)
    return shell.returncode


def _on_fabric(testbed: EmulatedTestbed, asked: bytes) -> str:
    """Put all links on the requested fabric; returns the outcome in one line."""
    try:
        fabric = testbed.fabric(asked.decode(errors="replace").strip())
    except (UserError, CommandFailed) as error:
        return f"{error}\n"
    return f"all links at {fabric.rate:g} Mbit/s ({fabric.full_scale_rate:g} Mbit/s at full scale)\n"


def _answer(pipe: Path, said: str) -> None:
    """Write an answer to the pipe if somebody reads it soon: the reader may have been interrupted meanwhile."""
    for _ in range(_TRIES):
        with contextlib.suppress(OSError):  # nobody reads it, yet or any more
            end = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            with os.fdopen(end, "wb", buffering=0) as file:
                file.write(said.encode())
            return
        time.sleep(_PAUSE_S)


def _table(testbed: EmulatedTestbed) -> str:
    return "\n".join(f"{host.name:<12}{host.role:<10}{host.address}" for host in testbed.hosts)
