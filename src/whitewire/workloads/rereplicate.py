"""Command line that makes HDFS copy blocks that have too few replicas."""

from __future__ import annotations


def raise_replication(path: str, replication: int) -> list[str]:
    """Arguments of `hdfs dfs` that ask for more replicas and return at once; the NameNode then has them copied."""
    return ["-setrep", "-R", str(replication), path]
