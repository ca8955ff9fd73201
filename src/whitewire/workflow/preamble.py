"""First part of each rule's shell command: PATH, budget and lanes of the start."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Mapping

from whitewire import budget, lock
from whitewire.budget import BUDGET_VARIABLE, Budget
from whitewire.description.capabilities import capabilities_of
from whitewire.description.testbed import load_testbed
from whitewire.lanes import LANES_VARIABLE, Lanes
from whitewire.paths import HOME, root
from whitewire.workflow.missing import by_runs
from whitewire.workflow.parent_watch import PARENT_VARIABLE
from whitewire.workflow.plan import Plan


def preamble(plan: Plan) -> str:
    """Shell commands that put this checkout's command first on the PATH and stand-ins for others last, and export the
    budget and the lanes.

    The budget begins now. It stays in the environment for jobs on other nodes, which go on with it. In containers,
    which do not notice the death of Snakemake, a variable names the file whose lock shows it.
    """
    scripts, fallback = (shlex.quote(str(HOME / "workflow" / name)) for name in ("scripts", "fallback"))
    path = f'PATH={scripts}:"$PATH":{fallback}'
    handed_on = "" if plan.begins and not plan.goes_on else os.environ.get(BUDGET_VARIABLE, "")
    os.environ[BUDGET_VARIABLE] = text = (
        handed_on
        or Budget.of(budget.seconds_of(plan.budget), plan.waiting, _claims(plan), plan.lanes, plan.whole()).text()
    )
    exported = {BUDGET_VARIABLE: text, lock.INSIDE: "snakemake"}
    exported |= {PARENT_VARIABLE: str(plan.watch)} if plan.watch else {}
    if plan.begins and plan.in_all[1] > 1:
        count, most = plan.in_all
        on_a_site = not capabilities_of(load_testbed(plan.testbed)).shares_processors
        folder = root() / ".cache" / "lanes"
        exported[LANES_VARIABLE] = Lanes.of(count, folder, [*plan.waiting], most, on_a_site).text()
    return "; ".join([path, *(f"export {name}={shlex.quote(value)}" for name, value in exported.items())])


def _claims(plan: Plan) -> Mapping[str, float]:
    """Number of claims that rest on the runs of each waiting block; a paper's are shared equally by its blocks."""
    papers = {block: block.partition("/")[0] for block in plan.waiting}
    blocks = Counter(papers.values())
    return {block: max(1, by_runs(plan.described[paper])) / blocks[paper] for block, paper in papers.items()}
