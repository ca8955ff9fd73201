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

    def whole_cells(self, block: int, granule: int = 1) -> int:
        """The nearest size of a block that whole cells fill, and `granule`: with another, a put never ends."""
        step = self.cell
        while step % granule:
            step += self.cell
        return max(1, round(block / step)) * step

    def kept(self, length: int) -> int:
        """Bytes on drives of a block group with `length` bytes of data: parity is as long as its longest data."""
        stripes, rest = divmod(length, self.data * self.cell)
        return length + self.parity * (stripes * self.cell + min(rest, self.cell))

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
