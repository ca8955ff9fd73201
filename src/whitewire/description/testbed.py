"""A testbed's description."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from whitewire.description.files import validate
from whitewire.description.project import testbed_path
from whitewire.description.reading import load_yaml
from whitewire.errors import UserError
from whitewire.paths import HIBENCH, shown
from whitewire.text import canonical


def is_emulated(testbed: Mapping) -> bool:
    """Whether rates on a testbed stand for larger ones: hosts of one machine, or a site whose links are slowed down."""
    return testbed.get("kind", "emulated") == "emulated" or testbed.get("scale", 1) != 1


NAMED = re.compile(r"([0-9.]{1,10})gbe(-shared)?(?:-([0-9]{1,4})racks-([0-9.]{1,10})to1)?")
"""A fabric whose name says all of it: `25gbe`, `2.5gbe-shared`, `10gbe-2racks-4to1`."""


def named(name: str) -> dict[str, Any] | None:
    """The fabric that an emulated testbed makes of a name alone, as its description would give it; None: of no such."""
    match = NAMED.fullmatch(name)
    try:
        rate, over = (float(text) if text else 0.0 for text in (match[1], match[4])) if match else (0.0, 0.0)
    except ValueError:  # 1.2.3
        return None
    if match is None or not rate or match[1] != f"{rate:g}":  # one name for each rate, or one run would have two
        return None
    found: dict[str, Any] = {"rate_mbit_per_s": round(rate * 1000, 6)}
    if match[2] and match[3]:
        return None
    if match[2]:
        found["shared"] = True
    if match[3]:
        if int(match[3]) < 2 or not over or match[3] != str(int(match[3])) or match[4] != f"{over:g}":
            return None
        found["racks"] = {"count": int(match[3]), "oversubscription": over}
    return found


class Fabrics(dict[str, dict[str, Any]]):
    """Fabrics of an emulated testbed by name: those that its description lists, and any other that a name says all of.

    Only those listed are counted and gone through.
    """

    def __missing__(self, name: str) -> dict[str, Any]:
        found = named(name) if isinstance(name, str) else None
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and named(name) is not None)

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default


def fabric_names(testbed: Mapping) -> Collection[str]:
    """Networks that a paper may name: the testbed's, and on a site the emulated testbed's, whose runs it leaves out."""
    if testbed["kind"] != "emulated" and testbed_path("emulated").is_file():
        return Fabrics({**testbed["fabrics"], **load_testbed("emulated")["fabrics"]})
    return testbed["fabrics"]


def load_testbed(name: str) -> dict[str, Any]:
    """A testbed's description, valid in form. An emulated one uses the prepared HiBench where it names no other."""
    testbed = read_testbed(testbed_path(name))
    if testbed["kind"] == "emulated" and (HIBENCH / "tree").is_dir():
        testbed.setdefault("hibench", {"home": str(HIBENCH / "tree")})
    return testbed


def read_testbed(path: Path) -> dict[str, Any]:
    """The description in a file, valid in form, with nothing of this machine."""
    testbed = load_yaml(path)
    validate(testbed, "testbed", path)
    _check_limits(testbed, path)
    if testbed["kind"] == "emulated":
        testbed["fabrics"] = Fabrics(testbed["fabrics"])
    return testbed


def digest(config: Mapping[str, Any]) -> str:
    """Tells one description of a testbed from another; what is prepared on this machine only is no part of it."""
    told = {key: value for key, value in config.items() if key != "hibench"}
    return hashlib.sha256(canonical(told).encode()).hexdigest()[:16]


OF_SITES, OF_THIS_MACHINE = ("cpu_idle_floor", "compute_share"), ("cpu_late_ms", "cpu_outside")
"""Bounds on the processors where each host has its own, and where hosts share those of one machine."""
DEFAULTED = ("cpu_outside",)
"""Those of them that need not be told."""


def _check_limits(testbed: Mapping[str, Any], path: Path) -> None:
    """UserError for a bound on the processors that is missing, or that does not count on this kind of testbed."""
    needed, others = (OF_THIS_MACHINE, OF_SITES) if testbed["kind"] == "emulated" else (OF_SITES, OF_THIS_MACHINE)
    for name in needed:
        if name not in testbed["limits"] and name not in DEFAULTED:
            raise UserError(f"{shown(path)}: limits.{name}: found none, expected a number")
    for name in others:
        if name in testbed["limits"]:
            kind = "sites" if name in OF_SITES else "emulated testbeds"
            raise UserError(
                f"{shown(path)}: limits.{name}: found {testbed['limits'][name]}, expected none: it counts on {kind} "
                f"only; here it is {' and '.join(needed)}"
            )
