"""Command lines of RandomWriter and Sort (Hadoop's examples)."""

from __future__ import annotations

from collections.abc import Mapping

from whitewire.workloads import generic_options

WRITE, SORT = "org.apache.hadoop.examples.RandomWriter", "org.apache.hadoop.examples.Sort"


def write(target: str, total: int, maps: int, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments of RandomWriter: `total` bytes of random records by `maps` map tasks."""
    each = max(1, total // maps)
    own = {"mapreduce.randomwriter.totalbytes": each * maps, "mapreduce.randomwriter.bytespermap": each}
    return [*generic_options(own | dict(settings or {})), target]


def sort(source: str, target: str, reduces: int, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments of Sort; a map task for each block of the source."""
    return [*generic_options(settings or {}), "-r", str(reduces), source, target]
