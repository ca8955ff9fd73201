"""The plan of the stage `links`: which fabrics, pairs, drives and transports are measured, and whether an earlier plan
holds."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

from whitewire.description import project, transports
from whitewire.description.capabilities import capabilities_of
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper, cells_of, hardware_of, without_servers
from whitewire.description.testbed import digest, fabric_names, is_emulated
from whitewire.design.drive import Drive
from whitewire.design.scale import scale_of
from whitewire.errors import UserError
from whitewire.measure import drives as storage
from whitewire.measure import links
from whitewire.measure.engine import Work
from whitewire.measure.schedule import Planned, Wanted, plan_fabrics
from whitewire.records import links as records
from whitewire.records.links import Effort, FabricPlan, LinkLimits, SurveyPlan, TransportPlan
from whitewire.records.schema import Broken, load_json
from whitewire.testbed.base import Testbed
from whitewire.testbed.emulated import software
from whitewire.testbed.emulated.segment import segment_unavailable

_EFFORTS: tuple[Effort, ...] = get_args(Effort)
BUDGET_S = {"smoke": 40.0, "quick": 240.0, "full": 280.0}
BUDGET_HERE_S = {"smoke": 30.0, "quick": 60.0, "full": 280.0}
"""Most seconds of a survey without its end: on a site, and on this machine.

Hosts on this machine are all alike, so the first report of a paper need not wait for every pair.
"""
_OPEN_S, OPEN_HERE_S = 10.0, 4.0
"""Seconds until hosts of a site, or on this machine, are up and described."""
KEPT_BACK = 0.1
"""Share of the time that is reserved for pairs that are measured again by themselves."""
DRIVES_SHARE = 0.35
"""Share of the time that a site's drives may take."""
MODELS_S = 8.0
"""Seconds that modelled drives take."""
PAIR_OVERHEAD_S, OVERHEAD_OF_SITES_S = 0.15, 0.9
"""Seconds per test besides the test itself, here and on a site: to start its client, connect and report."""
PAIRS_PER_PROCESSOR = 2
"""Pairs per processor that may be measured at the same time if hosts share this machine's processors; their rates
together stay below the most of a single link (links.MOST_RATE)."""


@dataclass(frozen=True)
class Shape:
    """Hosts and k of an emulated testbed, the fabrics that papers name (the most named first), a model of drives."""

    paper: str
    roles: Mapping[str, int]
    k: float
    fabrics: tuple[str, ...]
    drive: Drive = field(default_factory=Drive.none)


def shape_of(papers: Sequence[Paper], testbed: Mapping[str, Any], effort: str, asked: str = "") -> Shape:
    """The largest cluster that the papers (or the paper `asked`) need at an effort; the first if several are
    largest."""
    named: Counter[str] = Counter()
    best: tuple[int, Shape] = (0, Shape("", {}, 1, ()))
    for paper in papers:
        fabrics: dict[str, None] = {}
        for name, experiment in paper.experiments.items():
            if "control" in experiment or effort not in experiment.get("efforts", _EFFORTS):
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
        raise UserError("links: found no paper with runs at this effort, expected one, whose hosts are taken")
    shape, most = best[1], [name for name, _ in named.most_common()]
    return Shape(shape.paper, shape.roles, shape.k, tuple(most), shape.drive)


def shape_here(config: Mapping[str, Any], effort: str, paper: str) -> Shape:
    """The shape of an emulated testbed for the papers of config.yaml, or for one of them."""
    if not capabilities_of(config).makes_hosts:
        return Shape("", {}, config.get("scale", 1), tuple(config["fabrics"]))
    names = [paper] if paper else project.load_config()["papers"]
    papers = [load_paper(project.paper_path(name), fabric_names(config)) for name in names]
    return shape_of(papers, config, effort, paper)


def plan_survey(
    name: str, config: Mapping[str, Any], effort: str, seconds: float, shape: Shape, testbed: Testbed
) -> SurveyPlan:
    """The plan of a survey that takes `seconds`: what is measured of a testbed, and what is left out."""
    apart, count = not is_emulated(config), len(testbed.hosts)
    overhead, opening = (PAIR_OVERHEAD_S, OPEN_HERE_S) if testbed.capabilities.local else (OVERHEAD_OF_SITES_S, _OPEN_S)
    wanted, left = _wanted(config, shape, apart, count)
    for_drives = _drive_seconds(config, shape, testbed, seconds)
    rest = max(0.0, min(seconds, 1e6) * (1 - KEPT_BACK) - opening - for_drives)
    probes = config["probes"]
    longest = probes["seconds"] if effort != "smoke" else min(probes["seconds"], 1.0)
    streams = probes["streams"] if effort != "smoke" else probes["streams"][:1]
    plans, more = plan_fabrics(wanted, count, streams, rest, overhead, longest)
    takes = opening + for_drives + sum(each.cost(count, overhead) for each in plans)
    roles = dict(Counter(host.role for host in testbed.hosts))
    plan: SurveyPlan = {
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
        "limits": cast("LinkLimits", {key: config["limits"][key] for key in LinkLimits.__annotations__}),
        "expected_seconds": round(takes, 1),
    }
    if used := transports_of(config):
        plan["transports"] = used
    return plan


def transports_of(config: Mapping[str, Any]) -> list[TransportPlan]:
    """The transports of a testbed to measure with iperf3: those with a library or variables. Transports that only
    change Java use TCP here."""
    return [
        {"name": each.name, "kind": each.kind, "preload": [*each.preload], "environment": {**each.environment}}
        for each in transports.defined(config) if each.variables
    ]  # fmt: skip


def _fabric_plan(config: Mapping[str, Any], each: Planned, k: float) -> FabricPlan:
    described = config["fabrics"][each.name]
    full = float(described["rate_mbit_per_s"])
    return {
        "name": each.name, "rate": full / k, "full_scale_rate": full, "shared": bool(described.get("shared")),
        "depth": each.depth, "at_once": each.at_once, "seconds": each.seconds, "streams": list(each.streams),
    }  # fmt: skip


def _wanted(config: Mapping[str, Any], shape: Shape, apart: bool, hosts: int) -> tuple[list[Wanted], list[str]]:
    """Fabrics to measure, and those that are not, with the reason."""
    found, left, can = [], [], capabilities_of(config)
    for name in shape.fabrics:
        described = config["fabrics"][name]
        rate = described["rate_mbit_per_s"] / shape.k
        if can.shares_processors and rate > links.MOST_RATE:
            left.append(f"{name}: a link has {rate:.0f} Mbit/s here, and above {links.MOST_RATE:.0f} this machine's "
                        "processors would be measured")  # fmt: skip
        elif can.shapes_links and described.get("shared") and (why := segment_unavailable()):
            left.append(f"{name}: {why}")
        elif can.shapes_links and described.get("racks"):
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
    """Pairs to measure at the same time if all hosts share this machine: few enough that processors limit none."""
    return max(1, min(hosts // 2, PAIRS_PER_PROCESSOR * (os.cpu_count() or 1), int(links.MOST_RATE // rate)))


def _drive_seconds(config: Mapping[str, Any], shape: Shape, testbed: Testbed, seconds: float) -> float:
    """Seconds that the drives should take."""
    if testbed.capabilities.models_drives:
        return MODELS_S if shape.drive.limits else 0.0
    return drives_in_time(config, testbed, seconds)[1]


def drives_in_time(config: Mapping[str, Any], testbed: Testbed, seconds: float) -> tuple[str, float]:
    """Effort of a site's drives and mounts in their share of a survey's `seconds`, and seconds that they then take; 0
    without any."""
    hosts = len(testbed.by_role("datanode"))
    own = len(config["data"]) + len(config.get("devices", []))
    turns = own * (hosts if is_emulated(config) else min(hosts, 1)) + hosts * ("mount" in config)
    chosen = storage.effort_for(DRIVES_SHARE * seconds, turns)
    return chosen, turns * storage.curve_seconds(storage.EFFORTS[chosen])


def kept_plan(folder: Path, plan: SurveyPlan, exactly: bool) -> SurveyPlan | None:
    """The plan of an earlier survey if its results serve this one too; else None.

    They do with the same hosts, the same description and at least the same effort; with `exactly`, also the same
    fabrics and times.
    """
    try:
        old = load_json(folder / records.PLAN, SurveyPlan)
    except Broken:
        return None
    same = all(old.get(key) == plan[key] for key in ("testbed", "kind", "description", "shape", "k", "roles", "limits"))
    if not same or old["effort"] not in _EFFORTS[_EFFORTS.index(plan["effort"]) :]:
        return None
    return None if exactly and old["fabrics"] != plan["fabrics"] else old


def effort_there(folder: Path, description: str, asked: str) -> str:
    """The effort asked for, or that of an existing survey of the same description, whichever is larger."""
    try:
        old = load_json(folder / records.PLAN, SurveyPlan)
    except Broken:
        return asked
    if old["description"] != description or old["effort"] not in _EFFORTS:
        return asked
    return max(old["effort"], asked, key=_EFFORTS.index)


@dataclass(frozen=True)
class Survey:
    """One survey: its hosts, its plan, the folder of its record, and its progress; `source`: the name of the testbed's
    description in messages."""

    testbed: Testbed
    config: Mapping[str, Any]
    plan: SurveyPlan
    shape: Shape
    folder: Path
    source: str
    work: Work

    @property
    def at_once(self) -> int:
        """Number of hosts that may be busy at the same time: all if they are machines of their own, else 1."""
        return 1 if is_emulated(self.config) else len(self.testbed.hosts)
