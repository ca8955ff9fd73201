"""TestDFSIO's closing lines. Spaces vary between releases, and a whole number has no dot."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime

from whitewire.parsers import Unreadable

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


RATE = "([\\d.]+|Infinity|NaN|[∞?\ufffd])"
"""A task that took no whole millisecond has an infinite rate, and none of them a deviation; how Java says so hangs on
its release and on the encoding of its output."""
LINES = {
    "files": r"Number of files\s*:\s*([\d.]+)",
    "throughput": rf"Throughput mb/sec\s*:\s*{RATE}",
    "rate_mean": rf"Average IO rate mb/sec\s*:\s*{RATE}",
    "rate_deviation": rf"IO rate std deviation\s*:\s*{RATE}",
    "seconds": r"Test exec time sec\s*:\s*([\d.]+)",
}


def parse(text: str) -> Result:
    """The last result in what TestDFSIO said. Raises Unreadable naming the line that is missing."""
    found = {}
    for name, pattern in LINES.items():
        values = re.findall(pattern, text)
        if not values:
            raise Unreadable(f"TestDFSIO: it did not say {name}")
        found[name] = float(values[-1]) if values[-1][0].isdigit() else math.inf
    return Result(
        int(found["files"]),
        found["throughput"] * MEGA,
        found["rate_mean"] * MEGA,
        found["rate_deviation"] * MEGA,
        found["seconds"],
    )


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
    found = dict(re.findall(r"^[fl]:(\w+)\s+([\d.E]+|Infinity|NaN)$", output, re.MULTILINE))
    if not {"size", "time", "rate", "tasks"} <= set(found):
        raise Unreadable(f"TestDFSIO: its result has {sorted(found)}, expected size, time, rate and tasks")
    return {name: float(value) for name, value in found.items()}
