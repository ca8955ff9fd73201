"""Command line of SleepJob (Hadoop's tests): tasks that only wait, to see what starting and ending them takes."""

from __future__ import annotations

from collections.abc import Mapping

from whitewire.workloads import generic_options

TOOL = "org.apache.hadoop.mapreduce.SleepJob"


def sleep(
    maps: int, reduces: int, map_ms: int, reduce_ms: int | None = None, settings: Mapping[str, object] | None = None
) -> list[str]:
    """Arguments for `maps` and `reduces` tasks that wait `map_ms` and `reduce_ms` milliseconds (None: SleepJob's 100).

    Source: SleepJob.java, whose -mt and -rt are milliseconds.
    """
    tasks = ["-m", str(maps), "-r", str(reduces), "-mt", str(map_ms)]
    return [*generic_options(settings or {}), *tasks, *(["-rt", str(reduce_ms)] if reduce_ms is not None else [])]
