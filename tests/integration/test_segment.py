"""One segment that all hosts share, on real links: what one host sends takes from what another one can."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.conftest import comes_to
from whitewire import calibration
from whitewire.parsers import iperf3
from whitewire.probes import iperf3 as probe
from whitewire.testbed import segment
from whitewire.testbed.base import FRAME_SHARE

SECONDS = 0.5
PAIRS = (("client", "datanode1"), ("datanode2", "datanode3"), ("datanode4", "namenode"))


@pytest.fixture
def servers(testbed, tmp_path):
    started = [testbed.host(to).start(probe.server(testbed.host(to).address), tmp_path / to) for _, to in PAIRS]
    for server in started:
        server.wait_ready("Server listening", timeout=10)
    yield
    for server in started:
        server.stop()


def goodputs(testbed, fabric, pairs=PAIRS):
    """Mbit/s of each pair, all at once."""
    size = int(fabric.rate * 1e6 / 8 * SECONDS)

    def one(pair):
        client, server = map(testbed.host, pair)
        return iperf3.parse(client.run(probe.client(server.address, 1, size), timeout=60).check().stdout).goodput

    with ThreadPoolExecutor(len(pairs)) as pool:
        return list(pool.map(one, pairs))


def test_pairs_that_share_a_segment_get_it_together_and_in_equal_parts(testbed, servers):
    assert segment.available() == ""
    fabric = testbed.fabric("1gbe-shared")
    assert fabric.shared
    whole = fabric.rate * FRAME_SHARE
    before, drops = testbed.counters(), testbed.queue_drops()
    comes_to(whole, 0.05, lambda: goodputs(testbed, fabric, PAIRS[:1])[0])
    found = []

    def together():
        found[:] = goodputs(testbed, fabric)
        assert sum(found) < 1.03 * whole
        return sum(found)

    comes_to(whole, 0.06, together)  # acknowledgements take some
    assert max(found) < 1.15 * min(found)
    assert testbed.queue_drops() == drops  # a host waits for its turn
    moved = {name: value["egress"] - before[name]["egress"] for name, value in testbed.counters().items()}
    assert all(moved[client] > fabric.rate * 1e6 / 8 * SECONDS for client, _ in PAIRS)


def test_a_switch_gives_each_pair_the_whole_rate_again(testbed, servers):
    testbed.fabric("1gbe-shared")
    fabric = testbed.fabric("1gbe")
    assert not fabric.shared
    comes_to(3 * fabric.rate * FRAME_SHARE, 0.05, lambda: sum(goodputs(testbed, fabric)))
    assert testbed.fabric("1gbe-shared").shared  # and back, without a second device
    comes_to(fabric.rate * FRAME_SHARE, 0.06, lambda: sum(goodputs(testbed, fabric)))


def test_the_probes_of_a_block_measure_it(testbed, tmp_path):
    rows = calibration.probe_links(testbed, ["1gbe-shared"], 0.5, [1], every_pair=False, bound=0.05, folder=tmp_path,
                                   ring=True)  # fmt: skip
    goodput = [row for row in rows if row["metric"] == "goodput" and row["ok"]]
    assert {(row["source"], row["destination"]) for row in goodput} >= {("client", "datanode1"), ("datanode1", "datanode2")}
    rate = testbed.fabric("1gbe-shared").rate * FRAME_SHARE
    assert all(0.9 * rate < row["expected"] < rate for row in goodput)  # less than a link of its own would give
