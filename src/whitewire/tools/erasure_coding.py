"""HDFS's erasure coding policies: their names, the file that adds one (`hdfs ec -addPolicies`), what a file takes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

KIB = 1024
"""HDFS takes cells of whole KiB only, and of no more than 4 MiB."""
MOST_KIB = 4096
NAME = re.compile(r"(?P<codec>RS|RS-LEGACY|XOR)-(?P<data>[1-9]\d?)-(?P<parity>[1-9]\d?)-(?P<kib>[1-9]\d{0,3})k")
BUILT_IN = ("RS-3-2-1024k", "RS-6-3-1024k", "RS-10-4-1024k", "RS-LEGACY-6-3-1024k", "XOR-2-1-1024k")
"""Those that HDFS brings."""


@dataclass(frozen=True)
class Policy:
    """`data` blocks and `parity` blocks of a block group, filled in cells of `cell` bytes, on as many DataNodes."""

    codec: str
    data: int
    parity: int
    cell: int

    @classmethod
    def of(cls, name: str) -> Policy | None:
        """The policy of a name like RS-3-2-1024k; None for a name that HDFS could not give."""
        found = NAME.fullmatch(name)
        if not found or int(found["kib"]) > MOST_KIB or (found["codec"] == "XOR" and found["parity"] != "1"):
            return None
        return cls(found["codec"], int(found["data"]), int(found["parity"]), int(found["kib"]) * KIB)

    @property
    def name(self) -> str:
        """As HDFS calls it."""
        return f"{self.codec}-{self.data}-{self.parity}-{self.cell // KIB}k"

    @property
    def datanodes(self) -> int:
        """How many DataNodes a block group needs."""
        return self.data + self.parity

    def scaled(self, share: float) -> Policy:
        """The same code in cells that are smaller by `share`, as near as whole KiB allow."""
        return replace(self, cell=max(1, round(self.cell * share / KIB)) * KIB)

    def of_block(self, block: int, share: float) -> Policy:
        """scaled(), in cells of which a block is a whole number: with others, a put never ends.

        Raises ValueError for a block that is no whole number of KiB.
        """
        if block % KIB:
            raise ValueError(f"{self.name}: found a block of {block} bytes, expected whole KiB")
        most = min(MOST_KIB, block // KIB)
        cells = [kib * KIB for kib in range(1, most + 1) if block // KIB % kib == 0]
        return replace(self, cell=min(cells, key=lambda cell: abs(cell - self.cell * share)))

    def blocks(self, length: int) -> int:
        """How many blocks a group with `length` bytes of data has: none of the data that it would not fill."""
        return min(self.data, -(-length // self.cell)) + self.parity

    def longest(self, length: int) -> int:
        """Bytes of the longest block of a block group with `length` bytes of data."""
        stripes, rest = divmod(length, self.data * self.cell)
        return stripes * self.cell + min(rest, self.cell)

    def kept(self, length: int) -> int:
        """Bytes on drives of a block group with `length` bytes of data: parity is as long as its longest data."""
        return length + self.parity * self.longest(length)

    @property
    def file(self) -> str:
        """What `hdfs ec -addPolicies -policyFile` reads."""
        schema = f"{self.codec}-{self.data}-{self.parity}"
        return (
            '<?xml version="1.0"?>\n<configuration><layoutversion>1</layoutversion>\n'
            f'<schemas><schema id="{schema}"><codec>{self.codec.lower()}</codec><k>{self.data}</k>'
            f"<m>{self.parity}</m></schema></schemas>\n"
            f"<policies><policy><schema>{schema}</schema><cellsize>{self.cell}</cellsize></policy></policies>\n"
            "</configuration>\n"
        )
