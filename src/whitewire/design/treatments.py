"""Checks before measuring that the levels of a paper's factors result in different runs, which can prove them.

Otherwise a claim that compares two cells would be judged on a treatment that never happened.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whitewire import factors
from whitewire.description.faults import fault
from whitewire.description.paper import TURNS_OFF, Paper, cells_of, hardware_of
from whitewire.description.transports import TCP, check_transports, find_transport
from whitewire.design import rows
from whitewire.design.drive import Drive
from whitewire.design.scale import Scale, scale_of
from whitewire.errors import UserError
from whitewire.paths import shown
from whitewire.records.samples import MTU
from whitewire.text import canonical
from whitewire.workloads import workload_of

BY_NAME = {
    "settings", "store", "nodes", "drive", "intermediate_drive", "transport",
    *TURNS_OFF, *rows.FABRICS, *factors.DRIVE,
}  # fmt: skip
"""Factors whose levels are only names; the values that they stand for are compared instead."""
THROUGH_SCALE = {name for name, follows in factors.followed().items() if any("bytes" in of for of in follows)}
"""Factors that act through the scale only."""
_LEFT_OUT = BY_NAME | THROUGH_SCALE
_LEVELS = "levels that change the run"


def check_treatments(paper: Paper, testbed: Mapping[str, Any]) -> None:
    """Raise UserError for the first two cells that result in the same run, the first block that is never filled, or the
    first level that no run can prove."""
    for number, experiment in enumerate(paper.raw.get("experiments", [])):
        key = f"experiments[{number}] ({experiment['id']})"
        check_transports(testbed, experiment, f"{shown(paper.path)}: {key}")
        _check_local_puts(paper, experiment, testbed, key)
        for effort in experiment.get("efforts", paper.raw["replicates"]):
            _check(paper, experiment, effort, testbed, f"{shown(paper.path)}: {key}.factors")


def _check_local_puts(paper: Paper, experiment: Mapping[str, Any], testbed: Mapping[str, Any], key: str) -> None:
    """UserError for puts over larger frames or RDMA whose data cross no link."""
    for cell in cells_of(experiment):
        parameters = paper.parameters(experiment["id"], cell)
        if not factors.on_datanodes(parameters) or factors.parameter(parameters, "replication") > 1:
            continue
        transport = find_transport(testbed, parameters.get("transport", TCP))  # none: RDMA, which this testbed lacks
        over_tcp = transport is not None and transport.kind == TCP
        for name, proved in (("mtu", parameters.get("mtu", MTU) <= MTU), ("transport", over_tcp)):
            if proved:
                continue
            place = "factors" if "put_from" in cell else "parameters"
            beside = f"beside {name} {parameters[name]}, which data that cross no link cannot prove"
            expected = f"client, or replication of at least 2, {beside}"
            raise fault(paper, f"{key}.{place}.put_from", parameters["put_from"], expected)


def _check(paper: Paper, experiment: Mapping[str, Any], effort: str, testbed: Mapping[str, Any], key: str) -> None:
    made: dict[str, dict[str, Any]] = {}
    for levels in cells_of(experiment):
        if rows.why_impossible(paper, experiment["id"], levels, testbed):
            continue
        scale = scale_of(paper, experiment["id"], effort, levels, testbed)
        _check_block(paper, experiment, levels, scale, f"{key}.block_size_bytes", effort)
        run = canonical(_really(paper, experiment, effort, levels, testbed, scale))
        if run in made:
            factor = next(factor for factor in levels if levels[factor] != made[run][factor])
            expected = "fabrics that the testbed's file sets apart" if factor in rows.FABRICS else _LEVELS
            raise UserError(
                f"{key}.{factor}: found {made[run][factor]} and {levels[factor]}, which come out as the same run at "
                f"{effort} effort ({_size(scale)}), expected {expected}"
            )
        made[run] = levels


def _really(paper: Paper, experiment: Mapping[str, Any], effort: str, levels: Mapping[str, Any],
            testbed: Mapping[str, Any], scale: Scale) -> dict[str, Any]:  # fmt: skip
    """All that defines a run of a cell; factors that act through the scale only are represented by the scale."""
    found = rows.defining(paper, experiment["id"], effort, levels, testbed)
    hardware = hardware_of(experiment, levels)
    named = [found["parameters"][name] for name in rows.FABRICS if name in found["parameters"]]
    networks = [testbed["fabrics"].get(name) for name in named]
    return {
        **found,
        "parameters": {name: value for name, value in found["parameters"].items() if name not in _LEFT_OUT},
        "factors": {name: level for name, level in levels.items() if name not in _LEFT_OUT},
        "drive": Drive.scaled(hardware, scale.k, "", scale.data_fraction).record if found["drive"] else {},
        "testbed": {**found["testbed"], "fabrics": networks},
    }


def _check_block(paper: Paper, experiment: Mapping[str, Any], levels: Mapping[str, Any], scale: Scale, key: str,
                 effort: str) -> None:  # fmt: skip
    if "block_size_bytes" not in experiment["factors"]:
        return
    each = workload_of(experiment["workload"]).file_bytes(scale.file_bytes, paper.parameters(experiment["id"], levels))
    if each < scale.block_bytes:
        raise UserError(
            f"{key}: found {levels['block_size_bytes']}, a block of {scale.block_bytes} bytes here, which files of "
            f"{each:.0f} bytes at {effort} effort never fill, expected larger files or smaller blocks"
        )


def _size(scale: Scale) -> str:
    return f"{scale.file_bytes} bytes in blocks of {scale.block_bytes}"
