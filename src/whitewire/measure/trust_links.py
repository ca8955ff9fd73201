"""The part `links` of the stage `trust`: goodput of links of many rates, by iperf3 and by the switch's counters."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

import numpy as np

from whitewire.install.doctor import preflight
from whitewire.measure import links
from whitewire.measure.engine import NEVER, TEST_FAILURES, Deadline, Unit, make_units, why_failed
from whitewire.measure.trust_plan import AT_ONCE, RATES, TEST_S
from whitewire.progress import Pulse
from whitewire.records import trust as records
from whitewire.records.samples import ETHERNET, HEADERS
from whitewire.records.trust import COUNTERS, IPERF3, LinkRow
from whitewire.testbed.base import FRAME_SHARE, Fabric, Host
from whitewire.testbed.emulated import software
from whitewire.testbed.emulated.sandbox import EmulatedTestbed
from whitewire.testbed.samples import Repeated

_GLANCE_S, STEADY = 0.02, (0.2, 0.8)
"""Seconds between two readings of counters; range of a test's bytes, as shares, over which its rate is taken."""


def steady_rate(times: Sequence[float], total: Sequence[float]) -> float:
    """Mbit/s of cumulative bytes (at times in seconds), between two shares of their total; NaN if nothing came."""
    when, seen = np.asarray(times, dtype=float), np.asarray(total, dtype=float) - total[0]
    if len(when) < 3 or seen[-1] <= 0:
        return math.nan
    # Of readings with the same count keep only the last: nothing came between them.
    keep = np.append(np.diff(seen) > 0, True)
    first, last = (float(np.interp(share * seen[-1], seen[keep], when[keep])) for share in STEADY)
    return (STEADY[1] - STEADY[0]) * float(seen[-1]) * 8e-6 / (last - first) if last > first else math.nan


class Counters(Repeated):
    """Counts, during its `with` block, the TCP payload that each host's switch port delivers to the host.

    A port counts the bytes of a packet with its headers, and a packet that is segmented only on the wire has the
    headers of one: payload is bytes less the headers of each packet, whatever its size.
    """

    period = _GLANCE_S

    def __init__(self, testbed: EmulatedTestbed) -> None:
        self.testbed = testbed
        self.times: list[float] = []
        self.payload: dict[str, list[float]] = {host.name: [] for host in testbed.hosts}

    def take(self) -> None:
        self.times.append(time.monotonic())
        for name, of in self.testbed.ports().items():
            self.payload[name].append(of.sent - of.packets_sent * (HEADERS + ETHERNET))

    def rate(self, host: str) -> float:
        """Mbit/s of payload that reached a host, without the beginning and the end."""
        return steady_rate(self.times, self.payload[host])


def link_test(testbed: EmulatedTestbed, fabric: Fabric, pairs: Sequence[tuple[Host, Host]], number: int, folder: Path
              ) -> list[LinkRow]:  # fmt: skip
    """Let the first host of each pair send to the second, all at once; returns rates by iperf3 and by the counters."""
    size = int(links.probe_bytes(fabric.rate, TEST_S))

    def one(pair: tuple[Host, Host]) -> LinkRow:
        client, server = pair
        base: LinkRow = {"rate": fabric.rate, "pairs": len(pairs), "number": number, "meter": IPERF3,
                         "source": client.name, "destination": server.name, "goodput": None, "expected": None,
                         "why": ""}  # fmt: skip
        try:
            sent = links.send(testbed, client, server, fabric, 1, size, folder / f"{client.name}.json")
        except (*TEST_FAILURES, TimeoutExpired) as fault:
            return {**base, "why": why_failed(fault)}
        return {**base, "goodput": sent.result.goodput, "expected": sent.expected}

    with Counters(testbed) as counted, ThreadPoolExecutor(len(pairs)) as pool:
        rows = list(pool.map(one, pairs))
    for row in list(rows):
        rate = counted.rate(row["destination"])
        why = row["why"] or ("" if math.isfinite(rate) else "nothing was counted")
        # A link begins with a burst; after that it carries its rate.
        rows.append({**row, "meter": COUNTERS, "goodput": None if why else rate, "expected": fabric.rate * FRAME_SHARE,
                     "why": why})  # fmt: skip
    return rows


@dataclass(frozen=True)
class LinkRounds:
    """Tests of all RATES and numbers of pairs AT_ONCE, in another order in each round, a file per round in `folder`."""

    config: Mapping[str, Any]
    folder: Path
    progress: Pulse
    deadline: Deadline = NEVER

    def make(self, rounds: int) -> int:
        """Make missing and damaged rounds while there is time; returns how many rounds there are."""
        lacking = [number for number in range(1, rounds + 1) if not self._unit(number).is_made(self.progress.say)]
        if not lacking:
            return rounds
        config = {**self.config, "fabrics": {f"{rate:g}": {"rate_mbit_per_s": rate} for rate in RATES}}
        roles = {"server": max(AT_ONCE), "client": max(AT_ONCE)}
        raw = self.folder / "verbatim"
        raw.mkdir(parents=True, exist_ok=True)
        with self.progress.going():
            preflight(self.config, bare=True)
            with EmulatedTestbed(config, roles, 1, software.libraries()) as testbed:
                with links.servers(testbed.by_role("server"), raw):
                    units = [self._unit(number, partial(self._round, testbed, number, rounds)) for number in lacking]
                    return rounds - len(make_units(units, self.deadline))

    def _unit(self, number: int, make: Callable[[], object] = list) -> Unit:
        return Unit(make, self.folder / f"round-{number:02}.json", records.round_rows)

    def _round(self, testbed: EmulatedTestbed, number: int, rounds: int) -> list[LinkRow]:
        self.progress.say(f"links: round {number} of {rounds}")
        rng, rows = random.Random(number), list[LinkRow]()
        pairs = list(zip(testbed.by_role("client"), testbed.by_role("server"), strict=True))
        for rate in rng.sample(RATES, len(RATES)):
            fabric = testbed.fabric(f"{rate:g}")
            for count in rng.sample(AT_ONCE, len(AT_ONCE)):
                rows += link_test(testbed, fabric, pairs[:count], number, self.folder / "verbatim")
        return rows
