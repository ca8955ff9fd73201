"""One Ethernet segment that all hosts share, as without a switch: half-duplex, one frame at a time, whoever sends it.

The ports of the bridge hand all that they receive to one intermediate device (ifb), and get it back when its shaper has
let it pass at the rate of the segment. Each host has a queue of its own there, and the queues take turns, by frames:
hosts must hand over no more than one at a time (no segmentation offload). No collisions and no gaps between frames: the
best that such a segment could do.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence

from whitewire.errors import UserError
from whitewire.testbed.base import Argv, Completed, Host

DEVICE = "segment"
ALL = 0xFFFE
"""Minor number of the class through which everything passes; below it are those of the hosts, from 1."""
SHOW = ("tc", "class", "show", "dev", DEVICE, "classid", f"1:{ALL:x}")
"""The command that says what rate all share."""
FRAME = 1600
"""Bytes of a host's burst, and the lowest burst of HTB for one full frame."""
TURN = 1514
"""Bytes that a host may send before the next one's turn: one full frame."""
OWN_SHARE = 1e-3
"""Of the rate, what HTB promises each host: next to nothing, so that all is lent to them in turns."""

TRY = f"""
ip link add name wire0 type veth peer name wire1 && ip link add name {DEVICE} type ifb &&
tc qdisc add dev {DEVICE} root handle 1: htb && tc qdisc add dev wire0 handle ffff: ingress &&
tc filter add dev wire0 parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev {DEVICE}
"""


def available() -> str:
    """Why this kernel has no shared segment, with the remedy, in one line; empty when it has."""
    argv = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", TRY]
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=20)
    if done.returncode == 0:
        return ""
    said = (done.stderr.strip().splitlines() or ["no message"])[0]
    return f"no shared segment on this kernel ({said}); as root: modprobe -a ifb cls_u32 act_mirred sch_ingress"


class Segment:
    """The segment between the hosts of an emulated testbed, made when it is first used.

    `inside` runs a command on the bridge's side of the links, `hosts` have a `mac` and a `port` there. They are told
    apart by the former: object servers have an address for each of their targets.
    """

    def __init__(self, inside: Callable[[Argv, bytes], Completed], hosts: Sequence[Host]) -> None:
        self._inside, self._hosts = inside, hosts
        self._made = self._joined = False

    def join(self, rate: float, burst: int, queue: int) -> None:
        """All hosts share `rate` (Mbit/s); each one's queue holds `queue` bytes. Raises UserError without ifb."""
        if not self._made:
            add = f"link add name {DEVICE} type ifb\nlink set {DEVICE} up"
            made = self._inside(["ip", "-batch", "-"], add.encode())
            if made.status != 0:
                raise UserError(f"testbed emulated: {available() or made.stderr.decode(errors='replace').strip()}")
        self._tc(shaper(self._hosts, rate, burst, queue, "change" if self._made else "add"))
        self._made = True
        if not self._joined:
            self._tc(line for host in self._hosts for line in redirect(host.port))
            self._joined = True

    def leave(self) -> None:
        """Back to a switch."""
        if self._joined:
            self._tc(f"qdisc del dev {host.port} ingress" for host in self._hosts)
            self._joined = False

    def _tc(self, lines) -> None:
        self._inside(["tc", "-batch", "-"], "\n".join(lines).encode()).check()


def shaper(hosts: Sequence[Host], rate: float, burst: int, queue: int, command: str) -> list[str]:
    """Lines of tc(8) that make (`add`) or set (`change`) the shaper of the segment; `rate` in Mbit/s."""
    full, own = int(rate * 1e6), max(8, int(rate * 1e6 * OWN_SHARE))
    lines = [f"qdisc add dev {DEVICE} root handle 1: htb"] if command == "add" else []
    lines.append(
        f"class {command} dev {DEVICE} parent 1: classid 1:{ALL:x} htb rate {full}bit ceil {full}bit "
        f"burst {burst} cburst {burst}"
    )
    for number, host in enumerate(hosts, start=1):
        lines.append(
            f"class {command} dev {DEVICE} parent 1:{ALL:x} classid 1:{number:x} htb rate {own}bit ceil {full}bit "
            f"burst {FRAME} cburst {FRAME} quantum {TURN}"
        )
        lines.append(f"qdisc {command} dev {DEVICE} parent 1:{number:x} handle {number + 0x100:x}: bfifo limit {queue}")
        if command == "add":
            lines.append(
                f"filter add dev {DEVICE} parent 1: protocol all u32 match ether src {host.mac} flowid 1:{number:x}"
            )
    return lines


def redirect(port: str) -> list[str]:
    """Lines of tc(8) by which a port of the bridge hands what it receives to the segment."""
    return [
        f"qdisc add dev {port} handle ffff: ingress",
        f"filter add dev {port} parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev {DEVICE}",
    ]
