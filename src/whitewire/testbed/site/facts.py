"""Facts about a host for the file of a new testbed, from its answers to shell.SITE_QUESTIONS. Pure.

Answers are not trusted: those that cannot be a value in such a file, or would span two lines, are left out.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from whitewire.testbed.site import shell
from whitewire.testbed.site.preflight import Folder, by_interface, java_version, memory_of
from whitewire.testbed.site.shell import SITE_QUESTIONS
from whitewire.tools import link

_INTERFACE = re.compile(r"[!-.0-~]{1,15}")
_FOLDER = re.compile(r"/[^:,\x00-\x20\x7f-\U0010ffff]*")
OF_THE_SYSTEM = re.compile(r"/|/(boot|dev|etc|home|nix|proc|root|run|snap|sys|usr|var)(/.*)?")
"""Mount points that cannot be drives for data; /var/tmp is always available as a fallback."""
SECTOR = 512
MOST_SPEED = 10_000_000
"""Highest plausible speed of an interface, in Mbit/s."""


@dataclass(frozen=True)
class Nic:
    """A network interface that is up: IPv4 addresses with prefix lengths; `speed` in Mbit/s, None: unknown;
    `driver`: empty for virtual devices."""

    name: str
    addresses: tuple[tuple[str, int], ...]
    mtu: int
    speed: int | None = None
    driver: str = ""
    infiniband: bool = False


@dataclass(frozen=True)
class Facts:
    """A host's properties. `default`: interface of its default route; `memory_gib`: what may be used of
    `installed_gib`; `fallback`: free GiB in /var/tmp; `disks`: a description of each; `folders`: writable ones on local
    drives."""

    nics: tuple[Nic, ...] = ()
    default: str = ""
    rdma: tuple[str, ...] = ()
    memory_gib: float = 0.0
    installed_gib: float = 0.0
    processors: int = 0
    virtual: bool = False
    machine: str = ""
    disks: tuple[str, ...] = ()
    folders: tuple[Folder, ...] = ()
    fallback: float = 0.0
    java: int = 0
    apptainer: str = ""
    missing: tuple[str, ...] = ()


def parse_facts(_skew: float, said: str) -> Facts:
    """Parse a host's answers to shell.SITE_QUESTIONS. Raises ValueError for a missing or invalid one."""
    answers = shell.answers(said)
    lacking = [name for name in SITE_QUESTIONS if name not in answers]
    if lacking:
        raise ValueError(f"no answer about {', '.join(lacking)}")
    default = re.search(r"\bdev (\S+)", answers["default"])
    installed, memory = memory_of(answers["memory"])
    return Facts(
        nics=tuple(_nics(answers)),
        default=default[1] if default else "",
        rdma=tuple(_words(answers["rdma"])),
        memory_gib=memory,
        installed_gib=installed,
        processors=int(answers["processors"]) if re.fullmatch("[0-9]{1,6}", answers["processors"]) else 0,
        virtual=bool(answers["virtual"]),
        machine=_line(answers["machine"]),
        disks=tuple(_disks(answers["disks"])),
        folders=tuple(_folders(answers["folders"])),
        fallback=_gib(answers["fallback"]),
        java=java_version(answers["java"]),
        apptainer=_line(answers["apptainer"]),
        missing=tuple(_words(answers["missing"])),
    )


def _nics(answers: dict[str, str]) -> Iterator[Nic]:
    speeds = {name: link.speed(text) or 0 for name, text in by_interface(answers["speeds"]).items()}
    drivers = {name: _line(text) for name, text in by_interface(answers["drivers"]).items()}
    try:
        for item in json.loads(answers["addresses"]):
            name, flags, addresses = item.get("ifname"), {*item.get("flags", [])}, tuple(_addresses(item))
            usable = {"UP", "LOWER_UP"} <= flags and "LOOPBACK" not in flags and _INTERFACE.fullmatch(name)
            if addresses and usable:
                speed = speeds.get(name, 0)
                yield Nic(
                    name, addresses, int(item["mtu"]), speed if 0 < speed <= MOST_SPEED else None,
                    drivers.get(name, ""), item.get("link_type") == "infiniband",
                )  # fmt: skip
    except (ValueError, TypeError, AttributeError, KeyError):
        raise ValueError("ip -json address show: no JSON as expected; iproute2 4.14 or newer is needed") from None


def _addresses(item: dict) -> Iterator[tuple[str, int]]:
    """IPv4 addresses with their prefix lengths."""
    for each in item.get("addr_info", []):
        if each.get("family") == "inet" and "local" in each:
            address = ipaddress.IPv4Interface((each["local"], each["prefixlen"]))
            yield str(address.ip), address.network.prefixlen


def _folders(said: str) -> Iterator[Folder]:
    """One folder per device, because a device may be mounted more than once."""
    seen = set()
    for line in said.splitlines():
        free, device, drive, path = (line.split(" ", 3) + [""] * 3)[:4]
        if _FOLDER.fullmatch(path) and not OF_THE_SYSTEM.fullmatch(path) and device not in seen and _gib(free):
            seen.add(device)
            yield Folder(path, _gib(free), writable=True, present=True, drive=drive)


def _disks(said: str) -> Iterator[str]:
    """`nvme0n1 894 GiB flash`, from lines with name, sectors, whether it rotates, schedulers."""
    for line in said.splitlines():
        name, sectors, rotates, *_ = [*line.split(), "", "", ""]
        if re.fullmatch(r"[\w.!-]{1,40}", name) and re.fullmatch("[0-9]{1,15}", sectors) and int(sectors):
            size = int(sectors) * SECTOR / 2**30
            yield f"{name} {size:.0f} GiB {'rotating' if rotates == '1' else 'flash'}"


def _gib(kib: str) -> float:
    return int(kib) / 2**20 if re.fullmatch("[0-9]{1,18}", kib) else 0.0


def _words(said: str) -> Sequence[str]:
    return [word for word in said.split() if re.fullmatch(r"[\w.-]{1,40}", word, re.ASCII)]


def comment_text(text: str) -> str:
    """A text made fit for a comment: printable ASCII in one line."""
    return " ".join(re.sub(r"[^ -~]+", " ", text).split())


def _line(said: str) -> str:
    """A host's text made fit for a comment, at most 80 characters."""
    return comment_text(said)[:80]
