"""Command lines of iperf3 (TCP goodput of a link)."""

from __future__ import annotations


def server() -> list[str]:
    """A server that says at once when it listens."""
    return ["iperf3", "--server", "--forceflush"]


def client(server: str, streams: int, size: int) -> list[str]:
    """Send `size` bytes in all to a server over that many TCP streams; JSON on standard output."""
    return ["iperf3", "--client", server, "--json", "--parallel", str(streams), "--bytes", str(size)]
