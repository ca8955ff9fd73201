"""Ports, switches and cables of a non-blocking fabric of equal switches in one or two levels.

A folded Clos network (Clos, Bell System Technical Journal 32, 1953; Leiserson, IEEE Transactions on Computers C-34,
1985): a leaf switch of p ports uses p/2 for hosts and as many for spine switches, so each host needs one uplink
and three ports in total. One switch suffices for up to p hosts. All numbers are counts.
"""

from __future__ import annotations

import math

MOST_PORTS = 1_000_000


def _check(hosts: float, ports: float) -> None:
    if hosts < 1 or ports < 2 or ports % 2:
        raise ValueError("there must be one host at least, and an even number of ports")
    if hosts > ports * ports / 2:
        raise ValueError(f"two levels of {ports:g}-port switches carry {ports * ports / 2:g} hosts at most")


def switches(hosts: float, ports: float) -> float:
    """Switches of `ports` ports that connect `hosts` hosts without blocking."""
    _check(hosts, ports)
    if hosts <= ports:
        return 1.0
    leaves = math.ceil(hosts / (ports / 2))
    spines = math.ceil(hosts / ports)
    return float(leaves + spines)


def cables(hosts: float, ports: float) -> float:
    """Cables of that fabric: one per host, and in a fabric with two levels one uplink per host."""
    _check(hosts, ports)
    return float(hosts if hosts <= ports else 2 * hosts)


def most_hosts(count: float, ports: float) -> float:
    """Most hosts that `count` switches of `ports` ports connect without blocking, in at most two levels."""
    if count < 1 or ports < 2 or ports % 2:
        raise ValueError("there must be one switch at least, and an even number of ports")
    if ports > MOST_PORTS:
        raise ValueError(f"a switch has at most {MOST_PORTS} ports")
    fewest, most = 1, int(ports * ports / 2)
    while fewest < most:  # the number of switches never falls with that of hosts
        middle = (fewest + most + 1) // 2
        fewest, most = (middle, most) if switches(middle, ports) <= count else (fewest, middle - 1)
    return float(fewest)


def ports_per_node(count: float, ports: float, nodes: float) -> float:
    """Ports of `count` switches for each of `nodes` nodes."""
    if nodes <= 0:
        raise ValueError("there must be nodes")
    return count * ports / nodes


def oversubscription(hosts: float, cable_count: float) -> float:
    """Hosts per uplink (no unit), where all cables beyond one per host are uplinks; 1 means non-blocking."""
    if cable_count <= hosts:
        raise ValueError("no cable is left for an uplink")
    return hosts / (cable_count - hosts)
