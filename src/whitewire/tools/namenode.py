"""Parsers for the NameNode's log (when files were created and completed) and for HDFS's commands, such as fsck."""

from __future__ import annotations

import calendar
import json
import re
import time
from dataclasses import dataclass

from whitewire.tools import Unreadable, in_one_line

AUDIT = re.compile(
    r"^(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(?P<ms>\d{3}) INFO FSNamesystem\.audit: allowed=true\t.*?"
    r"cmd=(?P<command>create|rename)\tsrc=(?P<source>\S+)\tdst=(?P<target>\S+)",
    re.MULTILINE,
)
TEMPORARY = "._COPYING_"
"""Suffix of the file system shell for files that are still being copied."""

FILE = re.compile(r"(?P<path>/.*) (?P<bytes>\S+) bytes, (?P<kept>.*?)\s*(?P<blocks>\S+) block\(s\)(?P<state>[^:]*):.*")
REPLICATED = re.compile(r"(replicated: replication=[0-9]+,)?")
"""fsck's words for a replicated file; Hadoop 2 prints none, because it has replicas only."""
CODED = re.compile(r"erasure-coded: policy=(?P<policy>[^\s,]+),")
PLACE = r"(?:blk_-[0-9]+:)?(?:DatanodeInfoWithStorage\[)?([0-9a-fA-F.:]*[0-9a-fA-F]):[0-9]+(?:,[^][]*\])?"
"""A DataNode with a replica, or with the named block of a group; Hadoop 2.6 and older print its address only."""
_BLOCK = re.compile(
    rf"(?P<index>[0-9]+)\. BP-\S+ len=(?P<length>[0-9]+) .*?repl=[0-9]+\s+\[(?P<places>(?:{PLACE}(?:, {PLACE})*)?)\]"
)
UNDER_REPLICATED = re.compile(r"Target Replicas is ([0-9]+) but found ([0-9]+) (?:live )?replica")
_END = re.compile(r"^The filesystem under path .* is \S+\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Operation:
    """One put: its path, and the times of its creation and completion (seconds since 1970)."""

    path: str
    start: float
    end: float


def operations(log: str) -> list[Operation]:
    """Every put that was both created and completed in a part of the log."""
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


def stamped(stat: str, folder: str) -> list[Operation]:
    """The puts into a folder, with times of creation and closing, from `hdfs dfs -stat '%X %Y %n'`.

    Other output of the shell is ignored.
    """
    stamps = re.findall(r"^([0-9]{13}) ([0-9]{13}) (\S.*)$", stat, re.MULTILINE)
    return [Operation(f"{folder}/{name}", int(made) / 1e3, int(closed) / 1e3) for made, closed, name in stamps]


RACK, MEMBER = re.compile(r"Rack: (\S+)"), re.compile(r"\s+([0-9a-fA-F.:]+):[0-9]+\b.*")


def racks_of_report(topology: str) -> dict[str, list[str]]:
    """Rack → addresses of its DataNodes, from `dfsadmin -printTopology`. Raises Unreadable."""
    found: dict[str, list[str]] = {}
    rack = ""
    for line in topology.splitlines():
        if named := RACK.fullmatch(line.rstrip()):
            rack = named[1]
            found.setdefault(rack, [])
        elif rack and (member := MEMBER.fullmatch(line)):
            found[rack].append(member[1])
    if not found or not all(found.values()):
        raise Unreadable(f"dfsadmin -printTopology: found {in_one_line(topology)}, expected racks and their DataNodes")
    return found


def volumes(report: str) -> int:
    """Number of a DataNode's active volumes, from `dfsadmin -getVolumeReport`. Raises Unreadable."""
    match = re.search(r"^Active Volumes : ([0-9]+)\s*$", report, re.MULTILINE)
    if match is None:
        raise Unreadable(f"dfsadmin -getVolumeReport: found {in_one_line(report)}, expected the active volumes")
    return int(match[1])


@dataclass(frozen=True)
class FsckBlock:
    """One block: file, position in it, bytes, addresses of the DataNodes with a replica.

    In an erasure-coded file (`policy`) it is a block group: bytes of data, DataNodes with one of its blocks.
    """

    path: str
    index: int
    length: int
    addresses: tuple[str, ...]
    policy: str = ""


def fsck_blocks(fsck: str, coded: bool = False) -> list[FsckBlock]:
    """All blocks in the output of `fsck -files -blocks -locations` of Hadoop 2 and 3.

    Other lines are ignored. `coded`: allow erasure-coded files. Raises Unreadable for a file with missing blocks or one
    that is not closed, and, without `coded`, for one that is not replicated.
    """
    files: dict[str, re.Match[str]] = {}
    found: dict[str, list[FsckBlock]] = {}
    path = ""
    for line in map(str.strip, fsck.splitlines()):
        if file := FILE.fullmatch(line):
            path = file["path"]
            if path in files:
                raise Unreadable(f"fsck: {path} is listed twice")
            _closed(file, coded)
            files[path], found[path] = file, []
        elif re.match(r"\S+\. BP-", line):
            block = _BLOCK.fullmatch(line)
            if block is None or not path:
                raise Unreadable(
                    f"fsck: {path or 'no file'}: found block {in_one_line(line)}, expected its length and places"
                )
            places = tuple(re.findall(PLACE, block["places"]))
            policy = CODED.fullmatch(files[path]["kept"])
            found[path].append(
                FsckBlock(path, int(block["index"]), int(block["length"]), places, policy["policy"] if policy else "")
            )
        elif re.match(r"/.* bytes, ", line):
            raise Unreadable(f"fsck: found {in_one_line(line)}, expected a file's path, bytes and blocks")
    if not _END.search(fsck):
        raise Unreadable(
            f"fsck: found {in_one_line(fsck[-150:], 150)} at its end, expected 'The filesystem under path …'"
        )
    for path, file in files.items():
        _whole(file, found[path])
    return [block for listed in found.values() for block in listed]


def datanodes(fsck: str) -> int | None:
    """Number of DataNodes that fsck reports; None for a Hadoop that does not print it."""
    found = re.search(r"^\s*Number of data-nodes:\s*([0-9]+)\s*$", fsck, re.MULTILINE)
    return int(found[1]) if found else None


def lacks_replicas(fsck: str) -> bool:
    """Whether a block has fewer replicas than its target, or than DataNodes if the target exceeds their number.

    TeraSort's _partition.lst has a target of ten, which a smaller cluster cannot reach.
    """
    most = datanodes(fsck)
    return any(
        int(found) < (int(wanted) if most is None else min(int(wanted), most))
        for wanted, found in UNDER_REPLICATED.findall(fsck)
    )


def packets(jmx: str) -> int:
    """Write packets that a DataNode has received, from DataNodeActivity in its /jmx. Raises Unreadable."""
    try:
        (bean,) = json.loads(jmx)["beans"]
        return int(bean["PacketsReceived"])
    except (ValueError, KeyError, TypeError):
        raise Unreadable(f"DataNode: found {in_one_line(jmx)}, expected its activity with PacketsReceived") from None


def _closed(file: re.Match[str], may_be_coded: bool) -> None:
    """Raise Unreadable for a file that is not closed, or not replicated (or, if allowed, erasure-coded)."""
    path, kept = file["path"], file["kept"]
    coded = CODED.fullmatch(kept)
    if coded and not may_be_coded:
        raise Unreadable(f"fsck: {path}: found erasure coding with {coded['policy']}, expected replicas "
                         "(hdfs ec -setPolicy -replicate)")  # fmt: skip
    if not coded and not REPLICATED.fullmatch(kept):
        raise Unreadable(f"fsck: {path}: found {in_one_line(kept)}, expected 'replicated: replication=…'")
    if file["state"]:
        raise Unreadable(f"fsck: {path}: found {in_one_line(file['state'])}, expected a closed file")
    if not all(re.fullmatch("[0-9]+", file[name]) for name in ("bytes", "blocks")):
        raise Unreadable(
            f"fsck: {path}: found {file['bytes']} bytes, {file['blocks']} block(s), expected whole numbers"
        )


def _whole(file: re.Match[str], listed: list[FsckBlock]) -> None:
    """Raise Unreadable unless the number and the bytes of a file's blocks agree with its line."""
    number, length = len(listed), sum(block.length for block in listed)
    if [block.index for block in listed] != list(range(int(file["blocks"]))) or length != int(file["bytes"]):
        raise Unreadable(f"fsck: {file['path']}: found {number} blocks with {length} bytes, "
                         f"expected {file['blocks']} with {file['bytes']}")  # fmt: skip
