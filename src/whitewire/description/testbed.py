"""A testbed's description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whitewire.description.files import load_yaml, validate
from whitewire.description.project import testbed_path
from whitewire.paths import HIBENCH


def is_emulated(testbed: Mapping) -> bool:
    """Whether rates on a testbed stand for larger ones: hosts of one machine, or a site whose links are slowed down."""
    return testbed.get("kind", "emulated") == "emulated" or testbed.get("scale", 1) != 1


def fabric_names(testbed: Mapping) -> list[str]:
    """Networks that a paper may name: the testbed's, and on a site the emulated testbed's, whose runs it leaves out."""
    names = list(testbed["fabrics"])
    if testbed["kind"] != "emulated" and testbed_path("emulated").is_file():
        names += load_testbed("emulated")["fabrics"]
    return list(dict.fromkeys(names))


def load_testbed(name: str) -> dict[str, Any]:
    """A testbed's description, valid in form. An emulated one uses the prepared HiBench where it names no other."""
    path = testbed_path(name)
    testbed = load_yaml(path)
    validate(testbed, "testbed", path)
    if testbed["kind"] == "emulated" and (HIBENCH / "tree").is_dir():
        testbed.setdefault("hibench", {"home": str(HIBENCH / "tree")})
    return testbed
