"""Execute a run on running services; report in one line why it failed."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil

from whitewire import atomic, factors
from whitewire.cluster.stack import Stack
from whitewire.errors import CannotMake, NotKept, UserError, of_system
from whitewire.measure import groups
from whitewire.measure.bench import StackBench
from whitewire.measure.run import OF_HOSTS, Run, tiny
from whitewire.records.result import Result

NO_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""Errors of the system that every later run would have too."""
LOG_LINES = 60
"""Number of last lines of an ended daemon's log that are kept with the run."""


def execute(stack: Stack, run: Run) -> Result:
    """Make a run at its scale, on as many of the workers as it asks for."""
    stack.scale(run.scale.k, run.drive, run.parameters.get("slow_drives", 1.0))
    slots = groups.slots(run, {"datanode": run.at_work}) if run.at_work else None
    stack.work_on((run.at_work, slots) if run.at_work and slots else None)
    return run.workload.run(StackBench(stack, run))


def execute_empty(stack: Stack, run: Run) -> Result:
    """Make the run's jobs on almost no data and the fastest fabric."""
    own = {name: value for name, value in run.parameters.items() if name not in factors.NETWORK}
    parameters = {**own, "fabric": stack.testbed.fastest()}
    return execute(stack, replace(tiny(run), parameters=parameters, levels={}))


def last_words(stack: Stack) -> dict[str, str]:
    """Ends of the logs of daemons that have ended, by file name."""
    return {f"{name}.log": daemon.log_end(LOG_LINES) for name, daemon in stack.processes().items() if not daemon.alive}


def memory_mib(stack: Stack) -> float:
    """Proportional set size of all daemons and clients, in MiB."""
    total = 0.0
    for process in stack.processes().values():
        main = process.main_process()
        if main is not None:
            with contextlib.suppress(psutil.Error):
                total += main.memory_full_info().pss / 2**20
    return round(total, 1)


def failure_cause(failure: Exception, stack: Stack) -> str:
    """Why a run failed, in one line; names daemons that found a drive full, since a run may then wait for ever."""
    names = [name for name, process in stack.processes().items() if "No space left on device" in process.said()]
    drives = [f"no space left on a drive, say {', '.join(sorted(names)[:3])}"] if names else []
    try:
        atomic.check_space(stack.logs)
    except OSError as error:
        return "; ".join([str(of_system(error)), *([] if no_disk(failure) else [_line(failure)]), *drives])
    return "; ".join([_line(failure), *drives])


def given_up(what: str, failure: Exception, stack: Stack) -> UserError:
    """The error of a step that all runs of a cluster need: CannotMake, or for a full disk NotKept (ends the block)."""
    kind = NotKept if _full(failure, stack.logs) else CannotMake
    return kind(f"{what}: {failure_cause(failure, stack)}; logs: {stack.logs}")


@contextlib.contextmanager
def cannot_make(logs: Path) -> Iterator[None]:
    """Turn failures of hosts and services, and users' errors, in the `with` block into CannotMake, which costs only
    this part, or into NotKept if the disk is full."""
    try:
        yield
    except (CannotMake, NotKept):
        raise
    except UserError as fault:
        raise CannotMake(str(fault)) from fault
    except OF_HOSTS as failure:
        kind = NotKept if _full(failure, logs) else CannotMake
        raise kind(f"{_line(failure)}; logs: {logs}") from failure


def _full(failure: Exception, logs: Path) -> bool:
    """Whether a failure reports a full disk, or the logs' disk is full."""
    try:
        atomic.check_space(logs)
    except OSError:
        return True
    return no_disk(failure)


def no_disk(failure: Exception) -> bool:
    """Whether a failure reports a disk that takes no more data."""
    return isinstance(failure, OSError) and failure.errno in NO_DISK


def _line(failure: Exception) -> str:
    said: object = of_system(failure) if isinstance(failure, OSError) and failure.errno else failure
    if isinstance(failure, ArithmeticError | LookupError | StopIteration):  # whose words alone say nothing
        said = f"its results cannot be evaluated: {failure.__class__.__name__}: {failure}"
    return " ".join(str(said).split())[:400] or failure.__class__.__name__
