"""Runs that a start has to make: which rows of designs, their time, and the turn of their blocks."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from whitewire.description.paper import Paper
from whitewire.design.durations import all_overheads_seconds, expected_seconds
from whitewire.estimands import estimand_of
from whitewire.measure.overheads import OVERHEAD_RUNS
from whitewire.paths import root
from whitewire.records.checked import block_record
from whitewire.records.journal import BlockRecord, disturbed, left_of
from whitewire.records.run import DesignRow

START_UP_S = 60.0
"""Seconds that a block's start usually takes: probes, services, warm-up."""


def lacking(results: Path, rows: Sequence[DesignRow], again: bool = False, seconds: float | None = None
            ) -> list[DesignRow]:  # fmt: skip
    """Rows whose runs are still to be made, by a start with a budget in seconds.

    A finished block with all rows of the design lacks none. Exceptions are the runs that it left to another start: with
    `again`, if AGAIN asks for disturbed runs and the block has some, or if goes_on_with() says so.
    """
    found = []
    for block in dict.fromkeys(row["block"] for row in rows):
        own = [row for row in rows if row["block"] == block]
        finished = block_record(results / "raw" / block / "block.json")
        if finished and {row["run_id"] for row in own} <= {*finished["runs"]}:
            busy = disturbed(results / "raw" / block, finished) if os.environ.get("AGAIN") else []
            left = left_of(finished)
            continued = again or busy or goes_on_with(finished, seconds)
            later = {name for name, why in left.items() if continued and why.kind.again}
            own = [row for row in own if row["run_id"] in later.union(busy)]
        found += [row for row in own if not _journalled(results, row)]
    return found


def _journalled(results: Path, row: DesignRow) -> bool:
    return (results / "raw" / str(row["block"]) / "runs" / str(row["run_id"]) / "run.json").is_file()


def goes_on_with(record: BlockRecord, seconds: float | None) -> bool:
    """Whether a start goes on with a finished block, because in the last start a cluster failed, or because that start
    was for a single claim or had another budget."""
    left = [why for why in left_of(record).values() if why.kind.again]
    had = record["start_budget_seconds"]
    other = seconds is not None and seconds != (math.inf if had is None else had)
    return bool(left) and (other or any(why.kind.any_budget for why in left))


def by_block(designs: Mapping[str, Sequence[DesignRow]], name: str, again: bool = False, seconds: float | None = None
             ) -> dict[str, list[DesignRow]]:  # fmt: skip
    """Missing rows of a testbed's blocks, by `<paper>/<block>`; see `lacking`."""
    found: dict[str, list[DesignRow]] = {}
    for paper, rows in designs.items():
        for row in lacking(root() / "results" / name / paper, rows, again, seconds):
            found.setdefault(f"{paper}/{row['block']}", []).append(row)
    return found


def waiting(papers: Mapping[str, Paper], lacking: Mapping[str, Sequence[DesignRow]], testbed: Mapping[str, Any]
            ) -> dict[str, float]:  # fmt: skip
    """Blocks that lack runs, with the seconds that these should take, in the order of measuring.

    The shortest paper comes first, for an early report; then papers with the most claims for their time, so that a
    budget that ends early leaves few of them without a verdict. Runs after the first interim analysis do not count
    here: they are made as far as time allows.
    """
    found: dict[str, dict[str, float]] = {}
    for block, rows in lacking.items():
        paper = block.partition("/")[0]
        found.setdefault(paper, {})[block] = seconds_lacking(papers[paper], least(papers[paper], rows), testbed)
    times = {paper: sum(blocks.values()) for paper, blocks in found.items()}
    shortest = min(times, key=lambda paper: times[paper], default="")
    order = sorted(times, key=lambda paper: (paper != shortest, times[paper] / max(1, by_runs(papers[paper]))))
    return {block: seconds for paper in order for block, seconds in found[paper].items()}


def seconds_by_block(papers: Mapping[str, Paper], lacking: Mapping[str, Sequence[DesignRow]], testbed: Mapping[str, Any]
          ) -> dict[str, float]:  # fmt: skip
    """Expected seconds of all missing runs, by block."""
    return {block: seconds_lacking(papers[block.partition("/")[0]], rows, testbed) for block, rows in lacking.items()}


def least(paper: Paper, rows: Sequence[DesignRow]) -> list[DesignRow]:
    """Rows that no interim analysis can drop: those before the first one."""
    analyses = {effort: paper.analyses(effort) for effort in {row["effort"] for row in rows}}
    return [row for row in rows if not analyses[row["effort"]] or row["replicate"] <= analyses[row["effort"]][0]]


def by_runs(paper: Paper) -> int:
    """Number of a paper's claims that rest on runs."""
    return sum(1 for claim in paper.claims if "test" in claim and estimand_of(claim["test"]).needed())


def seconds_lacking(paper: Paper, rows: Sequence[DesignRow], testbed: Mapping[str, Any]) -> float:
    """Expected seconds of runs and their overhead runs, with the start before them."""
    if not rows:
        return 0.0
    runs = sum(expected_seconds(paper, row, testbed) for row in rows)
    return START_UP_S + runs + all_overheads_seconds(paper, rows, testbed, OVERHEAD_RUNS)
