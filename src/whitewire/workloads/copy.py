"""`copy`: one file into the store and out of it, with the stock `hdfs dfs -put` and `-get`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from whitewire.errors import RunFailed
from whitewire.records import jobs
from whitewire.records.metrics import Found
from whitewire.records.run import Job, RunRecord
from whitewire.records.samples import Samples
from whitewire.workloads.base import Workload, generic_options

if TYPE_CHECKING:
    from whitewire.measure.bench import Bench
    from whitewire.records.result import Result


def copy_in(local: str, target: str, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments of `hdfs dfs` that copy a local file into the store."""
    return [*generic_options(settings or {}), "-put", "-f", local, target]


def copy_out(source: str, local: str, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments of `hdfs dfs` that copy a file out of the store."""
    return [*generic_options(settings or {}), "-get", "-f", source, local]


FASTER = 1.25
"""Times a drive's rate at which a copy from or to it may move: what its cache takes need not have reached it."""


class Copy(Workload):
    name: ClassVar[str] = "copy"
    has_floor: ClassVar[bool] = False
    computes: ClassVar[bool] = False
    floor_s: ClassVar[float] = 2
    heartbeats: ClassVar[frozenset[str]] = frozenset({"datanode"})
    tells: ClassVar[tuple[str, ...]] = (*jobs.OF_RUN, "copy_in_time", "copy_out_time", "copy_in_rate", "copy_out_rate")

    def crossings(self, remote: float, copies: int, outputs: int, workers: int) -> float:
        return 2 * workers

    def outputs(self, copies: int, outputs: int, drives: int) -> float:
        return 2 * drives

    def written(self, parameters: Mapping[str, Any]) -> float:
        return parameters.get("replication", 1)

    def run(self, bench: Bench) -> Result:
        """One file from the client's local drive into the store and out of it. Raises RunFailed when a copy failed."""
        bench.begin()
        client = bench.client
        local = f"{client.drive(1)}/source"
        client.run(["mkdir", "-p", client.drive(1)]).check()
        client.run(["cp", bench.source_files(bench.scale.file_bytes, 1)[0], local]).check()
        options, target = bench.options(), bench.output("copy")
        bench.make_output()

        def act(kept: dict[str, str]) -> list[Job]:
            done = []
            for name, arguments in (
                ("copy_in", copy_in(f"file://{local}", target, options)),
                ("copy_out", copy_out(target, f"file://{local}.back", options)),
            ):
                if name == "copy_out" and bench.mounted:
                    bench.store.remount()
                done.append(bench.timed(name, bench.shell(arguments, name)))
            return done

        result = bench.record(act, bench.scale.file_bytes, output=target)
        same = client.run(["cmp", local, f"{local}.back"])
        client.run(["rm", "-f", f"{local}.back"]).check()
        if same.status != 0:
            raise RunFailed("copy: the file that came back is not the one that went in")
        return result

    def faults(self, record: RunRecord, found: Found, limits: Mapping[str, float]) -> list[str]:
        return super().faults(record, found, limits) + self.too_fast(record, found)

    @staticmethod
    def too_fast(record: RunRecord, found: Found) -> list[str]:
        """Why a copy cannot have gone by way of the client's modelled drive (empty: it can have, or there is none)."""
        rate = record.get("evidence", {}).get("drive", {}).get("rate", math.inf) / 1e6
        ways = {"copy_in_rate": "read from", "copy_out_rate": "written to"}
        return [
            f"{found[metric][0]:.3g} MB/s were {way} the client's drive of {rate:.3g} MB/s, which was not in the way"
            for metric, way in ways.items() if not found[metric][0] <= FASTER * rate
        ]  # fmt: skip

    def own_metrics(self, record: RunRecord, samples: Samples) -> Found:
        found: Found = {}
        for job in record["jobs"]:
            seconds = job["end"] - job["submit"]
            found[f"{job['name']}_time"] = (seconds, "s")
            found[f"{job['name']}_rate"] = (record["user_bytes"] / seconds / 1e6, "MB/s")
        return found
