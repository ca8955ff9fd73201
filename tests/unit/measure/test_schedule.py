"""Which pairs of hosts are measured when: every pair once, no host twice at one time, and all of it in its time."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitewire.measure import schedule
from whitewire.measure.schedule import Planned, Wanted, plan_fabrics

HOSTS = st.integers(0, 40)


def no_host_twice(pairs):
    return max(Counter(host for pair in pairs for host in pair).values(), default=1) == 1


@given(HOSTS)
def test_rounds_have_every_pair_once_and_are_as_few_as_there_can_be(count):
    rounds = schedule.rounds(count)
    assert sorted(pair for pairs in rounds for pair in pairs) == sorted(combinations(range(count), 2))
    assert all(no_host_twice(pairs) for pairs in rounds)
    assert len(rounds) == (0 if count < 2 else count - 1 + count % 2)


@given(st.integers(3, 60))
def test_the_ring_uses_every_link_twice(count):
    rounds = schedule.ring(count)
    pairs = [pair for of in rounds for pair in of]
    assert all(no_host_twice(of) for of in rounds)
    assert len(set(pairs)) == len(pairs) == count
    assert set(Counter(host for pair in pairs for host in pair).values()) == {2}


def test_two_hosts_are_one_pair_and_one_host_is_none():
    assert schedule.ring(2) == schedule.rounds(2) == [[(0, 1)]]
    assert schedule.ring(1) == schedule.rounds(1) == []


@given(HOSTS, st.integers(1, 9))
def test_turns_keep_all_pairs_and_their_bound(count, at_once):
    rounds = schedule.rounds(count)
    turns = schedule.turns(rounds, at_once)
    assert [pair for pairs in turns for pair in pairs] == [pair for pairs in rounds for pair in pairs]
    assert all(0 < len(pairs) <= at_once and no_host_twice(pairs) for pairs in turns)


WANTED = st.lists(
    st.builds(Wanted, st.sampled_from(["1gbe", "10gbe", "40gbe"]), st.integers(1, 8), st.floats(0.01, 2),
              st.sampled_from(["ring", "all"])),
    min_size=1, max_size=5,
)  # fmt: skip


@given(WANTED, st.integers(2, 30), st.lists(st.integers(1, 8), min_size=1, max_size=3, unique=True),
       st.floats(1, 1000), st.floats(0.05, 2), st.floats(0.1, 10))  # fmt: skip
def test_a_plan_takes_its_time_unless_one_ring_alone_takes_more(wanted, hosts, streams, budget, overhead, longest):
    plans, left = plan_fabrics(wanted, hosts, streams, budget, overhead, longest)
    cost = sum(plan.cost(hosts, overhead) for plan in plans)
    assert cost <= budget or (len(plans) == 1 and plans[0].depth == "ring")
    assert len(plans) + sum("with it each host" in why for why in left) == len(wanted)
    for plan, of in zip(plans, wanted, strict=False):
        assert plan.name == of.name
        assert of.floor <= plan.seconds <= max(longest, of.floor)
        assert not (of.deepest == "ring" and plan.depth != "ring")
        whole = plan.depth == "all" or (len(streams) == 1 and (plan.depth == "one" or hosts < 4)) or (
            plan.depth == "one" and hosts < 4)  # fmt: skip
        assert whole or any(why.startswith(f"{plan.name}: ") for why in left)


def test_more_time_never_measures_less():
    wanted = [Wanted("10gbe", 7), Wanted("1gbe", 7)]
    depth = [
        [schedule.DEPTHS.index(plan.depth) for plan in plan_fabrics(wanted, 15, [1, 4], budget, 0.9, 5)[0]]
        for budget in (20, 50, 100, 200, 400)
    ]
    assert depth == sorted(depth, key=sum)
    assert (depth[0], depth[-1]) == ([0], [2, 2])


def test_fifteen_hosts_on_two_networks_fit_into_five_minutes_with_every_pair_and_both_numbers_of_streams():
    plans, left = plan_fabrics([Wanted("10gbe", 7), Wanted("1gbe", 7)], 15, [1, 4], 250, 0.9, 5)
    assert [(plan.depth, plan.streams) for plan in plans] == [("all", (1, 4)), ("all", (1, 4))]
    assert not left
    assert plans[0].seconds > 0.7


def test_what_is_left_out_is_reported_with_the_reason():
    plans, left = plan_fabrics([Wanted("10gbe", 2), Wanted("seg", 1, 1.0, "ring")], 15, [1, 4], 130, 0.15, 0.3)
    assert [plan.depth for plan in plans] == ["one", "ring"]
    assert left[0].startswith("10gbe: 4 streams between each host and the next one only: the others would take ")
    assert left[1:] == [
        "seg: each host with the next one only, not all 105 pairs: all hosts share one segment, where pairs cannot be "
        "at once",
        "seg: 1 stream only, not 4: all hosts share one segment, where pairs cannot be at once",
    ]


def test_passes_have_the_round_trip_first_and_each_number_of_streams():
    passes = list(Planned("10gbe", "one", 2, 0.3, (1, 4)).passes(5))
    assert [(streams, sum(map(len, turns))) for streams, turns in passes] == [(0, 10), (1, 10), (4, 5)]
    assert [streams for streams, _ in Planned("10gbe", "ring", 2, 0.3, (1, 4)).passes(5)] == [0, 1]
    assert Planned("10gbe", "one", 2, 0.3, (1, 4)).cost(5, 0.1) == pytest.approx(5 * 0.1 + (5 + 3) * 0.8)
