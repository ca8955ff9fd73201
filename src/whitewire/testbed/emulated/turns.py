"""A shaper whose senders take turns: lines of tc(8) for HTB with a class below the whole for each of them."""

from __future__ import annotations

from collections.abc import Sequence

ALL = 0xFFFE
"""Minor number of the class through which everything passes; below it are those of the senders, from 1."""
OWN_SHARE = 1e-3
"""Of the rate, what HTB promises each sender: next to nothing, so that all is lent to them in turns."""


def show(device: str) -> str:
    """The line of tc(8) that asks what rate all share."""
    return f"class show dev {device} classid 1:{ALL:x}"


def shaper(device: str, senders: Sequence[Sequence[str]], rate: float, bursts: tuple[int, int], turn: int, queue: int,
           command: str = "add") -> list[str]:  # fmt: skip
    """Lines that make (`add`) or set (`change`) the shaper.

    `senders`: of each one the u32 matches of its packets, any of which will do; the first one's queue also gets what
    matches none. `rate` in bit/s; `bursts` in bytes, of all together and of one alone; `turn`: bytes that one may send
    before the next one's turn; `queue`: bytes that wait for each one's turn.
    """
    full, own = int(rate), max(8, int(rate * OWN_SHARE))
    lines = [f"qdisc add dev {device} root handle 1: htb default 1"] if command == "add" else []
    lines.append(_class(device, command, "", ALL, f"rate {full}bit ceil {full}bit", bursts[0]))
    for number, matches in enumerate(senders, start=1):
        limits = f"rate {own}bit ceil {full}bit quantum {turn}"
        lines.append(_class(device, command, f"{ALL:x}", number, limits, bursts[1]))
        lines.append(f"qdisc {command} dev {device} parent 1:{number:x} handle {number + 0x100:x}: bfifo limit {queue}")
        if command == "add":
            to = f"flowid 1:{number:x}"
            lines += [f"filter add dev {device} parent 1: protocol all u32 match {match} {to}" for match in matches]
    return lines


def _class(device: str, command: str, parent: str, number: int, limits: str, burst: int) -> str:
    return (
        f"class {command} dev {device} parent 1:{parent} classid 1:{number:x} htb {limits} burst {burst} cburst {burst}"
    )
