"""Counters of the kernel's TCP, from /proc/net/snmp and /proc/net/netstat (proc_pid_net(5)). Pure."""

from __future__ import annotations

from collections.abc import Mapping


def tcp_counters(said: str) -> dict[str, int]:
    """Counters of the lines `Tcp:` and `TcpExt:` by name; a line of names precedes each line of values.

    Raises ValueError for output that is cut off.
    """
    lines = [line.split()[1:] for line in said.splitlines() if line.startswith(("Tcp:", "TcpExt:"))]
    return {
        name: int(value)
        for names, values in zip(lines[::2], lines[1::2], strict=True)
        for name, value in zip(names, values, strict=True)
    }


def lost_segments(counters: Mapping[str, int]) -> int:
    """Segments sent again less those whose receivers reported that they had them already (DSACK, RFC 2883).

    Most of these are tail-loss probes (RFC 8985), which a sender sends where an acknowledgement is late. Raises
    KeyError.
    """
    return counters["RetransSegs"] - counters["TCPDSACKRecv"] - counters["TCPDSACKOfoRecv"]
