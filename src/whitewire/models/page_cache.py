"""Memory in front of drives: a write takes none of their time until as much is dirty as the kernel allows.

Below the background limit nothing is written back, above it the drives take what they can, at the limit a writer waits
for them. Source: arithmetic; the limits are Linux's vm.dirty_background_ratio and vm.dirty_ratio
(Documentation/sysctl/vm.txt).
"""

from __future__ import annotations


def write_time(
    size_mb: float, rate_mb_per_s: float, drains_mb_per_s: float, background_mb: float, limit_mb: float
) -> float:
    """Seconds in which a writer of at most `rate_mb_per_s` is done with `size_mb` that it writes into empty memory.

    `drains_mb_per_s`: what all drives that it writes to take together, from `background_mb` of dirty bytes on; at
    `limit_mb` of them it goes on as fast as that.
    """
    if size_mb < 0 or rate_mb_per_s <= 0 or drains_mb_per_s <= 0 or not 0 <= background_mb <= limit_mb:
        raise ValueError("rates must be above 0, the size at least 0, and the limit at least the background's")
    if rate_mb_per_s <= drains_mb_per_s:
        return size_mb / rate_mb_per_s
    before = min(size_mb, taken_at_once(rate_mb_per_s, drains_mb_per_s, background_mb, limit_mb))
    return before / rate_mb_per_s + (size_mb - before) / drains_mb_per_s


def taken_at_once(rate_mb_per_s: float, drains_mb_per_s: float, background_mb: float, limit_mb: float) -> float:
    """MB that a writer faster than the drives writes before it meets the limit: while memory fills from the background
    limit on, drives take their share of what comes."""
    return background_mb + (limit_mb - background_mb) * rate_mb_per_s / (rate_mb_per_s - drains_mb_per_s)
