"""iperf3: TCP goodput of a link. Its command lines, and its JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from whitewire.tools import Unreadable, documents, is_number, shown

# --- command lines ---


def server(address: str) -> list[str]:
    """A server at one address of its host, which says at once when it listens."""
    return ["iperf3", "--server", "--bind", address, "--forceflush"]


def client(server: str, streams: int, size: int) -> list[str]:
    """Send `size` bytes in all to a server over that many TCP streams; JSON on standard output."""
    return ["iperf3", "--client", server, "--json", "--parallel", str(streams), "--bytes", str(size)]


def steady(server: str, rate: float) -> list[str]:
    """Send UDP to a server until killed, at so many bit/s of full frames (as an interface counts them)."""
    payload = rate * DATAGRAM / (DATAGRAM + 42)
    return ["iperf3", "--client", server, "--udp", "--bitrate", f"{payload:.0f}", "--length", str(DATAGRAM),
            "--time", "86400", "--interval", "0", "--forceflush"]  # fmt: skip


DATAGRAM = 1458
"""Bytes of data in a datagram of steady(): with headers of UDP, IP and Ethernet a full frame."""

# --- output ---


@dataclass(frozen=True)
class LinkResult:
    """Goodput at the receiver in Mbit/s, segments sent again, mean round-trip time in microseconds."""

    goodput: float
    retransmits: int
    rtt: float
    seconds: float
    streams: int


def parse(raw: bytes) -> LinkResult:
    """One client's TCP test in one direction, whatever stands around its report. Raises Unreadable."""
    report = _report(raw)
    if "error" in report:
        raise Unreadable(f"iperf3: {' '.join(str(report['error']).split())[:300]}")
    try:
        end = report["end"]
        if any(key.endswith("_bidir_reverse") for key in end):
            raise Unreadable("iperf3: found a test in both directions (--bidir), expected one direction")
        received, streams = end["sum_received"], end["streams"]
        senders = [stream["sender"] for stream in streams]
        rtts = [_number(sender, "mean_rtt") for sender in senders if "mean_rtt" in sender]
        result = LinkResult(
            goodput=_number(received, "bits_per_second") / 1e6,
            # Absent where the system does not count them.
            retransmits=int(_number({"retransmits": 0, **end["sum_sent"]}, "retransmits")),
            rtt=sum(rtts) / len(rtts) if rtts else float("nan"),
            seconds=float(_number(received, "seconds")),
            streams=len(streams),
        )
    except KeyError as missing:
        raise Unreadable(f"iperf3: the report lacks {missing}") from None
    except (TypeError, AttributeError):
        raise Unreadable("iperf3: found a report of another form, expected that of a TCP test") from None
    if not result.goodput > 0:
        raise Unreadable(f"iperf3: goodput {result.goodput}, expected more than 0")
    return result


def _report(raw: bytes) -> dict[str, Any]:
    text = raw.decode(errors="replace")
    found = documents(text)
    if not found:
        raise Unreadable(f"iperf3: found {shown(text)} ({len(raw)} bytes), expected a whole report in JSON")
    if any(one != found[0] for one in found):
        raise Unreadable(f"iperf3: found {len(found)} reports that differ, expected one")
    return found[0]


def _number(holder: dict[str, Any], name: str) -> float:
    value = holder[name]
    if not is_number(value):
        raise Unreadable(f"iperf3: {name}: found {value!r}, expected a number")
    return value
