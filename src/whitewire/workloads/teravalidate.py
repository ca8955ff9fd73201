"""`teravalidate`: TeraValidate, as a job, of rows that TeraSort has sorted (Hadoop's examples)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from whitewire.factors import parameter
from whitewire.records.result import Result
from whitewire.records.run import Job
from whitewire.workloads import terasort
from whitewire.workloads.base import OF_TASKS, Workload
from whitewire.workloads.bench import Bench
from whitewire.workloads.terasort import check_sorted, shared_rows, validate_arguments


class TeraValidate(Workload):
    name: ClassVar[str] = "teravalidate"
    needs: ClassVar[frozenset[str]] = frozenset({"maps"})
    """`maps`: number of files that TeraSort writes; one map task of TeraValidate reads each, whatever its blocks."""
    reads: ClassVar[frozenset[str]] = OF_TASKS
    factors: ClassVar[frozenset[str]] = (Workload.factors | OF_TASKS | {"maps"}) - {"splits"}
    startup_s: ClassVar[float] = 4
    passes: ClassVar[float] = 1
    shares_input: ClassVar[bool] = True
    asks_again: ClassVar[bool] = False

    def outputs(self, copies: int, outputs: int, drives: int) -> float:
        return 0.0

    def file_bytes(self, size: float, parameters: Mapping[str, Any]) -> float:
        return size / parameter(parameters, "maps")

    def run(self, bench: Bench) -> Result:
        """Make and sort rows unthrottled, anew for each run, then measure the job that reads them all.

        Raises RunFailed when a job failed or a row is out of order.
        """
        bench.files.begin()
        rows, options, source = shared_rows(bench)
        target, report = bench.files.output("sorted"), bench.files.output("report")
        bench.shaping.lift()
        maps, copies = bench.parameters["maps"], parameter(bench.parameters, "replication")
        own = options | {"mapreduce.job.reduces": maps, "mapreduce.terasort.output.replication": copies}
        bench.client.tool(terasort.SORT, terasort.sort(source, target, maps, own), "rows in order")
        bench.files.drop_caches()

        def act(kept: dict[str, str]) -> list[Job]:
            return [
                bench.jobs.submit(terasort.VALIDATE, validate_arguments(target, report, options), "teravalidate", kept)
            ]

        result = bench.jobs.record(act, rows * terasort.ROW_BYTES, input=target)
        check_sorted(bench, report)
        return result
