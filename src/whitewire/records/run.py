"""Content of run.json, for runs and overhead runs, and the row of design.csv with which a run's record begins."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

from whitewire.records.schema import MayBeInfinite
from whitewire.records.transport import PortSeen
from whitewire.tools.hibench_report import Report
from whitewire.tools.history import Task
from whitewire.tools.link import Link

Level = str | int | float | bool
"""A level of a factor."""
Links = dict[str, dict[str, int]]
"""Bytes over each host's link since it came up, by host and direction (`egress`, `ingress`)."""


class DesignRow(TypedDict):
    """A row of design.csv, which has a further column for each factor of its paper (design.rows.levels_of)."""

    run_id: str
    block: str
    effort: str
    order: int
    """Position in its block, from 1."""
    experiment: str
    workload: str
    replicate: int
    seed: int


class ScaleRecord(TypedDict):
    """How the run was scaled; see design.scale.Scale."""

    k: float
    data_fraction: float
    block_bytes: int
    file_bytes: int
    packet_bytes: int


class FabricRecord(TypedDict):
    """The network of the run: the fields of testbed.base.Fabric. Rates in Mbit/s."""

    name: str
    rate: float
    full_scale_rate: float
    shared: bool
    burst: int
    mtu: int
    racks: int
    uplink: float
    unlike: dict[str, float]


class Clock(TypedDict):
    """Changes of clocks during a run, in seconds: steps of the measuring machine's time of day, and its sleep.
    `hosts`: steps of the clocks of hosts with their own, by name."""

    stepped: float
    slept: float
    hosts: NotRequired[dict[str, float]]


class OperationRecord(TypedDict):
    """A put in the NameNode's log: bytes, and the times of the file's creation and completion (seconds since 1970)."""

    client: str
    operation: str
    bytes: int
    start: float
    end: float


class Command(TypedDict):
    """A client's command: begin and end (seconds since 1970), and exit status."""

    begin: float
    end: float
    status: int


class PlacedBlock(TypedDict):
    """A block of a file in HDFS and the DataNodes that hold it."""

    file: str
    block_index: int
    bytes: int
    datanodes: list[str]


class Job(TypedDict):
    """A job, or a command without tasks that counts as one. Times in seconds since 1970."""

    name: str
    submit: float
    end: float
    tasks: list[Task]
    counters: dict[str, int]
    # Further values from the history server.
    id: NotRequired[str]
    state: NotRequired[str]
    start: NotRequired[float]
    maps: NotRequired[int]
    reduces: NotRequired[int]
    diagnostics: NotRequired[str]
    # Results of TestDFSIO: sums over all tasks, times at which each moved data, seconds of the whole test.
    testdfsio: NotRequired[Annotated[dict[str, float], MayBeInfinite(("rate", "sqrate"))]]
    spans: NotRequired[list[tuple[float, float]]]
    seconds: NotRequired[float]
    # Result of NNBench; see tools.nnbench.NNBenchResult.
    nnbench: NotRequired[dict[str, Any]]
    # Results of the reader's loops.
    bytes_read: NotRequired[float]
    bytes_credited: NotRequired[float]


class FilesSeen(TypedDict, total=False):
    """A folder of a run as its file system reports it; only `files` and `bytes` for a mounted one."""

    files: int
    bytes: int
    blocks: int
    largest_block: int
    """Bytes of the largest block; 0 without blocks."""
    fewest_blocks: int
    """Blocks of the file with the fewest."""
    replicas_least: int
    """Least number of a block's replicas on distinct DataNodes; `replicas_most`: the largest."""
    replicas_most: int
    datanodes: int
    """Number of HDFS's DataNodes."""
    policy: str
    """Erasure coding policy of its files; missing if they are replicated."""
    wanting: int
    """Number of block groups that lack a block."""


class EvidenceRecord(TypedDict, total=False):
    """Actual state during a run, read back from the system, as evidence for proofs of treatment (package factors)."""

    links: dict[str, Link]
    files: dict[str, FilesSeen]
    """Folders by their use in the run: `input`, `output`, and `before` for files before re-replication."""
    store: dict[str, object]
    settings: dict[str, str]
    """Settings by name, as the job's or the client's configuration reports them."""
    daemon_settings: dict[str, str]
    """Settings by name, as the daemons that read them report them; all values, if these differ."""
    drive: Annotated[dict[str, float], MayBeInfinite(("rate", "read_rate", "chunk"))]
    """The drive model on the workers' hosts: count, rate, access_time, chunk, cache, on the testbed's scale, and
    read_rate if it differs. Drives for intermediate data alone have the same as intermediate_rate and so on, and
    intermediate_moved, the bytes that those of the first worker moved in the run. With a page cache also: memory,
    background, limit, and the bytes that the first worker's memory took in the run. With a bound on writers also:
    writer, and what those of the first worker sent (`writers`)."""
    page_cache: str
    """`on` if the run's bytes passed through memory on every worker, `off` if on none."""
    intermediate_drive: str
    """The drives for intermediate data: `shared`, or their name if those of all workers have its properties."""
    intermediate_moved: float
    """Bytes of calls to drives for intermediate data, on all workers, also of calls that memory took."""
    writer_bound: str
    """`on` if all hosts bounded writers as asked and all bytes passed by the bound, `off` if none did."""
    writers: dict[str, float]
    """Of bounded writers, on all hosts: `rate` in bytes/s, bytes `sent`, seconds that their calls took (`sending`)."""
    volumes: int
    """Number of volumes that a DataNode reports."""
    segment: float
    """Lower bound on the mean payload of TCP data segments in bytes, at the host with the largest."""
    uplinks: dict[str, Link]
    """Uplinks by rack."""
    racks: dict[str, list[str]]
    """Hosts of the DataNodes by rack, as HDFS reports them."""
    cross_traffic: float
    """Share of the uplinks' rate that other hosts sent during the run."""
    slow_drives: float
    """Rate of the slow worker's drives over that of the others."""
    waves: dict[str, int]
    """Largest number of map tasks that a worker ran one after the other, by job."""
    packets: int
    """Write packets of clients' puts that all DataNodes received in the run."""
    map_output_compression: str
    """Compression of the map tasks' output in the job's configuration, or `none`."""
    ports: dict[str, PortSeen]
    """Traffic of each host's RDMA port, interface and kernel's TCP, in a run with a transport."""
    warm: list[str]
    """For a site's own file system: reasons, by host, why memory may have held files when it should have been empty."""


class RunRecord(TypedDict, total=False):
    """Content of run.json. Times in seconds since 1970. OF_ANY lists the keys of every record.

    A failed attempt has its design row, factors and scale. An overhead run has only block and workload of a row. The
    other keys depend on the workload.
    """

    # The row of the design, and its meaning.
    run_id: str
    block: str
    order: int
    experiment: str
    workload: str
    replicate: int
    seed: int
    factors: dict[str, Level]
    asked: dict[str, Any]
    """Levels and parameters at full scale that the run had to have."""
    evidence: EvidenceRecord
    transport: dict[str, Any]
    """The run's transport, if any, from the testbed's description; see description.transports.Transport."""
    inexact: float
    """Share by which input or output may exceed the size asked for, because its records have random lengths."""
    fabric: FabricRecord
    scale: ScaleRecord
    # Every run: hosts that took part, counters of links and processors.
    clients: int
    replication: int
    client_hosts: list[str]
    datanode_hosts: list[str]
    busy_clients: list[str]
    links_before: Links
    links_after: Links
    cpu_seconds: dict[str, float]
    tcp_retransmits: int
    queue_drops: int
    disturbed: list[str]
    """Descriptions of disturbances observed during the run, which make it invalid."""
    start: float
    end: float
    # Clients' puts, and re-replication.
    commands: list[Command]
    operations: list[OperationRecord]
    placement: list[PlacedBlock]
    bytes_copied: int
    blocks_copied: int
    # Jobs.
    jobs: list[Job]
    user_bytes: int
    mounted: bool
    output_replication: int
    coding: str
    """The erasure coding policy asked for the run's files, instead of replicas."""
    workers: list[str]
    made_by: str
    cpu: str
    outside: float
    """For an overhead run on hosts that share one machine: processors that other programs used meanwhile."""
    clock: Clock
    lane: int
    lanes: int
    """Number of its lane, from 1, and number of lanes measured side by side; missing if there was only one."""
    floors: dict[str, float]
    """Startup overhead of each job in seconds; `floor_wire`: bytes that all workers receive in these overhead runs."""
    floor_wire: float
    # A HiBench program.
    program: str
    profile: str
    reports: list[Report]
    # The attempt's validity, and the code that made it.
    floor: str
    attempt: int
    valid: bool
    why_invalid: str
    why_codes: list[str]
    """Codes of the reasons in `why_invalid` (records/reasons.py)."""
    number: int
    """For an overhead run: its number in its block."""
    commit: str
    modified: bool
    software: str
    image: str
    """SHA-256 of the hosts' container image; missing without one."""


OF_ANY = ("block", "workload", "floor", "attempt", "valid", "why_invalid", "why_codes")
"""Keys of every record, of runs and overhead runs."""
OF_AN_OVERHEAD = ("number",)
OF_A_RUN = ("run_id", "order", "experiment", "replicate", "factors")
OF_DONE = (
    "start", "end", "asked", "evidence", "fabric", "scale", "cpu", "clock", "disturbed", "client_hosts",
    "datanode_hosts", "links_before", "links_after", "cpu_seconds", "tcp_retransmits", "queue_drops", "clients",
    "replication", "busy_clients",
)  # fmt: skip
"""Further keys of a run that came to its end; missing for a failed attempt."""
OF_JOBS = ("user_bytes", "workers", "mounted", "output_replication", "made_by", "floors", "floor_wire")
"""Further keys of a run with `jobs`."""
