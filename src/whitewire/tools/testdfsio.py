"""Parsers for TestDFSIO's output. Its spaces vary between releases, and whole numbers have no decimal point."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime

from whitewire.tools import Unreadable, in_one_line

MEGA = 0x100000
"""Bytes of TestDFSIO's MB (TestDFSIO.java)."""


@dataclass(frozen=True)
class DfsioResult:
    """A result in bytes/s. `throughput`: all bytes over the sum of the tasks' times; `rate_mean`, `rate_deviation`:
    mean and standard deviation of the tasks' rates; `seconds`: the job's time as TestDFSIO measures it.
    """

    files: int
    throughput: float
    rate_mean: float
    rate_deviation: float
    seconds: float


_HEADER = "----- TestDFSIO ----- :"
"""The beginning of each result."""
_LINES = {
    "files": "Number of files",
    "throughput": "Throughput mb/sec",
    "rate_mean": "Average IO rate mb/sec",
    "rate_deviation": "IO rate std deviation",
    "seconds": "Test exec time sec",
}
_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:E-?[0-9]+)?"
INFINITE = ("Infinity", "∞", "?", "\ufffd")
"""Java's texts for infinity, by release and output encoding. A task of less than a millisecond has an infinite rate,
and then the deviation is NaN."""


def dfsio_result(text: str) -> DfsioResult:
    """The last result in TestDFSIO's output. Raises Unreadable, naming a missing or invalid line."""
    _, header, last = text.rpartition(_HEADER)
    if not header:
        raise Unreadable("TestDFSIO: found no result in its output")
    said = {name: _said(last, name) for name in _LINES}
    files, mean = said["files"], _rate("rate_mean", said["rate_mean"])
    if not re.fullmatch("[0-9]+", files):
        raise Unreadable(f"TestDFSIO: files: found {files!r}, expected a whole number")
    deviation = "Infinity" if mean == math.inf and said["rate_deviation"] == "NaN" else said["rate_deviation"]
    return DfsioResult(
        int(files),
        _rate("throughput", said["throughput"]) * MEGA,
        mean * MEGA,
        _rate("rate_deviation", deviation) * MEGA,
        _number("seconds", said["seconds"]),
    )


def _said(text: str, name: str) -> str:
    """The text after a line's label; "Throughput" must not match "Total Throughput"."""
    lines = re.findall(rf"(?:^|[^\w\s])[^\S\n]*{_LINES[name]}[^\S\n]*:(.*)$", text, re.MULTILINE)
    found = {line.strip() for line in lines}
    if not found:
        raise Unreadable(f"TestDFSIO: found no {name} in its output")
    if len(found) > 1:
        raise Unreadable(f"TestDFSIO: {name}: found {len(found)} values in one result, expected one")
    return found.pop()


def _rate(name: str, said: str) -> float:
    return math.inf if said in INFINITE else _number(name, said)


def _number(name: str, said: str) -> float:
    if not re.fullmatch(_NUMBER, said):
        raise Unreadable(f"TestDFSIO: {name}: found {in_one_line(said)}, expected a number with a decimal point")
    return float(said)


TASK_LINE = "Exec time = "
"""Part of the line that a task logs at the end of its reading or writing (TestDFSIO.java, collectStats)."""


def task_spans(log: str) -> list[tuple[float, float]]:
    """(begin, end) of each task's reading or writing, in seconds by the hosts' clocks, from the tasks' logs."""
    found = []
    for day, millis, took in re.findall(
        rf"^(\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{{3}}) .*{TASK_LINE}(\d+)$", log, re.MULTILINE
    ):
        end = datetime.fromisoformat(f"{day}+00:00").timestamp() + int(millis) / 1e3
        found.append((end - int(took) / 1e3, end))
    return sorted(found)


def task_values(output: str) -> dict[str, float]:
    """Sums over the tasks from the reduce task's output (part-00000), which is more exact than the printed result.

    `size` in bytes, `time` in milliseconds, `rate` and `sqrate` in thousandths of MiB/s. Raises Unreadable.
    """
    found: dict[str, float] = {}
    for kind, name, said in re.findall(r"^([fl]):(\w+)\s+(.*)$", output, re.MULTILINE):
        if not re.fullmatch("[0-9]+" if kind == "l" else f"{_NUMBER}|Infinity|NaN", said.strip()):
            raise Unreadable(f"TestDFSIO: {name}: found {in_one_line(said)}, expected a number")
        if found.setdefault(name, float(said)) != float(said):
            raise Unreadable(f"TestDFSIO: {name}: found {found[name]} and {said}, expected one value")
    if not {"size", "time", "rate", "tasks"} <= set(found):
        raise Unreadable(f"TestDFSIO: its result has {sorted(found)}, expected size, time, rate and tasks")
    return found
