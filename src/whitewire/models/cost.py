"""Costs of a cluster: the sum of count times price over its parts, and results derived from it (US dollars).

Prices are list prices, without discount, interest and staff. Prices that the list lacks are arguments, so that the
reader sees how much the result depends on them.
"""

from __future__ import annotations

import math


def total(
    nodes: float,
    node_usd: float,
    switches: float,
    switch_usd: float,
    cables: float,
    cable_usd: float,
    racks: float,
    rack_usd: float,
    storage_servers: float = 0,
    storage_server_usd: float = 0,
    metadata_servers: float = 0,
    metadata_server_usd: float = 0,
    storage_tb: float = 0,
    storage_usd_per_tb: float = 0,
    node_card_usd: float = 0,
) -> float:
    """Price (USD) of a cluster; `node_card_usd` is a network card added to each node."""
    parts = [
        (nodes, node_usd + node_card_usd),
        (switches, switch_usd),
        (cables, cable_usd),
        (racks, rack_usd),
        (storage_servers, storage_server_usd),
        (metadata_servers, metadata_server_usd),
        (storage_tb, storage_usd_per_tb),
    ]
    if any(count < 0 or price < 0 for count, price in parts):
        raise ValueError("counts and prices must be at least 0")
    return float(sum(count * price for count, price in parts))


def break_even_nodes(budget_usd: float, fixed_usd: float, node_usd: float) -> float:
    """Largest whole number of nodes at `node_usd` that a budget buys in addition to parts for `fixed_usd` (USD)."""
    if node_usd <= 0 or fixed_usd < 0 or budget_usd < fixed_usd:
        raise ValueError("the price of a node must be above 0 and the fixed parts within the budget")
    return float(math.floor((budget_usd - fixed_usd) / node_usd + 1e-9))


def running_ratio(units: float, other_units: float, fixed_share: float = 0) -> float:
    """Running cost of a cluster over that of another, by their numbers of powered units (servers, racks, …; no unit).

    `fixed_share` (0 to 1): share of the other cluster's running cost that is independent of size, and equal for both.
    """
    if units < 0 or other_units <= 0 or not 0 <= fixed_share <= 1:
        raise ValueError("units must be at least 0, those of the other above 0, fixed_share in 0..1")
    return fixed_share + (1 - fixed_share) * units / other_units
