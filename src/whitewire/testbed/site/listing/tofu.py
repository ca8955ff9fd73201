"""Outputs of OpenTofu or Terraform: `tofu output -json`, of all outputs or of one (`tofu output -json hosts`). Pure.

The output named `hosts` is used, else the only one with addresses. It is a list or a map of addresses, or of
objects with some of the attributes below, whose names are those of common providers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from whitewire.testbed.site.listing.base import HOST_NAME, Listed, ipv4, role_of, ssh_target
from whitewire.text import quoted
from whitewire.tools import Unreadable

_OUTPUT = "hosts"
_PUBLIC = ("ssh", "public_ip", "public_ip_address", "ipv4_address", "access_ip_v4", "nat_ip", "address", "public_dns")
PRIVATE = ("private_ip", "private_ip_address", "ipv4_address_private", "network_ip", "fixed_ip_v4")
"""Attributes, in order of preference, with the address for ssh (_PUBLIC) and on the hosts' own network (PRIVATE)."""
_USER = ("user", "ssh_user", "admin_username")


def fits(text: str) -> bool:
    """Whether a text begins like JSON; `[control]`, a group of an Ansible inventory, does not."""
    return re.match(r'[\ufeff\s]*(\{|\[\s*[\[{"])', text) is not None


def hosts(text: str) -> list[Listed]:
    try:
        data = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not valid JSON: {error}") from None
    if not _is_outputs(data):
        return list(_of(data, "", _OUTPUT))
    if _OUTPUT in data:
        return list(_of(data[_OUTPUT]["value"], "", _OUTPUT))
    found = {name: listed for name, output in data.items() if (listed := _addresses(output["value"], name))}
    if len(found) != 1:
        names = ", ".join(found) or "none"
        raise Unreadable(
            f"outputs with addresses: found {names}, expected one, or one named {_OUTPUT}; of several: "
            "`tofu output -json NAME`"
        )
    return found.popitem()[1]


def _is_outputs(data: Any) -> bool:
    return isinstance(data, Mapping) and all(
        isinstance(each, Mapping) and {"value", "sensitive"} <= each.keys() for each in data.values()
    )


def _addresses(value: Any, place: str) -> list[Listed]:
    """The hosts of an output; empty unless all its values are addresses."""
    try:
        found = list(_of(value, "", place))
    except Unreadable:
        return []
    return found if all(ipv4([each.ssh.rpartition("@")[2]]) or each.addresses for each in found) else []


def _of(value: Any, name: str, place: str) -> Iterator[Listed]:
    """Hosts in a value of JSON; `name`: that of its map entry, which may imply a role."""
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from _of(each, name, f"{place}[{number}]")
    elif isinstance(value, Mapping) and not any(key in value for key in (*_PUBLIC, *PRIVATE)):
        for key, each in value.items():
            yield from _of(each, key, f"{place}.{key}" if HOST_NAME.fullmatch(key) else f"{place}[{quoted(key)}]")
    elif isinstance(value, Mapping):
        own = ipv4(value.get(key) for key in PRIVATE)
        host = next((value[key] for key in (*_PUBLIC, *PRIVATE) if value.get(key)), None)
        user = next((value[key] for key in _USER if value.get(key)), None)
        ssh = ssh_target(place, host, user, value.get("port"))
        yield Listed(ssh, place, role_of(value.get("role"), value.get("name"), name), own)
    else:
        yield Listed(ssh_target(place, value), place, role_of(name))
