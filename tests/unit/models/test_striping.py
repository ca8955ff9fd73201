"""Pooled and local drives, and the NameNode's memory, against numbers worked out by hand."""

from __future__ import annotations

import inspect

import pytest

from whitewire.models import MODELS, namenode, striping


def test_a_task_s_timeline_by_hand():
    assert striping.task_time(20, 60, 20, 1) == 100
    assert striping.task_time(20, 60, 20, 10) == 82
    assert striping.task_speedup(20, 60, 20, 10) == pytest.approx(100 / 82)
    # Ten outputs of 2 s in 82 s; with the inputs ten times 4 s.
    assert striping.output_busy_share(10, 20, 60, 20, 10) == pytest.approx(20 / 82)
    assert striping.busy_share(10, 20, 60, 20, 10) == pytest.approx(40 / 82)
    # Another output starts within 2 s before or after with 4/82.
    assert striping.undisturbed_share(10, 20, 60, 20, 10) == pytest.approx((78 / 82) ** 9)
    with pytest.raises(ValueError):
        striping.task_time(20, 60, 20, 0)


def test_copies_over_the_network():
    assert striping.network_copies(3, 1) == 2
    assert striping.network_copies(3, 0) == 3
    with pytest.raises(ValueError):
        striping.network_copies(3, 0.5)


def test_hdfs_writes_by_hand():
    # Eight writers, eight drives of 80: three copies leave 640 / 24 each; one copy 80.
    assert striping.hdfs_write_rate(8, 3, 1250, 80, 8) == pytest.approx(640 / 24)
    assert striping.hdfs_write_rate(8, 1, 1, 80, 8) == 80
    # One writer: the drive; on a link of 50 the link, whose bytes leave once.
    assert striping.hdfs_write_rate(1, 3, 1250, 80, 8) == 80
    assert striping.hdfs_write_rate(1, 3, 50, 80, 8) == 50
    # A switch: eight links of 40 for 16 streams give 20; one shared segment of 125 gives 125 / 16.
    assert striping.hdfs_write_rate(8, 3, 40, 80, 8) == 20
    assert striping.hdfs_write_rate(8, 3, 125, 80, 8, 1) == pytest.approx(7.8125)
    with pytest.raises(ValueError):
        striping.hdfs_write_rate(0, 3, 125, 80, 8)


def test_striped_stores_by_hand():
    # Two servers of four drives of 80: 640 for eight clients; on 1 Gbit/s links 250 for eight.
    assert striping.striped_rate(8, 4000, 2, 4, 80) == 80
    assert striping.striped_rate(8, 125, 2, 4, 80) == pytest.approx(31.25)
    assert striping.striped_rate(1, 125, 2, 4, 80) == 125
    assert striping.striped_rate(8, 4000, 2, 4, 80, 0.5) == 160
    # 832 asked of 640: 192 / 832 must still be in a cache.
    assert striping.needed_cache_share(104, 8, 8, 80) == pytest.approx(192 / 832)
    assert striping.needed_cache_share(50, 8, 8, 80) == 0
    for bad in (lambda: striping.striped_rate(8, 1, 2, 4, 80, 1), lambda: striping.needed_cache_share(0, 1, 1, 1)):
        with pytest.raises(ValueError):
            bad()


def test_copies_and_splits_by_hand():
    assert striping.copy_time(1000, 80, 4000, 640) == 12.5
    assert striping.copy_time(1000, 80, 50, 640) == 20
    # 80 MB take 1 s beside a start of 1 s, 8 MB 0.1 s.
    assert striping.split_efficiency(80, 80, 1) == 0.5
    assert striping.split_efficiency(80, 80, 0) == 1
    assert striping.split_efficiency_ratio(8, 80, 80, 1) == pytest.approx(0.1 / 1.1 / 0.5)
    for bad in (lambda: striping.copy_time(1, 0, 1, 1), lambda: striping.split_efficiency(0, 1, 1)):
        with pytest.raises(ValueError):
            bad()


def test_files_in_a_namenode_s_memory():
    # Shvachko's own example: 60 GB for 100 million files.
    assert namenode.files(60, 200, 3) == pytest.approx(1e8)
    with pytest.raises(ValueError):
        namenode.files(-1, 200, 3)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_listed_model_bears_its_own_name_and_says_its_units(name):
    module, function = name.split(".")
    model = MODELS[name]
    assert model.__module__ == f"whitewire.models.{module}"
    assert model.__name__ == function
    assert inspect.getdoc(model)
