"""Max-min fair sharing of links and drives by HDFS write pipelines.

A put writes its blocks one after the other. A block goes client → DataNode → DataNode → DataNode (three
distinct ones at random), so all its hops have the same rate. It uses the client's outgoing link, the incoming
link of each DataNode, the outgoing link of all but the last, and on each DataNode one drive (in rotation).
Between two events (such as the end of a block) the rates are the max-min fair allocation, found by progressive
filling (Bertsekas & Gallager, Data Networks, 6.5). A drive with two or more writers loses time to seeks (see
disks.py). Its cache accepts data at any rate until it is full, and drains at the drive's rate.

A client on a DataNode's own host has its first copy there, so that its first hop uses the drive alone.

A writer may have a rate of its own, which bounds its put.

If a DataNode has memory, it accepts data for all its drives at any rate until its dirty bytes (beyond those in the
drives' caches) reach the limit. Then it accepts data at the rate of its drives until a hundredth of the limit is free
again. Drives write back above the background limit, down to half of it. A drive with more than a block to write
alternates between files. Memory of less than a thousandth of the node's data is ignored.

Many independent simulations advance in lock-step as numpy arrays; times are those of the full-scale system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from whitewire.models.disks import shared_rate
from whitewire.units import MB_PER_GBIT

GOODPUT = 1448 / 1514
"""Ratio of TCP payload to Ethernet frame, as iperf3 measures it on a link of 1500-byte packets."""
UNLIMITED = 1e9
_EMPTY = 1e-6
"""Amount of data that counts as none, in MB: less than any block."""
FREE, _AGAIN = 0.99, 0.5
"""Share of the limit below which a full memory accepts data at any rate again, and share of the background limit at
which drives stop writing back. Without this hysteresis, each byte around the limits would be an event."""
LEAST_STEP, LEAST_MEMORY = 1 / 4000, 1 / 1000
"""Shares of a DataNode's data: the least free memory before a full one accepts data at any rate again (if 1 - FREE of
the limit is less) or drives begin to write back, and the least memory that is not ignored. Without them, a small memory
causes endless events."""
MOST_PUTS, _MOST_DRIVES = 50, 1000
"""Most concurrent puts, and most drives per node, in a simulation for a claim."""


@dataclass(frozen=True)
class PutCell:
    """One cell of a put grid at full scale.

    `link_gbit_per_s` is the rate of every link; with `drives` 0 only links limit. Sizes in bytes.
    """

    link_gbit_per_s: float
    clients: int = 1
    puts_per_client: int = 1
    file_bytes: float = 5e9
    block_bytes: float = 67108864
    replication: int = 3
    datanodes: int = 11
    drives: int = 6
    rate_mb_per_s: float = 110.0
    access_time_ms: float = 12.7
    chunk_bytes: float = 4194304
    cache_bytes: float = 16777216
    background_bytes: float = 0.0
    """Dirty bytes in a DataNode's memory above which its drives write back."""
    limit_bytes: float = 0.0
    """Dirty bytes above which writers wait for the drives; 0: no memory."""
    writer_mb_per_s: float = UNLIMITED
    """What the processor of a put makes at most."""
    local: bool = False
    """Whether clients are on the first DataNodes' hosts, where each block's first copy stays."""

    @property
    def node_bytes(self) -> float:
        """Bytes that a DataNode receives, on average."""
        return self.clients * self.puts_per_client * self.file_bytes * self.replication / self.datanodes

    @property
    def limited(self) -> bool:
        """Whether anything limits a put: a lone copy that stays uses no link."""
        return not self.local or self.replication > 1 or self.drives > 0 or self.writer_mb_per_s < UNLIMITED

    @property
    def remembers(self) -> bool:
        return self.limit_bytes > LEAST_MEMORY * self.node_bytes


@dataclass
class Prediction:
    """Results of one cell's simulations, one entry per draw: three throughputs in MB/s, and seconds."""

    throughput: list[float] = field(default_factory=list)
    throughput_sum: list[float] = field(default_factory=list)
    throughput_peak_1s: list[float] = field(default_factory=list)
    completion_time: list[float] = field(default_factory=list)


def allocate(uses: np.ndarray, capacity: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Max-min fair rates of flows in independent systems.

    `uses` is (systems, flows, hops) with the index of each hop's resource, `capacity` (systems, resources) in
    any unit of rate, `active` (systems, flows). Returns (systems, flows) in that unit, 0 for inactive flows.
    A flow that names a resource in two hops takes twice its rate of it.
    """
    systems, flows, hops = uses.shape
    resources = capacity.shape[1]
    offset = (np.arange(systems) * resources)[:, None, None]
    flat = (uses + offset).reshape(systems * flows, hops)
    left = capacity.reshape(-1).astype(float).copy()
    rates = np.zeros(systems * flows)
    open_ = np.flatnonzero(active)
    size = systems * resources
    mine = flat[open_].T.copy()  # a row per hop: short rows are slow to reduce
    count = np.bincount(mine.reshape(-1), minlength=size)
    while len(open_):
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(count > 0, np.maximum(left, 0) / count, np.inf)
        seen = share[mine]
        least = seen.min(axis=0)
        # A resource is a bottleneck if no flow on it has a smaller share elsewhere; then its flows' rates are final.
        tight = count > 0
        tight[mine[seen > least * (1 + 1e-12)]] = False
        settled = tight[mine].any(axis=0)
        index = open_[settled]
        rates[index] = least[settled]
        taken = flat[index].reshape(-1)
        left -= np.bincount(taken, weights=np.repeat(rates[index], hops), minlength=size)
        count -= np.bincount(taken, minlength=size)
        open_, mine = open_[~settled], mine[:, ~settled]
    return rates.reshape(systems, flows)


def simulate(cells: Sequence[PutCell], draws: int, seed: int) -> list[Prediction]:
    """Throughput and times of each cell over `draws` random placements, in the order of `cells`.

    Raises ValueError unless all cells have the same numbers of DataNodes, drives and replicas.
    """
    if len({(c.datanodes, c.drives, c.replication) for c in cells}) > 1:
        raise ValueError("cells of one simulation must share DataNodes, drives and replication")
    first = cells[0]
    if first.replication > first.datanodes:
        raise ValueError(f"{first.replication} replicas need as many DataNodes, not {first.datanodes}")
    rng = np.random.Generator(np.random.PCG64(seed))
    runs = [c for c in cells for _ in range(draws)]
    flows = max(c.clients * c.puts_per_client for c in runs)
    number = len(runs)
    state = _State(runs, flows, rng)
    time, moved = np.zeros(number), np.zeros(number)
    ends = np.zeros((number, flows))
    alive = np.arange(number)
    trace = [(alive, time.copy(), moved.copy())]
    while len(alive):
        rates = state.rates(alive)
        active = state.active[alive]
        with np.errstate(divide="ignore", invalid="ignore"):
            remaining = np.where(active, state.left[alive] / rates, np.inf)
        step = np.minimum(remaining.min(axis=1), state.until_full(alive, rates))
        time[alive] += step
        progress = np.where(active, rates * step[:, None], 0.0)
        state.left[alive] -= progress
        state.fill_caches(alive, step)
        moved[alive] += progress.sum(axis=1)
        trace.append((alive, time[alive], moved[alive]))
        position, done = np.nonzero(active & (remaining <= step[:, None] * (1 + 1e-9)))
        for run, flow in zip(alive[position].tolist(), done.tolist(), strict=True):
            if not state.next_block(run, flow):
                ends[run, flow] = time[run]
        alive = alive[state.active[alive].any(axis=1)]
    return _collect(cells, draws, runs, time, ends, trace)


class _State:
    """Blocks in flight of all simulations."""

    def __init__(self, runs: Sequence[PutCell], flows: int, rng: np.random.Generator) -> None:
        self.runs, self.rng = runs, rng
        cell = runs[0]
        self.nodes, self.drives, self.replicas = cell.datanodes, cell.drives, cell.replication
        self.clients = max(c.clients for c in runs)
        self.remember = _Memory(runs, self.nodes, self.drives) if any(c.remembers for c in runs) else None
        self.bound = np.array([c.writer_mb_per_s for c in runs])
        # resources: client out, node in, node out, drives, memory of nodes, writers of puts, one unlimited
        self.node_in = self.clients
        self.node_out = self.node_in + self.nodes
        self.drive = self.node_out + self.nodes
        self.memory = self.drive + self.nodes * self.drives
        self.writer = self.memory + (self.nodes if self.remember else 0)
        bounded = bool((self.bound < UNLIMITED).any())
        self.nothing = self.writer + (flows if bounded else 0)
        number = len(runs)
        self.links = np.array([c.link_gbit_per_s * MB_PER_GBIT * GOODPUT for c in runs])
        self.alone = np.array([c.rate_mb_per_s for c in runs], dtype=float)
        self.shared = np.array([shared_rate(c.rate_mb_per_s, c.access_time_ms, c.chunk_bytes, 2) for c in runs])
        hops = 1 + bounded + 2 * self.replicas - 1 + self.replicas * (2 if self.remember else 1)
        self.uses = np.full((number, flows, hops), self.nothing)
        self.left = np.zeros((number, flows))
        self.unwritten = [[0.0] * flows for _ in runs]
        self.active = np.zeros((number, flows), dtype=bool)
        self.cache = np.array([c.cache_bytes / 1e6 for c in runs])
        self.level = np.zeros((number, self.nodes * self.drives))
        self.full = np.repeat(self.cache[:, None] <= 0, self.nodes * self.drives, axis=1)
        self.turn = rng.integers(0, max(self.drives, 1), size=(number, self.nodes)).tolist()
        for run, c in enumerate(runs):
            for flow in range(c.clients * c.puts_per_client):
                self.unwritten[run][flow] = c.file_bytes / 1e6
                self.next_block(run, flow)

    def next_block(self, run: int, flow: int) -> bool:
        """Start the next block of a put. Returns False if its file is complete."""
        cell, unwritten, turn = self.runs[run], self.unwritten[run], self.turn[run]
        if unwritten[flow] <= 1e-9:
            self.active[run, flow] = False
            return False
        size = min(cell.block_bytes / 1e6, unwritten[flow])
        unwritten[flow] -= size
        self.left[run, flow] = size
        client = flow // cell.puts_per_client
        if cell.local:
            others = self.rng.choice(self.nodes - 1, size=self.replicas - 1, replace=False)
            nodes = [client, *((client + 1 + others) % self.nodes).tolist()]
            uses = [self.nothing, self.nothing]
        else:
            nodes = self.rng.choice(self.nodes, size=self.replicas, replace=False).tolist()
            uses = [client, self.node_in + nodes[0]]
        uses += [self.writer + flow] if self.nothing > self.writer else []
        uses += [self.node_in + n for n in nodes[1:]]
        uses += [self.node_out + n for n in nodes[:-1]]
        if self.remember:
            uses += [self.memory + n if cell.remembers else self.nothing for n in nodes]
        for n in nodes:
            if self.drives:
                uses.append(self.drive + n * self.drives + turn[n] % self.drives)
                turn[n] += 1
            else:
                uses.append(self.nothing)
        self.uses[run, flow] = uses
        self.active[run, flow] = True
        return True

    def rates(self, alive: np.ndarray) -> np.ndarray:
        """Max-min rates (MB/s) of the blocks in flight of the given simulations."""
        uses, active = self.uses[alive], self.active[alive]
        number = len(alive)
        capacity = np.full((number, self.nothing + 1), UNLIMITED)
        capacity[:, : self.drive] = self.links[alive][:, None]
        capacity[:, self.writer : self.nothing] = self.bound[alive][:, None]
        if self.drives:
            writers = self._per_drive(uses, active.astype(float))
            alone, shared = self.alone[alive][:, None], self.shared[alive][:, None]
            self.drain = np.where(writers > 1, shared, alone)
            capacity[:, self.drive : self.memory] = np.where(self.full[alive], self.drain, UNLIMITED)
            if self.remember:
                taken = self.remember.capacities(alive, self.level[alive], writers, alone, shared)
                there = self.remember.there[alive]
                capacity[there, self.drive : self.memory] = UNLIMITED
                capacity[there, self.memory : self.writer] = taken[there]
                self.drain[there] = self.remember.drain[there]
        return allocate(uses, capacity, active)

    def _per_drive(self, uses: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Sum over each drive's writers of `weight` (systems, flows)."""
        number, size = len(uses), self.nodes * self.drives
        at = uses[:, :, -self.replicas :] - self.drive + (np.arange(number) * size)[:, None, None]
        on = weight > 0
        total = np.bincount(at[on].reshape(-1), np.repeat(weight[on], self.replicas), number * size)
        return total.reshape(number, size)

    def until_full(self, alive: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Seconds until the next cache is full in each simulation (infinite when none fills)."""
        if not self.drives:
            return np.full(len(alive), np.inf)
        self.net = self._per_drive(self.uses[alive], rates) - self.drain
        with np.errstate(divide="ignore", invalid="ignore"):
            wait = (self.cache[alive][:, None] - self.level[alive]) / self.net
        filling = (self.net > 1e-9) & ~self.full[alive]
        found = np.where(filling, wait, np.inf).min(axis=1)
        if not self.remember:
            return found
        there = self.remember.there[alive]
        level, cache = self.level[alive], self.cache[alive][:, None]
        self.net[there] = np.where((level <= _EMPTY) & (self.net < 0), 0.0, self.net)[there]
        return np.where(there, self.remember.until_next(alive, level, self.net, cache), found)

    def fill_caches(self, alive: np.ndarray, step: np.ndarray) -> None:
        """Advance the caches by `step` seconds at the rates of the last allocation."""
        if not self.drives:
            return
        cache = self.cache[alive][:, None]
        most = cache
        if self.remember:
            most = np.where(self.remember.there[alive][:, None], np.inf, cache)
        level = np.clip(self.level[alive] + self.net * step[:, None], 0, most)
        self.level[alive] = level
        self.full[alive] = (level >= cache * (1 - 1e-9)) & (self.net > -1e-9) | (cache <= 0)
        if self.remember:
            self.remember.settle(alive, level, self.net, cache)


class _Memory:
    """Dirty data in each node's memory in all simulations, in MB. Levels are per drive and include its cache."""

    def __init__(self, runs: Sequence[PutCell], nodes: int, drives: int) -> None:
        self.shape = len(runs), nodes, drives
        self.there = np.array([c.remembers for c in runs])
        self.limit = np.array([c.limit_bytes / 1e6 for c in runs])[:, None]
        step = np.array([LEAST_STEP * c.node_bytes / 1e6 for c in runs])[:, None]
        self.again = np.minimum(FREE * self.limit, self.limit - step)
        """Dirty MB above which a full memory still accepts data only at the rate of its drives."""
        background = np.array([c.background_bytes / 1e6 for c in runs])[:, None]
        self.background = np.where(background < step, 0.0, background)
        self.block = np.array([c.block_bytes / 1e6 for c in runs])[:, None]
        self.full = np.zeros((len(runs), nodes), dtype=bool)
        self.back = np.repeat(self.background <= 0, nodes, axis=1)
        """Whether each node's drives write back."""

    def _of_nodes(self, of_drives: np.ndarray) -> np.ndarray:
        return of_drives.reshape(-1, *self.shape[1:]).sum(axis=2)

    def _of_drives(self, of_nodes: np.ndarray) -> np.ndarray:
        return np.repeat(of_nodes, self.shape[2], axis=1)

    def capacities(self, alive: np.ndarray, level: np.ndarray, writers: np.ndarray, alone: np.ndarray,
                   shared: np.ndarray) -> np.ndarray:  # fmt: skip
        """MB/s that each node accepts; sets `drain` to the MB/s that each drive writes back."""
        rate = np.where((writers > 1) | (level > self.block[alive]), shared, alone)
        self.drain = rate * ((writers > 0) | (level > _EMPTY)) * self._of_drives(self.back[alive])
        emptied = self._of_nodes(np.where(level > _EMPTY, self.drain, 0.0))
        return np.where(self.full[alive], np.maximum(emptied, _EMPTY), UNLIMITED)

    def _dirty(self, level: np.ndarray, net: np.ndarray, cache: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(MB in each node's memory beyond the drives' caches, their growth in MB/s)."""
        beyond = (level > cache * (1 + 1e-9)) | ((level >= cache * (1 - 1e-9)) & (net > 0))
        return self._of_nodes(np.maximum(level - cache, 0)), self._of_nodes(np.where(beyond, net, 0.0))

    def until_next(self, alive: np.ndarray, level: np.ndarray, net: np.ndarray, cache: np.ndarray) -> np.ndarray:
        """Seconds until the next event in each simulation: a node becomes full, starts or stops to write back, or a
        drive's cache becomes full, or becomes empty while its node is full."""
        dirty, growth = self._dirty(level, net, cache)
        held, change = self._of_nodes(level), self._of_nodes(net)
        limit, background, full, back = self.limit[alive], self.background[alive], self.full[alive], self.back[alive]
        with np.errstate(divide="ignore", invalid="ignore"):
            times = (
                np.where((growth > 1e-9) & ~full, (limit - dirty) / growth, np.inf),
                np.where((change > 1e-9) & ~back, (background - held) / change, np.inf),
                np.where((change < -1e-9) & back & (background > 0), (held - _AGAIN * background) / -change, np.inf),
                np.where((net > 1e-9) & (level < cache * (1 - 1e-9)), (cache - level) / net, np.inf),
                np.where((net < -1e-9) & (level > _EMPTY) & self._of_drives(full), level / -net, np.inf),
            )
        return np.maximum(np.min([time.min(axis=1) for time in times], axis=0), 0.0)

    def settle(self, alive: np.ndarray, level: np.ndarray, net: np.ndarray, cache: np.ndarray) -> None:
        """Update after a step which nodes are full, and which write back."""
        dirty, _ = self._dirty(level, net, cache)
        held, background, limit = self._of_nodes(level), self.background[alive], self.limit[alive]
        self.full[alive] = (dirty >= limit * (1 - 1e-9)) | self.full[alive] & (dirty > self.again[alive])
        on, off = held >= background * (1 - 1e-9), held <= _AGAIN * background * (1 + 1e-9)
        self.back[alive] = np.where(on, True, self.back[alive] & ~off) | (background <= 0)


def _collect(
    cells: Sequence[PutCell],
    draws: int,
    runs: Sequence[PutCell],
    time: np.ndarray,
    ends: np.ndarray,
    trace: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> list[Prediction]:
    predictions = [Prediction() for _ in cells]
    of, moments, moved = (np.concatenate(each) for each in zip(*trace, strict=True))
    order = np.argsort(of, kind="stable")
    parts = np.cumsum(np.bincount(of))[:-1]
    traces = zip(np.split(moments[order], parts), np.split(moved[order], parts), strict=True)
    for run, cell in enumerate(runs):
        puts = cell.clients * cell.puts_per_client
        megabytes = cell.file_bytes / 1e6
        prediction = predictions[run // draws]
        prediction.throughput.append(puts * megabytes / time[run])
        prediction.throughput_sum.append(float((megabytes / ends[run, :puts]).sum()))
        prediction.completion_time.append(float(time[run]))
        at, total = next(traces)
        window = min(1.0, time[run])
        later = np.interp(at + window, at, total)
        prediction.throughput_peak_1s.append(float((later - total).max() / window))
    return predictions


def put_throughput(
    fabric_gbit_per_s: float, clients: int, puts_per_client: int, drives: int = 6, seed: int = 1
) -> float:
    """Total user bytes over completion time (MB/s) of parallel 5 GB puts to 11 DataNodes, for one random placement.

    `fabric_gbit_per_s` is the rate of every link; with `drives` 0 only links limit.
    """
    if fabric_gbit_per_s <= 0 or clients < 1 or puts_per_client < 1 or drives < 0 or seed < 0:
        raise ValueError("the rate must be above 0, clients and puts at least 1, drives and seed at least 0")
    if clients * puts_per_client > MOST_PUTS or drives > _MOST_DRIVES:
        raise ValueError(f"there may be {MOST_PUTS} puts at once, and {_MOST_DRIVES} drives on a node, at most")
    cell = PutCell(float(fabric_gbit_per_s), int(clients), int(puts_per_client), drives=int(drives))
    return float(np.median(simulate([cell], 1, int(seed))[0].throughput))
