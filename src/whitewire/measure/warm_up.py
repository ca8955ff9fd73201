"""Warm-up: runs that are not kept, so that JVMs are compiled and memory is in use before the first one that counts."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from whitewire.cluster.stack import Stack
from whitewire.errors import UserError
from whitewire.measure import puts
from whitewire.measure.block_plan import BlockPlan
from whitewire.measure.execution import cause, execute, execute_empty
from whitewire.measure.run import FAILURES, FloorKey, Run, floor_key
from whitewire.records.result import Result

JOBS = 4
"""Jobs before the first run, however few runs are left: JVMs get faster over the first ones."""
PUTS, PUTS_SMOKE = (5, 2), (1, 1)
"""Rounds of many small puts, then runs of the block's largest cell. At smoke effort, where it matters more that all of
it works than what it measures, there are fewer."""


def warm_up(stack: Stack, plan: BlockPlan, runs: Sequence[Run]) -> dict[FloorKey, Result]:
    """Make runs that are not kept, so that the order of those that are doesn't matter.

    Returns, at smoke effort, the last job of each kind on almost no data: its floor. Raises UserError.
    """
    try:
        stack.testbed.fabric(stack.testbed.fastest())
        _puts(stack, plan.config, [run for run in runs if not run.workload.on_yarn], plan.smoke)
        floored = [run for run in runs if plan.floored(run)] if stack.reuses_jvms else []
        warm = _jobs(stack, floored, plan.smoke)
        stack.settle()
    except FAILURES as failure:
        raise UserError(f"warm-up: {cause(failure, stack)}; logs: {stack.logs}") from None
    return warm


def _puts(stack: Stack, config: Mapping[str, Any], runs: Sequence[Run], smoke: bool) -> None:
    if not runs:
        return

    def load(run: Run) -> tuple[int, float]:
        rate = config["fabrics"][run.parameters["fabric"]]["rate_mbit_per_s"]
        return run.parameters["clients"] * run.parameters["puts_per_client"], rate

    largest = max([run for run in runs if run.workload.modelled] or runs, key=load)
    rounds, repeats = PUTS_SMOKE if smoke else PUTS
    for _ in range(rounds):
        puts.warm_up(stack)
    for _ in range(repeats):
        execute(stack, largest)


def _jobs(stack: Stack, runs: Sequence[Run], smoke: bool) -> dict[FloorKey, Result]:
    # By workload and kind of store, each on as many hosts as it ever has; what times itself comes last.
    wide = sorted(runs, key=lambda run: (run.workers is None, run.parameters.get("maps", 1)))
    kinds = sorted({floor_key(run)[:2]: run for run in wide}.values(), key=lambda run: run.workload.times_itself)
    if smoke:  # each kind's last one is its floor; TestDFSIO's two jobs, first, warm up the others
        kinds.reverse()
        again = [] if any(run.workload.times_itself for run in kinds) else kinds
    else:
        again = list(itertools.islice(itertools.cycle(kinds), max(1, JOBS - len(kinds))))
    warm = {floor_key(run): execute_empty(stack, run) for run in [*again, *kinds]}
    return warm if smoke else {}
