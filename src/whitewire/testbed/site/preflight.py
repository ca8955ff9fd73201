"""Checks all hosts concurrently before anything is started, and reports all problems in one table."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from ipaddress import IPv6Address
from typing import IO, TypeVar

from whitewire.description import transports
from whitewire.description.transports import Transport
from whitewire.errors import UserError
from whitewire.records.jobs import SHORT
from whitewire.testbed.base import piped
from whitewire.testbed.each import on_each
from whitewire.testbed.site import image, shell
from whitewire.testbed.site.deployment import send_image
from whitewire.testbed.site.image import fault_of_image
from whitewire.testbed.site.inventory import Interface, Place, interfaces, resolve_interface
from whitewire.testbed.site.opening import NotReady, conversation, offset_of
from whitewire.testbed.site.reason import cause, reason
from whitewire.testbed.site.remote_host import RemoteHost, RemoteHosts
from whitewire.testbed.site.shell import MACHINE_QUESTIONS, READ_TRANSPORTS
from whitewire.text import by_value
from whitewire.tools import Unreadable, history, link
from whitewire.tools.iperf3 import unfit_iperf3
from whitewire.tools.site_xml import parse_site_xml
from whitewire.units import GIB

_ANSWER_S = 10.0
"""Longest time in seconds for a host to connect, and then to answer all questions."""
MOST_SKEW_S = 0.5
LEAST_JAVA = 17
FREE_GIB = 10.0
"""Free space that each data folder needs unless the description says otherwise, in GiB."""
WORK_GIB = 0.5
"""Free space in `work` for software, configuration and scratch files, in GiB."""
BARE_GIB = 1.0
"""Free space in each data folder where only links and drives are measured (fio's file), in GiB."""
_Found = TypeVar("_Found")

_PORTS = {
    "namenode": (9000, 9870, 8030, 8031, 8032, 8033, 8088, 10020, 10033, 19888),
    "datanode": (9864, 9866, 9867, 8040, 8042, 13562, 5201),
}
"""Ports of HDFS, YARN and iperf3 by role; with a cluster of the site's own (`cluster`) only iperf3's counts."""
IPERF3_PORT = 5201
FINCORE = "fincore"
ONLY = {"curl": "namenode", "fio": "datanode", shell.FIO_ENGINE: "datanode", FINCORE: ""}
"""Programs that only hosts of one role need (empty: none): to query the history server (a site's own is queried by a
client), and to measure drives. All hosts need fincore where a site's file system is used, to check that none of its
files are in memory."""


SYSTEM = "/"


@dataclass(frozen=True)
class Folder:
    """A folder of a host, which may not exist yet."""

    path: str
    free_gib: float
    writable: bool
    present: bool
    drive: str = ""
    """Identifies its drive among the host's; SYSTEM: the drive of the operating system."""


@dataclass(frozen=True)
class RdmaPort:
    """An RDMA port of a host: its state (`ACTIVE` if usable), and the interfaces that it belongs to.

    `gids`: kinds of RoCE (`RoCE v2`) by address (GID) of a RoCE port; None of another port.
    """

    state: str
    interfaces: Sequence[str]
    gids: Mapping[str, Sequence[str]] | None = None

    def roce(self, address: str) -> str:
        """The kind of RoCE by which the port reaches others from an IPv4 address: v2 if it can; empty for none."""
        return max((self.gids or {}).get(str(IPv6Address(f"::ffff:{address}")), ()), default="")


@dataclass(frozen=True)
class HostReport:
    """The answers of one host; `silent`: why it gave none (then the rest is empty)."""

    place: Place
    silent: str = ""
    skew: float = 0.0
    java: int = 0
    java_home: str = ""
    image: str = ""
    """SHA-256 of the image's file; empty where commands run without an image."""
    apptainer: str = ""
    unfit: str = ""
    """Why its image cannot be used; then nothing is known about the software in it."""
    memory_gib: float = 0.0
    """Memory that may be used; `installed_gib`: that of the machine."""
    installed_gib: float = 0.0
    processors: int = 0
    usable: int = 0
    """Processors that may be used, of all the machine's `processors`."""
    governors: Mapping[str, int] = field(default_factory=dict)
    present: Sequence[Interface] = ()
    speeds: Mapping[str, int] = field(default_factory=dict)
    shapers: Mapping[str, str] = field(default_factory=dict)
    """tc's output for each interface."""
    iperf3: str = ""
    """Why its iperf3 cannot be used; empty if it can."""
    offloads: Mapping[str, str] = field(default_factory=dict)
    listening: frozenset[int] = frozenset()
    missing: Sequence[str] = ()
    folders: Sequence[Folder] = ()
    ports: Mapping[str, RdmaPort] = field(default_factory=dict)
    """RDMA ports by name; `locked`: KiB of memory that a process may lock. Asked only where a transport needs them."""
    locked: float = math.inf
    preloaded: Sequence[str] = ()
    """Libraries of transports that the loader cannot preload."""
    rsockets: str = ""
    """The file of librspreload that does not keep it from datagram sockets; empty if it does, or is not needed."""
    history: str = ""
    """Why the history server cannot be found from the site's configuration; empty if it can."""

    def on_fabric(self, name: str) -> tuple[Interface, str] | None:
        """The interface and address by which it is on a fabric; None if it is not."""
        try:
            return resolve_interface(self.place, name, self.present)
        except ValueError:
            return None


@dataclass(frozen=True)
class Needs:
    """Requirements on a host; `rates`: Mbit/s by fabric, as set on this testbed."""

    memory_gib: float
    free_gib: float
    rates: Mapping[str, float]
    ports: Mapping[str, Sequence[int]]
    only: Mapping[str, str] = field(default_factory=ONLY.copy)
    java_home: str = ""
    """Java's folder, the same on all hosts, because configuration files name it; empty: any."""
    java: bool = True
    image: str = ""
    """SHA-256 of the image, the same on all hosts; empty: none."""
    image_gib: float = 0.0
    """Size of the image that is copied to hosts without it."""
    whole: bool = False
    """Whether hosts are nodes of a scheduler's job, which is to have all their processors."""
    rdma: bool = False
    """Whether a transport needs an RDMA port on one of the networks."""
    alike: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Properties that must be equal on all hosts with an RDMA port, by network: see rdma_links()."""
    holders: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    """Names of the hosts that have an address on a network, by both: see holders()."""

    @classmethod
    def of(cls, config: Mapping, bare: bool = False) -> Needs:
        """The requirements of a description; `bare`: only those for measuring links and drives."""
        k = config.get("scale", 1)
        rates = {name: fabric["rate_mbit_per_s"] / k for name, fabric in config["fabrics"].items()}
        if bare:
            ports = dict.fromkeys(("namenode", "datanode", "client"), (IPERF3_PORT,))
            return cls(0.0, BARE_GIB, rates, ports, ONLY | {"curl": ""}, java=False)
        only = ONLY | ({"curl": "client"} if "cluster" in config else {})
        if "mount" in config:
            del only[FINCORE]
        only_iperf3 = {role: [port for port in ports if port == IPERF3_PORT] for role, ports in _PORTS.items()}
        return cls(
            memory_gib=config["memory"]["minimum_gib"],
            free_gib=config.get("disk", {}).get("minimum_gib", FREE_GIB),
            rates=rates,
            ports=only_iperf3 if "cluster" in config else _PORTS,
            only=only,
            whole=config["kind"] not in ("ssh", "hostfile"),
        )


# --- from a host's answers to a report ----------------------------------------------------------------


def _report(place: Place, skew: float, said: str) -> HostReport:
    """Parse a host's answers to shell.PREFLIGHT. Raises ValueError for a missing or invalid one."""
    answers = shell.answers(said)
    unfit = fault_of_image(answers) if "apptainer" in answers else ""
    if unfit:
        answers = dict.fromkeys(shell.SOFTWARE, "") | answers
    lacking = [name for name in shell.PREFLIGHT if name not in answers]
    if lacking:
        raise ValueError(f"no answer about {', '.join(lacking)}")
    installed, memory = memory_of(answers["memory"])
    try:
        present = interfaces(json.loads(answers["addresses"]))
    except ValueError:
        raise ValueError("ip -json address show: no JSON; iproute2 4.14 or newer is needed") from None
    return HostReport(
        place=place,
        skew=skew,
        java=java_version(answers["java"]),
        java_home=answers["java_home"],
        image=answers.get("image", "").partition(" ")[0],
        apptainer=answers.get("apptainer", ""),
        unfit=unfit,
        memory_gib=memory,
        installed_gib=installed,
        processors=int(answers["processors"]) if answers["processors"].isdigit() else 0,
        usable=int(answers["usable"]) if answers["usable"].isdigit() else 0,
        governors={name: int(count) for count, name in map(str.split, answers["governors"].splitlines())},
        present=present,
        speeds={name: speed for name, text in by_interface(answers["speeds"]).items() if (speed := link.speed(text))},
        shapers=by_interface(answers["shapers"]),
        iperf3=unfit_iperf3(answers["iperf3"]),
        offloads=dict((line.split(" ", 1) + [""])[:2] for line in answers["offloads"].splitlines()),
        listening=listening(answers["listening"].split()),
        missing=[*answers["missing"].split(), *answers["programs"].split()],
        folders=[_folder(line) for line in answers["folders"].splitlines()],
        history=_history(answers["site"]),
        ports=_rdma_ports(answers.get("ports", ""), answers.get("gids", "")),
        locked=int(answers["locked"]) if answers.get("locked", "").isdecimal() else math.inf,
        preloaded=answers.get("preloaded", "").split(),
        rsockets=answers.get("rsockets", ""),
    )


def _rdma_ports(ports: str, gids: str) -> dict[str, RdmaPort]:
    """RDMA ports by name, from the answers `ports` and `gids` of shell.READ_TRANSPORTS."""
    kinds: dict[str, dict[str, list[str]]] = {}
    for line in gids.splitlines():
        name, *gid = line.split(" ", 2)
        own = kinds.setdefault(name, {})
        if gid:
            own.setdefault(str(IPv6Address(gid[0])), []).append(gid[1].removeprefix("IB/"))
    found = {}
    for line in ports.splitlines():
        name, state, *interfaces = line.split()
        found[name] = RdmaPort(state, interfaces, kinds.get(name))
    return found


def _history(said: str) -> str:
    """Why a site's mapred-site.xml does not give its history server's address; empty if it does, or was not read."""
    try:
        settings = parse_site_xml(said, "mapred-site.xml") if said else None
    except Unreadable as error:
        return str(error)
    return history.fault_of_address(settings) if settings is not None else ""


def by_interface(said: str) -> dict[str, str]:
    """Interface → its lines, from lines that each begin with an interface's name."""
    found: dict[str, str] = {}
    for line in said.splitlines():
        name, _, text = line.partition(" ")
        found[name] = f"{found.get(name, '')}{text}\n"
    return found


def java_version(said: str) -> int:
    """17 from `openjdk version "17.0.9" …`, 8 from `java version "1.8.0_392"`; 0 when there is no Java."""
    match = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(match[1]) if match else 0


OF_THE_HOST = re.compile("(0{16}FFFF0000)?[0-9A-F]{6}7F|0{24}01000000")
"""Loopback addresses (127.x.x.x, also mapped to IPv6, and ::1) as a little-endian machine's kernel prints them."""


def listening(sockets: Sequence[str]) -> frozenset[int]:
    """Ports that a program listens on, except on loopback addresses."""
    pairs = [socket.rsplit(":", 1) for socket in sockets]
    return frozenset(int(port, 16) for address, port in pairs if not OF_THE_HOST.fullmatch(address))


def memory_of(said: str) -> tuple[float, float]:
    """GiB of a machine's memory, and of that which may be used, from the answer `memory` of MACHINE_QUESTIONS."""
    found = re.search(r"MemTotal:\s+(\d+) kB", said)
    installed = int(found[1]) * 1024 / GIB if found else 0.0
    limits = [int(limit) / GIB for limit in re.findall("^[0-9]{1,20}$", said, re.MULTILINE)]
    return installed, min([installed, *limits])


def _folder(line: str) -> Folder:
    free, writable, present, drive, path = line.split(" ", 4)
    return Folder(path, int(free) * 1024 / GIB, writable == "yes", present == "yes", drive)


# --- from a report to its problems ----------------------------------------------------------------------


def problems(host: HostReport, needs: Needs) -> list[str]:
    """Reasons why a host cannot be used; empty if it can."""
    if host.silent:
        return [host.silent]
    found = []
    if abs(host.skew) > MOST_SKEW_S:
        found.append(f"clock {host.skew:+.1f} s off this machine's (at most {MOST_SKEW_S} s)")
    inside = " in the image" if host.image else ""
    if host.unfit:
        found.append(host.unfit)
    elif host.image != needs.image:
        found.append(f"image {host.image[:12]}, on other hosts {needs.image[:12]}")
    elif not needs.java:
        pass
    elif host.java < LEAST_JAVA:
        found.append(f"Java {host.java}{inside}, {LEAST_JAVA} is needed" if host.java else f"no Java{inside}")
    elif needs.java_home and host.java_home != needs.java_home:
        found.append(f"Java in {host.java_home or 'no folder'}, on other hosts in {needs.java_home}")
    if host.memory_gib < 0.92 * needs.memory_gib:  # firmware and kernel keep some of the installed memory
        asked = f"{needs.memory_gib:g} needed"
        if host.memory_gib < host.installed_gib:
            usable = f"{host.memory_gib:.1f} of {host.installed_gib:.1f} GiB of memory may be used"
            found.append(f"{usable}, {asked}: ask for all (Slurm: --mem=0), or lower memory.minimum_gib")
        else:
            found.append(f"{host.memory_gib:.1f} GiB of memory, {asked}")
    # Others' idle processors would hide that a run is short of its own. Half of all are cores without second threads.
    enough = (1 - SHORT) * host.processors
    if needs.whole and 0 < host.usable < enough and 2 * host.usable != host.processors:
        of_all = f"{host.usable} of {host.processors} processors may be used"
        found.append(f"{of_all}: ask for whole nodes (Slurm: --exclusive)")
    needed = [name for name in host.missing if needs.only.get(name, host.place.role) == host.place.role]
    inside_too = (*shell.PROGRAMS, shell.FIO_ENGINE)
    if missing := [f"{name}{inside}" if name in inside_too else name for name in needed]:
        found.append(f"no {', '.join(missing)}")
    found += filter(None, [host.iperf3])
    of_work = WORK_GIB + (0.0 if host.image else needs.image_gib)
    for number, folder in enumerate(host.folders):
        found += _problems_of_folder(folder, of_work if number == 0 else needs.free_gib, is_work=number == 0)
    for fabric, rate in needs.rates.items():
        found += _problems_of_link(host, fabric, rate)
    found += _twins(host, needs)
    found += _problems_of_transports(host, needs)
    taken = sorted(host.listening & set(needs.ports.get(host.place.role, ())))
    if taken:
        found.append(f"something listens on port {', '.join(map(str, taken))}")
    return found


LOCKED_KIB = 1024 * 1024
"""KiB of memory that a process must be allowed to lock: some 300 KiB per RDMA connection."""


def _problems_of_transports(host: HostReport, needs: Needs) -> list[str]:
    inside = " in the image" if host.image else ""
    found = [f"{library} cannot be preloaded{inside}: it is missing, or of another kind" for library in host.preloaded]
    if host.rsockets:
        found.append(f"{host.rsockets}{inside} has no line `* INET STREAM *`: DataNodes hang without it")
    if not needs.rdma:
        return found
    if host.locked < LOCKED_KIB:
        found.append(
            f"only {host.locked:.0f} KiB of memory may be locked (ulimit -l), {LOCKED_KIB} needed: raise memlock in "
            "/etc/security/limits.d, or LimitMEMLOCK of sshd or of the scheduler's daemon"
        )
    named = {on[0].name for fabric in host.place.links if (on := host.on_fabric(fabric))}
    own = {name: port for name, port in host.ports.items() if named & set(port.interfaces)}
    if not own:
        found.append(f"no RDMA port on {', '.join(sorted(named))}, found {_ports(host) or 'none'}")
    found += [f"RDMA port {name} is {port.state}" for name, port in own.items() if port.state != "ACTIVE"]
    for fabric, has in rdma_links(host).items():
        found += [f"no GID of {address} on RDMA port {name}" for name, address in _without_gid(host, fabric)]
        found += [
            f"{what} {value} on {fabric}, on other hosts {needs.alike[fabric][what]}: RDMA needs the same"
            for what, value in has.items() if value and value != needs.alike.get(fabric, {}).get(what, value)
        ]  # fmt: skip
    return found


def rdma_links(host: HostReport) -> dict[str, dict[str, str]]:
    """Properties that RDMA needs to be equal on all hosts, by fabric on which the host has a port: MTU, and the kind of
    GID."""
    found = {}
    for fabric in host.place.links:
        for interface, address, ports in _rdma_link(host, fabric):
            kinds = {kind for port in ports.values() if (kind := port.roce(address))}
            found[fabric] = {"MTU": str(interface.mtu), "GID": max(kinds, default="")}
    return found


def _without_gid(host: HostReport, fabric: str) -> list[tuple[str, str]]:
    """(RoCE port, address) for each port of a host on a fabric that has no GID of the host's address."""
    return [(name, address) for _, address, ports in _rdma_link(host, fabric)
            for name, port in ports.items() if port.gids is not None and not port.roce(address)]  # fmt: skip


def _rdma_link(host: HostReport, fabric: str) -> list[tuple[Interface, str, Mapping[str, RdmaPort]]]:
    """Interface, address and RDMA ports of a host on a fabric, in a list; empty if it has no such port."""
    if (on := host.on_fabric(fabric)) is None:
        return []
    interface, address = on
    ports = {name: port for name, port in host.ports.items() if interface.name in port.interfaces}
    return [(interface, address, ports)] if ports else []


def _ports(host: HostReport) -> str:
    return ", ".join(f"{name} {port.state} on {' '.join(port.interfaces)}" for name, port in host.ports.items())


def _problems_of_folder(folder: Folder, needed: float, is_work: bool) -> list[str]:
    # A missing `work` folder is created; a missing data folder may be a drive that is not mounted.
    if not folder.present and not is_work:
        return [f"{folder.path} is not there"]
    if not folder.writable:
        return [f"{folder.path} is not writable"]
    if folder.free_gib < needed:
        return [f"{folder.free_gib:.1f} GiB free in {folder.path}, {round(needed, 2):g} needed"]
    return []


def _problems_of_link(host: HostReport, fabric: str, rate: float) -> list[str]:
    try:
        interface, _ = resolve_interface(host.place, fabric, host.present)
    except ValueError as error:
        return [str(error)]
    if not interface.up:
        return [f"{interface.name} ({fabric}) is down"]
    speed = host.speeds.get(interface.name)
    if speed is not None and speed < rate:
        return [f"{interface.name} ({fabric}) at {speed} Mbit/s, expected {rate:g}"]
    return []


def _twins(host: HostReport, needs: Needs) -> list[str]:
    """The first address that other hosts have too, in a list: two names or aliases of one machine look so."""
    for (fabric, address), names in needs.holders.items():
        others = [name for name in names if name != host.place.name]
        if others and len(others) < len(names):
            return [f"{address} ({fabric}) is also the address of {', '.join(others)}: is a machine listed twice?"]
    return []


def notes(hosts: Sequence[HostReport]) -> list[str]:
    """Warnings that do not stop a run but may affect results: differences between hosts, power-saving processors."""
    found, talking = [], [host for host in hosts if not host.silent]
    unknown = {host.place.name: host.history for host in talking if host.history and host.place.role == "client"}
    if unknown:
        found.append(f"cluster.configuration: jobs need the history server: {by_value(unknown)}")
    if images := {host.place.name: f"{host.image[:12]} in {host.apptainer}" for host in talking if host.image}:
        found.append(f"image: {by_value(images)}")
    if ported := {host.place.name: _ports(host) for host in talking if host.ports}:
        found.append(f"RDMA ports: {by_value(ported)}")
    if partly := {host.place.name: share for host in talking if (share := _share(host))}:
        found.append(f"not all of the machine may be used: {by_value(partly)}")
    saving = {host.place.name: ", ".join(host.governors) for host in talking if set(host.governors) - {"performance"}}
    if saving:
        found.append(f"CPU governor other than performance: {by_value(saving)}")
    if shared := {host.place.name: paths for host in talking if (paths := _on_one_drive(host.folders[1:]))}:
        found.append(f"data: folders on one drive are counted as several: {by_value(shared)}")
    if near := {host.place.name: paths for host in talking if (paths := _on_the_systems(host.folders[1:]))}:
        found.append(f"data: on the drive of the system, which others use too: {by_value(near)}")
    if blind := [host.place.name for host in talking if not host.shapers]:
        found.append(f"no tc (package iproute2 or iproute-tc), so a shaper would not be seen: {', '.join(blind)}")
    for fabric in dict.fromkeys(name for host in talking for name in host.place.links):
        for what, values in (("MTU", _of_link(talking, fabric, "mtu")), ("offloads", _of_link(talking, fabric, "on"))):
            if len(set(values.values())) > 1:
                found.append(f"{what} on {fabric} differs: {by_value(values)}")
        if unknown := {h.place.name: why for h in talking if (why := _rate_unknown(h, fabric))}:
            found.append(f"rate on {fabric} is unknown, so no run can prove it: {by_value(unknown)}")
    return found


def _share(host: HostReport) -> str:
    """The processors and memory that may be used, of all that the machine has; empty if that is all."""
    found = [f"{host.usable} of {host.processors} processors"] if 0 < host.usable < host.processors else []
    if host.memory_gib < host.installed_gib:
        found.append(f"{host.memory_gib:.1f} of {host.installed_gib:.1f} GiB")
    return ", ".join(found)


def by_drive(folders: Iterable[Folder]) -> dict[str, list[str]]:
    """Drive → paths of the folders on it."""
    drives: dict[str, list[str]] = {}
    for folder in folders:
        drives.setdefault(folder.drive, []).append(folder.path)
    return drives


def _on_one_drive(folders: Sequence[Folder]) -> str:
    return "; ".join(" and ".join(paths) for paths in by_drive(folders).values() if len(paths) > 1)


def _on_the_systems(folders: Sequence[Folder]) -> str:
    return " and ".join(folder.path for folder in folders if folder.drive == SYSTEM)


def _rate_unknown(host: HostReport, fabric: str) -> str:
    """Why nothing on a host reports its link's rate; empty if something does, or the host is not on the fabric."""
    if (on := host.on_fabric(fabric)) is None:
        return ""
    name = on[0].name
    try:
        shaped = math.isfinite(link.limit(host.shapers.get(name, "")))
    except Unreadable as fault:
        return str(fault)
    return "" if shaped or name in host.speeds else f"{name} reports no speed"


def _of_link(hosts: Sequence[HostReport], fabric: str, what: str) -> dict[str, str]:
    values = {}
    for host in hosts:
        if on := host.on_fabric(fabric):
            values[host.place.name] = str(on[0].mtu) if what == "mtu" else host.offloads.get(on[0].name) or "none"
    return values


# --- the table ------------------------------------------------------------------------------------------

_HEAD = ("HOST", "TARGET", "", "CLOCK", "JAVA", "CPUS", "MEMORY", "DATA FREE", "LINKS", "IN THE WAY")


def table(hosts: Sequence[HostReport], needs: Needs) -> str:
    """A table with one line per host, followed by the notes."""
    rows = [_HEAD, *(_row(host, problems(host, needs)) for host in hosts)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD) - 1)]
    lines = ["  ".join([*(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=False)), row[-1]]) for row in rows]
    return "\n".join(line.rstrip() for line in [*lines, *(f"note: {note}" for note in notes(hosts))]) + "\n"


def _row(host: HostReport, wrong: Sequence[str]) -> tuple[str, ...]:
    mark, why = ("NO" if wrong else "ok"), "; ".join(wrong)
    if host.silent:
        return (host.place.name, host.place.target, mark, *[""] * 6, why)
    free = [folder.free_gib for folder in host.folders[1:]]
    return (
        host.place.name, host.place.target, mark, f"{host.skew * 1e3:+.0f} ms", str(host.java or "none"),
        str(host.processors), f"{host.memory_gib:.0f} GiB", f"{min(free):.0f} GiB" if free else "",
        " ".join(_shown_link(host, fabric) for fabric in host.place.links), why,
    )  # fmt: skip


def _shown_link(host: HostReport, fabric: str) -> str:
    """`10gbe=ens1f0:10000/9000`: interface, speed in Mbit/s (- if the driver reports none) and MTU."""
    if (on := host.on_fabric(fabric)) is None:
        return f"{fabric}=?"
    interface, _ = on
    return f"{fabric}={interface.name}:{host.speeds.get(interface.name, '-')}/{interface.mtu}"


# --- asking ---------------------------------------------------------------------------------------------


def questions(host: RemoteHost, preloading: Mapping[str, str]) -> tuple[str, float]:
    """(sh script with all questions to a host except for its clock, longest time for the answers in seconds).

    `preloading`: variables of shell.PRELOADING, which is asked where commands run.
    """
    if host.image is None:
        return shell.asking(shell.PRELOADING | shell.PREFLIGHT), _ANSWER_S
    of_machine = shell.asking(MACHINE_QUESTIONS)
    of_image = host.image.questions(host.layout.path, host.layout.java, preloading)
    return f"{of_image}\n{of_machine}", _ANSWER_S + image.LOOK_S


def look(host: RemoteHost, site: str = "", ways: Sequence[Transport] = ()) -> HostReport:
    """Ask one host for all that decides whether it can be used.

    `site`: configuration folder of the site's own cluster; `ways`: the testbed's transports.
    """
    preloading = transports.preloading(ways)
    text, seconds = questions(host, preloading)
    if any(way.kind == transports.RDMA for way in ways):
        text = f"{shell.asking(READ_TRANSPORTS)}\n{text}"  # before `folders`, which shifts the arguments
    arguments = [host.layout.java, host.layout.work, *host.layout.data]
    variables = {"SITE": site, **preloading}
    try:
        return asked(host, text, arguments, variables, partial(_report, host.place), seconds)
    except NotReady as why:
        return HostReport(host.place, silent=str(why))


def asked(host: RemoteHost, text: str, arguments: Sequence[str], variables: Mapping[str, str],
          read: Callable[[float, str], _Found], seconds: float = _ANSWER_S) -> _Found:  # fmt: skip
    """Ask a host for its clock and for the answers to `text` (sh), and return read(seconds that its clock is ahead,
    answers). Raises NotReady, also where `read` raises ValueError.

    The connection is a separate one that leaves nothing on the host. The clock is read once it is open, so that the
    time to connect does not count.
    """
    script = shell.script(f"{shell.CLOCK}\n{text}", *arguments)
    command = shell.environment(script, variables, host.layout.path)
    with tempfile.TemporaryFile() as errors:
        try:
            with conversation(partial(host.popen, command), errors, _ANSWER_S, seconds) as popen:
                return _answer(popen, errors, read, seconds)
        except OSError as fault:
            raise NotReady(str(fault)) from None


def _answer(popen: subprocess.Popen[bytes], errors: IO[bytes], read: Callable[[float, str], _Found], seconds: float
            ) -> _Found:  # fmt: skip
    """Result of `read` for the clock and the answers of a connection; see asked()."""
    begin = time.monotonic()
    try:
        skew = offset_of(popen, begin + seconds)
        return read(skew, piped(popen.stdout).read().decode(errors="replace"))
    except (ValueError, OSError) as error:
        errors.seek(0)
        why = f"no answer in {seconds:.0f} s" if time.monotonic() - begin >= seconds else str(error)
        output = errors.read()
        raise NotReady(cause(output) or ": ".join(filter(None, (why, reason(output))))) from None


def most_common(values: Iterable[str]) -> str:
    """The most common non-empty value, the first of equally common ones; empty if there is none."""
    return next((value for value, _ in Counter(filter(None, values)).most_common(1)), "")


def usual(hosts: Sequence[HostReport]) -> dict[str, dict[str, str]]:
    """The most common values of rdma_links(), by fabric."""
    links = [rdma_links(host) for host in hosts]
    found: dict[str, dict[str, str]] = {}
    for fabric in dict.fromkeys(name for of in links for name in of):
        own = [of[fabric] for of in links if fabric in of]
        found[fabric] = {what: most_common(of[what] for of in own) for what in own[0]}
    return found


def holders(hosts: Sequence[HostReport]) -> dict[tuple[str, str], list[str]]:
    """Names of the hosts that have an address on a fabric, by fabric and address."""
    found: dict[tuple[str, str], list[str]] = {}
    for host in hosts:
        for fabric in host.place.links:
            if on := host.on_fabric(fabric):
                found.setdefault((fabric, on[1]), []).append(host.place.name)
    return found


def _without_image(report: HostReport, why: str) -> HostReport:
    """A host's report with the reason why the image was not copied to it, if there is one and the file is not there."""
    return replace(report, unfit=f"image not copied: {why}") if why and not (report.silent or report.image) else report


def check_hosts(testbed: RemoteHosts, bare: bool, transport: Transport | None) -> str:
    """Check all hosts and print the table on standard error. Raises a UserError that names unusable hosts.

    Returns the SHA-256 of their image (empty: none). `bare`, `transport`: see Testbed.preflight().
    """
    needs = Needs.of(testbed.config, bare)
    site = testbed.config.get("cluster", {}).get("configuration", "")
    failed = send_image(testbed)
    ways = [] if bare else [transport] if transport else transports.defined(testbed.config)
    reports = on_each(testbed.hosts, partial(look, site=site, ways=ways), len(testbed.hosts))
    reports = [_without_image(*each) for each in zip(reports, failed, strict=True)]
    digest = testbed.image.digest if testbed.image else ""
    local = testbed.image.local if testbed.image else None
    needs = replace(
        needs,
        java_home=most_common(report.java_home for report in reports),
        image=digest or most_common(report.image for report in reports),
        rdma=any(way.kind == transports.RDMA for way in ways),
        alike=usual(reports),
        holders=holders(reports),
        image_gib=local.stat().st_size / GIB if local else 0.0,
    )
    print(table(reports, needs), end="", file=sys.stderr)
    wrong = {f"{r.place.name} ({r.place.target})": found for r in reports if (found := problems(r, needs))}
    if wrong:
        alike: dict[str, list[str]] = {}
        for name, found in wrong.items():
            alike.setdefault(", ".join(found), []).append(name)
        named = "; ".join(f"{', '.join(names)}: {why}" for why, names in alike.items())
        raise UserError(f"{testbed.source}: {len(wrong)} of {len(reports)} hosts cannot be used: {named}")
    return needs.image
