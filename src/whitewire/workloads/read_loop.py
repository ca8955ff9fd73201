"""`read_loop`: one file read by TestDFSIO's loops, present and of Hadoop 0.20, by a reader of ours (ReadLoop.java)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

from whitewire.factors import parameter
from whitewire.records.jobs import ANY_METRICS, JOB_METRICS
from whitewire.records.metrics import Found, Metric
from whitewire.records.result import Result
from whitewire.records.run import Job, RunRecord
from whitewire.records.samples import Samples
from whitewire.workloads.base import OUTPUT, Workload, as_job, generic_options
from whitewire.workloads.bench import Bench
from whitewire.workloads.copy import copy_in

_TOOL = "whitewire.ReadLoop"
_LOOPS = ("old", "old-on-new-client", "present")


def _read(path: str, loop: str, buffer: int, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments that read one file with one of _LOOPS and a buffer of `buffer` bytes."""
    return [*generic_options(settings or {}), path, loop, str(buffer)]


_METRICS = (
    Metric.size("old_bytes_read", "read by the loop of Hadoop 0.20 before it ends at the first short read"),
    Metric.size("old_bytes_credited", "credited to it by TestDFSIO: the whole file"),
    Metric.rate("old_rate_credited", "`old_bytes_credited` ÷ the loop's time"),
    Metric.rate("old_rate_read", "`old_bytes_read` ÷ the loop's time"),
    Metric.rate("present_rate", "rate of the present loop, which reads to the end"),
    Metric.number("credit_ratio", "credited ÷ read, with reads that are short only at a block's end, as with clients "
                  "of that time"),
    Metric.number("credit_ratio_present_client", "the same with a client of today, whose reads may be short at any "
                  "packet"),
)  # fmt: skip


class ReadLoop(Workload):
    name: ClassVar[str] = "read_loop"
    has_overhead: ClassVar[bool] = False
    computes: ClassVar[bool] = False
    startup_s: ClassVar[float] = 3
    passes: ClassVar[float] = 2
    asks_again: ClassVar[bool] = False
    heartbeats: ClassVar[frozenset[str]] = frozenset()
    io_buffer: ClassVar[str] = "reader"
    declares: ClassVar[tuple[Metric, ...]] = (*ANY_METRICS, *JOB_METRICS, *_METRICS)

    def crossings(self, remote: float, copies: int, outputs: int, workers: int) -> float:
        return workers

    def run(self, bench: Bench) -> Result:
        """Read one file of HDFS with each loop. Raises RunFailed when a read failed."""
        bench.files.begin()
        bench.files.make_output()
        bench.shaping.lift()
        path = f"{OUTPUT}/file"
        local = bench.client.source_file(bench.scale.file_bytes)
        copies = parameter(bench.parameters, "replication")
        options = {"dfs.blocksize": bench.scale.block_bytes, "dfs.replication": copies}
        bench.client.shell(copy_in(f"file://{local}", path, options), "read_loop input")
        buffer = bench.read_buffer

        def act(kept: dict[str, str]) -> list[Job]:
            done = []
            for loop in _LOOPS:
                outcome = bench.client.tool(_TOOL, _read(path, loop, buffer), loop)
                kept[f"{loop}.txt"] = outcome.output + "\n"
                found = dict(re.findall(r"(\w+)=([\d.]+)", outcome.output))
                moved, credited, seconds = (float(found[name]) for name in ("bytes_read", "bytes_credited", "seconds"))
                job = as_job(loop, outcome)
                done.append(job | {"bytes_read": moved, "bytes_credited": credited, "seconds": seconds})
            return done

        return bench.jobs.record(act, bench.scale.file_bytes, input=path)

    def own_metrics(self, record: RunRecord, samples: Samples) -> Found:
        loops = {job["name"]: job for job in record["jobs"]}
        old, new, present = loops["old"], loops["old-on-new-client"], loops["present"]
        return {
            "old_bytes_read": old["bytes_read"],
            "old_bytes_credited": old["bytes_credited"],
            "old_rate_credited": old["bytes_credited"] / old["seconds"] / 1e6,
            "old_rate_read": old["bytes_read"] / old["seconds"] / 1e6,
            "present_rate": present["bytes_read"] / present["seconds"] / 1e6,
            "credit_ratio": old["bytes_credited"] / max(1, old["bytes_read"]),
            "credit_ratio_present_client": new["bytes_credited"] / max(1, new["bytes_read"]),
        }
