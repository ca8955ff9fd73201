"""Amdahl's law: the speed-up of a whole with a faster part (Amdahl 1967)."""

from __future__ import annotations


def speedup(share: float, factor: float) -> float:
    """Speed-up of the whole when `share` (0 to 1) of the time becomes `factor` times faster (no units)."""
    if not 0 <= share <= 1 or factor <= 0:
        raise ValueError(f"share {share} must lie in 0..1 and factor {factor} above 0")
    return 1 / (1 - share + share / factor)


def scaling_share(time_ratio: float, factor: float) -> float:
    """Share of the old time that must have scaled with a part that became `factor` times faster.

    `time_ratio` is new over old time. The result is above 1 if no share explains the ratio. No units.
    """
    if factor == 1:
        raise ValueError("a factor of 1 changes nothing, so it says nothing of the share")
    return (1 - time_ratio) / (1 - 1 / factor)
