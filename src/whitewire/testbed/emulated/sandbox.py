"""Emulated hosts: namespaces inside one sandbox that needs no root and that ends when this process ends.

The sandbox is one `unshare` (user, network, mount, process, host-name and IPC namespaces). Its first process
is a `cat` that reads a pipe whose other end only this process holds: when this process dies, however it dies,
`cat` sees the end of the pipe, and with the first process the kernel ends every process, namespace and mount
of the sandbox. `setpriv --pdeathsig KILL` and `--kill-child` are a second safeguard.

Each host is a network, mount and host-name namespace in it, with its own /etc/hosts and /tmp, joined to one
bridge by a pair of virtual Ethernet devices. HTB shapes both directions: the host's device shapes what it sends,
the bridge's (the switch port, whose buffer is a byte-limited FIFO) what it receives. On a shared fabric all traffic
passes one more shaper (segment.py).
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from whitewire.design import scaling
from whitewire.design.scaling import FIRST_RECEIVE_BUFFER, SEND_BUFFER, burst_bytes
from whitewire.errors import UserError
from whitewire.paths import KILLED_WITH_THIS, SYSTEM_PATH
from whitewire.records.samples import MTU
from whitewire.testbed.base import Argv, CommandFailed, Completed, Fabric, Host, Process, Testbed, piped, read_line
from whitewire.testbed.each import on_each
from whitewire.testbed.emulated import segment, software
from whitewire.testbed.emulated.racks import Racks, divided
from whitewire.testbed.emulated.software import ROOT
from whitewire.testbed.emulated.waiting import Meter, Threads, Timer
from whitewire.testbed.installation import Installation
from whitewire.tools import link
from whitewire.tools.link import Link

ALL_NAMESPACES = ("--user", "--preserve-credentials", "--net", "--mount", "--pid", "--uts", "--ipc")

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

HOST = """
set -e
hostname "$1"
mkdir -p "$2/tmp" "$2/drives"
chmod 1777 "$2/tmp"
mount --bind "$2/tmp" /tmp
mount --bind "$3" /etc/hosts
ip link set lo up
echo ready
exec sleep infinity
"""
"""Arguments: the host's name, its folder, the hosts file."""

ENVIRONMENT = {"PATH": f"{os.environ.get('PATH', SYSTEM_PATH)}:{SYSTEM_PATH}", "LC_ALL": "C.UTF-8"}
"""The environment of every host's commands: they find the same programs as this process, such as conda's."""

PORTS = "tc -batch - && tc -j qdisc show && ip -j link show"
INTERFACE = "tc class show dev eth0 && ip -j link show dev eth0 && exec ethtool -k eth0"
"""Shell commands that print the actual state of the switch's ports, and of a host's interface."""

RATE_ERROR = 1e-3
"""Largest relative difference between a shaper's rate and the one set, since a shaper counts whole bits."""

Found = TypeVar("Found")


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


class EmulatedHost(Host):
    """A host of the sandbox, entered by `nsenter` through the process that holds its namespaces."""

    def __init__(self, name: str, role: str, address: str, folder: str) -> None:
        self.name, self.role, self.address, self.folder = name, role, address, folder
        self.mac = "02:00:" + ":".join(f"{int(part):02x}" for part in address.split("."))
        self.port = ""
        """Name of its switch port; empty before the testbed starts."""
        self.carrier: subprocess.Popen[bytes] | None = None
        """The command that keeps its namespaces alive. `holder` is the process inside: its PID here, and in the
        sandbox."""
        self.holder = 0
        self.holder_inside = 0

    def argv(self, argv: Argv, env: Mapping[str, str] | None = None) -> list[str]:
        """The command line that runs `argv` on this host and ends with the process that started it.

        `env` is set on the host, not for `nsenter`, because files that it names (LD_PRELOAD) exist only there.
        """
        enter = ["nsenter", "--target", str(self.holder), *ALL_NAMESPACES, "--wdns=/tmp", "--"]
        inside = ["env", *(f"{name}={value}" for name, value in env.items())] if env else []
        return [*enter, *KILLED_WITH_THIS, *inside, *map(str, argv)]

    def run(
        self,
        argv: Argv,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
        timeout: float | None = None,
    ) -> Completed:
        done = subprocess.run(
            self.argv(argv, env), env=ENVIRONMENT, input=stdin if stdin is not None else b"",
            capture_output=True, timeout=timeout,
        )  # fmt: skip
        return Completed(tuple(map(str, argv)), done.returncode, done.stdout, done.stderr)

    def network(self, argv: Argv) -> Completed:
        """Run a command in the host's network namespace only, which is faster to enter than all of them."""
        enter = ["nsenter", "--target", str(self.holder), "--user", "--preserve-credentials", "--net", "--"]
        done = subprocess.run([*enter, *argv], env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True)
        return Completed(tuple(argv), done.returncode, done.stdout, done.stderr)

    def start(self, argv: Argv, log: Path, env: Mapping[str, str] | None = None, name: str = "",
              stdin: int = subprocess.DEVNULL) -> Process:  # fmt: skip
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            position = output.tell()
            popen = subprocess.Popen(
                self.argv(argv, env), env=ENVIRONMENT, stdin=stdin, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        return Process(name or f"{argv[0]} on {self.name}", popen, log, position)

    def put(self, content: bytes, path: str) -> None:
        self.run(["mkdir", "-p", str(Path(path).parent)]).check()
        self.run(["dd", f"of={path}", "status=none"], stdin=content).check()

    def get(self, path: str) -> bytes:
        return self.run(["cat", path]).check().stdout

    @property
    def drive_root(self) -> str:
        """The folder that holds the host's drives."""
        return f"{self.folder}/drives"

    def drive(self, number: int) -> str:
        """The folder of one of the host's drives (1, 2, …)."""
        return f"{self.drive_root}/{number}"


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
        for role, count in roles.items():
            for number in range(1, count + 1):
                name = role if count == 1 else f"{role}{number}"
                position = len(self.hosts) + 1
                address = f"10.77.{position // 250}.{position % 250 + 1}"
                self.hosts.append(EmulatedHost(name, role, address, f"{ROOT}/hosts/{name}"))
        self.init: subprocess.Popen[bytes] | None = None
        self.current: tuple[Fabric, int | None] | None = None
        self.segment = segment.Segment(self.inside, self.hosts)
        self.meter: Meter | None = None
        self.racked = Racks(self.inside, self.hosts)
        self.mtu = MTU
        self.congestion_control = ""
        self.offloaded: bool | None = None
        """Whether offloads are on; None until set, because a new device has them on for sending only."""
        self.whole_frames = False

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
        done = subprocess.run(
            ["nsenter", "--target", str(self.init_pid), *ALL_NAMESPACES, "--wdns=/", "--", *map(str, argv)],
            env=ENVIRONMENT, input=stdin if stdin is not None else b"", capture_output=True,
        )  # fmt: skip
        return Completed(tuple(map(str, argv)), done.returncode, done.stdout, done.stderr)

    def share(self, path: str, content: bytes) -> None:
        """Write a file for all hosts, which share everything below ROOT."""
        self.inside(["mkdir", "-p", str(Path(path).parent)]).check()
        self.inside(["dd", f"of={path}", "status=none"], stdin=content).check()

    def _start_hosts(self) -> None:
        table = "127.0.0.1 localhost\n" + "".join(f"{host.address} {host.name}\n" for host in self.hosts)
        hosts_file = f"{ROOT}/hosts/hosts"
        self.share(hosts_file, table.encode())
        for host in self.hosts:
            host.carrier = subprocess.Popen(
                ["nsenter", "--target", str(self.init_pid), *ALL_NAMESPACES, "--wdns=/", "--", *KILLED_WITH_THIS,
                 "unshare", "--net", "--uts", "--mount", "--", "sh", "-c", HOST, "host", host.name, host.folder,
                 hosts_file],
                env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
        for host in self.hosts:
            carrier = host.carrier
            if carrier is None or read_line(piped(carrier.stdout), time.monotonic() + READY_S).strip() != b"ready":
                raise CommandFailed(f"testbed emulated: host {host.name} did not come up")
            children = Path(f"/proc/{carrier.pid}/task/{carrier.pid}/children").read_text().split()
            host.holder = int(children[0])
            status = Path(f"/proc/{host.holder}/status").read_text()
            host.holder_inside = int(next(line for line in status.splitlines() if line.startswith("NSpid")).split()[-1])

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
        self._set_offloads(on=True, whole_frames=False)
        self._on_all(self._set_tcp)
        # A shaper at a nominal rate, so that fabric() only has to change existing shapers.
        self._shape_all(Fabric("", 1000.0, 1000.0), "add", None)

    # -- network -------------------------------------------------------------------------------------------

    def port_buffer(self, rate: float) -> int:
        """Bytes that a switch port of `rate` Mbit/s queues before it drops packets."""
        return scaling.port_buffer(self.config["switch"], rate)

    def receive_buffer(self, rate: float) -> int:
        """Largest receive buffer of a socket on a link of `rate` Mbit/s, in bytes."""
        return scaling.receive_buffer(self.config["switch"], self.config["tcp"], rate, self.k)

    def _on_all(self, action: Callable[[EmulatedHost], Found]) -> list[Found]:
        return on_each(self.hosts, action)

    def _set_tcp(self, host: EmulatedHost) -> None:
        tcp = self.config["tcp"]
        # A network namespace may use only the algorithms that the machine's administrator allows.
        for algorithm in [tcp["congestion_control"], "reno"]:
            if host.run(["sysctl", "-qw", f"net.ipv4.tcp_congestion_control={algorithm}"]).status == 0:
                break
        host.run(["sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1"]).check()
        self.congestion_control = host.get("/proc/sys/net/ipv4/tcp_congestion_control").decode().strip()

    @staticmethod
    def _shape(device: str, rate: float, buffer: int, command: str, mtu: int = MTU) -> bytes:
        burst = burst_bytes(rate, mtu)
        lines = [
            f"class {command} dev {device} parent 1: classid 1:1 htb rate {int(rate * 1e6)}bit "
            f"ceil {int(rate * 1e6)}bit burst {burst} cburst {burst} quantum 15140",
            f"qdisc {command} dev {device} parent 1:1 handle 10: bfifo limit {buffer}",
        ]
        if command == "add":
            lines.insert(0, f"qdisc add dev {device} root handle 1: htb default 1")
        return "\n".join(lines).encode()

    def _shape_all(self, wanted: Fabric, command: str, port_buffer: int | None) -> None:
        unlike, rates = dict(wanted.unlike), {}
        for host in self.hosts:
            rates[host.name] = wanted.rate * unlike.get(host.name, 1.0)
        buffers = {name: port_buffer or self.port_buffer(rate) for name, rate in rates.items()}
        ports = b"\n".join(
            self._shape(host.port, rates[host.name], buffers[host.name], command, wanted.mtu) for host in self.hosts
        )
        self.inside(["tc", "-batch", "-"], stdin=ports).check()
        most = scaling.send_buffer(self.config["tcp"], self.k)
        script = 'tc -batch - && sysctl -qw "$@"'

        def shape(host: EmulatedHost) -> None:
            rate = rates[host.name]
            buffer = max(self.port_buffer(rate), buffers[host.name])
            sockets = (
                f"net.ipv4.tcp_wmem=4096 {SEND_BUFFER} {most}",
                f"net.ipv4.tcp_rmem=4096 {FIRST_RECEIVE_BUFFER} {self.receive_buffer(rate)}",
            )
            sending = self._shape("eth0", rate, buffer, command, wanted.mtu)
            host.run(["sh", "-c", script, "sh", *sockets], stdin=sending).check()

        self._on_all(shape)

    def _set_mtu(self, mtu: int) -> None:
        if mtu != self.mtu:
            ports = "\n".join(f"link set {host.port} mtu {mtu}" for host in self.hosts)
            self.inside(["ip", "-batch", "-"], stdin=ports.encode()).check()
            self._on_all(lambda host: host.run(["ip", "link", "set", "eth0", "mtu", str(mtu)]).check())
            self.mtu = mtu

    def fabric(self, name: str, port_buffer: int | None = None, mtu: int | None = None,
               slow: Mapping[str, float] | None = None) -> Fabric:  # fmt: skip
        """Shape every link to the fabric's rate divided by k, while the cluster keeps running.

        `port_buffer` (bytes) overrides the switch's. Raises UserError for an unknown fabric, CommandFailed when
        a link's rate is wrong afterwards.
        """
        fabrics = self.config["fabrics"]
        if name not in fabrics:
            raise UserError(f"testbed: fabric {name} is not defined, expected one of {', '.join(fabrics)}")
        wanted = self._wanted(name, fabrics[name], mtu or MTU, slow or {})
        if (wanted, port_buffer) != self.current:
            self.current = None
            self._set_mtu(wanted.mtu)
            self._shape_all(wanted, "change", port_buffer)
            if wanted.shared:
                self.segment.join(wanted.rate, wanted.burst, scaling.station_queue(self.config["switch"]))
            else:
                self.segment.leave()
            self._divide(wanted, port_buffer)
            self._set_offloads(self.offloaded is not False, whole_frames=wanted.shared)
            self._verify(wanted)
            self.current = (wanted, port_buffer)
        return wanted

    def _wanted(self, name: str, described: Mapping[str, Any], mtu: int, slow: Mapping[str, float]) -> Fabric:
        full = float(described["rate_mbit_per_s"])
        rate, racks = full / self.k, described.get("racks", {})
        count, uplink = racks.get("count", 0), racks.get("uplink_mbit_per_s", 0.0) / self.k
        if count and not uplink:
            uplink = self._workers_of_a_rack(count) * rate / racks["oversubscription"]
        unlike = {host.name: uplink / rate for host in self.by_role("traffic") if uplink > rate} | dict(slow)
        shared = described.get("shared", False)
        return Fabric(
            name, rate, full, shared, burst_bytes(rate, mtu), mtu, count, uplink, tuple(sorted(unlike.items()))
        )

    def _workers_of_a_rack(self, count: int) -> int:
        """Most DataNodes in a rack, the basis of the uplink's over-subscription."""
        workers = {host.name for host in self.by_role("datanode")}
        return max(Counter(rack for name, rack in self.racks(count).items() if name in workers).values())

    def _divide(self, wanted: Fabric, port_buffer: int | None) -> None:
        """Put the hosts into their racks, or all on one switch."""
        if not wanted.racks:
            self.racked.leave()
            return
        queue = port_buffer or self.port_buffer(wanted.uplink)

        def shape(device: str, command: str) -> bytes:
            return self._shape(device, wanted.uplink, queue, command, wanted.mtu)

        self.racked.join(wanted.racks, wanted.mtu, shape)

    def racks(self, count: int) -> dict[str, str]:
        return divided(self.hosts, count)

    def uplinks(self) -> dict[str, Link]:
        return self.racked.uplinks()

    def _verify(self, fabric: Fabric) -> None:
        """Raise CommandFailed when a link, or a rack's uplink, is not as the fabric requires."""
        unlike = dict(fabric.unlike)
        for name, now in self.links().items():
            self._verify_rates(fabric, name, now, fabric.rate * unlike.get(name, 1.0))
            if now["mtu"] != fabric.mtu:
                raise CommandFailed(f"fabric {fabric.name}: {name} has an MTU of {now['mtu']}, expected {fabric.mtu}")
        for name, now in self.uplinks().items():
            self._verify_rates(fabric, name, now, fabric.uplink)

    @staticmethod
    def _verify_rates(fabric: Fabric, name: str, now: Link, rate: float) -> None:
        for found in (now["rate"], now["rate_in"]):
            if abs(found / rate - 1) > RATE_ERROR:
                raise CommandFailed(f"fabric {fabric.name}: {name} is at {found} Mbit/s, expected {rate}")

    def links(self) -> dict[str, Link]:
        ports, shared = [host.port for host in self.hosts], self.segment.joined
        asked = [f"class show dev {port} classid 1:1" for port in ports] + ([segment.CLASS] if shared else [])
        said = self.inside(["sh", "-c", PORTS], stdin="\n".join(asked).encode()).check().stdout.decode()
        rates = link.rates_in_turn(said, [*ports, *([segment.DEVICE] if shared else [])])
        most = rates.get(segment.DEVICE, math.inf)
        queues, mtus = link.queues(said), link.mtus(said)
        interfaces = self._on_all(lambda host: host.network(["sh", "-c", INTERFACE]).check().stdout.decode())
        return {
            host.name: {
                "rate": min(most, link.rates(own).get("1:1", math.inf)),
                "rate_in": min(most, rates[host.port]),
                "mtu": min(mtus[host.port], link.mtus(own)["eth0"]),
                "queue": queues[host.port],
                "offloads": link.offloads(own),
            }
            for host, own in zip(self.hosts, interfaces, strict=True)
        }

    def counters(self) -> dict[str, dict[str, int]]:
        # The switch receives what a host sends.
        return {name: {"egress": of.received, "ingress": of.sent} for name, of in self.ports().items()}

    def ports(self) -> dict[str, link.Counted]:
        """Counters of the switch port at the other end of each host's link, by host name."""
        by_port = link.counted(Path(f"/proc/{self.init_pid}/net/dev").read_text())
        return {host.name: by_port[host.port] for host in self.hosts}

    def offloads(self, on: bool) -> None:
        """Switch segmentation and receive offloads of every host's interface (ethtool(8): tso, gso, gro)."""
        self._set_offloads(on, self.whole_frames)

    def _set_offloads(self, on: bool, whole_frames: bool) -> None:
        """With `whole_frames`, hosts send single frames: a shared segment serves its hosts' packets in turn, and would
        favour a host that hands over larger ones."""
        if (on, whole_frames) == (self.offloaded, self.whole_frames):
            return
        kept, sent = ("on" if on else "off"), ("on" if on and not whole_frames else "off")
        argv = ["ethtool", "-K", "eth0", "tso", sent, "gso", kept, "gro", kept]
        self._on_all(lambda host: host.run(argv).check())
        self.offloaded, self.whole_frames = on, whole_frames

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
        """TCP segments that each host retransmitted since the start (/proc/net/snmp, RFC 1213 tcpRetransSegs)."""
        return {host.name: self._counted(host, "snmp", "Tcp:", "RetransSegs") for host in self.hosts}

    def segments(self) -> dict[str, tuple[int, int]]:
        return {
            host.name: (
                self._counted(host, "snmp", "Tcp:", "OutSegs"),
                self._counted(host, "netstat", "TcpExt:", "TCPOrigDataSent"),
            )
            for host in self.hosts
        }

    @staticmethod
    def _counted(host: EmulatedHost, file: str, group: str, counter: str) -> int:
        """One counter of a host's network namespace, from /proc/PID/net (proc_pid_net(5))."""
        lines = Path(f"/proc/{host.holder}/net/{file}").read_text().splitlines()
        names, values = [line.split()[1:] for line in lines if line.startswith(group)]
        return int(dict(zip(names, values, strict=True))[counter])

    def warm_memory(self, gib: float) -> float:
        """Touch `gib` of the sandbox's memory, so that the order of runs doesn't matter. Returns the seconds taken."""
        start = time.monotonic()
        path = f"{ROOT}/warm"
        self.inside(["dd", "if=/dev/zero", f"of={path}", "bs=1M", f"count={int(gib * 1024)}", "status=none"]).check()
        self.inside(["rm", path]).check()
        return time.monotonic() - start
