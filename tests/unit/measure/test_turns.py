"""Which run is made next, which again, and which not at all."""

import math
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire.budget import Allowance, Budget
from whitewire.levels import cell_id
from whitewire.measure.block import Block
from whitewire.measure.block_plan import CLOSING_S
from whitewire.measure.campaign import Campaign
from whitewire.measure.engine import NEVER, Deadline
from whitewire.measure.one_cluster import OneCluster
from whitewire.measure.rounds import Rounds
from whitewire.measure.session import Session
from whitewire.measure.turns import MORE_FOR_OTHERS, AttemptOutcome, Turns
from whitewire.progress import Progress
from whitewire.records.journal import Journal
from whitewire.records.reasons import BUDGET, DECIDED, OTHERS, Reason

A, B = cell_id("grid", {"fabric": "1gbe"}), cell_id("grid", {"fabric": "10gbe"})
SHORT, DISTURBED = AttemptOutcome("processors: too few"), AttemptOutcome("processors: too few", disturbed=True)


def made(cells, analyses=(), attempts=3, until=1e9, seconds=1.0):
    """Turns over runs of cells, in this order; their ids are numbers."""
    rows = {str(number): cell for number, cell in enumerate(cells)}
    runs = [SimpleNamespace(row={"run_id": run_id}, expected_seconds=seconds) for run_id in rows]
    return Turns(runs, Rounds(rows, analyses), attempts, Deadline.after(until))


def saw(decided, still, cells, near):
    """What an interim analysis found, of claims without a turn."""
    return SimpleNamespace(decided=decided, open=still, cells=cells, near=near, place={})


VALID = AttemptOutcome()


def all_of(turns, outcome=VALID, most=10_000):
    found = []
    while (run := turns.next()) is not None:
        found.append(run.row["run_id"])
        turns.ended(run, outcome)
        assert len(found) <= most, "it does not end"
    return found


def test_runs_in_their_order():
    turns = made([A, B, A, B])
    assert all_of(turns) == ["0", "1", "2", "3"]
    assert not turns.left
    assert not turns.given_up


def test_one_that_is_not_valid_is_made_again_at_the_end_of_its_round():
    turns = made([A, B, A, B])
    first = turns.next()
    assert turns.ended(first, SHORT)
    assert [run.row["run_id"] for run in turns.waiting] == ["1", "0", "2", "3"]


def test_one_that_others_disturbed_waits_a_round_longer():
    turns = made([A, B, A, B])
    first = turns.next()
    assert turns.ended(first, DISTURBED)
    assert [run.row["run_id"] for run in turns.waiting] == ["1", "2", "3", "0"]


def test_one_that_stays_invalid_is_given_up_and_one_that_others_disturb_is_left():
    turns = made([A], attempts=3)
    assert all_of(turns, SHORT) == ["0"] * 3
    assert turns.given_up == ["0"]
    turns = made([A], attempts=3)
    assert all_of(turns, DISTURBED) == ["0"] * 3 * MORE_FOR_OTHERS
    assert not turns.given_up
    assert turns.left == {"0": Reason(OTHERS)}


def test_where_others_disturb_every_attempt_the_rest_is_left_to_a_later_start():
    turns = made([A, B, A, B])
    turns.give_up_at = Deadline.after(60.0)
    assert turns.ended(turns.next(), DISTURBED)
    assert turns.next() is not None and not turns.hopeless  # there is time yet
    turns.give_up_at = Deadline.after(-1.0)
    assert turns.next() is None and turns.hopeless
    assert {*turns.left.values()} == {Reason(OTHERS)} and not turns.given_up


def test_one_that_counts_or_is_invalid_by_itself_is_reason_to_go_on():
    for outcome in (VALID, SHORT):
        turns = made([A, B, A, B])
        turns.give_up_at = Deadline.after(-1.0)
        assert turns.next() is not None  # nothing was tried yet
        turns.ended(turns.next(), outcome)
        turns.ended(turns.next(), DISTURBED)
        assert not turns.hopeless and turns.next() is not None


def test_none_begins_that_would_not_end_in_time_but_a_shorter_one_does():
    turns = made([A, B, A], until=300.0, seconds=400.0)
    turns.waiting[2].expected_seconds = 1.0
    assert turns.next().row["run_id"] == "2"
    assert turns.left == {"0": Reason(BUDGET), "1": Reason(BUDGET)}
    assert turns.next() is None


def test_runs_that_hardly_decide_a_claim_leave_their_time_to_other_blocks():
    turns = made([A, B, A, B, A, B], analyses=[1, 3], until=100.0)
    assert [turns.next().row["run_id"] for _ in range(2)] == ["0", "1"], "before an interim analysis nobody can tell"
    first = turns.next()
    turns.drop(saw([], ["C1", "C2"], {A, B}, {A}), first)
    turns.put_back(first)
    turns.spare = Deadline(0.0)
    assert all_of(turns) == ["2", "4"]
    assert turns.left == {"3": Reason(BUDGET), "5": Reason(BUDGET)}


def test_runs_that_hardly_decide_a_claim_are_made_last_where_time_is_left():
    turns = made([A, B, A, B, A, B], analyses=[1, 3])
    for _ in range(2):
        turns.next()
    first = turns.next()
    turns.put_back(first)
    turns.drop(saw([], ["C1", "C2"], {A, B}, {A}), first)
    assert all_of(turns) == ["2", "4", "3", "5"]
    assert turns.left == {}


def test_a_later_interim_analysis_may_see_that_runs_decide_a_claim_after_all():
    turns = made([A, B] * 3, analyses=[1, 2, 3])
    turns.spare = Deadline(0.0)
    found = [turns.next().row["run_id"] for _ in range(2)]
    for near in ({A}, {A, B}):
        turns.drop(saw([], ["C1", "C2"], {A, B}, near), turns.waiting[0])
        found.append(turns.next().row["run_id"])
    assert [*found, *all_of(turns)] == ["0", "1", "2", "3", "4", "5"]
    assert turns.left == {}


def test_a_slow_machine_is_reckoned_with():
    turns = made([A], until=1000.0, seconds=400.0)
    assert turns.next(pace=3.0) is None
    assert turns.left == {"0": Reason(BUDGET)}


def test_interim_analyses_are_due_before_the_round_after_them_and_only_once():
    turns = made([A, B, A, B, A, B], analyses=[1, 2, 3])
    assert [turns.rounds.due(str(number)) for number in range(6)] == [False, False, True, True, True, True]
    turns.rounds.analysed("2")
    assert [turns.rounds.due(str(number)) for number in range(6)] == [False, False, False, False, True, True]
    turns.rounds.analysed("4")
    assert not any(turns.rounds.due(str(number)) for number in range(6)), "the last analysis is no interim one"


def test_what_no_open_claim_needs_is_left_out():
    turns = made([A, B, A, B, A, B], analyses=[1, 2, 3])
    made_so_far = [turns.next(), turns.next()]
    assert turns.drop(saw({"c1"}, {"c2"}, {B}, {B}), turns.waiting[0]) == 2
    assert turns.left == dict.fromkeys(["2", "4"], Reason(DECIDED, {"runs": 1}))
    assert [run.row["run_id"] for run in turns.waiting] == ["3", "5"]
    assert len(made_so_far) == 2


def test_a_disturbed_run_of_a_cell_that_no_claim_needs_is_still_made_after_an_interim_analysis():
    """Such a cell has one run in all: without it there is none, and the next start would not know that it lacks."""
    turns = made([A, B, B, B], analyses=[2, 3])
    turns.ended(turns.next(), DISTURBED)
    turns.ended(turns.next(), VALID)
    turns.ended(turns.next(), VALID)
    assert [run.row["run_id"] for run in turns.waiting] == ["0", "3"]
    turns.put_back(last := turns.waiting.pop())
    assert turns.rounds.due("3")
    assert turns.drop(saw({"c1"}, (), (), ()), last) == 1
    assert turns.left == {"3": Reason(DECIDED, {"runs": 2})}
    assert all_of(turns, DISTURBED)[-1] == "0" and turns.left["0"] == Reason(OTHERS), "or it is left to the next start"


def test_what_hardly_decides_a_claim_comes_last_and_each_round_stays_in_its_order():
    turns = made([A, B, A, B, A, B], analyses=[1, 2, 3])
    turns.next(), turns.next()
    assert turns.drop(saw((), {"c1", "c2"}, {A, B}, {B}), turns.waiting[0]) == 0
    assert [run.row["run_id"] for run in turns.waiting] == ["3", "5", "2", "4"]
    turns.drop(saw((), {"c1", "c2"}, {A, B}, {A, B}), turns.waiting[0])
    assert [run.row["run_id"] for run in turns.waiting] == ["3", "2", "5", "4"], "a claim may come near again"


OUTCOMES = st.sampled_from([AttemptOutcome(), SHORT, DISTURBED, AttemptOutcome("the client hangs", failed=True)])


@given(st.lists(st.sampled_from([A, B]), max_size=12), st.integers(1, 4), st.lists(OUTCOMES, max_size=200))
def test_every_run_has_one_end(cells, attempts, outcomes):
    """Whatever happens it ends, and each run counts, was given up or was left: one of the three."""
    turns = made(cells, attempts=attempts)
    valid = []
    coming = iter(outcomes)
    while (run := turns.next()) is not None:
        outcome = next(coming, AttemptOutcome())
        again = turns.ended(run, outcome)
        if not outcome.why:
            valid.append(run.row["run_id"])
            assert not again
    ends = [*valid, *turns.given_up, *turns.left]
    assert sorted(ends) == sorted(map(str, range(len(cells))))


@pytest.mark.parametrize("analyses", [(), (3,), (3, 4, 6)])
@given(cells=st.lists(st.sampled_from([A, B]), max_size=20))
def test_rounds_count_the_runs_of_each_cell(analyses, cells):
    rounds = Rounds({str(number): cell for number, cell in enumerate(cells)}, analyses)
    for cell in (A, B):
        own = [rounds.of[str(number)] for number, each in enumerate(cells) if each == cell]
        assert own == list(range(1, len(own) + 1))


def campaign(tmp_path, rows, **more):
    """A campaign of these runs (id to cell), without anything that makes them."""
    rounds = Rounds(rows, more.pop("analyses", ()))
    plan = SimpleNamespace(paper="the paper at its k", config={"kind": "emulated"}, rounds=lambda *_: rounds)
    own = [{"run_id": run_id, "block": "quick-1", "order": order} for order, run_id in enumerate(rows)]
    journal = Journal(tmp_path / "raw" / "quick-1")
    return Campaign(plan, own, journal, Progress("quick-1", [1.0] * len(own)), attempts=3, **more)


def session(made, runs=()):
    return Session(made, stack=None, runs=runs, overheads=None, candidates=None)


def test_an_interim_analysis_takes_time_from_its_own_cluster_only(tmp_path):
    """Another cluster of the block still has its first interim analysis before it: the block's own end stays."""
    analysed = []

    def interim(*of):
        analysed.append(of)
        return saw(["C1"], ["C2"], {B}, {B})

    rows = dict(zip("0123", (A, B, A, B), strict=True))
    runs = [SimpleNamespace(row={"run_id": run_id}, expected_seconds=1.0) for run_id in rows]
    deadline = Deadline.after(1000)
    allowance = Allowance(further=lambda: 100.0, spare=lambda: 50.0)
    made = campaign(tmp_path, rows, analyses=(1, 2), interim=interim, deadline=deadline, allowance=allowance)
    made.unavailable["3"] = "CephFS: none"
    one = session(made, runs)
    one.turns.next()
    one.turns.next()
    run = one.turns.next()
    assert one.turns.rounds.due(run.row["run_id"])
    one.turns.put_back(run)
    one._analyse_claims(run)
    assert analysed == [
        (
            "the paper at its k",
            made.plan.config,
            made.journal.folder,
            dict.fromkeys("01", "quick-1"),  # of the first round
            {B: "CephFS: none"},
        )
    ]
    assert made.deadline == deadline
    assert one.turns.deadline.ends == pytest.approx(time.monotonic() + 100 - CLOSING_S, abs=5)
    assert one.turns.spare.ends == pytest.approx(time.monotonic() + 50 - CLOSING_S, abs=5)
    assert one.turns.near == {B}
    assert [each.row["run_id"] for each in one.turns.waiting] == ["3"]  # no open claim needs A any more
    assert not one.turns.rounds.due("3")


PAPER = SimpleNamespace(id="b", candidate=0, candidate_count=1, claims=[])


def test_what_the_machine_cannot_make_is_known_before_the_first_cluster(monkeypatch, tmp_path):
    """So no interim analysis of an earlier cluster waits for it."""
    site = {"kind": "ssh", "fabrics": {"1gbe": {}}, "limits": {"attempts": 3}}
    kinds, known = {"hdfs": "hdfs", "ceph": "cephfs"}, []
    block = Block(PAPER, site, "quick-1", [{"run_id": run_id} for run_id in kinds], tmp_path / "raw" / "quick-1")

    def run(row):
        own = {"row": row, "parameters": {"fabric": "1gbe"}, "daemon_settings": {}}
        return SimpleNamespace(**own, store={"kind": kinds[row["run_id"]]})

    def make(self, runs, number, task):
        known.append(dict(self.campaign.unavailable))
        return number

    plan = SimpleNamespace(paper=PAPER, run=run, expected=lambda *_: [])
    monkeypatch.setattr(Block, "plan", plan)
    monkeypatch.setattr(
        "whitewire.measure.groups.clusters", lambda paper, runs, testbed: dict(enumerate([each] for each in runs))
    )
    monkeypatch.setattr(OneCluster, "make", make)
    monkeypatch.setattr("whitewire.measure.block.preflight", lambda config: None)
    block._make_missing(1)
    why = "no parallel file system; a site names its own under `mount`"
    assert known == [{"ceph": why}] * 2


def test_where_a_run_of_another_cluster_counted_one_that_others_disturb_does_not_end_this_one(tmp_path):
    made = campaign(tmp_path, {}, deadline=Deadline.after(1000), give_up_at=Deadline.after(-1))
    assert session(made).turns.give_up_at == made.give_up_at
    made.spent["disturbed"] = 5.0
    assert session(made).turns.give_up_at == made.give_up_at
    made.spent["runs"] = 5.0
    assert session(made).turns.give_up_at == NEVER


def test_others_may_disturb_all_of_a_block_for_as_long_as_it_should_take_whatever_part_of_the_budget_it_has(
    monkeypatch, tmp_path
):
    """With little time for all, its part is less than three times what it should take; of its own it has no less."""

    shared_budget, asked = Budget.of(30.0, {"a/1": 20.0, "b/1": 20.0}, {}), []

    def make_missing(lane):
        asked.append((block.deadline.ends, block.give_up_at.ends))
        raise RuntimeError

    block = Block(PAPER, {"kind": "ssh", "limits": {"attempts": 3}}, "quick-1", [], tmp_path / "b",
                  allowance=shared_budget.allowance("b/1"))  # fmt: skip
    monkeypatch.setattr(block, "_resume", lambda: None)
    monkeypatch.setattr(block, "_make_missing", make_missing)
    begin = time.monotonic()
    with pytest.raises(RuntimeError):
        block.measure()
    ((until, give_up_at),) = asked
    assert until - begin == pytest.approx(30, abs=1)
    assert give_up_at - begin == pytest.approx(20, abs=1)
    assert shared_budget.own("z/1") == Budget(math.inf, {"a/1": 20.0}).own("a/1") == math.inf


def of_two_blocks(tmp_path, analyses=(1, 2, 3)):
    """What two blocks of a paper share: cells A and B, three runs of each in a block; (rounds, campaign) by block."""
    names = ("quick-1", "quick-2")
    rows = [{"run_id": f"{name}.{order}", "block": name, "order": order} for name in names for order in range(6)]

    def rounds(own, made=lambda _: True):
        cells = {row["run_id"]: (A, B)[row["order"] % 2] for row in own}
        return Rounds(cells, analyses, 1 + names.index(own[0]["block"]), 2, made)

    found = []
    for name in names:
        own, others = ([row for row in rows if (row["block"] == name) == mine] for mine in (True, False))
        made = Campaign(
            SimpleNamespace(rounds=rounds), own, Journal(tmp_path / name), Progress(name, []), 3, others=others
        )
        found.append((rounds(own, made.paper_runs.others_made), made))
    return found


def keep(made, *orders, valid=True):
    for order in orders:
        made.journal.write(f"{made.journal.folder.name}.{order}", {}, {}, valid=valid)


def test_blocks_of_a_paper_analyse_the_same_runs(tmp_path):
    (first, one), (second, two) = of_two_blocks(tmp_path)
    assert [first.of[f"quick-1.{order}"] for order in (0, 1, 2, 4)] == [1, 1, 3, 5]
    assert [second.of[f"quick-2.{order}"] for order in (0, 1, 2, 4)] == [2, 2, 4, 6]
    seen = {"quick-1.0", "quick-1.1", "quick-2.0", "quick-2.1"}
    assert one.paper_runs.seen(2) == two.paper_runs.seen(2) == {run_id: run_id[:7] for run_id in seen}
    assert {*one.paper_runs.seen(1)} == {"quick-1.0", "quick-1.1"}


def test_an_interim_analysis_waits_for_runs_of_the_other_block_and_not_for_its_end(tmp_path):
    (first, _), (_, two) = of_two_blocks(tmp_path)
    assert first.due("quick-1.2") and first.before("quick-1.2") == 1, "one run of each cell is this block's alone"
    first.analysed("quick-1.2")
    keep(two, 0)
    assert not first.due("quick-1.2"), "the other block has no run of B"
    keep(two, 1)
    assert first.due("quick-1.2") and first.before("quick-1.2") == 2
    first.analysed("quick-1.2")
    assert not first.due("quick-1.3")
    assert first.before("quick-1.4") == 3 and first.due("quick-1.4")


@pytest.mark.parametrize("how", ["finished", "a later run"])
def test_an_interim_analysis_does_not_wait_for_runs_that_the_other_block_lacks(tmp_path, how):
    (first, _), (_, two) = of_two_blocks(tmp_path)
    keep(two, 0)
    assert first.before("quick-1.2") == 1
    if how == "finished":
        two.journal.finish({"block": "quick-2"})
    else:
        keep(two, 2, valid=False)
    assert first.before("quick-1.2") == 2


def test_after_an_interim_analysis_claims_come_in_turn_in_whole_rounds_and_what_none_needs_is_last():
    C, D = cell_id("grid", {"fabric": "20gbe"}), cell_id("grid", {"fabric": "40gbe"})
    rounds = Rounds({f"{name}{n}": cell for n in range(1, 5) for name, cell in zip("abcd", (A, B, C, D), strict=True)},
                    analyses=(1, 3, 4))  # fmt: skip
    seen = SimpleNamespace(cells={A, B, C}, near={A, B}, place={B: 0, A: 1})
    waiting = [f"{name}{n}" for n in range(2, 5) for name in "abcd"]
    found = sorted(waiting, key=lambda run_id: rounds.turn(run_id, seen, 1, by_round=False))
    assert found == ["b2", "b3", "a2", "a3", "b4", "a4", "c2", "c3", "c4", "d2", "d3", "d4"]
    # A claim that needs a run of an earlier round still waits for those in front of it.
    late = sorted(["a1", "b4", "b2"], key=lambda run_id: rounds.turn(run_id, seen, 1, by_round=False))
    assert late == ["b2", "a1", "b4"]
    lanes = sorted(waiting, key=lambda run_id: rounds.turn(run_id, seen, 1, by_round=True))
    assert lanes[:6] == ["b2", "a2", "b3", "a3", "b4", "a4"], "lanes take rounds"
