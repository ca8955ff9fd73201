"""What is beyond its bound is named with its likely cause, and nothing else is."""

from itertools import combinations, permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire.records import outliers
from whitewire.records.outliers import Way, outliers_of_links
from whitewire.tools import fio
from whitewire.tools.iperf3 import iperf3_result

DATA = Path(__file__).parents[2] / "data"
LIMITS = {"link_error": 0.1, "drive_error": 0.2, "retransmit_share": 0.01}
NAMES = [f"datanode{number}" for number in range(1, 7)]


def way(source, destination, error=0.0, **more):
    return Way("10gbe", source, destination, 1, 9564 * (1 + error), 9564, error, **{"rtt": 200.0, **more})


def all_ways(names=NAMES, **errors):
    """Every pair both ways; `errors` by host: of all that it sends or receives."""
    return [way(a, b, min(errors.get(a, 0.0), errors.get(b, 0.0))) for a, b in permutations(names, 2)]


def kinds_and_names(found):
    return [(each.kind, each.subject) for each in found if not each.part_of]


def row(source, destination, value, streams=1, attempt=1, beside=2, expected=9564.0, why="", metric="goodput"):
    base = {"fabric": "10gbe", "source": source, "destination": destination, "streams": streams, "metric": metric,
            "unit": "Mbit/s", "value": value, "beside": beside, "attempt": attempt, "why": why}  # fmt: skip
    return base | ({"expected": expected, "error": value / expected - 1} if metric == "goodput" and not why else {})


# -- from rows to ways


def test_a_way_is_judged_by_the_number_of_streams_with_which_it_did_best():
    rows = [row("a", "b", 150.0, streams=0, metric="rtt_at_rest"), row("a", "b", 5000.0), row("a", "b", 9500.0, 4),
            row("a", "b", 0.02, 4, metric="retransmit_share")]  # fmt: skip
    (found,) = outliers.ways(rows)
    assert (found.streams, found.goodput, found.retransmit_share) == (4, 9500.0, 0.02)
    assert found.error == pytest.approx(9500 / 9564 - 1)


def test_the_last_attempt_counts_and_what_it_was_beside_others_is_kept():
    rows = [row("a", "b", 5000.0), row("a", "b", 9564.0, attempt=2, beside=0)]
    (found,) = outliers.ways(rows)
    assert (found.error, found.alone) == (0.0, True)
    assert found.beside_error == pytest.approx(5000 / 9564 - 1)
    (worse,) = outliers.ways([row("a", "b", 9000.0), row("a", "b", 5000.0, attempt=2, beside=0)])
    assert worse.goodput == 5000.0


def test_a_test_without_a_result_does_not_hide_one_with():
    rows = [row("a", "b", None, why="connection refused"), row("a", "b", 9564.0, attempt=2, beside=0)]
    assert not outliers.ways(rows)[0].why
    assert outliers.ways(rows[:1])[0].why == "connection refused"
    assert outliers.beyond(outliers.ways(rows[:1])[0], 0.1)


def test_what_iperf3_printed_says_that_a_processor_was_the_limit():
    result = iperf3_result((DATA / "iperf3-1-stream.json").read_bytes())
    rows = [row("a", "b", result.goodput, expected=1000.0), row("a", "b", result.cpu[0], metric="cpu_source"),
            row("a", "b", result.cpu[1], metric="cpu_destination"),
            row("a", "b", result.retransmit_share, metric="retransmit_share")]  # fmt: skip
    (found,) = outliers.of_pairs(outliers.ways(rows), LIMITS)
    assert found.cause == "a processor: iperf3 used 97% of one on a"
    assert (found.kind, found.subject, found.stops) == ("pair", "a to b", True)
    assert found.said.startswith("a to b on 10gbe: 14% of what is expected; likely cause: a processor")


def test_a_pair_that_carries_nothing_has_0_of_what_is_expected():
    pair = outliers.Outlier("pair", "a to b", "10gbe", ("a", "b"), 0.0, 9564.0, "Mbit/s", "a cable", stops=True)
    assert pair.said == "a to b on 10gbe: 0% of what is expected; likely cause: a cable"


# -- pairs, hosts and fabrics


def test_links_within_the_bound_are_no_outliers():
    assert outliers.of_pairs(all_ways(datanode3=-0.09), LIMITS) == []


def test_one_slow_direction_of_one_pair():
    slow_way = ("datanode1", "datanode2")
    found = [way(*pair, -0.5 if pair == slow_way else 0.0) for pair in permutations(NAMES, 2)]
    (slow,) = outliers.of_pairs(found, LIMITS)
    assert (slow.kind, slow.subject, slow.hosts) == ("pair", "datanode1 to datanode2", ("datanode1", "datanode2"))
    assert slow.cause == "slower in one direction: datanode2 to datanode1 carries 100%"


def test_a_slow_host_is_named_once_and_explains_its_pairs():
    found = outliers.of_pairs(all_ways(datanode4=-0.5), LIMITS)
    assert kinds_and_names(found) == [("host", "datanode4")]
    assert found[0].cause == "its link, cable or port: 10 of its 10 directions are beyond, both ways"
    assert {each.part_of for each in found[1:]} == {"datanode4"}
    assert len(found) == 11


def test_a_host_that_explains_more_once_another_is_named_keeps_what_it_explained_before():
    one, two, three, four, five, six = NAMES
    slow = {(one, other) for other in NAMES} | {(five, other) for other in (two, three, four, six)}
    slow |= {(other, one) for other in (two, three, four)}  # 3 of 5 into it; of those that `five` does not send 3 of 4
    found = outliers.of_pairs([way(*pair, -0.5 if pair in slow else 0.0) for pair in permutations(NAMES, 2)], LIMITS)
    assert kinds_and_names(found) == [("host", one), ("host", five)]
    assert "8 of its 10 directions are beyond, both ways" in found[0].cause


def test_a_host_that_is_slow_only_in_what_it_sends():
    found = [way(a, b, -0.4 if a == "datanode2" else 0.0) for a, b in permutations(NAMES, 2)]
    (host, *pairs) = outliers.of_pairs(found, LIMITS)
    assert (host.kind, host.subject) == ("host", "datanode2")
    assert host.cause.endswith("5 of its 5 directions are beyond, what it sends")
    assert len(pairs) == 5


def test_two_slow_hosts_are_both_named():
    found = outliers.of_pairs(all_ways(datanode1=-0.5, datanode6=-0.7), LIMITS)
    assert sorted(kinds_and_names(found)) == [("host", "datanode1"), ("host", "datanode6")]


@given(st.integers(4, 12), st.data())
def test_one_slow_host_of_any_number_is_the_only_one_named(count, data):
    names = [f"h{number}" for number in range(count)]
    slow = data.draw(st.sampled_from(names))
    error = data.draw(st.floats(-0.95, -0.11))
    assert kinds_and_names(outliers.of_pairs(all_ways(names, **{slow: error}), LIMITS)) == [("host", slow)]


@given(st.integers(4, 12), st.data())
def test_any_single_slow_way_is_the_only_one_named(count, data):
    names = [f"h{number}" for number in range(count)]
    slow = data.draw(st.sampled_from(list(permutations(names, 2))))
    found = [way(a, b, -0.6 if (a, b) == slow else 0.0) for a, b in permutations(names, 2)]
    assert kinds_and_names(outliers.of_pairs(found, LIMITS)) == [("pair", f"{slow[0]} to {slow[1]}")]


def test_a_slow_host_on_the_ring_is_named():
    ring = [(a, b) for a, b in combinations(NAMES, 2) if NAMES.index(b) - NAMES.index(a) in (1, len(NAMES) - 1)]
    found = [way(a, b, -0.5 if "datanode3" in (a, b) else 0.0) for pair in ring for a, b in (pair, pair[::-1])]
    assert kinds_and_names(outliers.of_pairs(found, LIMITS)) == [("host", "datanode3")]


def test_a_fabric_that_no_pair_reaches_is_one_outlier_and_the_odd_one_another():
    found = [way(a, b, -0.4) for a, b in permutations(NAMES, 2)]
    (fabric,) = outliers.of_pairs(found, LIMITS)
    assert (fabric.kind, fabric.fabric, fabric.stops) == ("fabric", "10gbe", True)
    assert fabric.subject == "30 of 30 directions"
    busy = [way(a, b, -0.4, cpu=(0.99, 0.3)) for a, b in permutations(NAMES, 2)]
    assert outliers.of_pairs(busy, LIMITS)[0].cause.startswith("processors: in 30 of 30 tests iperf3 used up one")
    odd = [way(a, b, -0.8 if "datanode2" in (a, b) else -0.4) for a, b in permutations(NAMES, 2)]
    assert kinds_and_names(outliers.of_pairs(odd, LIMITS)) == [("fabric", "30 of 30 directions"), ("host", "datanode2")]


def test_links_that_are_only_slow_beside_others_are_the_switchs():
    found = [way(a, b, 0.0, alone=True, beside_error=-0.3) for a, b in permutations(NAMES, 2)]
    (switch,) = outliers.of_pairs(found, LIMITS)
    assert (switch.kind, switch.stops) == ("switch", False)
    assert "not while other pairs are busy" in switch.cause


@pytest.mark.parametrize(
    "more, cause",
    [
        ({"retransmit_share": 0.03}, "retransmits: 3.00% of the segments were sent again"),
        ({"cpu": (0.2, 0.95)}, "a processor: iperf3 used 95% of one on b"),
        ({"rtt": 9000.0}, "a queue: 9 ms there and back under load, usual are 0.2 ms"),
        ({}, "none of direction, retransmits, MTU, queue and processor shows: look at cable, port and other traffic"),
    ],
)
def test_causes_of_a_pair(more, cause):
    others = [way(f"c{n}", f"d{n}") for n in range(6)]
    found = outliers.of_pairs([way("a", "b", -0.5, **more), way("b", "a", -0.5), *others], LIMITS)
    assert found[0].cause == cause


def test_a_pair_that_is_too_fast_has_a_wrong_rate():
    (fast,) = outliers.of_pairs([way("a", "b", 0.5), way("b", "a")], LIMITS)
    assert fast.cause.startswith("faster than its rate")


def test_a_pair_without_a_result_says_what_iperf3_said():
    dead = Way("10gbe", "a", "b", why="iperf3: error - unable to connect to server")
    (found,) = outliers.of_pairs([dead, way("b", "a")], LIMITS)
    assert (found.value, found.cause) == (None, "iperf3: error - unable to connect to server")
    assert found.said == "a to b on 10gbe; likely cause: iperf3: error - unable to connect to server"


# -- links and drives


def link(mtu=1500, **more):
    return {"rate": 10000.0, "mtu": mtu, "offloads": "on", "driver": "mlx5_core", "firmware": "16.35.2000", **more}


def test_a_host_with_another_mtu_is_named_and_explains_a_slow_pair():
    seen = {"10gbe": {name: link(9000 if name == "datanode5" else 1500) for name in NAMES}}
    unlike = outliers_of_links(seen)
    assert [(each.kind, each.subject, each.stops) for each in unlike] == [("unlike", "datanode5", False)]
    assert unlike[0].cause == "MTU 9000, on most hosts 1500"
    found = outliers.of_pairs(all_ways(datanode5=-0.3), LIMITS, outliers.slows(seen))
    assert found[0].cause.startswith("MTU 9000, on most hosts 1500; its link, cable or port")
    assert found[1].cause.startswith("MTU 9000, on most hosts 1500")


def test_links_without_a_majority_are_no_outliers():
    assert outliers_of_links({"10gbe": {"a": link(), "b": link(9000)}}) == []
    assert outliers_of_links({"10gbe": {"a": link(), "b": link(9000), "c": link(4000), "d": link(2000)}}) == []
    assert outliers_of_links({"10gbe": {name: {} for name in NAMES}}) == []


def test_driver_and_firmware_are_compared():
    odd = {name: link(firmware="14.0" if name == "datanode1" else "16.35.2000") for name in NAMES}
    assert outliers_of_links({"10gbe": odd})[0].cause == "firmware 14.0, on most hosts 16.35.2000"
    assert outliers.slows({"10gbe": odd}) == {}


def curve(host, folder="/data1", scale=1.0, kind="drive"):
    """Rows as measure/drives.py makes them of what fio printed, at some points."""
    files = {"write": ("write-1048576-4", 2**20, 4), "randread": ("randread-4096-16", 4096, 16)}
    for operation, (name, block, depth) in files.items():
        result = fio.measurement((DATA / f"fio-{name}.json").read_bytes(), operation)
        for metric, value in (("bandwidth", result.bandwidth), ("iops", result.iops)):
            yield {"host": host, "folder": folder, "kind": kind, "mode": "direct", "operation": operation,
                   "block_bytes": block, "queue_depth": depth, "metric": metric, "value": value * scale, "unit": "",
                   "problem": ""}  # fmt: skip


def drives(**scales):
    return [row for host, scale in scales.items() for row in curve(host, scale=scale)]


def test_drives_alike_are_no_outliers():
    assert outliers.of_drives(drives(a=1.0, b=1.1, c=0.95, d=1.0), 0.2) == []


def test_a_slow_drive_is_named_and_stops():
    found = outliers.of_drives(drives(a=1.0, b=0.5, c=1.0, d=1.05), 0.2)
    assert [(each.subject, each.stops) for each in found] == [("b /data1", True), ("b /data1", False)]
    assert found[0].cause.startswith("sequential writes of ") and "median" in found[0].cause
    assert found[1].cause.startswith("random reads of ")


def test_a_fast_drive_is_named_and_stops_nothing():
    found = outliers.of_drives(drives(a=1.0, b=2.0, c=1.0), 0.2)
    assert {each.subject for each in found} == {"b /data1"}
    assert not any(each.stops for each in found)


def test_of_two_drives_nobody_knows_which_is_wrong_and_kinds_are_not_compared():
    assert outliers.of_drives(drives(a=1.0, b=0.5), 0.2) == []
    rows = [*drives(a=1.0, b=1.0), *curve("c", kind="mount", scale=0.1)]
    assert outliers.of_drives(rows, 0.2) == []


def test_a_drive_that_could_not_be_measured_is_named():
    failed = {"host": "c", "folder": "/data2", "kind": "drive", "mode": "direct", "operation": "", "block_bytes": "",
              "queue_depth": "", "metric": "failed", "value": "", "unit": "", "problem": "fio: no space"}  # fmt: skip
    (found,) = outliers.of_drives([*drives(a=1.0, b=1.0), failed], 0.2)
    assert (found.subject, found.cause, found.stops) == ("c /data2", "not measured: fio: no space", True)


def test_a_modelled_drive_is_judged_by_its_last_attempt():
    base = {"source": "datanode1", "destination": "drive 1", "operation": "write", "mode": "direct", "expected": 1.0}
    rows = [base | {"value": 0.5, "ok": False}, base | {"value": 1.0, "ok": True}]
    assert outliers.of_models(rows) == []
    (found,) = outliers.of_models(rows[::-1])
    assert (found.subject, found.value, found.expected) == ("datanode1 drive 1", 0.5, 1.0)


def test_a_slow_pair_of_rdma_ports():
    def rdma(source, value):
        return {"fabric": "roce", "source": source, "destination": "x", "test": "ib_write_bw", "message_bytes": 2**20,
                "metric": "bandwidth_average", "value": str(value)}  # fmt: skip

    (found,) = outliers.of_rdma([rdma("a", 1000), rdma("b", 1010), rdma("c", 400)], 0.1)
    assert (found.subject, found.stops) == ("c to x", False)
    assert outliers.of_rdma([rdma("a", 1000), rdma("b", 400)], 0.1) == []
