"""Costs of clusters against numbers worked out by hand."""

from __future__ import annotations

import pytest

from whitewire.models import cost


def test_a_total_by_hand():
    # 2 x 100 + 3 x 10 + 4 x 1 + 1 x 50 = 284; a card of 5 in each of two nodes adds 10.
    parts = {"switches": 3, "switch_usd": 10, "cables": 4, "cable_usd": 1, "racks": 1, "rack_usd": 50}
    assert cost.total(2, 100, **parts) == 284
    assert cost.total(2, 100, **parts, node_card_usd=5) == 294
    more = {"storage_servers": 2, "storage_server_usd": 7, "metadata_servers": 1, "metadata_server_usd": 9}
    assert cost.total(2, 100, **parts, **more, storage_tb=3, storage_usd_per_tb=2) == 284 + 14 + 9 + 6
    with pytest.raises(ValueError):
        cost.total(-1, 100, **parts)


def test_break_even_by_hand():
    # 1000 less 130 leaves 870, which buys 8 nodes of 100.
    assert cost.break_even_nodes(1000, 130, 100) == 8
    assert cost.break_even_nodes(930, 130, 100) == 8
    with pytest.raises(ValueError):
        cost.break_even_nodes(100, 130, 100)


def test_running_cost_by_hand():
    assert cost.running_ratio(200, 100) == 2
    # A quarter is the same for both, three quarters double: 0.25 + 1.5.
    assert cost.running_ratio(200, 100, 0.25) == 1.75
    with pytest.raises(ValueError):
        cost.running_ratio(1, 0)
