"""How long a start may measure, and the share of a block."""

import json
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire import budget
from whitewire.budget import _EXPECTED, Budget, seconds_of, time_in_words


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30m", 1800), ("90 s", 90), ("1h30m", 5400), ("1.5h", 5400), ("2 min", 120), ("none", math.inf)],
)
def test_times(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "30", "soon", "nan", "inf", "-3m", "0s", "1d", "3 m m", "1e3s", "9" * 400 + "h", "٣m"]
)
def test_what_is_no_time(text):
    with pytest.raises(ValueError, match=_EXPECTED):
        seconds_of(text)


@pytest.mark.parametrize(("seconds", "said"), [(45, "45 s"), (600, "10 min"), (5400, "1 h 30 min"), (119.4, "119 s")])
def test_times_in_words(seconds, said):
    assert time_in_words(seconds) == said


EXPECTED_S = st.dictionaries(st.text("abc/", min_size=1), st.floats(1, 1e5), min_size=1, max_size=6)


@given(EXPECTED_S, st.lists(st.integers(1, 30), min_size=6, max_size=6), st.floats(1, 1e6))
def test_blocks_that_take_all_they_get_end_in_time(expected, claims, seconds):
    budget = Budget(seconds, expected, dict(zip(expected, claims, strict=False)))
    now = 0.0
    for name in expected:
        now += budget.first(name, now)
        now += budget.further(name, now)
    assert now <= seconds * (1 + 1e-9)
    if sum(expected.values()) >= seconds:
        return
    now = 0.0
    for name, takes in expected.items():  # where each takes what it should, all of them get to their first analysis
        assert budget.first(name, now) >= takes * (1 - 1e-9)
        now += takes
        now += budget.further(name, now)


def test_what_one_does_not_need_goes_to_the_next():
    budget = Budget(100.0, {"a/1": 10.0, "b/1": 10.0, "c/1": 30.0}, {"a/1": 2, "b/1": 1, "c/1": 7})
    assert budget.first("a/1", 0.0) == 20  # the first report waits for it, so no overrun but its share of what is left
    assert budget.further("a/1", 10.0) == 10  # 50 s are not needed, and a fifth of the claims is its own
    assert budget.first("b/1", 10.0) == 30
    assert budget.first("c/1", 40.0) == 60
    assert budget.further("c/1", 70.0) == 30
    assert budget.first("c/1", 140.0) == 0


def test_too_small_a_budget_analyses_the_first_papers_and_at_no_one_further():
    budget = Budget(30.0, {"a/1": 10.0, "b/1": 15.0, "c/1": 30.0})
    assert budget.first("a/1", 0.0) == 15
    assert budget.further("a/1", 9.0) == 0
    assert budget.first("b/1", 9.0) == 21
    assert budget.further("b/1", 24.0) == 0
    assert budget.first("c/1", 24.0) == 6


def test_blocks_that_have_had_their_first_interim_analysis_share_what_is_left_by_their_claims():
    budget = Budget(90.0, {"a/1": 0.0, "b/1": 0.0}, {"a/1": 1, "b/1": 8})
    assert budget.further("a/1", 0.0) == 10
    assert budget.further("b/1", 10.0) == 80


def test_where_no_claims_are_counted_the_first_block_has_all_that_is_left():
    budget = Budget(90.0, {"a/1": 0.0, "b/1": 20.0}, {"a/1": 0, "b/1": 0})
    assert budget.further("a/1", 10.0) == 60
    assert budget.further("b/1", 50.0) == 40


def test_others_disturb_a_block_only_until_its_first_interim_analysis():
    budget = Budget(90.0, {"a/1": 0.0, "b/1": 20.0})
    assert (budget.own("a/1"), budget.own("b/1"), budget.own("z/1")) == (math.inf, 20.0, math.inf)
    assert Budget(math.inf, {"b/1": 20.0}).own("b/1") == math.inf


def test_runs_that_hardly_decide_a_claim_get_what_later_blocks_cannot_use():
    budget = Budget(100.0, {"a/1": 10.0, "b/1": 10.0}, whole={"a/1": 50.0, "b/1": 70.0})
    assert budget.spare("a/1", 10.0) == 20
    assert budget.spare("a/1", 40.0) == 0
    assert budget.spare("b/1", 40.0) == 60, "nobody comes after it"
    assert Budget(math.inf, {"a/1": 10.0, "b/1": 10.0}, whole={"b/1": 70.0}).spare("a/1") == math.inf


@given(EXPECTED_S, st.integers(1, 4), st.floats(1, 1e6))
def test_later_blocks_can_make_all_their_runs_after_those_that_hardly_decide_a_claim(whole, lanes, seconds):
    budget, names = Budget(seconds, whole, lanes=lanes, whole=whole), list(whole)
    for place, name in enumerate(names):
        if spare := budget.spare(name, 0.0):
            left = (seconds - spare) * lanes
            assert left == pytest.approx(sum(whole[later] for later in names[place + 1 :]), abs=1e-6 * seconds * lanes)


def test_a_block_that_nobody_waits_for_has_all_that_is_left():
    budget = Budget(100.0, {"a/1": 10.0})
    assert budget.first("z/1", 40.0) == budget.further("z/1", 40.0) == 60


def test_another_machine_goes_on_with_it_by_the_wall_clock(monkeypatch):
    """A node of a Slurm job, whose monotonic clock began elsewhere; here a step of the wall clock moves nothing."""
    text = Budget.of(1000.0, {"a/1": 3.0}, {"a/1": 1}).text()
    stored, clock = json.loads(text), time.monotonic()
    monkeypatch.setattr(budget.time, "time", lambda: stored["until"] - 400.0)
    assert Budget.read(text).ends == stored["ends"]
    monkeypatch.setattr(budget, "boot_id", lambda: "another")
    monkeypatch.setattr(budget.time, "monotonic", lambda: clock + 5e6)
    there = Budget.read(text)
    assert there.first("a/1") == pytest.approx(400.0)
    assert (there.expected, there.claims, there.seconds) == ({"a/1": 3.0}, {"a/1": 1}, 1000.0)
    assert math.isinf(Budget.read(Budget.of(math.inf, {}, {}).text()).ends)


def test_it_goes_through_the_environment():
    budget = Budget(123.5, {"a/quick-1": 3.0}, {"a/quick-1": 7}, whole={"a/quick-1": 9.0}, earlier={"a/quick-1": 4.0},
                    spent={"a/quick-1": {"runs": 3.0}})  # fmt: skip
    assert Budget.read(budget.text()) == budget
    assert Budget.read("") == Budget(math.inf)
    assert Budget.read(Budget.of(90.0, {}, {}).text()).seconds == 90.0
    endless = Budget.read(Budget.of(math.inf, {"a/1": 3.0}, {"a/1": 1}).text())
    assert endless.first("a/1") == endless.further("a/1") == math.inf
