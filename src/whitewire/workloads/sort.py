"""`sort`: Sort of records that RandomWriter wrote (Hadoop's examples)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from whitewire.factors import parameter
from whitewire.records.result import Result
from whitewire.workloads.base import OF_SHUFFLE, generic_options
from whitewire.workloads.bench import Bench
from whitewire.workloads.randomwriter import RandomWriter
from whitewire.workloads.written import OfWritten

_SORT = "org.apache.hadoop.examples.Sort"


def _sort(source: str, target: str, reduces: int, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments of Sort; a map task for each block of the source."""
    return [*generic_options(settings or {}), "-r", str(reduces), source, target]


class Sort(OfWritten):
    name: ClassVar[str] = "sort"
    needs: ClassVar[frozenset[str]] = frozenset({"reduces"})
    reads: ClassVar[frozenset[str]] = OF_SHUFFLE | {"maps"}
    factors: ClassVar[frozenset[str]] = OfWritten.factors | {"reduces"}
    startup_s: ClassVar[float] = 9
    passes: ClassVar[float] = 5
    crossings_of_mount: ClassVar[float] = 3
    sorts: ClassVar[bool] = True

    def crossings(self, remote: float, copies: int, outputs: int, workers: int) -> float:
        return remote + copies - 1

    def written(self, parameters: Mapping[str, Any]) -> float:
        return 1 + parameter(parameters, "replication")

    def run(self, bench: Bench) -> Result:
        """Sort of RandomWriter's data. Raises RunFailed when a job failed or records are missing."""
        reduces, writer = bench.parameters["reduces"], RandomWriter()
        return self.two_steps(bench, "random", writer.tool, writer.arguments, lambda source, target, options: (
            _SORT, _sort(source, target, reduces, options)))  # fmt: skip
