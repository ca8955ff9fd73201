"""What tc, ip and ethtool printed of links of the emulated testbed, and what is read from it."""

from pathlib import Path

import pytest

from whitewire.tools import Unreadable, link

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
    assert link.offloads(said) == expected


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
