"""fio, for the bandwidth of a modelled drive and the curve of a real one: command lines, JSON (json, json+; fio 3)."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from whitewire.tools import Unreadable, documents, is_number

# --- command lines ---

FIO_BLOCK = 65536
"""Bytes per call: the size of a packet of HDFS."""
FIO_OPERATIONS = ("write", "read", "randwrite", "randread")
MODES = ("direct", "buffered")
ENGINE = "libaio"
"""fio's I/O engine for mode direct; a separate package in some distributions (fio-engine-libaio)."""
NO_ENGINE = "failed to load engine"
NO_DIRECT = re.compile(r"O_DIRECT|direct=1|Invalid argument|Operation not supported")
"""fio's messages if a file system refuses O_DIRECT: its own, or the error of open or of a call."""
PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9)
LAYOUT_BLOCK, LAYOUT_DEPTH = 2**20, 4


def sequential(folder: str, operation: str, mode: str, size: int) -> list[str]:
    """Write or read (`operation`) a file of `size` bytes sequentially, `mode` buffered or direct; JSON output.

    A write ends when all data are on the drive (fsync).
    """
    return [
        "fio", "--name=probe", f"--directory={folder}", f"--rw={operation}", f"--bs={FIO_BLOCK}", f"--size={size}",
        "--ioengine=psync", f"--direct={1 if mode == 'direct' else 0}", "--end_fsync=1", "--invalidate=0",
        "--output-format=json",
    ]  # fmt: skip


def layout(path: str, mode: str, size: int, seconds: float) -> list[str]:
    """Write `size` bytes, or as many as `seconds` allow, to a file or device sequentially; JSON output (json+)."""
    return [
        *_command(path, "write", mode, LAYOUT_BLOCK, LAYOUT_DEPTH, size, threads=1),
        f"--runtime={_duration(seconds)}",
    ]


def point(path: str, operation: str, mode: str, block: int, depth: int, size: int, seconds: float) -> list[str]:
    """One point of a drive's curve, for `seconds` on the first `size` bytes of a file or device written by layout().

    `operation`: one of FIO_OPERATIONS; `block`: bytes per call; `depth`: concurrent calls, which are asynchronous calls
    of one thread in mode direct, and one call in each of `depth` threads in mode buffered (Linux has no asynchronous
    calls through the page cache).
    """
    threads = depth if mode == "buffered" else 1
    job = _command(path, operation, mode, block, depth, size, threads)
    return [*job, "--time_based", f"--runtime={_duration(seconds)}"]


def _command(path: str, operation: str, mode: str, block: int, depth: int, size: int, threads: int) -> list[str]:
    # One absolute --filename, because with --filename fio ignores --directory and writes to its working directory.
    argv = [
        "fio", "--name=drive", "--thread", f"--filename={_name(path)}", f"--rw={operation}", f"--bs={block}",
        "--fallocate=none", "--end_fsync=1", "--allow_mounted_write=0", "--group_reporting", "--eta=never",
        f"--percentile_list={':'.join(f'{p:g}' for p in PERCENTILES)}", "--output-format=json+",
    ]  # fmt: skip
    if mode == "direct":
        argv += [f"--ioengine={ENGINE}", f"--iodepth={depth}", "--direct=1"]
    else:
        argv += ["--ioengine=psync", "--direct=0"]
    if threads == 1:
        return [*argv, f"--size={size}"]
    # Each thread has its own part; otherwise all sequential threads would read the same blocks.
    part = size // threads // block * block
    return [*argv, f"--numjobs={threads}", f"--filesize={size}", f"--size={part}", f"--offset_increment={part}"]


def _name(path: str) -> str:
    """A path escaped for fio, to which a colon separates file names."""
    return path.replace("\\", "\\\\").replace(":", "\\:")


def _duration(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"


# --- output ---


@dataclass(frozen=True)
class FioResult:
    """Results of one job (or a group reported as one) in one direction.

    bandwidth: MB/s (10^6 bytes); iops: 1/s; ios: completed calls; bytes: moved by them; latency: mean time from a
    call's submission to its completion (fio's clat) in µs; percentiles: the same by percent (50.0, 99.9, …).
    """

    bandwidth: float
    iops: float
    ios: int
    bytes: int
    latency: float
    percentiles: Mapping[float, float]


def fio_bandwidth(raw: bytes, operation: str) -> float:
    """Bandwidth in MB/s (10^6 bytes) of a one-job `write` or `read`. Raises Unreadable.

    Warnings may precede the JSON.
    """
    try:
        return _bandwidth(_job(raw)[operation])
    except (KeyError, TypeError):
        raise Unreadable(_not_whole(raw, operation)) from None


def measurement(raw: bytes, operation: str) -> FioResult:
    """Bandwidth, rate and latencies of a one-job `write`, `read`, `randwrite` or `randread`. Raises Unreadable."""
    direction = operation.removeprefix("rand")
    job = _job(raw)
    try:
        did = job[direction]
        bandwidth, iops, ios, moved = _bandwidth(did), did["iops"], did["total_ios"], did["io_bytes"]
        for name, value in {"iops": iops, "total_ios": ios, "io_bytes": moved}.items():
            _above_zero(name, value)
        latency = did["clat_ns"]
        mean = latency["mean"] / 1e3
        percentiles = {float(name): value / 1e3 for name, value in latency["percentile"].items()}
        for named, value in [("mean", mean), *percentiles.items()]:
            _above_zero(f"clat_ns {named}", value)
    except KeyError as missing:
        raise Unreadable(f"fio: the {direction} of a {operation} job lacks {missing}") from None
    except Unreadable:
        raise
    except (ValueError, TypeError, AttributeError, OverflowError):
        raise Unreadable(_not_whole(raw, operation)) from None
    if not percentiles:
        raise Unreadable("fio: clat_ns without percentiles")
    return FioResult(bandwidth, iops, ios, moved, mean, percentiles)


def _job(raw: bytes) -> Mapping[str, Any]:
    """The only job of a report; text around the report is ignored. Raises Unreadable if there is none or it failed."""
    text = raw.decode(errors="replace")
    reports = [found for found in documents(text) if isinstance(found.get("jobs"), list)]
    if not reports:
        said = [line for line in text.splitlines() if line.startswith("fio: ")]
        raise Unreadable(said[-1][:300] if said else _not_whole(raw))
    if any(report != reports[0] for report in reports):
        raise Unreadable(f"fio: found {len(reports)} reports that differ, expected one")
    return _finished(reports[0], raw)


def _finished(report: Mapping[str, Any], raw: bytes) -> Mapping[str, Any]:
    jobs, version = report["jobs"], str(report.get("fio version", ""))
    if (major := re.match(r"fio-(\d+)\.", version)) and int(major[1]) < 3:
        raise Unreadable(f"fio: found {version}, expected fio 3 or newer")
    if len(jobs) != 1:
        raise Unreadable(f"fio: {len(jobs)} jobs in the report, expected one")
    if not isinstance(jobs[0], dict) or "error" not in jobs[0]:
        raise Unreadable(_not_whole(raw))
    for key in ("error", "total_err"):
        if number := jobs[0].get(key):
            known = key == "error" and isinstance(number, int) and number in errno.errorcode
            why = f" ({os.strerror(number)})" if known else ""
            raise Unreadable(f"fio: the job ended with {key} {number!r}{why}")
    return jobs[0]


ROUNDED_MS, ROUNDED_SHARE = 1, 0.01
"""Tolerance between bandwidth and bytes over time (ms; relative), as fio rounds times to ms and bandwidths to KiB."""
_UNKNOWN = (2**64 - 1, 2**63 - 1, 2**32 - 1)
"""fio's values, besides 0, for what it has not counted: the initial value of a minimum, the largest number."""


def _bandwidth(did: Mapping[str, Any]) -> float:
    """Bandwidth in MB/s (10^6 bytes), checked against bytes over time. fio 3.0 and 3.1 report it in KiB/s only."""
    in_kib = "bw" in did and "bw_bytes" not in did
    reported = _above_zero("bandwidth", did["bw"] if in_kib else did["bw_bytes"]) * (1024 if in_kib else 1)
    moved, took = _above_zero("io_bytes", did["io_bytes"]), _above_zero("runtime", did["runtime"])
    counted = 1000 * moved / took
    if abs(reported / counted - 1) > ROUNDED_SHARE + ROUNDED_MS / took:
        raise Unreadable(f"fio: bandwidth {reported} B/s, expected {counted:.0f}: {moved} bytes in {took} ms")
    return reported / 1e6


def _above_zero(name: str, value: Any) -> Any:
    if not is_number(value) or value <= 0 or value in _UNKNOWN:
        raise Unreadable(f"fio: {name} {value!r}, expected more than 0")
    return value


def _not_whole(raw: bytes, operation: str = "") -> str:
    return f"fio: not a whole report of a {f'{operation} job' if operation else 'job'} ({len(raw)} bytes)"
