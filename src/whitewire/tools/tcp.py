"""Counters of the kernel's TCP, from /proc/net/snmp and /proc/net/netstat (proc_pid_net(5)). Pure."""

from __future__ import annotations

from collections.abc import Mapping

from whitewire.tools import Unreadable


def tcp_counters(said: str) -> dict[str, int]:
    """Counters of the lines `Tcp:` and `TcpExt:` by name; a line of names precedes each line of values.

    Raises Unreadable.
    """
    lines = [line.split() for line in said.splitlines() if line.startswith(("Tcp:", "TcpExt:"))]
    try:
        pairs = list(zip(lines[::2], lines[1::2], strict=True))
        counters = {
            name: int(value) for names, values in pairs for name, value in zip(names[1:], values[1:], strict=True)
        }
    except ValueError:
        raise Unreadable("TCP's counters: found lines that do not fit, expected as many numbers as names") from None
    if len({names[0] for names, _ in pairs}) < len(pairs):
        raise Unreadable("TCP's counters: found a table twice")
    return counters


def lost_segments(counters: Mapping[str, int]) -> int:
    """Segments sent again less those whose receivers reported that they had them already (DSACK, RFC 2883).

    Most of these are tail-loss probes (RFC 8985), which a sender sends where an acknowledgement is late. Raises
    Unreadable.
    """
    try:
        return counters["RetransSegs"] - counters["TCPDSACKRecv"] - counters["TCPDSACKOfoRecv"]
    except KeyError as lacking:
        raise Unreadable(f"TCP's counters: found no {lacking.args[0]}") from None
