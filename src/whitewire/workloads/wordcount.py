"""`wordcount`: WordCount, by WordCount.java, of text that RandomTextWriter wrote (Hadoop's examples)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from whitewire.records.result import Result
from whitewire.workloads.base import OF_SHUFFLE, generic_options
from whitewire.workloads.bench import Bench
from whitewire.workloads.written import OfWritten

_WRITE, COUNT = "org.apache.hadoop.examples.RandomTextWriter", "whitewire.WordCount"


def _write(target: str, total: int, maps: int, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments of RandomTextWriter: `total` bytes of sentences by `maps` map tasks, as plain text."""
    each = max(1, total // maps)
    own = {"mapreduce.randomtextwriter.totalbytes": each * maps, "mapreduce.randomtextwriter.bytespermap": each}
    text = ["-outFormat", "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat"]
    return [*generic_options(own | dict(settings or {})), *text, target]


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
        return self.two_steps(bench, "text", _WRITE, _write, lambda source, target, options: (
            COUNT, _count(source, target, options)))  # fmt: skip
