"""The design: which runs, in which block and order.

Order is random inside a block, over all experiments and fabrics at once, so that drift of the machine
does not line up with a factor. The random numbers come from the recorded seed alone (PCG64).
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from whitewire import hibench_tree
from whitewire.drives import hardware_of
from whitewire.errors import UserError
from whitewire.models import maxmin
from whitewire.paper import Paper, cells_in, cells_of, ratio_of, tests_of
from whitewire.workloads import hibench

OVERHEAD_S = 0.8
"""Seconds that a run takes beside moving its data (clients start, fsck)."""
REREPLICATE_S = 3.0
"""Seconds to copy lost replicas again, mostly the NameNode's own pace."""
DEFINING = ("kind", "fabrics", "switch", "tcp", "scale", "data_fraction")
"""What of a testbed's description makes a run another run."""
FIRST = ("run_id", "block", "order", "experiment", "workload", "replicate")


PACKET = 65536
"""Bytes in a packet of HDFS's write pipeline (dfs.client-write-packet-size, Hadoop's default)."""


@dataclass(frozen=True)
class Scale:
    """How one run is scaled: `k` divides rates and sizes, `data_fraction` of the file is written.

    `block_bytes`, `file_bytes` and `packet_bytes` (of HDFS's write pipeline) are those of the scaled run.
    """

    k: int
    data_fraction: float
    block_bytes: int
    file_bytes: int
    packet_bytes: int = PACKET

    def settings(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """An experiment's settings of services, for this scale: packets shrink as the default does."""
        return {
            name: value * self.packet_bytes // PACKET if name == "dfs.client-write-packet-size" else value
            for name, value in wanted.items()
        }


def scale_of(paper: Paper, experiment: str, effort: str, levels: Mapping[str, Any],
             testbed: Mapping[str, Any] | None = None) -> Scale:  # fmt: skip
    """The scale of a run on a testbed, as its description says (None: an emulated one).

    A site whose links are slowed down says by how much (`scale`): its k for every experiment. On real hardware k is 1,
    blocks are the paper's own, and a file has the share of its bytes that the site's `data_fraction` gives the effort.
    """
    testbed = testbed or {"kind": "emulated"}
    slowed = testbed.get("scale")
    experiment = paper.origin(experiment)  # a control has the shape of the cell whose name it bears
    scale, spec = paper.raw["scale"], paper.experiments[experiment]
    parameters = paper.parameters(experiment, levels)
    own = spec.get("scale", scale)
    whole = _whole_bytes(spec["workload"], parameters)
    k = slowed or (levels.get("k", own["k"]) if testbed["kind"] == "emulated" else 1)
    if not whole:  # a workload that moves no data
        return Scale(k, 1.0, int(parameters["block_size_bytes"]), 0)
    if testbed["kind"] != "emulated" and not slowed:
        share, block = testbed.get("data_fraction", {}).get(effort, 1.0), int(parameters["block_size_bytes"])
        size = int(whole) if share == 1 else min(int(whole), max(1, round(whole * share / block)) * block)
        return Scale(1, size / whole, block, size)
    granule, full = scale["block_granule_bytes"], whole / k
    packet = int(levels.get("packet_bytes", scale.get("packet_bytes", PACKET)))
    if "scale" in spec:
        size, splits = int(own["bytes"][effort]), levels.get("splits", own["splits"])
        return Scale(k, size / full, math.ceil(size / splits / granule) * granule, size, packet)
    block = int(parameters["block_size_bytes"] / k // granule * granule)
    if spec.get("whole_file"):
        return Scale(k, 1.0, block, int(full), packet)
    blocks = parameters.get("file_blocks") or spec.get("file_blocks", scale["file_blocks"])[effort]
    size = int(blocks) * block
    return Scale(k, size / full, block, size, packet)


def _whole_bytes(workload: str, parameters: Mapping[str, Any]) -> float:
    """Bytes of a run's file at full scale; of a program of HiBench those of its profile."""
    if workload == "hibench" and "size_bytes" not in parameters:
        program, profile = parameters["program"], parameters["profile"]
        return hibench.file_bytes(program, profile) if program in hibench.MICRO else 1
    return parameters.get("size_bytes") or parameters["file_size_bytes"]


def _unusual(scale: Scale) -> list[int]:
    return [scale.packet_bytes] if scale.packet_bytes != PACKET else []


def blocks(paper: Paper, effort: str) -> list[str]:
    """Names of the blocks of an effort: `quick-1`, `quick-2`, …"""
    return [f"{effort}-{n}" for n in range(1, paper.raw["blocks"][effort] + 1)]


def claimed_cells(paper: Paper) -> set[tuple[str, str]]:
    """(experiment, cell as JSON) of every cell that a claim's test or reading names."""
    return {
        (name, _key(levels)) for claim in paper.claims for test in tests_of(claim) for name, levels in cells_in(test)
    }


def compared_cells(paper: Paper) -> set[tuple[str, str]]:
    """(experiment, cell as JSON) of every control, and of every cell that one is compared with."""
    return {(name, _key(levels)) for control in paper.controls for name, levels in cells_in(ratio_of(control))}


def make_design(paper: Paper, testbed: Mapping[str, Any], effort: str, seed: int) -> list[dict[str, Any]]:
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
    return [{column: row[column] for column in columns(paper)} for row in rows]


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
            is_claimed = (experiment["id"], _key(levels)) in claimed
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
        "scale": [scale.k, scale.block_bytes, scale.file_bytes, *_unusual(scale)],
        "factors": levels,
        "replicate": replicate,
        # What the testbed's file sets on hosts and links; the bounds of validity may change without new runs.
        "testbed": {name: testbed[name] for name in DEFINING if name in testbed},
    }
    if "control" in experiment:
        defines["really"] = experiment["control"]["really"]
    if experiment["workload"] == "hibench" and "hibench" in testbed:
        # A run of Hadoop's own jars is another run, and so is one of another tree.
        defines["made_by"] = ["HiBench", *hibench_tree.identity(testbed["hibench"]["home"])]
    digest = hashlib.sha256(_key(defines).encode()).hexdigest()
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


def _key(data: Any) -> str:
    return json.dumps(data, sort_keys=True, default=str)


def levels_of(paper: Paper, row: Mapping[str, Any]) -> dict[str, Any]:
    """Levels of a design row with the types of the paper's YAML (a CSV has text only)."""
    levels = {}
    for factor, known in paper.experiments[row["experiment"]]["factors"].items():
        match = [level for level in known if str(level) == str(row[factor])]
        if not match:
            raise UserError(
                f"design: {row.get('run_id', '?')}: {factor}: found {row[factor]!r}, expected one of "
                f"{', '.join(map(str, known))}"
            )
        levels[factor] = match[0]
    return levels


def write_csv(rows: Sequence[Mapping[str, Any]], paper: Paper, path: Path | str) -> None:
    """Write design.csv."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns(paper), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read_csv(path: Path | str) -> list[dict[str, str]]:
    """Rows of design.csv as text, but `order`, `replicate` and `seed` as whole numbers."""
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; make it with `whitewire design`") from None
    for row in rows:
        for column in ("order", "replicate", "seed"):
            row[column] = int(row[column])
    return rows


def model_cell(paper: Paper, experiment: str, levels: Mapping[str, Any], link: float, file_bytes: float,
               block_bytes: float | None = None) -> maxmin.Cell:  # fmt: skip
    """A run as the max-min model sees it: link rate in Gbit/s, sizes of files and blocks in bytes at full scale.

    Without `block_bytes` blocks are the paper's own.
    """
    parameters = paper.parameters(experiment, levels)
    spec = paper.experiments[experiment]
    drive = hardware_of(spec, levels)
    return maxmin.Cell(
        link,
        int(parameters.get("clients", 1)),
        int(parameters.get("puts_per_client", 1)),
        float(file_bytes),
        float(block_bytes or parameters["block_size_bytes"]),
        int(parameters["replication"]),
        int(spec["roles"].get("datanode", 11)),
        int(drive.get("count", 0)),
        float(drive.get("rate_mb_per_s", 110)),
        float(drive.get("access_time_ms", 0)),
        float(drive.get("writeback_chunk_bytes", 1)),
        float(drive.get("cache_bytes", 0)),
    )


def gbit_per_s(fabric: str) -> float:
    """Rate in the name of a fabric: `10gbe` is 10, `0.5gbe` is 0.5."""
    match = re.match(r"(\d+(?:\.\d+)?)g", str(fabric))
    if not match:
        raise UserError(f"fabric: found {fabric!r}, expected a name that starts with its rate, such as 10gbe")
    return float(match[1])


@lru_cache(maxsize=1024)
def _seconds(cell: maxmin.Cell) -> float:
    return float(np.median(maxmin.simulate([cell], 3, 1)[0].completion_time))


def expected_seconds(paper: Paper, row: Mapping[str, Any], testbed: Mapping[str, Any] | None = None) -> float:
    """Seconds that a run should take, by the max-min model; for progress, time left and time limits."""
    levels, effort = levels_of(paper, row), str(row["block"]).rsplit("-", 1)[0]
    scale = scale_of(paper, row["experiment"], effort, levels, testbed)
    parameters = paper.parameters(row["experiment"], levels)
    if row["workload"] in FLOORS_S:
        return _job_seconds(paper, row, levels, scale, parameters, testbed)
    size = scale.file_bytes * scale.k
    link = gbit_per_s(parameters.get("load_fabric", parameters["fabric"]))
    put = _seconds(model_cell(paper, row["experiment"], levels, link, size, scale.block_bytes * scale.k))
    if row["workload"] != "rereplicate":
        return put + OVERHEAD_S
    return put + OVERHEAD_S + REREPLICATE_S


FLOORS_S = {"teragen": 4, "terasort": 6, "testdfsio": 9, "sort": 9, "wordcount": 6, "copy": 2, "read_loop": 3,
            "sleep": 4, "hibench": 12}  # fmt: skip
"""Seconds that a run of a workload takes beside moving its data: jobs on almost no data, and what is around them."""
PASSES = {"teragen": 0, "terasort": 5, "testdfsio": 1, "sort": 5, "wordcount": 1, "copy": 0, "read_loop": 2}
"""How often a job's bytes go from or to drives beside being written as output: input, spills, merges, reads."""
OSTS_PER_OSS = 4
"""Object targets, a drive each, of each object server of CephFS in Lustre's place."""


def _job_seconds(paper: Paper, row: Mapping[str, Any], levels: Mapping[str, Any], scale: Scale, parameters,
                 testbed: Mapping[str, Any] | None) -> float:  # fmt: skip
    """The floor, and the time that one worker's link or its drives take for their bytes, whichever is longer.

    Of a shared segment it is the time that the segment takes for all bytes.
    """
    experiment = paper.experiments[row["experiment"]]
    workers = paper.roles(row["experiment"], levels).get("datanode", 1)
    copies, outputs = parameters.get("replication", 1), parameters.get("output_replication", 1)
    size = scale.file_bytes * _files(row["workload"], parameters)
    remote = 1 - 1 / workers
    workload = hibench.NATIVE.get(parameters.get("program"), row["workload"])
    crossings = {
        "teragen": copies - 1,
        "terasort": remote + outputs - 1,
        "testdfsio": copies - 1,
        "sort": remote + copies - 1,
        "wordcount": 0,
        "copy": 2 * workers,
        "read_loop": workers,
    }.get(workload, 0)
    drives = workers
    if paper.store(row["experiment"], levels)["kind"] == "cephfs":
        workers, crossings = experiment["roles"].get("oss", 1), 2 + (workload == "sort")
        drives = workers * OSTS_PER_OSS
    link = gbit_per_s(parameters["fabric"]) * 1e9 / 8 / scale.k
    shared = (testbed or {}).get("fabrics", {}).get(parameters["fabric"], {}).get("shared", False)
    seconds = size * crossings / (1 if shared else workers) / link
    if drive := experiment.get("hardware", {}).get("drive"):
        rate = drive["count"] * drive["rate_mb_per_s"] * 1e6 / scale.k
        passes = PASSES.get(workload, 0) + {"terasort": outputs, "copy": 2 * drives}.get(workload, copies)
        seconds = max(seconds, size * passes / drives / rate)
    return FLOORS_S[row["workload"]] + OVERHEAD_S + seconds


def floor_seconds(row: Mapping[str, Any]) -> float:
    """Seconds that a run's jobs take on almost no data."""
    return FLOORS_S[row["workload"]] + OVERHEAD_S


def all_floors_seconds(
    paper: Paper, rows: Iterable[Mapping[str, Any]], testbed: Mapping[str, Any], count: int
) -> float:
    """Seconds for about `count` floors (one at smoke effort) of each kind of job in each block.

    A site's fabrics have services, and so floors, of their own.
    """
    kinds: dict[str, float] = {}
    apart = {"nodes", "store", "splits"} | ({"fabric"} if testbed["kind"] != "emulated" else set())
    for row in rows:
        if row["workload"] in FLOORS_S and row["workload"] not in ("copy", "read_loop", "sleep"):
            levels = levels_of(paper, row)
            own = {name: level for name, level in levels.items() if name in apart}
            times = 1 if str(row["block"]).startswith("smoke") else count
            kinds[_key([row["block"], row["experiment"], own])] = times * floor_seconds(row)
    return sum(kinds.values())


def _files(workload: str, parameters: Mapping[str, Any]) -> int:
    if parameters.get("program") == "dfsioe":
        return hibench.files(parameters["profile"])
    return parameters.get("maps", 1) if workload == "testdfsio" else 1


def total_seconds(paper: Paper, rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Expected seconds of measuring by experiment, without starting the cluster."""
    total: dict[str, float] = {}
    for row in rows:
        total[row["experiment"]] = total.get(row["experiment"], 0.0) + expected_seconds(paper, row)
    return total


def design(paper: str, testbed: str, effort: str, output: Path | str) -> None:
    """The design stage: read the configuration by name, write design.csv to `output`."""
    from whitewire import config
    from whitewire.paper import load_paper

    description = config.load_testbed(testbed)
    loaded = load_paper(config.paper_path(paper), config.fabric_names(description))
    write_csv(make_design(loaded, description, effort, config.load_config()["seed"]), loaded, output)
