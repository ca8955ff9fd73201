"""Papers whose right answers are known, to validate the verdicts. Pure.

`ratios` makes a small paper of light puts without drives, whose times depend on links only: on a link r times as fast,
a put takes 1/r of the time. `same_pairs` turns a paper's claims into comparisons of a cell with itself. `groups` splits
the replicates: each group has the least number of runs per cell that a verdict needs, so each group is one study.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from whitewire.description.paper import PLACES, Paper, against, tests_of
from whitewire.design.rows import cell_of, levels_of, make_design
from whitewire.estimands import estimand_of
from whitewire.factors import parameter
from whitewire.levels import CellId, cell_ids
from whitewire.records.run import DesignRow
from whitewire.statistics import FEWEST

EFFORT, BLOCK = "quick", "quick-1"
"""Effort of the rows of all these studies, and their only block."""
SEED = 1
_RATIOS = (1.1, 1.25, 1.5, 2.0, 4.0)
"""True ratios of the rates of two links."""
K = 64
"""Scale factor. The slowest link has 1000/64 Mbit/s, the fastest 62.5, which two processors serve easily."""
_PUTS, _CLIENTS = 4, (1, 2)
"""Puts per client; numbers of clients. With one, its own link determines the time, with two also shared DataNodes."""
EXPERIMENT, METRIC = "known", "throughput"
_KINDS = ("hdfs_put", "testdfsio", "terasort")
"""Workloads that are measured beside other lanes."""
MOST_LANES = 4
"""Most lanes side by side."""
RUNS = FEWEST
"""Runs of each cell in a group."""


def link(ratio: float) -> str:
    """Name of the fabric whose links are `ratio` times as fast as those of 1 Gbit/s."""
    return f"{ratio:g}gbe"


def paper_of_ratios(
    groups: int, wanted: Sequence[float] = _RATIOS, clients: Sequence[int] = _CLIENTS
) -> dict[str, Any]:
    """Content of a paper's YAML whose claims are the ratios of its links' rates, with `groups` groups of runs.

    Its controls measure each link under another one's name; their right ratio is 1.
    """
    cells = list(product(wanted, clients))
    return {
        "id": "known",
        "title": "Links of known ratio",
        "publisher": "Whitewire",
        "year": None,
        "testbed": {"nodes": 7},
        "exhibits": [{"id": "table1", "caption": "Rates of links"}],
        "values": [
            {"id": f"K-V{number:02}", "exhibit": "table1", "metric": "ratio of rates", "condition": link(ratio),
             "value": ratio, "printed": f"{ratio:g}x", "unit": "x", "quote_location": "as set", "scope": "result"}
            for number, ratio in enumerate(wanted, start=1)
        ],
        "claims": [_claim(number, ratio, count) for number, (ratio, count) in enumerate(cells, start=1)],
        "scale": {"k": K, "block_granule_bytes": 512, "packet_bytes": 16384,
                  "file_blocks": dict.fromkeys(("smoke", "quick", "full"), 1)},
        "replicates": dict.fromkeys(("smoke", "quick", "full"), {"claimed": RUNS * groups, "other": 0}),
        "blocks": dict.fromkeys(("smoke", "quick", "full"), 1),
        "experiments": [{
            "id": EXPERIMENT, "title": "Puts on links of known ratio", "workload": "hdfs_put",
            "roles": {"namenode": 1, "datanode": 4, "client": max(clients)},
            "factors": {"fabric": [link(ratio) for ratio in (1, *wanted)], "clients": list(clients)},
            "parameters": {"file_size_bytes": 5e9, "block_size_bytes": 67108864, "replication": 2,
                           "puts_per_client": _PUTS},
        }],
        "controls": [_control(number, *each) for number, each in enumerate(_names(wanted, clients), start=1)],
    }  # fmt: skip


def _names(wanted: Sequence[float], clients: Sequence[int]) -> Iterator[tuple[float, float, int]]:
    """(nominal link, actual link, clients) for each control, so that no two are compared with the same cell.

    Nominal and actual links differ much, so that faults which depend on the name become visible.
    """
    links = (1.0, *wanted)
    for place, count in product(range(len(links)), clients):
        yield links[place], links[(place + len(links) // 2) % len(links)], count


def _control(number: int, name: float, really: float, clients: int) -> dict[str, Any]:
    return {
        "id": f"K-K{number:02}", "title": f"{clients} x {_PUTS} puts under the name {link(name)}, on {link(really)}",
        "metric": METRIC, "cell": {"experiment": EXPERIMENT, "where": {"fabric": link(name), "clients": clients}},
        "really": {"fabric": link(really)},
    }  # fmt: skip


def _claim(number: int, ratio: float, clients: int) -> dict[str, Any]:
    sides = [{"experiment": EXPERIMENT, "where": {"fabric": link(each), "clients": clients}} for each in (ratio, 1)]
    return {
        "id": f"K-C{number:02}", "statement": f"{clients} x {_PUTS} puts are {ratio:g} times as fast", "kind": "ratio",
        "basis": "as set", "exhibits": ["table1"], "routes": ["emulated", "measured"],
        "why": "Nothing but links sets the time of these puts",
        "test": {"estimand": "ratio", "metric": METRIC, "numerator": sides[0], "denominator": sides[1],
                 "relation": "within", "expected": ratio, "relative": 0.1, "no_effect": 1},
    }  # fmt: skip


def same_pairs(paper: Paper, effort: str = EFFORT) -> list[dict[str, Any]]:
    """An A/A control for each side of every pair that a paper's claims compare in networks or stores only."""
    found: dict[str, dict[str, Any]] = {}
    for claim in paper.claims:
        for test in tests_of(claim):
            if "metric" not in test:
                continue
            for one, other in estimand_of(test).pairs():
                for (name, levels), (name_2, levels_2) in ((one, other), (other, one)):
                    differ = {f for f in levels if levels.get(f) != levels_2.get(f)}
                    efforts = paper.experiments[name].get("efforts", [effort])
                    if name != name_2 or not differ or not differ <= set(PLACES) or effort not in efforts:
                        continue
                    really = {factor: levels_2[factor] for factor in sorted(differ)}
                    key = json.dumps([name, levels, really])
                    control = found.setdefault(key, {
                        "id": f"{paper.id[0].upper()}-K{len(found) + 900}", "title": "A/A of a claim's pair",
                        "metric": test["metric"], "also": [], "cell": {"experiment": name, "where": levels},
                        "really": really,
                    })  # fmt: skip
                    if test["metric"] not in (control["metric"], *control["also"]):
                        control["also"].append(test["metric"])
    return list(found.values())


def same(paper: Paper, groups: int) -> Paper:
    """A paper whose controls are `same_pairs`, with `groups` groups of runs."""
    raw = copy.deepcopy(dict(paper.on(0).raw))
    raw["controls"] = same_pairs(paper)
    raw.pop("looks", None)
    raw["replicates"] = {**raw["replicates"], EFFORT: {"claimed": RUNS * groups, "other": RUNS * groups}}
    raw["blocks"] = {**raw["blocks"], EFFORT: 1}
    for experiment in raw["experiments"]:
        experiment.pop("replicates", None)
    return Paper(raw, paper.path)


def of_controls(paper: Paper, testbed: Mapping[str, Any]) -> list[DesignRow]:
    """Rows of a paper's controls and of the cells that they are compared with, in the order of running."""
    cells = cell_ids((each["cell"]["experiment"], against(each)) for each in paper.controls)
    return in_order([
        row for row in make_design(paper, testbed, EFFORT, SEED)
        if "control" in paper.experiments[row["experiment"]] or cell_of(paper, row) in cells
    ])  # fmt: skip


def of_smoke(paper: Paper, testbed: Mapping[str, Any], runs: int) -> list[DesignRow]:
    """Rows with `runs` runs of each cell of smoke effort, scaled as at quick effort."""
    cells = {cell_of(paper, row) for row in make_design(paper, testbed, "smoke", SEED)}
    return in_order([
        row for row in make_design(paper, testbed, EFFORT, SEED)
        if row["replicate"] <= runs and cell_of(paper, row) in cells
    ])  # fmt: skip


def of_kinds(paper: Paper, testbed: Mapping[str, Any], runs: int) -> list[DesignRow]:
    """Rows with `runs` runs of one cell of smoke effort for each of _KINDS: the cell on the fastest links, with most
    clients, which needs most of the processors. Empty if a paper has no such cell."""
    cells: dict[str, dict[CellId, list[DesignRow]]] = {}
    for row in of_smoke(paper, testbed, RUNS):
        if row["workload"] in _KINDS:
            cells.setdefault(row["workload"], {}).setdefault(cell_of(paper, row), []).append(row)

    def wants(rows: Sequence[DesignRow]) -> tuple[float, float]:
        levels = levels_of(paper, rows[0])
        fabric = testbed["fabrics"][paper.parameters(rows[0]["experiment"], levels)["fabric"]]
        return fabric["rate_mbit_per_s"], parameter(levels, "clients")

    chosen = [max(of.values(), key=wants) for of in cells.values()]
    return in_order([
        {**(row := rows[number % len(rows)]), "run_id": f"{row['run_id']}-{number + 1}", "replicate": number + 1}
        for number in range(runs) for rows in chosen
    ])  # fmt: skip


def all_rows(paper: Paper, testbed: Mapping[str, Any]) -> list[DesignRow]:
    """All rows of a paper, in BLOCK."""
    return in_order(make_design(paper, testbed, EFFORT, SEED))


def of_fastest(paper: Paper, testbed: Mapping[str, Any], repetitions: int) -> list[DesignRow]:
    """Rows with `repetitions` runs of each cell on the fastest link, which need most of the processors."""
    fastest = link(max(_RATIOS))
    return [
        row for row in make_design(paper, testbed, EFFORT, SEED)
        if row["experiment"] == EXPERIMENT and dict(row)["fabric"] == fastest and row["replicate"] <= repetitions
    ]  # fmt: skip


def in_order(rows: Sequence[DesignRow]) -> list[DesignRow]:
    """Copies of the rows in BLOCK, numbered in this order."""
    return [{**row, "order": order, "block": BLOCK} for order, row in enumerate(rows, start=1)]


def groups(replicates: int) -> Iterator[tuple[int, int]]:
    """(first, last) replicate of each complete group."""
    for first in range(1, replicates - RUNS + 2, RUNS):
        yield first, first + RUNS - 1


def loaded(rows: Sequence[DesignRow], loads: Sequence[float]) -> tuple[list[DesignRow], dict[str, float]]:
    """(each row once at each load, run id → load). All loads of a replicate come before the next replicate."""
    found: list[DesignRow] = []
    load_of: dict[str, float] = {}
    for replicate in sorted({row["replicate"] for row in rows}):
        own = [row for row in rows if row["replicate"] == replicate]
        # Each load takes each position of a round in turn, so that drift is not confounded with it.
        turned = [loads[(place + replicate) % len(loads)] for place in range(len(loads))]
        for load in turned:
            for row in own:
                run_id = f"{row['run_id']}-load{load:g}"
                found.append({**row, "run_id": run_id})
                load_of[run_id] = load
    return in_order(found), load_of
