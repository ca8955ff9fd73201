"""The drive model: what a node's drives can do, told to src/drive/drive.c."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whitewire.testbed.base import Host


STATE = struct.Struct("4di")
"""The model in the state file, from its ninth byte on: rate, access time, chunk, cache, and whether all may pass."""


@dataclass(frozen=True)
class Drive:
    """The drives of one node as they are set on the testbed (already divided by k).

    count: drives per node; rate: bytes/s of one sequential stream; access_time: seconds to come to another place;
    chunk: bytes a kernel writes back before it turns to another file; cache: bytes that may wait in the drive.
    """

    count: int
    rate: float
    access_time: float
    chunk: float
    cache: float
    library: str

    @classmethod
    def none(cls, count: int = 1) -> Drive:
        """So many folders a node and no model before them: as fast as they are."""
        return cls(count=count, rate=math.inf, access_time=0.0, chunk=math.inf, cache=0.0, library="")

    @property
    def limits(self) -> bool:
        """Whether there is a drive at all."""
        return math.isfinite(self.rate)

    @classmethod
    def scaled(cls, hardware: Mapping, k: float, library: str) -> Drive:
        """From the full-scale `hardware.drive` of an experiment. Sizes shrink by k and rates with them, so times stay.

        The cache too shrinks by k only, as blocks do: it empties between the blocks that a drive gets. One packet
        of HDFS always fits."""
        return cls(
            count=int(hardware["count"]),
            rate=hardware["rate_mb_per_s"] * 1e6 / k,
            access_time=hardware["access_time_ms"] * 1e-3,
            chunk=hardware["writeback_chunk_bytes"] / k,
            cache=max(65536.0, hardware["cache_bytes"] / k),
            library=library,
        )

    @property
    def record(self) -> dict[str, float] | str:
        """What a record tells of the model; JSON has no numbers for one that limits nothing."""
        told = {"count": self.count, "rate": self.rate, "access_time": self.access_time, "chunk": self.chunk,
                "cache": self.cache}  # fmt: skip
        return told if self.limits else "no model"

    def folders(self, host: Host) -> list[str]:
        """The folders of the host's drives, one per drive."""
        return [host.drive(number) for number in range(1, self.count + 1)]

    def put(self, host: Host, at_ease: bool = False) -> None:
        """Make the drives of a host these, from now on; at ease they let everything pass, as where there is no model.

        Needed before a program with environment() starts there. What waits in a queue keeps its time.
        """
        eased = at_ease or not self.limits
        model = STATE.pack(self.rate, self.access_time, self.chunk, self.cache, eased)
        # At once, for programs that run: after the word that says whether there is a queue.
        into = f"bs={len(model)} count=1 iflag=fullblock oflag=seek_bytes seek=8 conv=notrunc status=none"
        script = f'mkdir -p "$0" && dd of="$0/.queue" {into}'
        host.run(["sh", "-c", script, host.drive_root], stdin=model).check()

    def told(self, host: Host) -> dict[str, float]:
        """The model's state as it is on a host, read back: its rate is infinite while everything may pass.

        `count` is the number of folders that the host's drives have.
        """
        state = host.run(["dd", f"if={host.drive_root}/.queue", "bs=1", "skip=8", f"count={STATE.size}",
                          "status=none"]).check().stdout  # fmt: skip
        rate, access_time, chunk, cache, eased = STATE.unpack(state)
        rate = math.inf if eased else rate
        folders = host.run(["sh", "-c", 'ls -d "$0"/[0-9]*', host.drive_root]).check().stdout.split()
        return {"count": len(folders), "rate": rate, "access_time": access_time, "chunk": chunk, "cache": cache}

    def environment(self, root: str) -> dict[str, str]:
        """What a program needs so that files below root/1, root/2, … are on drives 1, 2, …"""
        return {"LD_PRELOAD": self.library, "WHITEWIRE_DRIVES": root} if self.limits else {}
