"""Counters of RDMA ports, as drivers name them, and of the kernel's TCP."""

from __future__ import annotations

import pytest

from whitewire.tools import Unreadable
from whitewire.tools.rdma_counters import Moved, port_counters

NETSTAT = "TcpExt: SyncookiesSent TCPOrigDataSent TCPHystartTrainDetect\nTcpExt: 0 4711 3\n"
DRIVERS = {  # lines of one port, sent, received
    "mlx5": (
        "rdma mlx5_0/1\nrdma mlx5_0/1 port_rcv_data 2000\nrdma mlx5_0/1 port_xmit_data 1000\n"
        "rdma mlx5_0/1 rx_write_requests 9\nrdma mlx5_0/1 out_of_buffer 0",
        Moved(4000), Moved(8000),
    ),
    "cxgb4": (
        "rdma cxgb4_0/1\nrdma cxgb4_0/1 ip4InSegs 70\nrdma cxgb4_0/1 ip4OutRsts 0\nrdma cxgb4_0/1 ip4OutSegs 50\n"
        "rdma cxgb4_0/1 ip6InSegs 1\nrdma cxgb4_0/1 ip6OutSegs 2",
        Moved(None, 52), Moved(None, 71),
    ),
    "irdma": (
        "rdma irdma0/1\nrdma irdma0/1 ip4OutOctets 900\nrdma irdma0/1 ip4InOctets 800\nrdma irdma0/1 ip4OutPkts 1",
        Moved(900), Moved(800),
    ),
    "bnxt_re": ("rdma bnxt_re0/1\nrdma bnxt_re0/1 tx_bytes 5\nrdma bnxt_re0/1 rx_bytes 6", Moved(5), Moved(6)),
    "rxe": ("rdma rxe0/1\nrdma rxe0/1 sent_pkts 3\nrdma rxe0/1 rcvd_pkts 4", Moved(None, 3), Moved(None, 4)),
    "siw": ("rdma siw0/1", Moved(), Moved()),
}  # fmt: skip


@pytest.mark.parametrize("driver", DRIVERS)
def test_every_drivers_counters_are_read_by_their_names(driver):
    said, sent, received = DRIVERS[driver]
    found = port_counters(f"{said}\n{NETSTAT}")
    assert (found.name, found.sent, found.received, found.segments) == (said.split()[1], sent, received, 4711)


def test_a_counter_of_32_bits_at_its_end_counts_nothing_more():
    said = DRIVERS["mlx5"][0].replace("port_xmit_data 1000", "port_xmit_data 4294967295")
    found = port_counters(f"{said}\n{NETSTAT}")
    assert (found.sent, found.received) == (Moved(), Moved(8000))
    longer = port_counters(f"{said.replace('4294967295', '4294967296')}\n{NETSTAT}")
    assert longer.sent == Moved(4 * 2**32)


def test_two_ports_of_a_bond_count_together_and_no_port_is_none():
    two = port_counters(f"{DRIVERS['mlx5'][0]}\n{DRIVERS['mlx5'][0].replace('mlx5_0', 'mlx5_1')}\n{NETSTAT}")
    assert (two.name, two.sent) == ("mlx5_0/1 mlx5_1/1", Moved(8000))
    assert port_counters(NETSTAT).name == ""


@pytest.mark.parametrize(
    "said", ["", "TcpExt: A B\n", "TcpExt: TCPOrigDataSent\nTcpExt: many\n", "TcpExt: A\nTcpExt: 1\n"]
)
def test_a_kernel_that_does_not_count_tcp_is_refused(said):
    with pytest.raises(Unreadable, match="TCP"):
        port_counters(said)
