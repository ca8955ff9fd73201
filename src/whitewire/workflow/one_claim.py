"""`make claim`: the cost of measuring one claim and the workflow for it; a claim without runs is answered at once."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from whitewire.analysis import judging, one_claim
from whitewire.analysis.analyse import model_runs, write_analysis
from whitewire.analysis.claims import INCONCLUSIVE, NOT_TESTABLE
from whitewire.analysis.one_claim import claim_of
from whitewire.analysis.runs import Runs, on_testbed, status_on
from whitewire.analysis.so_far import as_read
from whitewire.description import names
from whitewire.description.names import check_variables
from whitewire.description.paper import Paper
from whitewire.description.testbed import load_testbed
from whitewire.design.rows import cell_of, write_csv
from whitewire.errors import UserError
from whitewire.install.doctor import preflight
from whitewire.paths import root, temporary
from whitewire.records.checked import block_record
from whitewire.report import one_claim as said
from whitewire.report.one_claim import known_numbers, verdict_lines
from whitewire.tidy.tables import tidy_paper
from whitewire.workflow.ahead import interim_ahead, outlook_of
from whitewire.workflow.plan import Plan
from whitewire.workflow.start import run_workflow


def run_claim(options: Sequence[str]) -> int:
    """Print the cost of the claim in the environment and measure it with these options of Snakemake, or print its
    answer if no run is needed. Returns the exit status. Raises UserError."""
    check_variables({names.CLAIM: "", **os.environ})
    plan = Plan.load()
    testbed = load_testbed(plan.testbed)
    (paper,) = plan.described.values()
    if answer := list(answered(plan, paper, testbed)):
        print(*answer, sep="\n")
        return 0
    preflight(testbed)
    print(f"{plan.claim} of {paper.id}: {outlook_of(plan, testbed)}")
    return run_workflow(["claim", *options], [*plan.outdated, *plan.block_files])


def answered(plan: Plan, paper: Paper, testbed: Mapping[str, Any]) -> Iterator[str]:
    """The answer for a claim that needs no measurement; empty for another one."""
    if row := without_runs(paper, testbed, plan.effort, plan.claim):
        yield from verdict_lines(paper, plan.claim, known_numbers(row))
        return
    if why := one_claim.why_not_made(paper, plan.claim, plan.effort):
        yield f"{plan.claim}: {why}"
        return
    row = judged_now(plan, paper, testbed)
    if row and not (row["verdict"] == INCONCLUSIVE and makes_runs(plan, paper)):
        yield from verdict_lines(paper, plan.claim, row)


def makes_runs(plan: Plan, paper: Paper) -> bool:
    """Whether a start for the plan's claim would make a run. Of those that finished blocks lack, its first interim
    analysis leaves out what neither the claim nor its controls need."""
    lacking = plan.lacking[paper.id]
    for block in dict.fromkeys(row["block"] for row in lacking):
        rows = [row for row in lacking if row["block"] == block]
        needed = interim_ahead(plan, f"{paper.id}/{block}", rows, plan.claim).cells
        if any(cell_of(paper, row) in needed for row in rows):
            return True
    return False


def judged_now(plan: Plan, paper: Paper, testbed: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The row of verdicts.csv for the paper as it is now, from the runs of its blocks at this effort.

    An existing verdicts.csv may be of another effort, design or tolerance. None if a block is not finished or has
    another design.
    """
    raw = root() / "results" / plan.testbed / paper.id / "raw"
    if not all(block_record(raw / row["block"] / "block.json") for row in plan.designs[paper.id]):
        return None
    with tempfile.TemporaryDirectory(prefix="claim-", dir=temporary()) as folder:
        results = Path(folder, plan.testbed, paper.id)
        write_csv(plan.designs[paper.id], paper, results / "design.csv")
        (results / "raw").symlink_to(raw)
        try:
            tidy_paper(paper.id, results)
            write_analysis(paper, testbed, results, plan.seed, plan.budget)
        except UserError:  # the block says so before it is measured further
            return None
        return said.row_of(results.parent, paper.id, plan.claim)


def without_runs(paper: Paper, testbed: Mapping[str, Any], effort: str, name: str) -> Mapping[str, Any] | None:
    """The row of verdicts.csv for a claim that needs no run on this testbed; None for a claim that runs judge."""
    claim, status = claim_of(paper, name), status_on(testbed)
    alone = replace(paper, raw={**paper.raw, "claims": [claim]})
    runs = on_testbed(alone, testbed, effort, *as_read(alone, [], []))
    modelled = None
    if "modelled" in claim["routes"] and status not in claim["routes"]:
        modelled = Runs(model_runs(paper, testbed["fabrics"]), paper)
    (row,) = judging.claims_judged(alone, runs, status, (), modelled)
    return row if row["route"] != status or row["verdict"] == NOT_TESTABLE else None
