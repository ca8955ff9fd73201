"""Command lines of our reader with TestDFSIO's loops, present and of Hadoop 0.20 (ReadLoop.java)."""

from __future__ import annotations

from collections.abc import Mapping

from whitewire.workloads import generic_options

TOOL = "whitewire.ReadLoop"
LOOPS = ("old", "old-on-new-client", "present")


def read(path: str, loop: str, buffer: int, settings: Mapping[str, object] | None = None) -> list[str]:
    """Arguments that read one file with one of LOOPS and a buffer of `buffer` bytes."""
    return [*generic_options(settings or {}), path, loop, str(buffer)]
