"""The shape of a cell: all properties of its runs except for those that a claim compares. Compared cells must have the
same shape."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from whitewire import factors
from whitewire.description.paper import PLACES, Paper, hardware_of, tests_of
from whitewire.design.scale import scale_of
from whitewire.errors import UserError
from whitewire.estimands import estimand_of
from whitewire.levels import Cell
from whitewire.paths import shown

NOT_SHAPE = (*PLACES, "load_fabric")
"""Parameters that are not part of the shape, because claims compare them by name: places to which bytes go."""


def _of(paper: Paper, cell: Cell, effort: str, testbed: Mapping[str, Any]) -> dict[str, Any]:
    """Key → value of all properties of a cell's runs, except for networks and stores."""
    name, levels = cell
    experiment, scale = paper.experiments[name], scale_of(paper, name, effort, levels, testbed)
    drive = {f"drive.{key}": value for key, value in hardware_of(experiment, levels).items()}
    parameters = {key: value for key, value in paper.parameters(name, levels).items() if key not in NOT_SHAPE}
    for key, default in (("settings", "default"), ("offloads", "on"), ("switch_buffer_kib", "the testbed's")):
        parameters.setdefault(key, default)
    return parameters | drive | {
        "workload": experiment["workload"],
        "hosts": paper.roles(name, levels),
        "k": scale.k,
        "block bytes": scale.block_bytes,
        "file bytes": scale.file_bytes,
        "packet bytes": scale.packet_bytes,
        "processors may be short": experiment.get("cpu", "limit") == "report",
    }  # fmt: skip


def _differences(paper: Paper, one: Cell, other: Cell, effort: str, testbed: Mapping[str, Any],
                 compared: frozenset[str] = frozenset()) -> dict[str, tuple[Any, Any]]:  # fmt: skip
    """Key → both values, for differences between two cells that do not follow from their levels.

    `compared`: further keys in which they may differ, because the claim compares them.
    """
    named, follows = set(compared), factors.followed()
    for factor in {*one[1], *other[1]}:
        values = [paper.parameters(*cell).get(factor, cell[1].get(factor)) for cell in (one, other)]
        if values[0] != values[1]:
            named |= {factor, f"drive.{factor}", *follows.get(factor, ())}
    shapes = [_of(paper, cell, effort, testbed) for cell in (one, other)]
    keys = [key for key in dict.fromkeys([*shapes[0], *shapes[1]]) if key not in named]
    found = {key: (shapes[0].get(key), shapes[1].get(key)) for key in keys}
    return {key: values for key, values in found.items() if values[0] != values[1]}


def compared_in(paper: Paper) -> Iterator[tuple[str, Cell, Cell, frozenset[str]]]:
    """(claim's id, cell, cell, further compared keys) of every pair that a claim's test compares."""
    for claim in paper.claims:
        for test in tests_of(claim):
            for one, other in estimand_of(test).pairs():
                yield claim["id"], one, other, frozenset(test.get("compares", ()))


def check_shapes(paper: Paper, testbed: Mapping[str, Any]) -> None:
    """Raise UserError for the first two cells that a claim compares and whose shapes differ."""
    for effort in paper.raw.get("replicates", {}):
        for claim, one, other, compared in compared_in(paper):
            for key, values in _differences(paper, one, other, effort, testbed, compared).items():
                cells = " and ".join(f"{name} {_text(levels)}".strip() for name, levels in (one, other))
                raise UserError(
                    f"{shown(paper.path)}: claim {claim}: {cells}: {key}: found {_value(values[0])} and "
                    f"{_value(values[1])} at {effort} effort, expected one value, because only what the claim "
                    "compares may differ; give both cells one shape, or name the key under `compares`"
                )


def _text(levels: Mapping[str, Any]) -> str:
    return " ".join(map(str, levels.values()))


def _value(value: Any) -> str:
    return "none" if value is None else json.dumps(value, default=str)
