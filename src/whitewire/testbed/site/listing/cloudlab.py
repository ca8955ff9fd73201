"""Manifests of CloudLab, Emulab and other GENI sites: RSpec version 3 or 2, XML. Pure.

The portal shows it as "Manifest" of an experiment. Elements are matched by name, regardless of their namespaces.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from whitewire.testbed.site.listing.base import Listed, ipv4, role_of, ssh_target
from whitewire.tools import Unreadable


def fits(text: str) -> bool:
    return text.lstrip("\ufeff \t\r\n").startswith("<")


def hosts(text: str) -> list[Listed]:
    """Nodes with a login. Their addresses are those of their links, which exclude the control network."""
    root = _parsed(text)
    if _name(root) != "rspec":
        raise Unreadable(f"found <{_name(root)}>, expected <rspec>, as a manifest begins")
    nodes = _parts(root, "node")
    found = [listed for node in nodes if (listed := _of_node(node))]
    if not found:
        raise Unreadable(
            f"found {len(nodes)} nodes and no login, expected those of a manifest; a request has none: save the "
            "manifest when the nodes are ready"
        )
    return found


def _parsed(text: str) -> Element:
    """The XML's root element. Raises Unreadable, also for a DOCTYPE, which no manifest has and can declare entities."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise Unreadable("found a DOCTYPE, expected a manifest, which has none")
    try:
        return ElementTree.fromstring(text.lstrip("\ufeff \t\r\n"))
    except (ElementTree.ParseError, ValueError) as error:
        raise Unreadable(f"not valid XML: {error}") from None


def _of_node(node: Element) -> Listed | None:
    """A node as a host; None for one without logins, such as a remote data set.

    Every member of the project has a login. Unless there is only one, the user name is left to ssh's configuration.
    """
    logins = [login for services in _parts(node, "services") for login in _parts(services, "login")]
    if not logins:
        return None
    name = node.get("client_id", "")
    place = f"node {name}" if name else "node"
    users = {login.get("username") for login in logins}
    first = logins[0]
    ssh = ssh_target(place, first.get("hostname"), users.pop() if len(users) == 1 else None, first.get("port"))
    return Listed(ssh, place, role_of(name), ipv4(_addresses(node)))


def _addresses(node: Element) -> Iterator[str | None]:
    for interface in _parts(node, "interface"):
        yield from (address.get("address") for address in _parts(interface, "ip"))


def _parts(element: Element, name: str) -> list[Element]:
    return [part for part in element if isinstance(part.tag, str) and _name(part) == name]


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]
