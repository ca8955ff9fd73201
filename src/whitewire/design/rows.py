"""The design: which runs, in which block and order.

Order is random inside a block, over all experiments and fabrics at once, so that drift of the machine
does not line up with a factor. The random numbers come from the recorded seed alone (PCG64).
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from whitewire import workloads
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper, cells_in, cells_of, ratio_of, tests_of
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design.scale import scale_of
from whitewire.errors import UserError
from whitewire.records.run import DesignRow
from whitewire.text import canonical

DEFINING = ("kind", "fabrics", "switch", "tcp", "scale", "data_fraction")
"""What of a testbed's description makes a run another run."""
FIRST = ("run_id", "block", "order", "experiment", "workload", "replicate")


def blocks(paper: Paper, effort: str) -> list[str]:
    """Names of the blocks of an effort: `quick-1`, `quick-2`, …"""
    return [f"{effort}-{n}" for n in range(1, paper.raw["blocks"][effort] + 1)]


def claimed_cells(paper: Paper) -> set[tuple[str, str]]:
    """(experiment, cell as JSON) of every cell that a claim's test or reading names."""
    return {
        (name, canonical(levels))
        for claim in paper.claims
        for test in tests_of(claim)
        for name, levels in cells_in(test)
    }


def compared_cells(paper: Paper) -> set[tuple[str, str]]:
    """(experiment, cell as JSON) of every control, and of every cell that one is compared with."""
    return {(name, canonical(levels)) for control in paper.controls for name, levels in cells_in(ratio_of(control))}


def make_design(paper: Paper, testbed: Mapping[str, Any], effort: str, seed: int) -> list[DesignRow]:
    """Rows of design.csv, block by block in the order of running.

    `testbed` is its description: `fabrics` by name, and `kind`. Each block has an equal share of the
    replicates of each claimed cell (shares differ by one at most when they do not divide). A factor that an
    experiment does not have is an empty cell. Raises UserError for an unknown effort.
    """
    if effort not in paper.raw["replicates"]:
        known = ", ".join(paper.raw["replicates"])
        raise UserError(f"effort: found {effort!r}, expected one of {known}")
    rng = np.random.Generator(np.random.PCG64(seed))
    fabrics, names = set(testbed["fabrics"]), blocks(paper, effort)
    members: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    spare = 0
    for experiment, levels, count in _counts(paper, effort):
        if not _possible(paper, experiment, levels, fabrics, testbed["kind"]):
            continue
        each, rest = divmod(count, len(names))
        # The remainder goes round the blocks, so that no block gets all the odd runs.
        extra = {names[(spare + i) % len(names)] for i in range(rest)}
        spare += rest
        replicate = 0
        for name in names:
            for _ in range(each + (name in extra)):
                replicate += 1
                members[name].append(_row(paper, experiment, effort, levels, replicate, seed, testbed))
    rows = []
    for name, runs in members.items():
        for order, index in enumerate(rng.permutation(len(runs)), start=1):
            rows.append(runs[index] | {"block": name, "order": order})
    return [cast("DesignRow", {column: row[column] for column in columns(paper)}) for row in rows]


def columns(paper: Paper) -> list[str]:
    """Columns of design.csv."""
    return [*FIRST, *paper.factors, "seed"]


def _counts(paper: Paper, effort: str) -> Iterable[tuple[Mapping[str, Any], dict[str, Any], int]]:
    claimed = claimed_cells(paper) | compared_cells(paper)
    for experiment in paper.experiments.values():
        if effort not in experiment.get("efforts", [effort]):
            continue
        counts = experiment.get("replicates", {}).get(effort, paper.raw["replicates"][effort])
        if not isinstance(counts, Mapping):
            counts = {"claimed": counts, "other": counts}
        cells = cells_of(experiment)
        if effort == "smoke" and "smoke_cells" in experiment:
            cells = [c for c in cells if c in experiment["smoke_cells"]]
        for levels in cells:
            is_claimed = (experiment["id"], canonical(levels)) in claimed
            listed = effort == "smoke" and levels in experiment.get("smoke_cells", [])
            yield experiment, levels, counts["claimed" if is_claimed or listed else "other"]


def _possible(paper: Paper, experiment: Mapping[str, Any], levels: Mapping[str, Any], fabrics: set[str],
              kind: str) -> bool:  # fmt: skip
    """Whether a testbed has a cell's networks and can set its factors: switches, offloads and drives of a site stay."""
    parameters = paper.parameters(experiment["id"], levels)
    named = {parameters[name] for name in ("fabric", "load_fabric") if name in parameters}
    if "fabric" in levels:
        named.add(levels["fabric"])  # of a control: the network whose name it bears
    if not named <= fabrics:
        return False
    fixed = {"switch_buffer_kib", "offloads", "k", "packet_bytes", *experiment.get("hardware", {}).get("drive", {})}
    return kind == "emulated" or not fixed & set(levels)


def _row(
    paper: Paper,
    experiment: Mapping[str, Any],
    effort: str,
    levels: dict[str, Any],
    replicate: int,
    seed: int,
    testbed: Mapping[str, Any],
) -> dict[str, Any]:
    scale = scale_of(paper, experiment["id"], effort, levels, testbed)
    hardware = {k: v for k, v in experiment.get("hardware", {}).items() if k != "sources"}
    defines = {
        "workload": experiment["workload"],
        "roles": experiment["roles"],
        "parameters": experiment["parameters"],
        "settings": experiment.get("settings", {}).get(levels.get("settings"), {}),
        "hardware": hardware,
        "store": paper.store(experiment["id"], levels),
        "scale": scale.identity,
        "factors": levels,
        "replicate": replicate,
        # What the testbed's file sets on hosts and links; the bounds of validity may change without new runs.
        "testbed": {name: testbed[name] for name in DEFINING if name in testbed},
    }
    if "control" in experiment:
        defines["really"] = experiment["control"]["really"]
    if made_by := workloads.of(experiment["workload"]).identity(testbed):
        defines["made_by"] = made_by
    digest = hashlib.sha256(canonical(defines).encode()).hexdigest()
    text = "-".join(re.sub(r"[^A-Za-z0-9.]+", "_", str(level)) for level in levels.values())
    stem = f"{experiment['id']}-{text}" if text else experiment["id"]
    return {
        "run_id": f"{stem}-r{replicate}-{digest[:6]}",
        "experiment": experiment["id"],
        "workload": experiment["workload"],
        "replicate": replicate,
        **{factor: levels.get(factor, "") for factor in paper.factors},
        "seed": int(np.random.SeedSequence([seed, int(digest[:8], 16)]).generate_state(1)[0] >> 1),
    }


def levels_of(paper: Paper, row: DesignRow) -> dict[str, Any]:
    """Levels of a design row with the types of the paper's YAML (a CSV has text only)."""
    levels = {}
    cells: Mapping[str, object] = row
    for factor, known in paper.experiments[row["experiment"]]["factors"].items():
        match = [level for level in known if str(level) == str(cells[factor])]
        if not match:
            raise UserError(
                f"design: {row.get('run_id', '?')}: {factor}: found {cells[factor]!r}, expected one of "
                f"{', '.join(map(str, known))}"
            )
        levels[factor] = match[0]
    return levels


def write_csv(rows: Sequence[DesignRow], paper: Paper, path: Path | str) -> None:
    """Write design.csv."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns(paper), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read_csv(path: Path | str) -> list[DesignRow]:
    """Rows of design.csv as text, but `order`, `replicate` and `seed` as whole numbers."""
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            rows: list[dict[str, Any]] = list(csv.DictReader(file))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; make it with `whitewire design`") from None
    for row in rows:
        for column in ("order", "replicate", "seed"):
            row[column] = int(row[column])
    return cast("list[DesignRow]", rows)


def design(paper: str, testbed: str, effort: str, output: Path | str) -> None:
    """The design stage: read the configuration by name, write design.csv to `output`."""
    description = load_testbed(testbed)
    loaded = load_paper(project.paper_path(paper), fabric_names(description))
    write_csv(make_design(loaded, description, effort, project.load_config()["seed"]), loaded, output)
