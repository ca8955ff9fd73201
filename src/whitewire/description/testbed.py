"""A testbed's description."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from whitewire.description import hadoop, transports
from whitewire.description.capabilities import capabilities_of
from whitewire.description.files import validate_by_schema
from whitewire.description.project import testbed_path
from whitewire.description.reading import load_yaml
from whitewire.description.transports import TRANSPORT_KINDS
from whitewire.errors import UserError
from whitewire.paths import HIBENCH, shown
from whitewire.text import canonical, quoted, suggestion


def is_emulated(testbed: Mapping) -> bool:
    """Whether rates on a testbed stand for larger ones: hosts of one machine, or a site whose links are slowed down."""
    return capabilities_of(testbed).scales_rates or testbed.get("scale", 1) != 1


_NAMED = re.compile(r"([0-9.]{1,10})gbe(-shared)?(?:-([0-9]{1,4})racks-([0-9.]{1,10})to1)?")
"""A fabric whose name says all of it: `25gbe`, `2.5gbe-shared`, `10gbe-2racks-4to1`."""


def _named(name: str) -> dict[str, Any] | None:
    """The description of a fabric that its name alone defines on an emulated testbed; None for another name."""
    match = _NAMED.fullmatch(name)
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
    """Fabrics of an emulated testbed by name: those in its description, and any whose name defines it.

    Only those in the description are counted and iterated.
    """

    def __missing__(self, name: str) -> dict[str, Any]:
        found = _named(name) if isinstance(name, str) else None
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and _named(name) is not None)

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default


def fabric_names(testbed: Mapping) -> Collection[str]:
    """Networks that a paper may name: the testbed's, and on a site the emulated testbed's, whose runs it leaves out."""
    if not capabilities_of(testbed).shapes_links and testbed_path("emulated").is_file():
        return Fabrics({**testbed["fabrics"], **load_testbed("emulated")["fabrics"]})
    return testbed["fabrics"]


def load_testbed(name: str) -> dict[str, Any]:
    """A testbed's description, valid in form. An emulated one uses the prepared HiBench where it names no other."""
    testbed = read_testbed(testbed_path(name))
    if capabilities_of(testbed).local and (HIBENCH / "tree").is_dir():
        testbed.setdefault("hibench", {"home": str(HIBENCH / "tree")})
    return testbed


def read_testbed(path: Path) -> dict[str, Any]:
    """The description in a file, valid in form, with nothing of this machine."""
    testbed = load_yaml(path)
    validate_by_schema(testbed, "testbed", path)
    _check_limits(testbed, path)
    _check_lanes(testbed, path)
    _check_node_file(testbed, path)
    _check_transports(testbed, path)
    if capabilities_of(testbed).shapes_links:
        testbed["fabrics"] = Fabrics(testbed["fabrics"])
    return testbed


def digest(config: Mapping[str, Any]) -> str:
    """Digest of a testbed's description without lanes, transports and HiBench, which do not affect measurements of
    links and drives."""
    relevant = {key: value for key, value in config.items() if key not in ("hibench", "lanes", "transports")}
    return hashlib.sha256(canonical(relevant).encode()).hexdigest()[:16]


OF_SITES, OF_THIS_MACHINE = ("cpu_idle_floor", "compute_share"), ("cpu_late_ms", "cpu_outside")
"""Bounds on processors for testbeds whose hosts have their own, and for hosts that share one machine."""
DEFAULTED = ("cpu_outside",)
"""Bounds among them that have a default."""


def _check_limits(testbed: Mapping[str, Any], path: Path) -> None:
    """UserError for a bound on the processors that is missing, or that does not count on this kind of testbed."""
    shared = capabilities_of(testbed).shares_processors
    needed, others = (OF_THIS_MACHINE, OF_SITES) if shared else (OF_SITES, OF_THIS_MACHINE)
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


def _check_node_file(testbed: Mapping[str, Any], path: Path) -> None:
    """UserError where the file of a list of hosts is missing, or where hosts come from elsewhere."""
    reads_file, file = capabilities_of(testbed).reads_host_file, testbed.get("host_file")
    if reads_file and file is None:
        raise UserError(f"{shown(path)}: host_file: found nothing, expected the path of a file of hosts")
    if not reads_file and file is not None:
        where = f"{shown(path)}: host_file"
        raise UserError(f"{where}: found {quoted(file)}, expected none: {testbed['kind']} lists the hosts itself")


def _check_transports(testbed: Mapping[str, Any], path: Path) -> None:
    """UserError for a transport with the name of a kind, for one that hosts cannot have or that would change more than
    a transport, and for settings that Hadoop does not know."""
    for name, transport in testbed.get("transports", {}).items():
        where = f"{shown(path)}: transports.{name}"
        if name in TRANSPORT_KINDS:
            raise UserError(f"{where}: found the name of a kind of transport, expected another name")
        if not transports.NAME.fullmatch(name):
            raise UserError(
                f"{shown(path)}: transports: found {quoted(name)}, expected a name of small letters, digits, _ and -"
            )
        for variable in transport.get("environment", {}):
            if not transports.VARIABLE.fullmatch(variable):
                raise UserError(
                    f"{where}.environment: found {quoted(variable)}, expected a variable's name (letters, digits, _)"
                )
            if variable in transports.TAKEN:
                raise UserError(f"{where}.environment.{variable}: found {quoted(transport['environment'][variable])}, "
                                f"expected none: {transports.TAKEN[variable]}")  # fmt: skip
        for setting, value in transport.get("settings", {}).items():
            if fault := hadoop.of_any(setting, value):
                found, expected, known = fault
                raise UserError(f"{where}.settings: found {quoted(found)}, expected {expected}"
                                f"{suggestion(setting, known)}")  # fmt: skip
        if transport["kind"] == transports.RDMA and not capabilities_of(testbed).has_rdma:
            raise UserError(
                f"{where}.kind: found {quoted(transports.RDMA)}, expected {quoted(transports.TCP)}: hosts of kind "
                f"{testbed['kind']} have no RDMA ports"
            )


def lane_count(testbed: Mapping[str, Any]) -> int:
    """How many blocks a site measures at once."""
    lanes = testbed.get("lanes", 1)
    return len(lanes) if isinstance(lanes, list) else lanes


def lane_hosts(testbed: Mapping[str, Any]) -> list[list[int]]:
    """For each lane of an inventory, the positions of its hosts in `hosts`.

    A number of lanes divides the hosts of each role evenly, in their order; what is left over is in no lane.
    """
    hosts, lanes = testbed["hosts"], testbed.get("lanes", 1)
    if lanes == 1:
        return [list(range(len(hosts)))]
    if isinstance(lanes, list):
        position = {host["ssh"]: number for number, host in enumerate(hosts)}
        return [sorted(position[name] for name in group) for group in lanes]
    found: list[list[int]] = [[] for _ in range(lanes)]
    for role, count in Counter(host["role"] for host in hosts).items():
        of_role = [number for number, host in enumerate(hosts) if host["role"] == role]
        for number, lane in enumerate(found):
            lane += of_role[number * (count // lanes) : (number + 1) * (count // lanes)]
    return [sorted(lane) for lane in found]


def lane_of(testbed: Mapping[str, Any]) -> dict[str, int]:
    """What ssh calls a host → number of its lane; empty where hosts are not divided into lanes."""
    if not capabilities_of(testbed).lists_hosts or lane_count(testbed) == 1:
        return {}
    return {testbed["hosts"][place]["ssh"]: number
            for number, lane in enumerate(lane_hosts(testbed), start=1) for place in lane}  # fmt: skip


def lane_roles(testbed: Mapping[str, Any]) -> dict[str, int]:
    """Role → number of hosts in each lane of an inventory."""
    return dict(Counter(testbed["hosts"][number]["role"] for number in lane_hosts(testbed)[0]))


def _check_lanes(testbed: Mapping[str, Any], path: Path) -> None:
    """UserError for groups that name an unknown host or one twice, or that are not alike."""
    groups = testbed.get("lanes")
    if not isinstance(groups, list):
        return
    roles = {host["ssh"]: host["role"] for host in testbed["hosts"]}
    seen: dict[str, str] = {}
    counts = []
    for number, group in enumerate(groups):
        for index, name in enumerate(group):
            key = f"lanes[{number}][{index}]"
            if name not in roles:
                raise UserError(
                    f"{shown(path)}: {key}: found {quoted(name)}, expected the `ssh` of one of the hosts"
                    f"{suggestion(name, roles)}"
                )
            if name in seen:
                raise UserError(f"{shown(path)}: {key}: found {quoted(name)} of {seen[name]} again, expected another")
            seen[name] = key
        counts.append(Counter(roles[name] for name in group))
    for number, count in enumerate(counts):
        if count != counts[0]:
            raise UserError(
                f"{shown(path)}: lanes[{number}]: found {_in_words(count)}, expected {_in_words(counts[0])} "
                "as in lanes[0]"
            )


def _in_words(roles: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {role}" for role, count in sorted(roles.items()))


def check_lanes_hold(testbed: Mapping[str, Any], needed: Mapping[str, int], source: str, paper: str) -> None:
    """UserError where lanes of an inventory have fewer hosts than a paper needs. One lane is checked when it starts.

    `needed`: role to the most hosts of any of the paper's clusters; `source`: the testbed's file, for messages.
    """
    lanes = lane_count(testbed)
    if not capabilities_of(testbed).lists_hosts or lanes < 2:
        return
    roles = lane_roles(testbed)
    for role, count in needed.items():
        if roles.get(role, 0) < count:
            remedy = "take fewer lanes, or leave the paper out"
            if not isinstance(testbed["lanes"], list):
                remedy = f"list {lanes * count} such hosts, {remedy}"
            raise UserError(
                f"{source}: lanes: found {roles.get(role, 0)} hosts with role {role} in each of {lanes} lanes, "
                f"expected {count}, as {paper} needs; {remedy}"
            )
