"""Concurrent actions on several hosts, or on their processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Place = TypeVar("_Place")
_Found = TypeVar("_Found")


def on_each(places: Sequence[_Place], action: Callable[[_Place], _Found], at_once: int = 8) -> list[_Found]:
    """Results of an action on each of some hosts or processes, in their order; at most `at_once` run concurrently."""
    with ThreadPoolExecutor(max_workers=at_once) as pool:
        return list(pool.map(action, places))
