"""The ports that `ibv_devinfo -v` lists, with their addresses and data rates (rdma-core's libibverbs/examples)."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv6Address

from whitewire.tools import Unreadable

WIDTHS = {1: 1, 2: 4, 4: 8, 8: 12, 16: 2}
"""Number of lanes by the code of `active_width` (ibv_query_port(3))."""
INFINIBAND_LANE = {1: 2.0, 2: 4.0, 4: 8.0, 8: 10.0, 16: 14.0625 * 64 / 66, 32: 25.0, 64: 50.0, 128: 100.0, 256: 200.0}
"""Data rate of an InfiniBand lane in Gbit/s by the code of `active_speed`. SDR, DDR and QDR carry 8 data bits in 10,
FDR10 and FDR 64 in 66; from EDR on, the nominal rate is the data rate (InfiniBand Architecture Specification, v. 2)."""
ETHERNET_LANE = {1: 2.5, 2: 5.0, 4: 10.0, 8: 10.0, 16: 14.0, 32: 25.0, 64: 50.0, 128: 100.0, 256: 200.0}
"""Data rate of an Ethernet lane in Gbit/s by the same codes, to which the kernel maps it (ib_get_eth_speed)."""

_LINE = re.compile(r"\s*([A-Za-z_]+|GID\[\s*\d+\]):\s*(.*?)\s*")


@dataclass(frozen=True)
class Gid:
    """An entry of a port's address table; `kind` is "RoCE v1", "RoCE v2" or ""."""

    index: int
    address: IPv6Address
    kind: str


@dataclass
class DevicePort:
    """A port of a device. `transport` is "InfiniBand" or "iWARP", `link_layer` "InfiniBand" or "Ethernet"."""

    device: str
    transport: str
    number: int
    state: str = ""
    link_layer: str = ""
    width: int = 0
    speed: int = 0
    gids: list[Gid] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.device}/{self.number}"

    @property
    def rate(self) -> float | None:
        """Data rate of all lanes in MB/s (10^6 bytes), headers not subtracted; None if a code is unknown."""
        lane = (INFINIBAND_LANE if self.link_layer == "InfiniBand" else ETHERNET_LANE).get(self.speed)
        lanes = WIDTHS.get(self.width)
        return None if lane is None or lanes is None else lanes * lane * 1e3 / 8


def device_ports(raw: bytes) -> list[DevicePort]:
    """All ports of all devices, from the output of `ibv_devinfo -v`. Raises Unreadable."""
    ports: list[DevicePort] = []
    expected: dict[str, int] = {}
    device = transport = ""
    ended = True
    for line in raw.decode(errors="replace").splitlines():
        # An empty line ends a port.
        ended = ended or not line.strip()
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        key, value = match.groups()
        ended = ended and key not in ("hca_id", "port")
        if key == "hca_id":
            device, transport = value, ""
            if device in expected:
                raise Unreadable(f"ibv_devinfo: device {device} is listed twice")
            expected[device] = 0
        elif key == "phys_port_cnt":
            expected[device] = _ports(device, value)
        elif key == "transport":
            transport = value.partition(" (")[0]
        elif key == "port" and value.isdecimal():
            ports.append(DevicePort(device, transport, int(value)))
        elif ports:
            _attribute(ports[-1], key, value)
    if not ports:
        raise Unreadable(f"ibv_devinfo: no port in {len(raw)} bytes of output")
    for port in ports:
        if not (port.device and port.transport and port.state and port.link_layer):
            raise Unreadable(f"ibv_devinfo: port {port.name or '?'} lacks its transport, state or link layer")
    listed = Counter(port.device for port in ports)
    short = [device for device, number in expected.items() if listed[device] < number]
    if short or not ended:
        raise Unreadable(f"ibv_devinfo: cut off: device {short[0] if short else device} is not whole")
    return ports


def _ports(device: str, value: str) -> int:
    if not value.isdecimal():
        raise Unreadable(f"ibv_devinfo: device {device}: phys_port_cnt: found {value!r}, expected a whole number")
    return int(value)


def _attribute(port: DevicePort, key: str, value: str) -> None:
    if key == "state":
        port.state = value.partition(" (")[0]
    elif key == "link_layer":
        port.link_layer = value
    elif key in ("active_width", "active_speed"):
        code = re.search(r"\((\d+)\)$", value)
        setattr(port, key.removeprefix("active_"), int(code[1]) if code else 0)
    elif key.startswith("GID["):
        address, _, kind = value.partition(", ")
        try:
            port.gids.append(Gid(int(key[4:-1]), IPv6Address(address), kind))
        except AddressValueError:
            raise Unreadable(f"ibv_devinfo: port {port.name}: {key} {address!r} is no address") from None
