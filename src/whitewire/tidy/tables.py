"""The tidy stage: raw results of all blocks become long tables, described by a data package."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from whitewire import atomic, workloads
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper
from whitewire.description.testbed import fabric_names, load_testbed
from whitewire.design.rows import effort_of, levels_of, read_csv
from whitewire.design.scale import of_another_k, scale_of
from whitewire.errors import OF_VALUES, Faults, UserError
from whitewire.estimands import estimand_of
from whitewire.levels import Cell, cell_id
from whitewire.paths import shown
from whitewire.records import asked, overhead, scale_candidate
from whitewire.records.asked import asked_of_block, iso_time
from whitewire.records.checked import (
    PACKAGE,
    CheckedBlock,
    ProbeRow,
    probe_rows,
    read_block,
)
from whitewire.records.jobs import worker_wire
from whitewire.records.journal import left_of, read_overheads, read_runs
from whitewire.records.links import RDMA_COLUMNS, DriveRow
from whitewire.records.metrics import Metric
from whitewire.records.overhead import job_seconds
from whitewire.records.run import DesignRow, RunRecord
from whitewire.records.samples import Samples, idle_shares, read_host_cpu, read_samples
from whitewire.records.scale_candidate import candidate_fault
from whitewire.text import canonical, quoted, suggestion
from whitewire.tidy import columns
from whitewire.tidy.columns import BY_ITSELF, COLUMN_TYPES, JUDGED, LANE, column_names
from whitewire.workloads import METRICS, run_proofs, workload_of
from whitewire.workloads.base import Workload

Cells = Mapping[str, object]
"""A row of a table: column → cell; columns left out are empty."""
TABLES: dict[str, tuple[str, ...]] = {
    "series.csv.gz": ("run_id", "time", "host", "series", "value", "unit"),
    "operations.csv": ("run_id", "client", "operation", "bytes", "start", "end"),
    "probes.csv": ("block", *ProbeRow.__annotations__),
    "topology.csv": ("host", "role", "address"),
    "placement.csv": ("run_id", "file", "block_index", "datanode"),
    "floors.csv": ("block", "floor", "workload", "job", "number", "attempt", "time", "seconds", "wire_bytes", "outside",
                   "valid", "why_invalid"),
    "phases.csv": ("run_id", "job", "task", "type", "host", "start", "shuffle_end", "merge_end", "end"),
    "treatments.csv": ("run_id", "experiment", "factor", "varies", "level", "asked", "seen", "unit", "same", "valid"),
    "unavailable.csv": ("run_id", "experiment", "cell", "reason"),
    "left.csv": ("run_id", "experiment", "cell", "reason", "why_code"),
    "marks.csv": ("block", "mark"),
    "asked.csv": ("block", "claim", "digest", "asked_since", "first_run"),
    "scale.csv": ("experiment", "testbed", "kind", "k", "data_fraction", "rung"),
}  # fmt: skip
LINKS_COLUMNS: dict[str, tuple[str, ...]] = {
    "hosts.csv": ("host", "role", "target", "processor", "processors", "memory_gib", "kernel", "system", "clock_ms",
                  "congestion_control", LANE),
    "fabrics.csv": ("fabric", "rate", "full_scale_rate", "shared", "depth", "at_once", "seconds", "streams"),
    "links.csv": ("fabric", "host", "interface", "address", "rate", "rate_in", "mtu", "queue", "offloads", "driver",
                  "version", "firmware"),
    "pairs.csv": ("fabric", "source", "destination", "streams", "metric", "value", "unit", "expected", "error",
                  "beside", "attempt", "why"),
    "ways.csv": ("fabric", "source", "destination", "streams", "goodput", "expected", "error", "beyond",
                 "retransmit_share", "rtt_at_rest", "rtt", "cpu_source", "cpu_destination", "alone", "beside_error",
                 "why"),
    "drives.csv": tuple(DriveRow.__annotations__),
    "probes.csv": TABLES["probes.csv"][1:],
    "rdma.csv": RDMA_COLUMNS,
    "transports.csv": ("fabric", "source", "destination", "transport", "kind", "streams", "metric", "value", "unit",
                       "attempt", "why"),
    "outliers.csv": ("kind", "subject", "fabric", "hosts", "value", "expected", "unit", "cause", "stops", "part_of",
                     "said"),
    "left_out.csv": ("reason",),
    "fit.csv": ("paper", "fit", "reason"),
}  # fmt: skip
"""Tables of a testbed's links. The table that a paper has too is without its column `block`."""
_REMEDY = (
    "remove the folder of its run, or of its block, and it is measured again; or, if another version of Whitewire "
    "wrote it, take that version"
)
"""For raw results that cannot be read."""


def tidy_paper(paper: str, results: Path) -> None:
    """Read results/design.csv and results/raw, write results/tidy. Raises UserError naming a file that is not whole."""
    results = Path(results)
    testbed = results.parent.name
    description = load_testbed(testbed)
    loaded = load_paper(project.paper_path(paper), fabric_names(description))
    rows = read_csv(results / "design.csv")
    for row in rows:
        levels_of(loaded, row)  # a design of an earlier paper is reported
    read = read_blocks(results, rows)
    if faults := [fault for block in read.values() for fault in block.faults]:
        raise Faults([f"{fault}; {_REMEDY}" for fault in faults])
    settled = loaded.on(_candidate(read, loaded, results / "raw"))
    if faults := of_another_k(settled, description, _wanted(read, rows)):
        raise Faults([*faults, "remove the runs of another k, and they are measured again"])
    runs = _with_all_overheads(read, _wanted(read, rows))
    factors = loaded.factors
    lanes = in_lanes(record for _, record in runs)
    asked_rows = list(_asked(loaded, results / "raw", read))
    more = [name for name in (BY_ITSELF, JUDGED) if any(name in row for row in asked_rows)]
    own = {"runs.csv": columns.of_runs(factors, lanes), **TABLES, "asked.csv": (*TABLES["asked.csv"], *more)}
    tables: dict[str, Iterable[Cells]] = {
        "runs.csv": _of_each(runs, lambda folder, record: metric_rows(folder, record, factors, lanes)),
        "treatments.csv": _of_each(runs, _treatments),
        "unavailable.csv": _unavailable(loaded, read, rows),
        **_of_valid([each for each in runs if each[1]["valid"]]),
        **_of_blocks(results / "raw", read),
        "left.csv": _left(loaded, read, rows),
        "asked.csv": asked_rows,
        "scale.csv": _scale(settled, testbed, description, rows),
    }
    write_tables(results / "tidy", f"{paper}-tidy", own, tables)


def _of_valid(runs: Sequence[tuple[Path, RunRecord]]) -> dict[str, Iterable[Cells]]:
    """Tables of valid runs alone."""
    return {
        "series.csv.gz": _of_each(runs, _series),
        "operations.csv": _of_each(runs, _operations),
        "placement.csv": _of_each(runs, _placement),
        "phases.csv": _of_each(runs, _phases),
    }


def _of_blocks(raw: Path, read: Mapping[str, CheckedBlock]) -> dict[str, Iterable[Cells]]:
    """Tables of what blocks have besides runs."""
    return {
        "probes.csv": [row for name in read for row in _probes(raw / name)],
        "topology.csv": _topology(raw, list(read)),
        "floors.csv": [row for block in read.values() for row in _overheads(block.overheads)],
        "marks.csv": [
            {"block": name, "mark": mark}
            for name, block in read.items()
            if block.finished
            for mark in block.finished["marks"]
        ],
    }


def so_far(paper: Paper, block: Path, designed: Collection[str] | None = None, testbed: Mapping[str, Any] | None = None
           ) -> tuple[list[Cells], list[Cells]]:  # fmt: skip
    """Rows of runs.csv and floors.csv for a block that is being measured; `designed`: ids of the runs to take (None:
    all).

    `testbed`: its description, by which runs of another k are left out.
    """
    known = read_overheads(block)
    kept = [each for each in read_runs(block.parent, [block.name]) if designed is None or each[1]["run_id"] in designed]
    if testbed:
        kept = [each for each in kept if not of_another_k(paper, testbed, [each])]
    runs = _with_overheads({(block.name, key): overhead.typical(of) for key, of in overhead.valid(known).items()}, kept)
    lanes = in_lanes(record for _, record in runs)
    rows = _of_each(runs, lambda folder, record: metric_rows(folder, record, paper.factors, lanes))
    return list(rows), list(_overheads(known))


def of_block(paper: Paper, name: str, block: CheckedBlock) -> tuple[list[Cells], list[Cells]]:
    """Rows of runs.csv and floors.csv of a block that was read, by its name."""
    runs = _with_all_overheads({name: block}, block.runs)
    lanes = in_lanes(record for _, record in runs)
    rows = _of_each(runs, lambda folder, record: metric_rows(folder, record, paper.factors, lanes))
    return list(rows), list(_overheads(block.overheads))


def read_blocks(results: Path, rows: Sequence[DesignRow]) -> dict[str, CheckedBlock]:
    """All blocks of a design as they are below results/raw, by name, with their faults."""
    found: dict[str, list[DesignRow]] = {}
    for row in rows:
        found.setdefault(row["block"], []).append(row)
    return {name: read_block(results / "raw" / name, own) for name, own in found.items()}


def _wanted(read: Mapping[str, CheckedBlock], rows: Sequence[DesignRow]) -> list[tuple[Path, RunRecord]]:
    """Runs that the design has in their block: an earlier design may have had them in another one too."""
    block_of = {row["run_id"]: row["block"] for row in rows}
    return [each for name, block in read.items() for each in block.runs if block_of.get(each[1]["run_id"]) == name]


def _with_all_overheads(
    read: Mapping[str, CheckedBlock], runs: Sequence[tuple[Path, RunRecord]]
) -> list[tuple[Path, RunRecord]]:
    """Runs with the medians over all valid overhead runs of their block, where a run knew only those before it."""
    known = {
        (name, key): overhead.typical(records)
        for name, block in read.items()
        for key, records in overhead.valid(block.overheads).items()
    }
    return _with_overheads(known, runs)


def _with_overheads(known: Mapping[tuple[str, str], Mapping[str, float]], runs: Sequence[tuple[Path, RunRecord]]
                 ) -> list[tuple[Path, RunRecord]]:  # fmt: skip
    """Runs with the medians of overhead runs, which are by block and key."""
    found: list[tuple[Path, RunRecord]] = []
    for folder, record in runs:
        if record["floor"] and (medians := known.get((record["block"], record["floor"]))):
            own = {name: value for name, value in medians.items() if name != "wire"}
            found.append((folder, {**record, "floors": own, "floor_wire": medians["wire"]}))
        else:
            found.append((folder, record))
    return found


def _overheads(records: Sequence[RunRecord]) -> Iterable[Cells]:
    """One row per job of each overhead run; a single row for a run that failed outright."""
    first = min((record["start"] for record in records if "start" in record), default=0.0)
    for record in records:
        base: dict[str, object] = {
            "block": record["block"], "floor": record["floor"], "workload": record["workload"],
            "number": record["number"], "attempt": record["attempt"], "why_invalid": record["why_invalid"],
            "valid": flag(record["valid"]),
        }  # fmt: skip
        if "start" not in record:
            yield base
            continue
        base |= {"time": f"{record['start'] - first:.3f}", "wire_bytes": _number(worker_wire(record))}
        if "outside" in record:
            base["outside"] = _number(record["outside"])
        for job, seconds in job_seconds(record).items():
            yield base | {"job": job, "seconds": _number(seconds)}


def in_lanes(records: Iterable[RunRecord]) -> bool:
    """Whether valid runs of one block were made in several lanes."""
    found: dict[str, set[int]] = {}
    for record in records:
        if record["valid"]:
            found.setdefault(record["block"], set()).add(record.get("lane", 1))
    return any(len(lanes) > 1 for lanes in found.values())


def metric_rows(folder: Path, record: RunRecord, factors: Sequence[str], lanes: bool = False) -> Iterable[Cells]:
    """Rows of runs.csv of one attempt; `lanes`: the table has a column of lanes."""
    own = (*column_names(columns.RUN), *((LANE,) if lanes else ()))
    base: dict[str, object] = dict.fromkeys(columns.of_runs(factors, lanes), "")
    base |= {name: cell for name, cell in record.items() if name in own}
    base |= {name: record["factors"].get(name, "") for name in factors}
    base |= {"valid": flag(record["valid"]), "why_invalid": record["why_invalid"],
             "why_code": " ".join(record["why_codes"])}  # fmt: skip
    samples = folder / "samples.csv"
    if "start" not in record or not samples.exists():
        yield base
        return
    files = {
        path.name: path.read_text()
        for path in (samples, folder / "host-cpu.csv", folder / "waited.csv")
        if path.exists()
    }
    scale, workload = record["scale"], workload_of(record["workload"])
    for name, value in workloads.run_metrics(record, files).items():
        metric = _declared(name, workload)
        row = base | {"metric": name, "value": _number(value), "unit": metric.unit}
        full = metric.full_scale(value, workload.on_yarn, scale["k"], scale["data_fraction"])
        if workload.scales and full is not None:
            row |= {"full_scale_value": _number(full), "full_scale_unit": metric.unit}
        yield row


def _declared(name: str, workload: Workload) -> Metric:
    """The declaration of a metric that a workload's runs report."""
    if name not in METRICS:
        expected = f"one of `{type(workload).__name__}.declares`{suggestion(name, METRICS)}"
        raise RuntimeError(f"{type(workload).__module__}: found the metric {quoted(name)}, expected {expected}")
    return METRICS[name]


def _of_each(
    runs: Iterable[tuple[Path, RunRecord]], rows: Callable[[Path, RunRecord], Iterable[Cells]]
) -> Iterable[Cells]:
    """Rows of a table, run by run. UserError for a run whose record has all that any has, but not what its own has."""
    for folder, record in runs:
        try:
            yield from rows(folder, record)
        except (*OF_VALUES, TypeError, AttributeError) as error:
            what = f"no {error}" if isinstance(error, KeyError) else f"{error.__class__.__name__}: {error}"
            raise UserError(
                f"{shown(folder / 'run.json')}: found {what}, expected the record and series of a run of "
                f"{record['workload']}"
            ) from error


def _series(folder: Path, record: RunRecord) -> Iterable[Cells]:
    samples = read_samples((folder / "samples.csv").read_text())
    yield from _worker_series(folder, record, samples) if "workers" in record else _client_series(record, samples)
    for moment, share in idle_shares(samples, record["start"], record["end"]):
        yield {"run_id": record["run_id"], "time": f"{moment:.3f}", "host": "machine", "series": "cpu_idle",
               "value": _number(share), "unit": "1"}  # fmt: skip


def _client_series(record: RunRecord, samples: Samples) -> Iterable[Cells]:
    """What each client sends, and all of them together."""
    hosts = {name: samples.links[f"{name}.egress"] for name in record["client_hosts"]}
    hosts["all clients"] = samples.total(record["client_hosts"], "egress")
    # One sample before and after the run, so that its edges are seen.
    window = record["start"] - 0.15, record["end"] + 0.15
    for host, totals in hosts.items():
        yield from _rates(record, host, "egress", samples.time, totals, window, 1e6, "MB/s")


def _worker_series(folder: Path, record: RunRecord, samples: Samples) -> Iterable[Cells]:
    """For a run of jobs: each worker's link in both directions and its CPU."""
    window = record["start"], record["end"] + 0.5
    for host in record["workers"]:
        for way in ("ingress", "egress"):
            totals = samples.links[f"{host}.{way}"]
            # Every fifth sample: jobs are long, and half a second shows their phases.
            yield from _rates(record, host, way, samples.time[::5], totals[::5], window, 1e6, "MB/s")
    times, by_host = read_host_cpu((folder / "host-cpu.csv").read_text())
    for host in record["workers"]:
        yield from _rates(record, host, "cpu", times, by_host[host], window, 1.0, "cores")


def _rates(record: RunRecord, host: str, series: str, times: Sequence[float], totals: Sequence[float],
           window: tuple[float, float], per: float, unit: str) -> Iterable[Cells]:  # fmt: skip
    """Growth of a running total between its samples within a window, in `unit` of 1/`per`."""
    for i in range(1, len(times)):
        if window[0] <= times[i] <= window[1]:
            rate = (totals[i] - totals[i - 1]) / (times[i] - times[i - 1]) / per
            yield {"run_id": record["run_id"], "time": f"{times[i] - record['start']:.3f}", "host": host,
                   "series": series, "value": _number(rate), "unit": unit}  # fmt: skip


def _phases(_: Path, record: RunRecord) -> Iterable[Cells]:
    for job in record.get("jobs", []):
        for task in job["tasks"]:
            known = {"start": task.get("start"), "shuffle_end": task.get("shuffle_end"),
                     "merge_end": task.get("merge_end"), "end": task.get("end")}  # fmt: skip
            moments = {name: f"{at - job['submit']:.3f}" for name, at in known.items() if at is not None}
            yield {"run_id": record["run_id"], "job": job["name"], "task": task["task"], "type": task["type"],
                   "host": task["host"], **moments}  # fmt: skip


def _treatments(_: Path, record: RunRecord) -> Iterable[Cells]:
    """Requested and actual level of each factor of a run."""
    for proof in run_proofs(record):
        yield {
            "run_id": record["run_id"], "experiment": record["experiment"], "factor": proof.factor,
            "varies": flag(proof.factor in record["factors"]), "level": record["factors"].get(proof.factor, ""),
            "asked": _level(proof.asked),
            "seen": "" if proof.seen is None else _level(proof.seen), "unit": proof.unit, "same": flag(proof.same),
            "valid": flag(record["valid"]),
        }  # fmt: skip


def _level(value: object) -> str:
    if isinstance(value, Mapping):
        return canonical(value)
    return f"{value:.10g}" if isinstance(value, int | float) else str(value)


def _unavailable(paper: Paper, read: Mapping[str, CheckedBlock], rows: Sequence[DesignRow]) -> Iterable[Cells]:
    """Runs of the design that this machine cannot make at all, and why."""
    designed = {row["run_id"]: row for row in rows}
    for block in read.values():
        for run_id, reason in (block.finished["unavailable"] if block.finished else {}).items():
            if row := designed.get(run_id):
                yield {**_named(paper, row), "reason": reason}


def _named(paper: Paper, row: DesignRow) -> Cells:
    """A run's id and cell."""
    return {"run_id": row["run_id"], "experiment": row["experiment"], "cell": canonical(levels_of(paper, row))}


def _operations(_: Path, record: RunRecord) -> Iterable[Cells]:
    for operation in record.get("operations", []):
        yield {
            "run_id": record["run_id"], "client": operation["client"], "operation": operation["operation"],
            "bytes": operation["bytes"], "start": f"{operation['start'] - record['start']:.3f}",
            "end": f"{operation['end'] - record['start']:.3f}",
        }  # fmt: skip


def _placement(_: Path, record: RunRecord) -> Iterable[Cells]:
    for block in record.get("placement", []):
        for datanode in block["datanodes"]:
            yield {"run_id": record["run_id"], "file": block["file"], "block_index": block["block_index"],
                   "datanode": datanode}  # fmt: skip


def _probes(block: Path) -> Iterable[Cells]:
    for path in sorted(block.glob("probes*/probes.json")):
        for row in probe_rows(path):
            yield {**row, "block": block.name, "ok": flag(row["ok"])}


def _topology(raw: Path, blocks: Sequence[str]) -> list[Cells]:
    for block in blocks:
        path = raw / block / "environment.json"
        if path.exists():
            hosts = json.loads(path.read_text())["hosts"]
            return [{"host": h["name"], "role": h["role"], "address": h["address"]} for h in hosts]
    return []


def _left(paper: Paper, read: Mapping[str, CheckedBlock], rows: Sequence[DesignRow]) -> Iterable[Cells]:
    """Runs of the design that were not made, though they could have been: no claim needs them, or time was up."""
    made = {record["run_id"] for block in read.values() for _, record in block.runs if record["valid"]}
    reasons = {run_id: why for block in read.values() if block.finished
               for run_id, why in left_of(block.finished).items()}  # fmt: skip
    for row in rows:
        if (why := reasons.get(row["run_id"])) and row["run_id"] not in made:
            yield {**_named(paper, row), "reason": str(why), "why_code": why.code}


def _asked(paper: Paper, raw: Path, read: Mapping[str, CheckedBlock]) -> Iterable[Cells]:
    """Each claim's questions: since when, and when the first attempt at one of its runs in the block began.

    A block without runs for the one claim that was asked for has no asked.json: a row per claim, without digest.
    """
    noted = {name: asked_of_block(raw / name) for name in read}
    judged = _judged(paper, read, asked.judgements(list(noted.values())))
    for name, block in read.items():
        begun = [
            (record["experiment"], record["factors"], record["start"]) for _, record in block.runs if "start" in record
        ]
        alone = asked.alone(noted[name])
        first = {claim["id"]: _first(claim["test"], begun) for claim in paper.claims}
        entries = list(asked.since(noted[name])) or [(claim["id"], "", "") for claim in paper.claims]
        for claim, digest, since in entries:
            row = {"block": name, "claim": claim, "digest": digest, "asked_since": since,
                   "first_run": first.get(claim, "")}  # fmt: skip
            row |= {BY_ITSELF: flag(claim in alone)} if alone else {}
            yield row | ({JUDGED: judged.get(claim, "")} if judged else {})


def _judged(paper: Paper, read: Mapping[str, CheckedBlock], judgements: Sequence[str]) -> dict[str, int]:
    """Of claims that got runs after they had been judged, how many of each cell there were at the last of these
    `judgements`."""
    valid = [record for block in read.values() for _, record in block.runs if record["valid"]]
    found: dict[str, int] = {}
    for claim in paper.claims if judgements else ():
        cells = estimand_of(claim["test"]).needed()
        begun = [(cell_id(record["experiment"], record["factors"]), iso_time(record["start"]))
                 for record in valid if _is_of(cells, record["experiment"], record["factors"])]  # fmt: skip
        last = max((start for _, start in begun), default="")
        if earlier := [at for at in judgements if at < last]:
            counts = Counter({cell: 0 for cell, _ in begun})
            counts.update(cell for cell, start in begun if start <= earlier[-1])
            found[claim["id"]] = min(counts.values())
    return found


def _first(test: Mapping[str, Any], begun: Iterable[tuple[str, Mapping[str, Any], float]]) -> str:
    """Begin of the first run that a test needs; empty without any."""
    cells = estimand_of(test).needed()
    starts = [start for experiment, levels, start in begun if _is_of(cells, experiment, levels)]
    return iso_time(min(starts)) if starts else ""


def _is_of(cells: Iterable[Cell], experiment: str, levels: Mapping[str, Any]) -> bool:
    """Whether a run is of one of some cells; levels that are left out match every level."""
    return any(experiment == name and where.items() <= levels.items() for name, where in cells)


def _candidate(read: Mapping[str, CheckedBlock], paper: Paper, raw: Path) -> int:
    """Index of the scale candidate of the blocks. UserError if they differ, or the paper has no candidate of that
    index.

    Without a finished block it is the one on which their measurement settled.
    """
    found = {name: block.finished["rung"] for name, block in read.items() if block.finished}
    if len(set(found.values())) > 1:
        numbers = ", ".join(f"{name}: {number}" for name, number in found.items())
        raise UserError(
            f"block.json: rung: found {numbers}, expected the same in all blocks: remove those with another k"
        )
    for name, number in found.items():
        if why := candidate_fault(number, paper.candidate_count):
            raise UserError(f"{shown(raw / name / 'block.json')}: {why}: remove the block, and it is measured again")
        return number
    raises_k = any(effort_of(name) != "smoke" for name in read)
    return (scale_candidate.recorded(raw, paper.candidate_count) if raises_k else None) or 0


def _scale(paper: Paper, testbed: str, description: Mapping[str, Any], rows: Sequence[DesignRow]) -> Iterable[Cells]:
    seen = set()
    for row in rows:
        if "control" in paper.experiments[row["experiment"]]:
            continue  # its origin's
        levels = levels_of(paper, row)
        scale = scale_of(paper, row["experiment"], row["effort"], levels, description)
        found = (row["experiment"], scale.k, scale.data_fraction)
        if found not in seen:
            seen.add(found)
            yield {"experiment": found[0], "testbed": testbed, "kind": description["kind"], "k": found[1],
                   "data_fraction": _number(found[2]), "rung": paper.candidate}  # fmt: skip


def _number(value: float) -> str:
    return f"{value:.8g}"


def flag(value: bool) -> str:
    """A truth value as a cell of a table."""
    return "true" if value else "false"


def as_csv(columns: Sequence[str], rows: Iterable[Cells], name: str) -> bytes:
    """A table as the content of the file `name`."""
    output = io.StringIO()
    writer = csv.DictWriter(output, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    content = output.getvalue().encode()
    # No time stamp in the archive: the same results make the same bytes.
    return gzip.compress(content, mtime=0) if name.endswith(".gz") else content


def write_tables(
    folder: Path, title: str, own: Mapping[str, Sequence[str]], rows: Mapping[str, Iterable[Cells]]
) -> None:
    """Write tables, and their datapackage.json called `title`. `own`: columns by table; `rows`: the tables' rows.

    All are made before the first is written: an error in a row leaves the earlier tables as they were.
    """
    made = {name: as_csv(names, rows[name], name) for name, names in own.items()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in made.items():
        atomic.write(folder / name, content)
    atomic.write(folder / PACKAGE, atomic.as_json(_package(title, own, made)))


def _package(title: str, own: Mapping[str, Sequence[str]], made: Mapping[str, bytes]) -> dict:
    """A Frictionless data package (specs.frictionlessdata.io/data-package) of the tables, each with its digest.

    `own`: their columns; `made`: their content.
    """

    def field(table: str, name: str) -> dict:
        column = columns.of(table, name)
        kind = column.kind if column.kind in COLUMN_TYPES else "string"
        return {"name": name, "type": kind, "description": column.meaning}

    resources = []
    for name, names in own.items():
        resource = {
            "name": name.split(".")[0],
            "path": name,
            "profile": "tabular-data-resource",
            "encoding": "utf-8",
            "format": "csv",
            "bytes": len(made[name]),
            "hash": f"sha256:{hashlib.sha256(made[name]).hexdigest()}",
            "schema": {"fields": [field(name, column) for column in names], "missingValues": [""]},
        }
        if name.endswith(".gz"):
            resource["compression"] = "gz"
        resources.append(resource)
    return {"name": title, "profile": "tabular-data-package", "resources": resources}
