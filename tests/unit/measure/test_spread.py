"""Rounds of one block in several processes: each whole in one, none twice, none lost with a process that is killed."""

from __future__ import annotations

import json
import math
import os
import signal
import time
from collections import defaultdict
from functools import partial
from types import SimpleNamespace

import pytest

from whitewire import lanes
from whitewire.errors import CannotMake
from whitewire.lanes import LANES_VARIABLE, Lanes
from whitewire.levels import cell_id
from whitewire.measure import session, spread
from whitewire.measure.block import Block
from whitewire.measure.campaign import Campaign
from whitewire.measure.engine import NEVER, Deadline
from whitewire.measure.one_cluster import OneCluster
from whitewire.measure.rounds import Rounds
from whitewire.measure.scale_candidate import TooHeavy
from whitewire.measure.session import Session
from whitewire.measure.spread import ROUNDS_FOLDER, Worker, WorkerReport, WorkerTask
from whitewire.measure.turns import AttemptOutcome
from whitewire.progress import Progress
from whitewire.records.journal import Journal
from whitewire.records.reasons import BUDGET, DECIDED, LACKING, Reason

CELLS = [cell_id("grid", {"fabric": fabric}) for fabric in ("1gbe", "10gbe", "5gbe")]
RUN_S = 0.02


class Toy(Session):
    """A session whose runs take a moment; `happens` may do something to it before one."""

    def __init__(self, campaign, runs, happens):
        super().__init__(campaign, stack=None, runs=runs, overheads=None, candidates=None)
        self.divided = []
        nothing = SimpleNamespace(divide=lambda lanes, begun: self.divided.append(lanes), pool=lambda *_: None)
        self.overhead_runs = SimpleNamespace(overheads=nothing, make_due=lambda _: None, make_further=lambda: None)
        self.happens = happens

    def _one(self, run, number):
        self.happens(self, run)
        time.sleep(RUN_S)
        run_id = run.row["run_id"]
        outcome = (
            AttemptOutcome("lost", disturbed=True)
            if run_id in DISTURBED and not self.turns.tried[run_id]
            else AttemptOutcome()
        )
        record = {
            "run_id": run_id,
            "block": "quick-1",
            "pid": os.getpid(),
            "valid": not outcome.why,
            "end": time.time(),
        }
        self.campaign.journal.write(run_id, record, {}, valid=not outcome.why)
        self.turns.ended(run, outcome)


def out_of_time(*_):
    raise TimeoutError("it waits for ever")


DISTURBED: set[str] = set()


def nothing(session, run):
    """Nothing happens."""


def die(session, run):
    os.kill(os.getpid(), signal.SIGKILL)


class Toys:
    """A block of so many rounds of CELLS, in this process and one worker; its clusters are there at once."""

    _beside = Block._beside

    def __init__(self, folder, rounds, analyses=(), interim=None, happens=nothing, of_worker=nothing):
        self.cells = {f"{n}{c}": CELLS[c] for n in range(rounds) for c in range(len(CELLS))}
        self.rows = [{"run_id": each, "block": "quick-1", "order": n} for n, each in enumerate(self.cells)]
        self.journal, self.analyses, self.interim = Journal(folder / "raw" / "quick-1"), analyses, interim
        self.happens, self.of_worker, self.start_s = happens, of_worker, 0.0
        self.name, self.candidates = "quick-1", SimpleNamespace(stay=lambda candidate: None)
        self.spent, self.pid = defaultdict(float), os.getpid()
        self.deadline = self.give_up_at = NEVER
        self.plan = SimpleNamespace(
            paper=SimpleNamespace(id="p"), config={}, rounds=lambda *_: Rounds(self.cells, self.analyses),
            run=lambda row: SimpleNamespace(row=row, expected_seconds=RUN_S),
        )  # fmt: skip

    def _campaign(self, progress, lane, unavailable=None):
        return Campaign(self.plan, self.rows, self.journal, progress, attempts=3, interim=self.interim, lane=lane,
                        deadline=self.deadline, give_up_at=self.give_up_at, spent=self.spent)  # fmt: skip

    def session(self, runs=None, lane=1):
        runs = [self.plan.run(row) for row in self.rows] if runs is None else runs
        campaign = self._campaign(Progress("quick-1", [RUN_S] * len(runs)), lane)
        return Toy(campaign, runs, self.happens if os.getpid() == self.pid else self.of_worker)

    def _one_cluster(self, campaign):
        """The cluster of the worker."""

        def make(runs, number, task, team):
            time.sleep(self.start_s)
            session = Toy(campaign, runs, self.of_worker)
            session.turns.rounds.ahead = list(task.ahead)
            return session.make(number, team)

        return SimpleNamespace(make=make)

    def measure(self):
        """What becomes of its runs, at the first k that is not too heavy."""
        self.workers = [Worker(partial(spread.serve, self.journal.folder, self._beside))]
        try:
            with lanes.lane("p/quick-1"):
                while True:
                    self.made = session = self.session()
                    try:
                        cluster = OneCluster(session.campaign, self.candidates, "testbed", workers=self.workers)
                        cluster.lead(session, 0, WorkerTask(0, "shared", (), {}, 0), 0.0)
                        return session.campaign
                    except TooHeavy:
                        for row in filter(lambda row: self.journal.has(row["run_id"]), self.rows):
                            self.journal.set_aside(row["run_id"], Reason("other_k", {"why": "too small"}))
        finally:
            for worker in self.workers:
                worker.kill()

    def by_round(self):
        """Processes by the round that they made."""
        rounds, found = Rounds(self.cells, ()).of, defaultdict(list)
        for path in self.journal.runs.glob("*/run.json"):
            record = json.loads(path.read_text())
            found[rounds[record["run_id"]]].append(record["pid"])
        return found


@pytest.fixture
def of_two(tmp_path, monkeypatch):
    shared_lanes = Lanes.of(2, tmp_path / "lanes", ["p/quick-1"])
    monkeypatch.setenv(LANES_VARIABLE, shared_lanes.text())
    monkeypatch.setattr(spread, "PATIENCE_S", 0.02)
    DISTURBED.clear()
    signal.signal(signal.SIGALRM, out_of_time)
    signal.alarm(20)
    yield tmp_path
    signal.alarm(0)


def test_rounds_are_whole_in_one_process_and_each_is_made_once(of_two):
    block = Toys(of_two, 12)
    made = block.measure()
    rounds = block.by_round()
    assert {number: len(own) for number, own in rounds.items()} == dict.fromkeys(range(1, 13), len(CELLS))
    assert all(len(set(own)) == 1 for own in rounds.values())
    assert len({own[0] for own in rounds.values()}) == 2
    assert not made.left
    assert not made.given_up


def test_a_run_that_is_made_again_stays_in_the_lane_of_its_round(of_two):
    block = Toys(of_two, 10)
    DISTURBED.update(f"{n}{n % 3}" for n in range(10))
    assert not block.measure().left
    rounds = block.by_round()
    assert all(len(own) == len(CELLS) and len(set(own)) == 1 for own in rounds.values())
    assert len(list(block.journal.invalid.iterdir())) == 10


def cannot_go_on(session, run):
    raise CannotMake("a drive is too slow")


@pytest.mark.parametrize(("after", "end"), [(1, die), (4, die), (1, cannot_go_on)])
def test_what_a_lane_that_ends_had_begun_is_made_by_the_other(of_two, after, end):
    count = []

    def end_later(session, run):
        count.append(run)
        if len(count) > after:
            end(session, run)

    block = Toys(of_two, 10, of_worker=end_later)
    assert not block.measure().left
    rounds = block.by_round()
    assert all(len(own) == len(CELLS) for own in rounds.values())
    assert sum(own.count(os.getpid()) for own in rounds.values()) == 10 * len(CELLS) - after


def test_overheads_are_divided_again_when_a_lane_has_ended(of_two):
    block = Toys(of_two, 10, of_worker=die)
    block.measure()
    assert block.made.divided == [2, 1]


@pytest.mark.parametrize("slow", ["lead", "mate"])
def test_an_interim_analysis_is_made_once_when_all_runs_until_then_are_made(of_two, slow):
    seen = []

    def interim(*_):
        seen.append(len(list(block.journal.runs.glob("[!.]*"))))
        return SimpleNamespace(decided=["a"], open=["b"], cells=CELLS[:1], near=CELLS[:1], place={})

    def wait(session, run):
        time.sleep(3 * RUN_S)

    block = Toys(of_two, 12, analyses=(4, 8, 12), interim=interim, happens=wait if slow == "lead" else nothing,
                 of_worker=wait if slow == "mate" else nothing)  # fmt: skip
    DISTURBED.update(["30", "00"])
    made = block.measure()
    assert seen[0] in (11, 12, 10)  # those that were disturbed are made again in a later round
    assert len(seen) == 2
    assert seen[1] >= 15
    assert {*made.left} == {f"{n}{c}" for n in range(4, 12) for c in (1, 2)}
    assert all(why == Reason(DECIDED, {"runs": 4}) for why in made.left.values())
    assert len(list(block.journal.runs.glob("[!.]*"))) == 12 + 8


def test_a_lane_ends_where_runs_lack_processors_beside_it_and_does_not_come_back(of_two):
    block = Toys(of_two, 20, of_worker=lambda session, run: session.team.attempted(short=True))
    block.measure()
    rounds = block.by_round()
    assert all(len(own) == len(CELLS) and len(set(own)) == 1 for own in rounds.values())
    assert sum(own[0] != os.getpid() for own in rounds.values()) == 1


def test_a_block_that_has_not_begun_gets_the_free_lane(of_two, monkeypatch):
    shared_lanes = Lanes.of(2, of_two / "lanes", ["p/quick-1", "q/quick-1"])
    monkeypatch.setenv(LANES_VARIABLE, shared_lanes.text())
    block = Toys(of_two, 8)
    block.measure()
    assert {own[0] for own in block.by_round().values()} == {os.getpid()}
    with lanes.lane("q/quick-1"):
        pass
    assert lanes.free() == 2


def test_at_another_k_every_round_is_made_again_whichever_lane_had_it(of_two):
    heavy = []

    def raise_k(session, run):
        if not heavy and any(not worker.busy and worker.report.ended for worker in session.team.workers):
            heavy.append(run)
            raise TooHeavy("k = 8 is too small")

    block = Toys(of_two, 12, happens=raise_k, of_worker=lambda session, run: session.team.attempted(short=True))
    assert not block.measure().left
    assert heavy
    rounds = block.by_round()
    assert {number: len(own) for number, own in rounds.items()} == dict.fromkeys(range(1, 13), len(CELLS))


def test_a_lane_that_starts_late_makes_its_round_though_others_disturb_its_first_attempts(of_two):
    block = Toys(of_two, 12)
    block.give_up_at, block.spent["runs"] = Deadline(0.0), 1.0
    DISTURBED.update(block.cells)
    assert not block.measure().left
    assert {len(own) for own in block.by_round().values()} == {len(CELLS)}
    assert len({own[0] for own in block.by_round().values()}) == 2


def test_what_a_lane_left_stays_left_and_the_lane_does_not_come_back(of_two):
    """It says nothing of its second round, which another lane may make, or an analysis may find not needed."""
    said = set()

    def listen(session, run):
        said.update(run_id for worker in session.team.workers for run_id in worker.report.left)

    block = Toys(of_two, 12, happens=listen, of_worker=lambda session, run: session.turns.leave(Reason(BUDGET)))
    left = block.measure().left
    assert len(said) == 2
    assert list(left.values()) == [Reason(BUDGET)] * 2
    assert len({block.plan.rounds().of[run_id] for run_id in left}) == 1


def test_what_a_lane_lacks_is_left_and_not_waited_for(of_two):
    """Its cluster has no client that the first one's had."""

    def lack(session, run):
        lost = [each.row["run_id"] for each in session.turns.waiting if each.row["run_id"].endswith("2")]
        session.campaign.leave_out([(lost, "no client for a cell")])
        session.turns.waiting = [each for each in session.turns.waiting if each.row["run_id"] not in lost]

    block = Toys(of_two, 10, of_worker=lack)
    left = block.measure().left
    assert all(why == Reason(LACKING, {"why": "no client for a cell"}) for why in left.values())
    assert {run_id[1] for run_id in left} == {"2"}


def test_what_the_first_lane_knows_of_a_run_is_not_replaced(of_two):
    campaign = Toys(of_two, 1).session().campaign
    decided, late = Reason(DECIDED, {"runs": 3}), Reason(BUDGET)
    campaign.left = {"00": decided}
    campaign.add([WorkerReport(left={"00": late, "01": late})])
    assert campaign.left == {"00": decided, "01": late}


@pytest.mark.parametrize(("wanted", "disturbed"), [(0.5, True), (99.0, False), (math.inf, False)])
def test_a_run_that_had_all_processors_was_not_beside_other_lanes(of_two, monkeypatch, wanted, disturbed):
    made = Toys(of_two, 1).session()
    made.campaign.plan.has_overhead = lambda run: False
    made.campaign.weights = SimpleNamespace(of=lambda run: wanted)
    made.campaign.plan.config["limits"] = {}
    run = made.runs[0]
    run.cpu = "limit"
    short = Reason("woke_late", {"late": 2.0, "bound": 0.4, "outside": 0.0})
    monkeypatch.setattr(session, "execute", lambda *_: SimpleNamespace(record={}, files={}))
    monkeypatch.setattr(session.workloads, "run_metrics", lambda *_: {})
    monkeypatch.setattr(session.workloads, "run_faults", lambda *_: [short])
    monkeypatch.setattr(session.workloads, "processors_needed", lambda *_: 0.0)
    monkeypatch.setattr(session, "overhead_key", lambda run: "")
    made.overhead_runs.overheads.name = lambda key: ""
    assert Session.attempt(made, run).disturbed is disturbed


@pytest.mark.parametrize("where", ["lanes.lock", ROUNDS_FOLDER])
def test_on_a_file_system_without_locks_all_rounds_are_made_once_in_one_lane(of_two, monkeypatch, where):
    locked = lanes.locked
    monkeypatch.setattr(lanes, "locked", lambda file, place: file.name.endswith(where) or locked(file, place))
    block = Toys(of_two, 10)
    assert not block.measure().left
    rounds = block.by_round()
    assert {number: {*own} for number, own in rounds.items()} == dict.fromkeys(range(1, 11), {os.getpid()})


def test_what_the_first_lane_cannot_make_the_others_do(of_two):
    failed = []

    def fail(session, run):
        if len({*block.journal.runs.glob("[!.]*")}) > 4 * len(CELLS):
            failed.append(run.row["run_id"])
            raise CannotMake("HDFS does not start again")

    block = Toys(of_two, 20, happens=fail)
    with pytest.raises(CannotMake):
        block.measure()
    campaign, of = block.made.campaign, block.plan.rounds().of
    campaign.given_up += failed
    campaign.fail(block.made.runs, "HDFS does not start again")
    made = {path.name for path in block.journal.runs.glob("[!.]*")}
    assert not {*failed} & {*campaign.left}
    assert {*campaign.left, *failed} | made == {*block.cells}
    assert {of[run_id] for run_id in campaign.left} <= {*range(1, 8)}
    assert max(of[run_id] for run_id in made) == 20


def test_a_lane_has_the_time_that_an_interim_analysis_has_left_to_the_first_one(of_two):
    deadline_file = of_two / "until"
    block = Toys(of_two, 8, of_worker=lambda session, run: deadline_file.write_text(str(session.turns.deadline.ends)))
    session, until = block.session, time.monotonic() + 1000

    def late(*of):
        made = session(*of)
        made.turns.deadline = Deadline(until)
        return made

    block.session = late
    block.measure()
    assert float(deadline_file.read_text()) == pytest.approx(until)


def test_a_lane_that_still_starts_when_all_runs_are_made_is_not_waited_for(of_two):
    block = Toys(of_two, 4)
    block.start_s = 15
    begin = time.monotonic()
    assert not block.measure().left
    assert time.monotonic() - begin < 10
    assert not block.workers


def test_an_unexpected_error_in_a_worker_ends_the_block_and_says_where_it_was(of_two):
    def fail(session, run):
        raise ZeroDivisionError("of no number")

    with pytest.raises(RuntimeError, match="a lane ended by an unexpected error") as raised:
        Toys(of_two, 10, of_worker=fail).measure()
    assert "ZeroDivisionError: of no number" in raised.value.__notes__[0]


def test_two_rounds_a_lane_and_more_time_than_its_start_takes_are_worth_one(of_two):
    turns = Toys(of_two, 6).session().turns
    whole = 18 * RUN_S
    assert spread.further(turns, 1, 1.0, whole / 4) == 2
    assert spread.further(turns, 1, 1.0, whole * 0.7) == 0
    assert spread.further(turns, 2, 1.0, 0.0) == 1
    assert spread.further(turns, 3, 1.0, 0.0) == 0
