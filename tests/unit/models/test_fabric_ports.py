"""Non-blocking fabrics against numbers worked out by hand."""

from __future__ import annotations

import pytest

from whitewire.models import fabric_ports


def test_one_switch_is_enough_for_its_ports():
    assert fabric_ports.switches(36, 36) == 1
    assert fabric_ports.cables(36, 36) == 36


def test_two_levels_by_hand():
    # 104 hosts at 18 a leaf need 6 leaves; 104 uplinks need 3 spines of 36 ports; two cables a host.
    assert fabric_ports.switches(104, 36) == 9
    assert fabric_ports.cables(104, 36) == 208
    assert fabric_ports.most_hosts(9, 36) == 108
    # 200 hosts at 24 a leaf need 9 leaves, 200 uplinks 5 spines; 12 switches are 8 leaves and 4 spines.
    assert fabric_ports.switches(200, 48) == 14
    assert fabric_ports.most_hosts(12, 48) == 192
    # The largest fabric of 4-port switches: 4 leaves of two hosts, 2 spines.
    assert fabric_ports.switches(8, 4) == 6
    with pytest.raises(ValueError):
        fabric_ports.switches(9, 4)
    with pytest.raises(ValueError):
        fabric_ports.cables(3, 5)
    with pytest.raises(ValueError):
        fabric_ports.most_hosts(0, 4)


def test_ports_and_oversubscription_by_hand():
    assert fabric_ports.ports_per_node(12, 48, 200) == pytest.approx(2.88)
    # 30 cables for 20 hosts leave 10 uplinks: two hosts an uplink.
    assert fabric_ports.oversubscription(20, 30) == 2
    with pytest.raises(ValueError):
        fabric_ports.oversubscription(20, 20)
    with pytest.raises(ValueError):
        fabric_ports.ports_per_node(1, 2, 0)
