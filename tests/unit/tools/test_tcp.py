"""Counters of the kernel's TCP, as a DataNode's host printed them after jobs on links that dropped nothing."""

from pathlib import Path

import pytest

from whitewire.tools import Unreadable
from whitewire.tools.tcp import lost_segments, tcp_counters

SAID = (Path(__file__).parents[2] / "data" / "tcp-of-a-datanode.txt").read_text()


def test_segments_that_receivers_had_already_were_not_lost():
    counters = tcp_counters(SAID)
    assert (counters["OutSegs"], counters["TCPOrigDataSent"]) == (33571, 22307)
    assert (counters["RetransSegs"], counters["TCPDSACKRecv"]) == (258, 254)
    assert lost_segments(counters) == 4
    assert lost_segments(counters | {"TCPDSACKOfoRecv": 3}) == 1


def test_counters_that_are_cut_off_or_lacking_are_no_zeros():
    with pytest.raises(Unreadable, match="as many numbers as names"):
        tcp_counters(SAID[: SAID.index("TcpExt: 0")] + "TcpExt: 0 0\n")
    with pytest.raises(Unreadable, match="found no TCPDSACKRecv"):
        lost_segments(tcp_counters(SAID.split("TcpExt:")[0]))
