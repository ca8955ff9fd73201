"""A rotating drive written by several streams: each chunk costs its transfer and, when shared, a seek."""

from __future__ import annotations

MB = 1e6


def shared_rate(rate_mb_per_s: float, access_time_ms: float, chunk_bytes: float, streams: float) -> float:
    """Total rate (MB/s) of one drive with `streams` writers.

    One writer is sequential (`rate_mb_per_s`). Two or more take turns of `chunk_bytes`, each with one access
    of `access_time_ms` (average seek and half a turn): chunk / (chunk / rate + access).
    """
    if rate_mb_per_s <= 0 or chunk_bytes <= 0 or access_time_ms < 0 or streams < 1:
        raise ValueError("rate and chunk must be above 0, access time at least 0, streams at least 1")
    if streams < 2:
        return float(rate_mb_per_s)
    chunk = chunk_bytes / MB
    return chunk / (chunk / rate_mb_per_s + access_time_ms / 1000)


def node_rate(
    drives: int, rate_mb_per_s: float, access_time_ms: float, chunk_bytes: float, streams_per_drive: float
) -> float:
    """Rate (MB/s) of all drives of a node, each with `streams_per_drive` writers."""
    return drives * shared_rate(rate_mb_per_s, access_time_ms, chunk_bytes, streams_per_drive)


def node_to_link_ratio(
    drives: int,
    rate_mb_per_s: float,
    access_time_ms: float,
    chunk_bytes: float,
    streams_per_drive: float,
    link_gbit_per_s: float,
) -> float:
    """Rate of a node's drives over the rate of its link (no unit); above 1 the link is the narrower."""
    rate = node_rate(drives, rate_mb_per_s, access_time_ms, chunk_bytes, streams_per_drive)
    return rate / (link_gbit_per_s * 125)
