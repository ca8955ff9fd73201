"""NNBench: its arguments, and the result that it prints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from whitewire.tools import Unreadable, in_one_line

NNBENCH_OPERATIONS = ("create_write", "open_read", "rename", "delete")
_HEADER = "-------------- NNBench -------------- :"
_LINES = {
    "operation": "Test Operation",
    "maps": "Maps to run",
    "operations": "Successful file operations",
    "late": "# maps that missed the barrier",
    "exceptions": "# exceptions",
    "first": "RAW DATA: AL Total #1",
    "second": "RAW DATA: AL Total #2",
    "longest": "RAW DATA: Longest Map Time (ms)",
}
TRANSACTIONS = {"create_write": 2}
"""Calls of the NameNode that NNBench counts per file: create and close; one for other operations."""


@dataclass(frozen=True)
class NNBenchResult:
    """A result. `operations`: successful operations of all maps; `late`: maps that missed the common start.

    `first`, `second`: total milliseconds of all calls (`second`: of the closes after create_write); `longest`:
    milliseconds of the longest map task.
    """

    operation: str
    maps: int
    operations: int
    late: int
    exceptions: int
    first: float
    second: float
    longest: float

    @property
    def per_second(self) -> float:
        """Calls of the NameNode per second, as NNBench counts them, over the longest map task's time."""
        return self.operations * TRANSACTIONS.get(self.operation, 1) / (self.longest / 1e3)


def nnbench_arguments(operation: str, maps: int, files: int, folder: str, start: int, block: int) -> Sequence[str]:
    """Arguments for `maps` map tasks with one operation on `files` empty files each, from `start` (s since 1970) on."""
    return [
        "-operation", operation, "-maps", str(maps), "-reduces", "1", "-numberOfFiles", str(files), "-baseDir", folder,
        "-startTime", str(start), "-bytesToWrite", "0", "-blockSize", str(block), "-bytesPerChecksum", "512",
        "-replicationFactorPerFile", "1",
    ]  # fmt: skip


def nnbench_result(text: str) -> NNBenchResult:
    """The last result in NNBench's output. Raises Unreadable, naming a missing or invalid line."""
    _, header, last = text.rpartition(_HEADER)
    if not header:
        raise Unreadable("NNBench: found no result in its output")
    said = {name: _said(last, name) for name in _LINES}
    operation = said.pop("operation")
    if operation not in NNBENCH_OPERATIONS:
        raise Unreadable(
            f"NNBench: operation: found {in_one_line(operation)}, expected one of {', '.join(NNBENCH_OPERATIONS)}"
        )
    numbers = {name: _number(name, value) for name, value in said.items()}
    whole = {name: int(numbers[name]) for name in ("maps", "operations", "late", "exceptions")}
    return NNBenchResult(
        operation, **whole, first=numbers["first"], second=numbers["second"], longest=numbers["longest"]
    )


def _said(text: str, name: str) -> str:
    found = re.search(rf": +{re.escape(_LINES[name])}: *(\S.*?)\s*$", text, re.MULTILINE)
    if not found:
        raise Unreadable(f"NNBench: found no {name} in its output")
    return found[1]


def _number(name: str, said: str) -> float:
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?(E[0-9]+)?", said):
        raise Unreadable(f"NNBench: {name}: found {in_one_line(said)}, expected a number")
    return float(said)
