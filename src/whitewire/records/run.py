"""What run.json holds, of a run and of an overhead run; and the row of design.csv that a run's record begins with."""

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
"""Bytes over each host's link since it came up, by host and way (`egress`, `ingress`)."""


class DesignRow(TypedDict):
    """A row of design.csv; beside these it has a column for each factor of its paper (design.rows.levels_of)."""

    run_id: str
    block: str
    effort: str
    """Of its block; missing in old files, where the block's name begins with it (design.rows.effort_of)."""
    order: int
    """Place in its block, from 1."""
    experiment: str
    workload: str
    replicate: int
    seed: int


class Scale(TypedDict):
    """How the run was scaled; see design.scale.Scale."""

    k: float
    data_fraction: float
    block_bytes: int
    file_bytes: int
    packet_bytes: NotRequired[int]
    """Missing in old results."""


class Fabric(TypedDict):
    """The network of the run; see testbed.base.Fabric. Rates in Mbit/s."""

    name: str
    rate: float
    full_scale_rate: float
    shared: NotRequired[bool]
    burst: NotRequired[int]
    mtu: NotRequired[int]
    racks: NotRequired[int]
    uplink: NotRequired[float]
    unlike: NotRequired[dict[str, float]]


class Clock(TypedDict):
    """What the clocks of the measuring machine did during a run: seconds by which the time of day was set, and for
    which the machine slept. `hosts`: of hosts with a clock of their own, by name, seconds by which that was set."""

    stepped: float
    slept: float
    hosts: NotRequired[dict[str, float]]


class Operation(TypedDict):
    """A put as the NameNode logged it: bytes, and seconds since 1970 when it created and completed the file."""

    client: str
    operation: str
    bytes: int
    start: float
    end: float


class Command(TypedDict):
    """A client's command: seconds since 1970, and its exit status."""

    begin: float
    end: float
    status: int


class PlacedBlock(TypedDict):
    """A block of a file in HDFS and who holds it."""

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
    # What the history server says besides.
    id: NotRequired[str]
    state: NotRequired[str]
    start: NotRequired[float]
    maps: NotRequired[int]
    reduces: NotRequired[int]
    diagnostics: NotRequired[str]
    # What TestDFSIO says: values of all tasks together, when each moved data, seconds of the whole.
    testdfsio: NotRequired[Annotated[dict[str, float], MayBeInfinite(("rate", "sqrate"))]]
    spans: NotRequired[list[tuple[float, float]]]
    seconds: NotRequired[float]
    # What NNBench says; see tools.nnbench.Result.
    nnbench: NotRequired[dict[str, Any]]
    # What the reader's loops say.
    bytes_read: NotRequired[float]
    bytes_credited: NotRequired[float]


class FilesSeen(TypedDict, total=False):
    """A folder of a run as its file system reports it; of a mounted one only `files` and `bytes`."""

    files: int
    bytes: int
    blocks: int
    largest_block: int
    """Bytes; 0 without blocks."""
    fewest_blocks: int
    """Blocks of the file that has the fewest."""
    replicas_least: int
    """Replicas on distinct DataNodes of the block that has the fewest, and of the one that has the most."""
    replicas_most: int
    datanodes: int
    """DataNodes that HDFS has."""
    policy: str
    """Erasure coding policy of its files; missing where they are kept as replicas."""
    wanting: int
    """Block groups of coded files that lack a block."""


class Evidence(TypedDict, total=False):
    """What was really so in a run, read back from the system: the factors' proofs rest on it (package factors)."""

    links: dict[str, Link]
    files: dict[str, FilesSeen]
    """By what they are to the run: `input`, `output`, and `before` of files that lost replicas."""
    store: dict[str, object]
    settings: dict[str, str]
    """Settings by name, as the job's or the client's configuration reports them."""
    drive: Annotated[dict[str, float], MayBeInfinite(("rate", "chunk"))]
    """The drive model that the workers' hosts have: count, rate, access_time, chunk, cache, on the testbed's scale.
    With memory in front of it: memory, background, limit, and what the first worker's took in the run."""
    page_cache: str
    """`on` where the run's bytes went by way of memory on every worker, `off` where on none."""
    volumes: int
    """Volumes that a DataNode says it has."""
    segment: float
    """Bytes that TCP segments with data held at least, on average, at the host where they held most."""
    uplinks: dict[str, Link]
    """By rack."""
    racks: dict[str, list[str]]
    """Hosts of the DataNodes by rack, as HDFS has them."""
    cross_traffic: float
    """Share of the uplinks' rate that was sent beside the run."""
    slow_drives: float
    """Rate of the slow worker's drives over that of the others."""
    waves: dict[str, int]
    """By job: most map tasks that a worker ran one after the other."""
    packets: int
    """Packets of writes that all DataNodes received in the run, which clients' puts made."""
    map_output_compression: str
    """What the job's configuration compressed the map tasks' output with, or `none`."""
    ports: dict[str, PortSeen]
    """By host, of a run that was asked a transport: what its RDMA port, its interface and its kernel's TCP moved."""
    warm: list[str]
    """Of a site's own file system: why hosts' memory may have held files when it was last to be empty, by host."""


class RunRecord(TypedDict, total=False):
    """run.json. Only what its row says and `valid` and `why_invalid` are in every one.

    An attempt that failed has its row, factors and scale; an overhead run has no row but block and workload; of the
    rest each workload has its part. Times in seconds since 1970.
    """

    # The row of the design, and what it stands for.
    run_id: str
    block: str
    order: int
    experiment: str
    workload: str
    replicate: int
    seed: int
    factors: dict[str, Level]
    asked: dict[str, Any]
    """Levels and parameters at full scale, as the run really had to have them."""
    evidence: Evidence
    transport: dict[str, Any]
    """Of a run that was asked one: how the testbed's description sets it up; see description.transports.Transport."""
    inexact: float
    """By which share the input may exceed what was asked, where records of random length fill it."""
    fabric: Fabric
    scale: Scale
    # Every run: who took part, what links and processors did.
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
    """What befell the run while it was observed, each in words: it does not count then."""
    start: float
    end: float
    # Clients that put files, and replicas that come back.
    commands: list[Command]
    operations: list[Operation]
    placement: list[PlacedBlock]
    bytes_copied: int
    blocks_copied: int
    # Jobs.
    jobs: list[Job]
    user_bytes: int
    mounted: bool
    output_replication: int
    coding: str
    """The erasure coding policy that the run's files were to have, in place of replicas."""
    workers: list[str]
    made_by: str
    cpu: str
    outside: float
    """Of an overhead run: processors that other programs used meanwhile, where all hosts share one machine's."""
    clock: Clock
    lane: int
    lanes: int
    """The lane that made it, from 1, and how many were measured side by side; not there where it was the only one."""
    floors: dict[str, float]
    """Seconds of each job on almost no data; `floor_wire` are the bytes into all workers of all of them."""
    floor_wire: float
    # A program of HiBench's.
    program: str
    profile: str
    reports: list[Report]
    # What became of the attempt, and the code that made it.
    floor: str
    attempt: int
    valid: bool
    why_invalid: str
    why_codes: list[str]
    """Codes of the reasons in `why_invalid` (records/reasons.py); old records have none."""
    number: int
    """Of an overhead run: its place in its block."""
    commit: str
    modified: bool
    software: str


OF_ANY = ("block", "workload", "attempt", "valid", "why_invalid")
"""What every record has, of a run and of an overhead run."""
OF_AN_OVERHEAD = ("floor", "number")
OF_A_RUN = ("run_id", "order", "experiment", "replicate", "factors")
OF_FAILED = (*OF_ANY, *OF_A_RUN, *OF_AN_OVERHEAD, "why_codes", "seed", "scale", "commit", "modified", "software")
"""All that is read of the record of a failed attempt."""
OF_DONE = (
    "start", "end", "fabric", "scale", "client_hosts", "datanode_hosts", "links_before", "links_after", "cpu_seconds",
    "tcp_retransmits", "queue_drops", "clients", "replication", "busy_clients",
)  # fmt: skip
"""What the record of a run has besides that came to its end, and that of a failed attempt has not."""
OF_JOBS = ("user_bytes", "workers", "mounted", "output_replication", "made_by", "cpu", "floors", "floor_wire")
"""What a run has besides that has `jobs`."""
