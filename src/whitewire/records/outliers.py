"""Finds links, hosts and drives of a testbed that are beyond their bounds, with likely causes. Pure except for
outliers_of_folder(), which reads files.

A pair is judged in each direction by its last attempt, with its best number of streams. A fault of a host or of most of
a fabric is reported once, and the pairs that it explains refer to it (`part_of`).
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from whitewire.records import links
from whitewire.records.links import PairRow, SurveyPlan, read_hosts
from whitewire.records.schema import load_json

BUSY = 0.9
"""Share of one processor above which iperf3 may be limited by the processor instead of the link."""
QUEUED = 5.0
"""Ratio of a round-trip time under load to the fabric's median above which the pair has a queue of its own."""
MOST_OF = 2 / 3
"""Share of pairs beyond the bound, among those of a host in one direction or of a fabric, from which the host or the
fabric itself is at fault."""
LEAST_PEERS = 3
"""Least number of things of a kind among which one can be found to differ; with two it is unknown which one does."""
SEQUENTIAL = ("write", "read")


@dataclass(frozen=True)
class Way:
    """The best test of a pair in one direction; rates in Mbit/s, `rtt`: round-trip time under load in microseconds.

    `alone`: it was measured again, without others; `beside_error`: its error before, with others. `why`: reason why it
    has no result.
    """

    fabric: str
    source: str
    destination: str
    streams: int = 0
    goodput: float = 0.0
    expected: float = 0.0
    error: float = 0.0
    retransmit_share: float = 0.0
    rtt: float | None = None
    cpu: tuple[float, ...] = ()
    alone: bool = False
    beside_error: float = 0.0
    why: str = ""

    @property
    def name(self) -> str:
        return f"{self.source} to {self.destination}"


@dataclass(frozen=True)
class Outlier:
    """Something beyond its bound: `kind` is pair, host, fabric, switch, drive, unlike or rdma; `subject` is its name.

    `value` and `expected` are in `unit`. `stops`: papers that use it are measured only if the user accepts it. `hosts`:
    the hosts concerned, empty for a fabric.
    """

    kind: str
    subject: str
    fabric: str
    hosts: tuple[str, ...]
    value: float | None
    expected: float | None
    unit: str
    cause: str
    stops: bool
    part_of: str = ""

    @property
    def said(self) -> str:
        """One line for messages: subject, value relative to the expected one, likely cause."""
        share = ""
        if self.value is not None and self.expected:
            share = f": {self.value / self.expected:.0%} of what is expected"
        place = f" on {self.fabric}" if self.fabric else ""
        return f"{self.subject}{place}{share}; likely cause: {self.cause}"


# --- pairs -------------------------------------------------------------------------------------------


def ways(rows: Iterable[PairRow]) -> list[Way]:
    """Every pair in each measured direction, in the order of the rows."""
    found: dict[tuple[str, str, str], dict[tuple[int, int], dict[str, Any]]] = {}
    for row in rows:
        if row["streams"] == 0:
            continue
        key = (row["fabric"], row["source"], row["destination"])
        test = found.setdefault(key, {}).setdefault((row["attempt"], row["streams"]), {"beside": row["beside"]})
        if row["why"]:
            test["why"] = row["why"]
        else:
            test[row["metric"]] = row["value"]
            if row["metric"] == "goodput":
                test |= {"expected": row.get("expected"), "error": row.get("error")}
    return [_way(key, tests) for key, tests in found.items()]


def _way(key: tuple[str, str, str], tests: Mapping[tuple[int, int], Mapping[str, Any]]) -> Way:
    good = {at: test for at, test in tests.items() if "goodput" in test}
    if not good:
        return Way(*key, why=next(iter(tests.values())).get("why", "no result"))
    attempt = max(at[0] for at in good)
    best = max((at for at in good if at[0] == attempt), key=lambda at: good[at]["goodput"])
    first = [test["error"] for at, test in good.items() if at[0] == 1]
    test = good[best]
    cpu = tuple(test[name] for name in ("cpu_source", "cpu_destination") if test.get(name) is not None)
    return Way(*key, streams=best[1], goodput=test["goodput"], expected=test["expected"], error=test["error"],
               retransmit_share=test.get("retransmit_share") or 0.0, rtt=test.get("rtt"), cpu=cpu,
               alone=attempt > 1 and test["beside"] == 0,
               beside_error=max(first) if first else test["error"])  # fmt: skip


def beyond(way: Way, bound: float) -> bool:
    """Whether a way has no result, or its relative error exceeds the bound."""
    return bool(way.why) or abs(way.error) > bound


def of_pairs(found: Sequence[Way], limits: Mapping[str, float], unlike: Mapping[tuple[str, str], str] | None = None
             ) -> list[Outlier]:  # fmt: skip
    """Pairs, hosts and fabrics beyond `limits` (link_error, retransmit_share, as in a testbed's file).

    `unlike`: (fabric, host) → a description of how the host differs from others; see slows().
    """
    outliers: list[Outlier] = []
    for fabric in dict.fromkeys(way.fabric for way in found):
        on_it = [way for way in found if way.fabric == fabric]
        outliers += _of_fabric(fabric, on_it, limits, unlike or {})
    return outliers


def _of_fabric(fabric: str, found: Sequence[Way], limits: Mapping[str, float], unlike: Mapping[tuple[str, str], str]
               ) -> Iterator[Outlier]:  # fmt: skip
    bound = limits["link_error"]
    wrong = [way for way in found if beyond(way, bound)]
    crowd = [way for way in found if way.alone and not beyond(way, bound) and abs(way.beside_error) > bound]
    if crowd:
        worst = min(crowd, key=lambda way: way.beside_error)
        yield Outlier("switch", f"{len(crowd)} of {len(found)} directions", fabric, (),
                      worst.expected * (1 + worst.beside_error), worst.expected, "Mbit/s",
                      "each carries its rate alone, but not while other pairs are busy: a switch, an uplink or "
                      "processors that they share", stops=False)  # fmt: skip
    if not wrong:
        return
    results = [way for way in found if not way.why]
    if len(found) > LEAST_PEERS and len(wrong) > MOST_OF * len(found) and results:
        usual = statistics.median(way.goodput for way in results)
        expected = statistics.median(way.expected for way in results)
        cause = _shared_cause(results) or "rate_mbit_per_s is not the fabric's rate, or all hosts lack something"
        whole = Outlier("fabric", f"{len(wrong)} of {len(found)} directions", fabric, (), usual, expected, "Mbit/s",
                        cause, stops=True)  # fmt: skip
        yield whole
        # Pairs that also differ from the others are reported separately.
        peers = [replace(way, error=way.goodput / usual - 1) if not way.why else way for way in found]
        yield from _apart(fabric, peers, bound, limits, unlike)
        return
    yield from _apart(fabric, found, bound, limits, unlike)


def _apart(fabric: str, found: Sequence[Way], bound: float, limits: Mapping[str, float],
           unlike: Mapping[tuple[str, str], str]) -> Iterator[Outlier]:  # fmt: skip
    """Hosts with most of their pairs beyond the bound, and single pairs."""
    by_pair = {(way.source, way.destination): way for way in found}
    usual_rtt = statistics.median([way.rtt for way in found if way.rtt is not None] or [0.0])
    hosts = _hosts(found, bound)
    for name, (sends, receives) in hosts.items():
        own = [way for way in found if (sends and way.source == name) or (receives and way.destination == name)]
        wrong = [way for way in own if beyond(way, bound)]
        results = [way for way in wrong if not way.why]
        which = "both ways" if sends and receives else "what it sends" if sends else "what it receives"
        reasons = [f"its link, cable or port: {len(wrong)} of its {len(own)} directions are beyond, {which}"]
        if (fabric, name) in unlike:
            reasons.insert(0, unlike[fabric, name])
        if not results:
            reasons = [f"no test of it has a result: {wrong[0].why}"]
        else:
            share = max(way.retransmit_share for way in results)
            reasons += [_retransmits(share)] if share > limits.get("retransmit_share", 1.0) else []
            reasons += list(_processor(max(results, key=lambda way: max(way.cpu, default=0.0))))
        yield Outlier("host", name, fabric, (name,), statistics.median([w.goodput for w in results] or [0.0]),
                      statistics.median([w.expected for w in results] or [0.0]) or None, "Mbit/s",
                      "; ".join(reasons), stops=True)  # fmt: skip
    for way in found:
        if not beyond(way, bound):
            continue
        explains = [name for name, (sends, receives) in hosts.items()
                    if (sends and way.source == name) or (receives and way.destination == name)]  # fmt: skip
        back = by_pair.get((way.destination, way.source))
        cause = way.why or "; ".join(_causes(way, back, bound, limits, unlike, usual_rtt))
        yield Outlier("pair", way.name, fabric, (way.source, way.destination), None if way.why else way.goodput,
                      None if way.why else way.expected, "Mbit/s", cause, stops=True,
                      part_of=explains[0] if explains else "")  # fmt: skip


def _hosts(found: Sequence[Way], bound: float) -> dict[str, tuple[bool, bool]]:
    """Hosts with most of their ways beyond the bound → (whether when sending, whether when receiving).

    A slow host gives every other host a slow way too. Therefore hosts that explain most ways come first, and the ways
    that they explain do not count for others.
    """
    left = list(found)
    explained: dict[str, tuple[bool, bool]] = {}
    while True:
        best: tuple[float, str, bool, bool] | None = None
        for name in dict.fromkeys(host for way in left for host in (way.source, way.destination)):
            sends = _most([way for way in left if way.source == name], bound)
            receives = _most([way for way in left if way.destination == name], bound)
            wrong = sum(beyond(way, bound) for way in left
                        if (sends and way.source == name) or (receives and way.destination == name))  # fmt: skip
            if wrong > 1 and (best is None or wrong > best[0]):
                best = (wrong, name, sends, receives)
        if best is None:
            return explained
        _, name, sends, receives = best
        before = explained.get(name, (False, False))  # an earlier round may have found the host's other direction
        explained[name] = (sends or before[0], receives or before[1])
        left = [way for way in left
                if not ((sends and way.source == name) or (receives and way.destination == name))]  # fmt: skip


def _most(of: Sequence[Way], bound: float) -> bool:
    wrong = sum(beyond(way, bound) for way in of)
    return len(of) > 1 and wrong >= MOST_OF * len(of)


def _causes(way: Way, back: Way | None, bound: float, limits: Mapping[str, float],
            unlike: Mapping[tuple[str, str], str], usual_rtt: float) -> Iterator[str]:  # fmt: skip
    """Likely causes of one way's error, the likeliest first; at least one."""
    before = [unlike[way.fabric, host] for host in (way.source, way.destination) if (way.fabric, host) in unlike]
    yield from before
    found = bool(before)
    if way.error > 0:
        yield "faster than its rate: the rate is not what the testbed's file says, or a shaper lets more pass"
        return
    if back is not None and not beyond(back, bound):
        yield f"slower in one direction: {back.name} carries {back.goodput / back.expected:.0%}"
        found = True
    if way.retransmit_share > limits.get("retransmit_share", 1.0):
        yield _retransmits(way.retransmit_share)
        found = True
    for reason in _processor(way):
        yield reason
        found = True
    if way.rtt and usual_rtt and way.rtt > QUEUED * usual_rtt:
        yield f"a queue: {way.rtt / 1e3:.3g} ms there and back under load, usual are {usual_rtt / 1e3:.3g} ms"
        found = True
    if not found:
        yield "none of direction, retransmits, MTU, queue and processor shows: look at cable, port and other traffic"


def _retransmits(share: float) -> str:
    return f"retransmits: {share:.2%} of the segments were sent again"


def _processor(way: Way) -> Iterator[str]:
    ends = zip((way.source, way.destination), way.cpu, strict=False)
    yield from (f"a processor: iperf3 used {used:.0%} of one on {host}" for host, used in ends if used > BUSY)


def _shared_cause(found: Sequence[Way]) -> str:
    """A cause that most ways share and that may limit them all; empty without one."""
    busy = [way for way in found if any(_processor(way))]
    if len(busy) > MOST_OF * len(found):
        return f"processors: in {len(busy)} of {len(found)} tests iperf3 used up one"
    return ""


# --- hosts and drives ----------------------------------------------------------------------------------


def _differences(seen: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[tuple[str, str, str, str]]:
    """(fabric, host, key, sentence) of links that differ from most others in one of _NAMES.

    `seen`: recorded links by fabric and host.
    """
    for fabric, hosts in seen.items():
        for what, name in _NAMES.items():
            values = {host: link[what] for host, link in hosts.items() if link.get(what) is not None}
            for host, mine, usual in _odd(values):
                yield fabric, host, what, f"{name} {mine}, on most hosts {usual}"


def outliers_of_links(seen: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[Outlier]:
    """Hosts whose link differs from most others' in MTU, offloads, driver or firmware; this alone stops no paper."""
    return [Outlier("unlike", host, fabric, (host,), None, None, "", cause, stops=False)
            for fabric, host, _, cause in _differences(seen)]  # fmt: skip


_NAMES = {"mtu": "MTU", "offloads": "offloads", "driver": "driver", "version": "driver", "firmware": "firmware"}
"""Properties of links that are compared, with their names in sentences."""
SLOWS = ("mtu", "offloads")
"""Those properties that may make a pair slow, the likelier first."""


def slows(seen: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[tuple[str, str], str]:
    """(fabric, host) → sentence about a difference of its link that may make pairs slow, for of_pairs()."""
    found = reversed([*_differences(seen)])
    return {(fabric, host): cause for fabric, host, what, cause in found if what in SLOWS}


def _odd(values: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """(host, its value, the usual value) for hosts that differ from the value of more than half."""
    if len(values) < LEAST_PEERS:
        return
    usual, count = Counter(values.values()).most_common(1)[0]
    if count * 2 > len(values):
        yield from ((host, mine, usual) for host, mine in values.items() if mine != usual)


@dataclass
class _Curve:
    """Best results of a place: bandwidth per sequential operation, calls per second per random operation."""

    best: dict[str, float] = field(default_factory=dict)
    problem: str = ""


def of_drives(rows: Iterable[Mapping[str, Any]], bound: float) -> list[Outlier]:
    """Drives and mounts that differ from the median of their kind by more than the relative bound, and those without a
    result.

    `rows`: fio's curves. A place is judged at its best queue depth, with the largest blocks (sequential) or the
    smallest (random). A slower sequential result, or none at all, stops a paper.
    """
    curves = _curves(rows)
    outliers = []
    for (kind, host, folder), curve in curves.items():
        name = f"{host} {folder}"
        if curve.problem:
            outliers.append(Outlier("drive", name, "", (host,), None, None, "", f"not measured: {curve.problem}", True))
            continue
        for operation, value in curve.best.items():
            alike = [each.best[operation] for (other, *_), each in curves.items()
                     if other == kind and operation in each.best]  # fmt: skip
            if len(alike) < LEAST_PEERS:
                continue
            usual = statistics.median(alike)
            if abs(value / usual - 1) > bound:
                how, unit = ("MB/s", "MB/s") if operation in SEQUENTIAL else ("calls a second", "1/s")
                cause = (
                    f"{_OPERATIONS[operation]} of {value:.4g} {how}, the {len(alike)} of its kind {usual:.4g}, median"
                )
                slower = value < usual and operation in SEQUENTIAL
                outliers.append(Outlier("drive", name, "", (host,), value, usual, unit, cause, stops=slower))
    return outliers


_OPERATIONS = {
    "write": "sequential writes", "read": "sequential reads", "randwrite": "random writes", "randread": "random reads",
}  # fmt: skip


def _curves(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, str], _Curve]:
    curves: dict[tuple[str, str, str], _Curve] = {}
    points: defaultdict[tuple[str, str, str], list[tuple[str, int, float]]] = defaultdict(list)
    for row in rows:
        place = (row["kind"], row["host"], row["folder"])
        curve = curves.setdefault(place, _Curve())
        if row["metric"] == "failed":
            curve.problem = row["problem"] or "fio gave no result"
        elif row["metric"] == ("bandwidth" if row["operation"] in SEQUENTIAL else "iops"):
            points[place].append((row["operation"], int(row["block_bytes"]), float(row["value"])))
    sizes: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for (kind, *_), found in points.items():
        for operation, block, _ in found:
            sizes[kind, operation].add(block)
    for place, found in points.items():
        for operation in dict.fromkeys(each[0] for each in found):
            pick = max if operation in SEQUENTIAL else min
            block = pick(sizes[place[0], operation])
            at = [value for name, size, value in found if name == operation and size == block]
            if at:
                curves[place].best[operation] = max(at)
    return curves


def of_models(rows: Iterable[Mapping[str, Any]]) -> list[Outlier]:
    """Modelled drives whose last attempt is beyond its bound, from rows of links.probe_drives()."""
    last: dict[tuple[str, str, str, str], Mapping[str, Any]] = {}
    for row in rows:
        last[row["source"], row["destination"], row["operation"], row["mode"]] = row
    return [
        Outlier("drive", f"{source} {drive}", "", (source,), row["value"], row["expected"], "MB/s",
                f"{mode} {_OPERATIONS[operation]} are not what the model says: is the machine busy?", stops=True)
        for (source, drive, operation, mode), row in last.items() if not row["ok"]
    ]  # fmt: skip


def of_rdma(rows: Iterable[Mapping[str, Any]], bound: float) -> list[Outlier]:
    """Pairs of RDMA ports whose bandwidth is below the others' median by more than the bound, for the same test and
    message size; this stops no paper."""
    found: defaultdict[tuple[str, str, str], dict[tuple[str, str], float]] = defaultdict(dict)
    for row in rows:
        if row["metric"] == "bandwidth_average":
            at = (row["fabric"], row["test"], str(row["message_bytes"]))
            found[at][row["source"], row["destination"]] = float(row["value"])
    slow = []
    for (fabric, test, size), values in found.items():
        for (source, destination), value in values.items():
            others = [each for pair, each in values.items() if pair != (source, destination)]
            if len(others) + 1 >= LEAST_PEERS and value < (1 - bound) * (usual := statistics.median(others)):
                slow.append(Outlier("rdma", f"{source} to {destination}", fabric, (source, destination), value, usual,
                                    "MB/s", f"{test} of {size} B: {value:.4g} MB/s, the other pairs have {usual:.4g} "
                                    "(median)", stops=False))  # fmt: skip
    return slow


# --- together ------------------------------------------------------------------------------------------


def outliers_of_folder(folder: Path) -> list[Outlier]:
    """All outliers of a testbed with measured links; `folder`: results/<testbed>/links. Raises Broken."""
    limits = cast("Mapping[str, float]", load_json(folder / links.PLAN, SurveyPlan)["limits"])
    seen = read_hosts(folder)["links"]
    found = of_pairs(ways(links.pair_rows(folder)), limits, slows(seen))
    found += of_drives(links.drive_rows(folder), limits["drive_error"])
    found += of_models(links.model_rows(folder))
    return [*found, *outliers_of_links(seen), *of_rdma(links.rdma_rows(folder), limits["link_error"])]
