"""Memory in front of drives: writes do not wait for the drives until the kernel's limit of dirty bytes is reached.

Below the background limit nothing is written back. Above it the drives write at their full rate, and at the limit
writers wait for them. Source: arithmetic; the limits are Linux's vm.dirty_background_ratio and vm.dirty_ratio
(Documentation/sysctl/vm.txt).
"""

from __future__ import annotations


def write_time(
    size_mb: float, rate_mb_per_s: float, drains_mb_per_s: float, background_mb: float, limit_mb: float
) -> float:
    """Seconds that a writer of at most `rate_mb_per_s` needs for `size_mb`, starting with empty memory.

    `drains_mb_per_s`: total rate of the drives that it writes to. They start at `background_mb` of dirty bytes; at
    `limit_mb` the writer continues at their rate.
    """
    if size_mb < 0 or rate_mb_per_s <= 0 or drains_mb_per_s <= 0 or not 0 <= background_mb <= limit_mb:
        raise ValueError("rates must be above 0, the size at least 0, and the limit at least the background's")
    if rate_mb_per_s <= drains_mb_per_s:
        return size_mb / rate_mb_per_s
    before = min(size_mb, taken_at_once(rate_mb_per_s, drains_mb_per_s, background_mb, limit_mb))
    return before / rate_mb_per_s + (size_mb - before) / drains_mb_per_s


def taken_at_once(rate_mb_per_s: float, drains_mb_per_s: float, background_mb: float, limit_mb: float) -> float:
    """MB that a writer faster than the drives writes before it reaches the limit; above the background limit the drives
    write back meanwhile."""
    return background_mb + (limit_mb - background_mb) * rate_mb_per_s / (rate_mb_per_s - drains_mb_per_s)
