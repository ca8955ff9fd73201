"""All six tests of perftest over two soft RoCE devices in a guest: the project's driver, command lines and parsers."""

from __future__ import annotations

import csv
import json
from itertools import product
from pathlib import Path

import pytest

from tests.rdma.guest import Guest, GuestHost, Unavailable, booted
from whitewire.description.capabilities import INVENTORY
from whitewire.measure import rdma, survey_rdma
from whitewire.measure.engine import Work
from whitewire.measure.rdma import find_endpoint, nothing_measured, write_rdma_rows
from whitewire.measure.survey_plan import Shape, Survey
from whitewire.measure.survey_rdma import measure_rdma_ports
from whitewire.records import links as records
from whitewire.tools import perftest

pytestmark = pytest.mark.slow

SIZES = (64, 4096, 65536)
COUNT = 200


@pytest.fixture(scope="module")
def guest():
    try:
        with booted() as running:
            yield running
    except Unavailable as why:
        pytest.skip(f"no guest with soft RoCE: {why}")


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Under emulation perftest cannot calibrate its clock at every third start or so."""
    monkeypatch.setattr(rdma, "_ATTEMPTS", 15)
    monkeypatch.setattr(perftest, "iterations", lambda test, size: COUNT)


def ends(guest: Guest, *addresses: str) -> list[GuestHost]:
    """The two ends of the guest's link."""
    roles = ("client", "datanode")
    return [GuestHost(guest, f"{role}1", role, at) for role, at in zip(roles, addresses, strict=True)]


def sent(guest: Guest) -> int:
    """Bytes that both ends of the link have sent."""
    shown = guest.run(["ip", "-json", "-s", "link", "show"]).check().stdout
    return sum(link["stats64"]["tx"]["bytes"] for link in json.loads(shown) if link["ifname"] in ("v0", "v1"))


def test_six_tests_between_two_devices(guest, tmp_path):
    before = sent(guest)
    both = ends(guest, "10.0.0.1", "10.0.0.2")
    rows = rdma.between(*both, "roce", tmp_path, sizes=SIZES)
    assert [row["why"] for row in rows if row["why"]] == []
    assert nothing_measured(rows) == ""
    assert {(row["source_port"], row["destination_port"]) for row in rows} == {("rxe0/1", "rxe1/1")}
    assert {(row["transport"], row["limit"], row["iterations"]) for row in rows} == {("RoCE", "1250", COUNT)}
    values = {(row["test"], row["message_bytes"], row["metric"]): float(row["value"]) for row in rows}
    expected = [
        *product(perftest.BANDWIDTH, SIZES, ("bandwidth_average", "bandwidth_peak", "message_rate")),
        *product(perftest.LATENCY, SIZES, ("latency_min", "latency_typical", "latency_average", "latency_p99",
                                       "latency_p99_9")),
    ]  # fmt: skip
    assert sorted(values) == sorted(expected) and len(rows) == len(expected)
    for test in perftest.BANDWIDTH:
        assert values[test, 65536, "bandwidth_average"] > 4 * values[test, 64, "bandwidth_average"]
        assert all(values[test, s, "bandwidth_peak"] >= values[test, s, "bandwidth_average"] for s in SIZES)
    for test in perftest.LATENCY:
        assert values[test, 65536, "latency_min"] > values[test, 64, "latency_min"]
    # The messages did cross the link between the devices: each test at least once.
    assert sent(guest) - before > len(perftest.TESTS) * COUNT * sum(SIZES)
    verbatim = sorted((tmp_path / "perftest").glob("roce-client1-datanode1-*.txt"))
    assert len(verbatim) >= 2 * len(perftest.TESTS) * len(SIZES)  # of both ends
    path = tmp_path / "rdma.csv"
    write_rdma_rows(path, rows)
    with path.open(newline="") as table:
        assert len(list(csv.DictReader(table))) == len(rows)


@pytest.mark.parametrize("test", ["ib_write_bw", "ib_send_lat"])
def test_connected_by_rdma_cm(guest, tmp_path, test):
    """As on iWARP, which this kernel has no software for."""
    found = [find_endpoint(host) for host in ends(guest, "10.0.0.1", "10.0.0.2")]
    both = [rdma.Endpoint(end.host, end.port, None, rdma_cm=True) for end in found]
    rows = list(rdma._pair(*both, {"fabric": "roce", "source": "a", "destination": "b"}, tmp_path, [test], [4096]))
    assert [row["why"] for row in rows if row["why"]] == []
    assert all(float(row["value"]) > 0 for row in rows) and rows


def test_an_address_without_a_device_is_a_reason(guest, tmp_path):
    rows = rdma.between(*ends(guest, "10.0.0.1", "127.0.0.1"), "roce", tmp_path, sizes=SIZES)
    assert [row["why"] for row in rows] == [
        "no RDMA port of datanode1 has the address 127.0.0.1, only found rxe0/1, rxe1/1"
    ]


def test_a_server_that_cannot_start_is_a_reason_after_bounded_attempts(guest, tmp_path, monkeypatch):
    """No message is that long."""
    monkeypatch.setattr(rdma, "_ATTEMPTS", 2)
    both = ends(guest, "10.0.0.1", "10.0.0.2")
    rows = rdma.between(*both, "roce", tmp_path, tests=["ib_write_bw"], sizes=[2**40])
    (row,) = rows
    assert row["attempt"] == 2 and row["value"] == "" and "ib_write_bw" in row["why"]


class Bare:
    """The two ends as a testbed that is up."""

    capabilities = INVENTORY

    def __init__(self, hosts: list[GuestHost]) -> None:
        self.hosts = hosts

    def fabric(self, name: str) -> None:
        assert name == "roce"


def test_what_the_rule_links_rdma_measures(guest, tmp_path, monkeypatch):
    monkeypatch.setattr(survey_rdma, "_SIZES", SIZES[:1])
    testbed = Bare(ends(guest, "10.0.0.1", "10.0.0.2"))
    work = Work("links", 600.0)
    measure_rdma_ports(Survey(testbed, {"kind": "ssh"}, {"fabrics": [{"name": "roce"}]},
                              Shape("", {}, 1, ("roce",)), tmp_path, "site.yaml", work))  # fmt: skip
    rows = records.rdma_rows(tmp_path)
    assert {row["test"] for row in rows} == set(perftest.TESTS) and not any(row["why"] for row in rows)
    assert {(row["source_port"], row["destination_port"]) for row in rows} == {("rxe0/1", "rxe1/1")}
    assert records.part_of(Path(records.RDMA_TABLE)) == "rdma"
