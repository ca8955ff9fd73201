"""Amdahl's law: what a faster part does for the whole (Amdahl 1967)."""

from __future__ import annotations


def speedup(share: float, factor: float) -> float:
    """Speed-up of the whole when `share` (0 to 1) of the time becomes `factor` times faster; both without unit."""
    if not 0 <= share <= 1 or factor <= 0:
        raise ValueError(f"share {share} must lie in 0..1 and factor {factor} above 0")
    return 1 / (1 - share + share / factor)


def scaling_share(time_ratio: float, factor: float) -> float:
    """Share of the old time that must have scaled for new time/old time = `time_ratio` at a `factor` faster part.

    Above 1 when no share explains the ratio. All without unit.
    """
    if factor == 1:
        raise ValueError("a factor of 1 changes nothing, so it tells nothing of the share")
    return (1 - time_ratio) / (1 - 1 / factor)
