"""A shell on a running emulated cluster, to poke at it by hand."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from whitewire import paths
from whitewire.cluster import hdfs
from whitewire.cluster.hdfs import Hdfs
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.testbed import load_testbed
from whitewire.design.drive import Drive
from whitewire.design.scale import scale_of
from whitewire.errors import UserError
from whitewire.install.doctor import preflight
from whitewire.testbed.emulated import software
from whitewire.testbed.emulated.sandbox import EmulatedTestbed

WORDS = """\
The cluster runs until you leave this shell.
  on HOST COMMAND…     run a command on a host:  on client1 ping -c 1 datanode3
  hdfs ARGUMENTS…      the hdfs command, on client1:  hdfs dfs -ls /
  fabric NAME          put all links on another fabric:  fabric 1gbe
  hosts                the hosts and their addresses
"""


def lab(testbed: str | None) -> int:
    """Bring up the first experiment's cluster of the first configured paper and open a shell; its exit status."""
    settings = project.load_config()
    name = testbed or settings["testbed"]
    description = load_testbed(name)
    paper = load_paper(project.paper_path(settings["papers"][0]), description["fabrics"])
    experiment = next(iter(paper.experiments.values()))
    preflight(description)
    scale = scale_of(paper, experiment["id"], settings["effort"], {}, description)
    drive = Drive.scaled(experiment["hardware"]["drive"], scale.k, software.DRIVE_LIBRARY)
    with (
        tempfile.TemporaryDirectory(prefix="lab-", dir=paths.temporary()) as folder,
        EmulatedTestbed(description, experiment["roles"], scale.k, software.binds()) as cluster_hosts,
    ):
        cluster_hosts.fabric("10gbe" if "10gbe" in description["fabrics"] else next(iter(description["fabrics"])))
        values = hdfs.settings(
            cluster_hosts, scale.block_bytes, experiment["parameters"]["replication"], scale.packet_bytes
        )
        installation = software.installation()
        with Hdfs(cluster_hosts, installation, values, drive, Path(folder) / "logs", software.IMAGE) as cluster:
            print(f"HDFS ready in {cluster.hdfs_seconds:.1f} s; logs in {folder}/logs\n{WORDS}", file=sys.stderr)
            return _shell(cluster_hosts, installation, Path(folder))


def _shell(testbed: EmulatedTestbed, installation, folder: Path) -> int:
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
    # The shaping is this process's: ask it through a pipe.
    request, answer = folder / "fabric", folder / "answer"
    os.mkfifo(request)
    os.mkfifo(answer)
    lines += [f'fabric() {{ echo "$1" > {shlex.quote(str(request))}; cat {shlex.quote(str(answer))}; }}']
    start = folder / "bashrc"
    start.write_text("\n".join(lines) + "\n")
    shell = subprocess.Popen([*paths.KILLED_WITH_THIS, "bash", "--rcfile", str(start), "-i"])
    pipe = os.open(request, os.O_RDWR | os.O_NONBLOCK)
    try:
        while shell.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                shell.wait(timeout=0.2)
            try:
                name = os.read(pipe, 200).decode().strip()
            except BlockingIOError:
                continue
            try:
                fabric = testbed.fabric(name)
                said = f"all links at {fabric.rate:g} Mbit/s ({fabric.full_scale_rate:g} Mbit/s at full scale)\n"
            except UserError as error:
                said = f"{error}\n"
            answer.write_text(said)
    finally:
        os.close(pipe)
    return shell.returncode


def _table(testbed: EmulatedTestbed) -> str:
    return "\n".join(f"{host.name:<12}{host.role:<10}{host.address}" for host in testbed.hosts)
