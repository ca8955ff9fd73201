"""Values that a run actually had according to its record, one function per factor; None if not reported. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from whitewire.records import jobs
from whitewire.records.run import FilesSeen, Job, RunRecord
from whitewire.records.samples import MTU, SEGMENT
from whitewire.records.transport import fault_of_transport
from whitewire.tools.hibench import dfsioe_files
from whitewire.tools.link import Link


def _one(values: Iterable[Any], otherwise: Callable[[list[Any]], Any] = max) -> Any | None:
    """The common value of all; the one that `otherwise` chooses if they differ; None without any."""
    found = list(values)
    return None if not found else found[0] if len(set(found)) == 1 else otherwise(found)


def _farthest(found: Sequence[float], asked: float) -> float | None:
    """The value that differs most from `asked`; None without any."""
    return max(found, key=lambda value: abs(value - asked), default=None)


# --- links --------------------------------------------------------------------------------------------------


def _links(record: RunRecord, key: str) -> list[Any]:
    states = record["evidence"].get("links", {}).values()
    return [state[key] for state in states if key in state]  # type: ignore[literal-required]


def _alike(record: RunRecord) -> list[Link]:
    """All links that should have the fabric's rate."""
    unlike = record["fabric"]["unlike"]
    return [link for host, link in record["evidence"].get("links", {}).items() if host not in unlike]


def racks_asked(record: RunRecord) -> dict[str, Any] | None:
    """Number of racks and the uplinks' rate; None on a network without racks."""
    fabric = record["fabric"]
    count = fabric["racks"]
    return {"racks": count, "uplink": _megabits(fabric["uplink"])} if count else None


def racks(record: RunRecord) -> dict[str, Any] | None:
    """Number of racks in HDFS, and the uplink rate that differs most from the one asked for."""
    asked, uplinks = record["fabric"]["uplink"], record["evidence"].get("uplinks", {}).values()
    rate = _farthest([link[way] for link in uplinks for way in ("rate", "rate_in")], asked)
    if rate is None or "racks" not in record["evidence"]:
        return None
    rate = asked if abs(rate / asked - 1) < 1e-3 else rate  # a shaper counts whole units
    return {"racks": len(record["evidence"]["racks"]), "uplink": _megabits(rate)}


def _megabits(rate: float) -> str:
    """A rate with the precision of a shaper."""
    return f"{rate:.4g} Mbit/s"


def mtu(record: RunRecord) -> float | None:
    """Links' MTU in bytes; the standard MTU if TCP's segments did not exceed it, even if the links report more."""
    found, segment = _one(_links(record, "mtu"), min), record["evidence"].get("segment")
    if found is None or segment is None:
        return None
    return found if segment > SEGMENT or found <= MTU else MTU


def slow_host(record: RunRecord) -> float | None:
    """Rate of the slowest link (in its faster direction) over the fabric's rate."""
    rates = [max(link["rate"], link.get("rate_in", 0.0)) for link in record["evidence"].get("links", {}).values()]
    return min(rates) / record["fabric"]["rate"] if rates else None


def link_rate(record: RunRecord) -> float | None:
    """Rate in Mbit/s of the link and direction that is farthest from the rate asked for.

    Real links may be faster: of these the slowest rate counts. None if a link reports no rate and none is too slow.
    """
    links, asked = _alike(record), record["fabric"]["rate"]
    rates = [link[way] for link in links for way in ("rate", "rate_in") if way in link]
    if record["fabric"]["burst"]:
        return _farthest(rates, asked)
    slowest = min(rates, default=None)
    known = all("rate" in link for link in links) or (slowest is not None and slowest < asked)
    return slowest if known else None


def divisor(record: RunRecord) -> float | None:
    rate = link_rate(record)
    return record["fabric"]["full_scale_rate"] / rate if rate else None


def queue_kib(record: RunRecord) -> float | None:
    queue = _one(_links(record, "queue"), min)
    return None if queue is None else queue / 1024


def offloads(record: RunRecord) -> str | None:
    return _one(_links(record, "offloads"), lambda states: "on some links")


def transport(record: RunRecord) -> str | None:
    """The transport asked for if the run's bytes used its kind; else the reason why they did not."""
    if "ports" not in record["evidence"]:
        return None
    return fault_of_transport(record["transport"]["kind"], record["evidence"]["ports"]) or record["asked"]["transport"]


# --- files --------------------------------------------------------------------------------------------------


def _files(record: RunRecord, *names: str) -> FilesSeen | None:
    """Evidence of the first of these folders that has any."""
    found = record["evidence"].get("files", {})
    return next((found[name] for name in names if name in found), None)


def size_asked(record: RunRecord) -> float | None:
    """Bytes of all files together for the level asked for, on the testbed's scale."""
    return None if "size_bytes" not in record["asked"] else record["user_bytes"]


def size(record: RunRecord) -> float | None:
    files = _files(record, "input", "output")
    return None if files is None else files["bytes"]


def file_asked(record: RunRecord) -> float | None:
    return record["scale"]["file_bytes"] if "file_size_bytes" in record["asked"] else None


def _per_file(record: RunRecord) -> dict[str, list[int]]:
    """File that clients put → bytes of each of its blocks."""
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


ROUNDED = 0.01
"""Largest share by which a block may be smaller than asked, since HDFS rounds sizes to its granule."""


def block_bytes(record: RunRecord) -> float | None:
    """Bytes of the largest block if files have several blocks, or if it is as large as asked; else None."""
    asked = record["scale"]["block_bytes"]
    if (placed := _per_file(record)) and not record.get("coding"):
        blocks, largest = max(map(len, placed.values())), max(map(max, placed.values()))
    else:
        files = _files(record, "input", "output")
        if files is None or "blocks" not in files:
            return None
        blocks, largest = -(-files["blocks"] // max(1, files["files"])), files["largest_block"]
    return largest if blocks > 1 or largest >= (1 - ROUNDED) * asked else None


def splits(record: RunRecord) -> float | None:
    if record.get("coding"):  # a block group is read as several splits
        return maps(record)
    files = _files(record, "input")
    if files is not None and "blocks" in files:
        return files["blocks"]
    written = _files(record, "output")
    if written is not None and "blocks" in written and written["files"]:
        return written["blocks"] / written["files"]
    return maps(record)


def copies_asked(record: RunRecord) -> float | None:
    """Copies asked for; None if the data are in a mounted file system or erasure-coded."""
    return None if record.get("mounted") or record.get("coding") else record["asked"].get("replication")


def copies(record: RunRecord) -> float | None:
    if placed := record.get("placement"):
        return _farthest([len(set(block["datanodes"])) for block in placed], record["asked"]["replication"])
    # The output's copies count, unless it has a factor of its own.
    apart = "output_replication" in record["asked"]
    found = _files(record, "input", "output") if apart else _files(record, "output", "input")
    return _copies(found, record["asked"]["replication"])


def output_copies_asked(record: RunRecord) -> float | None:
    return None if record.get("coding") else record["asked"].get("output_replication")


def output_copies(record: RunRecord) -> float | None:
    return _copies(_files(record, "output"), record["asked"]["output_replication"])


def _copies(files: FilesSeen | None, asked: int) -> float | None:
    if files is None or not files.get("blocks"):
        return None
    return _farthest([files["replicas_least"], files["replicas_most"]], asked)


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
    """Number of clients with puts; for files put before the run, from their folders."""
    return len(_puts(record)) or len({file.split("/")[2] for file in _per_file(record)}) or None


def puts_per_client(record: RunRecord) -> float | None:
    counted = _puts(record) or Counter(file.split("/")[2] for file in _per_file(record))
    return _one(counted.values())


def put_from(record: RunRecord) -> str | None:
    """`client` if no client's host is a DataNode; `datanode` if every block is on the host that put it, else how many
    are."""
    if not (placed := record.get("placement", [])):
        return None
    hosts = record["client_hosts"]
    if not set(hosts) & set(record["datanode_hosts"]):
        return "client"
    own = {f"client{number}": host for number, host in enumerate(hosts, start=1)}
    stayed = sum(own[block["file"].split("/")[2]] in block["datanodes"] for block in placed)
    return "datanode" if stayed == len(placed) else f"datanode, with {stayed} of {len(placed)} blocks on its own host"


def _jobs(record: RunRecord) -> list[Job]:
    return [job for job in record.get("jobs", []) if "maps" in job]


def maps(record: RunRecord) -> float | None:
    return _one(job["maps"] for job in _jobs(record))


def reduces(record: RunRecord) -> float | None:
    return _one(job["reduces"] for job in _jobs(record))


def program_of_reports(record: RunRecord) -> str | None:
    """The program asked for if all reports' types contain its name (HiBench: `HadoopTerasort`), else the types."""
    types = [report["type"] for report in record.get("reports", [])]
    name = str(record["asked"]["program"])
    return None if not types else name if all(name in kind.lower() for kind in types) else " ".join(types)


def profile_asked(record: RunRecord) -> float | None:
    """Bytes of the program's input, on the testbed's scale; None if its reports have none."""
    asked = record["asked"]
    if "profile" not in asked or not profile(record):
        return None
    return record["scale"]["file_bytes"] * (dfsioe_files(asked["profile"]) if asked["program"] == "dfsioe" else 1)


def profile(record: RunRecord) -> float | None:
    return _one([report["bytes"] for report in record.get("reports", [])])


# --- settings and drives ------------------------------------------------------------------------------------


_LAST = 2
"""Number of packets without data that a DataNode counts at the end of each block."""
_HEADER, _CHUNK, _CHECKSUM = 33, 512, 4
"""Bytes of a packet's header, and of each chunk of data with its checksum (PacketHeader.java, DFSOutputStream.java)."""
PACKETS_WITHIN = 0.02
"""Largest relative deviation in the number of packets, since a pause makes a client send one before it is full."""


def _data_per_packet(packet: float) -> float:
    return max(1, (packet - _HEADER) // (_CHUNK + _CHECKSUM)) * _CHUNK


def packet_bytes(record: RunRecord) -> float | None:
    """The packet size asked for if the DataNodes received the right number of packets; else the size received."""
    return _packets(record, record["scale"]["packet_bytes"])


PACKET_SIZE = "dfs.client-write-packet-size"
"""The setting of HDFS's clients for the bytes in a packet of the write pipeline."""


def settings(record: RunRecord) -> dict[str, str] | None:
    """Settings as configurations report them; the packet size as DataNodes received it, if they count packets."""
    of_clients, of_daemons = record["evidence"].get("settings"), record["evidence"].get("daemon_settings")
    reported = None if of_clients is None and of_daemons is None else {**(of_clients or {}), **(of_daemons or {})}
    asked = record["asked"].get("settings", {}).get(PACKET_SIZE)
    received = _packets(record, float(asked)) if asked else None
    if reported is None or asked is None or received is None or received == float(asked):
        return reported
    return {**reported, PACKET_SIZE: f"{received:.0f}"}


def _packets(record: RunRecord, asked: float) -> float | None:
    """Bytes per packet: as asked if the DataNodes received the right number of packets; else the mean size.

    Each block ends with a partly filled packet and _LAST packets without data.
    """
    received, placed = record["evidence"].get("packets"), record.get("placement", [])
    if received is None or not placed or record.get("coding"):
        return None
    copies = [(block["bytes"], len(set(block["datanodes"]))) for block in placed]
    whole = _data_per_packet(asked)
    expected = sum((math.ceil(length / whole) + _LAST) * number for length, number in copies)
    if abs(received - expected) <= PACKETS_WITHIN * expected:
        return asked
    full = received - sum(_LAST * number for _, number in copies)
    return sum(length * number for length, number in copies) / max(1, full) / _CHUNK * (_CHUNK + _CHECKSUM) + _HEADER


# --- jobs ---------------------------------------------------------------------------------------------------


def operation(record: RunRecord) -> str | None:
    """Names of the jobs that TestDFSIO or NNBench submitted; `both` for write and read."""
    ran = " and ".join(job["name"] for job in _jobs(record))
    return {"write and read": "both"}.get(ran, ran) or None


def files_per_map(record: RunRecord) -> float | None:
    return _one(job["nnbench"]["operations"] / job["nnbench"]["maps"] for job in _jobs(record) if "nnbench" in job)


def tasks_per_worker(record: RunRecord) -> float | None:
    """Largest number of tasks that ran concurrently on a worker, over all jobs."""
    return max((jobs.at_once(job["tasks"]) for job in _jobs(record) if job["tasks"]), default=None)


def task_workers(record: RunRecord) -> float | None:
    """Number of hosts on which tasks ran, of the job in which it differs most from the one asked for."""
    hosts = [len({task["host"] for task in job["tasks"]}) for job in _jobs(record) if job["tasks"]]
    return _farthest(hosts, record["asked"]["task_workers"])


def map_output_compression(record: RunRecord) -> str | None:
    """Compression in the job's configuration, unless it is `none` and the counters contradict that."""
    reported = record["evidence"].get("map_output_compression")
    for job in _jobs(record):
        shorter = jobs.map_output_shorter(job["counters"])
        if reported == "none" and shorter:
            return "something: fewer bytes were written than map tasks put out"
    return reported


def intermediate_drive(record: RunRecord) -> str | None:
    """Drives for intermediate data as workers report them; those of their own only if all map output went to them."""
    reported, moved = record["evidence"].get("intermediate_drive"), record["evidence"].get("intermediate_moved")
    output = sum(job["counters"].get("MAP_OUTPUT_MATERIALIZED_BYTES", 0) for job in _jobs(record))
    if moved is None or moved >= max(1, output):
        return reported
    return f"{reported}, to which {moved:.0f} bytes went, with {output} of map output"


def drive_named(record: RunRecord) -> dict[str, Any] | None:
    """State of the drive model for the keys asked for, on the testbed's scale; `count`: the DataNode's volumes."""
    evidence = record["evidence"]
    if "drive" not in evidence or "volumes" not in evidence:
        return None
    return {key: evidence["drive"].get(key) for key in record["asked"]["drive"]} | {"count": evidence["volumes"]}


def drive(key: str, unit: float) -> Callable[[RunRecord], float | None]:
    """A function that reads a key of the drive model's state, in multiples of `unit`; rates and sizes at full scale."""

    def seen(record: RunRecord) -> float | None:
        state = record["evidence"].get("drive", {})
        value = state.get("rate" if key == "read_rate" and key not in state else key)
        if value is None:
            return None
        return value / unit * (record["scale"]["k"] if key in ("rate", "read_rate", "chunk", "cache") else 1)

    return seen
