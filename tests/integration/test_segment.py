"""One segment that all hosts share, on real links: what one host sends takes from what another one can."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.conftest import comes_to
from whitewire.measure import links
from whitewire.records.samples import peak_rate
from whitewire.testbed.emulated.segment import segment_unavailable
from whitewire.tools.iperf3 import iperf3_client, iperf3_result, iperf3_server

SECONDS = 1.0
"""That a pair takes alone."""
WINDOW = 0.5
PAIRS = (("client", "datanode1"), ("datanode2", "datanode3"), ("datanode4", "namenode"))


@pytest.fixture
def servers(testbed, tmp_path):
    started = [testbed.host(to).start(iperf3_server(testbed.host(to).address), tmp_path / to) for _, to in PAIRS]
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
        return iperf3_result(client.run(iperf3_client(server.address, 1, size), timeout=60).check().stdout).goodput

    with ThreadPoolExecutor(len(pairs)) as pool:
        return list(pool.map(one, pairs))


def moved_at_once(testbed, fabric):
    """Samples of the links while three pairs send at once."""
    with testbed.sampler() as sampler:
        goodputs(testbed, fabric)
    return sampler.samples


def rate_of(samples):
    """Mbit/s that reach all hosts in the best half second."""
    totals = [sum(line["ingress"] for line in sample.links.values()) for sample in samples]
    return peak_rate([sample.time for sample in samples], totals, WINDOW) * 8 / 1e6


def evenness(samples, fabric):
    """What the slowest sender sends, of what the fastest does, while all three of them have something to send."""
    size = fabric.rate * 1e6 / 8 * SECONDS
    first = samples[0].links
    sent = [[sample.links[name]["egress"] - first[name]["egress"] for name, _ in PAIRS] for sample in samples]
    shared = [line for line in sent if min(line) > 0.05 * size and max(line) < 0.95 * size]
    if len(shared) < 2:  # one had ended before another began
        return 0.0
    parts = [after - before for before, after in zip(shared[0], shared[-1], strict=True)]
    return min(parts) / max(parts)


def test_pairs_that_share_a_segment_get_it_together_and_in_equal_parts(testbed, servers, tmp_path):
    assert segment_unavailable() == ""
    fabric = testbed.fabric("1gbe-shared")
    assert fabric.shared
    before, drops = testbed.counters(), testbed.queue_drops()

    def alone():
        """Of what passes a segment that carries its acknowledgements too."""
        client, server = map(testbed.host, PAIRS[0])
        size = int(fabric.rate * 1e6 / 8 * SECONDS)
        return 1 + links.send(testbed, client, server, fabric, 1, size, tmp_path / "iperf3.json").error

    comes_to(1.0, 0.05, alone)

    def together():
        rate = rate_of(moved_at_once(testbed, fabric))
        assert rate < 1.05 * fabric.rate
        return rate

    comes_to(fabric.rate, 0.05, together)
    comes_to(1.0, 0.05, lambda: evenness(moved_at_once(testbed, fabric), fabric))
    assert testbed.queue_drops() == drops  # a host waits for its turn
    moved = {name: value["egress"] - before[name]["egress"] for name, value in testbed.counters().items()}
    assert all(moved[client] > fabric.rate * 1e6 / 8 * SECONDS for client, _ in PAIRS)


def test_a_switch_gives_each_pair_the_whole_rate_again(testbed, servers):
    testbed.fabric("1gbe-shared")
    fabric = testbed.fabric("1gbe")
    assert not fabric.shared
    comes_to(3 * fabric.rate, 0.05, lambda: rate_of(moved_at_once(testbed, fabric)))
    again = testbed.fabric("1gbe-shared")  # and back, without a second device
    comes_to(again.rate, 0.05, lambda: rate_of(moved_at_once(testbed, again)))


def test_the_probes_of_a_block_measure_it(testbed, tmp_path):
    rows = links.probe_links(testbed, ["1gbe-shared"], 0.5, [1], bound=0.05, folder=tmp_path,
                                   ring=True)  # fmt: skip
    goodput = [row for row in rows if row["metric"] == "goodput" and row["ok"]]
    pairs = {(row["source"], row["destination"]) for row in goodput}
    assert pairs >= {("client", "datanode1"), ("datanode2", "datanode3")}  # side by side: no host twice
    fabric = testbed.fabric("1gbe-shared")
    own = links.expected_goodput(fabric, links.probe_bytes(fabric.rate, 0.5))
    assert all(0.9 * own < row["expected"] < own for row in goodput)  # less than a link of its own would give
