"""What is done on each of several hosts, or to each of their processes, at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Place = TypeVar("Place")
Found = TypeVar("Found")


def on_each(places: Sequence[Place], action: Callable[[Place], Found], at_once: int = 8) -> list[Found]:
    """What an action gives for each of some hosts or processes, in their order; at most so many at once."""
    with ThreadPoolExecutor(max_workers=at_once) as pool:
        return list(pool.map(action, places))
