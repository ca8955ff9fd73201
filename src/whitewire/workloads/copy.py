"""Command lines of the stock `hdfs dfs -put` and `-get` of one file, from and to a local disk."""

from __future__ import annotations

from collections.abc import Mapping

from whitewire.workloads import generic_options


def copy_in(local: str, target: str, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments of `hdfs dfs` that copy a local file into the store."""
    return [*generic_options(settings or {}), "-put", "-f", local, target]


def copy_out(source: str, local: str, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments of `hdfs dfs` that copy a file out of the store."""
    return [*generic_options(settings or {}), "-get", "-f", source, local]
