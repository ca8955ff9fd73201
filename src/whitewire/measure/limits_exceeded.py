"""Findings of the stage `links` for a block of runs: whether something that it uses is beyond its bound, and what each
pair of hosts carried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whitewire import lanes
from whitewire.description.capabilities import capabilities_of
from whitewire.description.paper import Paper
from whitewire.description.testbed import digest, lane_hosts
from whitewire.design.rows import hosts_of_rows, levels_of
from whitewire.errors import Faults, UserError
from whitewire.paths import shown
from whitewire.records import links, outliers
from whitewire.records.links import LINKS_FOLDER, LINKS_RECORD, HostPlace, read_links
from whitewire.records.outliers import outliers_of_folder
from whitewire.records.run import DesignRow
from whitewire.testbed.site import job
from whitewire.testbed.site.inventory import of_lane, same_machine

_GO_ON = "put it right and remove {folder}, or go on and mark every figure with OUTLIERS=mark"

Carried = Mapping[tuple[str, str, str], float]
"""Mbit/s by (fabric, sender, receiver), with the hosts' names for ssh or the scheduler."""


@dataclass(frozen=True)
class Before:
    """Findings for a block; `marks`: things beyond their bounds that the block uses all the same, one line each."""

    marks: tuple[str, ...] = ()
    carried: Carried = field(default_factory=dict)


def before(results: Path, config: Mapping[str, Any], paper: Paper, rows: Sequence[DesignRow], choice: str) -> Before:
    """Findings of the stage `links` below `results` (results/<testbed>) for a block with these rows.

    Empty for hosts on this machine: there, a link beyond its bound only shows that the machine was busy, and each block
    probes its links itself. Raises UserError if links were not measured, or not with this description; where `choice`,
    `outliers` of config.yaml, is `stop` and not `mark`, raises Faults with one line per thing beyond its bound.
    """
    if capabilities_of(config).local:
        return Before()
    folder = results / LINKS_FOLDER
    record = read_links(folder)
    if record["plan"]["description"] != digest(config):
        raise UserError(
            f"{shown(folder / LINKS_RECORD)}: plan.description: found the links of another description of this "
            "testbed, expected those of the present one; measure them with `.venv/bin/whitewire links`"
        )
    used = _used_by_lane(record["hosts"], config, paper, rows)
    fabrics = {paper.parameters(row["experiment"], levels_of(paper, row))["fabric"] for row in rows}
    stops = [each for each in outliers_of_folder(folder) if each.stops and not each.part_of]
    wrong = [
        each.said for each in stops if each.fabric in ("", *fabrics) and any(set(each.hosts) <= lane for lane in used)
    ]
    if wrong and choice == "stop":
        raise Faults([*wrong, _GO_ON.format(folder=shown(folder))])
    target = {host["name"]: host["target"] for host in record["hosts"]}
    carried = {(way.fabric, target[way.source], target[way.destination]): way.goodput
               for way in outliers.ways(links.pair_rows(folder)) if not way.why}  # fmt: skip
    return Before(tuple(wrong), carried)


def _used_by_lane(hosts: Sequence[HostPlace], config: Mapping[str, Any], paper: Paper, rows: Sequence[DesignRow]
                  ) -> list[set[str]]:  # fmt: skip
    """Names of the hosts that a block uses, for each lane that it may have."""
    if not capabilities_of(config).lists_hosts:
        nodes, count = job.nodes_of(config), lanes.count()
        return [hosts_used(hosts, of_lane(nodes, lane + 1, count), paper, rows) for lane in range(count)]
    targets = [{config["hosts"][number]["ssh"] for number in lane} for lane in lane_hosts(config)]
    return [hosts_used([host for host in hosts if host["target"] in lane], [], paper, rows) for lane in targets]


def hosts_used(hosts: Sequence[HostPlace], nodes: Sequence[str], paper: Paper, rows: Sequence[DesignRow]) -> set[str]:
    """Names of the hosts that a block uses: the first ones of each role, or of a scheduler's job its first `nodes`.

    Each block may be a job of its own, on other nodes than links were measured on; nodes without measured links have no
    name.
    """
    most = hosts_of_rows(paper, rows, servers=False)
    if nodes:
        first = nodes[: sum(most.values())]
        return {host["name"] for host in hosts if any(same_machine(host["target"], node) for node in first)}
    found: set[str] = set()
    for role, count in most.items():
        found |= {host["name"] for host in [each for each in hosts if each["role"] == role][:count]}
    return found
