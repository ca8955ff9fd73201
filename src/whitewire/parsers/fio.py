"""fio's JSON."""

from __future__ import annotations

import json

from whitewire.parsers import Unreadable


def parse(raw: bytes, operation: str) -> float:
    """Bandwidth in MB/s (10^6 bytes) of a one-job `write` or `read`. Raises Unreadable.

    Warnings may stand before the JSON.
    """
    start = raw.find(b"{")
    try:
        report = json.loads(raw[start:]) if start >= 0 else None
        job = report["jobs"][0]
        if job["error"]:
            raise Unreadable(f"fio: the job ended with error {job['error']}")
        bandwidth = job[operation]["bw_bytes"] / 1e6
    except (ValueError, KeyError, IndexError, TypeError) as error:
        if isinstance(error, Unreadable):
            raise
        raise Unreadable(f"fio: not a whole report of a {operation} job ({len(raw)} bytes)") from None
    if not bandwidth > 0:
        raise Unreadable(f"fio: bandwidth {bandwidth}, expected more than 0")
    return bandwidth
