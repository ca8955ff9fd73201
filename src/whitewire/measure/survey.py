"""The stage `links`: what links, drives and RDMA ports of a testbed carry by themselves, before any paper.

Neither Java nor Hadoop has to be there. What is finished stays: an interrupted survey goes on, and one that is whole is
made again only when the testbed's description has changed. Its records: records/links.py.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

from whitewire import budget, paths, whole
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper, cells_of, hardware_of, without_servers
from whitewire.description.testbed import digest, fabric_names, is_emulated, load_testbed
from whitewire.design.drive import Drive
from whitewire.design.scale import scale_of
from whitewire.errors import UserError
from whitewire.install.doctor import preflight
from whitewire.measure import drives as storage
from whitewire.measure import environment, links, rdma, schedule
from whitewire.measure.alone import alone
from whitewire.measure.schedule import Pair, Planned, Wanted
from whitewire.progress import Pulse
from whitewire.records import links as records
from whitewire.records import manifest, outliers, schema
from whitewire.records.links import Effort, FabricPlan, HostFacts, HostLink, Limits, Machine, PairRow, Plan
from whitewire.records.schema import Broken
from whitewire.testbed import kinds as testbeds
from whitewire.testbed.base import CommandFailed, Fabric, Host, ProcessDied, Testbed
from whitewire.testbed.each import on_each
from whitewire.testbed.emulated import segment, software
from whitewire.tools import Unreadable, iperf3, link, perftest

EFFORTS: tuple[Effort, ...] = get_args(Effort)
BUDGET_S = {"smoke": 40.0, "quick": 240.0, "full": 280.0}
BUDGET_HERE_S = {"smoke": 30.0, "quick": 60.0, "full": 280.0}
"""Seconds that a survey takes at most, its end aside: of a site, and of hosts on this machine, which are all alike, so
that the first report of a paper need not wait for every pair of them."""
OPEN_S, OPEN_HERE_S = 10.0, 4.0
"""Seconds until hosts are up and have told what they are."""
KEPT_BACK = 0.1
"""Of the time, what is kept for pairs that are to be measured again by themselves."""
DRIVES_SHARE = 0.35
"""Of the time, what a site's drives may take."""
MODELS_S = 8.0
"""Seconds that modelled drives take."""
OVERHEAD_S, OVERHEAD_OF_SITES_S = 0.15, 0.9
"""Seconds beside a test itself: to start its client, connect and report."""
PAIRS_PER_PROCESSOR = 2
"""Pairs that may be measured at one time where hosts share this machine's processors, for each of these; what they
carry together stays below what a single link may have (links.MOST_RATE)."""
TRIES, LOST = 3, 3
"""Attempts at a test without a result; tests in a row after which a host is given up."""
AGAIN_TIMES = 2.0
"""How much longer a pair is measured when it is measured again."""
RDMA_SIZES = perftest.SIZES[::2]
RDMA_SHORT = (("ib_write_bw", 2**20), ("ib_write_lat", 4))
"""Message sizes of the first pair's curves; tests and sizes of the others."""
FAILURES = (CommandFailed, ProcessDied, Unreadable, OSError)


@dataclass(frozen=True)
class Shape:
    """Hosts and k of an emulated testbed, the fabrics that papers name (the most named first), a model of drives."""

    paper: str
    roles: Mapping[str, int]
    k: float
    fabrics: tuple[str, ...]
    drive: Drive = field(default_factory=Drive.none)


def shape_of(papers: Sequence[Paper], testbed: Mapping[str, Any], effort: str, asked: str = "") -> Shape:
    """The largest cluster that the papers ask for at an effort (or the paper `asked`), the first of those as large."""
    named: Counter[str] = Counter()
    best: tuple[int, Shape] = (0, Shape("", {}, 1, ()))
    for paper in papers:
        fabrics: dict[str, None] = {}
        for name, experiment in paper.experiments.items():
            if "control" in experiment or effort not in experiment.get("efforts", EFFORTS):
                continue
            for levels in cells_of(experiment):
                if fabric := paper.parameters(name, levels).get("fabric"):
                    fabrics[fabric] = None
                roles = without_servers(paper.roles(name, levels))
                if sum(roles.values()) > best[0] and asked in ("", paper.id):
                    k = scale_of(paper, name, effort, levels, testbed).k
                    hardware = hardware_of(experiment, levels)
                    drive = Drive.scaled(hardware, k, software.DRIVE_LIBRARY) if hardware else Drive.none()
                    best = sum(roles.values()), Shape(paper.id, roles, k, (), drive)
        named.update(fabrics.keys())
    if not best[0]:
        raise UserError("links: found no paper that runs anything at this effort, expected one whose hosts to take")
    shape, most = best[1], [name for name, _ in named.most_common()]
    return Shape(shape.paper, shape.roles, shape.k, tuple(most), shape.drive)


def survey(testbed: str, results: Path, effort: str = "quick", within: str = "", paper: str = "") -> None:
    """Measure links, drives and RDMA ports of a testbed; the record goes to `results`/links, links.json last.

    `within`: how long it may take, as a budget; `paper`: whose hosts and k an emulated testbed has (default: the
    largest that config.yaml's papers ask for). Raises UserError when hosts cannot be used.
    """
    config, source = load_testbed(testbed), paths.shown(project.testbed_path(testbed))
    seconds = _seconds(within, effort, config["kind"] == "emulated")
    shape = _shape(config, effort, paper)
    hosts = testbeds.open_bare(config, shape.roles, shape.k, source)
    plan = planned(testbed, config, effort, seconds, shape, hosts)
    folder = results / records.FOLDER
    with alone(folder, "these links"):
        why = dict(records.damaged(folder)).get(folder / records.PLAN)
        kept = None if why else _kept(folder, plan, exactly=bool(within))
        if kept is None:
            _clear(folder)
            whole.write(folder / records.PLAN, _json(plan))
        made = Survey(hosts, config, kept or plan, shape, folder, source, seconds)
        if why:
            made.progress.say(f"{paths.shown(folder / records.PLAN)}: {why}: all is measured anew")
        if (folder / records.RECORD).exists() and not records.faults(folder):
            made.progress.say("all measured before, and the testbed's file is as it was")
            return
        made.make()


def _seconds(within: str, effort: str, emulated: bool) -> float:
    if not within:
        return (BUDGET_HERE_S if emulated else BUDGET_S)[effort]
    try:
        return budget.seconds_of(within)
    except ValueError as error:
        raise UserError(f'--within: found "{within}", expected {error}') from None


def _shape(config: Mapping[str, Any], effort: str, paper: str) -> Shape:
    if config["kind"] != "emulated":
        return Shape("", {}, config.get("scale", 1), tuple(config["fabrics"]))
    names = [paper] if paper else project.load_config()["papers"]
    papers = [load_paper(project.paper_path(name), fabric_names(config)) for name in names]
    return shape_of(papers, config, effort, paper)


# --- the plan ------------------------------------------------------------------------------------------


def planned(name: str, config: Mapping[str, Any], effort: str, seconds: float, shape: Shape, testbed: Testbed) -> Plan:
    """What is measured of a testbed in so many seconds, and what is left out."""
    apart, count = not is_emulated(config), len(testbed.hosts)
    overhead, opening = (OVERHEAD_S, OPEN_HERE_S) if testbed.emulated else (OVERHEAD_OF_SITES_S, OPEN_S)
    wanted, left = _wanted(config, shape, apart, count, testbed.emulated)
    for_drives = _drive_seconds(config, shape, testbed, seconds)
    rest = max(0.0, min(seconds, 1e6) * (1 - KEPT_BACK) - opening - for_drives)
    probes = config["probes"]
    longest = probes["seconds"] if effort != "smoke" else min(probes["seconds"], 1.0)
    streams = probes["streams"] if effort != "smoke" else probes["streams"][:1]
    plans, more = schedule.plan(wanted, count, streams, rest, overhead, longest)
    takes = opening + for_drives + sum(each.cost(count, overhead) for each in plans)
    roles = dict(Counter(host.role for host in testbed.hosts))
    return {
        "testbed": name,
        "kind": config["kind"],
        "emulated": is_emulated(config),
        "description": digest(config),
        "effort": cast("Effort", effort),
        "shape": shape.paper,
        "k": shape.k,
        "roles": roles,
        "fabrics": [_fabric_plan(config, each, shape.k) for each in plans],
        "left_out": [*left, *more],
        "limits": cast("Limits", {key: config["limits"][key] for key in Limits.__annotations__}),
        "expected_seconds": round(takes, 1),
    }


def _fabric_plan(config: Mapping[str, Any], each: Planned, k: float) -> FabricPlan:
    described = config["fabrics"][each.name]
    full = float(described["rate_mbit_per_s"])
    return {
        "name": each.name, "rate": full / k, "full_scale_rate": full, "shared": bool(described.get("shared")),
        "depth": each.depth, "at_once": each.at_once, "seconds": each.seconds, "streams": list(each.streams),
    }  # fmt: skip


def _wanted(config: Mapping[str, Any], shape: Shape, apart: bool, hosts: int, emulated: bool
            ) -> tuple[list[Wanted], list[str]]:  # fmt: skip
    """Fabrics to measure, and those that are not, with the reason."""
    found, left = [], []
    for name in shape.fabrics:
        described = config["fabrics"][name]
        rate = described["rate_mbit_per_s"] / shape.k
        if emulated and rate > links.MOST_RATE:
            left.append(f"{name}: a link has {rate:.0f} Mbit/s here, and above {links.MOST_RATE:.0f} this machine's "
                        "processors would be measured")  # fmt: skip
        elif emulated and described.get("shared") and (why := segment.available()):
            left.append(f"{name}: {why}")
        elif emulated and described.get("racks"):
            left.append(f"{name}: its racks are probed before each block of runs on it")
        else:
            shared = bool(described.get("shared"))
            at_once = 1 if shared else hosts // 2 if apart else at_once_here(rate, hosts)
            floor = links.LEAST_BYTES * 8 / (rate * 1e6)
            found.append(Wanted(name, max(1, at_once), floor, "ring" if shared else "all"))
    others = [name for name in config["fabrics"] if name not in shape.fabrics]
    if others:
        left.append(f"{', '.join(others)}: no paper of config.yaml names them")
    return found, left


def at_once_here(rate: float, hosts: int) -> int:
    """Pairs at one time where all hosts share this machine: so many that its processors limit none of them."""
    return max(1, min(hosts // 2, PAIRS_PER_PROCESSOR * (os.cpu_count() or 1), int(links.MOST_RATE // rate)))


def _drive_seconds(config: Mapping[str, Any], shape: Shape, testbed: Testbed, seconds: float) -> float:
    """What drives take."""
    if testbed.emulated:
        return MODELS_S if shape.drive.limits else 0.0
    turns = drive_turns(config, testbed)
    chosen = storage.effort_for(DRIVES_SHARE * seconds, turns)
    return turns * storage.curve_seconds(storage.EFFORTS[chosen])


def drive_turns(config: Mapping[str, Any], testbed: Testbed) -> int:
    """How many drives and mounts are measured one after another."""
    hosts = len(testbed.by_role("datanode"))
    own = len(config["data"]) + len(config.get("devices", []))
    return own * (hosts if is_emulated(config) else min(hosts, 1)) + hosts * ("mount" in config)


# --- what is there already -------------------------------------------------------------------------------


def _kept(folder: Path, plan: Plan, exactly: bool) -> Plan | None:
    """The plan that an earlier survey had, where what it made serves this one too.

    It does with the same hosts, the same description and no less effort, and `exactly` with the same fabrics and times.
    """
    try:
        old: Plan = schema.load(folder / records.PLAN, Plan)
    except Broken:
        return None
    same = all(old.get(key) == plan[key] for key in ("testbed", "kind", "description", "shape", "k", "roles", "limits"))
    if not same or old["effort"] not in EFFORTS[EFFORTS.index(plan["effort"]) :]:
        return None
    return None if exactly and old["fabrics"] != plan["fabrics"] else old


def effort_of(folder: Path, description: str, asked: str) -> str:
    """The effort asked for, or that of a survey of the same description which is there already, if that is larger."""
    try:
        old: Plan = schema.load(folder / records.PLAN, Plan)
    except Broken:
        return asked
    if old["description"] != description or old["effort"] not in EFFORTS:
        return asked
    return max(old["effort"], asked, key=EFFORTS.index)


def _clear(folder: Path) -> None:
    """Remove what an earlier survey left."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != ".lock":
            path.unlink()


def _json(record: Any) -> str:
    return json.dumps(record, indent=1, default=str) + "\n"


# --- the survey ------------------------------------------------------------------------------------------


class Survey:
    """One survey while it is made."""

    def __init__(self, testbed: Testbed, config: Mapping[str, Any], plan: Plan, shape: Shape, folder: Path, source: str,
                 seconds: float) -> None:  # fmt: skip
        self.testbed, self.config, self.plan, self.shape = testbed, config, plan, shape
        self.folder, self.source, self.seconds = folder, source, seconds
        self.apart = not is_emulated(config)
        self.progress = Pulse("links")
        self.until = math.inf
        self.left: list[str] = []
        self.spent: dict[str, float] = {}
        self.misses: Counter[str] = Counter()
        self.best: dict[tuple[str, str, str], float] = {}
        """Mbit/s that a host has sent, or received, at best on a fabric: a slow one is asked for less."""

    def make(self) -> None:
        """All that is missing. Raises UserError when hosts cannot be used."""
        begun, start = time.time(), time.monotonic()
        self.until = start + self.seconds
        self._without_the_damaged()
        count = len(self.testbed.hosts)
        pairs = count * (count - 1) // 2
        self.progress.say(
            f"{count} hosts, {pairs} pairs, {len(self.plan['fabrics'])} fabrics: about "
            f"{budget.words(self.plan['expected_seconds'])}"
            + (f", at most {budget.words(self.seconds)}" if math.isfinite(self.seconds) else "")
        )
        for why in self.plan["left_out"]:
            self.progress.say(f"left out: {why}")
        with self.progress.going():
            preflight(self.config, bare=True)
            self.testbed.preflight(bare=True)
            with self.testbed:
                self.progress.say("hosts are up")
                for what, part in (("hosts", self._hosts), ("drives", self._drives), ("links", self._links),
                                   ("rdma", self._rdma), ("again", self._again)):  # fmt: skip
                    began = time.monotonic()
                    part()
                    self.spent[what] = round(time.monotonic() - began, 1)
        self._finish(begun, time.monotonic() - start)

    def _without_the_damaged(self) -> None:
        """What is not as it was written is measured again; until that is done the record is none."""
        for path, why in records.damaged(self.folder):
            if path.is_file():
                self.progress.say(f"{paths.shown(path)}: {why}: removed, and what is missing is measured again")
                path.unlink()
        for name in (records.RECORD, manifest.NAME):
            (self.folder / name).unlink(missing_ok=True)

    def _finish(self, begun: float, seconds: float) -> None:
        record: records.LinksRecord = {
            "plan": self.plan,
            "hosts": self._places(),
            "left_out": [*self.plan["left_out"], *dict.fromkeys(self.left)],
            "begun": round(begun, 3),
            "seconds": round(seconds, 1),
            "spent": self.spent,
            **environment.commit(),
        }
        content = _json(record).encode()
        listed = manifest.of_folder(self.folder, records.kept_files(self.folder))
        listed["files"][records.RECORD] = manifest.entry(content)
        whole.write(self.folder / manifest.NAME, _json(listed))
        whole.write(self.folder / records.RECORD, content)
        for why in dict.fromkeys(self.left):
            self.progress.say(f"left out: {why}")
        found = outliers.of_folder(self.folder)
        for each in found:
            if not each.part_of:
                self.progress.say(f"beyond its bound: {each.said}")
        self.progress.say(f"finished in {budget.words(seconds)}, {len(found) or 'nothing'} beyond its bound")

    def _places(self) -> list[records.HostPlace]:
        return [{"name": h.name, "role": h.role, "target": str(getattr(h, "target", ""))} for h in self.testbed.hosts]

    # -- hosts --------------------------------------------------------------------------------------------

    def _hosts(self) -> None:
        path = self.folder / records.HOSTS
        if path.exists():
            return
        facts = self.testbed.describe()
        seen: dict[str, dict[str, HostLink]] = {}
        for fabric in self.plan["fabrics"]:
            self.testbed.fabric(fabric["name"])
            seen[fabric["name"]] = {
                name: cast("HostLink", {**now, **_driver(facts.get(name, {}), fabric["name"])})
                for name, now in self.testbed.links().items()
            }
        record: records.HostsRecord = {
            "hosts": self._places(),
            "machine": cast("Machine", environment.machine()),
            "facts": cast("dict[str, HostFacts]", facts),
            "clocks": {name: round(ahead, 6) for name, ahead in self.testbed.clocks().items()},
            "links": seen,
        }
        whole.write(path, _json(record))

    # -- drives -------------------------------------------------------------------------------------------

    def _drives(self) -> None:
        if self.testbed.emulated:
            self._models()
            return
        path = self.folder / records.DRIVES
        turns = drive_turns(self.config, self.testbed)
        if path.exists() or not turns:
            return
        chosen = storage.effort_for(DRIVES_SHARE * self.seconds, turns)
        self.progress.say(f"drives: about {budget.words(turns * storage.curve_seconds(storage.EFFORTS[chosen]))}")
        targets = storage.places_of(self.testbed.by_role("datanode"), self.config, self.source)
        storage.measure(targets, chosen, path.parent, at_once=len(self.testbed.hosts) if self.apart else 1)

    def _models(self) -> None:
        path, nodes = self.folder / records.MODELS, len(self.testbed.by_role("datanode"))
        if not self.shape.drive.limits:
            self.left.append(f"drives: {self.shape.paper} models none, and memory is no drive")
            return
        if nodes > links.DRIVE_NODES:
            self.left.append(f"drives of {nodes - links.DRIVE_NODES} of {nodes} workers: all have the same model")
        if path.exists():
            return
        if not software.libraries():
            self.left.append("drives: their model is not compiled; make setup")
            return
        self.progress.say(f"drives as {self.shape.paper} models them: about {budget.words(MODELS_S)}")
        try:
            rows = links.probe_drives(
                self.testbed, self.shape.drive, self.plan["limits"]["drive_error"], path.parent, stop=False
            )
        except UserError as fault:
            self.left.append(f"drives: {fault}")
            return
        whole.write(path, _json(rows))

    # -- links --------------------------------------------------------------------------------------------

    def _links(self) -> None:
        """The pass over all pairs with the first number of streams comes first, on every fabric."""
        count = len(self.testbed.hosts)
        if count < 2:
            self.left.append("links: one host has no other to send to")
            return
        passes = [
            (of, streams, pieces) for of in self.plan["fabrics"] for streams, pieces in _planned(of).passes(count)
        ]
        passes.sort(key=lambda each: each[1] not in (0, each[0]["streams"][0]))
        for name, group in itertools.groupby(passes, key=lambda each: each[0]["name"]):
            todo = [(of, streams, [
                (number, pairs) for number, pairs in enumerate(pieces) if not self._path(name, streams, number).exists()
            ]) for of, streams, pieces in group]  # fmt: skip
            if any(pieces for *_, pieces in todo):
                self._on_a_fabric(name, todo)

    def _path(self, fabric: str, streams: int, number: int) -> Path:
        return self.folder / "pairs" / fabric / f"{streams}-{number:04d}.json"

    def _on_a_fabric(self, name: str, todo: Sequence[tuple[FabricPlan, int, Sequence[tuple[int, list[Pair]]]]]) -> None:
        with self._ready(name) as fabric:
            for of, streams, pieces in todo:
                takes = self._takes(of, streams, len(pieces))
                what = "round trips at rest" if streams == 0 else f"{streams} stream{'s' if streams > 1 else ''}"
                self.progress.say(f"{name}, {what}: {sum(len(pairs) for _, pairs in pieces)} pairs, up to "
                                  f"{of['at_once']} at one time, about {budget.words(takes)}")  # fmt: skip
                for done, (number, pairs) in enumerate(pieces):
                    if time.monotonic() > self.until:
                        lacking = sum(len(pairs) for _, pairs in pieces[done:])
                        self.left.append(f"{name}, {what}: {lacking} pairs: the time was up")
                        break
                    rows = self._turn(fabric, streams, pairs, of["seconds"])
                    whole.write(self._path(name, streams, number), _json(rows))

    def _takes(self, of: FabricPlan, streams: int, pieces: int) -> float:
        overhead = OVERHEAD_S if self.testbed.emulated else OVERHEAD_OF_SITES_S
        return pieces * (overhead if streams == 0 else 2 * (of["seconds"] + overhead))

    @contextmanager
    def _ready(self, name: str) -> Iterator[Fabric]:
        """All hosts on a fabric, with a server each."""
        folder = self.folder / "pairs" / name / "verbatim"
        folder.mkdir(parents=True, exist_ok=True)
        fabric = self.testbed.fabric(name)
        with links.servers(self.testbed.hosts, folder):
            yield fabric

    def _turn(self, fabric: Fabric, streams: int, pairs: Sequence[Pair], seconds: float, attempt: int = 1
              ) -> list[PairRow]:  # fmt: skip
        """Pairs at one time, in one direction and then in the other; a round trip has one."""
        rows: list[PairRow] = []
        for ways in [pairs] if streams == 0 else [pairs, [(b, a) for a, b in pairs]]:

            def one(way: Pair, beside: int = len(ways) - 1) -> list[PairRow]:
                return self._test(fabric, streams, way, seconds, beside, attempt)

            with ThreadPoolExecutor(len(ways)) as pool:
                rows += [row for found in pool.map(one, ways) for row in found]
        return rows

    def _test(self, fabric: Fabric, streams: int, way: Pair, seconds: float, beside: int, attempt: int
              ) -> list[PairRow]:  # fmt: skip
        source, destination = (self.testbed.hosts[number] for number in way)
        base: PairRow = {"fabric": fabric.name, "source": source.name, "destination": destination.name,
                         "streams": streams, "metric": "goodput" if streams else "rtt_at_rest", "value": None,
                         "unit": "Mbit/s" if streams else "us", "beside": beside, "attempt": attempt,
                         "why": ""}  # fmt: skip
        for host in (source, destination):
            if self.misses[host.name] >= LOST:
                return [{**base, "why": f"{host.name} is given up after {LOST} tests in a row without a result"}]
        path = self.folder / "pairs" / fabric.name / "verbatim" / (
            f"{streams}-{source.name}-{destination.name}-{attempt}.json"
        )  # fmt: skip
        why = ""
        for again in range(TRIES):
            time.sleep(0.2 * again)  # a server may be busy for a moment with the end of the test before
            try:
                rows = self._rows(base, fabric, source, destination, seconds, path)
            except subprocess.TimeoutExpired as fault:
                why = f"iperf3 did not end in {fault.timeout:.0f} s"
                break
            except FAILURES as fault:
                why = " ".join(str(fault).split())[:300]
                continue
            self.misses[source.name] = self.misses[destination.name] = 0
            return rows
        self.misses.update((source.name, destination.name))
        return [{**base, "why": why}]

    def _rows(self, base: PairRow, fabric: Fabric, source: Host, destination: Host, seconds: float, path: Path
              ) -> list[PairRow]:  # fmt: skip
        if base["streams"] == 0:
            done = source.run(iperf3.one_segment(destination.address), timeout=30)
            whole.write(path, done.stdout)
            return [{**base, "value": links.read(done, iperf3.round_trip)}]
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

    def _again(self) -> None:
        """Pairs beyond their bound once more, longer and with no other beside, the worst first, while there is time."""
        bound, ways = self.plan["limits"]["link_error"], outliers.ways(records.pair_rows(self.folder))
        numbers = {host.name: number for number, host in enumerate(self.testbed.hosts)}
        plans = {each["name"]: each for each in self.plan["fabrics"]}
        wrong = [way for way in ways if outliers.beyond(way, bound) and not way.alone and way.fabric in plans
                 and {way.source, way.destination} <= {*numbers}]  # fmt: skip
        for name in dict.fromkeys(way.fabric for way in wrong):
            own = sorted((way for way in wrong if way.fabric == name), key=lambda way: -abs(way.error))
            of = plans[name]
            self.progress.say(f"{name}: {len(own)} directions beyond the bound, again one by one")
            with self._ready(name) as fabric:
                for done, way in enumerate(own):
                    if time.monotonic() > self.until:
                        self.left.append(f"{name}: {len(own) - done} directions beyond the bound were not measured "
                                         "again by themselves: the time was up")  # fmt: skip
                        break
                    pair = (numbers[way.source], numbers[way.destination])
                    streams = way.streams or of["streams"][0]
                    rows = self._test(fabric, streams, pair, AGAIN_TIMES * of["seconds"], beside=0, attempt=2)
                    target = self.folder / "again" / f"{name}-{way.source}-{way.destination}.json"
                    target.parent.mkdir(exist_ok=True)
                    whole.write(target, _json(rows))

    # -- RDMA ---------------------------------------------------------------------------------------------

    def _rdma(self) -> None:
        path = self.folder / records.RDMA_TABLE
        if path.exists():
            return
        if self.testbed.emulated:
            rows = [rdma.row(why="emulated links have no RDMA ports")]
        else:
            rows = [row for of in self.plan["fabrics"] for row in self._rdma_on(of["name"], path.parent)]
        rdma.write(path.parent, rows)
        if why := rdma.unavailable(rows):
            self.progress.say(f"RDMA: {why}")

    def _rdma_on(self, fabric: str, folder: Path) -> list[dict]:
        """The first pair's curves, and of each other pair of neighbours its bandwidth and latency."""
        self.testbed.fabric(fabric)
        ports = on_each(self.testbed.hosts, _port, len(self.testbed.hosts))
        with_port = [host for host, why in zip(self.testbed.hosts, ports, strict=True) if not why]
        rows = [rdma.row(fabric=fabric, source=host.name, why=why)
                for host, why in zip(self.testbed.hosts, ports, strict=True) if why]  # fmt: skip
        if len(with_port) < 2:
            return rows or [rdma.row(fabric=fabric, why="no pair of hosts to measure")]
        self.progress.say(f"RDMA on {fabric}: {len(with_port)} hosts have a port")
        turns = schedule.turns(schedule.ring(len(with_port)), len(with_port) // 2 if self.apart else 1)
        for number, pairs in enumerate(turns):
            if number and time.monotonic() > self.until:
                self.left.append(f"RDMA on {fabric}: {sum(map(len, turns[number:]))} pairs: the time was up")
                break
            if number == 0:
                first, *pairs = pairs
                rows += self._rdma_pair(with_port, first, fabric, folder, whole_curve=True)
            if pairs:
                with ThreadPoolExecutor(len(pairs)) as pool:
                    made = pool.map(lambda pair: self._rdma_pair(with_port, pair, fabric, folder, False), pairs)
                    rows += [row for each in made for row in each]
        return rows

    @staticmethod
    def _rdma_pair(hosts: Sequence[Host], pair: Pair, fabric: str, folder: Path, whole_curve: bool) -> list[dict]:
        one, other = (hosts[number] for number in pair)
        if whole_curve:
            return rdma.between(one, other, fabric, folder, perftest.TESTS, RDMA_SIZES)
        found = (rdma.between(one, other, fabric, folder, [test], [size]) for test, size in RDMA_SHORT)
        return [row for rows in found for row in rows]


def _planned(of: FabricPlan) -> Planned:
    return Planned(of["name"], of["depth"], of["at_once"], of["seconds"], tuple(of["streams"]))


def _port(host: Host) -> str:
    """Why a host has no RDMA port on the fabric in use; empty: it has one."""
    try:
        rdma.find(host)
    except rdma.NoRdma as why:
        return str(why)
    return ""


def _driver(facts: Mapping[str, Any], fabric: str) -> dict[str, str]:
    """Driver and firmware of a host's interface on a fabric, where they are told."""
    with suppress(Unreadable, KeyError):
        return link.driver(facts["fabrics"][fabric]["driver"])
    return {}
