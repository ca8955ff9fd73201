"""`make papers`: checks, the workflow, and a second turn for papers whose budget ended, with the time that is left."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Mapping, Sequence

from whitewire import budget
from whitewire.budget import BUDGET_VARIABLE, Budget, time_in_words
from whitewire.design.rows import cell_of, claimed_cells, compared_cells
from whitewire.paths import root
from whitewire.records.checked import block_record
from whitewire.records.journal import BlockRecord, disturbed, left_of
from whitewire.records.reasons import BUDGET
from whitewire.workflow.ahead import interim_ahead
from whitewire.workflow.plan import GOES_ON, Plan, most_at_once
from whitewire.workflow.start import run_workflow
from whitewire.workflow.validation import validated

_LEAST_S = 180.0
"""Least seconds of a budget for a second turn: the start of a cluster takes half of them."""


def run_papers(options: Sequence[str]) -> int:
    """Check the configuration, run Snakemake with these options, and go on if time is left; returns the exit status.
    Raises UserError."""
    plan = validated()
    began, clock = time.time(), time.monotonic()
    status = run_workflow(options, again(plan))
    seconds = budget.seconds_of(plan.budget)
    left = seconds - (time.monotonic() - clock)
    if status or not _LEAST_S <= left < math.inf or not (blocks := cut_short(plan, began)):
        return status
    papers = dict.fromkeys(block.partition("/")[0] for block in blocks)
    print(f"papers: {time_in_words(left)} of the budget are left: going on with {', '.join(papers)}", file=sys.stderr)
    handed_on = _budget(Plan.load(again=True), blocks, clock + seconds, seconds)
    os.environ |= {GOES_ON: "yes", BUDGET_VARIABLE: handed_on.text()}
    return run_workflow(options, [plan.file_of(block) for block in blocks])


def again(plan: Plan) -> list[str]:
    """Files that a start makes anew: outdated ones, and with AGAIN the blocks that a busy machine disturbed."""
    if not os.environ.get("AGAIN"):
        return plan.outdated
    records = ((name, block_record(root() / name)) for name in plan.block_files)
    found = [name for name, record in records if record and disturbed((root() / name).parent, record)]
    if not found:
        print("whitewire: AGAIN=busy: found no run of these papers that a busy machine disturbed", file=sys.stderr)
    return [*plan.outdated, *found]


def _budget(plan: Plan, blocks: Mapping[str, BlockRecord], ends: float, seconds: float) -> Budget:
    """The budget of a start that goes on with blocks: the first block has all the time left, if it needs it."""
    whole = plan.whole()
    return Budget(
        ends, {block: plan.waiting.get(block, 0.0) for block in blocks}, dict.fromkeys(blocks, 0.0), seconds,
        max(1, min(plan.in_all[0], most_at_once(blocks, plan.in_turn))),
        {block: whole.get(block, 0.0) for block in blocks},
        {block: record["seconds"] for block, record in blocks.items()},
        {block: record["spent"] for block, record in blocks.items()},
    )  # fmt: skip


def cut_short(plan: Plan, began: float) -> dict[str, BlockRecord]:
    """Blocks (`<paper>/<block>`) that ended since a start `began`, with runs left to the budget that may decide a
    claim, and their block.json; by falling chance of a decision per second.

    The chance is that of the last interim analysis. The analysis at the end of a block spends the whole level and
    chooses nothing, so the next one has the whole level again.
    """
    found: dict[str, tuple[float, BlockRecord]] = {}
    for block in plan.blocks("{paper}/{block}"):
        path = root() / plan.file_of(block)
        record = block_record(path)
        if record and path.stat().st_mtime >= began and (worth := _worth(plan, block, record)):
            found[block] = worth, record
    return {block: record for block, (_, record) in sorted(found.items(), key=lambda each: -each[1][0])}


def _worth(plan: Plan, block: str, record: BlockRecord) -> float:
    """The largest chance per second that further runs of a block decide a claim for which the budget was too short; 0
    without any."""
    name = block.partition("/")[0]
    paper = plan.described[name].on(record["rung"])
    ended = {run_id for run_id, why in left_of(record).items() if why.code == BUDGET}
    # Cells of no claim come last, and no interim analysis waits for them.
    judged = claimed_cells(paper) | compared_cells(paper)
    late = [row for row in plan.designs[name] if row["run_id"] in ended and cell_of(paper, row) in judged]
    if not late:
        return 0.0
    interim = interim_ahead(plan, block, late)
    return interim.worth if any(cell_of(paper, row) in interim.near for row in late) else 0.0
