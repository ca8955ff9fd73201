"""Hosts of EnOSlib as YAML: the static provider's configuration, or roles with their hosts (`Host.to_dict()`). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from whitewire.description.reading import kind_of, parse_yaml
from whitewire.errors import UserError
from whitewire.testbed.site.listing.base import Listed, role_of, ssh_target
from whitewire.tools import Unreadable


def fits(text: str) -> bool:
    return re.search(r"(?m)^(---|\s*(- )?[\w.\"'-]+:)(\s|$)", text) is not None


def hosts(text: str) -> list[Listed]:
    """Hosts of the list. One with several roles counts once, with the first that is a testbed's role."""
    try:
        data = parse_yaml(text, "YAML")
    except UserError as error:
        raise Unreadable(str(error)) from None
    found: dict[str, Listed] = {}
    for place, roles, host in _each(data):
        if not isinstance(host, Mapping):
            raise Unreadable(f"{place}: found {kind_of(host)}, expected a host with its `address`")
        ssh = ssh_target(f"{place}.address", host.get("address"), host.get("user"), host.get("port"))
        role = role_of(*roles)
        before = found.setdefault(ssh, Listed(ssh, place, role))
        if role and not before.role:
            found[ssh] = Listed(ssh, before.place, role)
    return list(found.values())


def _each(data: Mapping[str, Any]) -> Iterator[tuple[str, Iterable[Any], Any]]:
    """(place, roles, host) of each entry."""
    if "resources" in data:
        resources = data["resources"]
        machines = resources.get("machines") if isinstance(resources, Mapping) else None
        for number, host in enumerate(_listed(machines, "resources.machines")):
            roles = host.get("roles") if isinstance(host, Mapping) else None
            yield f"resources.machines[{number}]", roles if isinstance(roles, list) else [], host
        return
    for role, members in data.items():
        for number, host in enumerate(_listed(members, role)):
            yield f"{role}[{number}]", [role], host


def _listed(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise Unreadable(f"{place}: found {kind_of(value)}, expected a list of hosts")
    return value
