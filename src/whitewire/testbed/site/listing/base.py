"""A host in a list of hosts, and its target for ssh. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from whitewire.text import quoted
from whitewire.tools import Unreadable

HOST_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}")
"""Name of a host or user, without characters that are special to a shell, to ssh or in YAML."""
_ROLE = re.compile(r"(namenode|datanode|client)[_-]?[0-9]*")
"""Names that imply a role in a testbed."""
SSH_PORT = 22


@dataclass(frozen=True)
class Listed:
    """A host of a list.

    `ssh`: its target for ssh; `place`: its position in the list, for messages; `role`: its role in a testbed, if the
    list gives one; `addresses`: those on networks for experiments, if the list identifies these.
    """

    ssh: str
    place: str
    role: str = ""
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True)
class Form:
    """A format of lists: its name in messages, a test for a text, and a parser (raises Unreadable)."""

    called: str
    fits: Callable[[str], bool]
    hosts: Callable[[str], list[Listed]]


def ssh_target(place: str, host: Any, user: Any = None, port: Any = None) -> str:
    """A host's target for ssh: `node01`, `alice@node01`, `ssh://alice@node01:2222`. Raises Unreadable."""
    if not isinstance(host, str) or not (HOST_NAME.fullmatch(host) or _is_address(host)):
        raise Unreadable(f"{place}: found {quoted(host)}, expected the name or the address of a host")
    if user and (not isinstance(user, str) or not HOST_NAME.fullmatch(user)):
        raise Unreadable(f"{place}: found the user {quoted(user)}, expected a name")
    number = SSH_PORT if port is None else _port(place, port)
    name = f"{user}@" if user else ""
    if number == SSH_PORT:
        return name + host
    return f"ssh://{name}{f'[{host}]' if ':' in host else host}:{number}"


def _port(place: str, port: Any) -> int:
    text = str(port)
    if not re.fullmatch(r"[1-9][0-9]{0,4}", text) or int(text) > 65535:
        raise Unreadable(f"{place}: found the port {quoted(port)}, expected a number from 1 to 65535")
    return int(text)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return HOST_NAME.fullmatch(text.replace(":", "").replace("%", "")) is not None


def ipv4(texts: Iterable[Any]) -> tuple[str, ...]:
    """The texts that are IPv4 addresses."""
    found = []
    for text in texts:
        try:
            found.append(str(ipaddress.IPv4Address(text)))
        except ValueError:
            continue
    return tuple(found)


def role_of(*names: Any) -> str:
    """The role that the first matching name implies; empty if none matches."""
    found = (_ROLE.fullmatch(name) for name in names if isinstance(name, str))
    return next((match[1] for match in found if match), "")
