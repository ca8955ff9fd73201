"""HDFS's erasure coding policies: their names, the file that adds one (`hdfs ec -addPolicies`), and block lengths."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from whitewire.units import KIB

MOST_KIB = 4096
"""HDFS accepts cells of whole KiB only, up to 4 MiB."""
_NAME = re.compile(r"(?P<codec>RS|RS-LEGACY|XOR)-(?P<data>[1-9]\d?)-(?P<parity>[1-9]\d?)-(?P<kib>[1-9]\d{0,3})k")
BUILT_IN = ("RS-3-2-1024k", "RS-6-3-1024k", "RS-10-4-1024k", "RS-LEGACY-6-3-1024k", "XOR-2-1-1024k")
"""Policies that are part of HDFS."""


@dataclass(frozen=True)
class Policy:
    """A policy: groups of `data` and `parity` blocks, each on its own DataNode, filled in cells of `cell` bytes."""

    codec: str
    data: int
    parity: int
    cell: int

    @classmethod
    def of(cls, name: str) -> Policy | None:
        """The policy with a name like RS-3-2-1024k; None for an invalid name."""
        found = _NAME.fullmatch(name)
        if not found or int(found["kib"]) > MOST_KIB or (found["codec"] == "XOR" and found["parity"] != "1"):
            return None
        return cls(found["codec"], int(found["data"]), int(found["parity"]), int(found["kib"]) * KIB)

    @property
    def name(self) -> str:
        """HDFS's name for it."""
        return f"{self.codec}-{self.data}-{self.parity}-{self.cell // KIB}k"

    @property
    def datanodes(self) -> int:
        """Number of DataNodes that a block group needs."""
        return self.data + self.parity

    def scaled(self, share: float) -> Policy:
        """The same code with cells of `share` times the size, rounded to whole KiB."""
        return replace(self, cell=max(1, round(self.cell * share / KIB)) * KIB)

    def of_block(self, block: int, share: float) -> Policy:
        """Like scaled(), but with the nearest cell size that divides `block` bytes: with others, a put never ends.

        Raises ValueError for a block that is not a whole number of KiB.
        """
        if block % KIB:
            raise ValueError(f"{self.name}: found a block of {block} bytes, expected whole KiB")
        most = min(MOST_KIB, block // KIB)
        cells = [kib * KIB for kib in range(1, most + 1) if block // KIB % kib == 0]
        return replace(self, cell=min(cells, key=lambda cell: abs(cell - self.cell * share)))

    def blocks(self, length: int) -> int:
        """Number of blocks in a group with `length` bytes of data, without data blocks that would be empty."""
        return min(self.data, -(-length // self.cell)) + self.parity

    def longest(self, length: int) -> int:
        """Bytes of the longest block of a block group with `length` bytes of data."""
        stripes, rest = divmod(length, self.data * self.cell)
        return stripes * self.cell + min(rest, self.cell)

    def kept(self, length: int) -> int:
        """Bytes on drives of a group with `length` bytes of data; parity blocks are as long as the longest data one."""
        return length + self.parity * self.longest(length)

    @property
    def file(self) -> str:
        """The XML file for `hdfs ec -addPolicies -policyFile`."""
        schema = f"{self.codec}-{self.data}-{self.parity}"
        return (
            '<?xml version="1.0"?>\n<configuration><layoutversion>1</layoutversion>\n'
            f'<schemas><schema id="{schema}"><codec>{self.codec.lower()}</codec><k>{self.data}</k>'
            f"<m>{self.parity}</m></schema></schemas>\n"
            f"<policies><policy><schema>{schema}</schema><cellsize>{self.cell}</cellsize></policy></policies>\n"
            "</configuration>\n"
        )
