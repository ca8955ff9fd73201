"""Host files with one host per line: written by hand, for MPI, or by PBS and OAR. Pure.

A node file ($PBS_NODEFILE, $OAR_NODEFILE) repeats a host for each of its processors, perhaps with its domain on one
line and without on another. Repeated hosts count once.
"""

from __future__ import annotations

import re

from whitewire.errors import UserError
from whitewire.testbed.site.inventory import machines
from whitewire.testbed.site.listing.base import Listed, role_of, ssh_target
from whitewire.tools import Unreadable

SLOTS = re.compile(r"([^:]+):[0-9]+")
"""`node01:8`: a host with MPI's number of processes."""


def hosts(text: str) -> list[Listed]:
    """The first word of each line: `node01`, `alice@node01`, `node01:8`, `node01 slots=8`; # begins a comment."""
    found: dict[str, Listed] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        match = SLOTS.fullmatch(words[0])
        user, _, host = (match[1] if match else words[0]).rpartition("@")
        name = ssh_target(f"line {number}", host, user)
        found.setdefault(name, Listed(name, f"line {number}", role_of(host.partition(".")[0])))
    try:
        return [found[name] for name in machines([*found], "hosts")]
    except UserError as error:
        raise Unreadable(str(error)) from None


def fits(text: str) -> bool:
    """Whether any line is not empty or a comment; formats that are more specific are tried first."""
    return any(line.partition("#")[0].strip() for line in text.splitlines())
