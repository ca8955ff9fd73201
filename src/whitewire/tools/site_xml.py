"""A site's Hadoop configuration file (`mapred-site.xml` and its like) as a table."""

from __future__ import annotations

from xml.etree import ElementTree

from whitewire.tools import Unreadable

INCLUDE = "{http://www.w3.org/2001/XInclude}include"


def settings(text: str, name: str) -> dict[str, str] | None:
    """Values by name, the last one where a name occurs twice; None for a file that includes others.

    Raises Unreadable, with the file's name and the line, for what is no XML.
    """
    root = _root(text, name)
    if root.find(f".//{INCLUDE}") is not None:
        return None
    listed = ((each.findtext("name", ""), each.findtext("value", "")) for each in root.iter("property"))
    return {key.strip(): value.strip() for key, value in listed}


def final(text: str, name: str) -> set[str]:
    """Names of the settings that a file declares final: no later file and no job changes them. Raises Unreadable."""
    listed = ((each.findtext("name", ""), each.findtext("final", "")) for each in _root(text, name).iter("property"))
    return {key.strip() for key, said in listed if said.strip() == "true"}


def _root(text: str, name: str) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise Unreadable(f"{name}: {error}, expected a Hadoop configuration file") from None
