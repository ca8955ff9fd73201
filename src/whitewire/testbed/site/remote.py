"""A testbed whose hosts are other machines: the parts common to ssh and schedulers.

Each host has a watcher (shell.WATCH), a small shell loop that this process signals every few seconds. When this
process ends in any way, or the connection breaks, the watcher ends every process of the run on its host and
removes its folders. So clean-up does not depend on this process.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from whitewire.description.transports import Transport
from whitewire.errors import UserError
from whitewire.records.samples import TICKS
from whitewire.testbed.base import CommandFailed, Fabric, Testbed, piped
from whitewire.testbed.each import on_each
from whitewire.testbed.installation import Installation
from whitewire.testbed.site import image, shell
from whitewire.testbed.site.deployment import ensure_installation
from whitewire.testbed.site.image import image_of
from whitewire.testbed.site.inventory import Interface, resolve_interface
from whitewire.testbed.site.preflight import check_hosts
from whitewire.testbed.site.remote_host import ASK_S, Layout, RemoteHost, interfaces_of
from whitewire.testbed.site.remote_samples import RemoteSampler
from whitewire.testbed.site.shell import IMAGE_QUESTIONS, PORT_SCRIPT
from whitewire.tools import Unreadable, link
from whitewire.tools.link import Link, parse_offloads
from whitewire.tools.rdma_counters import PortCounters, port_counters
from whitewire.tools.tcp import lost_segments, tcp_counters

CLOSE_S = 15.0
"""Longest time for all watchers to clean up, in seconds."""
PLAIN_FOLDER = re.compile(r"[\w./-]{1,54}")
"""A folder fit for control sockets: nothing in it is special to ssh, and a socket's path fits into 107 characters
(unix(7)) with `/whitewire-XXXXXXXX` (19), `/datanode100.10` (15) and what ssh appends while it binds it (17)."""
_Found = TypeVar("_Found")


class RemoteTestbed(Testbed):
    """Hosts of a site. `config` is a validated testbed file, `source` its name for messages."""

    private: Path
    """A local folder for control sockets and other files, set once the testbed starts."""

    def __init__(self, config: Mapping[str, Any], hosts: Sequence[RemoteHost], layout: Layout, source: str) -> None:
        self.config, self.k, self.source, self.layout = config, config.get("scale", 1), source, layout
        self.image = image_of(config, source)
        self.hosts: list[RemoteHost] = list(hosts)
        for host in self.hosts:
            host.image = self.image
        self.current = ""
        self._janitor: subprocess.Popen[bytes] | None = None
        self._installation: Installation | None = None
        self._beating = threading.Event()
        self._numbers = itertools.count(1)

    # -- life ---------------------------------------------------------------------------------------------

    def preflight(self, bare: bool = False, transport: Transport | None = None) -> str:
        """Print a table of all hosts, and start nothing. Raises a UserError that names unusable hosts."""
        return check_hosts(self, bare, transport)

    def __enter__(self) -> RemoteTestbed:
        try:
            self._make_private()
            threading.Thread(target=self._beat, daemon=True).start()  # already opened hosts need beats meanwhile
            self._open()
            self._learn()
            self.fabric(next(iter(self.config["fabrics"])))
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._beating.set()
        for host in self.hosts:
            host.release()
        deadline = time.monotonic() + CLOSE_S
        lost = [str(host) for host in self.hosts if not host.closed(deadline - time.monotonic())]
        if lost:
            by_itself = f"a host that lost the connection does so by itself within {shell.WATCH_PATIENCE_S} s"
            folders = ", ".join([self.layout.folder, *self.layout.drives])
            stay = f"where the watcher was killed, remove {folders}"
            print(f"testbed: no clean-up seen on {', '.join(lost)}; {by_itself}; {stay}", file=sys.stderr)
        if self._janitor is not None:
            piped(self._janitor.stdin).close()
            self._janitor.wait()
            self._janitor = None

    def _make_private(self) -> None:
        """Make the local folder `private`, which a separate process removes after the end of this one.

        That process outlives a scheduler's signal to all processes of a job.
        """
        base = tempfile.gettempdir()
        folder = tempfile.mkdtemp(prefix="whitewire-", dir=base if PLAIN_FOLDER.fullmatch(base) else "/tmp")
        self.private = Path(folder)
        self._janitor = subprocess.Popen(
            ["sh", "-c", f"trap '' {shell.SIGNALS}; cat > /dev/null; exec rm -rf -- \"$1\"", "janitor", folder],
            stdin=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def _open(self) -> None:
        """Open all hosts concurrently. Raises a UserError that names every host that fails."""
        faults = [fault for fault in self.on_all(self._fault_of_open) if fault]
        if faults:
            raise UserError(f"{self.source}: {len(faults)} of {len(self.hosts)} hosts not usable: {'; '.join(faults)}")

    def _fault_of_open(self, host: RemoteHost) -> str:
        try:
            host.open(self.private)
        except (CommandFailed, OSError) as error:
            return str(error)
        return ""

    def _beat(self) -> None:
        while not self._beating.wait(shell.BEAT_S):
            for host in self.hosts:
                host.beat()

    def _learn(self) -> None:
        self.on_all(lambda host: host.learn())
        self.congestion_control = ", ".join(dict.fromkeys(host.congestion_control for host in self.hosts))

    def next_number(self) -> int:
        """The next unused number for names of local files."""
        return next(self._numbers)

    def on_all(self, action: Callable[[RemoteHost], _Found]) -> list[_Found]:
        """Results of `action` for all hosts, run concurrently."""
        return on_each(self.hosts, action, len(self.hosts))

    def by_name(self, action: Callable[[RemoteHost], _Found]) -> dict[str, _Found]:
        """The same results by host name."""
        return dict(zip([host.name for host in self.hosts], self.on_all(action), strict=True))

    # -- network ------------------------------------------------------------------------------------------

    def fabric(self, name: str, port_buffer: int | None = None, mtu: int | None = None,
               slow: Mapping[str, float] | None = None) -> Fabric:  # fmt: skip
        fabrics = self.config["fabrics"]
        if name not in fabrics:
            raise UserError(f"testbed: fabric {name} is not defined, expected one of {', '.join(fabrics)}")
        if port_buffer is not None:
            raise UserError("testbed: the buffers of a switch cannot be set here, only on an emulated testbed")
        if mtu is not None:
            raise UserError("testbed: the MTU of links cannot be set here, only on an emulated testbed")
        if slow:
            raise UserError("testbed: single hosts cannot be slowed down here, only on an emulated testbed")
        full = float(fabrics[name]["rate_mbit_per_s"])
        wanted = Fabric(name, full / self.k, full, mtu=0)
        links = [self._link(host, name) for host in self.hosts]
        hosts = list(zip(self.hosts, links, [*links[1:], links[0]], strict=True))
        found = on_each(hosts, lambda host: _fault_of_link(*host, wanted), len(hosts))
        if faults := [fault for fault in found if fault]:
            raise UserError(f"testbed: fabric {name}: {'; '.join(faults)}")
        for host, (interface, address) in zip(self.hosts, links, strict=True):
            host.address, host.interface = address, interface.name
        self.current = name
        return wanted

    def _link(self, host: RemoteHost, name: str) -> tuple[Interface, str]:
        try:
            return resolve_interface(host.place, name, host.present)
        except ValueError as error:
            raise UserError(f"{self.source}: {host.place.key}: {host.name}: {error}") from None

    def fastest(self) -> str:
        """The fabric in use, since running services have addresses on it only."""
        return self.current

    def share(self, path: str, content: bytes) -> None:
        self.on_all(lambda host: host.put(content, path))

    def offloads(self, on: bool) -> None:
        if not on:
            raise UserError("testbed: offloads cannot be switched here, only on an emulated testbed")

    def links(self) -> dict[str, Link]:
        return self.by_name(lambda host: link_of(host.ask(shell.LINK_NOW, host.interface), host.interface))

    # -- counters -----------------------------------------------------------------------------------------

    def _readings(self) -> dict[str, _Reading]:
        def read(host: RemoteHost) -> _Reading:
            done = host.run_again(shell.script(shell.READINGS, host.interface), timeout=ASK_S).check()
            return _reading(done.stdout.decode())

        return self.by_name(read)

    def counters(self) -> dict[str, dict[str, int]]:
        return {name: {"egress": now.egress, "ingress": now.ingress} for name, now in self._readings().items()}

    def cpu_seconds(self) -> dict[str, float]:
        """CPU seconds that each host's machine was busy, by host name; it is assumed to do no other work."""
        return {name: (now.ticks - now.idle_ticks) / TICKS for name, now in self._readings().items()}

    def tcp_retransmits(self) -> dict[str, int]:
        return {name: now.retransmits for name, now in self._readings().items()}

    def carrier_changes(self) -> dict[str, int]:
        counted = {name: now.carrier_changes for name, now in self._readings().items()}
        return {name: changes for name, changes in counted.items() if changes is not None}

    def queue_drops(self) -> int:
        return sum(now.drops for now in self._readings().values())

    def rdma_ports(self) -> dict[str, PortCounters]:
        def read(host: RemoteHost) -> PortCounters:
            done = host.run_again(shell.script(PORT_SCRIPT, host.interface), timeout=ASK_S).check()
            return port_counters(done.stdout.decode(errors="replace"))

        return self.by_name(read)

    def sampler(self, by_host: bool = False) -> RemoteSampler:
        return RemoteSampler(self, by_host)

    @property
    def reference(self) -> RemoteHost:
        """The host whose clock times a run: the NameNode's, because events are read from its log."""
        return next((host for host in self.hosts if host.role == "namenode"), self.hosts[0])

    def now(self) -> float:
        """Seconds since 1970 by the reference host's clock."""
        return time.time() + self.reference.clock_offset()

    def clocks(self) -> dict[str, float]:
        return self.by_name(lambda host: host.clock_offset())

    # -- software and environment -------------------------------------------------------------------------

    def installation(self) -> Installation:
        if self._installation is None:
            self._installation = ensure_installation(self)
        return self._installation

    def _about(self, host: RemoteHost) -> dict[str, str]:
        """A host's answers about its machine, its commands' versions and, if it has one, the image."""
        if host.image is None:
            return host.ask(shell.ABOUT | shell.VERSIONS, self.layout.java)
        answers = host.ask(shell.ABOUT) | host.ask(shell.VERSIONS, self.layout.java, inside=True)
        return answers | host.ask(IMAGE_QUESTIONS, host.image.file, timeout=image.LOOK_S)

    def describe(self) -> dict[str, dict[str, Any]]:
        """Processor, memory, kernel, disks, interfaces, Java and image of each host, as tools print them, by name."""

        def one(host: RemoteHost) -> dict[str, Any]:
            found: dict[str, Any] = {"target": host.target, "role": host.role}
            found |= {name: text for name, text in self._about(host).items() if name}
            found["fabrics"] = {}
            for name in self.config["fabrics"]:
                interface, address = self._link(host, name)
                said = host.ask(shell.ABOUT_INTERFACE, interface.name)
                said.pop("", None)
                found["fabrics"][name] = {"interface": interface.name, "address": address, **said}
            return found

        return self.by_name(one)


def _fault_of_link(host: RemoteHost, own: tuple[Interface, str], peer: tuple[Interface, str], fabric: Fabric) -> str:
    """Why a host is not on a fabric by this interface and address; empty if it is."""
    interface, address = own
    answers = host.ask(shell.LINK, interface.name, peer[1])
    now = next((i for i in interfaces_of(host, answers["addresses"]) if i.name == interface.name), None)
    if now is None or address not in now.addresses:
        return f"{host}: {interface.name} no longer has {address}"
    if not now.up:
        return f"{host}: {interface.name} is down"
    if (link.speed(answers["speed"]) or math.inf) < fabric.rate:
        return f"{host}: {interface.name} runs at {answers['speed']} Mbit/s, expected {fabric.rate:g}"
    device = link.leaves_by(answers["route"])
    if device != interface.name and peer[1] != address:
        return f"{host}: what goes to {peer[1]} leaves by {device or 'no interface'}, expected {interface.name}"
    return ""


def link_of(answers: Mapping[str, str], interface: str) -> Link:
    """A host's link from the answers to shell.LINK_NOW, without keys for which there is no answer."""
    found: Link = {}
    with contextlib.suppress(Unreadable):
        rate = min(link.limit(answers.get("shaper", "")), link.speed(answers.get("speed", "")) or math.inf)
        if math.isfinite(rate):
            found["rate"] = float(rate)
    with contextlib.suppress(Unreadable, KeyError):
        found["mtu"] = link.mtus(answers.get("device", ""))[interface]
    with contextlib.suppress(Unreadable):
        found["offloads"] = parse_offloads(answers.get("offloads", ""))
    return found


@dataclass(frozen=True)
class _Reading:
    """A host's counters at one time: bytes, dropped packets, lost TCP segments, processor ticks.

    `carrier_changes`: how often its link has come up or gone down; None if its kernel does not count that.
    """

    egress: int
    ingress: int
    drops: int
    retransmits: int
    ticks: int
    idle_ticks: int
    carrier_changes: int | None = None


def _reading(said: str) -> _Reading:
    """Parse the output of shell.READINGS. Raises KeyError, ValueError or Unreadable for missing values."""
    rows: dict[str, list[list[str]]] = {}
    for line in said.splitlines():
        name, *values = line.split()
        rows.setdefault(name, []).append(values)
    ticks = [int(value) for value in rows["cpu"][0][:8]]
    return _Reading(
        egress=int(rows["tx_bytes"][0][0]),
        ingress=int(rows["rx_bytes"][0][0]),
        drops=int(rows["tx_dropped"][0][0]) + int(rows["rx_dropped"][0][0]),
        retransmits=lost_segments(tcp_counters(said)),
        ticks=sum(ticks),
        idle_ticks=ticks[3] + ticks[4],
        carrier_changes=int(rows["carrier_changes"][0][0]) if "carrier_changes" in rows else None,
    )
