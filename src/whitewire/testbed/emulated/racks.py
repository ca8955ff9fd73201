"""Racks: each one is a bridge for its hosts, joined to the switch by a shaped pair of devices.

The hosts of a role are divided evenly, in their order. The only host of a role (the NameNode) stays on the switch that
joins the racks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from whitewire.testbed.base import Argv, Completed
from whitewire.testbed.emulated.host import EmulatedHost
from whitewire.tools import link
from whitewire.tools.link import Link


def divided(hosts: Iterable[EmulatedHost], count: int) -> dict[str, str]:
    """Host name → rack (`rack1`, …), for hosts in racks; racks differ by at most one host of each role."""
    roles: dict[str, list[str]] = {}
    for host in hosts:
        roles.setdefault(host.role, []).append(host.name)
    return {
        name: f"rack{number * count // len(names) + 1}"
        for names in roles.values()
        if len(names) > 1
        for number, name in enumerate(names)
    }


class Racks:
    """The racks of an emulated testbed, made on first use. `inside` runs a command in the switch's namespaces."""

    def __init__(self, inside: Callable[[Argv, bytes | None], Completed], hosts: Sequence[EmulatedHost]) -> None:
        self._inside, self._hosts = inside, hosts
        self._made = 0
        self.count = 0
        """Number of racks in use; 0: all hosts are on one switch."""

    @property
    def devices(self) -> list[str]:
        """Devices that shape the racks' uplinks: per rack `down`, the switch's end, and `up`, the rack's end."""
        return [f"{way}{number}" for number in range(1, self._made + 1) for way in ("down", "up")]

    def join(self, count: int, mtu: int, shape: Callable[[str, str], bytes]) -> None:
        """Put the hosts into `count` racks; `shape(device, command)` returns the lines of tc(8) for one device."""
        lines = []
        for number in range(self._made + 1, count + 1):
            lines += [
                f"link add rack{number} type bridge stp_state 0 mcast_snooping 0",
                f"link add down{number} type veth peer name up{number}",
                f"link set down{number} master switch",
                f"link set up{number} master rack{number}",
                *(f"link set {device} up" for device in (f"rack{number}", f"down{number}", f"up{number}")),
            ]
        old, self._made = self.devices, max(self._made, count)
        lines += [f"link set {device} mtu {mtu}" for device in self.devices]
        if count != self.count:
            place = divided(self._hosts, count)
            lines += [f"link set {host.port} master {place.get(host.name, 'switch')}" for host in self._hosts]
            lines += [f"link set {name} type bridge fdb_flush" for name in self._bridges]
        self._ip(lines)
        commands = {device: "change" if device in old else "add" for device in self.devices[: 2 * count]}
        shaped = b"\n".join(shape(device, command) for device, command in commands.items())
        self._inside(["tc", "-batch", "-"], shaped).check()
        self.count = count

    def leave(self) -> None:
        """Put all hosts back on one switch."""
        if self.count:
            moved = [f"link set {host.port} master switch" for host in self._hosts]
            # The bridges' forwarding tables are now wrong.
            self._ip([*moved, *(f"link set {name} type bridge fdb_flush" for name in self._bridges)])
            self.count = 0

    @property
    def _bridges(self) -> list[str]:
        return ["switch", *(f"rack{number}" for number in range(1, self._made + 1))]

    def uplinks(self) -> dict[str, Link]:
        """Rack → Mbit/s that may leave (`rate`) and enter it (`rate_in`), as tc reports; racks in use only."""
        devices = self.devices[: 2 * self.count]
        if not devices:
            return {}
        asked = "\n".join(f"class show dev {device} classid 1:1" for device in devices)
        said = self._inside(["tc", "-batch", "-"], asked.encode()).check().stdout.decode()
        rates: Mapping[str, float] = link.rates_in_turn(said, devices)
        return {
            f"rack{number}": {"rate": rates[f"up{number}"], "rate_in": rates[f"down{number}"]}
            for number in range(1, self.count + 1)
        }

    def _ip(self, lines: Sequence[str]) -> None:
        self._inside(["ip", "-batch", "-"], "\n".join(lines).encode()).check()
