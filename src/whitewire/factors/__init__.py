"""The table of factors: what a paper may vary, one line each, with the proof of treatment."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from whitewire.factors import seen
from whitewire.factors.base import Factor, Proof, asked_for
from whitewire.factors.seen import program_of_reports
from whitewire.records.run import RunRecord

NETWORK = frozenset({"mtu", "slow_host", "slow_drives", "cross_traffic"})
"""Factors and parameters of links or hosts that do not affect startup overhead, because they matter only with data."""

DRIVE = frozenset({
    "count", "rate_mb_per_s", "read_rate_mb_per_s", "access_time_ms", "writeback_chunk_bytes", "cache_bytes",
})  # fmt: skip
"""Factors that are keys of an experiment's `hardware.drive`."""
MEMORY = frozenset({"memory_bytes", "dirty_background_ratio", "dirty_ratio"})
"""Further keys of a drive with a page cache in front of it."""
PUT_FROM = ("client", "datanode")
"""Levels of `put_from`: the role of the hosts on which clients run."""

FACTORS: dict[str, Factor] = {
    factor.name: factor
    for factor in (
        # Links.
        Factor(
            "fabric", "The network: the rate of each host's link",
            "tc reports the rate of every host's link; of a real one the device, if it does, at least as much, and "
            "iperf3 before the runs",
            lambda record: record["fabric"]["rate"], seen.link_rate, "Mbit/s", within=0.01, real_links=True,
        ),
        Factor(
            "uplink", "The network's racks, and the rate of each one's uplink",
            "tc reports the rate of every uplink in both directions, `hdfs dfsadmin -printTopology` the racks",
            seen.racks_asked, seen.racks, "", needs="shapes_links", part_of="fabric",
        ),
        Factor(
            "transport", "The way by which Hadoop's own traffic goes: the kernel's TCP, or RDMA under the same sockets",
            "counters of every host's RDMA port, of its interface and of its kernel's TCP: over RDMA the port counted "
            "the bytes and TCP at most 5 % of them, else TCP sent them",
            asked_for("transport"), seen.transport, "",
        ),
        Factor(
            "mtu", "Bytes of an IP packet: 1500, more for jumbo frames (9000)",
            "ip reports it for both ends of every link; for more than 1500 TCP's mean segment must be larger than such "
            "a frame holds",
            asked_for("mtu"), seen.mtu, "B", needs="shapes_links",
        ),
        Factor(
            "slow_host", "Share of its link's rate that the last worker has",
            "tc reports the rate of its link in both directions",
            asked_for("slow_host"), seen.slow_host, within=0.01, needs="shapes_links",
        ),
        Factor(
            "slow_drives", "Share of its drives' rate that the last worker has",
            "the model's state is read back from its host and from another worker's",
            asked_for("slow_drives"), lambda record: record["evidence"].get("slow_drives"), within=0.001,
            needs="models_drives",
        ),
        Factor(
            "cross_traffic", "Share of each uplink's rate that other hosts send over it during the run",
            "the bytes that these hosts' links counted, over the time and the uplink's rate",
            asked_for("cross_traffic"), lambda record: record["evidence"].get("cross_traffic"), within=0.1,
            needs="shapes_links",
        ),
        Factor(
            "k", "What every rate and size is divided by",
            "the network's rate at full scale over the rate that tc reports",
            asked_for("k"), seen.divisor, within=0.01, follows=frozenset({"block bytes", "file bytes"}),
            needs="scales_rates",
        ),
        Factor(
            "switch_buffer_kib", "KiB that a port of the switch queues before it drops",
            "tc reports the queue's limit on every host's link",
            asked_for("switch_buffer_kib"), seen.queue_kib, "KiB", needs="shapes_links",
        ),
        Factor(
            "offloads", "Segmentation offloads of the links: on or off",
            "ethtool reports them for every host's link",
            asked_for("offloads"), seen.offloads, "", needs="shapes_links",
        ),
        # Files in HDFS.
        Factor(
            "size_bytes", "Bytes of a job's data, or of each of its files",
            "fsck counts the bytes of the input, or of what was written; of other file systems -count does",
            seen.size_asked, seen.size, "B", within=0.001, follows=frozenset({"file bytes"}),
        ),
        Factor(
            "file_size_bytes", "Bytes of each file that a client puts",
            "fsck counts the bytes of every file",
            seen.file_asked, seen.file_bytes, "B", follows=frozenset({"file bytes"}),
        ),
        Factor(
            "file_blocks", "Blocks of each file that a client puts",
            "fsck counts the blocks of every file",
            asked_for("file_blocks"), seen.file_blocks, follows=frozenset({"file bytes"}), needs="scales_rates",
        ),
        Factor(
            "block_size_bytes", "Bytes in a block of HDFS",
            "fsck lists the bytes of every block; the largest of a file that has more than one",
            seen.block_asked, seen.block_bytes, "B", within=seen.ROUNDED, follows=frozenset({"block bytes"}),
        ),
        Factor(
            "splits", "Blocks that a job's data make",
            "fsck counts the blocks of the input, or of each file that was written; else the job's map tasks",
            asked_for("splits"), seen.splits, follows=frozenset({"block bytes"}),
        ),
        Factor(
            "replication", "Copies of each block",
            "fsck lists the DataNodes that hold each block; distinct ones count",
            seen.copies_asked, seen.copies, default=1,
        ),
        Factor(
            "output_replication", "Copies of each block of a job's output, where it has a number of its own",
            "fsck lists the DataNodes that hold each block of the output",
            seen.output_copies_asked, seen.output_copies, default=1,
        ),
        Factor(
            "lost_replicas", "Replicas that each block lacks when re-replication begins",
            "fsck before the run: copies asked less copies there",
            asked_for("lost_replicas"), seen.lost,
        ),
        Factor(
            "store", "The file system that the data lie in",
            "fsck, also of the policy and the block groups of coded files; of a mounted one the layout that its folder "
            "reports and the options of the mounts' processes",
            asked_for("store"), lambda record: record["evidence"].get("store"), "", follows=frozenset({"replication"}),
        ),
        # Who takes part.
        Factor(
            "nodes", "Workers",
            "fsck counts the DataNodes; of a mounted file system the hosts on which tasks ran",
            asked_for("nodes"), seen.nodes, follows=frozenset({"hosts"}),
        ),
        Factor(
            "clients", "Clients that put files at once", "the NameNode's audit log names who made each file",
            asked_for("clients"), seen.clients, default=1,
        ),
        Factor(
            "puts_per_client", "Files that each client puts at once", "the NameNode's audit log counts them",
            asked_for("puts_per_client"), seen.puts_per_client, default=1,
        ),
        Factor(
            "put_from", "Hosts on which clients run: their own, or those of the first DataNodes",
            "fsck lists the host that put a block among its DataNodes, of every block; of clients on hosts of their "
            "own none is a DataNode; bytes into DataNodes are one copy less",
            asked_for("put_from"), seen.put_from, "", default="client",
        ),
        Factor("maps", "Map tasks", "the history server counts them", asked_for("maps"), seen.maps, default=1),
        Factor(
            "reduces", "Reduce tasks", "the history server counts them", asked_for("reduces"), seen.reduces, default=1
        ),
        Factor(
            "program", "The program of a suite", "the suite's own report names its type",
            asked_for("program"), program_of_reports, "", follows=frozenset({"file bytes", "block bytes"}),
        ),
        Factor(
            "profile", "The suite's scale profile: how much data its program moves",
            "the suite's own report counts them",
            seen.profile_asked, seen.profile, "B", within=0.1, follows=frozenset({"file bytes", "block bytes"}),
        ),
        Factor(
            "files_per_map", "Files on which each map task of NNBench does its operation",
            "NNBench counts the operations that succeeded",
            asked_for("files_per_map"), seen.files_per_map,
        ),
        Factor(
            "operation", "What is timed: of TestDFSIO write, read or both, of NNBench one of its four",
            "the history server has a job of each, and no other",
            asked_for("operation"), seen.operation, "",
        ),
        Factor(
            "tasks_per_worker", "Tasks that a worker runs at once; with fewer than its share, in waves",
            "the history server's times of tasks: most at once on a worker",
            asked_for("tasks_per_worker"), seen.tasks_per_worker,
        ),
        Factor(
            "task_workers", "Workers that run the tasks, the first ones; all others are DataNodes only",
            "the history server counts the hosts on which tasks of each job ran",
            asked_for("task_workers"), seen.task_workers,
        ),
        Factor(
            "map_output_compression", "What compresses the map tasks' output: none, deflate, gzip, snappy or bzip2",
            "the job's configuration at the history server; with none, its counters of bytes put out and written too",
            asked_for("map_output_compression"), seen.map_output_compression, "",
        ),
        # Settings and drives.
        Factor(
            "settings", "Settings of Hadoop by name: of clients and jobs, or of daemons, which start with them",
            "the job's configuration at the history server, or the client's, reports each; of daemons all running ones "
            "that read it",
            asked_for("settings"), seen.settings, "",
            follows=frozenset({"packet bytes"}),
        ),
        Factor(
            "packet_bytes", "Bytes in a packet of HDFS's write pipeline",
            "the DataNodes count packets: bytes written over their number",
            asked_for("packet_bytes"), seen.packet_bytes, "B", follows=frozenset({"packet bytes"}),
            needs="scales_rates",
        ),
        Factor(
            "drive", "The drives of each worker, by a name under `hardware.drives`",
            "the model's state is read back from the workers' hosts; a DataNode reports its volumes",
            asked_for("drive"), seen.drive_named, "", needs="models_drives",
            follows=frozenset({f"drive.{key}" for key in DRIVE}),
        ),
        Factor(
            "intermediate_drive",
            "The drives of each worker for intermediate data (spills, merges, map output), by a name under "
            "`hardware.drives`; with shared they are the DataNode's",
            "the model's state is read back from all workers' hosts, with the bytes that went to these drives: at "
            "least those of the map tasks' output, as the job counts them",
            asked_for("intermediate_drive"), seen.intermediate_drive, "",
            needs="models_drives", follows=frozenset({"drive.intermediate"}),
        ),
        Factor(
            "page_cache", "Whether the workers' memory is in front of their drives: on or off",
            "the model's state is read back from the workers' hosts, and how many of the run's bytes went by way of "
            "their memory: with off none",
            asked_for("page_cache"), lambda record: record["evidence"].get("page_cache"), "", needs="models_drives",
            follows=frozenset({f"drive.{key}" for key in MEMORY}),
        ),
        Factor(
            "writer_bound", "Whether processors bound what one writer of HDFS makes: on or off",
            "the model's state is read back from workers' and clients' hosts, and what writers sent in how many "
            "seconds: all of the run's bytes, at no more than the rate",
            asked_for("writer_bound"), lambda record: record["evidence"].get("writer_bound"), "",
            needs="models_drives", follows=frozenset({"drive.writer_mb_per_s"}),
        ),
        *(
            Factor(
                name, meaning, "the model's state is read back from the workers' hosts",
                asked_for(name), seen.drive(key, factor), unit, within=0.001, needs="models_drives",
            )
            for name, key, factor, unit, meaning in (
                ("count", "count", 1, "1", "Drives per worker"),
                ("rate_mb_per_s", "rate", 1e6, "MB/s", "Rate of one sequential stream of a drive"),
                ("read_rate_mb_per_s", "read_rate", 1e6, "MB/s", "Rate of one sequential stream that a drive reads"),
                ("access_time_ms", "access_time", 1e-3, "ms", "Time that a drive takes to come to another place"),
                ("writeback_chunk_bytes", "chunk", 1, "B", "Bytes that are written back before another file's turn"),
                ("cache_bytes", "cache", 1, "B", "Bytes that may wait in a drive"),
            )
        ),
    )
}  # fmt: skip

ONE_NETWORK = (
    "it is not built: services listen on one address of each host, and its one link is what counters count; bytes of "
    "clients and of replicas share it"
)
LEFT_OUT: dict[str, str] = {
    "load_fabric": "it only says on which network the files are put before replicas are lost, which is not measured",
    "bonded_links": "the kernel has no bonding in a network namespace of an ordinary user; a bond of n links is one "
    "flow's rate of one link and all flows' rate of n, so name the fabric of n times the rate for many flows",
    "client_fabric": ONE_NETWORK,
    "storage_fabric": ONE_NETWORK,
    "racks": "racks belong to a network: give the factor fabric levels such as 10gbe-2racks-4to1",
    "oversubscription": "it belongs to a network: give the factor fabric levels such as 10gbe-2racks-4to1",
    "erasure_coding": "it belongs to a store: give the factor store levels, one of which has erasure_coding",
    "waves": "they follow from maps and tasks_per_worker",
    "short_circuit_reads": "they need Hadoop's native library, which its published jars do not bring",
    "namenode_processor": "only links and drives are slowed down by k, and no processor",
    "keep_caches": "nothing shows from outside what a mount's clients still held",
}
"""Plausible factors that are not supported, and why."""


def factor_proofs(record: RunRecord, known: Collection[str]) -> list[Proof]:
    """Proofs of treatment of a run, for the factors in `known` (those of its workload) that its record reports."""
    found = (factor.check(record) for name, factor in FACTORS.items() if (factor.part_of or name) in known)
    return [proof for proof in found if proof is not None]


def parameter(parameters: Mapping[str, Any], name: str) -> Any:
    """A parameter of a run, or its default if the paper gives none."""
    return parameters.get(name, FACTORS[name].default)


def on_datanodes(parameters: Mapping[str, Any]) -> bool:
    """Whether a run's clients are on DataNodes' own hosts, where each block's first copy stays."""
    return parameter(parameters, "put_from") == "datanode"


def followed() -> Mapping[str, frozenset[str]]:
    """Factor → further properties of a cell's shape that change with it."""
    return {factor.name: factor.follows for factor in FACTORS.values() if factor.follows}
