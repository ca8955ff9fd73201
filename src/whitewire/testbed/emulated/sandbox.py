"""Emulated hosts: namespaces inside one sandbox that needs no root and that ends when this process ends.

The sandbox is one `unshare` (user, network, mount, process, host-name and IPC namespaces). Its first process
is a `cat` that reads a pipe whose other end only this process holds: when this process dies, however it dies,
`cat` sees the end of the pipe, and with the first process the kernel ends every process, namespace and mount
of the sandbox. `setpriv --pdeathsig KILL` and `--kill-child` are a second safeguard.

Each host is a network, mount and host-name namespace in it, with its own /etc/hosts and /tmp, joined to one
bridge by a pair of virtual Ethernet devices (switch.py).
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from whitewire.errors import UserError
from whitewire.paths import KILLED_WITH_THIS
from whitewire.records.samples import MTU
from whitewire.testbed.base import Argv, Completed, Fabric, Testbed, host_names, piped, read_line
from whitewire.testbed.each import on_each
from whitewire.testbed.emulated import software
from whitewire.testbed.emulated.host import ALL_NAMESPACES, ENVIRONMENT, EmulatedHost, run_inside
from whitewire.testbed.emulated.racks import divided
from whitewire.testbed.emulated.software import ROOT
from whitewire.testbed.emulated.switch import Switch
from whitewire.testbed.emulated.waiting import Meter, Threads, Timer
from whitewire.testbed.installation import Installation
from whitewire.tools import link
from whitewire.tools.link import Link
from whitewire.tools.tcp import lost_segments, tcp_counters

SHARED = f"{ROOT}/hosts/shared"
"""A folder shared by all hosts, for the files of jobs (cluster/yarn.py)."""

SANDBOX = """
set -e
mount -t proc proc /proc
mount -t tmpfs -o "size=$1,mode=755" tmpfs /run
mkdir -p "$2/hosts"
root=$2; shift 2
while [ $# -gt 0 ]; do
    mkdir -p "$root/$1"; mount --bind "$2" "$root/$1"; mount -o remount,bind,ro "$root/$1"
    shift 2
done
ip link set lo up
ip link add switch type bridge stp_state 0 mcast_snooping 0
ip link set switch up
echo ready
exec cat
"""
"""Arguments: size of the file system, its root, then pairs of name and folder to bind there read-only."""

_Found = TypeVar("_Found")


READY_S, END_S = 60.0, 20.0
"""Longest waits in seconds: for the sandbox or a host to start, and for a stopped process to end."""


def _ended(popen: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a process that is about to end; kill it after END_S. Raises TimeoutExpired."""
    try:
        popen.wait(timeout=END_S)
    except subprocess.TimeoutExpired:
        popen.kill()
        popen.wait(timeout=END_S)
    finally:
        for stream in (popen.stdin, popen.stdout, popen.stderr):
            if stream is not None:
                stream.close()


class EmulatedTestbed(Testbed):
    """A cluster of emulated hosts; see the module's docstring.

    `config` is a validated testbed file, `roles` maps a role to its number of hosts, `k` divides every rate,
    `binds` maps names below ROOT to folders that are mounted there read-only.
    """

    shared = SHARED

    def __init__(
        self, config: Mapping[str, Any], roles: Mapping[str, int], k: float, binds: Mapping[str, Path]
    ) -> None:
        self.config, self.k, self.binds = config, k, dict(binds)
        self.hosts: list[EmulatedHost] = []
        for position, (name, role) in enumerate(host_names(roles), start=1):
            address = f"10.77.{position // 250}.{position % 250 + 1}"
            self.hosts.append(EmulatedHost(name, role, address, f"{ROOT}/hosts/{name}"))
        self.init: subprocess.Popen[bytes] | None = None
        self.switch = Switch(config, self.hosts, self.inside)
        self.meter: Meter | None = None

    # -- life ---------------------------------------------------------------------------------------------

    def __enter__(self) -> EmulatedTestbed:
        try:
            self._start_sandbox()
            self._start_hosts()
            self._wire()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.ExitStack() as last:  # does each of these even if others fail
            if self.meter is not None:
                last.callback(self.meter.timer.close)
            for host in self.hosts:
                if host.carrier is not None:
                    last.callback(_ended, host.carrier)
            if self.init is not None:
                last.callback(_ended, self.init)
                self.init.kill()
            self.init = self.meter = None

    def _start_sandbox(self) -> None:
        pairs = [str(part) for pair in self.binds.items() for part in pair]
        size = f"{self.config['memory']['storage_gib']}g"
        self.init = init = subprocess.Popen(
            [*KILLED_WITH_THIS, "unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--uts", "--ipc",
             "--fork", "--kill-child", "--", "sh", "-c", SANDBOX, "sandbox", size, ROOT, *pairs],
            env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        if read_line(piped(init.stdout), time.monotonic() + READY_S).strip() != b"ready":
            init.kill()
            said = init.communicate(timeout=END_S)[1].decode(errors="replace").strip().splitlines()
            raise UserError(
                f"testbed emulated: the sandbox did not start ({said[-1] if said else 'no message'}); "
                "it needs unprivileged user namespaces: see `make doctor`"
            )
        piped(init.stderr).close()
        children = Path(f"/proc/{init.pid}/task/{init.pid}/children").read_text().split()
        self.init_pid = int(children[0])

    def inside(self, argv: Argv, stdin: bytes | None = None) -> Completed:
        """Run a command in the sandbox itself, on the switch's side of every link."""
        enter = ["nsenter", "--target", str(self.init_pid), *ALL_NAMESPACES, "--wdns=/", "--"]
        return run_inside([*enter, *map(str, argv)], argv, stdin)

    def share(self, path: str, content: bytes) -> None:
        """Write a file for all hosts, which share everything below ROOT."""
        self.inside(["mkdir", "-p", str(Path(path).parent)]).check()
        self.inside(["dd", f"of={path}", "status=none"], stdin=content).check()

    def _start_hosts(self) -> None:
        table = "127.0.0.1 localhost\n" + "".join(f"{host.address} {host.name}\n" for host in self.hosts)
        hosts_file = f"{ROOT}/hosts/hosts"
        self.share(hosts_file, table.encode())
        for host in self.hosts:
            host.open(self.init_pid, hosts_file)
        for host in self.hosts:
            host.await_open(time.monotonic() + READY_S)

    def _wire(self) -> None:
        lines = []
        for number, host in enumerate(self.hosts, start=1):
            lines += [
                f"link add port{number} type veth peer name eth0 address {host.mac} netns {host.holder_inside}",
                f"link set port{number} master switch",
                f"link set port{number} up",
            ]
            host.port = f"port{number}"
        self.inside(["ip", "-batch", "-"], stdin="\n".join(lines).encode()).check()
        self._on_all(lambda host: host.run(
            ["ip", "-batch", "-"], stdin=f"addr add {host.address}/16 dev eth0\nlink set eth0 up".encode()
        ).check())  # fmt: skip
        self._on_all(self._set_tcp)
        self.switch.begin(self.k)

    # -- network -------------------------------------------------------------------------------------------

    def _on_all(self, action: Callable[[EmulatedHost], _Found]) -> list[_Found]:
        return on_each(self.hosts, action)

    def _set_tcp(self, host: EmulatedHost) -> None:
        tcp = self.config["tcp"]
        # A network namespace may use only the algorithms that the machine's administrator allows.
        for algorithm in [tcp["congestion_control"], "reno"]:
            if host.run(["sysctl", "-qw", f"net.ipv4.tcp_congestion_control={algorithm}"]).status == 0:
                break
        host.run(["sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1"]).check()
        self.congestion_control = host.get("/proc/sys/net/ipv4/tcp_congestion_control").decode().strip()

    def fabric(self, name: str, port_buffer: int | None = None, mtu: int | None = None,
               slow: Mapping[str, float] | None = None) -> Fabric:  # fmt: skip
        """Shape every link to the fabric's rate divided by k, while the cluster keeps running; see Switch.fabric."""
        return self.switch.fabric(name, self.k, port_buffer, mtu or MTU, slow or {})

    def racks(self, count: int) -> dict[str, str]:
        return divided(self.hosts, count)

    def uplinks(self) -> dict[str, Link]:
        return self.switch.racks.uplinks()

    def links(self) -> dict[str, Link]:
        return self.switch.links()

    def counters(self) -> dict[str, dict[str, int]]:
        # The switch receives what a host sends.
        return {name: {"egress": of.received, "ingress": of.sent} for name, of in self.ports().items()}

    def ports(self) -> dict[str, link.Counted]:
        """Counters of the switch port at the other end of each host's link, by host name."""
        by_port = link.counted(Path(f"/proc/{self.init_pid}/net/dev").read_text())
        return {host.name: by_port[host.port] for host in self.hosts}

    def offloads(self, on: bool) -> None:
        """Switch segmentation and receive offloads of every host's interface (ethtool(8): tso, gso, gro)."""
        self.switch.set_offloads(on, self.switch.whole_frames)

    def cpu_seconds(self) -> dict[str, float]:
        """CPU seconds (user and system) of all processes that run or ran on each host, by host name.

        A process belongs to the host of its network namespace. A process that has ended counts with its parent
        (cutime and cstime of proc_pid_stat(5)), so nothing is lost while the parents live.
        """
        namespaces = {Path(f"/proc/{host.holder}/ns/net").readlink(): host.name for host in self.hosts}
        found = dict.fromkeys(namespaces.values(), 0)
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                host = namespaces.get((folder / "ns/net").readlink())
                if host:
                    fields = (folder / "stat").read_text().rpartition(")")[2].split()
                    found[host] += sum(map(int, fields[11:15]))
            except OSError:  # the process has just ended
                continue
        return {name: ticks / os.sysconf("SC_CLK_TCK") for name, ticks in found.items()}

    def installation(self) -> Installation:
        return software.installation()

    def waiting(self) -> Meter:
        if self.meter is None:
            self.meter = Meter(Threads(f"/proc/{self.init_pid}/root/proc"), Timer(self._in_the_sandbox))
        return self.meter

    def _in_the_sandbox(self, argv: list[str]) -> subprocess.Popen[bytes]:
        """Start a process with pipes that ends with the sandbox."""
        enter = ["nsenter", "--target", str(self.init_pid), *ALL_NAMESPACES, "--wdns=/", "--", *KILLED_WITH_THIS]
        return subprocess.Popen(
            [*enter, *argv], env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )

    def queue_drops(self) -> int:
        """Packets that the queues of all links' shapers have dropped since the start."""
        shown = [self.inside(["tc", "-s", "-j", "qdisc", "show"]).check()]
        shown += self._on_all(lambda host: host.run(["tc", "-s", "-j", "qdisc", "show", "dev", "eth0"]).check())
        return sum(
            queue.get("drops", 0) for done in shown for queue in json.loads(done.stdout) if queue.get("kind") == "bfifo"
        )

    def carrier_changes(self) -> dict[str, int]:
        """How often each host's link has come up or gone down, by host name; the switch port sees both ends."""
        said = self.inside(["ip", "-s", "-s", "-j", "link", "show"]).check().stdout.decode()
        by_port = link.carrier_changes(said)
        return {host.name: by_port[host.port] for host in self.hosts}

    def tcp_retransmits(self) -> dict[str, int]:
        return {name: lost_segments(counters) for name, counters in self._tcp().items()}

    def segments(self) -> dict[str, tuple[int, int]]:
        return {name: (counters["OutSegs"], counters["TCPOrigDataSent"]) for name, counters in self._tcp().items()}

    def _tcp(self) -> dict[str, dict[str, int]]:
        """Counters of TCP of each host's network namespace, by host name."""
        folders = {host.name: Path(f"/proc/{host.holder}/net") for host in self.hosts}
        return {name: tcp_counters("".join((folder / file).read_text() for file in ("snmp", "netstat")))
                for name, folder in folders.items()}  # fmt: skip

    def warm_memory(self, gib: float) -> None:
        """Touch `gib` of the sandbox's memory, so that the order of runs doesn't matter."""
        path = f"{ROOT}/warm"
        self.inside(["dd", "if=/dev/zero", f"of={path}", "bs=1M", f"count={int(gib * 1024)}", "status=none"]).check()
        self.inside(["rm", path]).check()
