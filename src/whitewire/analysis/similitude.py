"""Similitude: the dimensionless numbers of an emulated run beside those of full scale, as a table.

Rates and sizes are divided by k and times stay, so every ratio of sizes, every ratio of times and every time is to be
the same on both sides. Each quantity is computed twice by the same functions that set it in a run: with k = 1, and with
the scale of the run. A few have values of their own at full scale (`FULL`), since a run sets them on purpose.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import scipy

from whitewire.description.capabilities import capabilities_of
from whitewire.description.hadoop import PACKETS_IN_FLIGHT
from whitewire.description.paper import OSTS_PER_OSS, Paper, hardware_of
from whitewire.description.testbed import is_emulated
from whitewire.design import scaling
from whitewire.design.drive import Drive
from whitewire.design.durations import chosen_workers, on_busiest
from whitewire.design.rows import levels_of, make_design
from whitewire.design.scale import PACKET, Scale, scale_of
from whitewire.estimands import estimand_of
from whitewire.factors import parameter
from whitewire.factors.seen import PACKET_SIZE
from whitewire.records.samples import ETHERNET, MTU
from whitewire.workloads import Workload, terasort, workload_of

SIMILITUDE_COLUMNS = [
    "paper", "experiment", "fabric", "levels", "quantity", "unit", "full_scale", "emulated", "quotient", "alike",
    "follows", "bias",
]  # fmt: skip
TOLERANCE = 0.05
"""Quotients that differ less from 1 count as alike."""
LEAST_TIMEOUT_S = 0.2
"""TCP's least retransmission timeout under Linux."""


@dataclass(frozen=True)
class Fixed:
    """Values that no k changes. Sizes in bytes, times in seconds."""

    datanode_heartbeat: float
    nodemanager_heartbeat: float
    sort_buffer: float
    sampled: float


FULL = Fixed(3.0, 1.0, 100 * 2**20, 1e5 * terasort.ROW_BYTES)
"""Hadoop's defaults."""
AS_RUN = Fixed(
    scaling.DATANODE_HEARTBEAT_S,
    scaling.NODEMANAGER_HEARTBEAT_S,
    scaling.SORT_BUFFER_MIB * 2**20,
    float(terasort.SAMPLED_ROWS * terasort.ROW_BYTES),
)
REDUCE_MEMORY = 200 * 2**20
"""Heap of a reduce task by Hadoop 1's default, bytes."""
SHUFFLE_SHARE, SEGMENT_SHARE, MERGE_SHARE = 0.7, 0.25, 0.66
"""Hadoop's defaults: the part of a reduce task's memory that holds its input; of that, the largest output of a map that
is held at all, and how full it gets before it is merged to a file."""
MERGED_AT_ONCE = 10
"""Files that a task merges in one pass, by default (mapreduce.task.io.sort.factor)."""


@dataclass(frozen=True)
class Quantity:
    """One row: the quantity, its unit, and the effect of a value larger, or smaller, than at full scale.

    `study`: the kind of study that shows how much hangs on it. `by_link`: whether it depends on the link's rate.
    """

    text: str
    unit: str = "1"
    larger: str = ""
    smaller: str = ""
    study: str = ""
    by_link: bool = False


SHORTER = "Fixed times (calls, seeks, starts) weigh more, which lowers rates and hides effects of the link."
LONGER = "Fixed times (calls, seeks, starts) weigh less, which raises rates."

QUANTITIES = {
    # Links and processors
    "drives": Quantity("link's rate ÷ rates of the drives behind it", by_link=True),
    "own_drives": Quantity(
        "drives' rate, against the link's and full scale", larger="Drives are as fast as at full scale beside slowed "
        "links: a bottleneck in the drives moves to the links."),
    "cpu": Quantity(
        "processor time a byte ÷ its time on the link, against full scale", study="k",
        smaller="A bottleneck in the processors is not seen: effects of the link come out too large."),
    # Blocks and packets
    "block_time": Quantity("a block's time on the link", "s", LONGER, SHORTER, "file", True),
    "file_time": Quantity(
        "time on the link of a file (sorts: of a worker's share)", "s", LONGER,
        "What a run has once (start, first block, slowest task) weighs more, which lowers rates.", "file", True),
    "blocks_file": Quantity(
        "blocks a file", "1", "Uneven placement averages out better: rates come out too high.",
        "Uneven placement does not average out, and the slowest file stands out: rates under load come out too low.",
        "file"),
    "busiest_link": Quantity(
        "bytes into the busiest worker ÷ those into the mean one, by random placement", "1",
        "The busiest link sets the time of all, and the others are idle meanwhile: rates under load come out too low.",
        "Copies land more evenly than they did: rates under load come out too high.", "file"),
    "tasks_worker": Quantity(
        "map tasks a worker", "1", "More waves of maps overlap with the shuffle.",
        "Waves of maps do not overlap with the shuffle and stragglers do not even out: the shuffle weighs more.",
        "splits"),
    "packets_block": Quantity(
        "packets of HDFS a block", "1", "The pipeline fills faster: single streams come out too fast.",
        "Filling the pipeline takes a larger part of a block: single streams of several copies come out too slow."),
    "packet_time": Quantity(
        "a packet's time on the link", "s", "Each DataNode passes on whole packets only: a stream waits so long at "
        "each, which lowers its rate.", "A stream waits less at each DataNode.", "", True),
    "in_flight_block": Quantity(
        "packets that a client sends unacknowledged ÷ packets a block", "1", "Acknowledgements hold a client up less "
        "than they did: settings of packets in flight seem to have no effect.",
        "Acknowledgements hold a client up more: single streams come out too slow."),
    "frames_block": Quantity(
        "full Ethernet frames a block", "1", "A lost frame is a smaller part of a block.",
        "A lost frame is a larger part of a block: losses cost more, and are indicative only.", "switch"),
    # Switch and TCP
    "port_time": Quantity(
        "a switch port's buffer, as time", "s", "Calls and heartbeats wait longer behind data, which lowers rates "
        "under load.", "Less waits in the switch.", "switch", True),
    "port_block": Quantity(
        "a switch port's buffer ÷ block", "1", "More of a block fits into a queue: many senders to one receiver lose "
        "less than they did.", "Many senders to one receiver lose more than they did.", "switch", True),
    "segment_time": Quantity(
        "a host's queue before a shared segment, as time", "s", "Calls and heartbeats wait longer behind a host's own "
        "data.", "Less waits in a host.", "", True),
    "window_time": Quantity(
        "largest TCP window, as time", "s", "A stream keeps more under way: others get their share of a link later.",
        "A stream keeps less under way; links have next to no delay, so it loses nothing.", "", True),
    "hdfs_window_time": Quantity(
        "TCP window of HDFS's data sockets, as time", "s", "A stream keeps more under way: others get their share of "
        "a link later, less evenly while files are short.",
        "A stream keeps less under way; links have next to no delay, so it loses nothing.", "", True),
    "send_buffer_time": Quantity(
        "largest TCP send buffer, as time", "s", "More lies in a sender's socket: it notices a busy link later.",
        "Less lies in a sender's socket.", "", True),
    "hdfs_buffer_time": Quantity(
        "HDFS's send buffer (128 KiB), as time", "s", "A slow hop holds up the ones before it later; acknowledgements "
        "wait behind data for longer.", "A slow hop holds up the ones before it sooner.", "", True),
    "hdfs_buffer_block": Quantity(
        "HDFS's send buffer ÷ block", "1", "Sockets even out more of a block: rates of many streams vary less.",
        "Sockets even out less of a block."),
    "timeout_block": Quantity(
        "TCP's least timeout ÷ a block's time on the link", "1", "A timeout costs a larger part of a block: losses "
        "lower rates more.", "A timeout costs a smaller part of a block.", "switch", True),
    "burst_time": Quantity(
        "what a link may send at once above its rate, as time", "s", "After a pause a link makes up for so long, as no "
        "real one does: very short transfers come out too fast.", "", "", True),
    # Drives
    "block_cache": Quantity(
        "block ÷ drive's cache", "1", "A cache takes a smaller part of a block: writes come out too slow.",
        "A cache takes a larger part of a block, or all of it: writes come out too fast where blocks have pauses."),
    "cache_time": Quantity(
        "a drive's cache, as time at its rate", "s", "The model's cache holds at least a packet: writers "
        "wait later for a drive, and short writes come out too fast.", "Writers wait sooner for a drive."),
    "cache_written": Quantity(
        "a drive's cache ÷ what is written to a drive in a run", "1", "So much of a run's bytes need not have reached "
        "a drive at its end: rates limited by drives come out too high.", "Rates limited by drives come out too low.",
        "file"),
    "block_chunk": Quantity(
        "block ÷ what a kernel writes back at a turn", "1", "A drive turns between more files a block.",
        "A drive turns less often a block: fewer seeks a block, as many a byte."),
    "access_block": Quantity(
        "a drive's access time ÷ time to write a block", "1", "The seek to a block weighs more: writes and reads come "
        "out too slow.", "The seek to a block weighs less: writes and reads come out too fast."),
    "limit_written": Quantity(
        "dirty bytes that a DataNode's memory may hold ÷ what is written to it in a run", "1", "Memory takes more of a "
        "run: rates limited by drives come out too high.", "Memory takes less of a run: rates come out too low.",
        "file"),
    "limit_block": Quantity(
        "dirty bytes that a DataNode's memory may hold ÷ block", "1", "Memory holds more blocks: nodes that get more "
        "than their share wait for drives less than they did.", "Memory holds fewer blocks: a node that happens to get "
        "a few waits for its drives, and short writes come out too slow.", "file"),
    "page_cache": Quantity(
        "page cache of a DataNode, and its dirty limits", "B", smaller="A write waits for its drive where memory would "
        "have taken it: rates of few or short writes come out too low on fast links."),
    # CephFS
    "stripe_block": Quantity(
        "CephFS's stripe ÷ block", "1", "Fewer object stores serve a task at once: its rate comes out too low.",
        "More object stores serve a task at once."),
    "stripes_file": Quantity(
        "stripes a file", "1", "Object stores share a file more evenly.",
        "A file has fewer stripes to spread: the busiest object store sets its time."),
    "stripe_time": Quantity(
        "a stripe's time on its drive", "s", "Object stores take turns more slowly: small reads wait longer.",
        "Object stores take turns faster."),
    "dirty_file": Quantity(
        "what a client of CephFS holds unwritten ÷ file", "1", "More of a file is still in the client when it is "
        "closed: writes come out too fast.", "Writes come out too slow."),
    "readahead_file": Quantity(
        "what a client of CephFS reads ahead ÷ file", "1", "More of a file is under way: reads come out too fast.",
        "Reads come out too slow."),
    "ost_access": Quantity(
        "an object store's access time ÷ time to write a stripe", "1", "",
        "Drives behind CephFS lose no time to seeks: CephFS comes out too fast beside HDFS under many streams."),
    # Jobs and waits
    "io_buffer_file": Quantity(
        "TestDFSIO's buffer (1 MB) ÷ file", "1", "A task's file is few calls: what overlaps between calls and drives "
        "is lost, and the first call seems free.", "", "file"),
    "sort_buffer_split": Quantity(
        "a map task's sort buffer ÷ split", "1", "Maps spill less often than they did: drives are spared a merge of "
        "the maps' output.", "Maps spill more often than they did: drives merge output that they would not."),
    "reduce_memory_input": Quantity(
        "memory of a reduce task ÷ its input", "1", "More of the input is never written to drives: jobs limited by "
        "drives come out too fast.", "More of the input is written to drives."),
    "merges": Quantity(
        "passes in which a reduce task merges its input", "1", "Reduce tasks merge in more passes.",
        "Reduce tasks merge in one pass what took several: jobs limited by drives come out too fast."),
    "sampled_input": Quantity(
        "bytes that TeraSort samples ÷ input", "1", "The client reads for longer before the job starts.",
        "The client reads for less long before the job starts."),
    "retry_file": Quantity(
        "pause before asking whether a block is complete ÷ file's time", "1", "A client that asks too early loses "
        "more: rates of short files come out too low and scatter.", "A client that asks too early loses less.", "file",
        True),
    "datanode_heartbeat_file": Quantity(
        "a DataNode's heartbeat ÷ file's time", "1", "Reports of blocks and commands come later than they did.",
        "Reports of blocks come sooner than they did; heartbeats take more of slow links.", "", True),
    "nodemanager_heartbeat_file": Quantity(
        "a NodeManager's heartbeat ÷ file's time", "1", "Tasks start later than they did; the startup "
        "overhead takes off part.",
        "Tasks start sooner than they did; heartbeats take more of slow links.", "", True),
}  # fmt: skip

FOLLOWS = {
    "packets_block": "packet_time",
    "frames_block": "port_time",
    "port_block": "port_time",
    "segment_time": "port_time",
    "window_time": "port_time",
    "send_buffer_time": "port_time",
    "hdfs_window_time": "port_time",
    "hdfs_buffer_time": "port_time",
    "hdfs_buffer_block": "port_time",
    "timeout_block": "block_time",
    "block_chunk": "block_time",
    "access_block": "block_time",
    "block_cache": "block_time",
    "stripes_file": "stripe_block",
    "stripe_time": "stripe_block",
    "reduce_memory_input": "merges",
    "sampled_input": "file_time",
    "nodemanager_heartbeat_file": "datanode_heartbeat_file",
}
"""Quantities that are unlike for the same reason as another one, which stands for them in a report."""


@dataclass(frozen=True)
class _Cell:
    """A cell of an experiment, at full scale and as run."""

    paper: Paper
    experiment: Mapping[str, Any]
    levels: Mapping[str, Any]
    testbed: Mapping[str, Any]

    @property
    def workload(self) -> Workload:
        return workload_of(self.experiment["workload"])

    @property
    def parameters(self) -> dict[str, Any]:
        return self.paper.parameters(self.experiment["id"], self.levels)

    @property
    def store(self) -> Mapping[str, Any]:
        return self.paper.store(self.experiment["id"], self.levels)

    @property
    def roles(self) -> dict[str, int]:
        return self.paper.roles(self.experiment["id"], self.levels)

    @property
    def workers(self) -> int:
        return max(1, self.roles.get("datanode", 1))

    @property
    def fabric(self) -> str:
        return self.parameters["fabric"]

    @property
    def rate(self) -> float:
        """Rate of a link at full scale, Mbit/s."""
        return float(self.testbed["fabrics"][self.fabric]["rate_mbit_per_s"])

    def full_scale(self, run: Scale) -> Scale:
        """The scale of the run that a scaled one stands for."""
        whole = run.file_bytes * run.k / run.data_fraction
        block = float(self.parameters["block_size_bytes"])
        if "splits" in self.levels:  # its levels are numbers of blocks of the same file
            block = whole / self.levels["splits"]
        return Scale(1, 1.0, math.ceil(block), round(whole), PACKET)


def _values(cell: _Cell, scale: Scale, run: bool) -> dict[str, float]:
    """Each quantity of a cell at a scale; `run`: with what runs set on purpose, else with Hadoop's own values."""
    rate = cell.rate / scale.k
    link, fixed = rate * 1e6 / 8, AS_RUN if run else FULL
    found = {"cpu": 1 / scale.k}
    if scale.file_bytes <= 1:  # no data, or a program of HiBench whose data size the profile does not give
        return found
    part = _part(cell, scale)
    found["file_time"] = part / link
    for group in (_blocks, _network, _drives, _ceph, _job):
        found |= group(cell, scale, run)
    if cell.workload.asks_again:
        pause = scaling.retry_pause_ms(scale.data_fraction)
        if cell.store["kind"] == "hdfs":
            found["retry_file"] = pause / 1e3 / found["file_time"]
    if cell.store["kind"] == "hdfs":
        if "datanode" in cell.workload.heartbeats:
            found["datanode_heartbeat_file"] = fixed.datanode_heartbeat / found["file_time"]
        if "memory_bytes" not in hardware_of(cell.experiment, cell.levels):
            found["page_cache"] = 0.0 if run else math.nan
    if "nodemanager" in cell.workload.heartbeats:
        found["nodemanager_heartbeat_file"] = fixed.nodemanager_heartbeat / found["file_time"]
    return found


def _part(cell: _Cell, scale: Scale) -> float:
    """Bytes of a file; for jobs that share an input, one worker's part of it."""
    return cell.workload.part(scale.file_bytes, cell.parameters, cell.workers)


def _blocks(cell: _Cell, scale: Scale, run: bool) -> dict[str, float]:
    link = cell.rate / scale.k * 1e6 / 8
    blocks, found = _part(cell, scale) / scale.block_bytes, {}
    found["tasks_worker" if cell.workload.shares_input else "blocks_file"] = blocks
    if cell.store["kind"] != "hdfs":
        return found
    # With tasks or clients on some workers alone, more than chance makes links uneven.
    if chosen_workers(cell.parameters) is None and (written := _written(cell, scale)):
        copies = cell.workload.written(cell.parameters)
        at_writer = 1 if cell.workload.on_yarn else 0
        found["busiest_link"] = busiest_over_mean(
            written / copies / scale.block_bytes, copies - at_writer, cell.workers - at_writer, cell.workers
        )
    own = cell.experiment.get("settings", {}).get(cell.levels.get("settings"), {})
    settings = scale.settings(own)
    packet = settings.get(PACKET_SIZE, scale.packet_bytes)
    name, default = PACKETS_IN_FLIGHT
    mtu = cell.levels.get("mtu", cell.experiment["parameters"].get("mtu", MTU))
    packets, time = scale.block_bytes / packet, scale.block_bytes / link
    return found | {
        "block_time": time,
        "packets_block": packets,
        "packet_time": packet / link,
        "in_flight_block": settings.get(name, default) / packets,
        "frames_block": scale.block_bytes / (mtu + ETHERNET),
        "timeout_block": LEAST_TIMEOUT_S / time,
        "hdfs_buffer_time": scaling.HDFS_SOCKET_BUFFER / link,
        "hdfs_buffer_block": scaling.HDFS_SOCKET_BUFFER / scale.block_bytes,
    }


def busiest_over_mean(blocks: float, copies: float, choices: int, workers: int) -> float:
    """Expected bytes into the busiest of `workers` over those into the mean one, where each of `blocks` sends `copies`
    to as many of `choices` workers, drawn at random; 1 where nothing is left to chance.

    The largest of normal deviates whose sum is 0, by Blom's approximation (Statistical Estimates and Transformed Beta
    Variables, 1958).
    """
    if not 0 < copies < choices or workers < 2:
        return 1.0
    share = copies / choices
    deviation = math.sqrt(blocks * choices / workers * share * (1 - share) / (1 - 1 / workers))
    largest = float(scipy.stats.norm.ppf((workers - 0.375) / (workers + 0.25)))
    return 1 + largest * deviation / (blocks * copies / workers)


def _network(cell: _Cell, scale: Scale, run: bool) -> dict[str, float]:
    """Buffers of the emulated switch and hosts; those of a site are its own, and not known."""
    if not capabilities_of(cell.testbed).shapes_links:
        return {}
    switch, tcp, rate = cell.testbed["switch"], cell.testbed["tcp"], cell.rate / scale.k
    link = rate * 1e6 / 8
    port = cell.levels.get("switch_buffer_kib", 0) * 1024 or scaling.port_buffer(switch, rate)
    found = {
        "port_time": port / link,
        "burst_time": scaling.burst_bytes(rate) / link if run else 0.0,
    }
    window = scaling.receive_buffer(switch, tcp, rate, scale.k) / 2
    if cell.store["kind"] == "hdfs":
        found["port_block"] = port / scale.block_bytes
        found["hdfs_window_time"] = (window if run else scaling.HDFS_SOCKET_BUFFER) / link
    if cell.store["kind"] == "cephfs" or cell.workload.shares_input:
        found |= {"window_time": window / link, "send_buffer_time": scaling.send_buffer(tcp, scale.k) / link}
    if cell.testbed["fabrics"][cell.fabric].get("shared"):
        found["segment_time"] = scaling.station_queue(switch) / link
    return found


def _drives(cell: _Cell, scale: Scale, run: bool) -> dict[str, float]:
    """The modelled drives of the workers; a site's are its own, and not slowed down."""
    if not capabilities_of(cell.testbed).models_drives:
        return {"own_drives": scale.k}
    hardware, mounted = hardware_of(cell.experiment, cell.levels), cell.store["kind"] == "cephfs"
    if not hardware:
        return {}
    drive = Drive.scaled(hardware, scale.k, "", scale.data_fraction)
    link, count = cell.rate / scale.k * 1e6 / 8, OSTS_PER_OSS if mounted else drive.count
    found = {"drives": link / (count * drive.rate)}
    if mounted:
        return found
    cache = drive.cache if run else hardware["cache_bytes"]
    block = scale.block_bytes
    found |= {
        "block_cache": block / cache if cache else math.inf,
        "cache_time": cache / drive.rate,
        "block_chunk": block / drive.chunk,
        "access_block": drive.access_time / (block / drive.rate),
    }
    written = _written(cell, scale)
    found |= {"limit_block": drive.limit / block} if drive.cached else {}
    if not written:
        return found
    most = written / cell.workers
    if chosen_workers(cell.parameters) is not None:
        copies = cell.workload.written(cell.parameters)
        most = written / copies * on_busiest(copies, 1, cell.workers, cell.parameters)
    found |= {"limit_written": drive.limit / most} if drive.cached else {}
    return found | {"cache_written": cache / (most / drive.count)}


def _written(cell: _Cell, scale: Scale) -> float:
    """Bytes that a run writes to all drives, where they are known beforehand."""
    workload, parameters = cell.workload, cell.parameters
    return scale.file_bytes * workload.files(parameters) * workload.written(parameters)


def _ceph(cell: _Cell, scale: Scale, run: bool) -> dict[str, float]:
    store = cell.store
    if store["kind"] != "cephfs":
        return {}
    k, fraction, file = scale.k, scale.data_fraction, _part(cell, scale)
    least = scaling.stripe_unit if run else lambda size, k: size
    stripe = least(store["stripe_size_bytes"], k)
    held = scaling.client_cache if run else lambda size, k, fraction: size
    found = {
        "stripe_block": stripe / scale.block_bytes,
        "stripes_file": file / stripe,
        "dirty_file": held(store["max_dirty_bytes"], k, fraction) / file,
        "readahead_file": held(store["readahead_bytes"], k, fraction) / file,
    }
    if hardware := hardware_of(cell.experiment, cell.levels):
        time = stripe / (hardware["rate_mb_per_s"] * 1e6 / k)
        # Object stores keep their data in memory behind a shaper at the drive's rate.
        access = 0.0 if run else hardware["access_time_ms"] * 1e-3
        found |= {"stripe_time": time, "ost_access": access / time}
    return found


def _job(cell: _Cell, scale: Scale, run: bool) -> dict[str, float]:
    workload, size, fixed = cell.workload, scale.file_bytes, AS_RUN if run else FULL
    if workload.io_buffer == "task":
        return {"io_buffer_file": scaling.TESTDFSIO_BUFFER / size}
    if workload.io_buffer == "reader":
        share = scale.block_bytes / cell.full_scale(scale).block_bytes if run else 1
        return {"io_buffer_file": scaling.read_buffer(share) / size}
    if not workload.sorts:
        return {}
    reduces = parameter(cell.parameters, "reduces")
    memory = scaling.reduce_memory(size, reduces) if run else REDUCE_MEMORY
    found = {
        "sort_buffer_split": fixed.sort_buffer / scale.block_bytes,
        "reduce_memory_input": memory / (size / reduces),
        "merges": _merges(size / reduces, size / scale.block_bytes, memory),
    }
    return found | ({"sampled_input": fixed.sampled / size} if workload.sampled else {})


def _merges(size: float, maps: float, memory: float) -> float:
    """Passes over a reduce task's input of `size` bytes, whose files are outputs of maps where those are too large to
    be held."""
    held = memory * SHUFFLE_SHARE
    files = maps if size / maps > held * SEGMENT_SHARE else size / (held * MERGE_SHARE)
    return max(1, math.ceil(math.log(files, MERGED_AT_ONCE)))


# --- the table --------------------------------------------------------------------------------------------------------


def similitude_table(paper: Paper, testbed: Mapping[str, Any], effort: str) -> pd.DataFrame:
    """One row a quantity of each experiment of an effort; what depends on the link, on its slowest and fastest fabric
    (of each kind of store).

    `levels` names the levels of a factor where values differ by it; of numbers of clients and puts the largest is
    taken. Empty on real hardware at full speed.
    """
    rows: list[dict[str, Any]] = []
    if is_emulated(testbed):
        for name, cells in _cells(paper, testbed, effort).items():
            rows += _rows(paper, paper.experiments[name], testbed, effort, cells)
    return pd.DataFrame(rows, columns=SIMILITUDE_COLUMNS)


def _cells(paper: Paper, testbed: Mapping[str, Any], effort: str) -> dict[str, list[dict[str, Any]]]:
    """The distinct cells of an effort's design, by experiment; controls of an experiment are left out."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in make_design(paper, testbed, effort, seed=0):
        if "control" not in paper.experiments[row["experiment"]]:
            levels = levels_of(paper, row)
            found.setdefault(row["experiment"], {})[json.dumps(levels)] = levels
    in_order = [name for name in paper.experiments if name in found]
    return {name: _heaviest(list(found[name].values())) for name in in_order}


def _heaviest(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for factor in ("clients", "puts_per_client"):
        if factor in cells[0]:
            most = max(cell[factor] for cell in cells)
            cells = [cell for cell in cells if cell[factor] == most]
    return cells


def _rows(paper: Paper, experiment: Mapping[str, Any], testbed: Mapping[str, Any], effort: str,
          cells: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:  # fmt: skip
    made = [_Cell(paper, experiment, levels, testbed) for levels in cells]
    ends = []
    for kind in dict.fromkeys(cell.store["kind"] for cell in made):
        of_kind = [cell for cell in made if cell.store["kind"] == kind]
        rates = [cell.rate for cell in of_kind]
        ends += [cell for end in (min, max) for cell in of_kind if cell.rate == end(rates)]
    found: dict[tuple[str, str], dict[tuple[str, str], list[_Cell]]] = {}
    for cell in ends:
        scale = scale_of(paper, experiment["id"], effort, cell.levels, testbed)
        whole, scaled = _values(cell, cell.full_scale(scale), run=False), _values(cell, scale, run=True)
        for name in (name for name in QUANTITIES if name in whole):
            pair = (_digits(whole[name]), _digits(scaled[name]))
            fabric = cell.fabric if QUANTITIES[name].by_link else ""
            found.setdefault((name, fabric), {}).setdefault(pair, []).append(cell)
    order, known = list(QUANTITIES), {name for name, _ in found}
    for name, fabric in sorted(found, key=lambda key: order.index(key[0])):
        groups, quantity = found[name, fabric], QUANTITIES[name]
        for pair, of in groups.items():
            full, emulated = map(float, pair)
            quotient, alike = compared(full, emulated)
            others = [cell for group in groups.values() if group is not of for cell in group]
            yield {
                "paper": paper.id, "experiment": experiment["id"], "fabric": fabric,
                "levels": _distinct_levels(of, others) if others else "",
                "quantity": quantity.text, "unit": quantity.unit, "full_scale": full, "emulated": emulated,
                "quotient": quotient, "alike": alike,
                "follows": QUANTITIES[FOLLOWS[name]].text if FOLLOWS.get(name) in known else "",
                "bias": "" if alike else _bias(paper, quantity, full, emulated),
            }  # fmt: skip


def _digits(value: float) -> str:
    """Six digits, so that values which differ only by rounding share a row."""
    return f"{value:.6g}"


def compared(full: float, emulated: float) -> tuple[float | None, bool]:
    """(quotient, alike); the quotient is None if one side has no such thing."""
    if full == emulated:
        return 1.0, True
    if math.isnan(full) or math.isinf(full) or full == 0:
        return None, False
    quotient = emulated / full
    return quotient, abs(quotient - 1) <= TOLERANCE


def _distinct_levels(cells: Sequence[_Cell], others: Sequence[_Cell]) -> str:
    """The levels that distinguish cells from others: of one factor if that is enough, else of each that differs."""
    words = {}
    for factor in cells[0].levels:
        mine, theirs = (list(dict.fromkeys(cell.levels[factor] for cell in group)) for group in (cells, others))
        words[factor] = f"{factor}: {', '.join(map(str, mine))}"
        if not set(mine) & set(theirs):
            return words[factor]
        if set(mine) == set(theirs):
            del words[factor]
    return "; ".join(words.values())


def is_larger(full: float, emulated: float) -> bool:
    """Whether the emulated value is larger; if full scale has no known value, whether it is above 0."""
    return emulated > full or (math.isnan(full) and emulated > 0)


def _bias(paper: Paper, quantity: Quantity, full: float, emulated: float) -> str:
    text = quantity.larger if is_larger(full, emulated) else quantity.smaller
    studies = studied(paper, quantity)
    return f"{text} {studies}" if studies else text


def studied(paper: Paper, quantity: Quantity) -> str:
    """Experiments of a paper that study the effect of a quantity; empty without any."""
    studies = _studies(paper, quantity.study)
    return f"Studied by {', '.join(studies)} at full effort." if studies else ""


def _studies(paper: Paper, kind: str) -> list[str]:
    """Experiments that vary what a kind of study is about."""
    factors = {"switch": "switch_buffer_kib", "file": "file_blocks", "splits": "splits"}
    names = {"file": "data-fraction", "k": "scale-factor"}
    judged = {name for claim in paper.claims for name, _ in estimand_of(claim["test"]).cells()}
    return [
        name
        for name, experiment in paper.experiments.items()
        if "control" not in experiment and name not in judged and kind
        and (name == names.get(kind) or factors.get(kind) in experiment["factors"] and _only_there(experiment, kind))
    ]  # fmt: skip


def _only_there(experiment: Mapping[str, Any], kind: str) -> bool:
    """Whether an experiment can study the kind: splits only if its jobs have a map task per split."""
    return kind != "splits" or workload_of(experiment["workload"]).shares_input
