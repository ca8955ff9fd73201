"""`wordcount`: WordCount, by WordCount.java, of text that RandomTextWriter wrote (Hadoop's examples)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

from whitewire.records.result import Result
from whitewire.workloads.base import OF_SHUFFLE, generic_options
from whitewire.workloads.bench import Bench
from whitewire.workloads.randomwriter import RandomTextWriter
from whitewire.workloads.written import OfWritten

COUNT = "whitewire.WordCount"
_TEXT = ("-outFormat", "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat")


def _count(source: str, target: str, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments of WordCount; a map task for each block of the source."""
    return [*generic_options(settings or {}), source, target]


class WordCount(OfWritten):
    name: ClassVar[str] = "wordcount"
    reads: ClassVar[frozenset[str]] = OF_SHUFFLE | {"maps", "reduces"}
    factors: ClassVar[frozenset[str]] = OfWritten.factors | {"reduces"}
    startup_s: ClassVar[float] = 6
    passes: ClassVar[float] = 1
    asks_again: ClassVar[bool] = False

    def run(self, bench: Bench) -> Result:
        """WordCount of RandomTextWriter's text. Raises RunFailed when a job failed."""
        writer = RandomTextWriter()
        return self.two_steps(bench, "text", writer.tool, partial(writer.arguments, form=_TEXT), (
            lambda source, target, options: (COUNT, _count(source, target, options))))  # fmt: skip
