"""iperf3: TCP goodput of a link. Its command lines, and its JSON."""

from __future__ import annotations

from collections.abc import Sequence
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


SEGMENT = 1448
"""Bytes of TCP's data in a full frame of usual size, with time stamps."""


def one_segment(server: str) -> list[str]:
    """Send one segment to a server that has nothing else to do: of the report only the round trip means anything."""
    size = str(SEGMENT)
    return ["iperf3", "--client", server, "--json", "--bytes", size, "--length", size]


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
    """Goodput at the receiver in Mbit/s, segments sent again, mean round-trip time in microseconds.

    `sent`: bytes that the sender handed over; `cpu`: of one processor, what iperf3 used at the sender and at the
    receiver (1: all of it), empty where it does not say.
    """

    goodput: float
    retransmits: int
    rtt: float
    seconds: float
    streams: int
    sent: int = 0
    cpu: tuple[float, ...] = ()

    @property
    def retransmit_share(self) -> float:
        """Of the segments that were handed over, those that were sent again."""
        return self.retransmits * SEGMENT / self.sent if self.sent else 0.0


def parse(raw: bytes) -> LinkResult:
    """One client's TCP test in one direction, whatever stands around its report. Raises Unreadable."""
    report = _without_error(raw)
    try:
        end = report["end"]
        if any(key.endswith("_bidir_reverse") for key in end):
            raise Unreadable("iperf3: found a test in both directions (--bidir), expected one direction")
        received, streams = end["sum_received"], end["streams"]
        result = LinkResult(
            goodput=_number(received, "bits_per_second") / 1e6,
            # Absent where the system does not count them.
            retransmits=int(_number({"retransmits": 0, **end["sum_sent"]}, "retransmits")),
            rtt=_rtt(streams),
            seconds=float(_number(received, "seconds")),
            streams=len(streams),
            sent=int(_number({"bytes": 0, **end["sum_sent"]}, "bytes")),
            cpu=_cpu(end.get("cpu_utilization_percent", {})),
        )
    except KeyError as missing:
        raise Unreadable(f"iperf3: the report lacks {missing}") from None
    except (TypeError, AttributeError):
        raise Unreadable("iperf3: found a report of another form, expected that of a TCP test") from None
    if not result.goodput > 0:
        raise Unreadable(f"iperf3: goodput {result.goodput}, expected more than 0")
    return result


def round_trip(raw: bytes) -> float:
    """Microseconds to the other host and back, from the report of one_segment(). Raises Unreadable."""
    report = _without_error(raw)
    try:
        found = _rtt(report["end"]["streams"])
    except KeyError as missing:
        raise Unreadable(f"iperf3: the report lacks {missing}") from None
    except (TypeError, AttributeError):
        raise Unreadable("iperf3: found a report of another form, expected that of a TCP test") from None
    if not found > 0:
        raise Unreadable(f"iperf3: mean_rtt {found}, expected more than 0")
    return found


def _rtt(streams: Sequence[dict[str, Any]]) -> float:
    """Mean round trip over streams in microseconds; NaN where the system tells none."""
    senders = [stream["sender"] for stream in streams]
    rtts = [_number(sender, "mean_rtt") for sender in senders if "mean_rtt" in sender]
    return sum(rtts) / len(rtts) if rtts else float("nan")


def _cpu(told: dict[str, Any]) -> tuple[float, ...]:
    """Parts of one processor that both ends used; empty where it is not told of both."""
    names = ("host_total", "remote_total")
    return tuple(_number(told, name) / 100 for name in names) if all(name in told for name in names) else ()


def _without_error(raw: bytes) -> dict[str, Any]:
    report = _report(raw)
    if "error" in report:
        raise Unreadable(f"iperf3: {' '.join(str(report['error']).split())[:300]}")
    return report


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
