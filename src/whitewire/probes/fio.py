"""Command lines of fio (sequential bandwidth of a drive)."""

from __future__ import annotations

BLOCK = 65536
"""Bytes a call: the packet in which HDFS writes."""


def sequential(folder: str, operation: str, mode: str, size: int) -> list[str]:
    """Write or read (`operation`) a file of `size` bytes in order, `mode` buffered or direct; JSON output.

    A write ends when all is on the drive (fsync).
    """
    return [
        "fio", "--name=probe", f"--directory={folder}", f"--rw={operation}", f"--bs={BLOCK}", f"--size={size}",
        "--ioengine=psync", f"--direct={1 if mode == 'direct' else 0}", "--end_fsync=1", "--invalidate=0",
        "--output-format=json",
    ]  # fmt: skip
