"""How hosts are divided over racks."""

from collections import Counter
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from whitewire.testbed.emulated.racks import divided


def hosts(**roles):
    return [SimpleNamespace(name=f"{role}{n}", role=role) for role, count in roles.items() for n in range(1, count + 1)]


def test_hosts_of_a_role_fill_racks_in_their_order_and_one_alone_is_in_none():
    place = divided(hosts(namenode=1, datanode=5, client=2), 2)
    assert place == {
        "datanode1": "rack1", "datanode2": "rack1", "datanode3": "rack1", "datanode4": "rack2", "datanode5": "rack2",
        "client1": "rack1", "client2": "rack2",
    }  # fmt: skip


@given(st.integers(2, 9), st.integers(0, 60))
def test_racks_of_a_role_differ_by_one_host_at_most(count, further):
    workers = count + further
    sizes = Counter(divided(hosts(datanode=workers), count).values())
    assert len(sizes) == count and sum(sizes.values()) == workers
    assert max(sizes.values()) - min(sizes.values()) <= 1
