"""The design: the runs, and their blocks and order.

A block consists of rounds, with one run of every cell that has runs left. A round begins with the cells of the headline
claim. Cells without a claim or control come after all rounds, and are measured if time is left. Otherwise the order is
random over all experiments and fabrics, so that drift of the machine is not confounded with a factor. The random
numbers depend only on the recorded seed (PCG64). This order applies until the first interim analysis; after it see
measure/rounds.py.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import numpy as np

from whitewire.description import project, transports
from whitewire.description.capabilities import capabilities_of
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper, cells_of, hardware_of, ratio_of, tests_of, without_servers
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.description.transports import TRANSPORT_NEEDED, find_transport, transport_of
from whitewire.design.scale import scale_of
from whitewire.errors import UserError
from whitewire.estimands import estimand_of
from whitewire.factors import FACTORS
from whitewire.levels import CellId, cell_id, cell_ids
from whitewire.levels import level_text as levels_text
from whitewire.paths import shown
from whitewire.records import schema
from whitewire.records.checked import parse_table
from whitewire.records.manifest import MANIFEST_FILE, manifest_faults, write_files
from whitewire.records.run import DesignRow
from whitewire.records.samples import Torn
from whitewire.records.schema import read_bounded
from whitewire.text import canonical, quoted
from whitewire.workloads import workload_of
from whitewire.workloads.base import Workload

EVERY_TESTBED = ("kind", "switch", "tcp", "scale", "data", "cluster", "hadoop", "java", "image")
"""Keys of a testbed's description (if present) whose change makes all its runs different runs."""
FABRICS = ("fabric", "load_fabric")
"""Parameters that name a fabric of a run."""
_MOST_RUNS = 10_000
"""Most runs of a paper at one effort."""
MOST_BLOCKS = 1000
SMOKE_RUNS = 6
"""Runs of each cell of the headline claim at smoke effort, except for jobs, which take too long: enough to decide a
claim of a factor of four."""
FIRST = ("run_id", "block", "effort", "order", "experiment", "workload", "replicate")


def block_names(paper: Paper, effort: str) -> list[str]:
    """Names of the blocks of an effort: `quick-1`, `quick-2`, …"""
    return [f"{effort}-{n}" for n in range(1, paper.raw["blocks"][effort] + 1)]


def effort_of(block: str) -> str:
    """The effort of a block, by its name."""
    return block.rsplit("-", 1)[0]


def claimed_cells(paper: Paper) -> set[CellId]:
    """Every cell of a claim's test or reading."""
    tests = (test for claim in paper.claims for test in tests_of(claim))
    return cell_ids(cell for test in tests for cell in estimand_of(test).cells())


def compared_cells(paper: Paper) -> set[CellId]:
    """The cells of all controls, and the cells that they are compared with."""
    return cell_ids(cell for control in paper.controls for cell in estimand_of(ratio_of(control)).cells())


def headline_cells(paper: Paper) -> set[CellId]:
    """Every cell of the headline claim, which answers the paper's title."""
    tests = (claim["test"] for claim in paper.claims if claim["id"] == paper.raw.get("headline"))
    return cell_ids(cell for test in tests for cell in estimand_of(test).cells())


def served_cells(paper: Paper) -> set[CellId]:
    """Every cell of a claim, a control or an inverse question."""
    found = claimed_cells(paper) | compared_cells(paper)
    for asked in (claim["inverse"] for claim in paper.claims if "inverse" in claim):
        found |= cell_ids(paper.matched(asked["experiment"], asked.get("where", {})))
    return found


def make_design(paper: Paper, testbed: Mapping[str, Any], effort: str, seed: int) -> list[DesignRow]:
    """Rows of design.csv, block by block in the order of running.

    `testbed`: its description. Each block has an equal share of the replicates of each claimed cell (shares differ by
    at most one). The column of a factor that an experiment does not have is empty. A paper without experiments has no
    rows. Raises UserError for an unknown effort.
    """
    if not paper.experiments:
        return []
    if effort not in paper.raw["replicates"]:
        known = ", ".join(paper.raw["replicates"])
        raise UserError(f"effort: found {quoted(effort)}, expected one of {known}")
    check_number(paper, [effort])
    rng = np.random.Generator(np.random.PCG64(seed))
    names = block_names(paper, effort)
    members: dict[str, list[tuple[tuple[bool, int, bool], dict[str, Any]]]] = {name: [] for name in names}
    headline, served = headline_cells(paper), served_cells(paper)
    spare = 0
    for experiment, levels, count in counts(paper, effort):
        if why_impossible(paper, experiment["id"], levels, testbed):
            continue
        each, rest = divmod(count, len(names))
        # The remainder is distributed over the blocks in turn, so that no block gets all the extra runs.
        extra = {names[(spare + i) % len(names)] for i in range(rest)}
        spare += rest
        replicate, cell = 0, cell_id(experiment["id"], levels)
        for name in names:
            for turn in range(each + (name in extra)):
                replicate += 1
                place = (cell not in served, turn, cell not in headline)
                members[name].append((place, _row(paper, experiment, effort, levels, replicate, seed, testbed)))
    rows = []
    for name, runs in members.items():
        shuffled = [runs[index] for index in rng.permutation(len(runs))]
        for order, (_, row) in enumerate(sorted(shuffled, key=lambda pair: pair[0]), start=1):
            rows.append(row | {"block": name, "effort": effort, "order": order})
    return [cast("DesignRow", {column: row[column] for column in columns(paper)}) for row in rows]


def check_number(paper: Paper, efforts: Iterable[str] = ()) -> None:
    """Raise UserError if one of the efforts (by default all of the paper's) would make too many runs."""
    for effort in efforts or paper.raw.get("replicates", ()):
        if (starts := paper.raw["blocks"][effort]) > MOST_BLOCKS:
            raise UserError(f"{shown(paper.path)}: blocks.{effort}: found {starts}, expected at most {MOST_BLOCKS}")
        runs = sum(count for _, _, count in counts(paper, effort))
        if runs > _MOST_RUNS:
            raise UserError(
                f"{shown(paper.path)}: replicates.{effort}: found {runs} runs, expected at most {_MOST_RUNS}"
            )


def columns(paper: Paper) -> list[str]:
    """Columns of design.csv."""
    return [*FIRST, *paper.factors, "seed"]


def counts(paper: Paper, effort: str) -> Iterable[tuple[Mapping[str, Any], dict[str, Any], int]]:
    """(experiment, levels, number of runs) of every cell at an effort, for any testbed."""
    claimed, headline = claimed_cells(paper) | compared_cells(paper), headline_cells(paper)
    for experiment in paper.experiments.values():
        if effort not in experiment.get("efforts", [effort]):
            continue
        own = paper.replicates(experiment["id"], effort)
        cells = cells_of(experiment)
        smoke = effort == "smoke"
        for levels in cells:
            cell, listed = cell_id(experiment["id"], levels), smoke and levels in experiment.get("smoke_cells", [])
            first = smoke and cell in headline
            if smoke and "smoke_cells" in experiment and not (listed or first):
                continue
            count = own["claimed" if cell in claimed or listed else "other"]
            least = SMOKE_RUNS if first and not workload_of(experiment["workload"]).on_yarn else 0
            yield experiment, levels, max(count, least)


def why_impossible(paper: Paper, experiment: str, levels: Mapping[str, Any], testbed: Mapping[str, Any]) -> str:
    """Why a testbed cannot make a cell: it lacks a network or transport, or cannot set a factor. Empty if it can.

    A site's switches, offloads and drives cannot be set. If transports are compared, it must have at least two of them.
    """
    parameters = paper.parameters(experiment, levels)
    if level := _lacking_transport(testbed, parameters, paper.experiments[experiment]["factors"].get("transport", ())):
        return TRANSPORT_NEEDED if level == transports.RDMA else f"this testbed has no transport {level}"
    named = [parameters[name] for name in FABRICS if name in parameters]
    if "fabric" in levels:
        named.append(levels["fabric"])  # in a control: the network whose name it has
    for name in named:
        if name not in testbed["fabrics"]:
            return f"this testbed has no network {name}"
    for name in {**levels, **parameters}:
        if name in FACTORS and not capabilities_of(testbed).has(FACTORS[name].needs):
            return f"this testbed cannot set {name}"
    return ""


def _lacking_transport(testbed: Mapping[str, Any], parameters: Mapping[str, Any], compared: Sequence[str]) -> str:
    """The transport of a cell that a testbed lacks, or one of those `compared` if it has fewer than two of them."""
    own = parameters.get("transport", transports.TCP)
    if not find_transport(testbed, own):
        return own
    absent = [level for level in compared if not find_transport(testbed, level)]
    return absent[0] if absent and len(compared) - len(absent) < 2 else ""


def _row(
    paper: Paper,
    experiment: Mapping[str, Any],
    effort: str,
    levels: dict[str, Any],
    replicate: int,
    seed: int,
    testbed: Mapping[str, Any],
) -> dict[str, Any]:
    defines = defining(paper, experiment["id"], effort, levels, testbed) | {"replicate": replicate}
    digest = hashlib.sha256(canonical(defines).encode()).hexdigest()
    return {
        "run_id": f"{_stem(experiment['id'], levels)}-r{replicate}-{digest[:6]}",
        "experiment": experiment["id"],
        "workload": experiment["workload"],
        "replicate": replicate,
        **{factor: levels.get(factor, "") for factor in paper.factors},
        "seed": int(np.random.SeedSequence([seed, int(digest[:8], 16)]).generate_state(1)[0] >> 1),
    }


def _stem(experiment: str, levels: Mapping[str, Any]) -> str:
    """Beginning of the ids of a cell's runs, for readers; `levels` in the order of cells_of()."""
    text = "-".join(re.sub(r"[^A-Za-z0-9.]+", "_", levels_text(level)) for level in levels.values())
    return f"{experiment}-{text}" if text else experiment


def defining(paper: Paper, experiment: str, effort: str, levels: Mapping[str, Any],
              testbed: Mapping[str, Any]) -> dict[str, Any]:  # fmt: skip
    """Everything in the configuration that affects a run; a change of any of it makes a different run.

    `factors` has the nominal levels, `parameters` the actual ones, which differ in controls. Not included, because they
    do not affect a run: titles, sources, other levels, numbers of replicates, validity rules (`limits`, `cpu`), probes,
    and which of several equal machines a host is. `data_fraction` is included through the scale.
    """
    spec, hosts = paper.experiments[experiment], paper.roles(experiment, levels)
    workload, store = workload_of(spec["workload"]), paper.store(experiment, levels)
    parameters = paper.parameters(experiment, levels)
    can, mounted = capabilities_of(testbed), store["kind"] == "cephfs"
    return {
        "workload": workload.name,
        "hosts": hosts if mounted and can.starts_file_system else without_servers(hosts),
        "parameters": parameters,
        "settings": spec.get("settings", {}).get(levels.get("settings"), {}),
        "drive": hardware_of(spec, levels) if can.models_drives else {},
        "store": store,
        "scale": asdict(scale_of(paper, experiment, effort, levels, testbed)),
        "factors": levels,
        "testbed": _of_testbed(testbed, workload, parameters, mounted),
        "made_by": workload.identity(testbed),
    }


def defining_overhead(
    testbed: Mapping[str, Any], workload: Workload, parameters: Mapping[str, Any], mounted: bool
) -> str:
    """Digest of those parts of a testbed's description, without networks, that affect a workload's startup overhead.

    Six hexadecimal digits, as in a run's id.
    """
    own = {name: parameters[name] for name in ("transport",) if name in parameters}
    defines = {"testbed": _of_testbed(testbed, workload, own, mounted), "made_by": workload.identity(testbed)}
    return hashlib.sha256(canonical(defines).encode()).hexdigest()[:6]


def _of_testbed(testbed: Mapping[str, Any], workload: Workload, parameters: Mapping[str, Any],
                mounted: bool) -> dict[str, Any]:  # fmt: skip
    """Parts of a testbed's description that affect a run; only those of its fabrics that the run uses.

    The fastest fabric, on which inputs are prepared and startup overheads measured, is not included: preparing is not
    timed, and almost no data takes the same time on any fast link. So a fabric can be added without new runs.
    """
    own = (*EVERY_TESTBED, *(["yarn"] if workload.on_yarn else []), *(["mount"] if mounted else []))
    used = {parameters[name] for name in FABRICS if name in parameters}
    found = {name: testbed[name] for name in own if name in testbed}
    found["fabrics"] = {name: testbed["fabrics"][name] for name in used}
    if (transport := transport_of(testbed, parameters)).name != transports.TCP:
        found["transport"] = transport.record
    return found


def levels_of(paper: Paper, row: DesignRow) -> dict[str, Any]:
    """Levels of a design row with the types of the paper's YAML (a CSV has text only).

    Raises UserError if the paper has no such experiment or level, because the design is that of an earlier version.
    """
    levels = {}
    cells: Mapping[str, object] = row
    if row["experiment"] not in paper.experiments:
        raise UserError(
            f"design: {row.get('run_id', '?')}: experiment: found {quoted(row['experiment'])}, expected one of "
            f"{', '.join(paper.experiments)}; make it anew with `.venv/bin/whitewire design`"
        )
    for factor, known in paper.experiments[row["experiment"]]["factors"].items():
        cell = cells.get(factor, "")
        match = [level for level in known if str(level) == str(cell)]
        if not match:
            raise UserError(
                f"design: {row.get('run_id', '?')}: {factor}: found {quoted(cell)}, expected one of "
                f"{', '.join(map(str, known))}"
            )
        levels[factor] = match[0]
    return levels


def cell_of(paper: Paper, row: DesignRow) -> CellId:
    """The cell of a run. Raises UserError as levels_of()."""
    return cell_id(row["experiment"], levels_of(paper, row))


def cells_of_rows(paper: Paper, rows: Iterable[DesignRow]) -> dict[str, CellId]:
    """The cell of each run, by its id. Raises UserError as levels_of()."""
    return {row["run_id"]: cell_of(paper, row) for row in rows}


def by_cell(cells: Mapping[str, CellId], of_runs: Mapping[str, str]) -> dict[CellId, str]:
    """By cell what `of_runs` has by run id, such as why this machine cannot make it; `cells`: cell of each designed
    run, others are left out."""
    return {cells[run_id]: text for run_id, text in of_runs.items() if run_id in cells}


def hosts_of_rows(paper: Paper, rows: Iterable[DesignRow], servers: bool) -> dict[str, int]:
    """Largest number of hosts of each role in these rows; `servers`: include those that only emulated testbeds have."""
    most: dict[str, int] = {}
    for row in rows:
        roles = paper.roles(row["experiment"], levels_of(paper, row))
        for role, count in (roles if servers else without_servers(roles)).items():
            most[role] = max(most.get(role, 0), count)
    return most


def write_csv(rows: Sequence[DesignRow], paper: Paper, path: Path) -> None:
    """Write design.csv and its manifest. Raises OSError."""
    output = io.StringIO()
    writer = csv.DictWriter(output, columns(paper), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_files(path.parent, {path.name: output.getvalue().encode()})


def read_csv(path: Path) -> list[DesignRow]:
    """Rows of design.csv, as text except for the whole numbers `order`, `replicate` and `seed`. Raises UserError."""
    if not path.exists():
        raise UserError(f"{path}: no such file; make it with `.venv/bin/whitewire design`") from None
    listed = manifest_faults(path.parent, [path.name]) if (path.parent / MANIFEST_FILE).exists() else None
    if listed:
        where, why = listed[0]
        raise UserError(f"{shown(where)}: {why}; make it anew with `.venv/bin/whitewire design`")
    try:
        return parse_design(read_bounded(path))
    except (schema.Broken, Torn) as broken:
        raise UserError(f"{shown(path)}: {broken}; make it anew with `.venv/bin/whitewire design`") from None


def parse_design(text: str) -> list[DesignRow]:
    """Rows of a design.csv from its text; see read_csv(). Raises Torn."""
    rows: list[dict[str, Any]] = parse_table(text, DesignRow.__annotations__)
    for number, row in enumerate(rows, start=2):
        for column in ("order", "replicate", "seed"):
            row[column] = _whole_number(row[column], number, column)
        if empty := next((column for column in ("run_id", "block", "effort") if not row[column]), ""):
            raise Torn(f"line {number}: {empty}: found an empty cell, expected a value")
    ids = Counter(row["run_id"] for row in rows)
    if twice := next((run_id for run_id, count in ids.items() if count > 1), None):
        raise Torn(f"run_id: found {twice} {ids[twice]} times, expected it once")
    return cast("list[DesignRow]", rows)


def _whole_number(text: str, line: int, column: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise Torn(f"line {line}: {column}: found {text[:40]!r}, expected a whole number")
    return int(text)


def write_design(paper: str, testbed: str, effort: str, output: Path) -> None:
    """Run the design stage: read paper and testbed by name, and write design.csv to `output`."""
    description = load_testbed(testbed)
    loaded = load_paper(project.paper_path(paper), fabric_names(description))
    write_csv(make_design(loaded, description, effort, project.load_config()["seed"]), loaded, output)
