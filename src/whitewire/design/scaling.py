"""What a run sets of links, sockets, stores and tasks, by k and the data fraction: pure functions and fixed values.

What sets them (testbed, services, jobs) and the table of similitude share them. With k = 1 and a data fraction of 1
they give the value at full scale. Rates of links are in Mbit/s, divided by k already; all else in bytes and seconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from whitewire.records.samples import ETHERNET, MTU

LEAST_BUFFER = 32768
"""Bytes that a port queues at any rate: some twenty full frames."""

SEND_BUFFER = 131072
"""Bytes, at least."""

RECEIVE_BUFFER = 262144
"""Bytes, at least: a window of HDFS_SOCKET_BUFFER."""

FIRST_RECEIVE_BUFFER = 8192
"""Bytes of a new socket, which the kernel lets grow. A daemon's socket keeps what it had when the daemon started to
listen, whatever the fabric is by then."""

HDFS_SOCKET_BUFFER = 131072
"""The fixed buffers that HDFS gave its data sockets in the papers' years (DEFAULT_DATA_SOCKET_SIZE)."""

PACKETS_IN_FLIGHT = "dfs.client.write.max-packets-in-flight", 80
"""How many packets a client sends ahead of their acknowledgement: the setting, and Hadoop's default."""

COMPLETE_RETRY, COMPLETE_RETRY_MS = "dfs.client.block.write.locateFollowingBlock.initial.delay.ms", 400
COMPLETE_TIMES, COMPLETE_RETRIES = "dfs.client.block.write.locateFollowingBlock.retries", 5
"""How long a client waits before it asks again whether a block is complete, and Hadoop's default for it."""

DATANODE_HEARTBEAT_S, NODEMANAGER_HEARTBEAT_S = 1.0, 0.2
"""Seconds between heartbeats here. Hadoop's defaults: 3 and 1."""

SORT_BUFFER_MIB = 16
"""MiB in which a map task sorts its output. Hadoop's default: 100."""

TESTDFSIO_BUFFER = 1_000_000
"""Bytes that a task of TestDFSIO writes or reads at once, by default."""

REDUCE_MEMORY_SHARE = 0.1
"""Part of a reduce task's input that its memory holds. At full scale it is far larger than the memory, so that it is
written to the drives and merged from there; a scaled input would fit whole."""

LEAST_STRIPE = 65536
"""CephFS has no smaller stripes, and only multiples of it."""

LEAST_CLIENT_CACHE = 65536
"""Bytes that a client of CephFS may hold at least, not yet written or read ahead."""


def burst_bytes(rate: float, mtu: int = MTU) -> int:
    """HTB burst for a rate: two milliseconds at line rate, at least four full frames (of jumbo frames one).

    What a link may send late when the machine's processors kept it waiting, so longer pauses lose rate. A longer burst
    would fill a port's buffer at once.
    """
    return max(6000, mtu + ETHERNET, int(rate * 1e6 / 8 * 2e-3))


def port_buffer(switch: Mapping[str, Any], rate: float) -> int:
    """Bytes that a switch port queues before it drops; `switch` is that of the testbed's description."""
    longest = int(rate * 1e6 / 8 * switch["port_buffer_ms"] / 1e3)
    return min(station_queue(switch), max(LEAST_BUFFER, longest))


def station_queue(switch: Mapping[str, Any]) -> int:
    """Bytes that a host on a shared segment keeps until its turn: it waits for the medium and drops nothing."""
    return int(switch["port_buffer_kib"] * 1024)


def receive_buffer(switch: Mapping[str, Any], tcp: Mapping[str, Any], rate: float, k: float) -> int:
    """Bytes of a socket's largest receive buffer; its window is half of them.

    Where the port's buffer is cut short, several windows together still fit into it, as they do at full scale: these
    links have next to no delay, so that a window need not be large, and reno's slow start would else drop a twentieth
    of what a shuffle sends.
    """
    port = port_buffer(switch, rate)
    if port < station_queue(switch):
        return max(FIRST_RECEIVE_BUFFER, port // 4)
    return max(RECEIVE_BUFFER, int(tcp["receive_buffer_bytes"] / k))


def send_buffer(tcp: Mapping[str, Any], k: float) -> int:
    """Bytes of a socket's largest send buffer: it shrinks with files and rates, but a packet of HDFS fits twice."""
    return max(SEND_BUFFER, int(tcp["send_buffer_bytes"] / k))


def retry_pause_ms(data_fraction: float) -> int:
    """What a client waits before it asks again whether a block is complete.

    Hadoop waits a fixed time, whatever the file's size. A short file must shorten it likewise, or it would weigh
    1 / data fraction times too much.
    """
    return max(1, round(COMPLETE_RETRY_MS * data_fraction))


def retry_settings(data_fraction: float) -> dict[str, int]:
    """That pause and how often it is doubled: so often that a client gives up no sooner than Hadoop's own does."""
    pause = retry_pause_ms(data_fraction)
    patience = COMPLETE_RETRY_MS * (2**COMPLETE_RETRIES - 1)
    return {COMPLETE_RETRY: pause, COMPLETE_TIMES: math.ceil(math.log2(patience / pause + 1))}


def reduce_memory(input_bytes: float, reduces: int) -> int:
    """Bytes of its input that a reduce task may hold in memory."""
    return max(1 << 20, math.ceil(input_bytes / max(1, reduces) * REDUCE_MEMORY_SHARE))


def read_buffer(block_share: float) -> int:
    """Bytes of the buffer of TestDFSIO's loops in a reader of our own: scaled as blocks are, as it divides none."""
    return max(4096, round(TESTDFSIO_BUFFER * block_share))


def stripe_unit(full_scale: float, k: float = 1.0) -> int:
    """The nearest stripe size in bytes that CephFS can have, not below full_scale / k."""
    return max(1, math.ceil(full_scale / k / LEAST_STRIPE)) * LEAST_STRIPE


def client_cache(full_scale: float, k: float, data_fraction: float) -> int:
    """Bytes that a client of CephFS may hold: they shrink with the file, or a short file would lie in them whole."""
    return max(LEAST_CLIENT_CACHE, int(full_scale * data_fraction / k))
