"""Writes a testbed's file from its hosts and their facts, for the user to edit. Pure.

Comments give the source of each value; `look:` marks values that only the user can decide.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whitewire.description.capabilities import capabilities_of
from whitewire.description.reading import yaml_line
from whitewire.errors import UserError
from whitewire.testbed.site.facts import Facts, Nic, comment_text
from whitewire.testbed.site.listing.base import Listed
from whitewire.testbed.site.preflight import FREE_GIB, LEAST_JAVA, ONLY, Folder, by_drive

LEAST_HOSTS = 3
"""A NameNode, a DataNode and a client."""
MANY, _CLIENTS = 15, 3
"""Testbeds of at least MANY hosts get _CLIENTS clients, as the largest paper needs; smaller ones get one."""
GUESS = 10_000
"""Rate in Mbit/s for a link whose driver reports no speed."""
MOST_GIB = 100
"""Most free space to require in a data folder, in GiB; half of the free space if that is less."""
YARN_SHARE, LEAST_YARN_MIB = 0.75, 6144
"""Share of a DataNode's memory for YARN, and the least amount in MiB; below it the file has no `yarn` key."""
YARN = {"am_mib": 1536, "task_mib": 2048, "heap_mib": 1536}
_NAMED = 6
"""Most hosts that a comment names."""
WORK, FALLBACK = "/var/tmp/whitewire", "/var/tmp"


@dataclass(frozen=True)
class Site:
    """Hosts in their order, and the facts of each by its ssh target."""

    hosts: Sequence[Listed]
    facts: Mapping[str, Facts]

    def least(self, what: str) -> float:
        return min(getattr(self.facts[host.ssh], what) for host in self.hosts)

    def where(self, lack: Any) -> list[str]:
        """Names of the hosts for whose facts `lack` is true."""
        return [host.ssh for host in self.hosts if lack(self.facts[host.ssh])]

    def words(self, names: Sequence[str]) -> str:
        """`all hosts`, or their names."""
        if len(names) == len(self.hosts):
            return "all hosts"
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return ", ".join(names[:_NAMED]) + more


@dataclass(frozen=True)
class Network:
    """A network of all hosts: its subnet (empty: the hosts' default routes), and each host's interface on it.

    `declared`: the list of hosts assigns it to the experiment; `default`: default routes use it; `beside`:
    descriptions of further interfaces that hosts have on it.
    """

    subnet: str
    nics: Mapping[str, Nic]
    declared: bool = False
    default: bool = False
    beside: Sequence[str] = ()

    @property
    def rate(self) -> int | None:
        """Mbit/s of the slowest link; None if a driver reports no speed."""
        speeds = [nic.speed for nic in self.nics.values()]
        return None if None in speeds else min(filter(None, speeds))

    @property
    def fabric(self) -> str:
        """A name in the papers' style: `10gbe`, `40g-ipoib`."""
        kind = "g-ipoib" if any(nic.infiniband for nic in self.nics.values()) else "gbe"
        return f"{(self.rate or GUESS) / 1000:g}{kind}"

    @property
    def interface(self) -> str:
        """The most common name of the hosts' interfaces on it."""
        return Counter(nic.name for nic in self.nics.values()).most_common(1)[0][0]


def proposal(kind: str, site: Site, origin: str, kept: str, ssh_config: str = "") -> str:
    """The file's text. `kept`: the keys that do not depend on hosts, copied from the example. Raises UserError."""
    _check(site)
    fabrics, others = _fabrics(site)
    by_host = capabilities_of({"kind": kind}).lists_hosts
    parts = [
        _head(kind, site, origin),
        *([f"ssh_config: {yaml_line(ssh_config)}\n"] if ssh_config else []),
        "\n" + _fabrics_text(site, fabrics, others, by_host=by_host),
        "\n" + _paths(site),
        "\n" + _programs(site),
        *(["\n" + _hosts(site, fabrics)] if by_host else []),
        "\n" + _room(site),
        "\n" + kept,
    ]
    return "".join(parts)


def _check(site: Site) -> None:
    """Raise UserError for too few hosts, or for one machine under two names."""
    if len(site.hosts) < LEAST_HOSTS:
        raise UserError(
            f"hosts: found {len(site.hosts)}, expected {LEAST_HOSTS} or more: a NameNode, a DataNode and a client"
        )
    seen: dict[frozenset[str], str] = {}
    for host in site.hosts:
        own = frozenset(address for nic in site.facts[host.ssh].nics for address, _ in nic.addresses)
        other = seen.setdefault(own, host.ssh) if own else host.ssh
        if other != host.ssh:
            raise UserError(f"hosts: found {other} and {host.ssh} with the same addresses, expected another machine")


# --- networks ---------------------------------------------------------------------------------------


def networks(site: Site) -> tuple[list[Network], dict[str, list[str]]]:
    """(networks of all hosts, the likeliest choice first; subnet → hosts, for the networks of some hosts only).

    Private networks of single hosts (Docker's, a virtual machine's) are left out: several hosts have the same address
    there.
    """
    found: dict[str, dict[str, list[tuple[Nic, str]]]] = {}
    for host in site.hosts:
        for nic in site.facts[host.ssh].nics:
            for address, bits in nic.addresses:
                if bits < 32:
                    subnet = str(ipaddress.IPv4Network((address, bits), strict=False))
                    found.setdefault(subnet, {}).setdefault(host.ssh, []).append((nic, address))
    hosts = {host.ssh: host for host in site.hosts}
    first = {subnet: {ssh: _likeliest(hosts[ssh], each) for ssh, each in of.items()} for subnet, of in found.items()}
    shared = {subnet: of for subnet, of in first.items() if len({address for _, address in of.values()}) == len(of) > 1}
    whole = [_network(site, subnet, of, found[subnet]) for subnet, of in shared.items() if len(of) == len(site.hosts)]
    if not whole and (routed := _routed(site)):  # hosts with a subnet each, as some clouds give them
        whole = [Network("", routed, default=True)]
    whole.sort(key=lambda each: (not each.declared, -(each.rate or 0), each.default))
    return whole, {subnet: [*of] for subnet, of in shared.items() if len(of) < len(site.hosts)}


def _likeliest(host: Listed, each: Sequence[tuple[Nic, str]]) -> tuple[Nic, str]:
    """A host's interface on a network: the one that the list of hosts names, else the fastest."""
    return max(each, key=lambda one: (one[1] in host.addresses, one[0].speed or 0))


def _network(site: Site, subnet: str, of: Mapping[str, tuple[Nic, str]],
             all_of: Mapping[str, Sequence[tuple[Nic, str]]]) -> Network:  # fmt: skip
    nics = {ssh: nic for ssh, (nic, _) in of.items()}
    beside = [nic for ssh, each in all_of.items() for nic, _ in each if nic.name != nics[ssh].name]
    words = dict.fromkeys(f"{nic.name} ({nic.speed or 'unknown'} Mbit/s)" for nic in beside)
    declared = all(of[host.ssh][1] in host.addresses for host in site.hosts)
    default = any(site.facts[ssh].default == nic.name for ssh, nic in nics.items())
    return Network(subnet, nics, declared, default, list(words))


def _routed(site: Site) -> dict[str, Nic]:
    """The interface of each host's default route; empty if a host has none."""
    found = {host.ssh: nic for host in site.hosts for facts in [site.facts[host.ssh]]
             for nic in facts.nics if nic.name == facts.default}  # fmt: skip
    return found if len(found) == len(site.hosts) else {}


def _fabrics(site: Site) -> tuple[dict[str, Network], list[str]]:
    """(fabrics by name, reasons why other networks are not fabrics). Raises UserError without any fabric."""
    whole, partly = networks(site)
    fabrics: dict[str, Network] = {}
    others = []
    declared = any(network.declared for network in whole)
    for network in whole:
        if declared and not network.declared:
            others.append(f"{network.subnet} ({network.interface}) is none of the experiment's networks")
        elif network.fabric in fabrics:
            others.append(f"look: {network.subnet} ({network.interface}) is as fast as {network.fabric} above")
        else:
            fabrics[network.fabric] = network
    others += [f"look: {subnet} is on {site.words(names)} only" for subnet, names in partly.items()]
    if not fabrics:
        raise UserError("networks: found none that all hosts have an IPv4 address on, expected one")
    return fabrics, others


def _fabrics_text(site: Site, fabrics: Mapping[str, Network], others: Iterable[str], by_host: bool) -> str:
    lines = [
        "# Networks by the papers' names; a run is made on those that are here. The rate is every host's nominal one.",
        "fabrics:",
    ]
    for name, network in fabrics.items():
        value = {"rate_mbit_per_s": network.rate or GUESS, "interface": network.interface}
        lines.append(f"  {yaml_line(name)}: {yaml_line(value)} # {comment_text(_of_network(site, network, by_host))}")
    lines += [f"  # {comment_text(other)}" for other in others]
    if with_rdma := site.where(lambda facts: facts.rdma):
        devices = dict.fromkeys(device for facts in site.facts.values() for device in facts.rdma)
        note = f"RDMA devices on {site.words(with_rdma)}: {', '.join(devices)}; `make testbed` measures them"
        lines += [
            f"  # {comment_text(note)}",
            "  # Hadoop's own traffic over them: `transports` (docs/sites/transports.md)",
        ]
    return "\n".join(lines) + "\n"


def _of_network(site: Site, network: Network, by_host: bool) -> str:
    """The comment on a fabric: the sources of its values."""
    nics = network.nics
    drivers = ", ".join(dict.fromkeys(nic.driver for nic in nics.values() if nic.driver))
    notes = [network.subnet or "by default routes", *([drivers] if drivers else [])]
    mtus = sorted({nic.mtu for nic in nics.values()})
    notes.append(f"MTU {' and '.join(map(str, mtus))}{': look: they differ' if mtus[1:] else ''}")
    if network.rate is None:
        notes.append("look: the driver reports no speed, this rate is a guess")
    elif faster := [ssh for ssh, nic in nics.items() if nic.speed != network.rate]:
        notes.append(f"look: faster on {site.words(faster)}")
    if network.beside:
        notes.append(f"look: {' and '.join(network.beside)} in the same network")
    unlike = [ssh for ssh, nic in nics.items() if nic.name != network.interface]
    if unlike and not by_host:
        notes.append(f"look: another interface on {site.words(unlike)}, expected the same on all nodes")
    return "; ".join(notes)


# --- paths, programs, room ----------------------------------------------------------------------------


def data_folders(site: Site) -> list[str]:
    """Folders on local drives that are writable and have enough free space on all hosts."""
    paths: Counter[str] = Counter()
    for facts in site.facts.values():
        paths.update({folder.path for folder in facts.folders if folder.free_gib >= FREE_GIB})
    return sorted(path for path, count in paths.items() if count == len(site.hosts))


def _chosen(facts: Facts, paths: Sequence[str]) -> list[Folder]:
    """A host's folders of these paths."""
    return [folder for folder in facts.folders if folder.path in paths]


def _paths(site: Site) -> str:
    found = data_folders(site)
    disks = dict.fromkeys(disk for facts in site.facts.values() for disk in facts.disks)
    note = "one a drive"
    if not found:
        note = "look: found no drive for data that is mounted alike on all hosts; this is the system's"
    elif shared := site.where(lambda facts: len(by_drive(_chosen(facts, found))) < len(found)):
        note = f"look: some are on one drive on {site.words(shared)}; keep one of each drive"
    listed = f"# Drives of the hosts: {comment_text(', '.join(disks))}\n" if disks else ""
    return (
        "# On every host, and local to each: no network file system.\n"
        f"work: {WORK} # made where it is missing; our software stays in it\n"
        f"data: {yaml_line(found or [FALLBACK])} # {note}; they have to be there\n{listed}"
    )


def _programs(site: Site) -> str:
    old = site.where(lambda facts: facts.java < LEAST_JAVA)
    java = f"look: none of {LEAST_JAVA} or newer on {site.words(old)}" if old else "default: java on the path"
    lines = [f"# java: /opt/jdk-17/bin/java # {comment_text(java)}"]
    needed = {name for facts in site.facts.values() for name in facts.missing}
    lacking = {name: site.words(site.where(lambda facts, name=name: name in facts.missing)) for name in sorted(needed)}
    note = "; ".join(f"{name}{_only(name)} is missing on {hosts}" for name, hosts in lacking.items())
    lines.append(f"# path: [/opt/tools/bin] # {comment_text(f'look: {note}' if note else 'where else commands are')}")
    if having := site.where(lambda facts: facts.apptainer):
        versions = ", ".join(dict.fromkeys(facts.apptainer for facts in site.facts.values() if facts.apptainer))
        note = f"{versions} on {site.words(having)}: all can run in an image; docs/sites/containers.md"
        lines.append(f"# image: {{path: /shared/hadoop.sif}} # {comment_text(note)}")
    return "\n".join(lines) + "\n"


def _only(name: str) -> str:
    return f" (needed on a {ONLY[name]})" if name in ONLY else ""


def _room(site: Site) -> str:
    memory = int(site.least("memory_gib"))
    limited = site.where(lambda facts: facts.memory_gib < facts.installed_gib)
    all_of_it = f"; look: {site.words(limited)} may use only a part of it (Slurm: --mem=0)" if limited else ""
    found = data_folders(site)
    free = min((folder.free_gib for facts in site.facts.values() for folder in _chosen(facts, found)),
               default=site.least("fallback"))  # fmt: skip
    disk = int(max(FREE_GIB, min(MOST_GIB, free / 2)))
    least = f"free in each data folder; the least is {free:.0f} GiB"
    lines = [
        f"memory: {yaml_line({'minimum_gib': max(1, memory)})} # of each host{all_of_it}",
        f"disk: {yaml_line({'minimum_gib': disk})} # {least}",
    ]
    node = int(YARN_SHARE * memory) * 1024
    if node >= LEAST_YARN_MIB:
        lines += [
            "# MiB: the most that a NodeManager offers; what an ApplicationMaster and a task ask for; a task's heap.",
            f"yarn: {yaml_line({'node_mib': node, **YARN})}",
        ]
    return "\n".join(lines) + "\n"


# --- hosts --------------------------------------------------------------------------------------------


def roles(hosts: Sequence[Listed]) -> list[str]:
    """A role for each host: the list's, where it leads to all three roles; else by position alone."""
    named = _completed([host.role for host in hosts])
    return named if {*named} == {"namenode", "datanode", "client"} else _completed([""] * len(hosts))


def _completed(given: list[str]) -> list[str]:
    """Roles for hosts without one: the first is the NameNode and the last ones are clients, unless there are some."""
    free = [number for number, role in enumerate(given) if not role]
    if "namenode" not in given and free:
        given[free.pop(0)] = "namenode"
    if "client" not in given:
        count = _CLIENTS if len(given) >= MANY else 1
        for number in free[max(1, len(free) - count) :]:
            given[number] = "client"
    return [role or "datanode" for role in given]


def _hosts(site: Site, fabrics: Mapping[str, Network]) -> str:
    lines = ["# The first hosts of a role are used first; docs/sites/ssh.md says how many a paper needs.", "hosts:"]
    for host, role in zip(site.hosts, roles(site.hosts), strict=True):
        entry: dict[str, Any] = {"ssh": host.ssh, "role": role}
        own = {name: {"interface": network.nics[host.ssh].name} for name, network in fabrics.items()
               if network.nics[host.ssh].name != network.interface}  # fmt: skip
        if own:
            entry["fabrics"] = own
        facts = site.facts[host.ssh]
        java = f"Java {facts.java}" if facts.java else "no Java"
        note = f"{facts.processors} processors, {facts.memory_gib:.0f} GiB, {java}"
        lines.append(f"  - {yaml_line(entry)} # {note}")
    return "\n".join(lines) + "\n"


def _head(kind: str, site: Site, origin: str) -> str:
    lines = [
        f"{len(site.hosts)} hosts of {origin}, as they describe themselves; made by `whitewire site`.",
        'Read it, above all what says "look:", and edit it: docs/sites/first-day.md. Every key: `make docs`.',
    ]
    machines = Counter(facts.machine for facts in site.facts.values() if facts.machine)
    if machines:
        lines.append("Machines: " + "; ".join(f"{count} x {name}" for name, count in machines.most_common(_NAMED)))
    if virtual := site.where(lambda facts: facts.virtual):
        lines.append(f"look: virtual machines: {site.words(virtual)}; docs/sites/first-day.md says what differs.")
    return "".join(f"# {comment_text(line)}\n" for line in lines) + f"kind: {kind}\n"
