"""Settings of links, sockets, stores and tasks as functions of k and the data fraction: pure functions and constants.

The code that applies them (testbed, services, jobs) and the table of similitude share them. With k = 1 and a data
fraction of 1 they return the value at full scale. Rates of links are in Mbit/s and already divided by k; other units
are bytes and seconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from whitewire.records.samples import ETHERNET, MTU

LEAST_BUFFER = 32768
"""Least buffer of a switch port in bytes, at any rate: some twenty full frames."""

SEND_BUFFER = 131072
"""Least size of a socket's largest send buffer, in bytes."""

RECEIVE_BUFFER = 262144
"""Least size of a socket's largest receive buffer, in bytes; half of it, HDFS_SOCKET_BUFFER, is the TCP window."""

FIRST_RECEIVE_BUFFER = 8192
"""Receive buffer of a new socket in bytes, which the kernel enlarges as needed. A daemon's sockets keep the value from
the time when it started to listen, even if the fabric changes."""

HDFS_SOCKET_BUFFER = 131072
"""Size in bytes of the fixed buffers of HDFS's data sockets at the time of the papers (DEFAULT_DATA_SOCKET_SIZE)."""

COMPLETE_RETRY, COMPLETE_RETRY_MS = "dfs.client.block.write.locateFollowingBlock.initial.delay.ms", 400
COMPLETE_TIMES, COMPLETE_RETRIES = "dfs.client.block.write.locateFollowingBlock.retries", 5
"""Settings for a client's first pause before it asks again whether a block is complete (ms) and for the number of
retries, each with Hadoop's default."""

DATANODE_HEARTBEAT_S, NODEMANAGER_HEARTBEAT_S = 1.0, 0.2
"""Seconds between heartbeats here. Hadoop's defaults: 3 and 1."""

SORT_BUFFER_MIB = 16
"""MiB in which a map task sorts its output. Hadoop's default: 100."""

TESTDFSIO_BUFFER = 1_000_000
"""Bytes that a task of TestDFSIO writes or reads at once, by default."""

REDUCE_MEMORY_SHARE = 0.1
"""Share of a reduce task's input that its memory holds. At full scale the input is far larger than the memory, and is
written to the drives and merged from there; a scaled input would fit completely."""

LEAST_STRIPE = 65536
"""Smallest stripe of CephFS in bytes; others are multiples of it."""

LEAST_CLIENT_CACHE = 65536
"""Least size of a CephFS client's cache in bytes, for data not yet written or read ahead."""


def burst_bytes(rate: float, mtu: int = MTU) -> int:
    """HTB burst in bytes for a rate: two milliseconds at line rate, at least four full frames (or one jumbo frame).

    A link can make up for waits for a processor up to this burst, so longer waits lose rate. A longer burst would fill
    a port's buffer at once.
    """
    return max(6000, mtu + ETHERNET, int(rate * 1e6 / 8 * 2e-3))


def port_buffer(switch: Mapping[str, Any], rate: float) -> int:
    """Bytes that a switch port queues before it drops packets; `switch`: that of the testbed's description."""
    longest = int(rate * 1e6 / 8 * switch["port_buffer_ms"] / 1e3)
    return min(station_queue(switch), max(LEAST_BUFFER, longest))


def station_queue(switch: Mapping[str, Any]) -> int:
    """Bytes that a host on a shared segment queues until its turn: it waits for the medium and drops no packets."""
    return int(switch["port_buffer_kib"] * 1024)


def receive_buffer(switch: Mapping[str, Any], tcp: Mapping[str, Any], rate: float, k: float) -> int:
    """Largest receive buffer of a socket in bytes; the window is half of it.

    If the port's buffer is below its full size, the receive buffer is a quarter of it, so that several windows fit into
    it together, as at full scale. Windows need not be large, because these links have almost no delay. With larger
    ones, reno's slow start would drop a twentieth of a shuffle's packets.
    """
    port = port_buffer(switch, rate)
    if port < station_queue(switch):
        return max(FIRST_RECEIVE_BUFFER, port // 4)
    return max(RECEIVE_BUFFER, int(tcp["receive_buffer_bytes"] / k))


def send_buffer(tcp: Mapping[str, Any], k: float) -> int:
    """Largest send buffer of a socket in bytes: divided by k like files and rates, but at least two packets of HDFS."""
    return max(SEND_BUFFER, int(tcp["send_buffer_bytes"] / k))


def retry_pause_ms(data_fraction: float) -> int:
    """A client's pause in ms before it asks again whether a block is complete.

    Hadoop's pause is fixed for all sizes of files. For a shortened file it must be shortened too, or its weight would
    be too large by a factor of 1 / data fraction.
    """
    return max(1, round(COMPLETE_RETRY_MS * data_fraction))


def retry_settings(data_fraction: float) -> dict[str, int]:
    """Settings for that pause and the number of its doublings, so that a client gives up no earlier than by default."""
    pause = retry_pause_ms(data_fraction)
    patience = COMPLETE_RETRY_MS * (2**COMPLETE_RETRIES - 1)
    return {COMPLETE_RETRY: pause, COMPLETE_TIMES: math.ceil(math.log2(patience / pause + 1))}


def reduce_memory(input_bytes: float, reduces: int) -> int:
    """Bytes of its input that a reduce task may keep in memory."""
    return max(1 << 20, math.ceil(input_bytes / max(1, reduces) * REDUCE_MEMORY_SHARE))


def read_buffer(block_share: float) -> int:
    """Buffer in bytes of our own reader with TestDFSIO's loops; scaled like blocks, which it does not divide."""
    return max(4096, round(TESTDFSIO_BUFFER * block_share))


def stripe_unit(full_scale: float, k: float) -> int:
    """The smallest stripe size of CephFS in bytes that is at least full_scale / k."""
    return max(1, math.ceil(full_scale / k / LEAST_STRIPE)) * LEAST_STRIPE


def client_cache(full_scale: float, k: float, data_fraction: float) -> int:
    """Size of a CephFS client's cache in bytes: scaled like the file, because a short file would fit completely."""
    return max(LEAST_CLIENT_CACHE, int(full_scale * data_fraction / k))
