"""Nodes and minutes of blocks as jobs of a scheduler."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from whitewire.description.paper import Paper, without_servers
from whitewire.design.durations import all_overheads_seconds, expected_seconds
from whitewire.design.rows import levels_of
from whitewire.measure.overheads import FURTHER, OVERHEAD_RUNS
from whitewire.records.run import DesignRow

_START_S = 600
"""For each time that a block brings services up: probes, starts, warm-up."""
NO_NEEDS = (1, 60)
"""Nodes and minutes of a block that is not a scheduler's job; nobody reads them."""


@dataclass(frozen=True)
class JobNeeds:
    """Nodes and minutes of the job of each block, by paper and block; empty without a scheduler."""

    of: Mapping[tuple[str, str], tuple[int, int]] = field(default_factory=dict)

    def nodes(self, paper: str, block: str) -> int:
        """Nodes of a block's job."""
        return self.of.get((paper, block), NO_NEEDS)[0]

    def minutes(self, paper: str, block: str) -> int:
        """Minutes of a block's job."""
        return self.of.get((paper, block), NO_NEEDS)[1]

    @property
    def most_nodes(self) -> int:
        """Nodes of the job that measures links: as many as any paper's job has."""
        return max((nodes for nodes, _ in self.of.values()), default=NO_NEEDS[0])


def job_needs(paper: Paper, rows: Sequence[DesignRow], testbed: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Per block: the largest number of hosts of any experiment, and minutes, twice the expected ones."""
    found: dict[str, tuple[int, int]] = {}
    for block in dict.fromkeys(row["block"] for row in rows):
        own = [row for row in rows if row["block"] == block]
        hosts, starts = 0, set[tuple]()
        for row in own:
            levels = levels_of(paper, row)
            roles = without_servers(paper.roles(row["experiment"], levels))
            hosts = max(hosts, sum(roles.values()))
            starts.add((json.dumps(roles), levels.get("fabric"), levels.get("transport")))
        seconds = sum(expected_seconds(paper, row, testbed) for row in own)
        seconds += all_overheads_seconds(paper, own, testbed, OVERHEAD_RUNS + FURTHER)
        found[block] = hosts, math.ceil((2 * seconds + _START_S * len(starts)) / 60)
    return found
