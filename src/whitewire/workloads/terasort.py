"""`terasort`: TeraSort of rows that TeraGen made, checked by TeraValidate (Hadoop's examples)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from whitewire.errors import RunFailed
from whitewire.factors import parameter
from whitewire.records.result import Result
from whitewire.records.run import Job
from whitewire.tools import codecs
from whitewire.workloads.base import OF_SHUFFLE, Workload, generic_options
from whitewire.workloads.bench import Bench

_PACKAGE = "org.apache.hadoop.examples.terasort"
GENERATE, SORT, VALIDATE = f"{_PACKAGE}.TeraGen", f"{_PACKAGE}.TeraSort", f"{_PACKAGE}.TeraValidate"
ROW_BYTES = 100
"""Bytes of one TeraGen row."""
SAMPLED_ROWS = 1000
"""Rows that TeraSort's client reads to choose the key ranges; Hadoop's 100,000 would be a tenth of a scaled input."""
SAMPLED_SPLITS = 1
"""Splits that these rows are read from; Hadoop's default is ten. TeraGen's keys are alike in all splits, and DataNodes
send ahead of the reader, so each further split costs a slow link most of a block before the job is submitted."""


def generate(rows: int, target: str, maps: int, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments of TeraGen: `rows` rows of 100 bytes by `maps` map tasks."""
    return [*generic_options({"mapreduce.job.maps": maps, **(settings or {})}), str(rows), target]


def sort(source: str, target: str, reduces: int, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments of TeraSort; a map task for each block of the source. `reduces` takes precedence over `settings`."""
    sample = {
        "mapreduce.terasort.partitions.sample": SAMPLED_ROWS,
        "mapreduce.terasort.num.partitions": SAMPLED_SPLITS,
    }
    return [*generic_options(sample | dict(settings or {}) | {"mapreduce.job.reduces": reduces}), source, target]


def validate_arguments(source: str, report: str, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments of TeraValidate, which checks that the rows below `source` are in order."""
    return [*generic_options(settings or {}), source, report]


class TeraSort(Workload):
    name: ClassVar[str] = "terasort"
    needs: ClassVar[frozenset[str]] = frozenset({"reduces"})
    reads: ClassVar[frozenset[str]] = OF_SHUFFLE | {"maps", "output_replication"}
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"map_output_compression": codecs.WORDS}
    factors: ClassVar[frozenset[str]] = Workload.factors | OF_SHUFFLE | {"reduces", "output_replication"}
    startup_s: ClassVar[float] = 6
    passes: ClassVar[float] = 5
    shares_input: ClassVar[bool] = True
    sorts: ClassVar[bool] = True
    sampled: ClassVar[bool] = True

    def crossings(self, remote: float, copies: int, outputs: int, workers: int) -> float:
        return remote + outputs - 1

    def outputs(self, copies: int, outputs: int, drives: int) -> float:
        return outputs

    def output_copies(self, parameters: Mapping[str, Any]) -> int:
        """One copy, TeraSort's own default whatever the replication, unless `output_replication` is set."""
        return parameter(parameters, "output_replication")

    def written(self, parameters: Mapping[str, Any]) -> float:
        return 1 + self.output_copies(parameters)

    def run(self, bench: Bench) -> Result:
        """TeraSort, then TeraValidate of its output. Raises RunFailed when a job failed or a row is out of order."""
        bench.files.begin()
        rows, options, source = shared_rows(bench)
        target = bench.files.output("sorted")

        def act(kept: dict[str, str]) -> list[Job]:
            own = options | {"mapreduce.terasort.output.replication": self.output_copies(bench.parameters)}
            return [bench.jobs.submit(SORT, sort(source, target, bench.parameters["reduces"], own), "terasort", kept)]

        result = bench.jobs.record(act, rows * ROW_BYTES, input=source, output=target)
        bench.shaping.lift()
        report = bench.files.output("report")
        options |= bench.jobs.in_one_jvm()  # it is a check here, and not measured
        bench.client.tool(VALIDATE, validate_arguments(target, report, options), "teravalidate")
        check_sorted(bench, report)
        return result


def shared_rows(bench: Bench) -> tuple[int, dict[str, object], str]:
    """Number of rows, settings of the run's jobs, and the path of TeraGen's rows, which runs share."""
    rows, options = bench.scale.file_bytes // ROW_BYTES, bench.jobs.options()
    made = bench.jobs.input("rows", lambda path: (GENERATE, generate(rows, path, _generators(bench), options)))
    return rows, options, made


def check_sorted(bench: Bench, report: str) -> None:
    """Raises RunFailed unless TeraValidate's report says that all rows are in order."""
    found = [line for line in bench.client.cat(f"{report}/part-r-00000").splitlines()
             if line.split("\t")[0] in ("error", "checksum")]  # fmt: skip
    if not found or any(line.startswith("error") for line in found):
        raise RunFailed(f"teravalidate: {(found or ['no report'])[0][:200]}")


def _generators(bench: Bench) -> int:
    """Map tasks of TeraGen: one, so that every block is whole, or as many as divide the blocks evenly."""
    blocks = math.ceil(bench.scale.file_bytes / bench.scale.block_bytes)
    return next(count for count in range(min(blocks, 5), 0, -1) if blocks % count == 0)
