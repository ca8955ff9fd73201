"""Parsers for the output of tc, ip and ethtool about links. Each finds its tool's lines among those of the others."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict

from whitewire.tools import Unreadable, in_one_line

MEGABITS = {"": 1e-6, "K": 1e-3, "M": 1.0, "G": 1e3, "T": 1e6}
OFFLOADS = ("tcp-segmentation-offload", "generic-segmentation-offload", "generic-receive-offload")
"""ethtool's names of the features that the factor `offloads` switches."""


UNKNOWN_SPEEDS = {
    "-1": "a device that is down, or has no speed (virtio, tunnels)",
    "0": "drivers without a speed",
    "65535": "-1 in the 16 bits of older kernels (bonds)",
    "4294967295": "-1 without its sign",
    "Unknown!": "ethtool's word for all of these",
}
"""Values reported instead of an unknown speed, and the devices that report them."""

NO_SHAPERS = {
    "noqueue", "noop", "pfifo_fast", "pfifo", "bfifo", "pfifo_head_drop", "mq", "mqprio", "multiq", "prio", "ets",
    "drr", "qfq", "sfq", "sfb", "fq", "fq_codel", "fq_pie", "codel", "pie", "red", "gred", "choke", "hhf", "blackhole",
    "plug", "ingress", "clsact", "cake", "netem",
}  # fmt: skip
"""Queueing disciplines that slow a link down only if they have a rate. Any other one counts as a shaper."""


class Link(TypedDict, total=False):
    """A host's link as the system reports it; values that a host does not report are missing.

    rate, rate_in: Mbit/s that the host may send and receive, by shapers or the device; mtu: bytes; queue: bytes that
    the switch port queues for the host; offloads: `on`, `off` or `mixed`.
    """

    rate: float
    rate_in: float
    mtu: int
    queue: int
    offloads: str


class Counted(NamedTuple):
    """A device's counters: bytes (with Ethernet headers) and packets that it has received and sent.

    A packet that is split into frames by a later device or the hardware counts once, with the headers of one frame.
    """

    received: int
    packets_received: int
    sent: int
    packets_sent: int


def counted(said: str) -> dict[str, Counted]:
    """Parse /proc/net/dev: each device's counters. Raises Unreadable."""
    found = {}
    for line in said.splitlines()[2:]:
        name, _, counters = line.partition(":")
        fields = counters.split()
        if len(fields) != 16 or not all(field.isdigit() for field in fields):
            raise Unreadable(f"/proc/net/dev: found {in_one_line(line)}, expected a device with 16 counters")
        found[name.strip()] = Counted(int(fields[0]), int(fields[1]), int(fields[8]), int(fields[9]))
    return found


def rates(said: str) -> dict[str, float]:
    """Parse `tc class show dev …`: class number (`1:1`) → Mbit/s, in the order of the lines.

    tc prints classes as text only, with the largest unit that divides the rate. Raises Unreadable.
    """
    return dict(_rates(said))


def rates_in_turn(said: str, devices: Sequence[str]) -> dict[str, float]:
    """Parse the same command for one class of each device in turn: device → Mbit/s. Raises Unreadable."""
    found = [rate for _, rate in _rates(said)]
    if len(found) != len(devices):
        raise Unreadable(f"tc: found {len(found)} classes with a rate, expected one of each of {len(devices)} links")
    return dict(zip(devices, found, strict=True))


def _rates(said: str) -> list[tuple[str, float]]:
    found = []
    for line in said.splitlines():
        if not line.startswith("class "):
            continue
        match = re.match(r"class \w+ (\S+) .*?\brate (\d+)([KMGT]?)bit\b", line)
        if match is None:
            raise Unreadable(f"tc: found {in_one_line(line)}, expected a class with its rate")
        found.append((match[1], int(match[2]) * MEGABITS[match[3]]))
    return found


def speed(said: str) -> int | None:
    """Parse /sys/class/net/…/speed: Mbit/s, None if unknown."""
    text = said.strip()
    return int(text) if text.isdecimal() and text not in UNKNOWN_SPEEDS else None


def limit(said: str) -> float:
    """Parse `tc qdisc show dev …` and `tc class show dev …`: Mbit/s that a device may send, infinite without a shaper.

    Raises Unreadable if a shaper's rate applies not to the whole device but to some queues, or to each flow.
    """
    said = re.sub(r"\n\s+", " ", said)  # tc breaks long lines
    lines = [line.split() for line in said.splitlines() if line.startswith(("qdisc ", "class "))]
    shapers = [line for line in lines if line[1] not in NO_SHAPERS or SHAPED.search(" ".join(line))]
    if not shapers:
        return math.inf
    roots = {line[1] for line in lines if "root" in line and line[0] == "qdisc"} or {line[1] for line in shapers}
    rates = [rate for line in shapers if "root" in line and (rate := _whole_rate(line)) is not None]
    # Root classes do not borrow from each other, and htb passes unclassified packets at full speed.
    passes = any(line[1] == "htb" and re.search(r"\bdefault (?:0x)?0\b", " ".join(line)) for line in lines)
    if roots != {line[1] for line in shapers} or len(rates) != 1 or passes:
        raise Unreadable(f"tc: found {in_one_line(' '.join(shapers[0]))}, expected a rate of the whole device")
    return rates[0]


SHAPED = re.compile(r"\b(?:(?:rate|maxrate|max_rate|bandwidth|ceil)[ :]\d|bw_rlimit)")


def _whole_rate(words: Sequence[str]) -> float | None:
    """Mbit/s that a root may send in total, from its line; None without a rate. htb's ceil counts before its rate."""
    rates = dict(re.findall(r"\b(ceil|rate|bandwidth) (\d+[KMGT]?)bit\b", " ".join(words)))
    found = next((rates[name] for name in ("ceil", "rate", "bandwidth") if name in rates), None)
    return None if found is None else int(found.rstrip("KMGT")) * MEGABITS[found.lstrip("0123456789")]


def queues(said: str) -> dict[str, int]:
    """Parse `tc -j qdisc show`: device → length of its FIFO in bytes. Raises Unreadable."""
    return {
        _text(row, "dev"): _count(row.get("options"), "limit")
        for row in _rows(said, "tc")
        if row.get("kind") == "bfifo"
    }


def mtus(said: str) -> dict[str, int]:
    """Parse `ip -j link show`: device → MTU in bytes. Raises Unreadable."""
    return {_text(row, "ifname"): _count(row, "mtu") for row in _rows(said, "ip") if "ifname" in row}


def leaves_by(said: str) -> str:
    """Parse `ip route get …`: the device by which packets leave; empty if there is no route.

    The input is text, which is the same in all releases; before 5.0 some print it even with -json.
    """
    match = re.search(r"\bdev (\S+)", said)
    return match[1] if match else ""


def carrier_changes(said: str) -> dict[str, int]:
    """Parse `ip -s -s -j link show`: how often each device's link has come up or gone down. Raises Unreadable."""
    found = {}
    for row in _rows(said, "ip"):
        stats = row.get("stats64")
        sent = stats.get("tx") if isinstance(stats, dict) else None
        found[_text(row, "ifname")] = _count(sent, "carrier_changes")
    return found


def parse_offloads(said: str) -> str:
    """Parse `ethtool -k …`: `on` if packets may exceed frames both when sent and when received, `off` if neither,
    else `mixed`. Raises Unreadable.

    TCP's own segmentation offload does not affect `on`, because on a segment without a switch it is always off.
    """
    found = {}
    for name in OFFLOADS:
        match = re.search(rf"(?m)^{name}: (on|off)\b", said)
        if match is None:
            raise Unreadable(f"ethtool: found {in_one_line(said)}, expected {name}")
        found[name] = match[1]
    if found[OFFLOADS[1]] == found[OFFLOADS[2]] == "on":
        return "on"
    return "off" if set(found.values()) == {"off"} else "mixed"


DRIVER = {"driver": "driver", "version": "version", "firmware-version": "firmware"}
"""ethtool's names of an interface's driver, driver version and firmware version → our names."""


def driver(said: str) -> dict[str, str]:
    """Parse `ethtool -i …`: driver, version and firmware, without empty ones. Raises Unreadable."""
    pairs = (line.partition(":")[::2] for line in said.splitlines())
    found = {
        DRIVER[name]: value.strip() for name, value in pairs if name in DRIVER and value.strip() not in ("", "N/A")
    }
    if "driver" not in found:
        raise Unreadable(f"ethtool: found {in_one_line(said)}, expected a driver")
    return found


def _rows(said: str, tool: str) -> list[dict[str, Any]]:
    rows, end, decoder = [], 0, json.JSONDecoder()
    try:
        for start in re.finditer(r"^\[", said, re.MULTILINE):
            if start.start() >= end:  # releases up to 4.15 spread a list over many lines
                found, end = decoder.raw_decode(said, start.start())
                rows += found
    except (ValueError, RecursionError):
        rows = []
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise Unreadable(f"{tool}: found {in_one_line(said)}, expected a list in JSON")
    return rows


def _text(row: Any, name: str) -> str:
    if not isinstance(row.get(name), str):
        raise Unreadable(f"{name}: found {row.get(name)!r}, expected a name")
    return row[name]


def _count(row: Any, name: str) -> int:
    value = row.get(name) if isinstance(row, dict) else None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Unreadable(f"{name}: found {value!r}, expected a number")
    return value
