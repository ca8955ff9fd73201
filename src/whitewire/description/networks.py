"""Checks that runs can have the links, hosts and named drives of an experiment."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from whitewire.description.paper import SHARED_DRIVES, TURNS_OFF, cells_of, hardware_of
from whitewire.estimands.base import Problem

SHARES = {"slow_host": (0.01, 1), "slow_drives": (0.01, 1), "cross_traffic": (0, 0.95)}
LEAST_MTU, MOST_MTU = 576, 9000


def problems_of_networks(experiment: Mapping[str, Any], fabrics: Collection[str]) -> Iterator[Problem]:
    """Every fault, in the order of the keys; `fabrics` are the testbed's, with their descriptions where it has some."""
    hardware = experiment.get("hardware", {})
    for name, key, level in _asked(experiment):
        number = level if isinstance(level, int | float) and not isinstance(level, bool) else None
        if name == "mtu" and not (isinstance(level, int) and number and LEAST_MTU <= number <= MOST_MTU):
            yield key, level, f"bytes of an IP packet, a whole number from {LEAST_MTU} to {MOST_MTU}", ()
        if name in SHARES and (number is None or not SHARES[name][0] <= number <= SHARES[name][1]):
            yield key, level, "a share from {} to {}".format(*SHARES[name]), ()
        if name in ("drive", "intermediate_drive"):
            none = [SHARED_DRIVES] if name == "intermediate_drive" else []
            drives = [*hardware.get("drives", {}), *none]
            if level not in drives:
                yield key, level, " or ".join(["a key of hardware.drives", *none]), drives
        if name in TURNS_OFF and not (TURNS_OFF[name] in hardware and drives_modelled(experiment)):
            yield key, level, f"hardware.{TURNS_OFF[name]} beside a drive, which {name} turns off", ()
        if name == "slow_drives" and not drives_modelled(experiment):
            yield key, level, "hardware, whose drives can be slow", ()
    yield from _of_networks(experiment, fabrics)


def drives_modelled(experiment: Mapping[str, Any]) -> bool:
    """Whether every cell has drives; those of `hardware.drives` are chosen by name."""
    return all(hardware_of(experiment, cell) for cell in cells_of(experiment))


def _of_networks(experiment: Mapping[str, Any], fabrics: Collection[str]) -> Iterator[Problem]:
    described = fabrics if isinstance(fabrics, Mapping) else {}
    wanted = {name for name, _, _ in _asked(experiment)}
    nodes = experiment["factors"].get("nodes", [experiment["roles"].get("datanode", 0)])
    for name, key, level in _asked(experiment):
        if name != "fabric" or level not in described:
            continue
        racks, shared = described[level].get("racks"), described[level].get("shared")
        if "cross_traffic" in wanted and not racks:
            near = f"a network with racks, such as {level}-2racks-4to1, for cross_traffic: a switch keeps others' apart"
            yield key, level, near, ()
        if "mtu" in wanted and shared:
            yield key, level, "a network with a switch: frames on a shared segment have one size", ()
        if racks and any(count < racks["count"] for count in nodes):
            yield key, level, f"at least a worker in each rack ({min(nodes)} workers, {racks['count']} racks)", ()


def _asked(experiment: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """(name, key, level) of every level of a factor, and of every parameter that none replaces."""
    for name, levels in experiment["factors"].items():
        for level in levels:
            yield name, f".factors.{name}", level
    for name, value in experiment["parameters"].items():
        if name in experiment["factors"]:
            continue
        yield name, f".parameters.{name}", value
