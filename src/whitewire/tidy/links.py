"""Tables of a testbed's links from their record (records/links.py), with outliers; a data package."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from whitewire.description import project
from whitewire.description.capabilities import capabilities_of
from whitewire.description.checks import load_paper
from whitewire.description.names import paper_names
from whitewire.description.paper import Paper, cells_of, without_servers
from whitewire.description.testbed import fabric_names, is_emulated, lane_of, lane_roles, load_testbed
from whitewire.errors import UserError
from whitewire.records import links, outliers
from whitewire.records.checked import TESTBED_TABLES
from whitewire.records.links import HostsRecord, LinksRecord, read_hosts, read_links
from whitewire.records.outliers import Outlier, outliers_of_folder
from whitewire.tidy.columns import LANE
from whitewire.tidy.tables import LINKS_COLUMNS, Cells, flag, write_tables


def write_links_tables(folder: Path) -> None:
    """Read the record in results/<testbed>/links, write tables below it. Raises UserError that names an incomplete
    file."""
    record = read_links(folder)
    hosts, found = read_hosts(folder), outliers_of_folder(folder)
    rows: dict[str, Iterable[Cells]] = {
        "hosts.csv": _hosts(hosts, lane_of(load_testbed(record["plan"]["testbed"]))),
        "fabrics.csv": _fabrics(record),
        "links.csv": _links(hosts),
        "pairs.csv": ({**row} for row in links.pair_rows(folder)),
        "ways.csv": _ways(folder, record),
        "drives.csv": links.drive_rows(folder),
        "probes.csv": ({**row, "ok": flag(row["ok"])} for row in links.model_rows(folder)),
        "rdma.csv": links.rdma_rows(folder),
        "transports.csv": ({**row} for row in links.transport_rows(folder)),
        "outliers.csv": _outliers(found),
        "left_out.csv": ({"reason": why} for why in record["left_out"]),
        "fit.csv": _fit(record, found),
    }
    write_tables(folder / TESTBED_TABLES, f"{record['plan']['testbed']}-links", LINKS_COLUMNS, rows)


def _hosts(record: HostsRecord, lanes: Mapping[str, int]) -> Iterable[Cells]:
    machine = record["machine"]
    for host in record["hosts"]:
        facts = record["facts"].get(host["name"])
        about: Mapping[str, object] = machine if facts is None else _machine_of(facts)
        ahead = record["clocks"].get(host["name"])
        yield {
            "host": host["name"], "role": host["role"], "target": host["target"],
            **{name: about.get(name, "") for name in ("processor", "processors", "memory_gib", "kernel", "system",
                                                     "congestion_control")},
            "clock_ms": "" if ahead is None else f"{ahead * 1e3:.3f}", LANE: lanes.get(host["target"], ""),
        }  # fmt: skip


def _machine_of(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts that a site's host reports (testbed/site/shell.ABOUT), as cells."""
    memory = re.search(r"(\d+) kB", facts.get("memory", ""))
    control = re.search(r"^ipv4/tcp_congestion_control (\S+)", facts.get("sysctls", ""), re.MULTILINE)
    return {
        "processor": facts.get("processor", "").partition(":")[2].strip(),
        "processors": facts.get("processors", ""),
        "memory_gib": f"{int(memory[1]) / 2**20:.1f}" if memory else "",
        "kernel": facts.get("kernel", ""),
        "system": facts.get("system", "").partition("=")[2].strip('"'),
        "congestion_control": control[1] if control else "",
    }


def _fabrics(record: LinksRecord) -> Iterable[Cells]:
    for each in record["plan"]["fabrics"]:
        streams = " ".join(map(str, each["streams"]))
        own = {key: value for key, value in each.items() if key != "name"}
        yield {**own, "fabric": each["name"], "streams": streams, "shared": flag(each["shared"])}


def _links(record: HostsRecord) -> Iterable[Cells]:
    for fabric, hosts in record["links"].items():
        for host, link in hosts.items():
            of = record["facts"].get(host, {}).get("fabrics", {}).get(fabric, {})
            at = {name: of.get(name, "") for name in ("interface", "address")}
            yield {"fabric": fabric, "host": host, **at, **link}


def _ways(folder: Path, record: LinksRecord) -> Iterable[Cells]:
    """Each pair in each direction as it is judged, with its round trip at rest, which was measured in one direction."""
    rows = list(links.pair_rows(folder))
    rest = {(row["fabric"], frozenset((row["source"], row["destination"]))): row["value"]
            for row in rows if row["metric"] == "rtt_at_rest"}  # fmt: skip
    bound = record["plan"]["limits"]["link_error"]
    for way in outliers.ways(rows):
        row = {**asdict(way), "beyond": flag(outliers.beyond(way, bound)), "alone": flag(way.alone)}
        row |= dict(zip(("cpu_source", "cpu_destination"), row.pop("cpu"), strict=False))
        row["rtt_at_rest"] = rest.get((way.fabric, frozenset((way.source, way.destination))))
        measured = ("goodput", "expected", "error", "retransmit_share", "rtt", "beside_error")
        yield {**row, **dict.fromkeys(measured)} if way.why else row


def _outliers(found: Iterable[Outlier]) -> Iterable[Cells]:
    for each in found:
        yield {**asdict(each), "hosts": " ".join(each.hosts), "stops": flag(each.stops), "said": each.said}


# --- which papers the testbed is fit for -----------------------------------------------------------------


def _fit(record: LinksRecord, found: Sequence[Outlier]) -> Iterable[Cells]:
    """Every described paper, whether the testbed is fit for it, and why not; for a paper with a fault, the fault."""
    plan = record["plan"]
    config = load_testbed(plan["testbed"])
    roles = lane_roles(config) if lane_of(config) else plan["roles"]
    for name in paper_names():
        try:
            paper = load_paper(project.paper_path(name), fabric_names(config))
        except UserError as fault:
            yield {"paper": name, "fit": "no", "reason": str(fault)}
            continue
        fit, reason = fit_of(paper, config, roles, found)
        yield {"paper": name, "fit": fit, "reason": reason}


def fit_of(paper: Paper, config: Mapping[str, Any], roles: Mapping[str, int], found: Sequence[Outlier]
           ) -> tuple[str, str]:  # fmt: skip
    """(`yes`, `partly` or `no`, why): whether a paper fits a testbed with these numbers of hosts per role."""
    cells = [(name, experiment, levels) for name, experiment in paper.experiments.items()
             if "control" not in experiment for levels in cells_of(experiment)]  # fmt: skip
    if not cells:
        return "yes", "it runs nothing"
    lacks: dict[str, int] = {}
    fabrics: dict[str, None] = {}
    for name, _, levels in cells:
        missing = _missing(paper, name, levels, config, roles)
        for what in missing:
            lacks[what] = lacks.get(what, 0) + 1
        if not missing and (fabric := paper.parameters(name, levels).get("fabric")):
            fabrics[fabric] = None
    reasons = [f"{what} ({count} of {len(cells)} cells)" for what, count in lacks.items()]
    whole = [count for count in lacks.values() if count == len(cells)]
    stops = [each for each in found if each.stops and not each.part_of and each.fabric in ("", *fabrics)]
    reasons += [f"beyond its bound: {each.said}" for each in stops]
    if whole:
        return "no", "; ".join(reasons)
    if reasons:
        return "partly", "; ".join(reasons)
    return "yes", "emulated: rates of links are the paper's divided by its k" if is_emulated(config) else ""


def _missing(paper: Paper, name: str, levels: Mapping[str, Any], config: Mapping[str, Any], roles: Mapping[str, int]
             ) -> list[str]:  # fmt: skip
    """What a cell needs and a testbed lacks, in words."""
    fabric, store = paper.parameters(name, levels).get("fabric"), paper.store(name, levels)
    missing = [f"no network {fabric}"] if fabric is not None and fabric not in config["fabrics"] else []
    if capabilities_of(config).makes_hosts:
        return missing  # as many hosts as are asked for, and CephFS where this machine can
    needs = without_servers(paper.roles(name, levels))
    if not capabilities_of(config).lists_hosts:
        have, need = sum(roles.values()), sum(needs.values())
        short = {"hosts": (have, need)} if have < need else {}
    else:
        short = {role: (roles.get(role, 0), need) for role, need in needs.items() if roles.get(role, 0) < need}
    missing += [f"{have} {what} of {need}" for what, (have, need) in short.items()]
    return missing + (["no mount"] if store["kind"] == "cephfs" and "mount" not in config else [])
