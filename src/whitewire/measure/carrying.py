"""Traffic of hosts' RDMA ports and interfaces in a run: the proof of its transport, and the bytes over its links."""

from __future__ import annotations

from collections.abc import Mapping

from whitewire.records import transport
from whitewire.records.run import Links
from whitewire.records.transport import PortSeen
from whitewire.tools.link import Link
from whitewire.tools.rdma_counters import PortCounters

Ports = Mapping[str, PortCounters]


def seen(
    before: Links, after: Links, ports: Ports, ports_after: Ports, links: Mapping[str, Link]
) -> dict[str, PortSeen]:
    """Traffic of each host's port, interface and kernel TCP between two readings, by host."""
    found: dict[str, PortSeen] = {}
    for name, was in ports.items():
        now, link = ports_after[name], links.get(name, {})
        own: PortSeen = {
            "port": now.name,
            "interface_sent": after[name]["egress"] - before[name]["egress"],
            "interface_received": after[name]["ingress"] - before[name]["ingress"],
            "segments": now.segments - was.segments,
        }
        if "mtu" in link:
            own["mtu"] = int(link["mtu"])
        if (bytes_sent := _grown(was.sent.bytes, now.sent.bytes)) is not None:
            own["sent"] = bytes_sent
        if (bytes_received := _grown(was.received.bytes, now.received.bytes)) is not None:
            own["received"] = bytes_received
        if (packets := _grown(was.sent.packets, now.sent.packets)) is not None:
            own["packets_sent"] = packets
        found[name] = own
    return found


def _grown(was: int | None, now: int | None) -> int | None:
    return None if was is None or now is None else now - was


def links_after(before: Links, after: Links, ports: Mapping[str, PortSeen]) -> Links:
    """The counters of the links after a run as if they counted RDMA too."""
    found = {name: dict(ways) for name, ways in after.items()}
    for name, own in ports.items():
        found[name]["egress"] = before[name]["egress"] + transport.sent(own)
        found[name]["ingress"] = before[name]["ingress"] + transport.received(own)
    return found
