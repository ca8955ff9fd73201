"""One Ethernet segment shared by all hosts, as without a switch: half-duplex, one frame at a time from any host.

The bridge's ports redirect received packets to one intermediate device (ifb), whose shaper passes them back at the
rate of the segment. Each host has its own queue there, and the queues take turns frame by frame, so hosts must hand
over single frames (no segmentation offload). There are no collisions and no gaps between frames: the best case of such
a segment.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Sequence

from whitewire.errors import UserError
from whitewire.testbed.base import Argv, Completed
from whitewire.testbed.emulated import turns
from whitewire.testbed.emulated.host import EmulatedHost
from whitewire.testbed.emulated.turns import show_shaper

DEVICE = "segment"
CLASS = show_shaper(DEVICE)
"""The line of tc(8) that shows the rate shared by all hosts."""
FRAME = 1600
"""Burst of one host in bytes: the least with which HTB passes a full frame."""
TURN = 1514
"""Bytes that a host may send per turn: one full frame."""

TRY = f"""
ip link add name wire0 type veth peer name wire1 && ip link add name {DEVICE} type ifb &&
tc qdisc add dev {DEVICE} root handle 1: htb && tc qdisc add dev wire0 handle ffff: ingress &&
tc filter add dev wire0 parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev {DEVICE}
"""


def segment_unavailable() -> str:
    """Why this kernel cannot emulate a shared segment, with the remedy, in one line; empty if it can."""
    argv = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", TRY]
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=20)
    if done.returncode == 0:
        return ""
    said = (done.stderr.strip().splitlines() or ["no message"])[0]
    return f"no shared segment on this kernel ({said}); as root: modprobe -a ifb cls_u32 act_mirred sch_ingress"


class Segment:
    """The segment between the hosts of an emulated testbed, made on first use.

    `inside` runs a command on the bridge's side of the links. Hosts are identified by `mac`, because object
    servers have an IP address for each of their targets.
    """

    def __init__(self, inside: Callable[[Argv, bytes], Completed], hosts: Sequence[EmulatedHost]) -> None:
        self._inside, self._hosts = inside, hosts
        self._made = self.joined = False

    def join(self, rate: float, burst: int, queue: int) -> None:
        """Make all hosts share `rate` (Mbit/s), with `queue` bytes of queue each. Raises UserError without ifb."""
        if not self._made:
            add = f"link add name {DEVICE} type ifb\nlink set {DEVICE} up"
            made = self._inside(["ip", "-batch", "-"], add.encode())
            if made.status != 0:
                raise UserError(
                    f"testbed emulated: {segment_unavailable() or made.stderr.decode(errors='replace').strip()}"
                )
        senders = [[f"ether src {host.mac}"] for host in self._hosts]
        command = "change" if self._made else "add"
        self._tc(turns.shaper(DEVICE, senders, rate * 1e6, (burst, FRAME), TURN, queue, command))
        self._made = True
        if not self.joined:
            self._tc(line for host in self._hosts for line in redirect(host.port))
            self.joined = True

    def leave(self) -> None:
        """Put the hosts back on a switch."""
        if self.joined:
            self._tc(f"qdisc del dev {host.port} ingress" for host in self._hosts)
            self.joined = False

    def _tc(self, lines: Iterable[str]) -> None:
        self._inside(["tc", "-batch", "-"], "\n".join(lines).encode()).check()


def redirect(port: str) -> list[str]:
    """Lines of tc(8) that redirect what a port of the bridge receives to the segment."""
    return [
        f"qdisc add dev {port} handle ffff: ingress",
        f"filter add dev {port} parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev {DEVICE}",
    ]
