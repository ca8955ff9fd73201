"""What a run's record says that was really so, one function per factor; None where it says nothing. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from whitewire.records.run import FilesSeen, Job, RunRecord


def _one(values: Iterable[Any], otherwise: Callable[[list[Any]], Any] = max) -> Any | None:
    """The value that all have; of several the one that `otherwise` chooses, so that it shows; None of none."""
    found = list(values)
    return None if not found else found[0] if len(set(found)) == 1 else otherwise(found)


# --- links --------------------------------------------------------------------------------------------------


def _links(record: RunRecord, key: str) -> list[Any]:
    states = record["evidence"].get("links", {}).values()
    return [state[key] for state in states if key in state]  # type: ignore[literal-required]


def link_rate(record: RunRecord) -> float | None:
    """Mbit/s; where links differ, that which is farthest from what was asked."""
    asked = record["fabric"]["rate"]
    return _one(_links(record, "rate"), lambda rates: max(rates, key=lambda rate: abs(rate - asked)))


def divisor(record: RunRecord) -> float | None:
    rate = link_rate(record)
    return record["fabric"]["full_scale_rate"] / rate if rate else None


def queue_kib(record: RunRecord) -> float | None:
    queue = _one(_links(record, "queue"), min)
    return None if queue is None else queue / 1024


def offloads(record: RunRecord) -> str | None:
    return _one(_links(record, "offloads"), lambda states: "on some links")


# --- files --------------------------------------------------------------------------------------------------


def _files(record: RunRecord, *names: str) -> FilesSeen | None:
    """The first of these folders that there is evidence of."""
    found = record["evidence"].get("files", {})
    return next((found[name] for name in names if name in found), None)


def size_asked(record: RunRecord) -> float | None:
    """Bytes of all files together: of the level, on the testbed's scale."""
    return None if "size_bytes" not in record["asked"] else record["user_bytes"]


def size(record: RunRecord) -> float | None:
    files = _files(record, "input", "output")
    return None if files is None else files["bytes"]


def file_asked(record: RunRecord) -> float | None:
    return record["scale"]["file_bytes"] if "file_size_bytes" in record["asked"] else None


def _per_file(record: RunRecord) -> dict[str, list[int]]:
    """Bytes of each block, by file, of what clients put."""
    found: dict[str, list[int]] = {}
    for block in record.get("placement", []):
        found.setdefault(block["file"], []).append(block["bytes"])
    return found


def file_bytes(record: RunRecord) -> float | None:
    return _one(map(sum, _per_file(record).values()))


def file_blocks(record: RunRecord) -> float | None:
    return _one(map(len, _per_file(record).values()))


def block_asked(record: RunRecord) -> float | None:
    return record["scale"]["block_bytes"] if "block_size_bytes" in record["asked"] else None


def block_bytes(record: RunRecord) -> float | None:
    """The largest block where files have several; a file of one block fills it only if it is as large as asked."""
    asked = record["scale"]["block_bytes"]
    if placed := _per_file(record):
        blocks, largest = max(map(len, placed.values())), max(map(max, placed.values()))
    else:
        files = _files(record, "input", "output")
        if files is None or "blocks" not in files:
            return None
        blocks, largest = -(-files["blocks"] // max(1, files["files"])), files["largest_block"]
    return largest if blocks > 1 or largest >= asked else None


def splits(record: RunRecord) -> float | None:
    files = _files(record, "input")
    if files is not None and "blocks" in files:
        return files["blocks"]
    written = _files(record, "output")
    if written is not None and "blocks" in written and written["files"]:
        return written["blocks"] / written["files"]
    return maps(record)


def copies_asked(record: RunRecord) -> float | None:
    """None where the data lie in a file system that keeps no copies of its own."""
    return None if record.get("mounted") else record["asked"].get("replication")


def copies(record: RunRecord) -> float | None:
    if placed := record.get("placement"):
        return _worst([len(set(block["datanodes"])) for block in placed], record["asked"]["replication"])
    # Of the output, unless it has a number of its own.
    apart = "output_replication" in record["asked"]
    found = _files(record, "input", "output") if apart else _files(record, "output", "input")
    return _copies(found, record["asked"]["replication"])


def output_copies(record: RunRecord) -> float | None:
    return _copies(_files(record, "output"), record["asked"]["output_replication"])


def _copies(files: FilesSeen | None, asked: int) -> float | None:
    if files is None or not files.get("blocks"):
        return None
    return _worst([files["replicas_least"], files["replicas_most"]], asked)


def _worst(found: list[int], asked: int) -> int:
    return max(found, key=lambda number: abs(number - asked))


def lost(record: RunRecord) -> float | None:
    before = _files(record, "before")
    return None if before is None else record["asked"]["replication"] - before["replicas_most"]


# --- who takes part -----------------------------------------------------------------------------------------


def nodes(record: RunRecord) -> float | None:
    files = record["evidence"].get("files", {}).values()
    registered = _one(seen["datanodes"] for seen in files if "datanodes" in seen)
    if registered is not None and not record.get("mounted"):
        return registered
    hosts = {task["host"] for job in record.get("jobs", []) for task in job["tasks"]}
    return len(hosts) or None


def _puts(record: RunRecord) -> Counter[str]:
    return Counter(put["client"] for put in record.get("operations", []))


def clients(record: RunRecord) -> float | None:
    """Of puts; of files that were put before a run, by their folders."""
    return len(_puts(record)) or len({file.split("/")[2] for file in _per_file(record)}) or None


def puts_per_client(record: RunRecord) -> float | None:
    counted = _puts(record) or Counter(file.split("/")[2] for file in _per_file(record))
    return _one(counted.values())


def _jobs(record: RunRecord) -> list[Job]:
    return [job for job in record.get("jobs", []) if "maps" in job]


def maps(record: RunRecord) -> float | None:
    return _one(job["maps"] for job in _jobs(record))


def reduces(record: RunRecord) -> float | None:
    return _one(job["reduces"] for job in _jobs(record))


# --- settings and drives ------------------------------------------------------------------------------------


def packet_bytes(record: RunRecord) -> float | None:
    return record["evidence"].get("packet_bytes")


def drive(key: str, unit: float) -> Callable[[RunRecord], float | None]:
    """A key of the drive model's state at full scale, in units of `unit`: rates and sizes are divided by k there."""

    def seen(record: RunRecord) -> float | None:
        value = record["evidence"].get("drive", {}).get(key)
        if value is None:
            return None
        return value / unit * (record["scale"]["k"] if key in ("rate", "chunk", "cache") else 1)

    return seen
