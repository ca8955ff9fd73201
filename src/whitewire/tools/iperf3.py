"""iperf3, for the TCP goodput of a link: its command lines, and its JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from whitewire.tools import Unreadable, documents, in_one_line, is_number

# --- command lines ---


def iperf3_server(address: str) -> list[str]:
    """A server at one address of its host, which reports without delay that it listens."""
    return ["iperf3", "--server", "--bind", address, "--forceflush"]


ANY_RATE = "1000G"
"""A rate that no link reaches (1000 Gbit/s)."""
INTERVAL_S = "0.1"
"""Shortest report interval that iperf3 accepts, in seconds."""


def iperf3_client(server: str, streams: int, size: int) -> list[str]:
    """Send `size` bytes in total to a server over `streams` TCP streams; JSON on standard output.

    From 3.16 on, iperf3 checks only at the end of an interval whether all bytes are sent. Intervals are short, and a
    --bitrate makes it send until then, so that no pause counts. Older releases still end with the last byte. From 3.15
    on, the receiver counts whole blocks only. Blocks are a small part of a stream's bytes, and consist of whole
    segments, since partly filled frames lower the goodput of slow links.
    """
    segments = max(LEAST_SEGMENTS // streams, size // (BLOCKS * streams) // _SEGMENT, 1)
    block = min(LARGEST_BLOCK, segments * _SEGMENT)
    return [
        "iperf3", "--client", server, "--json", "--parallel", str(streams), "--bytes", str(size),
        "--bitrate", ANY_RATE, "--interval", INTERVAL_S, "--length", str(block),
    ]  # fmt: skip


_SEGMENT = 1448
"""Bytes of TCP payload in a full frame of standard size, with time stamps."""
BLOCKS = 512
"""Least number of blocks that a stream sends, if it has enough segments for that."""
LEAST_SEGMENTS = 4
"""Least number of segments in a block of a single stream. At 7.8 Mbit/s, goodput was off by more than 1 % in none of 60
tests with 4 segments per block, in one of 60 with 1, and in 15 of 60 with 1.35."""
LARGEST_BLOCK = 131072
"""iperf3's default block of TCP data, in bytes."""


def one_segment(server: str) -> list[str]:
    """Send one segment to an idle server; only the round-trip time in the report is meaningful."""
    size = str(_SEGMENT)
    return ["iperf3", "--client", server, "--json", "--bytes", size, "--length", size, "--interval", INTERVAL_S]


def steady(server: str, rate: float) -> list[str]:
    """Send UDP to a server until killed, in full frames, at `rate` bit/s as an interface counts them."""
    payload = rate * DATAGRAM / (DATAGRAM + 42)
    return ["iperf3", "--client", server, "--udp", "--bitrate", f"{payload:.0f}", "--length", str(DATAGRAM),
            "--time", "86400", "--interval", "0", "--forceflush"]  # fmt: skip


DATAGRAM = 1458
"""Bytes of payload in a datagram of steady(); with the headers of UDP, IP and Ethernet it fills a frame."""

# --- output ---

THREADED = (3, 16)
"""The first release that ends a --bytes test only at the end of an interval, after a pause without data."""
UNFIT = {
    ((3, 0), (3, 10)): "its clock starts 40 ms before the data",
    ((3, 15), (3, 16)): "its server keeps streams waiting for each other",
}
"""Releases whose short tests are not accurate, as (first, first fixed release), and why."""

_UNKNOWN: dict[str, tuple[float, ...]] = {
    "retransmits": (-1, 2**32 - 1, 2**32 - 2, 2**64 - 1),
    "mean_rtt": (0, -1, 2**32 - 1),
    "host_total": (-1,),
    "remote_total": (-1,),
}
"""Values that iperf3 was seen to write when it, or the system, does not know a value; see _known() for the rule."""
_SIGN = 2**31
"""Counters from this value on are negative numbers stored as unsigned: differences to an unknown value."""


@dataclass(frozen=True)
class LinkResult:
    """Goodput at the receiver in Mbit/s, retransmitted segments, mean round-trip time in microseconds.

    `retransmits` and `rtt` are NaN if unknown; `sent`: bytes that the sender passed to TCP; `cpu`: processors that
    iperf3 used at the sender and at the receiver (1: a whole one), empty if not reported.
    """

    goodput: float
    retransmits: float
    rtt: float
    seconds: float
    sent: int = 0
    cpu: tuple[float, ...] = ()

    @property
    def received(self) -> float:
        """Bytes that reached the receiver."""
        return self.goodput * 1e6 / 8 * self.seconds

    @property
    def retransmit_share(self) -> float:
        """Retransmitted segments as a share of those sent."""
        return self.retransmits * _SEGMENT / self.sent if self.sent else 0.0


def unfit_iperf3(version: str) -> str:
    """Why a release cannot be used, from `iperf3 --version` or the version in a report; empty if it can."""
    for (first, end), why in UNFIT.items():
        if first <= (_release(version) or end) < end:
            return f"iperf3 {'.'.join(map(str, _release(version)))}: {why}; 3.10 to 3.14 or 3.16 or newer is needed"
    return ""


def _release(version: str) -> tuple[int, ...]:
    """(3, 16) from `iperf 3.16 (cJSON 1.7.15)`; empty if there is no version."""
    found = re.match(r"iperf (\d+)\.(\d+)", version)
    return tuple(map(int, found.groups())) if found else ()


def iperf3_result(raw: bytes) -> LinkResult:
    """One client's TCP test in one direction; text around its report is ignored. Raises Unreadable."""
    report = _without_error(raw)
    try:
        _fit(report.get("start", {}))
        end = report["end"]
        if any(key.endswith("_bidir_reverse") for key in end):
            raise Unreadable("iperf3: found a test in both directions (--bidir), expected one direction")
        received = end["sum_received"]
        result = LinkResult(
            goodput=_number(received, "bits_per_second") / 1e6,
            retransmits=_known(end["sum_sent"], "retransmits"),
            rtt=_rtt(end["streams"]),
            seconds=float(_number(received, "seconds")),
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
    """Round-trip time in microseconds, from the report of one_segment(). Raises Unreadable."""
    report = _without_error(raw)
    try:
        found = _rtt(report["end"]["streams"])
    except KeyError as missing:
        raise Unreadable(f"iperf3: the report lacks {missing}") from None
    except (TypeError, AttributeError):
        raise Unreadable("iperf3: found a report of another form, expected that of a TCP test") from None
    if not found > 0:
        raise Unreadable("iperf3: found no mean_rtt of a stream, expected more than 0")
    return found


def _fit(start: dict[str, Any]) -> None:
    """Raise Unreadable for a test by an unfit release, or with a pause at its end, which would count as time."""
    version, test = str(start.get("version", "")), start.get("test_start", {})
    if why := unfit_iperf3(version):
        raise Unreadable(why)
    if _release(version) >= THREADED and test.get("bytes") and not test.get("target_bitrate"):
        raise Unreadable(f"iperf3: found --bytes alone with {version}, which ends in a pause; expected --bitrate too")


def _rtt(streams: Sequence[dict[str, Any]]) -> float:
    """Mean round-trip time over streams in microseconds; NaN if the system reports none."""
    rtts = [rtt for stream in streams if not math.isnan(rtt := _known(stream["sender"], "mean_rtt"))]
    return sum(rtts) / len(rtts) if rtts else math.nan


def _cpu(output: dict[str, Any]) -> tuple[float, ...]:
    """Processors that (sender, receiver) used, 1 being a whole one; empty unless both are reported."""
    used = tuple(_known(output, name) / 100 for name in ("host_total", "remote_total"))
    return used if all(map(math.isfinite, used)) else ()


def _known(holder: dict[str, Any], name: str) -> float:
    """A number of a report; NaN if it is unknown or missing."""
    value = _number(holder, name) if name in holder else math.nan
    return value if value not in _UNKNOWN[name] and 0 <= value < _SIGN else math.nan


def _without_error(raw: bytes) -> dict[str, Any]:
    report = _report(raw)
    if "error" in report:
        raise Unreadable(f"iperf3: {' '.join(str(report['error']).split())[:300]}")
    return report


def _report(raw: bytes) -> dict[str, Any]:
    text = raw.decode(errors="replace")
    found = documents(text)
    if not found:
        raise Unreadable(f"iperf3: found {in_one_line(text)} ({len(raw)} bytes), expected a whole report in JSON")
    if any(one != found[0] for one in found):
        raise Unreadable(f"iperf3: found {len(found)} reports that differ, expected one")
    return found[0]


def _number(holder: dict[str, Any], name: str) -> float:
    value = holder[name]
    if not is_number(value):
        raise Unreadable(f"iperf3: {name}: found {value!r}, expected a number")
    return value
