"""Command lines of the stock `hdfs dfs -put`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whitewire.workloads import generic_options

MOST_THREADS = 16


def put(files: Sequence[str], target: str, settings: Mapping[str, object]) -> list[str]:
    """Arguments of `hdfs dfs` that copy all files to a folder of HDFS at once, one thread a file (to MOST_THREADS).

    `settings` are client settings of this call (Hadoop's generic option -D).
    """
    threads = ["-t", str(min(len(files), MOST_THREADS))] if len(files) > 1 else []
    return [*generic_options(settings), "-put", *threads, *files, target]
