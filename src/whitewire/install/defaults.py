"""Hadoop's default settings without their descriptions, for JVMs that start often.

A daemon reads the *-default.xml of its jars several times while it starts, and spends most of that time on the
descriptions, which nothing uses. Names, values and their order are unchanged.
"""

from __future__ import annotations

import io
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Iterable
from pathlib import Path

from whitewire import atomic

_NAMES = ("core-default.xml", "hdfs-default.xml", "yarn-default.xml", "mapred-default.xml")
_KEPT = ("name", "value", "final", "source")
"""Elements of a property that org.apache.hadoop.conf.Configuration reads, except for tags, used by web pages only."""


def bare(text: bytes) -> bytes:
    """A Hadoop configuration file reduced to the _KEPT elements of each property.

    Raises ValueError for a file with other elements than properties.
    """
    lines = []
    for entry in ElementTree.fromstring(text):
        if entry.tag != "property" or entry.find("name") is None:
            raise ValueError(f"<{entry.tag}> in a configuration file, expected a <property> with a <name>")
        made = ElementTree.Element("property")
        for part in entry:
            if part.tag in _KEPT:
                ElementTree.SubElement(made, part.tag).text = part.text
        lines.append(ElementTree.tostring(made))
    return b'<?xml version="1.0"?>\n<configuration>\n' + b"\n".join(lines) + b"\n</configuration>\n"


def write_defaults_jar(jars: Iterable[Path], target: Path) -> None:
    """Write (atomically) a jar with the bare defaults of these jars, which it must precede on the class path."""
    found: dict[str, bytes] = {}
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            for name in set(_NAMES).intersection(archive.namelist()) - set(found):
                found[name] = bare(archive.read(name))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name, text in sorted(found.items()):
            archive.writestr(zipfile.ZipInfo(name), text)
    atomic.write(target, made.getvalue())
