"""What measuring one claim takes, before it begins; a claim that needs no runs is answered at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from whitewire.analysis import judging, one_claim
from whitewire.analysis.analyse import model_runs
from whitewire.analysis.claims import INCONCLUSIVE, NOT_TESTABLE
from whitewire.analysis.runs import Runs, on_testbed, status_on
from whitewire.analysis.so_far import as_read
from whitewire.description import names
from whitewire.description.paper import Paper
from whitewire.description.testbed import load_testbed
from whitewire.install.doctor import preflight
from whitewire.paths import root
from whitewire.records.checked import block_record
from whitewire.report import one_claim as said
from whitewire.workflow.plan import Plan, outlook_of

BLOCKS = "results/{testbed}/{{paper}}/raw/{{block}}/block.json"


def print_claim() -> None:
    """Say what the claim of the environment takes, or its answer where nothing is to be measured; for `snakemake
    --forcerun` the block.json files of its paper. Raises UserError."""
    names.check({names.CLAIM: "", **os.environ})
    plan = Plan.load()
    testbed = load_testbed(plan.testbed)
    (paper,) = plan.described.values()
    if answer := list(answered(plan, paper, testbed)):
        print(*answer, sep="\n", file=sys.stderr)
        return
    preflight(testbed)
    print(f"{plan.claim} of {paper.id}: {outlook_of(plan, testbed)}", file=sys.stderr)
    print(*plan.blocks(BLOCKS.format(testbed=plan.testbed)))


def answered(plan: Plan, paper: Paper, testbed: Mapping[str, Any]) -> Iterator[str]:
    """What is said of a claim for which nothing is to be measured; nothing of another one."""
    if row := without_runs(paper, testbed, plan.effort, plan.claim):
        yield from said.lines(paper, plan.claim, said.known(row))
        return
    makes = one_claim.made_at(paper, plan.claim)
    if plan.effort not in makes:
        other = f"; EFFORT={makes[0]} does" if makes else ""
        yield f"{plan.claim}: effort {plan.effort} does not make all its cells{other}"
        return
    results = root() / "results" / plan.testbed
    blocks = plan.blocks(BLOCKS.format(testbed=plan.testbed))
    row = said.row_of(results, paper.id, plan.claim)
    if row is None or not all(block_record(root() / block) for block in blocks):
        return
    if row["verdict"] != INCONCLUSIVE or not plan.lacking[paper.id]:
        yield from said.lines(paper, plan.claim, row)


def without_runs(paper: Paper, testbed: Mapping[str, Any], effort: str, name: str) -> Mapping[str, Any] | None:
    """The row of verdicts.csv of a claim that no run on a testbed can judge; None of one that runs judge."""
    claim, status = one_claim.of(paper, name), status_on(testbed)
    alone = replace(paper, raw={**paper.raw, "claims": [claim]})
    runs = on_testbed(alone, testbed, effort, *as_read(alone, [], []))
    modelled = None
    if "modelled" in claim["routes"] and status not in claim["routes"]:
        modelled = Runs(model_runs(paper, testbed["fabrics"]), paper)
    (row,) = judging.claims_judged(alone, runs, status, (), modelled)
    return row if row["route"] != status or row["verdict"] == NOT_TESTABLE else None
