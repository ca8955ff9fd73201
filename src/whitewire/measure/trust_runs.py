"""The measurements of each part of the stage `trust`."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whitewire import atomic
from whitewire.budget import Allowance
from whitewire.description.paper import Paper
from whitewire.design import synthetic
from whitewire.errors import UserError
from whitewire.measure import trust_plan
from whitewire.measure.block import Block
from whitewire.measure.engine import NEVER, Deadline
from whitewire.measure.load import under
from whitewire.measure.neighbours import Ended, neighbours
from whitewire.measure.trust_links import LinkRounds
from whitewire.measure.trust_plan import at_candidate, ratio_paper
from whitewire.paths import shown
from whitewire.progress import Pulse
from whitewire.records import trust as records
from whitewire.records.run import DesignRow
from whitewire.records.trust import LOADS_FILE

_BESIDE = ".beside"
"""Folder below that of the part `lanes`, for the results of other lanes; it is not part of the record."""


@dataclass(frozen=True)
class Start:
    """One start of a part: whole units to make in its folder, and the papers whose cells they are."""

    config: Mapping[str, Any]
    folder: Path
    units: int
    papers: Sequence[Paper]
    deadline: Deadline
    progress: Pulse
    lanes: Sequence[int] = ()
    """Numbers of lanes that one lane is compared with."""


def _links(start: Start) -> int:
    return LinkRounds(start.config, start.folder, start.progress, start.deadline).make(start.units)


def ratio(start: Start) -> int:
    paper = ratio_paper(start.units, start.config, start.folder)
    return _measured(_block(start, paper, synthetic.all_rows(paper, start.config), start.folder), group, start.units)


def _same(start: Start) -> int:
    made = []
    for paper in start.papers:
        own = synthetic.same(paper, start.units)
        block = _block(start, own, synthetic.of_controls(own, start.config), start.folder / paper.id)
        made.append(_measured(block, group, start.units))
    return min(made)


def scales(start: Start) -> int:
    return min(on_scales(paper, start.config, synthetic.RUNS, start.units, start.folder / paper.id, start.deadline)
               for paper in start.papers)  # fmt: skip


def _load(start: Start) -> int:
    paper = ratio_paper(math.ceil(start.units / synthetic.RUNS), start.config, start.folder)
    rows, loads = synthetic.loaded(synthetic.of_fastest(paper, start.config, start.units), trust_plan.LOADS)
    atomic.write(start.folder / LOADS_FILE, atomic.as_json(loads))
    block = _block(start, paper, rows, start.folder, around=under(loads), attempts=1, raises_k=False)
    return _measured(block, lambda row: row["replicate"], start.units)


def lanes(start: Start) -> int:
    """Measure the same cells alone and beside other lanes, in turn."""
    shutil.rmtree(start.folder / _BESIDE, ignore_errors=True)
    for turn in range(start.units):
        for paper in start.papers:
            for count in trust_plan.of_turn(start.lanes, turn):
                if not _made_beside(start, paper, count, start.folder / paper.id / f"{count}-{turn}"):
                    return turn
    return start.units


def _made_beside(start: Start, paper: Paper, count: int, folder: Path) -> bool:
    """Make the missing runs of a block that is one of `count` lanes; returns whether the block is complete.

    If another lane ends meanwhile, no run of the block is kept: nothing records which ones were beside it.
    """
    rows = synthetic.of_kinds(paper, start.config, synthetic.RUNS)
    block = _block(start, paper, rows, folder, raises_k=False)
    lacking = any(not block.journal.has(row["run_id"]) for row in rows)
    if lacking and not start.deadline.left():
        return False
    if lacking and count > (most := max(trust_plan.lane_numbers(), default=1)):
        found = f"found memory and processors for {most} lane{'s' if most > 1 else ''}"
        raise UserError(f"{found}, expected for {count} as when it began; end other programs, or remove "
                        f"{shown(start.folder)}")  # fmt: skip
    start.progress.say(f"lanes: {paper.id} in {count} lane{'s' if count > 1 else ''}")
    try:
        with neighbours(paper, start.config, count - 1 if lacking else 0, start.folder / _BESIDE):
            return _measured(block, lambda _: 1, 1) == 1
    except Ended:
        shutil.rmtree(folder)
        raise


def order(start: Start) -> int:
    """Measures nothing: the tables use all existing runs."""
    return start.units


MAKES: dict[str, Callable[[Start], int]] = {
    records.LINKS: _links, records.RATIO: ratio, records.SAME: _same, records.SCALES: scales, records.LOAD: _load,
    records.LANES: lanes, records.ORDER: order,
}  # fmt: skip
"""Functions of the parts; each returns the number of its complete units."""


def _block(start: Start, paper: Paper, rows: Sequence[DesignRow], folder: Path, **other: Any) -> Block:
    return block_of(paper, start.config, rows, folder, start.deadline, **other)


def block_of(paper: Paper, testbed: Mapping[str, Any], rows: Sequence[DesignRow], folder: Path, deadline: Deadline,
             **other: Any) -> Block:  # fmt: skip
    """A block of these rows below a folder, which begins no run after the deadline."""
    made = folder / synthetic.BLOCK
    made.mkdir(parents=True, exist_ok=True)
    allowance = Allowance(deadline.left, deadline.left)
    return Block(paper, testbed, synthetic.BLOCK, rows, made, allowance=allowance, **other)


def on_scales(paper: Paper, testbed: Mapping[str, Any], runs: int, turns: int, folder: Path,
              deadline: Deadline = NEVER) -> int:  # fmt: skip
    """Measure the cells of smoke effort, `runs` runs each, at each scale candidate of a paper in turn, `turns` times.

    Alternating keeps drift from being confounded with k. Each scale candidate has its own start of the cluster, and
    finished blocks are not made again. Returns the number of complete turns.
    """
    for turn in range(turns):
        for candidate in range(paper.candidate_count):
            own = at_candidate(paper, candidate)
            rows = synthetic.of_smoke(own, testbed, runs)
            block = block_of(own, testbed, rows, folder / f"rung{candidate}-{turn}", deadline)
            if _measured(block, lambda _: 1, 1) < 1:
                return turn
    return turns


def _measured(block: Block, unit_of: Callable[[DesignRow], int], units: int) -> int:
    """Make the missing runs of a block; returns how many of its units are complete, counted from the first.

    `unit_of`: the number of a row's unit, from 1. A unit is incomplete if one of its runs was left out: for want of
    time, or because other programs used the processors.
    """
    block.measure()
    return min((unit_of(row) - 1 for row in block.rows if row["run_id"] in block.left), default=units)


def group(row: DesignRow) -> int:
    """The number of a run's group."""
    return (row["replicate"] - 1) // synthetic.RUNS + 1
