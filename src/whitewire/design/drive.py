"""The drive model: what a node's drives can do, passed to src/drive/drive.c."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace

STATE = struct.Struct("7diI")
"""The model in the state file, from its ninth byte on: rate, access time, chunk, cache, memory, its background and its
limit of dirty bytes, whether all may pass, and the epoch, with each new one of which memory is empty."""
ACCOUNT = struct.Struct("6d")
"""What follows it: bytes that memory took, passed on to drives, and forgot as their file went; bytes read from memory;
most that was dirty when a writer went on; bytes of all calls that came by."""


@dataclass(frozen=True)
class Drive:
    """The drives of one node as they are set on the testbed (already divided by k).

    count: drives per node; rate: bytes/s of one sequential stream; access_time: seconds to come to another place;
    chunk: bytes a kernel writes back before it turns to another file; cache: bytes that may wait in the drive.
    memory: bytes of files that the node's memory holds; background, limit: dirty bytes above which the drives write
    back, and above which writers wait. A limit of 0: no memory, and each call waits for its drive.
    """

    count: int
    rate: float
    access_time: float
    chunk: float
    cache: float
    library: str
    memory: float = 0.0
    background: float = 0.0
    limit: float = 0.0

    @classmethod
    def none(cls, count: int = 1) -> Drive:
        """So many folders a node and no model before them: as fast as they are."""
        return cls(count=count, rate=math.inf, access_time=0.0, chunk=math.inf, cache=0.0, library="")

    @property
    def limits(self) -> bool:
        """Whether there is a drive at all."""
        return math.isfinite(self.rate)

    @property
    def cached(self) -> bool:
        """Whether the node's memory is in front of its drives."""
        return self.limits and self.limit > 0

    @property
    def uncached(self) -> Drive:
        """The same drives without memory in front of them."""
        return replace(self, memory=0.0, background=0.0, limit=0.0)

    @classmethod
    def scaled(cls, hardware: Mapping, k: float, library: str, data_fraction: float = 1.0) -> Drive:
        """From the full-scale drives of an experiment (description.paper.hardware_of). Sizes shrink by k and rates with
        them, so times stay.

        The cache too shrinks by k only, as blocks do: it empties between the blocks that a drive gets. One packet
        of HDFS always fits. Memory, which a run fills from its first byte to its last, shrinks by the data fraction
        too. A kernel keeps the background limit below the other: Linux takes half of that where it is not."""
        memory = hardware.get("memory_bytes", 0) / k * data_fraction
        limit = memory * hardware.get("dirty_ratio", 0) / 100
        background = memory * hardware.get("dirty_background_ratio", 0) / 100
        return cls(
            count=int(hardware["count"]),
            rate=hardware["rate_mb_per_s"] * 1e6 / k,
            access_time=hardware["access_time_ms"] * 1e-3,
            chunk=hardware["writeback_chunk_bytes"] / k,
            cache=max(65536.0, hardware["cache_bytes"] / k),
            library=library,
            memory=memory,
            background=background if background < limit else limit / 2,
            limit=limit,
        )

    @property
    def record(self) -> dict[str, float] | str:
        """What a record has of the model; JSON has no numbers for one that limits nothing."""
        found = {"count": self.count, "rate": self.rate, "access_time": self.access_time, "chunk": self.chunk,
                "cache": self.cache}  # fmt: skip
        if self.cached:
            found |= {"memory": self.memory, "background": self.background, "limit": self.limit}
        return found if self.limits else "no model"

    def state(self, at_ease: bool = False, epoch: int = 0) -> bytes:
        """The model as src/drive/drive.c reads it from the ninth byte of its state file on."""
        eased = at_ease or not self.limits
        return STATE.pack(
            self.rate, self.access_time, self.chunk, self.cache, self.memory, self.background, self.limit, eased, epoch
        )

    def environment(self, root: str) -> dict[str, str]:
        """What a program needs so that files below root/1, root/2, … are on drives 1, 2, …"""
        return {"LD_PRELOAD": self.library, "WHITEWIRE_DRIVES": root} if self.limits else {}


def read_state(state: bytes) -> dict[str, float]:
    """What model and account in the state file say, of the bytes from the ninth one on.

    `rate` is infinite while everything may pass. With memory in front of the drives there is that too, and bytes since
    the last epoch began: `taken`, `gone`, `forgotten`, `read`, `most`, `asked` (see ACCOUNT).
    """
    rate, access_time, chunk, cache, memory, background, limit, eased, _ = STATE.unpack_from(state)
    found = {"rate": math.inf if eased else rate, "access_time": access_time, "chunk": chunk, "cache": cache}
    if limit > 0:
        names = ("taken", "gone", "forgotten", "read", "most", "asked")
        found |= {"memory": memory, "background": background, "limit": limit}
        found |= dict(zip(names, ACCOUNT.unpack_from(state, STATE.size), strict=True))
    return found
