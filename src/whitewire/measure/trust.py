"""The stage `trust`: how far the emulated testbed can be trusted, by runs whose right answer is known.

Each part is a plan of whole units that fit into its time, and a folder: what is finished stays, and an interrupted
start goes on. Its records: records/trust.py; its tables: analysis/trust.py.
"""

from __future__ import annotations

import json
import math
import random
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any, cast

import numpy as np
import yaml

from whitewire import budget, paths, whole
from whitewire.budget import Allowance
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper
from whitewire.description.testbed import digest, fabric_names, load_testbed
from whitewire.design import durations, known
from whitewire.design.rows import make_design
from whitewire.errors import Faults, UserError
from whitewire.install.doctor import preflight
from whitewire.measure import environment, links
from whitewire.measure.alone import alone
from whitewire.measure.block import Block
from whitewire.measure.block_plan import CLOSING_S, START_S
from whitewire.measure.floors import FLOOR_RUNS
from whitewire.measure.load import under
from whitewire.progress import Pulse
from whitewire.records import checked, manifest
from whitewire.records import trust as records
from whitewire.records.run import DesignRow
from whitewire.records.samples import ETHERNET, HEADERS
from whitewire.records.schema import Broken
from whitewire.records.trust import COUNTERS, IPERF3, PARTS, LinkRow, Part, PartRecord
from whitewire.testbed.base import FRAME_SHARE, CommandFailed, Fabric, Host, ProcessDied
from whitewire.testbed.emulated import software
from whitewire.testbed.emulated.sandbox import EmulatedTestbed
from whitewire.testbed.samples import Repeated
from whitewire.text import suggestion
from whitewire.tools import Unreadable

WITHIN = "40m"
"""How long it may take unless told otherwise."""
RATES = (25.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 2000.0)
"""Mbit/s of links."""
AT_ONCE = (1, 3, 7)
"""Pairs of hosts that send at one time; the last is all of them."""
TEST_S, BESIDE_S, CHANGE_S = 1.0, 0.45, 0.4
"""Seconds of a test of a link, beside it, and until all links have another rate."""
GLANCE_S, STEADY = 0.02, (0.2, 0.8)
"""Between looks at counters; of a test's bytes, those between which its rate is taken: not its start or end."""
LOADS = (0.0, 0.5, 1.0, 2.0)
"""Processors that other programs use."""
BARE_S, SMALL_S, LARGE_S = 6.0, 45.0, 70.0
"""Seconds until hosts alone, a small cluster and a paper's are up, probed and warm, and for their end."""
CALM_S = 0.4
"""Seconds for which it is looked, before a run, whether others leave the processors to it."""
READING_S = 10.0
"""Seconds for what measures nothing."""
OVERRUN = 1.5
"""How much of what it should take a part may take at most, beside what a block keeps for its start and end."""
FAILURES = (CommandFailed, ProcessDied, Unreadable, OSError, TimeoutExpired)


# --- the plan ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Offer:
    """What a part can make: whole units of `each` seconds after `opening` seconds, from `least` to `most` of them.

    Of time that is over it gets as much as its `weight` says beside the others'.
    """

    part: str
    unit: str
    opening: float
    each: float
    least: int
    most: int
    weight: float = 1.0
    papers: tuple[str, ...] = ()

    def seconds(self, units: int) -> float:
        """What so many units take."""
        return self.opening + units * self.each


def planned(offers: Sequence[Offer], seconds: float) -> tuple[dict[str, int], list[str]]:
    """Units of each part that together take no more than `seconds`, and the parts for whose least no time is left.

    In the order of the offers each gets its least; what is left then goes, unit by unit, to the part that has had the
    least for its weight.
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
    """What the parts can make; `papers` are those of config.yaml. A part for which none of them fits is absent."""
    one = ratio_paper(1, testbed)
    group = _seconds(one, make_design(one, testbed, known.EFFORT, known.SEED), testbed)
    repetition = len(LOADS) * _seconds(one, known.of_fastest(one, testbed, 1), testbed)
    found = {
        "links": Offer("links", "round", BARE_S, _round_seconds(), 6, 8),
        "ratio": Offer("ratio", "group", SMALL_S, group, 1, 20, weight=4, papers=(one.id,)),
        "load": Offer("load", "repetition", SMALL_S, repetition, 3, 8, papers=(one.id,)),
        "order": Offer("order", "pass", 0, READING_S, 1, 1),
    }  # fmt: skip
    compared = [(paper, made) for paper in papers if (made := known.same(paper, 1)).controls]
    if compared:
        paper, made = min(compared, key=lambda each: _group_seconds(each[1], testbed) / len(each[1].controls))
        found["same"] = Offer("same", "group", LARGE_S, _group_seconds(made, testbed), 1, 6, papers=(paper.id,))
    ladders = [paper for paper in papers if paper.rungs > 1]
    if ladders:
        paper = min(ladders, key=lambda paper: _turn_seconds(paper, testbed))
        found["scales"] = Offer("scales", "turn", 0, _turn_seconds(paper, testbed), 1, 4, papers=(paper.id,))
    return [found[part] for part in parts if part in found]


def _round_seconds() -> float:
    return len(RATES) * (CHANGE_S + len(AT_ONCE) * (TEST_S + BESIDE_S))


def _seconds(paper: Paper, rows: Sequence[DesignRow], testbed: Mapping[str, Any]) -> float:
    return sum(durations.expected_seconds(paper, row, testbed) + CALM_S for row in rows)


def _group_seconds(paper: Paper, testbed: Mapping[str, Any]) -> float:
    return _seconds(paper, known.of_controls(paper, testbed), testbed)


def _turn_seconds(paper: Paper, testbed: Mapping[str, Any]) -> float:
    found = 0.0
    for own in (_settled(paper, rung) for rung in range(paper.rungs)):
        rows = known.of_smoke(own, testbed, known.RUNS)
        found += LARGE_S + _seconds(own, rows, testbed)
        found += durations.all_floors_seconds(own, rows, testbed, FLOOR_RUNS)
    return found


def parts_of(text: str) -> tuple[str, ...]:
    """Parts by their names between commas, all if there are none, in the order of measuring. Raises UserError."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in PARTS:
            raise UserError(f'--parts: found "{name}", expected some of {", ".join(PARTS)}{suggestion(name, PARTS)}')
    return tuple(part for part in PARTS if part in names) if names else PARTS


# --- what is measured ------------------------------------------------------------------------------------


def ratio_paper(groups: int, testbed: Mapping[str, Any], folder: Path | None = None) -> Paper:
    """The paper of known ratios with so many groups; its YAML is kept in `folder`, and checked as any paper's is."""
    raw = known.ratios(groups)
    if folder is None:
        return Paper(raw, Path(f"{raw['id']}.yaml"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / records.KNOWN
    whole.write(path, yaml.safe_dump(raw, sort_keys=False))
    return load_paper(path, fabric_names(testbed))


def _settled(paper: Paper, rung: int) -> Paper:
    return Paper(paper.on(rung).raw, paper.path)


def on_scales(paper: Paper, testbed: Mapping[str, Any], runs: int, turns: int, folder: Path,
              left: Callable[[], float] = lambda: math.inf) -> int:  # fmt: skip
    """The cells of smoke effort, so many runs each, on every k of a paper's ladder in turn; `turns` times.

    In turn, so that what drifts does not line up with k; each is a start of the cluster of its own, and what is
    finished is not made again. `left`: seconds in which runs may still begin. Returns how many turns are whole.
    """
    for turn in range(turns):
        for rung in range(paper.rungs):
            block = folder / f"rung{rung}-{turn}" / known.BLOCK
            settled = _settled(paper, rung)
            rows = known.of_smoke(settled, testbed, runs)
            made = Block(settled, testbed, known.BLOCK, rows, _made(block), allowance=Allowance(left, left))
            if _measured(made, lambda _: 1, 1) < 1:
                return turn
    return turns


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _measured(block: Block, unit_of: Callable[[DesignRow], int], units: int) -> int:
    """Make what a block lacks; returns how many of its units are whole, from the first on.

    `unit_of`: the number of a row's unit, from 1. One is not whole where a run of it was left out: for want of time, or
    because other programs used the processors.
    """
    block.measure()
    return min((unit_of(row) - 1 for row in block.rows if row["run_id"] in block.left), default=units)


def _group(row: DesignRow) -> int:
    """The number of a run's group."""
    return (row["replicate"] - 1) // known.RUNS + 1


def steady_rate(times: Sequence[float], total: Sequence[float], within: tuple[float, float] = STEADY) -> float:
    """Mbit/s of what was counted (bytes, at moments in seconds) between two shares of all of it; NaN of nothing."""
    when, seen = np.asarray(times, dtype=float), np.asarray(total, dtype=float) - total[0]
    if len(when) < 3 or seen[-1] <= 0:
        return math.nan
    # Of moments at which the same was counted only the last: between them nothing came.
    keep = np.append(np.diff(seen) > 0, True)
    first, last = (float(np.interp(share * seen[-1], seen[keep], when[keep])) for share in within)
    return (within[1] - within[0]) * float(seen[-1]) * 8e-6 / (last - first) if last > first else math.nan


class Counters(Repeated):
    """Counts, while its `with` block runs, the TCP payload that each host's switch port hands to it.

    What a port counts of a packet are its bytes with headers, and a packet that is cut only on the wire has those of
    one: payload is bytes less so many headers as there are packets, whatever their size.
    """

    period = GLANCE_S

    def __init__(self, testbed: EmulatedTestbed, clock: Callable[[], float] = time.monotonic) -> None:
        self.testbed, self.clock = testbed, clock
        self.times: list[float] = []
        self.payload: dict[str, list[float]] = {host.name: [] for host in testbed.hosts}

    def take(self) -> None:
        self.times.append(self.clock())
        for name, of in self.testbed.ports().items():
            self.payload[name].append(of.sent - of.packets_sent * (HEADERS + ETHERNET))

    def rate(self, host: str) -> float:
        """Mbit/s of payload that reached a host, but for the beginning and the end."""
        return steady_rate(self.times, self.payload[host])


def link_test(testbed: EmulatedTestbed, fabric: Fabric, pairs: Sequence[tuple[Host, Host]], number: int, folder: Path
              ) -> list[LinkRow]:  # fmt: skip
    """Each first host of a pair sends to the second, all at once: what iperf3 says, and what the ports count."""
    size = int(links.probe_bytes(fabric.rate, TEST_S))

    def one(pair: tuple[Host, Host]) -> LinkRow:
        client, server = pair
        base: LinkRow = {"rate": fabric.rate, "pairs": len(pairs), "number": number, "meter": IPERF3,
                         "source": client.name, "destination": server.name, "goodput": None, "expected": None,
                         "why": ""}  # fmt: skip
        try:
            sent = links.send(testbed, client, server, fabric, 1, size, folder / f"{client.name}.json")
        except FAILURES as fault:
            return {**base, "why": " ".join(str(fault).split())[:300]}
        return {**base, "goodput": sent.result.goodput, "expected": sent.expected}

    with Counters(testbed) as counted, ThreadPoolExecutor(len(pairs)) as pool:
        rows = list(pool.map(one, pairs))
    for row in list(rows):
        rate = counted.rate(row["destination"])
        why = row["why"] or ("" if math.isfinite(rate) else "nothing was counted")
        # Once the burst is over with which a link begins, it carries its rate.
        rows.append({**row, "meter": COUNTERS, "goodput": None if why else rate, "expected": fabric.rate * FRAME_SHARE,
                     "why": why})  # fmt: skip
    return rows


@dataclass(frozen=True)
class LinkRounds:
    """Tests of all `rates` with all numbers of `pairs`, in another order in each round, a file a round in `folder`."""

    config: Mapping[str, Any]
    folder: Path
    rates: Sequence[float]
    pairs: Sequence[int]
    progress: Pulse

    def make(self, rounds: int, left: Callable[[], float] = lambda: math.inf) -> int:
        """Make those that are missing while there is time; returns how many there are."""
        raw = _made(self.folder / "verbatim")
        lacking = [number for number in range(1, rounds + 1) if not self._sound(number)]
        if not lacking:
            return rounds
        config = {**self.config, "fabrics": {f"{rate:g}": {"rate_mbit_per_s": rate} for rate in self.rates}}
        roles = {"server": max(self.pairs), "client": max(self.pairs)}
        with self.progress.going():
            preflight(self.config, bare=True)
            with EmulatedTestbed(config, roles, 1, software.libraries()) as testbed:
                with links.servers(testbed.by_role("server"), raw):
                    for number in lacking:
                        if left() <= 0:
                            return rounds - len(lacking) + lacking.index(number)
                        self.progress.say(f"links: round {number} of {rounds}")
                        whole.write(self._path(number), _json(self._round(testbed, number, raw)))
        return rounds

    def _sound(self, number: int) -> bool:
        """Whether a round is there; one that is damaged is measured again."""
        path = self._path(number)
        try:
            return path.exists() and bool(records.round_rows(path))
        except Broken as broken:
            self.progress.say(f"{paths.shown(path)}: {broken}: measured again")
            return False

    def _path(self, number: int) -> Path:
        return self.folder / f"round-{number:02}.json"

    def _round(self, testbed: EmulatedTestbed, number: int, raw: Path) -> list[LinkRow]:
        rng, rows = random.Random(number), list[LinkRow]()
        pairs = list(zip(testbed.by_role("client"), testbed.by_role("server"), strict=True))
        for rate in rng.sample(list(self.rates), len(self.rates)):
            fabric = testbed.fabric(f"{rate:g}")
            for count in rng.sample(list(self.pairs), len(self.pairs)):
                rows += link_test(testbed, fabric, pairs[:count], number, raw)
        return rows


# --- the stage -------------------------------------------------------------------------------------------


def trust(testbed: str, results: Path, parts: str = "", within: str = "", dry_run: bool = False) -> bool:
    """Measure how far an emulated testbed can be trusted; the record goes to `results`/trust, trust.json last.

    `parts`: some of records.trust.PARTS between commas; `within`: how long it may take, as a budget; `dry_run` says
    only what would be measured. Returns whether there is a record now. Raises UserError on other testbeds, and at the
    end where a part could not be finished.
    """
    wanted, config = parts_of(parts), load_testbed(testbed)
    if config["kind"] != "emulated":
        raise UserError(
            f"{paths.shown(project.testbed_path(testbed))}: kind: found {config['kind']}, expected emulated: only "
            "where links are made here is it known what they should carry; `make testbed` measures a site's"
        )
    try:
        seconds = budget.seconds_of(within or WITHIN)
    except ValueError as error:
        raise UserError(f'--within: found "{within}", expected {error}') from None
    names = project.load_config()["papers"]
    papers = [load_paper(project.paper_path(name), fabric_names(config)) for name in names]
    made = Trust(testbed, config, papers, results / records.FOLDER, wanted, seconds)
    made.outlook()
    if dry_run:
        return False
    with alone(made.folder, "the trust in this testbed"):
        made.make()
    return True


@dataclass
class Trust:
    """One start of the stage."""

    testbed: str
    config: Mapping[str, Any]
    papers: Sequence[Paper]
    folder: Path
    wanted: Sequence[str]
    seconds: float
    left: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.progress = Pulse("trust")
        self.description = digest(self.config)
        self.offers = {offer.part: offer for offer in offers(self.wanted, self.config, self.papers)}
        planned_units, out = planned(list(self.offers.values()), self.seconds)
        done = {part: each["units"] for part in planned_units if (each := self.done(part))}
        self.units = {part: units for part, units in planned_units.items() if units > done.get(part, 0)}
        self.kept = [part for part in planned_units if part not in self.units]
        self.left += [f"{part}: for want of time ({budget.words(self.offers[part].seconds(self.offers[part].least))} "
                      "at least)" for part in out]  # fmt: skip
        self.left += [f"{part}: no paper of config.yaml has what it compares" for part in self.wanted
                      if part not in self.offers]  # fmt: skip

    def done(self, part: str) -> PartRecord | None:
        """The record of a part of which something was made on this description of the testbed."""
        found = records.part(self.folder, part)
        return found if found and found["units"] and found["description"] == self.description else None

    @property
    def expected(self) -> float:
        """Seconds that all of it should take."""
        return sum(self.offers[part].seconds(units) for part, units in self.units.items())

    def outlook(self) -> None:
        """Say what is measured, and how long that should take."""
        if self.kept:
            self.progress.say(f"measured before: {', '.join(self.kept)}")
        for part, units in self.units.items():
            offer = self.offers[part]
            of = f" of {', '.join(offer.papers)}" if offer.papers else ""
            self.progress.say(f"{part}: {units} {offer.unit}{'s' if units != 1 else ''}{of}, about "
                              f"{budget.words(offer.seconds(units))}")  # fmt: skip
        for why in self.left:
            self.progress.say(f"left out: {why}")
        self.progress.say(f"all of it: about {budget.words(self.expected)}, at most {budget.words(self.seconds)}")

    def make(self) -> None:
        """All parts that are missing. Raises UserError when one could not be finished; what is finished stays."""
        begun, start = time.time(), time.monotonic()
        self.until = start + self.seconds
        self._check_finished()
        faults = []
        makes = {"links": self._links, "ratio": self._ratio, "same": self._same, "scales": self._scales,
                 "load": self._load, "order": self._order}  # fmt: skip
        for part, units in self.units.items():
            began, moment = time.monotonic(), time.time()
            offer = self.offers[part]
            ends = min(self.until, began + OVERRUN * offer.seconds(units) + START_S + CLOSING_S)
            record: PartRecord = {
                "part": cast("Part", part), "units": 0, "planned": units, "unit": offer.unit,
                "seconds": round(offer.seconds(units), 1), "papers": list(offer.papers),
                "description": self.description, "begun": round(moment, 3),
            }  # fmt: skip
            folder = self._begun(record)
            self.progress.say(f"{part}: about {budget.words(offer.seconds(units))}")
            try:
                made = makes[part](folder, units, partial(_until, ends))
                if not made:
                    raise UserError(_too_short(offer, ends - began))
            except UserError as fault:
                faults.append(f"{part}: {fault}")
                self.progress.say(f"{part}: not finished: {fault}")
                continue
            if made < units:
                self.left.append(f"{part}: {units - made} of {units} {offer.unit}s: the time was up")
            record |= {"units": made, "took": round(time.monotonic() - began, 1)}
            whole.write(folder / records.PART, _json(record))
        if faults:
            raise UserError("; ".join([*faults, "what is finished stays: the next start goes on"]))
        self._finish(begun, time.monotonic() - start)

    def _check_finished(self) -> None:
        """Faults where what was made before is not as it was written. From here on the record is none."""
        done = [part for part in PARTS if self.done(part)]
        wrong = records.faults_of_parts(self.folder, done)
        for block in records.blocks(self.folder, done):
            wrong += [f"{fault}; {records.again(self.folder, block)}" for fault in checked.read_block(block).faults]
        if wrong:
            raise Faults(wrong)
        for name in (records.RECORD, manifest.NAME):
            (self.folder / name).unlink(missing_ok=True)

    def _begun(self, record: PartRecord) -> Path:
        """The part's folder with its record, without what was measured on another description of the testbed.

        What is finished of the part stays in the record, so that it is not lost where more of it is broken off.
        """
        folder, found = self.folder / record["part"], records.part(self.folder, record["part"])
        if done := self.done(record["part"]):
            record = {**record, "units": done["units"]}
        elif folder.exists() and (found is None or found["description"] != self.description):
            self.progress.say(f"{record['part']}: what is there is not of this description of the testbed, so far as "
                              "can be told: measured anew")  # fmt: skip
            shutil.rmtree(folder)
        whole.write(_made(folder) / records.PART, _json(record))
        return folder

    def _finish(self, begun: float, seconds: float) -> None:
        parts = [each for part in PARTS if (each := self.done(part))]
        record: records.TrustRecord = {
            "testbed": self.testbed,
            "description": self.description,
            "parts": parts,
            "left_out": self.left,
            "begun": round(begun, 3),
            "seconds": round(seconds, 1),
            "bound": float(self.config["limits"]["link_error"]),
            "reach": links.MOST_RATE,
            **environment.commit(),
        }
        content = _json(record).encode()
        kept = records.kept_files(self.folder, [each["part"] for each in parts])
        listed = manifest.of_folder(self.folder, kept)
        listed["files"][records.RECORD] = manifest.entry(content)
        whole.write(self.folder / manifest.NAME, _json(listed))
        whole.write(self.folder / records.RECORD, content)
        self.progress.say(f"finished in {budget.words(seconds)}")

    # -- the parts; each is given its folder, its units and how many seconds are left, and returns its whole units ----

    def _links(self, folder: Path, rounds: int, left: Callable[[], float]) -> int:
        return LinkRounds(self.config, folder, RATES, AT_ONCE, self.progress).make(rounds, left)

    def _ratio(self, folder: Path, groups: int, left: Callable[[], float]) -> int:
        paper = ratio_paper(groups, self.config, folder)
        rows = known.all_rows(paper, self.config)
        return _measured(self._block(paper, rows, folder, left), _group, groups)

    def _same(self, folder: Path, groups: int, left: Callable[[], float]) -> int:
        made = []
        for paper in self._papers("same"):
            own = known.same(paper, groups)
            block = self._block(own, known.of_controls(own, self.config), folder / paper.id, left)
            made.append(_measured(block, _group, groups))
        return min(made)

    def _scales(self, folder: Path, turns: int, left: Callable[[], float]) -> int:
        return min(
            on_scales(paper, self.config, known.RUNS, turns, folder / paper.id, left)
            for paper in self._papers("scales")
        )

    def _load(self, folder: Path, repetitions: int, left: Callable[[], float]) -> int:
        paper = ratio_paper(math.ceil(repetitions / known.RUNS), self.config, folder)
        rows, loads = known.loaded(known.of_fastest(paper, self.config, repetitions), LOADS)
        whole.write(folder / records.LOADS, _json(loads))
        block = Block(
            paper, self.config, known.BLOCK, rows, _made(folder / known.BLOCK), allowance=Allowance(left, left),
            around=under(loads), attempts=1, climbs=False,
        )  # fmt: skip
        return _measured(block, lambda row: row["replicate"], repetitions)

    def _order(self, folder: Path, passes: int, left: Callable[[], float]) -> int:
        """Nothing to measure: the tables are made of all runs that there are."""
        return passes

    def _block(self, paper: Paper, rows: Sequence[DesignRow], folder: Path, left: Callable[[], float]) -> Block:
        """A block of these rows below a part's folder; `left`: seconds in which runs may still begin."""
        made = _made(folder / known.BLOCK)
        return Block(paper, self.config, known.BLOCK, rows, made, allowance=Allowance(left, left))

    def _papers(self, part: str) -> list[Paper]:
        return [paper for paper in self.papers if paper.id in self.offers[part].papers]


def _too_short(offer: Offer, seconds: float) -> str:
    had = budget.words(seconds) if math.isfinite(seconds) else "time without an end"
    return (f"no whole {offer.unit} was made in {had}, expected some; give it longer: "
            "`.venv/bin/whitewire trust --within 60m`")  # fmt: skip


def _until(ends: float) -> float:
    """Seconds until a moment of the monotonic clock."""
    return max(0.0, ends - time.monotonic())


def _json(record: Any) -> str:
    return json.dumps(record, indent=1) + "\n"
