"""Overhead runs: names of their kinds, seconds of their jobs, medians over several. Pure."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Hashable, Iterable, Sequence

from whitewire.records.jobs import worker_wire
from whitewire.records.run import RunRecord
from whitewire.statistics import median_error


def overhead_name(key: Sequence[Hashable], cluster: str, defines: str) -> str:
    """The name of a kind of overhead run, which differs between a block's clusters (`cluster`: their key, JSON).

    `defines`: digest of all else that affects it, so that overhead runs made before a change of the testbed's
    description are of another kind.
    """
    roles, place, drives, slots, racks, transport, *settings = json.loads(cluster)
    hosts = " ".join(f"{role}={count}" for role, count in sorted(roles.items()))
    where = [hosts, f"drives={drives} slots={slots or 'any'}", " k=".join(map(str, place))]
    where += [f"racks={racks}" if racks else "", f"transport={transport}" if transport else ""]
    where += [" ".join(f"{name}={value}" for name, value in each.items()) for each in settings]
    return " | ".join([" ".join(map(str, key)), *filter(None, [*where, defines])])


def job_seconds(record: RunRecord) -> dict[str, float]:
    """Seconds of each job of an overhead run."""
    return {job["name"]: job["end"] - job["submit"] for job in record.get("jobs", [])}


def valid(records: Iterable[RunRecord]) -> dict[str, list[RunRecord]]:
    """Valid overhead runs by kind."""
    found: dict[str, list[RunRecord]] = {}
    for record in records:
        if record["valid"]:
            found.setdefault(record["floor"], []).append(record)
    return found


def kinds_lacking(records: Iterable[RunRecord]) -> dict[str, str]:
    """Kinds without a valid overhead run → why their last one was invalid."""
    known = list(records)
    there = valid(known)
    return {record["floor"]: record["why_invalid"] for record in known if record["floor"] not in there}


def typical(records: Sequence[RunRecord]) -> dict[str, float]:
    """Medians over valid overhead runs of one kind: seconds by job, and under `wire` the bytes received by workers."""
    seconds = [job_seconds(record) for record in records]
    medians = {
        name: statistics.median(each[name] for each in seconds if name in each) for each in seconds for name in each
    }
    return medians | {"wire": statistics.median(map(worker_wire, records))}


def overhead_error(seconds: Sequence[float]) -> float:
    """Standard error of the median of some overhead runs, in seconds; infinite for a single one."""
    if len(seconds) < 2:
        return math.inf
    return median_error(len(seconds)) * statistics.stdev(seconds)
