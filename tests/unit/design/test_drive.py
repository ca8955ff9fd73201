"""The record of a drive model."""

from __future__ import annotations

import json

from whitewire.design.drive import Drive


def test_the_record_of_a_drive_is_json_whether_it_limits_or_not():
    hardware = {"count": 2, "rate_mb_per_s": 100, "access_time_ms": 8, "writeback_chunk_bytes": 4e6, "cache_bytes": 2e6}
    told = json.loads(json.dumps(Drive.scaled(hardware, 10, "library.so").record, allow_nan=False))
    assert told == {"count": 2, "rate": 1e7, "access_time": 0.008, "chunk": 4e5, "cache": 2e5}
    assert json.loads(json.dumps(Drive.none(3).record, allow_nan=False)) == "no model"
