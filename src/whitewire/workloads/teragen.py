"""`teragen`: rows of 100 bytes, written by map tasks (Hadoop's examples)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from whitewire.factors import parameter
from whitewire.records.result import Result
from whitewire.records.run import Job
from whitewire.workloads import terasort
from whitewire.workloads.base import OF_WRITERS, Workload
from whitewire.workloads.bench import Bench


class TeraGen(Workload):
    name: ClassVar[str] = "teragen"
    needs: ClassVar[frozenset[str]] = frozenset({"maps"})
    reads: ClassVar[frozenset[str]] = OF_WRITERS
    factors: ClassVar[frozenset[str]] = (Workload.factors | OF_WRITERS | {"maps"}) - {"splits"}
    """Without splits: each map task writes a file of its own, whatever the blocks."""
    startup_s: ClassVar[float] = 4

    def crossings(self, remote: float, copies: int, outputs: int, workers: int) -> float:
        return copies - 1

    def file_bytes(self, size: float, parameters: Mapping[str, Any]) -> float:
        return size / parameter(parameters, "maps")

    def part(self, size: float, parameters: Mapping[str, Any], workers: int) -> float:
        return size / parameter(parameters, "maps")

    def written(self, parameters: Mapping[str, Any]) -> float:
        return parameter(parameters, "replication")

    def run(self, bench: Bench) -> Result:
        """TeraGen alone. Raises RunFailed when the job failed."""
        bench.files.begin()
        rows, target = bench.scale.file_bytes // terasort.ROW_BYTES, bench.files.output("rows")

        def act(kept: dict[str, str]) -> list[Job]:
            arguments = terasort.generate(rows, target, bench.parameters["maps"], bench.jobs.options())
            return [bench.jobs.submit(terasort.GENERATE, arguments, "teragen", kept)]

        return bench.jobs.record(act, rows * terasort.ROW_BYTES, output=target)
