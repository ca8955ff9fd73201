"""Command lines of TeraGen, TeraSort and TeraValidate (Hadoop's examples)."""

from __future__ import annotations

from collections.abc import Mapping

from whitewire.workloads import generic_options

PACKAGE = "org.apache.hadoop.examples.terasort"
GENERATE, SORT, VALIDATE = f"{PACKAGE}.TeraGen", f"{PACKAGE}.TeraSort", f"{PACKAGE}.TeraValidate"
ROW_BYTES = 100
"""Bytes of one TeraGen row."""
SAMPLED_ROWS = 1000
"""Rows that TeraSort's client reads to choose the key ranges; Hadoop's 100,000 would be a tenth of a scaled input."""
SAMPLED_SPLITS = 1
"""Splits that it reads them from, where Hadoop reads ten: TeraGen's keys are alike in all, and DataNodes send ahead of
the reader, so that each further split costs a slow link most of a block before the job is submitted."""


def generate(rows: int, target: str, maps: int, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments of TeraGen: `rows` rows of 100 bytes by `maps` map tasks."""
    return [*generic_options({"mapreduce.job.maps": maps, **(settings or {})}), str(rows), target]


def sort(source: str, target: str, reduces: int, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments of TeraSort; a map task for each block of the source."""
    sample = {
        "mapreduce.terasort.partitions.sample": SAMPLED_ROWS,
        "mapreduce.terasort.num.partitions": SAMPLED_SPLITS,
    }
    own = {"mapreduce.job.reduces": reduces} | sample
    return [*generic_options(own | dict(settings or {})), source, target]


def validate(source: str, report: str, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments of TeraValidate: whether the rows below `source` are in order."""
    return [*generic_options(settings or {}), source, report]
