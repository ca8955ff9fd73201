"""The links of a testbed, in the stage `links`: round trips and goodput of pairs of hosts, by iperf3."""

from __future__ import annotations

import itertools
import math
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from whitewire import atomic
from whitewire.budget import time_in_words
from whitewire.measure import links
from whitewire.measure.engine import LOST, TEST_FAILURES, TIME_UP, Attempts, Unit, make_units, why_failed
from whitewire.measure.execution import cannot_make
from whitewire.measure.schedule import Pair, Planned
from whitewire.measure.survey_plan import OVERHEAD_OF_SITES_S, PAIR_OVERHEAD_S, Survey
from whitewire.records import links as records
from whitewire.records import outliers
from whitewire.records.links import FabricPlan, PairRow
from whitewire.testbed.base import Fabric, Host
from whitewire.tools import iperf3

_TRIES = 3
"""Attempts at a test."""
AGAIN_TIMES = 2.0
"""Factor by which a pair's test is longer when it is measured again."""


def measure_pairs(survey: Survey) -> None:
    """Measure pairs of hosts, and those beyond their bound again."""
    pairs = _Pairs(survey)
    with survey.work.phase("links"):
        pairs.measure()
    with survey.work.phase("again"):
        pairs.again()


class _Pairs:
    """Tests of pairs of hosts."""

    def __init__(self, survey: Survey) -> None:
        self.survey, self.testbed, self.work = survey, survey.testbed, survey.work
        self.folder = survey.folder
        self.attempts = Attempts()
        self.best: dict[tuple[str, str, str], float] = {}
        """Best Mbit/s that a host has sent, or received, on a fabric; a slow host gets fewer bytes to send."""

    def measure(self) -> None:
        """Measure all passes. On every fabric the first pass is that of all pairs with the first number of streams."""
        count = len(self.testbed.hosts)
        if count < 2:
            self.work.leave_out("links", "pairs need two hosts")
            return
        passes = [(of, streams, turns) for of in self.survey.plan["fabrics"]
                  for streams, turns in planned(of).passes(count)]  # fmt: skip
        passes.sort(key=lambda each: each[1] not in (0, each[0]["streams"][0]))
        for name, group in itertools.groupby(passes, key=lambda each: each[0]["name"]):
            todo = [(of, streams, self._lacking(of, streams, turns)) for of, streams, turns in group]
            if any(units for *_, units in todo):
                self._on_a_fabric(name, todo)

    def _lacking(self, of: FabricPlan, streams: int, turns: Sequence[Sequence[Pair]]) -> list[Unit]:
        """The missing turns of a pass."""
        folder = self.folder / "pairs" / of["name"]
        units = (
            Unit(partial(self._turn, of, streams, pairs), folder / f"{streams}-{number:04d}.json", size=len(pairs))
            for number, pairs in enumerate(turns)
        )
        return [unit for unit in units if not unit.is_made(self.work.progress.say)]

    def _on_a_fabric(self, name: str, todo: Sequence[tuple[FabricPlan, int, Sequence[Unit]]]) -> None:
        overhead = PAIR_OVERHEAD_S if self.testbed.capabilities.local else OVERHEAD_OF_SITES_S
        with self.work.leaving_out(name), cannot_make(self.folder), self._ready(name):
            for of, streams, units in todo:
                takes = planned(of).takes(streams, len(units), overhead)
                what = "round trips at rest" if streams == 0 else f"{streams} stream{'s' if streams > 1 else ''}"
                self.work.progress.say(f"{name}, {what}: {sum(unit.size for unit in units)} pairs, up to "
                                       f"{of['at_once']} at one time, about {time_in_words(takes)}")  # fmt: skip
                if late := make_units(units, self.work.deadline):
                    self.work.leave_out(f"{name}, {what}", TIME_UP, f"{sum(unit.size for unit in late)} pairs")

    @contextmanager
    def _ready(self, name: str) -> Iterator[None]:
        """Put all hosts on a fabric, with a server on each."""
        folder = self.folder / "pairs" / name / "verbatim"
        folder.mkdir(parents=True, exist_ok=True)
        self.fabric: Fabric = self.testbed.fabric(name)
        with links.servers(self.testbed.hosts, folder):
            yield

    def _turn(self, of: FabricPlan, streams: int, pairs: Sequence[Pair]) -> list[PairRow]:
        """Measure pairs at the same time, in one direction and then in the other; round trips in one only."""
        rows: list[PairRow] = []
        for ways in [pairs] if streams == 0 else [pairs, [(b, a) for a, b in pairs]]:
            one = partial(self._test, streams=streams, seconds=of["seconds"], beside=len(ways) - 1, attempt=1)
            with ThreadPoolExecutor(len(ways)) as pool:
                rows += [row for found in pool.map(one, ways) for row in found]
        return rows

    def _test(self, way: Pair, streams: int, seconds: float, beside: int, attempt: int) -> list[PairRow]:
        fabric = self.fabric
        source, destination = (self.testbed.hosts[number] for number in way)
        base: PairRow = {"fabric": fabric.name, "source": source.name, "destination": destination.name,
                         "streams": streams, "metric": "goodput" if streams else "rtt_at_rest", "value": None,
                         "unit": "Mbit/s" if streams else "us", "beside": beside, "attempt": attempt,
                         "why": ""}  # fmt: skip
        for host in (source, destination):
            if self.attempts.exhausted(host.name):
                return [{**base, "why": f"{host.name} is given up after {LOST} tests in a row without a result"}]
        path = self.folder / "pairs" / fabric.name / "verbatim" / (
            f"{streams}-{source.name}-{destination.name}-{attempt}.json"
        )  # fmt: skip
        why = ""
        for again in range(_TRIES):
            time.sleep(0.2 * again)  # a server may be busy for a moment with the end of the test before
            try:
                rows = self._rows(base, source, destination, seconds, path)
            except subprocess.TimeoutExpired as fault:
                why = f"iperf3 did not end in {fault.timeout:.0f} s"
                break
            except TEST_FAILURES as fault:
                why = why_failed(fault)
                continue
            self.attempts.succeeded(source.name, destination.name)
            return rows
        self.attempts.failed(source.name, destination.name)
        return [{**base, "why": why}]

    def _rows(self, base: PairRow, source: Host, destination: Host, seconds: float, path: Path) -> list[PairRow]:
        fabric = self.fabric
        if base["streams"] == 0:
            done = source.run(iperf3.one_segment(destination.address), timeout=30)
            atomic.write(path, done.stdout)
            return [{**base, "value": links.parsed_output(done, iperf3.round_trip)}]
        ends = ((fabric.name, "sent", source.name), (fabric.name, "received", destination.name))
        rate = min(fabric.rate, *(self.best.get(end, fabric.rate) for end in ends))
        size = int(links.probe_bytes(rate, seconds))
        sent = links.send(self.testbed, source, destination, fabric, base["streams"], size, path)
        for end in ends:
            known = self.best.get(end)
            self.best[end] = sent.result.goodput if known is None else max(known, sent.result.goodput)
        result = sent.result
        first: PairRow = {**base, "value": result.goodput, "expected": sent.expected, "error": sent.error}
        more: dict[str, tuple[float, str]] = {
            "retransmits": (result.retransmits, "1"), "retransmit_share": (result.retransmit_share, "1"),
            "rtt": (result.rtt, "us"),
        }  # fmt: skip
        more |= dict(zip(("cpu_source", "cpu_destination"), ((used, "1") for used in result.cpu), strict=False))
        others: list[PairRow] = [
            {**base, "metric": metric, "value": value, "unit": unit}
            for metric, (value, unit) in more.items() if math.isfinite(value)
        ]  # fmt: skip
        return [first, *others]

    def again(self) -> None:
        """Measure pairs beyond their bound again, longer and one at a time, the worst first, while there is time."""
        bound, ways = self.survey.plan["limits"]["link_error"], outliers.ways(records.pair_rows(self.folder))
        numbers = {host.name: number for number, host in enumerate(self.testbed.hosts)}
        plans = {each["name"]: each for each in self.survey.plan["fabrics"]}
        wrong = [way for way in ways if outliers.beyond(way, bound) and not way.alone and way.fabric in plans
                 and {way.source, way.destination} <= {*numbers}]  # fmt: skip
        for name in dict.fromkeys(way.fabric for way in wrong):
            own = sorted((way for way in wrong if way.fabric == name), key=lambda way: -abs(way.error))
            units = [Unit(
                partial(self._test, (numbers[way.source], numbers[way.destination]),
                        way.streams or plans[name]["streams"][0], AGAIN_TIMES * plans[name]["seconds"], 0, 2),
                self.folder / "again" / f"{name}-{way.source}-{way.destination}.json",
            ) for way in own]  # fmt: skip
            self.work.progress.say(f"{name}: {len(own)} directions beyond the bound, again one by one")
            with self.work.leaving_out(name), cannot_make(self.folder), self._ready(name):
                if late := make_units(units, self.work.deadline):
                    self.work.leave_out(name, TIME_UP, f"{len(late)} directions beyond the bound were not measured "
                                        "again by themselves")  # fmt: skip


def planned(of: FabricPlan) -> Planned:
    """The schedule of a fabric by its plan."""
    return Planned(of["name"], of["depth"], of["at_once"], of["seconds"], tuple(of["streams"]))
