"""Checks whether a run's bytes used the transport asked for, by the counters of its hosts' ports. Pure.

There are two upper bounds on what the kernel's TCP sent: the bytes over the interface, which RDMA bypasses on most
hardware, and its segments, for interfaces that count RDMA too (soft RoCE, Chelsio's iWARP).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NotRequired, TypedDict

from whitewire.records.samples import ETHERNET, MTU

_QUIET = 0.05
"""Largest share of a host's bytes that may use TCP in a run over RDMA: samples, name services, new connections."""
COVERS = 0.9
"""Least share of the bytes that the counter of the transport must show; total counts may include more headers."""


class PortSeen(TypedDict):
    """Traffic of a host in a run: bytes over its interface and its RDMA port, data segments of the kernel's TCP.

    `port`: empty if the interface has none. Values that its driver does not count are missing.
    """

    port: str
    interface_sent: int
    interface_received: int
    segments: int
    mtu: NotRequired[int]
    sent: NotRequired[int]
    received: NotRequired[int]
    packets_sent: NotRequired[int]


def sent(seen: PortSeen) -> int:
    """Bytes that a host sent over its link by any transport; interfaces may or may not count RDMA too."""
    return max(seen["interface_sent"], seen.get("sent", 0))


def received(seen: PortSeen) -> int:
    return max(seen["interface_received"], seen.get("received", 0))


def by_tcp(seen: PortSeen) -> float:
    """Upper bound on the bytes that the kernel's TCP sent over the link."""
    return min(seen["interface_sent"], seen["segments"] * _frame(seen))


def by_port(seen: PortSeen) -> float | None:
    """Upper bound on the bytes that the RDMA port sent; None if its driver counts neither bytes nor packets."""
    if "sent" in seen:
        return seen["sent"]
    return seen["packets_sent"] * _frame(seen) if "packets_sent" in seen else None


def _frame(seen: PortSeen) -> int:
    return seen.get("mtu", MTU) + ETHERNET


def fault_of_transport(kind: str, ports: Mapping[str, PortSeen]) -> str:
    """The evidence against a run's bytes having used this kind of transport; empty if there is none.

    For hosts that sent little, shares are relative to the hosts' mean.
    """
    total = sum(map(sent, ports.values()))
    if kind != "rdma":
        # The sum over all hosts, because a host that only receives sends only acknowledgements.
        without = 1 - sum(map(by_tcp, ports.values())) / total if total else 0.0
        return f"the kernel's TCP did not send {without:.0%} of the bytes" if without > 1 - COVERS else ""
    if blind := [name for name, seen in ports.items() if by_port(seen) is None]:
        return f"no RDMA port that counts what it sends on {', '.join(blind)}"
    if set_back := [name for name, seen in ports.items() if (by_port(seen) or 0) < 0]:
        return f"the RDMA port's counters were set back during the run on {', '.join(set_back)}"
    if not total:
        return "no bytes on any link"
    mean = total / len(ports)
    tcp = {name: by_tcp(seen) / max(sent(seen), mean) for name, seen in ports.items()}
    if fell_back := _largest_share(
        tcp, "the kernel's TCP sent up to {share:.0%} of the bytes (fell back to TCP)", _QUIET
    ):
        return fell_back
    busy = {name: seen for name, seen in ports.items() if sent(seen) >= _QUIET * mean}
    lacking = {name: 1 - (by_port(seen) or 0) / sent(seen) for name, seen in busy.items()}
    return _largest_share(lacking, "the RDMA port did not count {share:.0%} of the bytes", 1 - COVERS)


def _largest_share(shares: Mapping[str, float], words: str, most: float) -> str:
    """A sentence about the host with the largest share; empty if no share is above `most`."""
    name = max(shares, key=shares.__getitem__, default=None)
    if name is None or shares[name] <= most:
        return ""
    others = sum(share > most for share in shares.values()) - 1
    return f"{words.format(share=shares[name])} on {name}" + (f" and {others} more" if others else "")
