"""Assigns machines to roles: from a testbed's description to its hosts. Pure.

Every fault is a UserError that names the file, the key, the value found and the value expected.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whitewire.description.testbed import lane_hosts
from whitewire.errors import UserError
from whitewire.testbed.base import host_names


@dataclass(frozen=True)
class Place:
    """A machine and its role. `target`: its name for ssh or the scheduler; `key`: its key in the description.

    `links`: for each fabric the `address` or the `interface` by which the machine is on it.
    """

    name: str
    role: str
    target: str
    key: str
    links: Mapping[str, Mapping[str, str]]


ALL_LANES = 0
"""Stands for the hosts of all lanes, in place of a lane's number (1, 2, …)."""


def offered(config: Mapping) -> dict[str, int]:
    """Role → number of machines with that role in an inventory."""
    return dict(Counter(host["role"] for host in config["hosts"]))


def of_inventory(config: Mapping, roles: Mapping[str, int], source: str, lane: int = ALL_LANES) -> list[Place]:
    """The first machines of each role in a lane, in the order of the inventory (`hosts`).

    `source`: name of the file, for messages. Raises UserError for too few machines, or one listed twice.
    """
    positions: dict[str, list[int]] = {}
    for number in range(len(config["hosts"])) if lane == ALL_LANES else lane_hosts(config)[lane - 1]:
        positions.setdefault(config["hosts"][number]["role"], []).append(number)
    for role, count in roles.items():
        found = len(positions.get(role, []))
        if found < count:
            raise UserError(f"{source}: hosts: found {found} with role {role}, expected {count}")
    places = []
    for name, role in host_names(roles):
        number = positions[role].pop(0)
        host, key = config["hosts"][number], f"hosts[{number}]"
        links = {fabric: _link(config, fabric, host, key, source) for fabric in config["fabrics"]}
        places.append(Place(name, role, host["ssh"], key, links))
    _distinct(places, source)
    return places


def of_nodes(config: Mapping, roles: Mapping[str, int], nodes: Sequence[str], source: str, scheduler: str
             ) -> list[Place]:  # fmt: skip
    """The nodes of an allocation, assigned in order: the first role gets the first nodes.

    `scheduler`: its name, for messages. Raises UserError for too few nodes.
    """
    wanted = host_names(roles)
    if len(nodes) < len(wanted):
        asked = ", ".join(f"{count} {role}" for role, count in roles.items())
        raise UserError(f"{scheduler}: found {len(nodes)} nodes, expected {len(wanted)} ({asked})")
    links = {fabric: _link(config, fabric, {}, "", source) for fabric in config["fabrics"]}
    return [
        Place(name, role, node, node, links) for (name, role), node in zip(wanted, nodes, strict=False)
    ]  # the rest of the allocation idles


def named(nodes: Sequence[str], known: Mapping[str, str]) -> list[str]:
    """A name for each node of a job of DataNodes: its `known` name (node → name), else the next free one."""
    left, taken, found = dict(known), {*known.values()}, []
    free = (name for number in itertools.count(1) if (name := f"datanode{number}") not in taken)
    for node in nodes:
        before = next((other for other in left if same_machine(node, other)), None)
        found.append(next(free) if before is None else left.pop(before))
    return found


def of_lane(nodes: Sequence[str], lane: int, lanes: int) -> Sequence[str]:
    """The nodes of an allocation that belong to a lane: equally many per lane, in their order."""
    each = len(nodes) // lanes
    return nodes if lane == ALL_LANES else nodes[(lane - 1) * each : lane * each]


_ADDRESS = re.compile(r"[\d.]+", re.ASCII)


def _host_in(target: str) -> str:
    """The host in a target of ssh (`host`, `user@host`, `ssh://user@host:2222`), in small letters, with its port."""
    return target.lower().removeprefix("ssh://").rpartition("@")[2]


def same_machine(one: str, other: str) -> bool:
    """Whether two names or targets mean one machine: one host, or one with and without its domain.

    Users and case are ignored.
    """
    short, long = sorted((_host_in(one), _host_in(other)), key=len)
    return short == long or (not _ADDRESS.fullmatch(long) and long.startswith(f"{short}."))


def machines(names: Sequence[str], scheduler: str) -> list[str]:
    """Each machine of a list once, in order, by the first of its names there.

    Raises UserError where a short name may belong to several machines.
    """
    distinct, found = list(dict.fromkeys(names)), []
    for name in distinct:
        alike = [other for other in distinct if same_machine(name, other)]
        if not all(same_machine(one, other) for one in alike for other in alike):
            beside = " and ".join(other for other in alike if other != name)
            raise UserError(f"{scheduler}: found {name} beside {beside}, expected names that distinguish hosts")
        if alike[0] == name:
            found.append(name)
    return found


def lanes_in_words(config: Mapping) -> list[str]:
    """Lines that list the hosts of an inventory by lane; empty where there is one lane."""
    lanes = lane_hosts(config)
    if len(lanes) == 1:
        return []
    named = [", ".join(config["hosts"][number]["ssh"] for number in lane) for lane in lanes]
    lines = [f"lane {number}: {hosts}" for number, hosts in enumerate(named, start=1)]
    used = {number for lane in lanes for number in lane}
    rest = [host["ssh"] for number, host in enumerate(config["hosts"]) if number not in used]
    return [*lines, *([f"in no lane: {', '.join(rest)}"] if rest else [])]


def _link(config: Mapping, fabric: str, host: Mapping, key: str, source: str) -> Mapping[str, str]:
    """How a host is on a fabric: by its own entry, else by the interface that the fabric has on all hosts."""
    own = host.get("fabrics", {}).get(fabric)
    if own:
        return own
    if "interface" in config["fabrics"][fabric]:
        return {"interface": config["fabrics"][fabric]["interface"]}
    where = f"fabrics.{fabric}.interface" if not key else f"{key}.fabrics.{fabric}"
    raise UserError(f"{source}: {where}: found nothing, expected an interface" + (" or an address" if key else ""))


def _distinct(places: Sequence[Place], source: str) -> None:
    """Raise UserError for a machine or address that occurs twice, because a host needs folders and ports of its own."""
    seen: dict[tuple[str, str], Place] = {}
    for number, place in enumerate(places):
        for other in places[:number]:
            if same_machine(place.target, other.target):
                raise _again(source, place, "ssh", place.target, other)
        for name, link in place.links.items():
            if "address" in link:
                mark = (f"fabrics.{name}.address", link["address"])
                if (other := seen.setdefault(mark, place)) is not place:
                    raise _again(source, place, *mark, other)


def _again(source: str, place: Place, key: str, found: str, other: Place) -> UserError:
    return UserError(f"{source}: {place.key}.{key}: found {found} of {other.key} again, expected another machine")


@dataclass(frozen=True)
class Interface:
    """A network interface of a host. `up`: switched on and with a carrier; `others`: its alternative names."""

    name: str
    addresses: tuple[str, ...]
    mtu: int
    up: bool
    others: tuple[str, ...] = ()


def interfaces(found: Sequence[Mapping]) -> list[Interface]:
    """Parse the output of `ip -json address show`; IPv4 addresses only, because Hadoop uses no others."""
    return [
        Interface(
            name=item["ifname"],
            addresses=tuple(
                a["local"] for a in item.get("addr_info", []) if a.get("family") == "inet" and "local" in a
            ),
            mtu=int(item.get("mtu", 0)),
            up={"UP", "LOWER_UP"} <= set(item.get("flags", [])),
            others=tuple(filter(None, [*item.get("altnames", []), item.get("ifalias")])),
        )
        for item in found
        if "ifname" in item  # releases up to 4.15 print empty items too
    ]


def resolve_interface(place: Place, fabric: str, present: Sequence[Interface]) -> tuple[Interface, str]:
    """The interface and address by which a host is on a fabric. Raises a ValueError that lists what it has instead."""
    link = place.links[fabric]
    if "address" in link:
        for interface in present:
            if link["address"] in interface.addresses:
                return interface, link["address"]
        others = ", ".join(address for interface in present for address in interface.addresses)
        raise ValueError(f"no address {link['address']} for {fabric}, found {others or 'none'}")
    # `ip` shows eth0@if5 and eth0.10@eth0; only the part before the @ is the name.
    name = link["interface"].partition("@")[0]
    for interface in present:
        if name == interface.name or link["interface"] in interface.others:
            if not interface.addresses:
                raise ValueError(f"interface {interface.name} for {fabric} has no IPv4 address")
            return interface, interface.addresses[0]
    names = ", ".join("/".join([interface.name, *interface.others]) for interface in present)
    raise ValueError(f"no interface {link['interface']} for {fabric}, found {names or 'none'}")
