"""Traffic of a host's RDMA ports, by the drivers' counters below /sys/class/infiniband. Pure.

InfiniBand and most RoCE drivers count data in units of four octets (`port_xmit_data`, `port_rcv_data`; kernel,
Documentation/ABI/stable/sysfs-class-infiniband). Without extended counters these have 32 bits, and stay at the largest
value. Others count bytes (irdma, bnxt_re, efa, mana) or only packets (cxgb4, of the whole device, and rxe) in their
hw_counters. siw has no counters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from whitewire.tools import Unreadable
from whitewire.tools.tcp import tcp_counters

_WORDS = {"sent": "port_xmit_data", "received": "port_rcv_data"}
WORD = 4
"""Octets per unit of those counters."""
AT_ITS_END = 2**32 - 1
"""Value at which a counter of 32 bits stays, 16 GiB of data."""
_BYTES = {
    "sent": ("tx_bytes", "ip4OutOctets", "ip6OutOctets"),
    "received": ("rx_bytes", "ip4InOctets", "ip6InOctets"),
}
PACKETS = {
    "sent": ("sent_pkts", "ip4OutSegs", "ip6OutSegs"),
    "received": ("rcvd_pkts", "ip4InSegs", "ip6InSegs"),
}
WAYS = ("sent", "received")


@dataclass(frozen=True)
class Moved:
    """Traffic of a port in one direction since it came up. None: not counted by its driver, or no longer."""

    bytes: int | None = None
    packets: int | None = None


@dataclass(frozen=True)
class PortCounters:
    """Traffic of a host's port (`name`: device/number, empty: the interface has none) and of its kernel's TCP.

    `segments`: TCP segments with data, sent for the first time (TCPOrigDataSent).
    """

    name: str
    sent: Moved
    received: Moved
    segments: int


def port_counters(said: str) -> PortCounters:
    """Parse the output of shell.PORT_SCRIPT: `rdma PORT COUNTER VALUE` lines, and the lines of /proc/net/netstat.

    Several ports of one interface, such as those of a bond, are added up. Raises Unreadable.
    """
    counters: dict[str, int] = {}
    ended: set[str] = set()
    names: list[str] = []
    if said and not said.endswith("\n"):
        raise Unreadable("RDMA counters: found output that is cut off, expected a line's end")
    for line in filter(str.strip, said.splitlines()):
        first, *rest = line.split()
        if first == "rdma" and len(rest) == 1:
            names.append(rest[0])
        elif first == "rdma" and rest[2:] and rest[2] != "N/A":  # the kernel's value of a counter that a port lacks
            if not (len(rest) == 3 and rest[2].isdecimal()):
                raise Unreadable(f"{rest[1]}: found {' '.join(rest[2:])[:40]!r}, expected a whole number")
            counters[rest[1]] = counters.get(rest[1], 0) + int(rest[2])
            if rest[1] in _WORDS.values() and int(rest[2]) == AT_ITS_END:
                ended.add(rest[1])
    try:
        segments = tcp_counters(said)["TCPOrigDataSent"]
    except KeyError:
        raise Unreadable("/proc/net/netstat: found no TCPOrigDataSent, expected Linux 3.14 or newer") from None
    sent, received = (Moved() if _WORDS[way] in ended else moved_by_port(counters, way) for way in WAYS)
    return PortCounters(" ".join(dict.fromkeys(names)), sent, received, segments)


def moved_by_port(counters: Mapping[str, int], way: str) -> Moved:
    """Bytes and packets in one direction, from those counters that the driver has."""
    if _WORDS[way] in counters:
        count: int | None = WORD * counters[_WORDS[way]]
    else:
        count = _sum(counters, _BYTES[way])
    return Moved(count, _sum(counters, PACKETS[way]))


def _sum(counters: Mapping[str, int], names: tuple[str, ...]) -> int | None:
    found = [counters[name] for name in names if name in counters]
    return sum(found) if found else None
