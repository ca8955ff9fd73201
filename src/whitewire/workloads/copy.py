"""`copy`: one file into the store and out of it, with the stock `hdfs dfs -put` and `-get`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from whitewire.errors import RunFailed
from whitewire.factors import parameter
from whitewire.records.jobs import ANY_METRICS, JOB_METRICS
from whitewire.records.metrics import Found, Metric
from whitewire.records.reasons import Reason
from whitewire.records.result import Result
from whitewire.records.run import Job, RunRecord
from whitewire.records.samples import Samples
from whitewire.workloads.base import Workload, as_job, generic_options
from whitewire.workloads.bench import Bench


def copy_in(local: str, target: str, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments of `hdfs dfs` that copy a local file into the store."""
    return [*generic_options(settings or {}), "-put", "-f", local, target]


def copy_out(source: str, local: str, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments of `hdfs dfs` that copy a file out of the store."""
    return [*generic_options(settings or {}), "-get", "-f", source, local]


FASTER = 1.25
"""Highest rate of a copy, as a multiple of its drive's: data in the drive's cache need not have reached it."""

_WAYS = ("copy_in", "copy_out")
_METRICS = (
    Metric.time("copy_in_time", "time of the command that copies into the store, in a JVM that is up already"),
    Metric.time("copy_out_time", "time of the command that copies out of it"),
    Metric.rate("copy_in_rate", "user bytes ÷ `copy_in_time`"),
    Metric.rate("copy_out_rate", "user bytes ÷ `copy_out_time`"),
)


class Copy(Workload):
    name: ClassVar[str] = "copy"
    has_overhead: ClassVar[bool] = False
    computes: ClassVar[bool] = False
    startup_s: ClassVar[float] = 2
    heartbeats: ClassVar[frozenset[str]] = frozenset({"datanode"})
    declares: ClassVar[tuple[Metric, ...]] = (*ANY_METRICS, *JOB_METRICS, *_METRICS)

    def crossings(self, remote: float, copies: int, outputs: int, workers: int) -> float:
        return 2 * workers

    def outputs(self, copies: int, outputs: int, drives: int) -> float:
        return 2 * drives

    def written(self, parameters: Mapping[str, Any]) -> float:
        return parameter(parameters, "replication")

    def run(self, bench: Bench) -> Result:
        """One file from the client's local drive into the store and out of it. Raises RunFailed when a copy failed."""
        bench.files.begin()
        local = bench.client.file_on_drive(bench.scale.file_bytes)
        options, target = bench.jobs.options(), bench.files.output("copy")
        bench.files.make_output()

        def act(kept: dict[str, str]) -> list[Job]:
            done = []
            commands = copy_in(f"file://{local}", target, options), copy_out(target, f"file://{local}.back", options)
            for name, arguments in zip(_WAYS, commands, strict=True):
                if name == "copy_out":
                    bench.files.drop_caches()
                done.append(as_job(name, bench.client.shell(arguments, name)))
            return done

        result = bench.jobs.record(act, bench.scale.file_bytes, output=target)
        if not bench.client.same(local, f"{local}.back"):
            raise RunFailed("copy: the file that came back is not the one that went in")
        return result

    def faults(self, record: RunRecord, found: Found, limits: Mapping[str, float]) -> list[Reason]:
        return super().faults(record, found, limits) + self.too_fast(record, found)

    @staticmethod
    def too_fast(record: RunRecord, found: Found) -> list[Reason]:
        """Why a copy was too fast for the client's modelled drive (empty: it was not, or no drive is modelled)."""
        drive = record["evidence"].get("drive", {})
        written = drive.get("rate", math.inf)
        ways = {
            "copy_in_rate": ("read from", drive.get("read_rate", written) / 1e6),
            "copy_out_rate": ("written to", written / 1e6),
        }
        return [
            Reason("too_fast", {"rate": found[metric], "way": way, "drive": rate})
            for metric, (way, rate) in ways.items() if not found[metric] <= FASTER * rate
        ]  # fmt: skip

    def own_metrics(self, record: RunRecord, samples: Samples) -> Found:
        found: Found = {}
        jobs = {job["name"]: job for job in record["jobs"]}
        for name in _WAYS:
            found[f"{name}_time"] = seconds = jobs[name]["end"] - jobs[name]["submit"]
            found[f"{name}_rate"] = record["user_bytes"] / seconds / 1e6
        return found
