"""The NameNode's log: when each file was created and when it got its final name; and what fsck prints."""

from __future__ import annotations

import calendar
import re
import time
from dataclasses import dataclass

AUDIT = re.compile(
    r"^(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(?P<ms>\d{3}) INFO FSNamesystem\.audit: allowed=true\t.*?"
    r"cmd=(?P<command>create|rename)\tsrc=(?P<source>\S+)\tdst=(?P<target>\S+)",
    re.MULTILINE,
)
TEMPORARY = "._COPYING_"
"""What the file system shell appends to a name until the copy is whole."""

FILE = re.compile(r"^(?P<path>/\S*) (?P<bytes>\d+) bytes, replicated: replication=(?P<replication>\d+), ", re.MULTILINE)
BLOCK = re.compile(r"^(?P<index>\d+)\. (?P<block>BP-\S+) len=(?P<length>\d+).*?Live_repl=\d+\s+\[(?P<places>.*)\]$")
PLACE = re.compile(r"DatanodeInfoWithStorage\[(?P<address>[0-9.]+):\d+,")


@dataclass(frozen=True)
class Operation:
    """One put: its path, when it was created and when it was whole (seconds since 1970)."""

    path: str
    start: float
    end: float


def operations(log: str) -> list[Operation]:
    """Every put that was created and completed in a stretch of the log; one that was not completed is left out."""
    started: dict[str, float] = {}
    found = []
    for match in AUDIT.finditer(log):
        moment = calendar.timegm(time.strptime(match["date"], "%Y-%m-%d %H:%M:%S")) + int(match["ms"]) / 1e3
        source = match["source"]
        if not source.endswith(TEMPORARY):
            continue
        path = source.removesuffix(TEMPORARY)
        if match["command"] == "create":
            started[path] = moment
        elif path in started and match["target"] == path:
            found.append(Operation(path, started.pop(path), moment))
    return found


@dataclass(frozen=True)
class Block:
    """One block: file, position in it, bytes, addresses of the DataNodes that hold a replica."""

    path: str
    index: int
    length: int
    addresses: tuple[str, ...]


def blocks(fsck: str) -> list[Block]:
    """The blocks that `fsck -files -blocks -locations` lists."""
    found, path = [], ""
    for line in fsck.splitlines():
        if file := FILE.match(line):
            path = file["path"]
        elif block := BLOCK.match(line.strip()):
            places = tuple(place["address"] for place in PLACE.finditer(block["places"]))
            found.append(Block(path, int(block["index"]), int(block["length"]), places))
    return found
