"""From two readings of ports and links to what a run moved."""

from __future__ import annotations

from whitewire.measure import carrying
from whitewire.tools.rdma_counters import Moved, PortCounters

BEFORE, AFTER = {"a": {"egress": 100, "ingress": 50}}, {"a": {"egress": 300, "ingress": 90}}


def test_what_a_driver_counts_grows_and_what_it_does_not_is_missing():
    was = {"a": PortCounters("mlx5_0/1", Moved(1000, None), Moved(400), 7)}
    now = {"a": PortCounters("mlx5_0/1", Moved(9000, None), Moved(500), 9)}
    seen = carrying.seen(BEFORE, AFTER, was, now, {"a": {"mtu": 9000}})
    links = {"interface_sent": 200, "interface_received": 40, "segments": 2, "mtu": 9000}
    assert seen == {"a": links | {"port": "mlx5_0/1", "sent": 8000, "received": 100}}
    assert carrying.links_after(BEFORE, AFTER, seen) == {"a": {"egress": 8100, "ingress": 150}}
    packets = carrying.seen(BEFORE, AFTER, {"a": PortCounters("rxe0/1", Moved(None, 5), Moved(None, 5), 0)},
                            {"a": PortCounters("rxe0/1", Moved(None, 11), Moved(None, 6), 0)}, {})  # fmt: skip
    assert packets["a"]["packets_sent"] == 6 and "sent" not in packets["a"] and "mtu" not in packets["a"]


def test_without_ports_links_stay_as_they_were_counted():
    assert carrying.seen(BEFORE, AFTER, {}, {}, {}) == {}
    assert carrying.links_after(BEFORE, AFTER, {}) == AFTER
