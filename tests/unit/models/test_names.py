"""Models against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from whitewire.models import amdahl, disks, maxmin, page_cache
from whitewire.models.maxmin import PutCell

LINK = 125 * 1448 / 1514


def test_amdahl_by_hand():
    assert amdahl.speedup(0.8, 4) == pytest.approx(2.5)
    assert amdahl.scaling_share(0.4, 4) == pytest.approx(0.8)
    with pytest.raises(ValueError):
        amdahl.speedup(1.2, 2)
    with pytest.raises(ValueError):
        amdahl.scaling_share(0.5, 1)


def test_a_shared_drive_by_hand():
    # 4.194304 MB at 110 MB/s take 38.13 ms; with 12.7 ms of access 50.83 ms, so 82.5 MB/s in all.
    assert disks.shared_rate(110, 12.7, 4194304, 1) == 110
    assert disks.shared_rate(110, 12.7, 4194304, 2) == pytest.approx(82.5, abs=0.05)
    assert disks.node_rate(6, 110, 12.7, 4194304, 2) == pytest.approx(495.1, abs=0.1)
    assert disks.node_to_link_ratio(6, 110, 12.7, 4194304, 1, 1) == pytest.approx(5.28)
    with pytest.raises(ValueError):
        disks.shared_rate(110, 12.7, 0, 2)


def test_progressive_filling_by_hand():
    # Two links of 10 and 4; one flow over both, one on each: the small link gives 2 each, the other gets 8.
    uses = np.array([[[0, 1], [0, 2], [1, 2]]])
    rates = maxmin.allocate(uses, np.array([[10.0, 4.0, 1e9]]), np.array([[True, True, True]]))
    assert rates[0] == pytest.approx([2, 8, 2])
    rates = maxmin.allocate(uses, np.array([[10.0, 4.0, 1e9]]), np.array([[True, False, True]]))
    assert rates[0] == pytest.approx([2, 0, 2])


@given(st.integers(0, 10000))
@settings(max_examples=40, deadline=None)
def test_an_allocation_is_feasible_and_max_min_fair(seed):
    rng = np.random.default_rng(seed)
    uses = np.stack([rng.choice(6, size=2, replace=False) for _ in range(7)])[None]
    capacity = rng.uniform(1, 20, size=(1, 6))
    rates = maxmin.allocate(uses, capacity, np.ones((1, 7), dtype=bool))[0]
    load = np.bincount(uses[0].reshape(-1), np.repeat(rates, 2), 6)
    assert (load <= capacity[0] * (1 + 1e-9)).all()
    for flow in range(7):
        bottleneck = [
            load[r] >= capacity[0, r] * (1 - 1e-9)
            and rates[flow] >= rates[(uses[0] == r).any(axis=1)].max() * (1 - 1e-9)
            for r in uses[0, flow]
        ]
        assert any(bottleneck)


def test_one_put_is_bound_by_the_client_s_link():
    found = maxmin.simulate([PutCell(1)], 2, 1)[0]
    assert found.throughput == pytest.approx([LINK] * 2)
    assert found.completion_time == pytest.approx([5000 / LINK] * 2)
    assert found.throughput_peak_1s == pytest.approx([LINK] * 2)


def test_one_put_on_a_fast_link_is_bound_by_the_drive():
    found = maxmin.simulate([PutCell(10, cache_bytes=0)], 1, 1)[0]
    assert found.throughput == pytest.approx([110])
    # A cache of 16 MiB takes the head of each 64 MiB block: the drive sets the pace of the rest.
    whole = maxmin.simulate([PutCell(10, file_bytes=67108864)], 1, 1)[0]
    burst = 1250 * 1448 / 1514
    head = 16.777216 / (burst - 110)
    assert whole.completion_time[0] == pytest.approx(head + (67.108864 - burst * head) / 110)


def test_one_put_on_a_fast_link_is_bound_by_its_writer_and_others_are_not():
    alone = PutCell(10, drives=0)
    found = maxmin.simulate([replace(alone, writer_mb_per_s=310), alone], 1, 1)
    assert [each.throughput for each in found] == [pytest.approx([310]), pytest.approx([10 * LINK])]
    two = maxmin.simulate([replace(alone, puts_per_client=2, writer_mb_per_s=310)], 1, 1)[0]
    assert two.throughput == pytest.approx([620])  # each has its own


def test_a_put_from_a_datanode_has_its_first_hop_on_the_drive_alone():
    lone = PutCell(1, replication=1, local=True, cache_bytes=0)
    assert maxmin.simulate([lone], 2, 1)[0].throughput == pytest.approx([110] * 2)
    # Two DataNodes that put: each sends its second copy to the other, over a link of its own.
    pair = PutCell(1, 2, replication=2, datanodes=2, drives=0, local=True)
    assert maxmin.simulate([pair], 1, 1)[0].throughput == pytest.approx([2 * LINK])
    # From a client both streams would enter DataNodes: copies of two streams share each of two links.
    assert maxmin.simulate([replace(pair, local=False)], 1, 1)[0].throughput == pytest.approx([LINK])
    assert lone.limited and pair.limited and not replace(lone, drives=0).limited
    assert replace(lone, drives=0, writer_mb_per_s=310).limited


@pytest.mark.parametrize(("clients", "puts", "expected"), [(1, 1, 118), (1, 8, 118), (3, 6, 298), (3, 8, 316)])
def test_a_slow_fabric_agrees_with_an_independent_model(clients, puts, expected):
    found = maxmin.simulate([PutCell(1, clients, puts)], 2, 1)[0]
    assert np.median(found.throughput) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(("clients", "puts", "expected"), [(1, 8, 789), (3, 6, 732)])
def test_a_fast_fabric_agrees_with_an_independent_model(clients, puts, expected):
    # That model: 100 MB/s a drive, half of it when shared, no cache.
    chunk = 0.0127 / (1 / 50 - 1 / 100) * 1e6
    cell = PutCell(10, clients, puts, rate_mb_per_s=100, chunk_bytes=chunk, cache_bytes=0)
    assert np.median(maxmin.simulate([cell], 3, 1)[0].throughput) == pytest.approx(expected, rel=0.06)


MEMORY = {"background_bytes": 0.1 * 2**34, "limit_bytes": 0.2 * 2**34}
"""Of 16 GiB, 10 and 20 percent."""


def test_one_put_that_memory_takes_is_bound_by_the_link_and_many_are_not():
    one, many = PutCell(10, 1, 1, **MEMORY), PutCell(10, 3, 6, **MEMORY)
    found = maxmin.simulate([one, many], 2, 1)
    assert found[0].throughput == pytest.approx([10 * LINK] * 2)
    # What 66 drives write at most, and what memory holds of it.
    seconds = (270e3 - 11 * 0.2 * 2**34 / 1e6) / (66 * 110)
    assert all(seconds < s < 90e3 / 1100 for s in found[1].completion_time)
    without = maxmin.simulate([replace(many, limit_bytes=0)], 2, 1)[0]
    assert max(found[1].completion_time) < min(without.completion_time)


@example(size=243.0, rate=64.5, limit=1.9, background=5e-324)
@given(size=st.floats(1, 400), rate=st.floats(5, 100), limit=st.floats(1, 200), background=st.floats(0, 1))
def test_one_stream_to_one_drive_takes_the_time_of_a_write_into_memory(size, rate, limit, background):
    cell = PutCell(1, file_bytes=size * 1e6, replication=1, datanodes=1, drives=1, rate_mb_per_s=rate,
                   access_time_ms=0, cache_bytes=0, background_bytes=background * limit * 1e6,
                   limit_bytes=limit * 1e6)  # fmt: skip
    expected = page_cache.write_time(size, LINK, rate, background * limit, limit)
    assert maxmin.simulate([cell], 1, 1)[0].completion_time == pytest.approx([expected], rel=0.03)


def test_a_tiny_memory_has_an_end_of_events_and_is_as_none(monkeypatch):
    steps, real = [], maxmin.allocate
    monkeypatch.setattr(maxmin, "allocate", lambda *given: steps.append(0) or real(*given))
    many = PutCell(1, 3, 6, file_bytes=2.7e8)

    def taken(share):
        steps.clear()
        of_memory = {"background_bytes": share * many.node_bytes / 2, "limit_bytes": share * many.node_bytes}
        (time,) = maxmin.simulate([replace(many, **of_memory)], 1, 1)[0].completion_time
        return time, len(steps)

    without = taken(0)
    assert taken(1e-6) == taken(0.9 * maxmin.LEAST_MEMORY) == without
    time, number = taken(0.01)
    assert time == pytest.approx(without[0], rel=0.02)
    assert number < 20_000


def test_more_memory_never_takes_longer():
    times = [
        np.median(maxmin.simulate([replace(PutCell(10, 2, 4, file_bytes=6e8), background_bytes=size / 2,
                                           limit_bytes=size)], 3, 1)[0].completion_time)
        for size in (0, 2e7, 1e8, 5e8)
    ]  # fmt: skip
    assert all(b <= a * 1.02 for a, b in zip(times, times[1:], strict=False))
    assert times[-1] < 0.9 * times[0]


def test_more_link_never_gives_less_and_volume_is_kept():
    cells = [PutCell(g, 3, 2, file_bytes=4 * 67108864) for g in (0.5, 1, 2, 5, 10)]
    found = maxmin.simulate(cells, 4, 1)
    medians = [np.median(p.throughput) for p in found]
    # Where the drives limit, the random placements differ by a few per cent.
    assert all(b > 0.97 * a for a, b in zip(medians, medians[1:], strict=False))
    assert medians[2] > 1.5 * medians[0]
    for cell, prediction in zip(cells, found, strict=True):
        volume = 6 * cell.file_bytes / 1e6
        assert np.array(prediction.throughput) * prediction.completion_time == pytest.approx(volume)
        assert all(a <= b * (1 + 1e-9) for a, b in zip(prediction.throughput, prediction.throughput_sum, strict=True))


def test_cells_that_do_not_belong_together_are_refused():
    with pytest.raises(ValueError, match="share"):
        maxmin.simulate([PutCell(1), PutCell(1, datanodes=5)], 1, 1)
    with pytest.raises(ValueError, match="replicas"):
        maxmin.simulate([PutCell(1, datanodes=2)], 1, 1)
