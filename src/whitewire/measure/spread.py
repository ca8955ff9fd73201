"""Rounds of a block's cluster in several lanes: worker processes of the block, each with a cluster of its own.

Each process takes the next whole round and makes all its runs, so that cells are compared within a lane. A round is
taken by a lock that ends with its process, so the others make the rounds of a killed one. The process of the block
leads: it starts workers, makes the interim analyses, and ends last.
"""

from __future__ import annotations

import ctypes
import math
import os
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path

from whitewire import lanes
from whitewire.errors import UserError
from whitewire.measure.engine import NEVER, Deadline
from whitewire.measure.rounds import Rounds, Seen
from whitewire.measure.run import Run
from whitewire.measure.turns import Turns
from whitewire.records.reasons import BUDGET, Reason
from whitewire.testbed.samples import processor_ticks

ROUNDS_FOLDER = ".rounds"
"""Lock file in a block's folder, with one byte per round; the process that has locked a byte makes that round."""
MOST_ROUNDS = 100_000
"""Most rounds of one cluster; the next cluster's rounds follow in the lock file."""
LEAST_ROUNDS = 2
"""Least rounds per lane for a further lane to be worth its start."""
_LAST, CROWDED = 10, 3
"""Window of attempts, and number of them short of processors beside other lanes from which there are too many lanes."""
PATIENCE_S = 1.0
"""Seconds between two checks whether a process that makes rounds has ended."""
DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of prctl(2)."""
NO_INTERIM, _OVER = "no interim analysis", "over"
"""Messages to a worker: no further interim analysis comes; the cluster makes no more runs."""


@dataclass(frozen=True)
class WorkerTask:
    """The task of a worker: make rounds of the runs `ids` of one cluster.

    `shared`: the services of that cluster; `place`: where its rounds begin in the lock file; `ahead`: the analyses that
    are still to be made; `lanes`: number of lanes that divide the overhead runs; `deadline`: no run begins after it.
    """

    candidate: int
    shared: str
    ids: Sequence[str]
    unavailable: Mapping[str, str]
    place: int
    ahead: Sequence[int] = ()
    lanes: int = 2
    deadline: Deadline = NEVER


@dataclass(frozen=True)
class WorkerReport:
    """The outcome of a worker's runs that are not in the journal.

    `pending`: runs that are tried again after the next analysis; `begun`: the worker has taken a round; `ended`: it
    makes no more; `crowded`: it ended because there are too many lanes; `fault`: traceback of an unexpected error.
    """

    given_up: Sequence[str] = ()
    left: Mapping[str, Reason] = field(default_factory=dict)
    pending: Sequence[str] = ()
    spent: Mapping[str, float] = field(default_factory=dict)
    begun: bool = False
    ended: bool = False
    crowded: bool = False
    fault: str = ""


class Claims:
    """The rounds of a cluster that this process has taken, until it ends or calls `close`. They count from 1; the
    leader locks number 0, by which workers see whether locks work."""

    def __init__(self, path: Path, place: int) -> None:
        path.touch()
        self._file, self._place = path.open("r+b"), place
        self.mine: set[int] = set()

    def take(self, number: int) -> bool:
        """Take a round if no other process has it; returns whether this process has it."""
        if number not in self.mine and lanes.locked(self._file, self._place + number):
            self.mine.add(number)
        return number in self.mine

    def close(self) -> None:
        self._file.close()


class Team:
    """The lanes in which a cluster's runs are made, as seen by the session in one of them: here in the only one."""

    leads = True
    """Whether this lane makes interim analyses and further overhead runs, which are made once."""

    def takes(self, number: int) -> bool:
        """Whether this lane makes a round."""
        return True

    def attempted(self, short: bool) -> None:
        """Note the end of an attempt; `short`: it lacked processors beside other lanes."""

    def grow(self, turns: Turns, pace: float) -> int:
        """Start further lanes if that is worth it; returns the number of lanes now, since some may have ended; 0: as
        before."""
        return 0

    def returned(self, turns: Turns, until: float = math.inf) -> bool:
        """Wait for other lanes' rounds up to `until`; returns whether some came back because their process ended."""
        return False

    def saw(self, turns: Turns, interim: Callable[[], Seen]) -> Seen | None:
        """The result of an interim analysis, which the leading lane makes; None if it makes no more of them."""
        return interim()

    def over(self) -> Sequence[WorkerReport]:
        """Wait until all other lanes have ended; returns their reports."""
        return ()


class Beside(Team):
    """A lane beside others of its block, which notices when there are too many."""

    def __init__(self, claims: Claims) -> None:
        self.claims = claims
        self._last: deque[bool] = deque(maxlen=_LAST)

    @property
    def crowded(self) -> bool:
        """Whether many of the last attempts lacked processors beside other lanes."""
        return sum(self._last) >= CROWDED

    def attempted(self, short: bool) -> None:
        self._last.append(short)


class Mate(Beside):
    """The lane of a worker, which ends after its round if there are too many lanes."""

    leads = False

    def __init__(self, claims: Claims, pipe: Connection) -> None:
        super().__init__(claims)
        self.pipe, self.locks, self.begun = pipe, not claims.take(0), False

    def takes(self, number: int) -> bool:
        if number in self.claims.mine:
            return True
        taken = self.locks and not self.crowded and self.claims.take(number)
        if taken and not self.begun:
            self.begun = True
            self.pipe.send(WorkerReport(begun=True))
        return taken

    def saw(self, turns: Turns, interim: Callable[[], Seen]) -> Seen | None:
        pending = [run.row["run_id"] for run in turns.waiting]
        self.pipe.send(self.report(turns.rounds, turns.given_up, turns.left, pending))
        found: Seen | str = self.pipe.recv()
        return None if isinstance(found, str) else found

    def report(self, rounds: Rounds, given_up: Sequence[str], left: Mapping[str, Reason],
               pending: Sequence[str] = ()) -> WorkerReport:  # fmt: skip
        """The report on runs of the rounds that this lane has taken."""

        def own(run_id: str) -> bool:
            return rounds.of[run_id] in self.claims.mine

        return WorkerReport([*filter(own, given_up)], {run_id: why for run_id, why in left.items() if own(run_id)},
                            [*filter(own, pending)], begun=self.begun)  # fmt: skip


class Worker:
    """A process that waits for a task. It is forked: create it before this process has threads or a cluster."""

    def __init__(self, work: Callable[[Connection], None]) -> None:
        fork = get_context("fork")
        self.pipe, theirs = fork.Pipe()
        self.process = fork.Process(target=_begin, args=(work, theirs, os.getpid()), daemon=True)
        self.process.start()
        theirs.close()
        self.busy, self.report = False, WorkerReport()

    def send(self, what: WorkerTask | Seen | str) -> None:
        """Send a message to the process; does nothing if it has ended."""
        with suppress(OSError):
            self.pipe.send(what)

    def kill(self) -> None:
        """End the process at once; its cluster ends with it."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def serve(folder: Path, beside: Callable[[WorkerTask, Mate], WorkerReport], pipe: Connection) -> None:
    """Run a worker: do the leader's tasks for the block in `folder` until the leader ends. Raises UserError."""
    claims: list[Claims] = []
    while True:
        received = pipe.recv()
        if isinstance(received, WorkerTask):
            claims.append(Claims(folder / ROUNDS_FOLDER, received.place))
            pipe.send(beside(received, Mate(claims[-1], pipe)))
        elif received == _OVER:
            while claims:
                claims.pop().close()


def _begin(work: Callable[[Connection], None], pipe: Connection, parent: int) -> None:
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if os.getppid() != parent:  # the parent has ended already
        return
    try:
        with suppress(EOFError):
            work(pipe)
    except UserError as error:
        print(f"{error}: its rounds are left to the other lanes", file=sys.stderr, flush=True)
    except Exception:
        pipe.send(WorkerReport(fault=traceback.format_exc()))


class Lead(Beside):
    """The lane of the block's own process, which leads those of its workers.

    `task`: the template of their tasks; `made`: whether the journal has a run; `say` prints a line; `start_seconds`:
    seconds that the start of a cluster and its warm-up took.
    """

    def __init__(self, claims: Claims, workers: list[Worker], task: WorkerTask, made: Callable[[str], bool],
                 say: Callable[[str], None], start_seconds: float) -> None:  # fmt: skip
        super().__init__(claims)
        claims.take(0)
        self.workers, self.task, self.made, self.say = workers, task, made, say
        self.start_seconds = start_seconds
        self._rounds, self._lanes, self._ticks = 0, 1, processor_ticks()

    def close(self) -> None:
        """End the workers' work for this cluster; they wait for the next one."""
        for worker in self._busy:  # after an error
            self._lose(worker)
        for worker in self.workers:
            worker.report = WorkerReport()
            worker.send(_OVER)
        self.claims.close()

    @property
    def _busy(self) -> list[Worker]:
        return [worker for worker in self.workers if worker.busy]

    def takes(self, number: int) -> bool:
        return self.claims.take(number)

    def grow(self, turns: Turns, pace: float) -> int:
        if len(self.claims.mine) == self._rounds:
            return 0
        self._rounds = len(self.claims.mine)
        self._hear()
        more = self._start(turns, pace)
        before, self._lanes = self._lanes, 1 + len(self._busy)
        if more:
            self.say(f"rounds are made in {self._lanes} lanes from here on")
        return self._lanes if self._lanes != before else 0

    def _start(self, turns: Turns, pace: float) -> int:
        """Start further lanes, and return how many."""
        idle, working = self._idle(), 1 + len(self._busy)
        worth = further(turns, working, pace, self.start_seconds)
        fresh = [worker for worker in self.workers if not worker.busy and not worker.report.ended]
        more = min(worth, _room(idle), len(fresh))
        if more < 1 or self.crowded or any(worker.report.crowded for worker in self.workers):
            return 0
        ids = [run.row["run_id"] for run in turns.waiting]
        task = replace(
            self.task, ids=ids, ahead=list(turns.rounds.ahead), lanes=working + more, deadline=turns.deadline
        )
        for worker in fresh[:more]:
            worker.busy = True
            worker.send(task)
        return more

    def _idle(self) -> float:
        """The idle share of the processors since the last call."""
        (total, idle), before = processor_ticks(), self._ticks
        self._ticks = total, idle
        return (idle - before[1]) / max(1, total - before[0])

    def returned(self, turns: Turns, until: float = math.inf) -> bool:
        if math.isinf(until):
            for worker in self._busy:
                worker.send(NO_INTERIM)
        while waited := self._unsettled(turns, until):
            if [run for run in waited if self.takes(turns.rounds.of[run.row["run_id"]])]:
                self._hear()
                turns.take_back([run for run in self._unsettled(turns, until)
                                 if turns.rounds.of[run.row["run_id"]] in self.claims.mine])  # fmt: skip
                return True
            wait([worker.pipe for worker in self._busy], PATIENCE_S)
        return False

    def _unsettled(self, turns: Turns, until: float) -> list[Run]:
        """Runs of other lanes' rounds up to `until` whose outcome is not known yet."""
        self._hear()
        settled = set[str]()
        for worker in self.workers:
            settled |= {*worker.report.given_up, *worker.report.left}
            settled |= set(worker.report.pending) if math.isfinite(until) else set()
        there = [run for run in turns.elsewhere if turns.rounds.of[run.row["run_id"]] <= until]
        return [run for run in there if not self.made(run.row["run_id"]) and run.row["run_id"] not in settled]

    def _hear(self) -> None:
        """Take the workers' reports; forget workers that have ended."""
        for worker in self._busy:
            try:
                while worker.busy and worker.pipe.poll():
                    worker.report = worker.pipe.recv()
                    worker.busy = not worker.report.ended
            except (EOFError, OSError):
                self.say("a lane has ended; the others make its rounds")
                self._lose(worker)
            if worker.report.fault:
                error = RuntimeError("a lane ended by an unexpected error")
                error.add_note(worker.report.fault)
                raise error

    def _lose(self, worker: Worker) -> None:
        worker.kill()
        self.workers.remove(worker)

    def saw(self, turns: Turns, interim: Callable[[], Seen]) -> Seen | None:
        seen = interim()
        for worker in self._busy:
            worker.report = replace(worker.report, pending=())
            worker.send(seen)
        return seen

    def over(self) -> Sequence[WorkerReport]:
        self._hear()
        for worker in self._busy:
            if not worker.report.begun:  # it would start its cluster for nothing
                self._lose(worker)
        return self._reports()

    def _reports(self) -> Sequence[WorkerReport]:
        """Wait until all other lanes have ended; returns their reports."""
        while busy := self._busy:
            wait([worker.pipe for worker in busy], PATIENCE_S)
            self._hear()
        return [worker.report for worker in self.workers]

    def leave(self) -> Sequence[WorkerReport]:
        """Stop making runs in this lane because its cluster cannot; returns the other lanes' reports when they have
        ended.

        The lanes get no more interim analyses, so runs that wait for one are not reported as out of time.
        """
        self.claims.close()
        for worker in self._busy:
            worker.send(NO_INTERIM)
        found = self._reports()
        return [replace(one, left={run: why for run, why in one.left.items() if why.code != BUDGET}) for one in found]


def _room(idle: float) -> int:
    """Number of further lanes that the machine has room for: up to the campaign's number, or one if processors idle."""
    free = lanes.free()
    used = lanes.most() - free
    if used < 1:  # this lane's own lock is not seen: a file system without locks
        return 0
    return min(free, max(lanes.count() - used, int(lanes.room(idle, used))))


def further(turns: Turns, working: int, pace: float, start_seconds: float) -> int:
    """Number of further lanes that are worth their start beside `working` ones."""
    left = {turns.rounds.of[run.row["run_id"]] for run in turns.waiting}
    seconds = pace * sum(run.expected_seconds for run in turns.waiting)
    most = len(left) // LEAST_ROUNDS
    while most > working and seconds / working - seconds / most < start_seconds:
        most -= 1
    return max(0, most - working)
