"""Command lines of RandomTextWriter and WordCount (Hadoop's examples, the latter by WordCount.java)."""

from __future__ import annotations

from collections.abc import Mapping

from whitewire.workloads import generic_options

WRITE, COUNT = "org.apache.hadoop.examples.RandomTextWriter", "whitewire.WordCount"


def write(target: str, total: int, maps: int, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments of RandomTextWriter: `total` bytes of sentences by `maps` map tasks, as plain text."""
    each = max(1, total // maps)
    own = {"mapreduce.randomtextwriter.totalbytes": each * maps, "mapreduce.randomtextwriter.bytespermap": each}
    text = ["-outFormat", "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat"]
    return [*generic_options(own | dict(settings or {})), *text, target]


def count(source: str, target: str, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments of WordCount; a map task for each block of the source."""
    return [*generic_options(settings or {}), source, target]
