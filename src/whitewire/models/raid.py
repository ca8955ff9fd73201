"""Redundancy by copies and by parity: its cost, the number of tolerated losses, and the mean time to data loss.

A group is `data` units and `parity` units on different drives, each unit kept in `copies` copies. Data are lost when
all copies of parity + 1 units of a group are down at once, so s = copies x (parity + 1) drives make a fatal set.
Replication is data = 1, parity = 0; RAID-6 is copies = 1, parity = 2.

Time to loss, to an order of magnitude: drives fail independently at the rate 1/MTTF, and each is repaired separately
in the time R, so a drive is down for the share q = R/MTTF of the time. Each of F fatal sets fails at the rate
s x q^(s-1) / MTTF, and the mean time to loss is MTTF / (F x s x q^(s-1)): the approximation of Chen, Lee, Gibson,
Katz and Patterson (ACM Computing Surveys 26(2), 1994, section 5.4), but with concurrent instead of sequential repairs,
which differs by a factor of (s-1)!. With random placement the F sets are the distinct ones among those drawn (Cidon et
al., USENIX ATC 2013, copysets). Not modelled: failures of servers, enclosures and sites, correlated failures, and
unreadable sectors, all of which shorten the time.
"""

from __future__ import annotations

import math

_MOST_DRIVES, MOST_UNITS = 10_000_000, 1000


def storage_factor(copies: float, data: float, parity: float, spares: float = 0) -> float:
    """Raw over usable storage (no unit); `spares`: hot spares per group."""
    if copies < 1 or data < 1 or parity < 0 or spares < 0:
        raise ValueError("copies and data must be at least 1, parity and spares at least 0")
    return copies * (data + parity + spares) / data


def usable(raw_tb: float, factor: float) -> float:
    """Usable storage in TB; `factor`: raw over usable storage."""
    if raw_tb < 0 or factor < 1:
        raise ValueError("storage must be at least 0 and the factor at least 1")
    return raw_tb / factor


def tolerated_losses(copies: float, parity: float) -> float:
    """Number of concurrent drive losses that every group survives, whichever drives they are."""
    if copies < 1 or parity < 0:
        raise ValueError("copies must be at least 1 and parity at least 0")
    return copies * (parity + 1) - 1


def fatal_sets(drives: float, groups: float, copies: float, data: float, parity: float) -> float:
    """Number of distinct fatal sets, with `groups` groups placed at random on `drives` drives."""
    size = int(copies * (parity + 1))
    if drives < copies * (data + parity):
        raise ValueError("a group needs a drive for each copy of each unit")
    if drives > _MOST_DRIVES or size > MOST_UNITS or data + parity > MOST_UNITS:
        raise ValueError(f"there may be {_MOST_DRIVES} drives, and {MOST_UNITS} units in a group, at most")
    possible = math.comb(int(drives), size)
    drawn = groups * math.comb(int(data + parity), int(parity + 1))
    return possible * -math.expm1(drawn * math.log1p(-1 / possible)) if possible > 1 else 1.0


def time_to_loss(
    drives: float, groups: float, copies: float, data: float, parity: float, mttf_h: float, repair_h: float
) -> float:
    """Mean time (h) until some data are lost. `mttf_h`: mean time to failure of a drive, `repair_h`: to repair it."""
    if mttf_h <= 0 or repair_h <= 0 or repair_h >= mttf_h:
        raise ValueError("the time to repair must be above 0 and below the time to failure")
    size = copies * (parity + 1)
    sets = fatal_sets(drives, groups, copies, data, parity)
    return mttf_h / (sets * size * (repair_h / mttf_h) ** (size - 1))


def loss_time_ratio(
    drives: float,
    groups: float,
    copies: float,
    data: float,
    parity: float,
    repair_h: float,
    other_drives: float,
    other_groups: float,
    other_copies: float,
    other_repair_h: float,
    mttf_h: float,
) -> float:
    """Time to loss of a scheme over that of plain replication in `other_copies` copies (no unit).

    Above 1 the scheme keeps data longer. Arguments as in `time_to_loss`; a group of the replication is one block.
    """
    mine = time_to_loss(drives, groups, copies, data, parity, mttf_h, repair_h)
    return mine / time_to_loss(other_drives, other_groups, other_copies, 1, 0, mttf_h, other_repair_h)
