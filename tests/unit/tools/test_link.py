"""What tc, ip and ethtool printed of links of the emulated testbed, and what is read from it."""

import math
from pathlib import Path

import pytest

from whitewire.tools import Unreadable, link
from whitewire.tools.link import parse_offloads

DATA = Path(__file__).parents[2] / "data" / "link"
FEATURES = (DATA / "ethtool-k.txt").read_text()


def test_rates_of_classes():
    assert link.rates((DATA / "tc-class.txt").read_text()) == {"1:1": 1600.0}
    said = "class htb 1:fffe root rate 78125Kbit ceil 1Gbit burst 1600b \nclass htb 1:1 rate 8bit ceil 1bit \n"
    assert link.rates(said) == {"1:fffe": 78.125, "1:1": 8e-6}
    assert link.rates("class tbf 8001:1 parent 8001: rate 2Gbit burst 1b\n") == {"8001:1": 2000.0}
    assert link.rates("") == {}
    with pytest.raises(Unreadable, match="expected a class with its rate"):
        link.rates("class mq :1 root \n")


def test_rates_of_devices_in_turn():
    said = (DATA / "tc-class-2-links.txt").read_text()
    assert link.rates_in_turn(said, ["port1", "port2"]) == {"port1": 1600.0, "port2": 1600.0}
    with pytest.raises(Unreadable, match="found 2 classes with a rate, expected one of each of 3 links"):
        link.rates_in_turn(said, ["port1", "port2", "port3"])


MQ = "qdisc mq 1: root \nqdisc pfifo_fast 0: parent 1:2 bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1\n"
HTB = "qdisc htb 1: root refcnt 3 r2q 10 default 0x1 direct_packets_stat 0 direct_qlen 1000\n"
ETH2 = """class htb 1:8000 parent 1:1 leaf 20: prio 1 rate 12Kbit ceil 100Mbit burst 1599b cburst 1600b
class htb 1:1 root rate 100Mbit ceil 100Mbit burst 1600b cburst 1600b
class htb 11:11 parent 11:1 leaf 12: prio 0 rate 110Kbit ceil 680Kbit burst 1599b cburst 1599b
"""


@pytest.mark.parametrize(
    "said, rate",
    [
        ((DATA / "tc-class-mq.txt").read_text(), math.inf),
        (MQ + (DATA / "tc-class-mq.txt").read_text(), math.inf),
        ("qdisc noqueue 0: root refcnt 2 \nqdisc clsact ffff: parent ffff:fff1 \n", math.inf),
        ("qdisc fq 8005: root refcnt 9 limit 10000p flow_limit 100p buckets 1024 orphan_mask 1023 quantum 3028b "
         "initial_quantum 15140b low_rate_threshold 550Kbit refill_delay 40ms \n", math.inf),
        ("qdisc cake 8002: root refcnt 2 bandwidth unlimited diffserv4 triple-isolate rtt 100ms raw overhead 0 \n",
         math.inf),
        ("qdisc netem 8001: root refcnt 2 limit 1000 delay 10.0ms\n", math.inf),
        ("", math.inf),
        ("qdisc cake 8002: root refcnt 2 bandwidth 100Mbit diffserv3 triple-isolate rtt 100ms raw overhead 0 \n", 100),
        ("qdisc netem 8001: root refcnt 2 limit 1000 delay 10.0ms rate 2500Mbit\n", 2500),
        ("qdisc tbf 1: root refcnt 3 rate 100Mbit burst 10Kb lat 50ms \nclass tbf 1:1 parent 1: \n", 100),
        (HTB + "class htb 1:1 root prio 0 rate 50Mbit ceil 200Mbit burst 1600b cburst 1600b \n", 200),
        (HTB + "qdisc fq_codel 11: parent 1:11 limit 10240p flows 1024\n" + ETH2, 100),
        (ETH2, 100),
        # iproute2 4.15 leaves out the priority.
        ("class htb 1:1 root rate 4669Kbit ceil 4669Kbit burst 1599b cburst 1599b\n"
         "class htb 1:11 parent 1:1 leaf 11: prio rate 737Kbit ceil 4669Kbit burst 1599b cburst 1599b\n", 4.669),
    ],
)  # fmt: skip
def test_what_a_device_may_send_by_its_disciplines(said, rate):
    assert link.limit(said) == pytest.approx(rate)


@pytest.mark.parametrize(
    "said",
    [
        (DATA / "tc-class-mq-tbf.txt").read_text(),
        MQ + "qdisc tbf 8: parent 1:1 rate 100Mbit burst 10Kb lat 50ms \nclass mq 1:1 root leaf 8: \n",
        MQ + "qdisc htb 9: parent 1:1 r2q 10\nclass htb 9:1 root prio 0 rate 1Gbit ceil 1Gbit burst 1b cburst 1b \n",
        HTB,
        "qdisc hfsc 1: root refcnt 2 default 1 \nclass hfsc 1:1 parent 1: ls m1 0bit d 0us m2 50Mbit \n",
        "qdisc fq 8005: root refcnt 9 limit 10000p low_rate_threshold 550Kbit maxrate 1Gbit \n",
        "qdisc mqprio 8001: root tc 2 map 0 1 queues:(0:1) (2:3) mode:channel shaper:bw_rlimit max_rate:1Gbit 2Gbit \n",
        # As tc breaks that line.
        "qdisc mqprio 8001: root tc 2 map 0 1 queues:(0:1) (2:3) \n             mode:channel\n"
        "             shaper:bw_rlimit   max_rate:1Gbit 2Gbit \n",
        HTB + "class htb 1:1 root rate 500Mbit ceil 500Mbit burst 1b cburst 1b\n"
        "class htb 1:2 root rate 500Mbit ceil 500Mbit burst 1b cburst 1b\n",
        HTB.replace("default 0x1", "default 0") + "class htb 1:1 root rate 500Mbit ceil 500Mbit burst 1b cburst 1b\n",
    ],
)
def test_a_shaper_of_a_part_gives_no_rate_of_the_device(said):
    with pytest.raises(Unreadable, match="expected a rate of the whole device"):
        link.limit(said)


@pytest.mark.parametrize("said", ["", *link.UNKNOWN_SPEEDS])
def test_what_stands_for_an_unknown_speed_is_none(said):
    assert link.speed(f"{said}\n") is None
    assert link.speed("10000\n") == 10000


def test_the_device_of_a_route_whatever_the_release_prints_around_it():
    assert link.leaves_by("10.0.0.1 via 192.0.2.1 dev eth0 src 192.0.2.2 uid 0 \n    cache \n") == "eth0"
    assert link.leaves_by("10.0.0.2 dev ens1 src 10.0.0.1 \\    cache") == "ens1"
    assert link.leaves_by("") == link.leaves_by("RTNETLINK answers: Network is unreachable\n") == ""


def test_queues_and_mtus_by_device_from_both_tools_output():
    said = (DATA / "tc-qdisc.json").read_text() + (DATA / "ip-link.json").read_text()
    assert link.queues(said) == {"port1": 262144, "port2": 262144}
    assert link.mtus(said) == {"lo": 65536, "switch": 1500, "port1": 1500, "port2": 1500}


def test_how_often_links_came_up_or_went_down():
    """port1 came up, went down and came up again: its two ends were set up one after the other."""
    said = (DATA / "ip-s-s-link.json").read_text()
    assert link.carrier_changes(said) == {"lo": 0, "p": 4, "port1": 4}
    for damaged in ('[{"ifname":"lo"}]\n', '[{"ifname":"lo","stats64":{"tx":{"carrier_changes":"2"}}}]\n', "[]\n"):
        with pytest.raises(Unreadable):
            link.carrier_changes(damaged)


@pytest.mark.parametrize(
    "tcp, generic, receive, expected",
    [("on", "on", "on", "on"), ("off", "on", "on", "on"), ("on", "on", "off", "mixed"), ("off", "off", "off", "off"),
     ("on", "off", "off", "mixed")],
)  # fmt: skip
def test_offloads(tcp, generic, receive, expected):
    said = FEATURES
    for name, state in zip(link.OFFLOADS, (tcp, generic, receive), strict=True):
        assert f"\n{name}: on\n" in FEATURES
        said = said.replace(f"\n{name}: on\n", f"\n{name}: {state} [fixed]\n")
    assert parse_offloads(said) == expected


MLX4 = """driver: mlx4_en (MT_0DD0120009_CX3)
version: 2.1.6 (Aug 2013)
firmware-version: 2.30.3000
bus-info: 0000:1a:00.0
"""
"""As Mellanox's manual of its driver prints it."""


def test_driver_and_firmware():
    found = {"driver": "mlx4_en (MT_0DD0120009_CX3)", "version": "2.1.6 (Aug 2013)", "firmware": "2.30.3000"}
    assert link.driver(MLX4) == found
    assert link.driver("driver: veth\nversion: 1.0\nfirmware-version: \nbus-info: \n") == {
        "driver": "veth", "version": "1.0"}  # fmt: skip
    with pytest.raises(Unreadable, match="expected a driver"):
        link.driver("Cannot get driver information: Operation not supported\n")


def test_counters_of_devices_are_read_with_their_packets():
    found = link.counted((DATA / "net-dev.txt").read_text())
    assert list(found) == ["lo", "port1"]
    assert found["port1"] == link.Counted(1296334, 8972, 24960311, 16720)


def test_a_device_without_all_counters_is_named():
    with pytest.raises(Unreadable, match="/proc/net/dev: found 'port1: 12', expected a device with 16 counters"):
        link.counted("Inter-|\n face |\nport1: 12\n")


def test_a_list_that_is_spread_over_lines_as_iproute2_4_15_prints_it():
    said = """[{
        "ifindex": 2,
        "ifname": "eth0",
        "flags": ["UP","LOWER_UP"],
        "mtu": 1400
    }
]
"""
    assert link.mtus(said) == {"eth0": 1400}
    assert link.mtus(said + '[{"ifname":"lo","mtu":65536}]\n') == {"eth0": 1400, "lo": 65536}
    with pytest.raises(Unreadable, match="expected a list in JSON"):
        link.mtus(said[:-4])
