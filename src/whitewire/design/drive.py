"""The drive model: properties of a node's drives, which src/drive/drive.c reads."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

STATE = struct.Struct("18diI")
"""The model in the state file, from its ninth byte on: write rate, read rate, access time, chunk and cache, of drives
for data and of those for intermediate data; number of the latter, and bytes that they moved; memory, its background
limit and limit of dirty bytes; rate of a writer, bytes that all writers sent, and seconds that their calls took;
whether everything passes without delay; the epoch, whose change empties the memory."""
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
    there is no memory, and each call waits for its drive. writer: bytes/s that one writer of HDFS makes at most,
    whatever its drives; 0: no bound. intermediate: drives for intermediate data alone; None: it is on the same drives.
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
    writer: float = 0.0
    intermediate: Drive | None = None

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
    def alone(self) -> Drive:
        """The same drives without memory in front of them, and without a bound on writers."""
        return replace(self, memory=0.0, background=0.0, limit=0.0, writer=0.0)

    def slowed(self, share: float) -> Drive:
        """The same drives at a share of their rates."""
        own = self.intermediate and self.intermediate.slowed(share)
        return replace(self, rate=self.rate * share, read_rate=self.read_rate * share, intermediate=own)

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
            writer=hardware.get("writer_mb_per_s", 0) * 1e6 / k,
            intermediate=cls.scaled(hardware["intermediate"], k, library) if "intermediate" in hardware else None,
        )

    @property
    def record(self) -> dict[str, float] | str:
        """The model for a record; a text if nothing is modelled, because JSON has no infinite numbers.

        Drives for intermediate data have keys that begin with `intermediate_`.
        """
        found = self.numbers
        if self.intermediate:
            found |= {f"intermediate_{key}": value for key, value in self.intermediate.numbers.items()}
        if self.cached:
            found |= {"memory": self.memory, "background": self.background, "limit": self.limit}
        if self.writer:
            found["writer"] = self.writer
        return found if self.limits else "no model"

    @property
    def numbers(self) -> dict[str, float]:
        """Number and properties by their names in records, without memory and drives for intermediate data."""
        return {"count": self.count, **_in_words(self._properties)}

    @property
    def _properties(self) -> tuple[float, ...]:
        return self.rate, self.read_rate, self.access_time, self.chunk, self.cache

    def state(self, at_ease: bool = False, epoch: int = 0) -> bytes:
        """The model in the binary format that src/drive/drive.c reads, from the ninth byte of its state file on."""
        eased, own = at_ease or not self.limits, self.intermediate or self
        number = own.count if self.intermediate else 0
        return STATE.pack(
            *self._properties, *own._properties, number, 0.0, self.memory, self.background, self.limit,
            self.writer, 0.0, 0.0, eased, epoch,
        )  # fmt: skip

    def environment(self, root: str, data_port: int = 0) -> dict[str, str]:
        """Environment variables that put a program's files below root/1, root/2, … on drives 1, 2, …

        `data_port`: where DataNodes take blocks from the program, if it is a writer, which the model may bound.
        """
        writer = {"WHITEWIRE_DATA_PORT": str(data_port)} if data_port else {}
        return {"LD_PRELOAD": self.library, "WHITEWIRE_DRIVES": root, **writer} if self.limits else {}


def _in_words(properties: Sequence[float], eased: bool = False) -> dict[str, float]:
    """Properties of drives by name, with a `read_rate` only where reads and writes differ."""
    rate, read_rate, access_time, chunk, cache = properties
    found = {"rate": math.inf if eased else rate, "access_time": access_time, "chunk": chunk, "cache": cache}
    return found | ({"read_rate": math.inf if eased else read_rate} if read_rate != rate else {})


def read_state(state: bytes) -> dict[str, float]:
    """Model and account from the bytes of the state file after the eighth.

    `rate` and `read_rate` are infinite while everything passes without delay. With drives for intermediate data their
    keys are included, and `intermediate_moved`, their bytes since the model was written. With memory in front of the
    drives its keys are included, and bytes since the begin of the epoch: `taken`, `gone`, `forgotten`, `read`, `most`,
    `asked` (see ACCOUNT). With a bound on writers `writer` is included, and `sent` and `sending`, bytes and seconds of
    all writers since the model was written.
    """
    *numbers, eased, _ = STATE.unpack_from(state)
    count, moved, memory, background, limit, writer, sent, sending = numbers[10:]
    found = _in_words(numbers[:5], eased)
    if count:
        own = {"count": int(count), **_in_words(numbers[5:10]), "moved": moved}
        found |= {f"intermediate_{key}": value for key, value in own.items()}
    if limit > 0:
        names = ("taken", "gone", "forgotten", "read", "most", "asked")
        found |= {"memory": memory, "background": background, "limit": limit}
        found |= dict(zip(names, ACCOUNT.unpack_from(state, STATE.size), strict=True))
    if writer > 0:
        found |= {"writer": writer, "sent": sent, "sending": sending}
    return found
