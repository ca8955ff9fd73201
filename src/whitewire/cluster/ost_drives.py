"""Drives in front of the OSTs of CephFS: a network namespace below the OST's host for each, whose traffic in both
directions passes one shaper at the drive's rate."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from whitewire.design.scaling import burst_bytes
from whitewire.testbed.base import FRAME_SHARE, Host
from whitewire.testbed.each import on_each
from whitewire.testbed.emulated import turns

FRAMING = 1 / FRAME_SHARE * 1.0035
"""Bytes on the drive's wire per byte of data: headers of TCP/IP and Ethernet, and overhead of Ceph's messages (0.6 % of
writes, 0.1 % of reads; bench/cephfs.py prints both)."""
DRIVE_TURN = 16 * 2**10
"""Bytes that a drive moves for one client before the next one's turn, like a fair I/O scheduler: reads of one client
wait for few writes of the others. A larger packet (with segmentation offload) is a turn of its own."""
DRIVE_QUEUE = 64 * 2**20
"""Bytes that a drive can queue: more than all clients' sockets hold, so that it drops nothing."""

# Arguments: gateway, the shaper in lines of tc(8), then pairs of namespace and address. Packets below 256 bytes
# (acknowledgements, requests) bypass the shaper: a drive moves data. Sockets hold little, or TCP would take data that
# waits for the drive as lost and send it again. `eth0` needs a classful root for the filter of what it sends.
DRIVES = """
set -e
gateway=$1; shaper=$2; shift 2
echo 1 > /proc/sys/net/ipv4/ip_forward
control=$(cat /proc/sys/net/ipv4/tcp_congestion_control)
ip link add drives type bridge stp_state 0 mcast_snooping 0
ip addr add "$gateway/24" dev drives
ip link set drives up
while [ $# -gt 0 ]; do
    ip netns add "$1"
    ip link add "$1" type veth peer name eth0 netns "$1"
    ip link set "$1" master drives
    ip link set "$1" up
    ip -n "$1" -batch - << END
link set lo up
addr add $2/24 dev eth0
link add shaper type ifb
link set shaper up
link set eth0 up
route add default via $gateway
END
    tc -n "$1" -batch - << END
$shaper
qdisc add dev eth0 root handle 1: htb
qdisc add dev eth0 handle ffff: ingress
filter add dev eth0 parent 1: protocol ip prio 1 u32 match u16 0 0xff00 at 2 flowid 1:
filter add dev eth0 parent ffff: protocol ip prio 1 u32 match u16 0 0xff00 at 2 flowid 1:
filter add dev eth0 parent 1: protocol ip prio 2 u32 match u32 0 0 action mirred egress redirect dev shaper
filter add dev eth0 parent ffff: protocol ip prio 2 u32 match u32 0 0 action mirred egress redirect dev shaper
END
    nsenter "--net=/run/netns/$1" sh -c '
        echo 4096 65536 131072 > /proc/sys/net/ipv4/tcp_rmem; echo 4096 65536 65536 > /proc/sys/net/ipv4/tcp_wmem
        echo "$1" > /proc/sys/net/ipv4/tcp_congestion_control; echo 1 > /proc/sys/net/ipv4/tcp_no_metrics_save
    ' sh "$control"
    shift 2
done
"""

# Arguments: the shaper in lines of tc(8), then namespaces.
OTHER_RATE = """
set -e
shaper=$1; shift
for name in "$@"; do echo "$shaper" | tc -n "$name" -batch -; done
"""

# Delete the link by name first: a namespace goes only after the last of its killed processes, and until then the next
# start would find the link.
NO_DRIVES = """
for name in "$@"; do ip link delete "$name"; ip netns delete "$name"; rm -f "/run/netns/$name"; done 2>/dev/null
ip link delete drives 2>/dev/null
true
"""


@dataclass(frozen=True)
class Ost:
    """One object store: its number, the host that it is on, its network namespace there, its address."""

    number: int
    host: Host
    address: str

    @property
    def name(self) -> str:
        return f"ost{self.number + 1}"


class OstDrives:
    """The drives of OSTs, which `clients` share. `rate`: reads and writes of one OST together, bytes/s, already divided
    by k."""

    def __init__(self, osts: Sequence[Ost], clients: Sequence[Host], rate: float) -> None:
        self.rate, self._osts, self._clients = rate, osts, clients
        self._hosts = list(dict.fromkeys(ost.host for ost in osts))

    def make(self, host: Host, gateway: str) -> None:
        """Make the drives of a host, whose OSTs have the network of the address `gateway`."""
        pairs = [part for ost in self._osts if ost.host is host for part in (ost.name, ost.address)]
        host.run(["sh", "-c", DRIVES, "drives", gateway, self._shaper("add"), *pairs]).check()

    def set_rate(self, rate: float) -> None:
        """Set the rate of all drives, bytes/s."""
        if rate == self.rate:
            return
        self.rate = rate

        def change(host: Host) -> None:
            host.run(["sh", "-c", OTHER_RATE, "drives", self._shaper("change"), *self._names(host)]).check()

        on_each(self._hosts, change, at_once=4)

    def moved(self) -> dict[str, int]:
        """Bytes of frames that each OST's drive has moved since the start, in both directions."""

        def of(host: Host) -> dict[str, int]:
            script = 'for n in "$@"; do tc -n "$n" -s -j qdisc show dev shaper; done'
            lines = host.run(["sh", "-c", script, "sh", *self._names(host)]).check().stdout.decode().splitlines()
            shown = [queue for line in lines if line.strip() for queue in json.loads(line)]
            roots = [queue["bytes"] for queue in shown if queue.get("root")]
            return dict(zip(self._names(host), roots, strict=True))

        return {name: count for part in on_each(self._hosts, of, at_once=4) for name, count in part.items()}

    def remove(self) -> None:
        """Remove the drives; does nothing for those that are not there."""
        for host in self._hosts:
            host.run(["sh", "-c", NO_DRIVES, "drives", *self._names(host)])

    def _names(self, host: Host) -> list[str]:
        return [ost.name for ost in self._osts if ost.host is host]

    def _shaper(self, command: str) -> str:
        """Lines of tc(8) that make (`add`) or set (`change`) the drive of an OST."""
        rate = self.rate * 8 * FRAMING
        burst = burst_bytes(rate / 1e6)
        senders = [[], *([f"ip {end} {host.address}" for end in ("src", "dst")] for host in self._clients)]
        return "\n".join(turns.shaper("shaper", senders, rate, (burst, burst), DRIVE_TURN, DRIVE_QUEUE, command))
