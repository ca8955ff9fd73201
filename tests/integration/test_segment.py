"""One segment that all hosts share, on real links: what one host sends takes from what another one can."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.conftest import comes_to
from whitewire import calibration
from whitewire.metrics import peak_rate
from whitewire.parsers import iperf3
from whitewire.probes import iperf3 as probe
from whitewire.testbed import segment
from whitewire.testbed.base import FRAME_SHARE

SECONDS = 1.0
"""That a pair takes alone."""
WINDOW = 0.5
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


def moved_at_once(testbed, fabric):
    """Mbit/s that reach all hosts in the best half second while three pairs send; goodput of each pair."""
    with testbed.sampler() as sampler:
        found = goodputs(testbed, fabric)
    totals = [sum(line["ingress"] for line in sample.links.values()) for sample in sampler.samples]
    return peak_rate([sample.time for sample in sampler.samples], totals, WINDOW) * 8 / 1e6, found


def test_pairs_that_share_a_segment_get_it_together_and_in_equal_parts(testbed, servers):
    assert segment.available() == ""
    fabric = testbed.fabric("1gbe-shared")
    assert fabric.shared
    before, drops = testbed.counters(), testbed.queue_drops()
    comes_to(fabric.rate * FRAME_SHARE, 0.05, lambda: goodputs(testbed, fabric, PAIRS[:1])[0])
    found = []

    def together():
        rate, found[:] = moved_at_once(testbed, fabric)
        assert rate < 1.05 * fabric.rate
        return rate

    comes_to(fabric.rate, 0.05, together)
    assert max(found) < 1.25 * min(found)
    assert testbed.queue_drops() == drops  # a host waits for its turn
    moved = {name: value["egress"] - before[name]["egress"] for name, value in testbed.counters().items()}
    assert all(moved[client] > fabric.rate * 1e6 / 8 * SECONDS for client, _ in PAIRS)


def test_a_switch_gives_each_pair_the_whole_rate_again(testbed, servers):
    testbed.fabric("1gbe-shared")
    fabric = testbed.fabric("1gbe")
    assert not fabric.shared
    comes_to(3 * fabric.rate, 0.05, lambda: moved_at_once(testbed, fabric)[0])
    again = testbed.fabric("1gbe-shared")  # and back, without a second device
    comes_to(again.rate, 0.05, lambda: moved_at_once(testbed, again)[0])


def test_the_probes_of_a_block_measure_it(testbed, tmp_path):
    rows = calibration.probe_links(testbed, ["1gbe-shared"], 0.5, [1], every_pair=False, bound=0.05, folder=tmp_path,
                                   ring=True)  # fmt: skip
    goodput = [row for row in rows if row["metric"] == "goodput" and row["ok"]]
    pairs = {(row["source"], row["destination"]) for row in goodput}
    assert pairs >= {("client", "datanode1"), ("datanode1", "datanode2")}
    rate = testbed.fabric("1gbe-shared").rate * FRAME_SHARE
    assert all(0.9 * rate < row["expected"] < rate for row in goodput)  # less than a link of its own would give
