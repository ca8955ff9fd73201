"""iperf3's JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass

from whitewire.parsers import Unreadable


@dataclass(frozen=True)
class LinkResult:
    """Goodput at the receiver in Mbit/s, segments sent again, mean round-trip time in microseconds."""

    goodput: float
    retransmits: int
    rtt: float
    seconds: float
    streams: int


def parse(raw: bytes) -> LinkResult:
    """One client's TCP test. Raises Unreadable."""
    try:
        report = json.loads(raw)
    except ValueError as error:
        raise Unreadable(f"iperf3: not whole JSON ({len(raw)} bytes): {error}") from None
    if "error" in report:
        raise Unreadable(f"iperf3: {report['error']}")
    try:
        end = report["end"]
        received = end["sum_received"]
        rtts = [stream["sender"]["mean_rtt"] for stream in end["streams"] if "mean_rtt" in stream["sender"]]
        result = LinkResult(
            goodput=received["bits_per_second"] / 1e6,
            # Absent where the system does not count them.
            retransmits=int(end["sum_sent"].get("retransmits", 0)),
            rtt=sum(rtts) / len(rtts) if rtts else float("nan"),
            seconds=float(received["seconds"]),
            streams=len(end["streams"]),
        )
    except (KeyError, TypeError, IndexError) as error:
        raise Unreadable(f"iperf3: the report lacks {error}") from None
    if not result.goodput > 0:
        raise Unreadable(f"iperf3: goodput {result.goodput}, expected more than 0")
    return result
