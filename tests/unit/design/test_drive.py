"""The record of a drive model."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from whitewire.description.files import schema
from whitewire.description.paper import hardware_of
from whitewire.design.drive import ACCOUNT, Drive, read_state
from whitewire.paths import HOME


def test_the_record_of_a_drive_is_json_whether_it_limits_or_not():
    hardware = {"count": 2, "rate_mb_per_s": 100, "access_time_ms": 8, "writeback_chunk_bytes": 4e6, "cache_bytes": 2e6}
    record = json.loads(json.dumps(Drive.scaled(hardware, 10, "library.so").record, allow_nan=False))
    assert record == {"count": 2, "rate": 1e7, "access_time": 0.008, "chunk": 4e5, "cache": 2e5}
    assert json.loads(json.dumps(Drive.none(3).record, allow_nan=False)) == "no model"


def test_a_node_has_as_many_drives_as_the_library_delays():
    source = (HOME / "src/drive/account.h").read_text()
    assert f"INTERMEDIATE = {schema('paper')['$defs']['drive']['properties']['count']['maximum'] + 1}," in source


READS = {"count": 1, "rate_mb_per_s": 200, "read_rate_mb_per_s": 500, "access_time_ms": 0, "writeback_chunk_bytes": 4e6,
         "cache_bytes": 2e6}  # fmt: skip


def test_reads_have_the_rate_of_writes_unless_they_have_their_own():
    drive, plain = (Drive.scaled(READS | of, 10, "library.so") for of in ({}, {"read_rate_mb_per_s": 200}))
    assert (drive.rate, drive.read_rate) == (2e7, 5e7)
    assert drive.record == plain.record | {"read_rate": 5e7}
    assert plain == Drive.scaled({k: v for k, v in READS.items() if k != "read_rate_mb_per_s"}, 10, "library.so")
    assert (drive.slowed(0.5).rate, drive.slowed(0.5).read_rate) == (1e7, 2.5e7)
    assert read_state(drive.state() + bytes(ACCOUNT.size)) | {"count": 1} == drive.record
    assert read_state(drive.state(at_ease=True) + bytes(ACCOUNT.size))["read_rate"] == math.inf
    assert "read_rate" not in read_state(plain.state() + bytes(ACCOUNT.size))


def test_intermediate_data_are_on_the_same_drives_unless_they_have_their_own():
    plain = Drive.scaled({"count": 2, "rate_mb_per_s": 100, "access_time_ms": 8, "writeback_chunk_bytes": 4e6,
                          "cache_bytes": 2e6, "memory_bytes": 16e9, "dirty_ratio": 20}, 10, "library.so")  # fmt: skip
    drive = replace(plain, intermediate=Drive.scaled(READS, 10, "library.so"))
    own = {"intermediate_count": 1, "intermediate_rate": 2e7, "intermediate_read_rate": 5e7,
           "intermediate_access_time": 0.0, "intermediate_chunk": 4e5, "intermediate_cache": 2e5}  # fmt: skip
    assert drive.record == plain.record | own
    found = read_state(drive.state() + bytes(ACCOUNT.size))
    assert found["intermediate_moved"] == 0 and own.items() <= found.items() and found["cache"] == plain.cache
    assert not [key for key in read_state(plain.state() + bytes(ACCOUNT.size)) if key.startswith("intermediate")]
    assert drive.slowed(0.5).intermediate.read_rate == 2.5e7
    assert drive.alone.intermediate == drive.intermediate


def test_a_run_names_the_drives_of_its_intermediate_data():
    ssd = {"count": 1, "rate_mb_per_s": 500}
    hardware = {"drive": {"count": 6}, "drives": {"ssd": ssd | {"sources": {"count": "a test"}}}}
    experiment = {"parameters": {}, "hardware": hardware}
    assert hardware_of(experiment, {"intermediate_drive": "ssd"}) == {"count": 6, "intermediate": ssd}
    assert hardware_of(experiment, {"intermediate_drive": "shared"}) == {"count": 6}
    assert hardware_of(experiment | {"parameters": {"intermediate_drive": "ssd"}}, {"count": 2}) == {
        "count": 2, "intermediate": ssd}  # fmt: skip


MEMORY = {"count": 2, "rate_mb_per_s": 100, "access_time_ms": 8, "writeback_chunk_bytes": 4e6, "cache_bytes": 2e6,
          "memory_bytes": 16e9, "dirty_background_ratio": 10, "dirty_ratio": 20}  # fmt: skip


def test_memory_is_divided_by_k_and_by_the_data_fraction():
    drive = Drive.scaled(MEMORY, 100, "library.so", 0.25)
    assert (drive.memory, drive.background, drive.limit) == pytest.approx((40e6, 4e6, 8e6))
    assert drive.cached and not drive.alone.cached
    assert drive.alone == Drive.scaled(MEMORY | {"memory_bytes": 0}, 100, "library.so")
    assert drive.record == drive.alone.record | {"memory": 40e6, "background": 4e6, "limit": 8e6}


def test_a_background_limit_that_is_not_below_the_other_is_half_of_it():
    drive = Drive.scaled(MEMORY | {"dirty_background_ratio": 30}, 100, "library.so")
    assert drive.background == drive.limit / 2


def test_what_a_record_has_of_memory_is_what_was_put():
    drive = Drive.scaled(MEMORY, 100, "library.so")
    state = drive.state(epoch=7) + ACCOUNT.pack(6, 3, 2, 1, 5, 9)
    found = read_state(state)
    assert found | {"count": 2} == drive.record | {
        "count": 2, "taken": 6, "gone": 3, "forgotten": 2, "read": 1, "most": 5, "asked": 9,
    }  # fmt: skip
    assert "limit" not in read_state(drive.alone.state() + bytes(ACCOUNT.size))
    assert read_state(drive.state(at_ease=True) + bytes(ACCOUNT.size))["rate"] == math.inf


def test_a_writers_rate_is_divided_by_k_and_its_counts_begin_with_the_model():
    drive = Drive.scaled(MEMORY | {"memory_bytes": 0, "writer_mb_per_s": 310}, 100, "library.so", 0.25)
    assert (drive.writer, drive.alone.writer) == (3.1e6, 0)
    assert drive.record == drive.alone.record | {"writer": 3.1e6}
    found = read_state(drive.state() + bytes(ACCOUNT.size))
    assert found | {"count": 2} == drive.record | {"sent": 0, "sending": 0}


EXPERIMENT = {
    "parameters": {}, "hardware": {
        "drive": {"count": 6},
        "memory": {"size_bytes": 16, "dirty_background_ratio": 10, "dirty_ratio": 20, "sources": {}},
    },
}  # fmt: skip


def test_memory_is_in_front_of_a_drive_unless_a_run_says_off():
    held = {"count": 6, "memory_bytes": 16, "dirty_background_ratio": 10, "dirty_ratio": 20}
    assert hardware_of(EXPERIMENT, {}) == held
    assert hardware_of(EXPERIMENT, {"page_cache": "on"}) == held
    assert hardware_of(EXPERIMENT, {"page_cache": "off"}) == {"count": 6}
    assert hardware_of(EXPERIMENT | {"parameters": {"page_cache": "off"}}, {}) == {"count": 6}
    assert hardware_of(EXPERIMENT | {"hardware": {"memory": EXPERIMENT["hardware"]["memory"]}}, {}) == {}


def test_a_program_without_modelled_drives_has_no_variables_and_a_writer_knows_the_data_port():
    drive = Drive.scaled(MEMORY, 100, "library.so")
    assert drive.environment("/d") == {"LD_PRELOAD": "library.so", "WHITEWIRE_DRIVES": "/d"}
    assert drive.environment("/d", 9866) == drive.environment("/d") | {"WHITEWIRE_DATA_PORT": "9866"}
    assert Drive.none().environment("/d", 9866) == {}


def test_a_writer_is_bound_in_front_of_a_drive_unless_a_run_says_off():
    bound = {**EXPERIMENT, "hardware": {"drive": {"count": 6}, "writer": {"rate_mb_per_s": 310, "sources": {}}}}
    assert hardware_of(bound, {}) == {"count": 6, "writer_mb_per_s": 310}
    assert hardware_of(bound, {"writer_bound": "off"}) == {"count": 6}
    off = bound | {"parameters": {"writer_bound": "off"}}
    assert hardware_of(off, {"writer_bound": "on"}) == hardware_of(bound, {})
