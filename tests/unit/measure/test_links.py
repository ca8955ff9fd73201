"""Which hosts are probed at the same time, and how often."""

import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire.design.drive import Drive
from whitewire.errors import UserError
from whitewire.measure import links
from whitewire.testbed.base import Completed, Fabric
from whitewire.tools import Unreadable, iperf3
from whitewire.tools.iperf3 import iperf3_result


def hosts(kind, count):
    return [SimpleNamespace(name=f"{kind}{number}") for number in range(1, count + 1)]


def used(round_):
    return [host.name for pair in round_ for host in pair]


@given(st.integers(1, 12), st.integers(1, 20))
def test_rounds_use_no_host_twice_and_reach_a_datanode_of_each_client(clients, datanodes):
    rounds = links._rounds(hosts("client", clients), hosts("datanode", datanodes))
    assert all(len(used(round_)) == len(set(used(round_))) for round_ in rounds)
    pairs = [(client.name, datanode.name) for round_ in rounds for client, datanode in round_]
    assert sorted(client for client, _ in pairs) == sorted(f"client{n}" for n in range(1, clients + 1))


def test_a_datanode_that_is_alone_does_not_probe_itself():
    """What it sends to itself crosses no link, so that no rate but the machine's would be measured."""
    nodes = hosts("datanode", 1)
    (pairs,) = links._rounds(hosts("client", 1), nodes)
    assert links._beside(pairs, nodes) == [pairs]


@given(st.integers(1, 12), st.integers(2, 20))
def test_datanodes_probe_their_neighbours_beside_the_clients_and_no_host_is_used_twice(clients, datanodes):
    nodes = hosts("datanode", datanodes)
    for pairs in links._rounds(hosts("client", clients), nodes):
        rounds = links._beside(pairs, nodes)
        assert rounds[0][: len(pairs)] == pairs
        assert all(len(used(round_)) == len(set(used(round_))) for round_ in rounds)
        assert any(source.name.startswith("datanode") for round_ in rounds for source, _ in round_)


def test_a_pair_is_known_by_the_short_and_by_the_full_names_of_its_hosts(monkeypatch, tmp_path):
    """Links were measured in a job that names hosts with their domain, or one of both, and a block's job does not."""
    result = SimpleNamespace(goodput=3000.0, retransmits=0, rtt=math.nan)
    monkeypatch.setattr(links, "send", lambda *_: links.Sent(result, 9400.0))
    one, other = (SimpleNamespace(name=f"datanode{number}", target=f"node{number}") for number in (1, 2))
    full = [f"node{number}.lab.example" for number in (1, 2)]
    carried = {("1gbe", *full): 1.0, ("10gbe", *full[::-1]): 2.0, ("10gbe", "node11", "node2"): 3.0}
    for known in (full, ["node1", full[1]]):
        at = carried | {("10gbe", *known): 3010.0}
        here = links._of_hosts(at, [one, other])
        goodput, *_ = links._link(None, one, other, Fabric("10gbe", 1e4, 1e4), 1, 0.1, 0.05, tmp_path, here)
        assert goodput["expected"] == 3010.0 and goodput["ok"]
    assert links._of_hosts({("10gbe", "node11", "node2"): 3.0}, [one, other]) == {}


def test_a_probe_beyond_its_bound_is_tried_again_after_longer_pauses(monkeypatch):
    waited = []
    monkeypatch.setattr(links.time, "sleep", waited.append)
    errors = iter([-0.03, -0.02, 0.001])
    rows = links._until_within(lambda attempt: (next(errors), "link", [{"value": attempt}]), 0.01)
    assert [row["attempt"] for row in rows] == [1, 2, 3]
    assert waited == list(links.PAUSES[:3])
    with pytest.raises(
        UserError, match=r"link: -3\.0% off the set value, bound 1\.0%, in 5 attempts.* is the machine busy"
    ):
        links._until_within(lambda attempt: (-0.03, "link", [{}]), 0.01)


def test_reads_of_a_modelled_drive_are_held_against_its_rate_of_reading(monkeypatch, tmp_path):
    hardware = {"count": 2, "rate_mb_per_s": 20, "read_rate_mb_per_s": 50, "access_time_ms": 0,
                "writeback_chunk_bytes": 65536, "cache_bytes": 0}  # fmt: skip
    host = SimpleNamespace(
        name="datanode1", drive_root="/drives", drive=lambda number: f"/drives/{number}", clear_drives=lambda: None,
        run=lambda argv, **_: Completed(tuple(argv), 0, b"", b""),
    )  # fmt: skip
    monkeypatch.setattr(links, "put_drives", lambda *given: None)
    monkeypatch.setattr(links, "fio_bandwidth", lambda raw, operation: {"write": 20.0, "read": 49.0}[operation])
    testbed = SimpleNamespace(by_role=lambda role: [host])
    rows = links.probe_drives(testbed, Drive.scaled(hardware, 1, "library.so"), 0.05, tmp_path)
    assert {(row["operation"], row["mode"]): (row["expected"], row["ok"]) for row in rows} == {
        ("write", "buffered"): (20.0, True), ("write", "direct"): (20.0, True),
        ("read", "buffered"): (50.0, True), ("read", "direct"): (50.0, True),
    }  # fmt: skip


def test_drives_for_intermediate_data_are_probed_in_yarns_folder_on_one_of_them(monkeypatch, tmp_path):
    hardware = {"count": 2, "rate_mb_per_s": 20, "access_time_ms": 0, "writeback_chunk_bytes": 65536, "cache_bytes": 0}
    drive = Drive.scaled(hardware | {"intermediate": hardware | {"count": 1, "rate_mb_per_s": 50}}, 1, "library.so")
    folders = []
    host = SimpleNamespace(
        name="datanode1", drive_root="/drives", drive=lambda number: f"/drives/{number}", clear_drives=lambda: None,
        run=lambda argv, **_: folders.append(argv[-1]) or Completed(tuple(argv), 0, b"", b""),
    )  # fmt: skip
    monkeypatch.setattr(links, "put_drives", lambda *given: None)
    monkeypatch.setattr(links, "fio_bandwidth", lambda raw, operation: 20.0)
    rows = links.probe_drives(SimpleNamespace(by_role=lambda role: [host]), drive, 0.05, tmp_path, stop=False)
    assert {(row["destination"], row["expected"], row["ok"]) for row in rows} == {
        ("drive 1", 20.0, True), ("drive 2", 20.0, True), ("intermediate drive 1", 50.0, False)}  # fmt: skip
    assert "/drives/1/local" in folders
    assert {path.name.rsplit("-", 1)[0] for path in tmp_path.glob("fio-datanode1-intermediate-*")} == {
        f"fio-datanode1-intermediate-{operation}-{mode}"
        for operation in ("write", "read") for mode in ("buffered", "direct")}  # fmt: skip


def test_a_short_transfer_may_expect_the_first_burst_of_a_shaper():
    real, shaped = Fabric("x", 100.0, 1000.0), Fabric("x", 100.0, 1000.0, burst=25_000)
    payload = 1448 / 1514
    assert links.expected_goodput(real, 1e6) == pytest.approx(100 * payload)
    frames = 1e6 / payload  # bytes on the wire; all but the burst wait for the rate
    seconds = (frames - 25_000) / (100e6 / 8)
    assert links.expected_goodput(shaped, 1e6) == pytest.approx(1e6 * 8 / 1e6 / seconds)


# k of links of 500 Mbit/s, what iperf3 received on them in Mbit/s and bytes, and the window (snd_wnd) of each stream,
# whose last frame is not full.
WINDOWS = [
    (160, 2.9569083, 1_948_128, [4608]),
    (160, 2.9666492, 3_944_472, [4736]),
    (128, 3.6945008, 3_784_128, [4480, 4480, 3456, 3328]),
]


@pytest.mark.parametrize(("k", "goodput", "received", "windows"), WINDOWS)
def test_a_link_is_not_slow_where_a_small_window_leaves_frames_partly_full(k, goodput, received, windows):
    slow = Fabric("0.5gbe", 500 / k, 500.0, burst=6000)
    frames = received / sum(windows) * sum(math.ceil(window / 1448) for window in windows)
    assert goodput / links.expected_goodput(slow, received) - 1 < -0.008
    assert goodput / links.expected_goodput(slow, received, frames) - 1 == pytest.approx(0, abs=0.003)


@pytest.mark.parametrize("counts", [True, False])
def test_frames_are_counted_where_the_testbed_can(monkeypatch, tmp_path, counts):
    found = iter([{"a": (9, 5)}, {"a": (4000, 5 + 1600)}] if counts else [{}])
    testbed = SimpleNamespace(segments=lambda: next(found))
    client = SimpleNamespace(name="a", run=lambda argv, timeout: Completed(tuple(argv), 0, b"", b""))
    server = SimpleNamespace(address="10.77.0.3")
    result = iperf3.LinkResult(goodput=8.0, retransmits=0, rtt=1.0, seconds=2.0)
    monkeypatch.setattr(links, "parsed_output", lambda done, parse: result)
    fabric = Fabric("x", 10.0, 1000.0, burst=6000)
    sent = links.send(testbed, client, server, fabric, 1, 2 * 10**6, tmp_path / "raw.json")
    assert sent.expected == links.expected_goodput(fabric, 2e6, 1600 if counts else None)


def test_each_uplink_is_probed_once_in_each_direction():
    nodes = hosts("datanode", 6)
    place = {f"datanode{n}": f"rack{(n + 1) // 2}" for n in range(1, 7)}
    pairs = [(a.name, b.name) for a, b in links._between_racks(nodes, place)]
    assert pairs == [("datanode1", "datanode3"), ("datanode3", "datanode5"), ("datanode5", "datanode1")]
    assert links._between_racks(nodes, {}) == []


def test_a_pair_in_two_racks_has_the_slower_of_link_and_uplink():
    fabric = Fabric("x", 100.0, 1000.0, burst=25_000, racks=2, uplink=50.0)
    assert (links.through_uplinks(fabric).rate, links.through_uplinks(fabric).burst) == (50.0, 12_500)
    wide = Fabric("x", 100.0, 1000.0, burst=25_000, racks=2, uplink=200.0)
    assert links.through_uplinks(wide) == wide


def test_a_probe_without_a_report_shows_its_output():
    done = Completed(("iperf3",), 1, b"", b"iperf3: error - unable to connect\n")
    with pytest.raises(Unreadable, match="found 'nothing'.*; it said 'iperf3: error - unable to connect'"):
        links.parsed_output(done, iperf3_result)
