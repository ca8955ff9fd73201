"""A shaper whose senders take turns: lines of tc(8) for HTB with one child class per sender."""

from __future__ import annotations

from collections.abc import Sequence

_ALL = 0xFFFE
"""Minor number of the parent class, which all traffic passes; the senders' classes below it count from 1."""
OWN_SHARE = 1e-3
"""Share of the rate that HTB guarantees each sender: almost none, so that senders borrow all of it in turns."""


def show_shaper(device: str) -> str:
    """The line of tc(8) that shows the rate shared by all senders."""
    return f"class show dev {device} classid 1:{_ALL:x}"


def shaper(device: str, senders: Sequence[Sequence[str]], rate: float, bursts: tuple[int, int], turn: int, queue: int,
           command: str) -> list[str]:  # fmt: skip
    """Lines that make (`add`) or set (`change`) the shaper.

    `senders`: for each sender the u32 matches of its packets, of which one suffices; packets that match no sender go
    to the first one's queue. `rate` in bit/s; `bursts` in bytes: of all together, and of one sender; `turn`: bytes
    that a sender may send per turn; `queue`: length of each sender's queue in bytes.
    """
    full, own = int(rate), max(8, int(rate * OWN_SHARE))
    lines = [f"qdisc add dev {device} root handle 1: htb default 1"] if command == "add" else []
    lines.append(_class(device, command, "", _ALL, f"rate {full}bit ceil {full}bit", bursts[0]))
    for number, matches in enumerate(senders, start=1):
        limits = f"rate {own}bit ceil {full}bit quantum {turn}"
        lines.append(_class(device, command, f"{_ALL:x}", number, limits, bursts[1]))
        lines.append(f"qdisc {command} dev {device} parent 1:{number:x} handle {number + 0x100:x}: bfifo limit {queue}")
        if command == "add":
            to = f"flowid 1:{number:x}"
            lines += [f"filter add dev {device} parent 1: protocol all u32 match {match} {to}" for match in matches]
    return lines


def _class(device: str, command: str, parent: str, number: int, limits: str, burst: int) -> str:
    return (
        f"class {command} dev {device} parent 1:{parent} classid 1:{number:x} htb {limits} burst {burst} cburst {burst}"
    )
