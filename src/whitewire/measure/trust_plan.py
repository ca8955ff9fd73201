"""The plan of the stage `trust`: which parts are measured in the time there is, and how much of each."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from whitewire import atomic, lanes
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper
from whitewire.description.testbed import fabric_names
from whitewire.design import durations, synthetic
from whitewire.design.rows import make_design
from whitewire.errors import UserError
from whitewire.measure.overheads import OVERHEAD_RUNS
from whitewire.records import trust as records
from whitewire.records.parts import PARTS
from whitewire.records.run import DesignRow
from whitewire.records.trust import KNOWN_PAPER
from whitewire.text import suggestion

RATES = (25.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 2000.0)
"""Rates of the links, Mbit/s."""
AT_ONCE = (1, 3, 7)
"""Pairs of hosts that send at one time; the last is all of them."""
TEST_S, BESIDE_S, CHANGE_S = 1.0, 0.45, 0.4
"""Seconds of a test of a link, of the work around it, and of a change of all links' rate."""
LOADS = (0.0, 0.5, 1.0, 2.0)
"""Loads from outside, in processors that other programs use."""
BARE_S, SMALL_S, LARGE_S = 6.0, 45.0, 70.0
"""Seconds to start, probe, warm up and end: hosts alone, a small cluster, a paper's cluster."""
IDLE_WAIT_S = 0.4
"""Seconds of the check for idle processors before a run."""
LANE_TURNS = 4
"""Most turns of each number of lanes."""
READING_S = 10.0
"""Seconds of a part that measures nothing."""


@dataclass(frozen=True)
class Offer:
    """The units that a part can make: from `least` to `most`, of `each` seconds, after `opening` seconds.

    Spare time is shared among the parts in proportion to their `weight`.
    """

    part: str
    unit: str
    opening: float
    each: float
    least: int
    most: int
    weight: float = 1.0
    papers: tuple[str, ...] = ()
    lanes: tuple[int, ...] = ()
    """Numbers of lanes that one lane is compared with."""

    def seconds(self, units: int) -> float:
        """Seconds that `units` units take."""
        return self.opening + units * self.each


def plan_trust(offers: Sequence[Offer], seconds: float) -> tuple[dict[str, int], list[str]]:
    """Units of each part that together take no more than `seconds`, and the parts for which no time is left.

    Each part gets its least number of units, in the order of the offers; the time left goes, unit by unit, to the part
    that has had the least time for its weight.
    """
    units: dict[str, int] = {}
    left, out = seconds, []
    for offer in offers:
        if (needs := offer.seconds(offer.least)) <= left:
            units[offer.part], left = offer.least, left - needs
        else:
            out.append(offer.part)
    while True:
        open_ = [o for o in offers if o.part in units and units[o.part] < o.most and o.each <= left]
        if not open_:
            return units, out
        offer = min(open_, key=lambda o: o.each * units[o.part] / o.weight)
        units[offer.part], left = units[offer.part] + 1, left - offer.each


def offers(parts: Sequence[str], testbed: Mapping[str, Any], papers: Sequence[Paper]) -> list[Offer]:
    """Offers of the parts; `papers` are those of config.yaml. A part that none of them can serve is absent."""
    one = ratio_paper(1, testbed)
    group = _seconds(one, make_design(one, testbed, synthetic.EFFORT, synthetic.SEED), testbed)
    repetition = len(LOADS) * _seconds(one, synthetic.of_fastest(one, testbed, 1), testbed)
    found = {
        "links": Offer("links", "round", BARE_S, _round_seconds(), 6, 8),
        "ratio": Offer("ratio", "group", SMALL_S, group, 1, 20, weight=4, papers=(one.id,)),
        "load": Offer("load", "repetition", SMALL_S, repetition, 3, 8, papers=(one.id,)),
        "order": Offer("order", "pass", 0, READING_S, 1, 1),
    }  # fmt: skip
    compared = [(paper, made) for paper in papers if (made := synthetic.same(paper, 1)).controls]
    if compared:
        paper, made = min(compared, key=lambda each: _group_seconds(each[1], testbed) / len(each[1].controls))
        found["same"] = Offer("same", "group", LARGE_S, _group_seconds(made, testbed), 1, 6, papers=(paper.id,))
    several = [paper for paper in papers if paper.candidate_count > 1]
    if several:
        paper = min(several, key=lambda paper: _turn_seconds(paper, testbed))
        found["scales"] = Offer("scales", "turn", 0, _turn_seconds(paper, testbed), 1, 4, papers=(paper.id,))
    if (numbers := lane_numbers()) and (of_kinds := _papers_of_kinds(papers, testbed)):
        turn = sum(_lanes_seconds(paper, testbed, max(numbers)) for paper in of_kinds)
        found["lanes"] = Offer("lanes", "turn", 0, turn, 1, LANE_TURNS * len(numbers),
                               papers=tuple(paper.id for paper in of_kinds), lanes=numbers)  # fmt: skip
    return [found[part] for part in parts if part in found]


def why_absent(part: str) -> str:
    """Why there is no offer of a part."""
    if part == records.LANES and not lane_numbers():
        return f"a second lane needs {2 * lanes.LANE_GIB + lanes.SPARE_GIB:g} GiB of memory"
    return "no paper of config.yaml has what it compares"


def lane_numbers() -> tuple[int, ...]:
    """Numbers of lanes that one lane is compared with: 2, and more up to the number of this machine's processors,
    within its memory."""
    return tuple(range(2, min(lanes.held_by_memory(), synthetic.MOST_LANES, max(2, len(os.sched_getaffinity(0)))) + 1))


def of_turn(numbers: Sequence[int], turn: int) -> Sequence[int]:
    """Numbers of lanes of a turn's two blocks, in the order of measuring: 1 and another.

    Each of `numbers` gets LANE_TURNS turns before the next one gets any, so that each one measured has an interval;
    then they start over. Of each two turns, one begins with one lane and one with the other number, in random order.
    """
    place, own = divmod(turn, LANE_TURNS)
    order = random.Random(turn // 2).sample([1, numbers[place % len(numbers)]], 2)
    return order if own % 2 else order[::-1]


def _papers_of_kinds(papers: Sequence[Paper], testbed: Mapping[str, Any]) -> list[Paper]:
    """A small set of papers that has all workloads of the papers; among equally useful papers the cheapest."""
    kinds = {paper.id: {row["workload"] for row in synthetic.of_kinds(paper, testbed, 1)} for paper in papers}
    found, lacking = list[Paper](), set[str]().union(*kinds.values())
    while lacking:
        best = max(papers, key=lambda paper: (len(kinds[paper.id] & lacking), -_lanes_seconds(paper, testbed, 2)))
        found.append(best)
        lacking -= kinds[best.id]
    return found


def _lanes_seconds(paper: Paper, testbed: Mapping[str, Any], number: int) -> float:
    """Seconds of one block alone and one in `number` lanes; clusters start one after the other."""
    rows = synthetic.of_kinds(paper, testbed, synthetic.RUNS)
    made = _seconds(paper, rows, testbed) + durations.all_overheads_seconds(paper, rows, testbed, OVERHEAD_RUNS)
    return (1 + number) * LARGE_S + 2 * made


def _round_seconds() -> float:
    return len(RATES) * (CHANGE_S + len(AT_ONCE) * (TEST_S + BESIDE_S))


def _seconds(paper: Paper, rows: Sequence[DesignRow], testbed: Mapping[str, Any]) -> float:
    return sum(durations.expected_seconds(paper, row, testbed) + IDLE_WAIT_S for row in rows)


def _group_seconds(paper: Paper, testbed: Mapping[str, Any]) -> float:
    return _seconds(paper, synthetic.of_controls(paper, testbed), testbed)


def _turn_seconds(paper: Paper, testbed: Mapping[str, Any]) -> float:
    found = 0.0
    for own in (at_candidate(paper, candidate) for candidate in range(paper.candidate_count)):
        rows = synthetic.of_smoke(own, testbed, synthetic.RUNS)
        found += LARGE_S + _seconds(own, rows, testbed)
        found += durations.all_overheads_seconds(own, rows, testbed, OVERHEAD_RUNS)
    return found


def parts_of_trust(text: str) -> tuple[str, ...]:
    """Parts from comma-separated names, all if there are none, in the order of measuring. Raises UserError."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in PARTS:
            raise UserError(f'--parts: found "{name}", expected some of {", ".join(PARTS)}{suggestion(name, PARTS)}')
    return tuple(part for part in PARTS if part in names) if names else PARTS


def ratio_paper(groups: int, testbed: Mapping[str, Any], folder: Path | None = None) -> Paper:
    """The paper of known ratios with `groups` groups; with `folder`, its YAML is kept there and checked like any."""
    raw = synthetic.paper_of_ratios(groups)
    if folder is None:
        return Paper(raw, Path(f"{raw['id']}.yaml"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / KNOWN_PAPER
    atomic.write(path, yaml.safe_dump(raw, sort_keys=False))
    return load_paper(path, fabric_names(testbed))


def at_candidate(paper: Paper, candidate: int) -> Paper:
    """A paper at the k of one scale candidate, without the others."""
    return Paper(paper.on(candidate).raw, paper.path)
