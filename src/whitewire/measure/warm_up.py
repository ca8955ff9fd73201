"""Warm-up: runs that are not kept, so that JVMs are compiled and memory is in use before the first one that counts."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from whitewire.cluster.stack import Stack
from whitewire.factors import on_datanodes, parameter
from whitewire.measure.block_plan import BlockPlan
from whitewire.measure.execution import execute, execute_empty, failure_cause, given_up, no_disk
from whitewire.measure.puts import warm_up_puts
from whitewire.measure.run import FAILURES, OverheadKey, Run, overhead_key
from whitewire.records.result import Result

_JOBS = 4
"""Jobs before the first run, however few runs are left: JVMs get faster over the first ones."""
ALIKE = 2
"""Jobs of each workload and store among them: after a single one the first overhead run took up to twice as long."""
_PUTS, PUTS_SMOKE = (5, 2), (1, 1)
"""Rounds of many small puts, and runs of the largest cell of each level of `put_from` after them. Smoke effort has
fewer, because it only shows that everything works."""


def warm_up(stack: Stack, plan: BlockPlan, runs: Sequence[Run], say: Callable[[str], None]
            ) -> dict[OverheadKey, Result]:  # fmt: skip
    """Make runs that are not kept, so that the order of the kept ones doesn't matter.

    Returns, at smoke effort, the last job of each kind on almost no data, which is its overhead run. A kind of job that
    fails is left out. Raises CannotMake when a service has ended, NotKept when the disk is full.
    """
    try:
        stack.testbed.fabric(stack.testbed.fastest())
        _puts(stack, plan.config, [run for run in runs if not run.workload.on_yarn], plan.smoke, say)
        with_overhead = [run for run in runs if plan.has_overhead(run)] if stack.reuses_jvms else []
        warm = _jobs(stack, with_overhead, plan.smoke, say)
        stack.settle()
    except FAILURES as failure:
        raise given_up("warm-up", failure, stack) from None
    return warm


def _puts(stack: Stack, config: Mapping[str, Any], runs: Sequence[Run], smoke: bool, say: Callable[[str], None]
          ) -> None:  # fmt: skip
    if not runs:
        return

    def load(run: Run) -> tuple[int, float]:
        rate = config["fabrics"][run.parameters["fabric"]]["rate_mbit_per_s"]
        return run.parameters["clients"] * run.parameters["puts_per_client"], rate

    able = [run for run in runs if run.workload.modelled] or runs
    rounds, repeats = PUTS_SMOKE if smoke else _PUTS
    for _ in range(rounds):
        warm_up_puts(stack)
    for local in sorted({on_datanodes(run.parameters) for run in able}):
        largest = max((run for run in able if on_datanodes(run.parameters) == local), key=load)
        for _ in range(repeats):
            if not _tried(stack, say, largest.title, partial(execute, stack, largest)):
                return


def _jobs(stack: Stack, runs: Sequence[Run], smoke: bool, say: Callable[[str], None]) -> dict[OverheadKey, Result]:
    order = _of_smoke(runs) if smoke else _of_each_overhead(runs)
    warm: dict[OverheadKey, Result | None] = {}
    for run in order:
        key = overhead_key(run)
        if warm.get(key, True):  # a kind that failed once is not tried again
            warm[key] = _tried(stack, say, " ".join(map(str, key)), partial(execute_empty, stack, run))
    return {key: result for key, result in warm.items() if result} if smoke else {}


def _tried(stack: Stack, say: Callable[[str], None], what: str, act: Callable[[], Result]) -> Result | None:
    """Make a warm-up run; None if it failed although all services are up, because the real runs will show the
    reason."""
    try:
        return act()
    except FAILURES as failure:
        stack.check()
        if no_disk(failure):
            raise
        say(f"warm-up of {what}: {failure_cause(failure, stack)}: going on")
        return None


def _of_smoke(runs: Sequence[Run]) -> list[Run]:
    """One run per workload and kind of store, on the most hosts that it has; it serves as overhead run at smoke effort.

    TestDFSIO comes first, because its two jobs warm up the others; without it all runs are made twice.
    """
    wide = sorted(runs, key=lambda run: (run.at_work is None, parameter(run.parameters, "maps")))
    kinds = sorted({overhead_key(run)[:2]: run for run in wide}.values(), key=lambda run: -run.workload.times_itself)
    again = [] if any(run.workload.times_itself for run in kinds) else kinds
    return [*again, *kinds]


def _of_each_overhead(runs: Sequence[Run]) -> list[Run]:
    """Each kind of overhead run at least once, on its number of hosts, so that no kind is cold when it counts.

    Workloads that time themselves come last.
    """
    kinds = sorted({overhead_key(run): run for run in runs}.values(), key=lambda run: run.workload.times_itself)
    alike = Counter(overhead_key(run)[:2] for run in kinds)
    again = [run for run in kinds if alike[overhead_key(run)[:2]] < ALIKE]
    again += itertools.islice(itertools.cycle(kinds), max(0, _JOBS - len(again) - len(kinds)))
    return [*again, *kinds]
