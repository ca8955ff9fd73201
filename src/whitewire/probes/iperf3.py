"""Command lines of iperf3 (TCP goodput of a link)."""

from __future__ import annotations


def server(address: str) -> list[str]:
    """A server at one address of its host, which says at once when it listens."""
    return ["iperf3", "--server", "--bind", address, "--forceflush"]


def client(server: str, streams: int, size: int) -> list[str]:
    """Send `size` bytes in all to a server over that many TCP streams; JSON on standard output."""
    return ["iperf3", "--client", server, "--json", "--parallel", str(streams), "--bytes", str(size)]
