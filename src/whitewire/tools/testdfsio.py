"""TestDFSIO's closing lines. Spaces vary between releases, and a whole number has no dot."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime

from whitewire.tools import Unreadable, shown

MEGA = 0x100000
"""TestDFSIO's MB are 2^20 bytes (TestDFSIO.java)."""


@dataclass(frozen=True)
class Result:
    """`throughput`: all bytes over the sum of the tasks' times; `rate_mean`, `rate_deviation`: of the tasks' own rates.

    Bytes/s; `seconds` is the job's time as TestDFSIO takes it.
    """

    files: int
    throughput: float
    rate_mean: float
    rate_deviation: float
    seconds: float


HEADER = "----- TestDFSIO ----- :"
"""Begins each result."""
LINES = {
    "files": "Number of files",
    "throughput": "Throughput mb/sec",
    "rate_mean": "Average IO rate mb/sec",
    "rate_deviation": "IO rate std deviation",
    "seconds": "Test exec time sec",
}
NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:E-?[0-9]+)?"
INFINITE = ("Infinity", "∞", "?", "\ufffd")
"""A task that took no whole millisecond has an infinite rate, and none of them a deviation; how Java says so hangs on
its release and on the encoding of its output."""


def parse(text: str) -> Result:
    """The last result in what TestDFSIO said. Raises Unreadable naming the line that is missing or no number."""
    _, header, last = text.rpartition(HEADER)
    if not header:
        raise Unreadable("TestDFSIO: it did not say its result")
    said = {name: _said(last, name) for name in LINES}
    files, mean = said["files"], _rate("rate_mean", said["rate_mean"])
    if not re.fullmatch("[0-9]+", files):
        raise Unreadable(f"TestDFSIO: files: found {files!r}, expected a whole number")
    deviation = "Infinity" if mean == math.inf and said["rate_deviation"] == "NaN" else said["rate_deviation"]
    return Result(
        int(files),
        _rate("throughput", said["throughput"]) * MEGA,
        mean * MEGA,
        _rate("rate_deviation", deviation) * MEGA,
        _number("seconds", said["seconds"]),
    )


def _said(text: str, name: str) -> str:
    """What follows a line's label. "Total Throughput" is another line than "Throughput"."""
    lines = re.findall(rf"(?:^|[^\w\s])[^\S\n]*{LINES[name]}[^\S\n]*:(.*)$", text, re.MULTILINE)
    found = {line.strip() for line in lines}
    if not found:
        raise Unreadable(f"TestDFSIO: it did not say {name}")
    if len(found) > 1:
        raise Unreadable(f"TestDFSIO: {name}: found {len(found)} values in one result, expected one")
    return found.pop()


def _rate(name: str, said: str) -> float:
    return math.inf if said in INFINITE else _number(name, said)


def _number(name: str, said: str) -> float:
    if not re.fullmatch(NUMBER, said):
        raise Unreadable(f"TestDFSIO: {name}: found {shown(said)}, expected a number with a decimal point")
    return float(said)


TASK_LINE = "Exec time = "
"""Part of the line that a task logs when its reading or writing ends (TestDFSIO.java, collectStats)."""


def task_spans(log: str) -> list[tuple[float, float]]:
    """Begin and end of each task's reading or writing, seconds of the hosts' clocks, from lines of the tasks' logs."""
    found = []
    for day, millis, took in re.findall(
        rf"^(\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{{3}}) .*{TASK_LINE}(\d+)$", log, re.MULTILINE
    ):
        end = datetime.fromisoformat(f"{day}+00:00").timestamp() + int(millis) / 1e3
        found.append((end - int(took) / 1e3, end))
    return sorted(found)


def task_values(output: str) -> dict[str, float]:
    """What its reduce wrote (part-00000): sums over the tasks, exact where the closing lines round to two digits.

    `size` in bytes, `time` in milliseconds, `rate` and `sqrate` in thousandths of MiB/s. Raises Unreadable.
    """
    found: dict[str, float] = {}
    for kind, name, said in re.findall(r"^([fl]):(\w+)\s+(.*)$", output, re.MULTILINE):
        if not re.fullmatch("[0-9]+" if kind == "l" else f"{NUMBER}|Infinity|NaN", said.strip()):
            raise Unreadable(f"TestDFSIO: {name}: found {shown(said)}, expected a number")
        if found.setdefault(name, float(said)) != float(said):
            raise Unreadable(f"TestDFSIO: {name}: found {found[name]} and {said}, expected one value")
    if not {"size", "time", "rate", "tasks"} <= set(found):
        raise Unreadable(f"TestDFSIO: its result has {sorted(found)}, expected size, time, rate and tasks")
    return found
