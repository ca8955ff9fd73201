"""A block on a small cluster: the Emulex paper's experiments with fewer hosts, puts and cells."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.limits import beside_others, wide
from whitewire.cluster import hdfs, yarn
from whitewire.cluster.hdfs import hdfs_settings
from whitewire.cluster.stack import Stack
from whitewire.cluster.yarn import yarn_settings
from whitewire.description import project
from whitewire.description.checks import load_paper
from whitewire.description.paper import Paper
from whitewire.description.testbed import load_testbed
from whitewire.design import durations
from whitewire.design.drive import Drive
from whitewire.design.rows import make_design
from whitewire.measure.block import Block
from whitewire.records.run import DesignRow
from whitewire.testbed.base import Testbed
from whitewire.testbed.emulated import software
from whitewire.testbed.emulated.sandbox import EmulatedTestbed
from whitewire.testbed.emulated.software import NAMENODE_IMAGE

BLOCK = 1 << 20
"""Bytes in a block of small_stack()'s HDFS."""


@contextmanager
def small_stack(
    logs: Path, clients: int, settings: Mapping[str, object] | None = None, slots: int | None = None
) -> Iterator[Stack]:
    """HDFS and YARN on three workers without modelled drives, at 1/100; `settings` beside the usual ones.

    A worker runs `slots` tasks at once, or as many as its memory holds.
    """
    description = copy.deepcopy(load_testbed("emulated"))
    description["memory"]["storage_gib"] = 2
    roles = {"namenode": 1, "datanode": 3, "client": clients}
    with EmulatedTestbed(description, roles, 100, software.binds()) as testbed:
        with stack_on(testbed, logs, settings, slots) as stack:
            yield stack


@contextmanager
def stack_on(
    testbed: Testbed, logs: Path, settings: Mapping[str, object] | None = None, slots: int | None = None
) -> Iterator[Stack]:
    """HDFS and YARN on the hosts of a testbed that is up; see small_stack()."""
    testbed.fabric("10gbe")
    installation = testbed.installation()
    values = hdfs_settings(testbed, BLOCK, 3, 65536)
    values |= yarn_settings(testbed, installation.configuration, slots=slots)
    below = hdfs.Hdfs(testbed, installation, values | dict(settings or {}), Drive.none(), logs, NAMENODE_IMAGE)
    stack = Stack(below, yarn.Yarn(below))
    try:
        stack.start()
        yield stack
    finally:
        stack.stop()


def one_of_each(paper: Paper, testbed: Mapping[str, Any]) -> dict[str, list[DesignRow]]:
    """Of each experiment its quickest cell, once, at the smallest effort that has the experiment; rows by effort."""
    found: dict[str, list[DesignRow]] = {}
    seen: set[str] = set()
    for effort in paper.raw["replicates"]:
        rows = make_design(paper, testbed, effort, 7)
        rows.sort(key=lambda row: durations.expected_seconds(paper, row, testbed))
        new = {row["experiment"]: row for row in reversed(rows) if row["experiment"] not in seen}
        seen |= set(new)
        if new:
            found[effort] = [{**row, "block": f"{effort}-1", "order": n} for n, row in enumerate(new.values(), start=1)]
    return found


def small_paper(effort: str = "smoke", replicates: int = 1) -> Paper:
    fabrics = load_testbed("emulated")["fabrics"]
    paper = load_paper(project.paper_path("emulex-2012"), fabrics)
    raw = copy.deepcopy(dict(paper.raw))
    wanted = ("put-grid", "rereplicate")
    raw["controls"] = []
    raw["experiments"] = [experiment for experiment in raw["experiments"] if experiment["id"] in wanted]
    for experiment in raw["experiments"]:
        experiment["roles"] = {"namenode": 1, "datanode": 4, "client": 2}
        experiment["parameters"]["clients"] = 2
        if experiment["id"] == "put-grid":
            experiment["factors"] = {"fabric": ["1gbe", "10gbe"], "clients": [1, 2], "puts_per_client": [2]}
            experiment.pop("smoke_cells", None)
        else:
            experiment["factors"] = {"fabric": ["10gbe"]}
            experiment["parameters"]["puts_per_client"] = 2
        experiment["replicates"] = dict.fromkeys(("smoke", "quick", "full"), replicates)
        experiment["efforts"] = [effort]
    raw["claims"] = []
    return Paper(raw, paper.path)


def small_block(
    folder: Path, effort: str = "smoke", replicates: int = 1, limits: Mapping[str, float] | None = None
) -> Block:
    """Five runs, each so many times; bounds that depend on how busy this machine is lie open, but for `limits`."""
    testbed = load_testbed("emulated")
    limits = wide(testbed["limits"]) | dict(limits or {})
    testbed = testbed | {"limits": limits, "memory": testbed["memory"] | {"storage_gib": 2}}
    paper, name = small_paper(effort, replicates), f"{effort}-1"
    rows = [row for row in make_design(paper, testbed, effort, 7) if row["block"] == name]
    return Block(paper, testbed, name, rows, folder)


if __name__ == "__main__":
    with beside_others():
        small_block(Path(sys.argv[1])).measure()
