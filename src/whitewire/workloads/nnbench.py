"""`nnbench`: NNBench (Hadoop's tests), whose map tasks do nothing but call the NameNode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from whitewire.errors import RunFailed
from whitewire.records.jobs import ANY_METRICS, JOB_METRICS
from whitewire.records.metrics import Found, Metric
from whitewire.records.result import Result
from whitewire.records.run import Job, RunRecord
from whitewire.records.samples import HostCpu, Samples
from whitewire.tools.nnbench import NNBENCH_OPERATIONS, NNBenchResult, nnbench_arguments, nnbench_result
from whitewire.workloads.base import OF_TASKS, Workload, generic_options
from whitewire.workloads.bench import Bench

_TOOL = "org.apache.hadoop.hdfs.NNBench"
_FOLDER = "/nnbench"
"""Folder of its files, in the file system of the job."""
BARRIER_S = 15
"""Seconds from a job's submission to the common start of its map tasks; a task that comes later does nothing."""

_METRICS = (
    Metric("operations_per_second", "1/s", "calls of the NameNode ÷ time of the longest map task (NNBench's TPS, not "
           "rounded); create_write counts two calls per file"),
    Metric("latency_mean", "ms", "mean time of a call: create, open, rename or delete"),
    Metric("close_latency_mean", "ms", "of create_write: mean time of the call that closes a file"),
)  # fmt: skip
_SHARED = (
    "cpu_idle_min", "cpu_idle_mean", "worker_cpu_cores", "worker_wire_bytes", "tcp_retransmits", "queue_drops",
)  # fmt: skip
"""Metrics of other jobs that make sense without data."""


class NNBench(Workload):
    """Calls take the NameNode's processor, which no k makes slower: neither rates nor times have a full-scale value."""

    name: ClassVar[str] = "nnbench"
    needs: ClassVar[frozenset[str]] = frozenset({"maps", "block_size_bytes"})
    reads: ClassVar[frozenset[str]] = OF_TASKS | {"operation"}
    size: ClassVar[str] = "files_per_map"
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"operation": NNBENCH_OPERATIONS}
    factors: ClassVar[frozenset[str]] = OF_TASKS | {
        "fabric", "k", "switch_buffer_kib", "offloads", "nodes", "settings", "maps", "operation", "files_per_map",
    }  # fmt: skip
    declares: ClassVar[tuple[Metric, ...]] = (
        *_METRICS,
        *(metric for name in _SHARED for metric in (*ANY_METRICS, *JOB_METRICS) if metric.name == name),
    )
    has_overhead: ClassVar[bool] = False
    startup_s: ClassVar[float] = 2 * BARRIER_S + 5
    computes: ClassVar[bool] = False
    heartbeats: ClassVar[frozenset[str]] = frozenset()
    asks_again: ClassVar[bool] = False
    scales: ClassVar[bool] = False

    def whole_bytes(self, parameters: Mapping[str, Any]) -> float:
        return 0

    def metric_names_with(self, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """Files are closed by create_write only."""
        writes = parameters.get("operation", NNBENCH_OPERATIONS[0]) == "create_write"
        return tuple(metric for metric in self.metric_names if writes or metric != "close_latency_mean")

    def run(self, bench: Bench) -> Result:
        """Run one operation on empty files; files that it needs are made before.

        Raises RunFailed when a job or a call of the NameNode failed, or a map task was late for the common start.
        """
        bench.files.begin(_FOLDER)
        parameters = bench.parameters
        operation = parameters.get("operation", NNBENCH_OPERATIONS[0])
        maps, files = parameters["maps"], parameters["files_per_map"]

        def arguments(of: str) -> list[str]:
            start = int(bench.client.now()) + BARRIER_S
            own = nnbench_arguments(of, maps, files, bench.files.path(_FOLDER), start, bench.scale.block_bytes)
            return [*generic_options(bench.jobs.options()), *own]

        def checked(said: str) -> NNBenchResult:
            result = nnbench_result(said)
            if result.late or result.exceptions or result.operations != maps * files:
                raise RunFailed(
                    f"nnbench: {result.operations} of {maps * files} operations, {result.exceptions} exceptions, "
                    f"{result.late} of {maps} map tasks came after the common start"
                )
            return result

        if operation != "create_write":
            bench.shaping.lift()
            checked(bench.client.tool(_TOOL, arguments("create_write"), "files for nnbench").output)

        def act(kept: dict[str, str]) -> list[Job]:
            job = bench.jobs.submit(_TOOL, arguments(operation), operation, kept)
            return [job | {"nnbench": asdict(checked(kept[f"{operation}.txt"]))}]

        return bench.jobs.record(act, 0, output=bench.files.path(_FOLDER))

    def own_metrics(self, record: RunRecord, samples: Samples) -> Found:
        (job,) = record["jobs"]
        said = NNBenchResult(**job["nnbench"])
        found: Found = {
            "operations_per_second": said.per_second,
            "latency_mean": said.first / said.operations,
        }
        if said.operation == "create_write":
            found["close_latency_mean"] = said.second / said.operations
        return found

    def metrics(self, record: RunRecord, samples: Samples, cpu: HostCpu) -> Found:
        """Omits metrics of jobs that move data, and times, because they include the wait for the common start."""
        return {
            name: value for name, value in super().metrics(record, samples, cpu).items() if name in self.metric_names
        }
