"""Evidence about a run's folders, from reports of HDFS and other file systems, and about its settings. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from whitewire.records.run import FilesSeen
from whitewire.tools import Unreadable, in_one_line, namenode
from whitewire.tools.erasure_coding import Policy
from whitewire.tools.namenode import FsckBlock, fsck_blocks


def of_fsck(text: str, coded: bool = False) -> FilesSeen:
    """A folder from the output of `fsck -files -blocks -locations`, without hidden files. Raises Unreadable.

    Names of hidden files begin with _ or a dot, such as TeraSort's _partition.lst, whose number of replicas differs.
    `coded`: files may be erasure-coded; a block group counts as one block, whose bytes are those of its longest block.
    """
    listed = fsck_blocks(text, coded)
    blocks = [block for block in listed if block.path.rpartition("/")[2][0] not in "_."]
    per_file = Counter(block.path for block in blocks)
    replicas = [len(set(block.addresses)) for block in blocks] or [0]
    found: FilesSeen = {
        "files": len(per_file),
        "bytes": sum(block.length for block in blocks),
        "blocks": len(blocks),
        "largest_block": max(map(_longest, blocks), default=0),
        "fewest_blocks": min(per_file.values(), default=0),
        "replicas_least": min(replicas),
        "replicas_most": max(replicas),
    }
    if policies := sorted({block.policy for block in blocks if block.policy}):
        found["policy"] = " and ".join(policies)
        found["wanting"] = sum(map(_wanting, blocks))
    registered = namenode.datanodes(text)
    return found if registered is None else {**found, "datanodes": registered}


def _longest(block: FsckBlock) -> int:
    policy = Policy.of(block.policy)
    return policy.longest(block.length) if policy else block.length


def _wanting(block: FsckBlock) -> bool:
    policy = Policy.of(block.policy)
    return policy is not None and len(set(block.addresses)) < policy.blocks(block.length)


def coding(files: FilesSeen) -> str:
    """The erasure coding policy of a folder's files, and the number of incomplete block groups; empty for replicas."""
    name, wanting = files.get("policy", ""), files.get("wanting", 0)
    return f"{name}, {wanting} of {files['blocks']} block groups lack a block" if wanting else name


def of_count(text: str) -> FilesSeen:
    """A folder of any file system, from the output of `hdfs dfs -count`. Raises Unreadable."""
    found = re.search(r"^\s*[0-9]+\s+([0-9]+)\s+([0-9]+)\s+\S", text, re.MULTILINE)
    if not found:
        raise Unreadable(f"hdfs dfs -count: found {in_one_line(text)}, expected folders, files, bytes and the path")
    return {"files": int(found[1]), "bytes": int(found[2])}


def merged_settings(reported: Iterable[Mapping[str, str]], names: Iterable[str]) -> dict[str, str]:
    """Settings of several jobs or daemons: the value that all of them have, or all their values."""
    answers = list(reported)
    values = {name: sorted({each[name] for each in answers if name in each}) for name in names}
    return {name: " and ".join(found) for name, found in values.items() if found}
