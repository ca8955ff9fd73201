"""The drive model: properties of a node's drives, which src/drive/drive.c reads."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace

STATE = struct.Struct("8diI")
"""The model in the state file, from its ninth byte on: rates of writing and reading, access time, chunk, cache, memory,
its background limit and limit of dirty bytes, whether everything passes without delay, and the epoch, whose change
empties the memory."""
ACCOUNT = struct.Struct("6d")
"""The account, which follows the model: bytes that memory took, that it passed on to drives, and that it dropped with
their removed file; bytes read from memory; most dirty bytes when a writer continued; bytes of all calls."""


@dataclass(frozen=True)
class Drive:
    """The drives of one node as set on the testbed (already divided by k).

    count: drives per node; rate, read_rate: bytes/s of one sequential stream that is written, and of one that is read;
    access_time: seconds to move to another position; chunk: bytes that the kernel writes back before it switches to
    another file; cache: bytes that may wait in a drive; memory: bytes of files that the node's memory holds;
    background, limit: dirty bytes above which the drives write back, and above which writers wait. With a limit of 0
    there is no memory, and each call waits for its drive.
    """

    count: int
    rate: float
    read_rate: float
    access_time: float
    chunk: float
    cache: float
    library: str
    memory: float = 0.0
    background: float = 0.0
    limit: float = 0.0

    @classmethod
    def none(cls, count: int = 1) -> Drive:
        """`count` folders per node without a model, as fast as they actually are."""
        return cls(
            count=count, rate=math.inf, read_rate=math.inf, access_time=0.0, chunk=math.inf, cache=0.0, library=""
        )

    @property
    def limits(self) -> bool:
        """Whether a drive is modelled at all."""
        return math.isfinite(self.rate)

    @property
    def cached(self) -> bool:
        """Whether the node's memory is in front of its drives."""
        return self.limits and self.limit > 0

    @property
    def uncached(self) -> Drive:
        """The same drives without memory in front of them."""
        return replace(self, memory=0.0, background=0.0, limit=0.0)

    def slowed(self, share: float) -> Drive:
        """The same drives at a share of their rates."""
        return replace(self, rate=self.rate * share, read_rate=self.read_rate * share)

    @classmethod
    def scaled(cls, hardware: Mapping, k: float, library: str, data_fraction: float = 1.0) -> Drive:
        """The scaled drives, from those of an experiment at full scale (description.paper.hardware_of). Sizes and rates
        are divided by k, so times stay.

        The cache is divided by k only, like blocks, because it empties between the blocks that a drive gets; one packet
        of HDFS always fits. Memory, which fills during the whole run, is also multiplied by the data fraction. If the
        background limit is not below the other limit, it is half of that, as in Linux."""
        memory = hardware.get("memory_bytes", 0) / k * data_fraction
        limit = memory * hardware.get("dirty_ratio", 0) / 100
        background = memory * hardware.get("dirty_background_ratio", 0) / 100
        return cls(
            count=int(hardware["count"]),
            rate=hardware["rate_mb_per_s"] * 1e6 / k,
            read_rate=hardware.get("read_rate_mb_per_s", hardware["rate_mb_per_s"]) * 1e6 / k,
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
        """The model for a record; a text if nothing is modelled, because JSON has no infinite numbers.

        It has a `read_rate` only where reads and writes differ.
        """
        found = {"count": self.count, "rate": self.rate, "access_time": self.access_time, "chunk": self.chunk,
                "cache": self.cache}  # fmt: skip
        if self.read_rate != self.rate:
            found["read_rate"] = self.read_rate
        if self.cached:
            found |= {"memory": self.memory, "background": self.background, "limit": self.limit}
        return found if self.limits else "no model"

    def state(self, at_ease: bool = False, epoch: int = 0) -> bytes:
        """The model in the binary format that src/drive/drive.c reads, from the ninth byte of its state file on."""
        eased = at_ease or not self.limits
        return STATE.pack(
            self.rate, self.read_rate, self.access_time, self.chunk, self.cache,
            self.memory, self.background, self.limit, eased, epoch,
        )  # fmt: skip

    def environment(self, root: str) -> dict[str, str]:
        """Environment variables that put a program's files below root/1, root/2, … on drives 1, 2, …"""
        return {"LD_PRELOAD": self.library, "WHITEWIRE_DRIVES": root} if self.limits else {}


def read_state(state: bytes) -> dict[str, float]:
    """Model and account from the bytes of the state file after the eighth.

    `rate` is infinite while everything passes without delay; `read_rate` is included only where it differs. With memory
    in front of the drives, its keys are included, and bytes since the begin of the epoch: `taken`, `gone`, `forgotten`,
    `read`, `most`, `asked` (see ACCOUNT).
    """
    rate, read_rate, access_time, chunk, cache, memory, background, limit, eased, _ = STATE.unpack_from(state)
    found = {"rate": math.inf if eased else rate, "access_time": access_time, "chunk": chunk, "cache": cache}
    if read_rate != rate:
        found["read_rate"] = math.inf if eased else read_rate
    if limit > 0:
        names = ("taken", "gone", "forgotten", "read", "most", "asked")
        found |= {"memory": memory, "background": background, "limit": limit}
        found |= dict(zip(names, ACCOUNT.unpack_from(state, STATE.size), strict=True))
    return found
