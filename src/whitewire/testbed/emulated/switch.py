"""The emulated switch and the links of its hosts: rate, buffers, MTU and offloads of both ends.

HTB shapes both directions: the host's device shapes what it sends, the bridge's (the switch port, whose buffer is a
byte-limited FIFO) what it receives. On a shared fabric all traffic passes one more shaper (segment.py).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from whitewire.design import scaling
from whitewire.design.scaling import FIRST_RECEIVE_BUFFER, SEND_BUFFER, burst_bytes
from whitewire.errors import UserError
from whitewire.records.samples import MTU
from whitewire.testbed.base import Argv, CommandFailed, Completed, Fabric
from whitewire.testbed.each import on_each
from whitewire.testbed.emulated import segment
from whitewire.testbed.emulated.host import EmulatedHost
from whitewire.testbed.emulated.racks import Racks, divided
from whitewire.tools import link
from whitewire.tools.link import Link, parse_offloads

PORTS = "tc -batch - && tc -j qdisc show && ip -j link show"
_INTERFACE = "tc class show dev eth0 && ip -j link show dev eth0 && exec ethtool -k eth0"
"""Shell commands that print the actual state of the switch's ports, and of a host's interface."""

RATE_ERROR = 1e-3
"""Largest relative difference between a shaper's rate and the one set, since a shaper counts whole bits."""


class Switch:
    """The links between the hosts of an emulated testbed.

    `config` is a validated testbed file; `inside` runs a command on the switch's side of every link.
    """

    def __init__(self, config: Mapping[str, Any], hosts: Sequence[EmulatedHost],
                 inside: Callable[[Argv, bytes | None], Completed]) -> None:  # fmt: skip
        self._config, self._hosts, self._inside = config, hosts, inside
        self._segment, self.racks = segment.Segment(inside, hosts), Racks(inside, hosts)
        self._current: tuple[Fabric, int | None] | None = None
        self._mtu = MTU
        self.offloaded: bool | None = None
        """Whether offloads are on; None until set, because a new device has them on for sending only."""
        self.whole_frames = False

    def begin(self, k: float) -> None:
        """Add a shaper at a nominal rate to both ends of each link, so that fabric() only changes existing ones."""
        self.set_offloads(on=True, whole_frames=False)
        self._shape_all(Fabric("", 1000.0, 1000.0), k, "add", None)

    def fabric(self, name: str, k: float, port_buffer: int | None, mtu: int, slow: Mapping[str, float]) -> Fabric:
        """Shape every link to the fabric's rate divided by k, while the cluster keeps running.

        `port_buffer` (bytes) overrides the switch's; `slow`: by host, its share of the rate. Raises UserError for an
        unknown fabric, CommandFailed when a link's rate is wrong afterwards.
        """
        fabrics = self._config["fabrics"]
        if name not in fabrics:
            raise UserError(f"testbed: fabric {name} is not defined, expected one of {', '.join(fabrics)}")
        wanted = self._wanted(name, fabrics[name], k, mtu, slow)
        if (wanted, port_buffer) != self._current:
            self._current = None
            self._set_mtu(wanted.mtu)
            self._shape_all(wanted, k, "change", port_buffer)
            if wanted.shared:
                self._segment.join(wanted.rate, wanted.burst, scaling.station_queue(self._config["switch"]))
            else:
                self._segment.leave()
            self._divide(wanted, port_buffer)
            self.set_offloads(self.offloaded is not False, whole_frames=wanted.shared)
            self._verify(wanted)
            self._current = (wanted, port_buffer)
        return wanted

    def _wanted(self, name: str, described: Mapping[str, Any], k: float, mtu: int, slow: Mapping[str, float]
                ) -> Fabric:  # fmt: skip
        full = float(described["rate_mbit_per_s"])
        rate, racks = full / k, described.get("racks", {})
        count, uplink = racks.get("count", 0), racks.get("uplink_mbit_per_s", 0.0) / k
        if count and not uplink:
            uplink = self._workers_of_a_rack(count) * rate / racks["oversubscription"]
        unlike = {host.name: uplink / rate for host in self._by_role("traffic") if uplink > rate} | dict(slow)
        shared = described.get("shared", False)
        return Fabric(
            name, rate, full, shared, burst_bytes(rate, mtu), mtu, count, uplink, tuple(sorted(unlike.items()))
        )

    def _workers_of_a_rack(self, count: int) -> int:
        """Most DataNodes in a rack, the basis of the uplink's over-subscription."""
        workers = {host.name for host in self._by_role("datanode")}
        return max(Counter(rack for name, rack in divided(self._hosts, count).items() if name in workers).values())

    def _by_role(self, role: str) -> list[EmulatedHost]:
        return [host for host in self._hosts if host.role == role]

    def port_buffer(self, rate: float) -> int:
        """Bytes that a switch port of `rate` Mbit/s queues before it drops packets."""
        return scaling.port_buffer(self._config["switch"], rate)

    def _shape_all(self, wanted: Fabric, k: float, command: str, port_buffer: int | None) -> None:
        unlike, rates = dict(wanted.unlike), {}
        for host in self._hosts:
            rates[host.name] = wanted.rate * unlike.get(host.name, 1.0)
        buffers = {name: port_buffer or self.port_buffer(rate) for name, rate in rates.items()}
        ports = b"\n".join(
            shaped(host.port, rates[host.name], buffers[host.name], command, wanted.mtu) for host in self._hosts
        )
        self._inside(["tc", "-batch", "-"], ports).check()
        switch, tcp = self._config["switch"], self._config["tcp"]
        most = scaling.send_buffer(tcp, k)
        script = 'tc -batch - && sysctl -qw "$@"'

        def shape(host: EmulatedHost) -> None:
            rate = rates[host.name]
            buffer = max(self.port_buffer(rate), buffers[host.name])
            sockets = (
                f"net.ipv4.tcp_wmem=4096 {SEND_BUFFER} {most}",
                f"net.ipv4.tcp_rmem=4096 {FIRST_RECEIVE_BUFFER} {scaling.receive_buffer(switch, tcp, rate, k)}",
            )
            sending = shaped("eth0", rate, buffer, command, wanted.mtu)
            host.run(["sh", "-c", script, "sh", *sockets], stdin=sending).check()

        on_each(self._hosts, shape)

    def _set_mtu(self, mtu: int) -> None:
        if mtu != self._mtu:
            ports = "\n".join(f"link set {host.port} mtu {mtu}" for host in self._hosts)
            self._inside(["ip", "-batch", "-"], ports.encode()).check()
            on_each(self._hosts, lambda host: host.run(["ip", "link", "set", "eth0", "mtu", str(mtu)]).check())
            self._mtu = mtu

    def _divide(self, wanted: Fabric, port_buffer: int | None) -> None:
        """Put the hosts into their racks, or all on one switch."""
        if not wanted.racks:
            self.racks.leave()
            return
        queue = port_buffer or self.port_buffer(wanted.uplink)

        def shape(device: str, command: str) -> bytes:
            return shaped(device, wanted.uplink, queue, command, wanted.mtu)

        self.racks.join(wanted.racks, wanted.mtu, shape)

    def set_offloads(self, on: bool, whole_frames: bool) -> None:
        """Switch offloads of every host's interface (ethtool(8): tso, gso, gro).

        With `whole_frames`, hosts send single frames: a shared segment serves its hosts' packets in turn, and would
        favour a host that hands over larger ones.
        """
        if (on, whole_frames) == (self.offloaded, self.whole_frames):
            return
        kept, sent = ("on" if on else "off"), ("on" if on and not whole_frames else "off")
        argv = ["ethtool", "-K", "eth0", "tso", sent, "gso", kept, "gro", kept]
        on_each(self._hosts, lambda host: host.run(argv).check())
        self.offloaded, self.whole_frames = on, whole_frames

    def _verify(self, fabric: Fabric) -> None:
        """Raise CommandFailed when a link, or a rack's uplink, is not as the fabric requires."""
        unlike = dict(fabric.unlike)
        for name, now in self.links().items():
            _verify_rates(fabric, name, now, fabric.rate * unlike.get(name, 1.0))
            if now["mtu"] != fabric.mtu:
                raise CommandFailed(f"fabric {fabric.name}: {name} has an MTU of {now['mtu']}, expected {fabric.mtu}")
        for name, now in self.racks.uplinks().items():
            _verify_rates(fabric, name, now, fabric.uplink)

    def links(self) -> dict[str, Link]:
        """Current state of each host's link, by host name."""
        ports, shared = [host.port for host in self._hosts], self._segment.joined
        asked = [f"class show dev {port} classid 1:1" for port in ports] + ([segment.CLASS] if shared else [])
        said = self._inside(["sh", "-c", PORTS], "\n".join(asked).encode()).check().stdout.decode()
        rates = link.rates_in_turn(said, [*ports, *([segment.DEVICE] if shared else [])])
        most = rates.get(segment.DEVICE, math.inf)
        queues, mtus = link.queues(said), link.mtus(said)
        interfaces = on_each(self._hosts, lambda host: host.network(["sh", "-c", _INTERFACE]).check().stdout.decode())
        return {
            host.name: {
                "rate": min(most, link.rates(own).get("1:1", math.inf)),
                "rate_in": min(most, rates[host.port]),
                "mtu": min(mtus[host.port], link.mtus(own)["eth0"]),
                "queue": queues[host.port],
                "offloads": parse_offloads(own),
            }
            for host, own in zip(self._hosts, interfaces, strict=True)
        }


def shaped(device: str, rate: float, buffer: int, command: str, mtu: int = MTU) -> bytes:
    """Lines of tc(8) that give a device a rate (Mbit/s) and a queue (bytes); `command`: `add` or `change`."""
    burst = burst_bytes(rate, mtu)
    lines = [
        f"class {command} dev {device} parent 1: classid 1:1 htb rate {int(rate * 1e6)}bit "
        f"ceil {int(rate * 1e6)}bit burst {burst} cburst {burst} quantum 15140",
        f"qdisc {command} dev {device} parent 1:1 handle 10: bfifo limit {buffer}",
    ]
    if command == "add":
        lines.insert(0, f"qdisc add dev {device} root handle 1: htb default 1")
    return "\n".join(lines).encode()


def _verify_rates(fabric: Fabric, name: str, now: Link, rate: float) -> None:
    for found in (now["rate"], now["rate_in"]):
        if abs(found / rate - 1) > RATE_ERROR:
            raise CommandFailed(f"fabric {fabric.name}: {name} is at {found} Mbit/s, expected {rate}")
