"""What a start would measure and how long that takes: `whitewire plan`, and the first lines of a start."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from whitewire import budget
from whitewire.analysis.interim import Interim
from whitewire.analysis.prospects import prospect_lines
from whitewire.analysis.so_far import judge_so_far
from whitewire.budget import time_in_words
from whitewire.description.capabilities import capabilities_of
from whitewire.description.paper import Paper
from whitewire.description.testbed import load_testbed
from whitewire.design.rows import by_cell, cells_of_rows, effort_of, hosts_of_rows
from whitewire.levels import CellId
from whitewire.measure.block_plan import BlockPlan
from whitewire.measure.paper_runs import PaperRuns
from whitewire.measure.services import unavailable_runs
from whitewire.paths import root, start_command
from whitewire.records.checked import block_record
from whitewire.records.journal import not_made
from whitewire.records.reasons import BUDGET, OTHERS, Reason, failures
from whitewire.records.run import DesignRow
from whitewire.report import comparison
from whitewire.report.one_claim import verdict_rows
from whitewire.workflow import speed
from whitewire.workflow.missing import START_UP_S, lacking, least, seconds_lacking
from whitewire.workflow.outlook import outlook_lines
from whitewire.workflow.plan import Plan

REPORT_S = 40.0
"""Seconds from a paper's last run to its report."""
MADE = "all runs are made"
NO_RUNS = "no runs to make: none of these papers' experiments can run on this testbed"


def print_plan() -> None:
    """Print what would be measured, how much of it is done, and the time for the rest."""
    plan = Plan.load()
    testbed = load_testbed(plan.testbed)
    at_once = f", {plan.lanes} blocks at once" if plan.lanes > 1 else ""
    print(f"testbed {plan.testbed}, effort {plan.effort}, seed {plan.seed}{at_once}")
    print(outlook_of(plan, testbed))
    within, (low, high, _) = budget.seconds_of(plan.budget), speed.pace(root() / "results" / plan.testbed)
    for name, paper in plan.described.items():
        left = lacking(root() / "results" / plan.testbed / name, plan.designs[name], seconds=within)
        blocks = len({row["block"] for row in plan.designs[name]})
        plural = "s" if blocks != 1 else ""
        total = len(plan.designs[name])
        print(
            f"{name}: {total} runs in {blocks} block{plural}, {total - len(left)} done, {len(left)} to measure"
            + (f", {_about(*_here(plan, name, left, testbed, (low, high)))}" if left else "")
            + f"; hosts: {_hosts(paper, plan.designs[name], testbed)}"
        )
        for line in outlook_lines(paper, plan.designs[name], testbed):
            print(line)
        for line in _claims_ahead(plan, name, testbed, (low, high)):
            print(line)
        for line in plan.left_out[name]:
            print(f"  left out: {line}")


def _claims_ahead(plan: Plan, name: str, testbed: Mapping[str, Any], paces: tuple[float, float]) -> Iterator[str]:
    """What would decide each open claim here."""
    paper, rows = plan.described[name], plan.designs[name]
    if not paper.experiments:
        return
    judged = _judged(root() / "results" / plan.testbed / name, plan.effort)
    analyses = paper.analyses(plan.effort)
    ends = _here(plan, name, rows, testbed, paces)[1] <= budget.seconds_of(plan.budget)
    yield from prospect_lines(
        paper, testbed, plan.effort, judged, analyses[-1] if ends else analyses[0], sum(paces) / 2,
        _unavailable(paper, testbed, plan.effort, rows),
    )  # fmt: skip


def _unavailable(paper: Paper, testbed: Mapping[str, Any], effort: str, rows: Sequence[DesignRow]) -> dict[CellId, str]:
    """Cells that this machine cannot make, and why, so far as that is known before hosts are asked."""
    cells, of_block = cells_of_rows(paper, rows), BlockPlan(paper, testbed, effort)
    one_each = {cells[row["run_id"]]: row for row in rows}.values()
    found = unavailable_runs(testbed, [*map(of_block.run, one_each)])
    return by_cell(cells, {run_id: why for lost, why in found for run_id in lost})


def _judged(results: Path, effort: str) -> list[dict[str, Any]] | None:
    """A paper's verdicts; None if there are none, or only from runs of another effort. Raises UserError."""
    runs = comparison.read_table(results / "tidy" / "runs.csv", ("block",), needed=False)
    if runs.empty or effort_of(runs["block"].iloc[0]) != effort:
        return None
    columns = ("claim", "verdict", "minutes", "chance", "claim_command")
    return list(verdict_rows(results / "analysis" / "verdicts.csv", columns)) or None


def interim_ahead(plan: Plan, block: str, late: Sequence[DesignRow], only: str = "") -> Interim:
    """The first interim analysis of a start that goes on with a finished block (`<paper>/<block>`) to make the runs
    `late`; `only`: the claim for which it does."""
    path = root() / plan.file_of(block)
    record = block_record(path)
    assert record, "the block is finished"
    name = block.partition("/")[0]
    paper, rows, testbed = plan.described[name].on(record["rung"]), plan.designs[name], load_testbed(plan.testbed)
    runs = PaperRuns(BlockPlan(paper, testbed, plan.effort), path.parent, rows)
    first = min(runs.numbers[row["run_id"]] for row in late)
    seen = max((number for number in paper.analyses(plan.effort) if number < first), default=0)
    lost = by_cell(cells_of_rows(paper, rows), record["unavailable"])
    return judge_so_far(paper, testbed, path.parent, runs.seen(seen), lost, only=only)


def outlook_of(plan: Plan, testbed: Mapping[str, Any]) -> str:
    """Number of runs that a start has to make, and their expected time here, in one line."""
    if not any(plan.designs[name] for name in plan.described):
        return NO_RUNS
    results = root() / "results" / plan.testbed
    left = {name: rows for name, rows in plan.lacking.items() if rows}
    if not left:
        return "; ".join([MADE, *_not_made(plan, results)])
    low, high, source = speed.pace(results)
    blocks = [_by_block(plan, name, rows, testbed, (low, high)) for name, rows in left.items()]
    papers = [_sums(each) for each in blocks]
    within = budget.seconds_of(plan.budget)
    # Lanes that share processors make rounds of a block that no other block needs them for.
    times = papers if plan.in_turn else [each for own in blocks for each in own]
    count = max(plan.lanes, plan.in_all[0]) if plan.in_turn else plan.lanes
    shortest, soonest = min(low for low, _ in papers), _side_by_side([low for low, _ in times], plan.lanes)
    shorter, longer = (_side_by_side(each, plan.lanes) for each in zip(*times, strict=True))
    ends = (min(within, each) for each in (shorter * plan.lanes / count, longer))
    took = " to ".join(dict.fromkeys(map(time_in_words, ends)))
    runs = sum(map(len, left.values()))
    side_by_side = f"{count} lane{'s' if count > 1 else ''}"
    work = f"at most {runs} runs to make: about {took} of measuring on {side_by_side} ({source})"
    limit = f", which ends after {plan.budget} (BUDGET)" if math.isfinite(within) else ""
    if within < soonest:
        first = f"the {time_in_words(soonest)} that first interim analyses of all claims take"
        limit += f", before {first}: the last papers may have none"
    first = "verdict" if plan.claim else "first report"
    return f"{work}{limit}; {first} after about {time_in_words(min(shortest, within) + REPORT_S)}"


def _not_made(plan: Plan, results: Path) -> Iterator[str]:
    """Runs that remain although this start has none to make, and the variable that makes them."""
    named = [results / block for block in plan.blocks("{paper}/raw/{block}")]
    records = ((folder, record) for folder in named if (record := block_record(folder / "block.json")))
    found = sum((not_made(folder, record) for folder, record in records), Counter[Reason]())
    if short := found[Reason(BUDGET)]:
        yield f"the budget ended before {short} more: another BUDGET makes them"
    if busy := found[Reason(OTHERS)]:
        yield f"a busy machine disturbed {busy} more: AGAIN=busy makes them"
    for why in failures(found):
        yield f"{found[why]} more were not made, because {why}; {start_command()} tries them again"


def _here(plan: Plan, name: str, rows: Sequence[DesignRow], testbed: Mapping[str, Any],
          paces: tuple[float, float]) -> tuple[float, float]:  # fmt: skip
    """(least, most) seconds that rows of a paper take here, one block after the other."""
    return _sums(_by_block(plan, name, rows, testbed, paces))


def _by_block(plan: Plan, name: str, rows: Sequence[DesignRow], testbed: Mapping[str, Any],
              paces: tuple[float, float]) -> list[tuple[float, float]]:  # fmt: skip
    """(least, most) seconds that rows of a paper take here, for each block: at the lower pace if the first interim
    analysis decides all claims, at the higher pace if it decides none."""
    paper = plan.described[name]
    blocks = [[row for row in rows if row["block"] == block] for block in dict.fromkeys(row["block"] for row in rows)]

    def here(made: Sequence[DesignRow], pace: float) -> float:
        return START_UP_S + pace * (seconds_lacking(paper, made, testbed) - START_UP_S) if made else 0.0

    return [(here(least(paper, own), paces[0]), here(own, paces[1])) for own in blocks]


def _sums(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return sum(low for low, _ in pairs), sum(high for _, high in pairs)


def _side_by_side(seconds: Sequence[float], lanes: int) -> float:
    """Seconds of papers on several lanes; each lane takes the next paper when it is free."""
    ends = [0.0] * lanes
    for each in seconds:
        ends[ends.index(min(ends))] += each
    return max(ends)


def _about(low: float, high: float) -> str:
    """`about 5 to 9 min`, of seconds."""
    ends = dict.fromkeys(str(max(1, round(seconds / 60))) for seconds in (low, high))
    return f"about {' to '.join(ends)} min"


def _hosts(paper: Paper, rows: Sequence[DesignRow], testbed: Mapping[str, Any]) -> str:
    """Hosts of each role that the runs need at most: `1 namenode, 5 datanode, 1 client`."""
    most = hosts_of_rows(paper, rows, servers=capabilities_of(testbed).starts_file_system)
    return ", ".join(f"{count} {role}" for role, count in most.items())
