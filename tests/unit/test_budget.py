"""How long a start may measure, and the share of a block."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire.budget import EXPECTED, Budget, seconds_of, words


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
    with pytest.raises(ValueError, match=EXPECTED):
        seconds_of(text)


@pytest.mark.parametrize(("seconds", "said"), [(45, "45 s"), (600, "10 min"), (5400, "1 h 30 min"), (119.4, "119 s")])
def test_times_in_words(seconds, said):
    assert words(seconds) == said


EXPECTED_S = st.dictionaries(st.text("abc/", min_size=1), st.floats(1, 1e5), min_size=1, max_size=6)


@given(EXPECTED_S, st.floats(1, 1e6))
def test_blocks_that_take_their_share_end_in_time(expected, seconds):
    """Each takes all that it gets; the last one then gets all that is left, and the sum is the budget."""
    budget = Budget(seconds, {f"paper/{name}": each for name, each in expected.items()})
    now = 0.0
    for name in expected:
        now += budget.share("paper", name, now)
    assert now == pytest.approx(seconds)


def test_what_one_does_not_need_goes_to_the_next():
    budget = Budget(100.0, {"a/1": 10.0, "b/1": 10.0, "c/1": 30.0})
    assert budget.share("a", "1", 0.0) == 20
    assert budget.share("b", "1", 4.0) == 24
    assert budget.share("c", "1", 40.0) == 60
    assert budget.share("c", "1", 140.0) == 0


def test_too_small_a_budget_decides_the_first_papers():
    budget = Budget(30.0, {"a/1": 10.0, "b/1": 15.0, "c/1": 30.0})
    assert budget.share("a", "1", 0.0) == 10
    assert budget.share("b", "1", 10.0) == 15
    assert budget.share("c", "1", 25.0) == 5


def test_a_block_that_nobody_waits_for_has_all_that_is_left():
    assert Budget(100.0, {"a/1": 10.0}).share("z", "1", 40.0) == 60


def test_it_goes_through_the_environment():
    budget = Budget(123.5, {"a/quick-1": 3.0})
    assert Budget.read(budget.text()) == budget
    assert Budget.read("") == Budget(math.inf, {})
    assert Budget.read(Budget.of(math.inf, {}).text()).share("a", "1") == math.inf
