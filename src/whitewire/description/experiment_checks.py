"""Checks of one experiment: its names, its hosts, values of parameters and levels, keys that none of its runs reads."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from whitewire.description.faults import check_levels, fault, fault_in_words
from whitewire.description.files import schema
from whitewire.description.hadoop import problems_of_settings
from whitewire.description.networks import drives_modelled, problems_of_networks
from whitewire.description.paper import (
    OSTS_PER_OSS,
    SHARED_DRIVES,
    TURNS_OFF,
    Paper,
    cells_of,
    hardware_of,
)
from whitewire.factors import DRIVE, LEFT_OUT, parameter
from whitewire.tools import hibench
from whitewire.workloads import WORKLOADS, workload_of
from whitewire.workloads.base import Workload

LEAST_PACKET, LARGEST_PACKET = 4096, 65536
"""Default packet of HDFS's write pipeline, bytes."""
CHECKSUM = 512
"""Bytes per checksum of HDFS; blocks are multiples of it."""
READ_RATE = "read_rate_mb_per_s"
"""The entry of a drive that need not be there."""

_MOST_CELLS = 1000
"""Combinations of an experiment's levels, before its `only`."""
_NAMED = (("settings", "settings"), ("store", "stores"))
"""Factors whose levels are keys of a part of the experiment, and that part."""
_ROLES = ("namenode", "datanode", "client", "mds", "oss")
"""Roles that hosts can have."""

_Kind = tuple[Callable[[Any], bool], str]


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _up_to(most: int) -> _Kind:
    return lambda value: _whole(value) and value <= most, f"a whole number from 1 to {most}"


_SIZE: _Kind = (
    lambda value: isinstance(value, int | float) and not isinstance(value, bool) and value >= 1,
    "a number of bytes, at least 1",
)
TEXT: _Kind = (lambda value: isinstance(value, str) and value != "", "text")
_KINDS: dict[str, _Kind] = {
    **dict.fromkeys(("clients", "puts_per_client", "nodes", "tasks_per_worker", "task_workers"), _up_to(1000)),
    **dict.fromkeys(("replication", "output_replication", "lost_replicas"), _up_to(512)),
    **dict.fromkeys(("file_blocks", "maps", "reduces", "splits", "files_per_map"), _up_to(100_000)),
    "k": _up_to(1_000_000),
    **dict.fromkeys(("size_bytes", "file_size_bytes"), _SIZE),
    **dict.fromkeys(("fabric", "load_fabric", "transport", "program", "profile", "settings", "store"), TEXT),
    "block_size_bytes": (
        lambda value: _SIZE[0](value) and value % CHECKSUM == 0, f"a number of bytes that {CHECKSUM} divides"),
    "packet_bytes": (
        lambda value: _whole(value) and LEAST_PACKET <= value <= LARGEST_PACKET,
        f"a whole number of bytes from {LEAST_PACKET} to {LARGEST_PACKET}"),
    "switch_buffer_kib": (
        lambda value: isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 2**30,
        f"a number of KiB above 0, at most {2**30}"),
    **dict.fromkeys(
        ("offloads", *TURNS_OFF),
        (lambda value: value in ("on", "off") and isinstance(value, str), 'text "on" or "off", in quotes')),
    "keep_caches": (lambda value: isinstance(value, bool), "true or false"),
}  # fmt: skip
"""Permitted values of parameters and levels, by name."""


def check_experiment(paper: Paper, key: str, experiment: Mapping[str, Any], fabrics: Collection[str]) -> None:
    """UserError for the first fault of an experiment; `fabrics`: names of the testbed's."""
    _check_names(paper, key, experiment, fabrics)
    _check_values(paper, key, experiment)
    _check_hosts(paper, key, experiment)
    for needed in ("fabric", "block_size_bytes"):
        if needed not in {*experiment["parameters"], *experiment["factors"]}:
            raise fault(paper, f"{key}.parameters", sorted(experiment["parameters"]), f"{needed} among them")
    _check_replicas(paper, key, experiment)
    _check_clients(paper, key, experiment)
    _check_task_workers(paper, key, experiment)
    _check_stores(paper, key, experiment)
    _check_sources(paper, key, experiment.get("hardware", {}))
    _check_drive(paper, key, experiment)
    for name, found, expected in _unread(paper, experiment):
        raise fault(paper, f"{key}.{name}", found, expected)
    for index, cell in enumerate(experiment.get("smoke_cells", [])):
        check_levels(paper, f"{key}.smoke_cells[{index}]", experiment, cell, whole=True)


def _check_names(paper: Paper, key: str, experiment: Mapping[str, Any], fabrics: Collection[str]) -> None:
    """Every name in an experiment is known, and it has no more combinations of levels than can be planned."""
    factors, parameters = experiment["factors"], experiment["parameters"]
    cells = math.prod(map(len, factors.values()))
    if cells > _MOST_CELLS:
        found = f"{cells} combinations of levels" if cells < 10**18 else "more than 10^18 combinations of levels"
        raise fault_in_words(paper, f"{key}.factors", found, f"at most {_MOST_CELLS}")
    missing = experiment.get("missing_fabrics", "error")
    for level in factors.get("fabric", []):
        if level not in fabrics and missing == "error":
            raise fault(paper, f"{key}.factors.fabric", level, "a fabric of the testbed", fabrics)
    for name in ("fabric", "load_fabric"):
        if name in parameters and parameters[name] not in fabrics:
            where = f"{key}.parameters.{name}"
            raise fault(paper, where, parameters[name], "a fabric of the testbed", fabrics)
    workload = workload_of(experiment["workload"])
    known = workload.factors - (DRIVE - set(experiment.get("hardware", {}).get("drive", {})))
    for factor in factors:
        if factor not in known:
            why = f"; {factor} cannot be a factor: {LEFT_OUT[factor]}" if factor in LEFT_OUT else ""
            expected = f"what runs of {workload.name} can vary and prove ({', '.join(sorted(known))}){why}"
            raise fault(paper, f"{key}.factors", factor, expected, known)
    for factor, part in _NAMED:
        for level in factors.get(factor, []):
            if level not in experiment.get(part, {}):
                raise fault(paper, f"{key}.factors.{factor}", level, f"a key of {part}", experiment.get(part, {}))
    for cell in experiment.get("only", []):
        check_levels(paper, f"{key}.only", experiment, cell, whole=False)
    _check_workload(paper, key, experiment)
    problems = [*problems_of_networks(experiment, fabrics), *problems_of_settings(paper, experiment)]
    for below, value, expected, names in problems:
        raise fault(paper, f"{key}{below}", value, expected, names)


def _check_workload(paper: Paper, key: str, experiment: Mapping[str, Any]) -> None:
    """Its workload has all parameters that it needs, and none that no run reads."""
    workload, factors, parameters = (
        workload_of(experiment["workload"]),
        experiment["factors"],
        experiment["parameters"],
    )
    for name in experiment["roles"]:
        if name not in _ROLES:
            raise fault(paper, f"{key}.roles", name, f"one of {', '.join(_ROLES)}", _ROLES)
    known = workload.known()
    for name in parameters:
        if name not in known:
            expected = f"a parameter that {workload.name} reads ({', '.join(sorted(known))})"
            raise fault(paper, f"{key}.parameters", name, expected, known)
    for name in sorted(workload.needs | (set() if workload.of_suite else {workload.size})):
        if name not in parameters and name not in factors:
            raise fault(paper, f"{key}.parameters", sorted(parameters), f"{name} among them", parameters)
    if workload.of_suite:
        for profile in [*factors.get("profile", []), *([parameters["profile"]] if "profile" in parameters else [])]:
            if profile not in hibench.PROFILES:
                expected = f"one of {', '.join(hibench.PROFILES)}"
                raise fault(paper, f"{key}.parameters.profile", profile, expected, hibench.PROFILES)
    if workload.on_yarn and "scale" not in experiment and (workload.of_suite or not experiment.get("whole_file")):
        raise fault(paper, f"{key}.scale", None, "k, bytes and splits for this workload")
    if not workload.on_yarn and "file_blocks" not in paper.raw.get("scale", {}):
        raise fault(paper, "scale.file_blocks", None, f"blocks of a file by effort, for {experiment['id']}")


def _check_values(paper: Paper, key: str, experiment: Mapping[str, Any]) -> None:
    for name, value in experiment["parameters"].items():
        _check_value(paper, f"{key}.parameters.{name}", name, value)
    for name, levels in experiment["factors"].items():
        for index, level in enumerate(levels):
            _check_value(paper, f"{key}.factors.{name}[{index}]", name, level)


def _check_value(paper: Paper, key: str, name: str, value: Any) -> None:
    holds, expected = _KINDS.get(name, (lambda value: True, ""))
    if holds(value):
        return
    if isinstance(value, str):
        raise fault_in_words(paper, key, f"text {json.dumps(value, ensure_ascii=False)}", expected)
    raise fault(paper, key, value, expected)


def _check_hosts(paper: Paper, key: str, experiment: Mapping[str, Any]) -> None:
    """One NameNode, at least one DataNode and one client; servers where a store is."""
    roles, factors = experiment["roles"], experiment["factors"]
    if roles.get("namenode") != 1:
        raise fault(paper, f"{key}.roles.namenode", roles.get("namenode"), "1: HDFS here has one NameNode")
    if "nodes" not in factors and not roles.get("datanode"):
        raise fault(paper, f"{key}.roles.datanode", roles.get("datanode"), "at least 1: it holds the data")
    if not roles.get("client"):
        raise fault(paper, f"{key}.roles.client", roles.get("client"), "at least 1: it runs the tools")
    kinds = {store["kind"] for store in experiment.get("stores", {}).values()}
    for role in ("mds", "oss") if "cephfs" in kinds else ():
        if not roles.get(role):
            raise fault(paper, f"{key}.roles.{role}", roles.get(role), "at least 1 for a store of kind cephfs")


def _check_replicas(paper: Paper, key: str, experiment: Mapping[str, Any]) -> None:
    """In no cell more replicas than DataNodes, and in none more lost than there are to lose."""
    known = workload_of(experiment["workload"]).known()
    for cell in cells_of(experiment):
        parameters, nodes = paper.parameters(experiment["id"], cell), paper.roles(experiment["id"], cell)["datanode"]
        for name in ("replication", "output_replication"):
            copies = parameters.get(name)
            if copies is None or copies <= nodes:
                continue
            place = f"factors.{name}" if name in cell else f"parameters.{name}"
            if name == "replication" and "replication" in paper.store(experiment["id"], cell):
                place = f"stores.{cell['store']}.replication"
            raise fault(paper, f"{key}.{place}", copies, f"at most {nodes}, the DataNodes of {_cell(experiment, cell)}")
        if "lost_replicas" in known and parameters["lost_replicas"] >= parameters["replication"]:
            place = "factors" if "lost_replicas" in cell else "parameters"
            raise fault(paper, f"{key}.{place}.lost_replicas", parameters["lost_replicas"],
                        f"fewer than replication, {parameters['replication']}")  # fmt: skip


def _check_clients(paper: Paper, key: str, experiment: Mapping[str, Any]) -> None:
    """In no cell more clients than hosts for them, and none on DataNodes that put erasure-coded files."""
    for cell in cells_of(experiment):
        parameters, store = paper.parameters(experiment["id"], cell), paper.store(experiment["id"], cell)
        role, asked = parameter(parameters, "put_from"), parameter(parameters, "clients")
        if asked > (most := paper.roles(experiment["id"], cell)[role]):
            place = "factors" if "clients" in cell else "parameters"
            hosts = "hosts in roles.client" if role == "client" else f"DataNodes of {_cell(experiment, cell)}"
            raise fault(paper, f"{key}.{place}.clients", asked, f"at most {most}, the {hosts}")
        if role == "datanode" and "erasure_coding" in store:
            place = "factors" if "put_from" in cell else "parameters"
            expected = f"client beside erasure_coding of the store {cell['store']}, whose blocks go to all hosts alike"
            raise fault(paper, f"{key}.{place}.put_from", role, expected)


def _check_task_workers(paper: Paper, key: str, experiment: Mapping[str, Any]) -> None:
    """In no cell tasks on more workers than there are, or than map tasks; none chosen where the data are elsewhere."""
    for cell in cells_of(experiment):
        parameters, nodes = paper.parameters(experiment["id"], cell), paper.roles(experiment["id"], cell)["datanode"]
        asked = parameters.get("task_workers")
        if asked is None:
            continue
        where = f"{key}.{'factors' if 'task_workers' in cell else 'parameters'}.task_workers"
        if asked > (most := min(nodes, parameters["maps"])):
            what = "workers" if most == nodes else "map tasks"
            raise fault(paper, where, asked, f"at most {most}, the {what} of {_cell(experiment, cell)}")
        if paper.store(experiment["id"], cell)["kind"] != "hdfs":
            raise fault(paper, where, asked, "nothing beside a store of kind cephfs, where the factor nodes says it")


def _cell(experiment: Mapping[str, Any], cell: Mapping[str, Any]) -> str:
    return " ".join([experiment["id"], *map(str, cell.values())])


def _check_stores(paper: Paper, key: str, experiment: Mapping[str, Any]) -> None:
    """A store has the keys of its kind, all that a mounted one needs, and no more targets than servers have."""
    of_mounted = ("stripe_count", "stripe_size_bytes", "max_dirty_bytes", "readahead_bytes")
    targets = experiment["roles"].get("oss", 0) * OSTS_PER_OSS
    for name, store in experiment.get("stores", {}).items():
        where = f"{key}.stores.{name}"
        if store["kind"] == "hdfs":
            for unread in set(store) & set(of_mounted):
                raise fault(paper, f"{where}.{unread}", store[unread], "nothing: a store of kind hdfs has none")
            continue
        if "replication" in store:
            raise fault(paper, f"{where}.replication", store["replication"], "nothing: a store of kind cephfs has none")
        for needed in of_mounted:
            if needed not in store:
                raise fault(paper, f"{where}.{needed}", None, "a number, for a store of kind cephfs")
        if store["stripe_count"] > targets:
            expected = f"at most {targets}: each of roles.oss has {OSTS_PER_OSS} targets"
            raise fault(paper, f"{where}.stripe_count", store["stripe_count"], expected)


def _check_sources(paper: Paper, key: str, hardware: Mapping[str, Any]) -> None:
    """Every source is of an entry of its drive, and a read rate, which a drive may lack, has a source."""
    drives = {"hardware.drive": hardware.get("drive", {}) | {"sources": hardware.get("sources", {})}}
    drives |= {f"hardware.drives.{name}": drive for name, drive in hardware.get("drives", {}).items()}
    for place, drive in drives.items():
        where = f"{key}.{place.removesuffix('.drive')}.sources"
        for name in drive["sources"]:
            if name not in drive:
                raise fault(paper, where, name, f"an entry of {place}", drive)
        if READ_RATE in drive and READ_RATE not in drive["sources"]:
            raise fault(paper, f"{where}.{READ_RATE}", None, "where the number comes from, or `assumption: …`")


def _check_drive(paper: Paper, key: str, experiment: Mapping[str, Any]) -> None:
    """Levels of drives are what the drive's own entries may be, and every cell has drives that can be modelled."""
    drive, named = (experiment.get("hardware", {}).get(part, {}) for part in ("drive", "drives"))
    if SHARED_DRIVES in named:
        expected = "another name: as a level of intermediate_drive it means the DataNode's drives"
        raise fault(paper, f"{key}.hardware.drives", SHARED_DRIVES, expected)
    parts = schema("paper")["$defs"]["drive"]["properties"]
    for name in set(drive) & set(experiment["factors"]):
        for index, level in enumerate(experiment["factors"][name]):
            least = parts[name].get("exclusiveMinimum", parts[name].get("minimum", 0))
            strictly, whole = "exclusiveMinimum" in parts[name], parts[name]["type"] == "integer"
            most = parts[name]["maximum"]
            right = isinstance(level, int if whole else int | float) and not isinstance(level, bool)
            if not right or not least <= level <= most or (strictly and level == least):
                kind, bound = "a whole number" if whole else "a number", "more than" if strictly else "at least"
                raise fault(paper, f"{key}.factors.{name}[{index}]", level, f"{kind}, {bound} {least}, at most {most}")
    for cell in cells_of(experiment):
        hardware = hardware_of(experiment, cell)
        if READ_RATE in hardware and paper.store(experiment["id"], cell)["kind"] == "cephfs":
            expected = f"hdfs: {READ_RATE} is given, and object servers' drives have one rate for reading and writing"
            raise fault(paper, f"{key}.stores.{cell['store']}.kind", "cephfs", expected)
        own, most = hardware.get("intermediate", {}).get("count", 0), hardware.get("count", 0)
        if own > most:
            name = paper.parameters(experiment["id"], cell)["intermediate_drive"]
            expected = f"at most {most}, the DataNode's drives, each of which has a folder for intermediate data"
            raise fault(paper, f"{key}.hardware.drives.{name}.count", own, expected)


def _unread(paper: Paper, experiment: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """(key, value, expected) of keys that no run of the experiment would read."""
    factors, workload = experiment["factors"], workload_of(experiment["workload"])
    for factor, name in _NAMED:
        if name in experiment and factor not in factors:
            yield name, sorted(experiment[name]), f"nothing without a factor {factor}: no run would read it"
    hardware = experiment.get("hardware", {})
    for part in TURNS_OFF.values():
        if part in hardware and not drives_modelled(experiment):
            yield f"hardware.{part}", hardware[part], "nothing without a drive in every cell, in front of which it is"
    if "writer" in hardware and (expected := _unbound(workload, experiment)):
        yield "hardware.writer", hardware["writer"], expected
    if "scale" in experiment:
        for name in ("whole_file", "file_blocks"):
            if experiment.get(name):
                yield name, experiment[name], "nothing beside scale.bytes, which says how much is moved"
        for place in ("parameters", "factors"):
            if "file_blocks" in experiment[place]:
                value = experiment[place]["file_blocks"]
                yield f"{place}.file_blocks", value, "nothing beside scale.bytes, which says how much is moved"
    elif "splits" in factors:
        yield "factors.splits", factors["splits"], "nothing without scale.splits, whose place it takes"
    if workload.on_yarn and "file_blocks" in experiment:
        yield "file_blocks", experiment["file_blocks"], f"nothing: {workload.name} does not put files"
    if experiment.get("whole_file"):
        for place, keys in (("", experiment), ("factors.", factors), ("parameters.", experiment["parameters"])):
            if "file_blocks" in keys:
                yield f"{place}file_blocks", keys["file_blocks"], "nothing beside whole_file"


def _unbound(workload: Workload, experiment: Mapping[str, Any]) -> str:
    """What was expected in place of a bound on writers that no run can have; empty where runs can."""
    if "writer_bound" not in workload.factors:
        bound = [name for name, of in WORKLOADS.items() if "writer_bound" in of.factors]
        return f"nothing: only {' and '.join(bound)} have one writer for each of the paper's"
    stores = experiment.get("stores", {}).values()
    if any(store["kind"] != "hdfs" or "erasure_coding" in store for store in stores):
        return "nothing beside a store without replicas, where a writer has several connections"
    return ""
