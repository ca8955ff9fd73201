"""The account of a node's memory (src/drive/account.h) on a clock of the test's own."""

from __future__ import annotations

import ctypes
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parents[1] / "src" / "drive"
INTERMEDIATE, TIMES = 64, 2
"""The first drive for intermediate data, and its rate over that of drives for data."""


@dataclass(frozen=True)
class Sums:
    """Bytes: made dirty, taken by drives, deleted before, read from memory; dirty now, held now."""

    taken: float
    gone: float
    forgotten: float
    read: float
    dirty: float
    held: float


def library(folder: Path) -> ctypes.CDLL:
    """The account compiled into a folder, with functions of `tests/support/account.c`."""
    made = folder / "account.so"
    subprocess.run(
        ["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{SOURCES}", "-o", made,
         HERE / "account.c"],
        check=True,
    )  # fmt: skip
    found = ctypes.CDLL(str(made))
    number, whole, pointer = ctypes.c_double, ctypes.c_ulong, ctypes.c_void_p
    for name, result, arguments in (
        ("node", pointer, [number] * 7),
        ("node_write", number, [pointer, whole, ctypes.c_int, number, number, number]),
        ("node_read", number, [pointer, whole, ctypes.c_int, number, number, number]),
        ("node_sync", number, [pointer, whole, ctypes.c_int, number]),
        ("node_cut", None, [pointer, whole, number, number]),
        ("node_advance", None, [pointer, number]),
        ("node_repair", None, [pointer]),
        ("node_sums", None, [pointer, ctypes.POINTER(number)]),
    ):
        function = getattr(found, name)
        function.restype, function.argtypes = result, arguments
    return found


class Node:
    """One node: `now` is its clock, in seconds; each call takes the time that it waits."""

    def __init__(self, compiled: ctypes.CDLL, rate: float, access_time: float = 0.0, chunk: float = 1e18,
                 cache: float = 0.0, memory: float = 1e18, background: float = 0.0,
                 limit: float = 0.0) -> None:  # fmt: skip
        self.library, self.limit, self.memory, self.now = compiled, limit, memory, 0.0
        self.node = compiled.node(rate, access_time, chunk, cache, memory, background, limit)
        self.lengths: dict[int, float] = {}

    def write(self, file: int, size: float, drive: int = 1) -> bool:
        """Append to a file; False where memory does not take it."""
        offset = self.lengths.get(file, 0.0)
        until = self.library.node_write(self.node, file, drive, offset, size, self.now)
        if until >= 0:
            self.lengths[file], self.now = offset + size, until
        return until >= 0

    def read(self, file: int, offset: float, size: float, drive: int = 1) -> float:
        """Bytes of it that memory has."""
        return self.library.node_read(self.node, file, drive, offset, size, self.now)

    def sync(self, file: int, drive: int = 1) -> None:
        self.now = self.library.node_sync(self.node, file, drive, self.now)

    def cut(self, file: int, length: float = 0.0) -> None:
        self.library.node_cut(self.node, file, length, self.now)
        self.lengths[file] = min(self.lengths.get(file, 0.0), length)

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.library.node_advance(self.node, self.now)

    def repair(self) -> None:
        self.library.node_repair(self.node)

    @property
    def sums(self) -> Sums:
        found = (ctypes.c_double * 6)()
        self.library.node_sums(self.node, found)
        return Sums(*found)
