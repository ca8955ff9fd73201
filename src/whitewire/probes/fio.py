"""Command lines of fio: bandwidth of a modelled drive, and the curve of a real one."""

from __future__ import annotations

BLOCK = 65536
"""Bytes a call: the packet in which HDFS writes."""
OPERATIONS = ("write", "read", "randwrite", "randread")
MODES = ("direct", "buffered")
PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9)
LAYOUT_BLOCK, LAYOUT_DEPTH = 2**20, 4


def sequential(folder: str, operation: str, mode: str, size: int) -> list[str]:
    """Write or read (`operation`) a file of `size` bytes in order, `mode` buffered or direct; JSON output.

    A write ends when all is on the drive (fsync).
    """
    return [
        "fio", "--name=probe", f"--directory={folder}", f"--rw={operation}", f"--bs={BLOCK}", f"--size={size}",
        "--ioengine=psync", f"--direct={1 if mode == 'direct' else 0}", "--end_fsync=1", "--invalidate=0",
        "--output-format=json",
    ]  # fmt: skip


def layout(path: str, mode: str, size: int, seconds: float) -> list[str]:
    """Write a file or device `path` in order, `size` bytes or as many as `seconds` allow; JSON output (json+)."""
    return [*_job(path, "write", mode, LAYOUT_BLOCK, LAYOUT_DEPTH, size, threads=1), f"--runtime={_duration(seconds)}"]


def point(path: str, operation: str, mode: str, block: int, depth: int, size: int, seconds: float) -> list[str]:
    """One point of a drive's curve, for `seconds` over the first `size` bytes of a file or device that is laid out.

    `operation` is one of OPERATIONS, `block` bytes a call, `depth` calls at once: asynchronous ones of one thread in
    mode direct, one each of as many threads in mode buffered (Linux has no asynchronous calls through the page cache).
    """
    threads = depth if mode == "buffered" else 1
    job = _job(path, operation, mode, block, depth, size, threads)
    return [*job, "--time_based", f"--runtime={_duration(seconds)}"]


def _job(path: str, operation: str, mode: str, block: int, depth: int, size: int, threads: int) -> list[str]:
    # One absolute --filename: after a --filename fio ignores --directory and writes where it was started.
    argv = [
        "fio", "--name=drive", "--thread", f"--filename={_name(path)}", f"--rw={operation}", f"--bs={block}",
        "--fallocate=none", "--end_fsync=1", "--allow_mounted_write=0", "--group_reporting", "--eta=never",
        f"--percentile_list={':'.join(f'{p:g}' for p in PERCENTILES)}", "--output-format=json+",
    ]  # fmt: skip
    if mode == "direct":
        argv += ["--ioengine=libaio", f"--iodepth={depth}", "--direct=1"]
    else:
        argv += ["--ioengine=psync", "--direct=0"]
    if threads == 1:
        return [*argv, f"--size={size}"]
    # Each thread has a part of its own, or those that go in order would all read the same blocks.
    part = size // threads // block * block
    return [*argv, f"--numjobs={threads}", f"--filesize={size}", f"--size={part}", f"--offset_increment={part}"]


def _name(path: str) -> str:
    """A path as fio takes it: a colon would begin another file's name."""
    return path.replace("\\", "\\\\").replace(":", "\\:")


def _duration(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"
