"""Which hosts are probed at the same time."""

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from whitewire import calibration


def hosts(kind, count):
    return [SimpleNamespace(name=f"{kind}{number}") for number in range(1, count + 1)]


def used(round_):
    return [host.name for pair in round_ for host in pair]


@given(st.integers(1, 12), st.integers(1, 20), st.booleans())
def test_rounds_use_no_host_twice_and_reach_every_pair(clients, datanodes, every_pair):
    rounds = calibration._rounds(hosts("client", clients), hosts("datanode", datanodes), every_pair)
    assert all(len(used(round_)) == len(set(used(round_))) for round_ in rounds)
    pairs = {(client.name, datanode.name) for round_ in rounds for client, datanode in round_}
    assert len(pairs) == (clients * datanodes if every_pair else clients)


@given(st.integers(2, 30))
def test_the_ring_uses_no_host_twice_and_every_host_sends_and_receives(count):
    rounds = calibration._ring(hosts("datanode", count))
    assert all(len(used(round_)) == len(set(used(round_))) for round_ in rounds)
    pairs = [(a.name, b.name) for round_ in rounds for a, b in round_]
    assert len(pairs) == count
    assert len({a for a, _ in pairs}) == len({b for _, b in pairs}) == count
