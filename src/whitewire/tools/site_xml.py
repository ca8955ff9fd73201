"""Parser for a site's Hadoop configuration files, such as `mapred-site.xml`."""

from __future__ import annotations

from xml.etree import ElementTree

from whitewire.tools import Unreadable

INCLUDE = "{http://www.w3.org/2001/XInclude}include"


def parse_site_xml(text: str, name: str) -> dict[str, str] | None:
    """Name → value (the last one of a repeated name); None for a file that includes others.

    Raises Unreadable, with the file's name and the line, for invalid XML.
    """
    root = _root(text, name)
    if root.find(f".//{INCLUDE}") is not None:
        return None
    listed = ((each.findtext("name", ""), each.findtext("value", "")) for each in root.iter("property"))
    return {key.strip(): value.strip() for key, value in listed}


def final(text: str, name: str) -> set[str]:
    """Names of the settings that a file declares final: no later file or job can change them. Raises Unreadable."""
    listed = ((each.findtext("name", ""), each.findtext("final", "")) for each in _root(text, name).iter("property"))
    return {key.strip() for key, said in listed if said.strip() == "true"}


def _root(text: str, name: str) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise Unreadable(f"{name}: {error}, expected a Hadoop configuration file") from None
