"""Which pairs of hosts are measured when, for how long, and what is left out: the schedule of the stage `links`. Pure.

Hosts are numbers from 0. A pair is measured in both directions, one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from whitewire.records.links import Depth

Pair = tuple[int, int]
DEPTHS: tuple[Depth, ...] = get_args(Depth)
RINGS = 0.5
"""Share of the time that the rings of all fabrics may take."""
_LEAST_S = 0.25
"""Least seconds of a test: in a shorter one slow start would be a large part."""


def rounds(count: int) -> list[list[Pair]]:
    """Every pair of `count` hosts once, in as few rounds as possible; no host is twice in a round (circle method)."""
    places = list(range(count + count % 2))
    half, found = len(places) // 2, []
    for _ in range(len(places) - 1):
        pairs = zip(places[:half], reversed(places[half:]), strict=True)
        found.append([(min(pair), max(pair)) for pair in pairs if max(pair) < count])
        places = [places[0], places[-1], *places[1:-1]]
    return [pairs for pairs in found if pairs]


def ring(count: int) -> list[list[Pair]]:
    """Rounds of each host with the next one and the last with the first; no host is twice in a round."""
    if count < 3:
        return rounds(count)
    pairs = [(number, number + 1) for number in range(count - 1)] + [(0, count - 1)]
    even = count // 2 * 2
    return [pairs[0:even:2], pairs[1:even:2], *([pairs[even:]] if count % 2 else [])]


def turns(of: Sequence[Sequence[Pair]], at_once: int) -> list[list[Pair]]:
    """Rounds cut into turns of at most `at_once` pairs, which are measured at the same time."""
    return [list(pairs[first : first + at_once]) for pairs in of for first in range(0, len(pairs), at_once)]


@dataclass(frozen=True)
class Wanted:
    """A fabric to measure. `floor`: least seconds of a test of it; `at_once`: pairs that are measured at the same time;
    `deepest`: the largest `depth` of its plan."""

    name: str
    at_once: int
    floor: float = 0.0
    deepest: Depth = "all"


@dataclass(frozen=True)
class Planned:
    """The plan of a fabric: the pairs that are measured (`depth`), pairs at the same time, seconds of a test."""

    name: str
    depth: Depth
    at_once: int
    seconds: float
    streams: tuple[int, ...]

    def passes(self, hosts: int) -> Iterator[tuple[int, list[list[Pair]]]]:
        """Numbers of streams, each with its turns. 0 streams: the round trip at rest."""
        near = turns(ring(hosts), self.at_once)
        far = near if self.depth == "ring" else turns(rounds(hosts), self.at_once)
        first, *others = self.streams
        yield 0, far
        yield first, far
        for count in others:
            if self.depth != "ring":
                yield count, far if self.depth == "all" else near

    def takes(self, streams: int, turns: int, overhead: float) -> float:
        """Seconds of some turns of a pass, with `overhead` seconds per test besides the test itself."""
        return turns * (overhead if streams == 0 else 2 * (self.seconds + overhead))

    def cost(self, hosts: int, overhead: float) -> float:
        """Seconds of all passes."""
        return sum(self.takes(count, len(pieces), overhead) for count, pieces in self.passes(hosts))


def plan_fabrics(wanted: Sequence[Wanted], hosts: int, streams: Sequence[int], budget: float, overhead: float,
                 longest: float) -> tuple[list[Planned], list[str]]:  # fmt: skip
    """The plans of fabrics that together take `budget` seconds, and what is left out, with the reason.

    The first fabrics get the most: every pair with one stream, then with all numbers of streams. Tests are as long as
    time allows, from _LEAST_S to `longest` seconds. The last fabrics are left out while rings alone take more than half
    of the time; the first fabric's ring is measured even if it does not fit.
    """
    fabrics = list(wanted)
    dropped: list[str] = []

    def made(depths: Sequence[Depth], seconds: float) -> list[Planned]:
        pairs = zip(fabrics, depths, strict=True)
        return [Planned(each.name, depth, each.at_once, max(seconds, each.floor), tuple(streams))
                for each, depth in pairs]  # fmt: skip

    def cost(plans: Sequence[Planned]) -> float:
        return sum(each.cost(hosts, overhead) for each in plans)

    while len(fabrics) > 1 and (takes := cost(made(["ring"] * len(fabrics), _LEAST_S))) > RINGS * budget:
        dropped.insert(0, f"{fabrics.pop().name}: with it each host and its neighbours alone would take {takes:.0f} s")
    depths: list[Depth] = ["ring"] * len(fabrics)
    for deeper in DEPTHS[1:]:
        for place, each in enumerate(fabrics):
            tried = [*depths[:place], deeper, *depths[place + 1 :]]
            if DEPTHS.index(deeper) <= DEPTHS.index(each.deepest) and cost(made(tried, _LEAST_S)) <= budget:
                depths = tried
    seconds = _longest(lambda each: cost(made(depths, each)) <= budget, min(_LEAST_S, longest), longest)
    plans = made(depths, seconds)
    left = [why for each, of in zip(plans, fabrics, strict=True) for why in _left(each, of, hosts, overhead)]
    return plans, [*left, *dropped]


def _longest(fits: Callable[[float], bool], low: float, high: float) -> float:
    """The longest time that fits, to a hundredth of a second; about `low` if none does."""
    if fits(high):
        return high
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return math.floor(low * 100) / 100 if low * 100 >= 1 else low


def _left(planned: Planned, of: Wanted, hosts: int, overhead: float) -> Iterator[str]:
    """The parts of a fabric's measurement that are left out, in words."""
    if planned.depth == DEPTHS[-1] or (planned.depth != "ring" and hosts < 4):
        return  # each of three hosts is next to both others
    pairs = hosts * (hosts - 1) // 2
    if planned.depth != of.deepest:
        more = (replace(planned, depth=of.deepest).cost(hosts, overhead) - planned.cost(hosts, overhead)) / 60
        why = f"the others would take {more:.1f} min more"
    else:
        why = "all hosts share one segment, where pairs cannot be at once"
    others = ", ".join(map(str, planned.streams[1:]))
    if planned.depth == "ring":
        if hosts > 3:
            yield f"{planned.name}: each host with the next one only, not all {pairs} pairs: {why}"
        if others:
            yield f"{planned.name}: {planned.streams[0]} stream only, not {others}: {why}"
    elif others:
        yield f"{planned.name}: {others} streams between each host and the next one only: {why}"
