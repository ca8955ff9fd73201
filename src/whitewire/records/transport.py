"""Whether a run's bytes went by the transport that it was asked to have, by what its hosts' ports counted. Pure.

What the kernel's TCP sent is bounded twice: by the bytes over the interface, which RDMA bypasses on most hardware, and
by its segments, where an interface counts RDMA too (soft RoCE, Chelsio's iWARP).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NotRequired, TypedDict

from whitewire.records.samples import ETHERNET, MTU

QUIET = 0.05
"""Greatest share of a host's bytes that may go by TCP in a run over RDMA: samples, name services, new connections."""
COVERS = 0.9
"""Least share of the bytes that the asked transport must have counted: the other count may have more headers in it."""


class PortSeen(TypedDict):
    """What a host moved in a run: bytes over its interface and its RDMA port, data segments of the kernel's TCP.

    `port`: empty where the interface has none. What its driver does not count is missing.
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
    """Bytes that a host sent over its link by any transport: an interface may count RDMA too, or may not."""
    return max(seen["interface_sent"], seen.get("sent", 0))


def received(seen: PortSeen) -> int:
    return max(seen["interface_received"], seen.get("received", 0))


def by_tcp(seen: PortSeen) -> float:
    """The most bytes that the kernel's TCP can have sent over the link."""
    return min(seen["interface_sent"], seen["segments"] * _frame(seen))


def by_port(seen: PortSeen) -> float | None:
    """The most bytes that the RDMA port can have sent; None where its driver counts neither bytes nor packets."""
    if "sent" in seen:
        return seen["sent"]
    return seen["packets_sent"] * _frame(seen) if "packets_sent" in seen else None


def _frame(seen: PortSeen) -> int:
    return seen.get("mtu", MTU) + ETHERNET


def fault(kind: str, ports: Mapping[str, PortSeen]) -> str:
    """What speaks against a run's bytes having gone by this kind of transport; empty if nothing does.

    A host that sent little is compared with what hosts sent on average.
    """
    total = sum(map(sent, ports.values()))
    if kind != "rdma":
        # Of all hosts together: one that only receives sends nothing but acknowledgements.
        without = 1 - sum(map(by_tcp, ports.values())) / total if total else 0.0
        return f"the kernel's TCP did not send {without:.0%} of the bytes" if without > 1 - COVERS else ""
    if blind := [name for name, seen in ports.items() if by_port(seen) is None]:
        return f"no RDMA port that counts what it sends on {', '.join(blind)}"
    if not total:
        return "no bytes on any link"
    mean = total / len(ports)
    tcp = {name: by_tcp(seen) / max(sent(seen), mean) for name, seen in ports.items()}
    if fell_back := _largest_share(
        tcp, "the kernel's TCP sent up to {share:.0%} of the bytes (fell back to TCP)", QUIET
    ):
        return fell_back
    busy = {name: seen for name, seen in ports.items() if sent(seen) >= QUIET * mean}
    lacking = {name: 1 - (by_port(seen) or 0) / sent(seen) for name, seen in busy.items()}
    return _largest_share(lacking, "the RDMA port did not count {share:.0%} of the bytes", 1 - COVERS)


def _largest_share(shares: Mapping[str, float], words: str, most: float) -> str:
    """The host with the largest share, in words; empty where none has more than `most`."""
    name = max(shares, key=shares.__getitem__, default=None)
    if name is None or shares[name] <= most:
        return ""
    others = sum(share > most for share in shares.values()) - 1
    return f"{words.format(share=shares[name])} on {name}" + (f" and {others} more" if others else "")
